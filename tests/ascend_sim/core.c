/* Memory, objects, streams and faults of the simulated device. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAGIC 0x5343454e41ull
#define SPACE (64ull << 30) /* of addresses */
#define GAP 512ull          /* between blocks */
#define POISON 0xff         /* bytes of NaN */

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;

void sim_lock(void) { pthread_mutex_lock(&lock); }
void sim_unlock(void) { pthread_mutex_unlock(&lock); }

/* ---------------------------------------------------------------------------------------------- texts */
static __thread char recent[1024];
static __thread char given[1024];
static char *violations;
static size_t violations_size;
static FILE *log_file;

Status sim_error(Status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(recent, sizeof recent, format, args);
    va_end(args);
    return status;
}

EXPORT const char *sim_take_message(void) {
    if (!recent[0]) return NULL;
    memcpy(given, recent, sizeof given);
    recent[0] = 0;
    return given;
}

void sim_violation(const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    if (n > (int)sizeof text - 2) n = sizeof text - 2;
    text[n++] = '\n';
    sim_lock();
    violations = realloc(violations, violations_size + n + 1);
    memcpy(violations + violations_size, text, n);
    violations_size += n;
    violations[violations_size] = 0;
    sim_unlock();
}

EXPORT const char *aclsim_violations(void) { return violations ? violations : ""; }

EXPORT void aclsim_clear_violations(void) {
    sim_lock();
    violations_size = 0;
    if (violations) violations[0] = 0;
    sim_unlock();
}

void sim_log(const char *format, ...) {
    const char *path = getenv("ACLSIM_LOG");
    if (!path) return;
    sim_lock();
    if (!log_file) log_file = fopen(path, "a");
    if (log_file) {
        va_list args;
        va_start(args, format);
        vfprintf(log_file, format, args);
        va_end(args);
        fputc('\n', log_file);
        fflush(log_file);
    }
    sim_unlock();
}

/* ---------------------------------------------------------------------------------------------- threads */
static __thread int device = -1;

int sim_chosen(void) { return device; }
void sim_choose(int number) { device = number; }

Status sim_context(const char *function) {
    if (device < 0) return sim_error(107002, "%s: no device was set in this thread", function);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- objects */
static Object **objects;
static uint64_t object_count, object_room;

void *sim_new(Kind kind, size_t size) {
    Object *made = calloc(1, size);
    made->magic = MAGIC;
    made->kind = kind;
    made->alive = true;
    sim_lock();
    if (object_count == object_room) {
        object_room = object_room ? 2 * object_room : 1024;
        objects = realloc(objects, object_room * sizeof *objects);
    }
    made->number = object_count;
    objects[object_count++] = made;
    sim_unlock();
    return made;
}

static const char *kind_name(Kind kind) {
    static const char *names[] = {"?", "tensor", "scalar", "int array", "bool array", "float array", "tensor list",
                                  "scalar list", "executor", "stream", "event", "graph"};
    return names[kind];
}

void *sim_object(const void *handle, Kind kind, const char *function) {
    Object *found = NULL;
    sim_lock();
    for (uint64_t i = object_count; i-- > 0;)
        if (objects[i] == handle) {
            found = objects[i];
            break;
        }
    sim_unlock();
    if (!found) sim_violation("%s: %p is no handle", function, handle);
    else if (found->kind != kind) sim_violation("%s: a %s is given as a %s", function, kind_name(found->kind), kind_name(kind));
    else if (!found->alive) sim_violation("%s: the %s was destroyed before", function, kind_name(kind));
    else return found;
    return NULL;
}

/* What is still alive, one line per kind; "" if nothing is.  Dead objects are forgotten. */
EXPORT const char *aclsim_leaks(void) {
    static char text[1024];
    int alive[16] = {0};
    uint64_t kept = 0;
    sim_lock();
    for (uint64_t i = 0; i < object_count; i++) {
        if (objects[i]->alive) {
            alive[objects[i]->kind]++;
            objects[kept++] = objects[i];
        }
    }
    object_count = kept;
    sim_unlock();
    text[0] = 0;
    for (int k = 1; k <= GRAPH; k++)
        if (alive[k]) snprintf(text + strlen(text), sizeof text - strlen(text), "%s: %d\n", kind_name(k), alive[k]);
    extern uint64_t sim_live_blocks(void);
    if (sim_live_blocks())
        snprintf(text + strlen(text), sizeof text - strlen(text), "device memory: %llu\n", (unsigned long long)sim_live_blocks());
    return text;
}

/* ---------------------------------------------------------------------------------------------- memory */
typedef struct { uint64_t address, size; bool alive; } MemoryBlock;
static uint64_t base, shadow, next_address;
static MemoryBlock *blocks; /* by address, as addresses only grow */
static uint64_t block_count, block_room, used, limit = 1ull << 32;
static struct { const char *at; uint64_t size; } pinned[4096];
static int pinned_count;

static void reserve(void) {
    if (base) return;
    base = (uint64_t)mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shadow = (uint64_t)mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == (uint64_t)MAP_FAILED || shadow == (uint64_t)MAP_FAILED) abort();
    next_address = base + GAP;
}

bool sim_is_device(const void *address) {
    return base && (uint64_t)address >= base && (uint64_t)address < base + SPACE;
}

uint64_t sim_live_blocks(void) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < block_count; i++) n += blocks[i].alive;
    return n;
}

EXPORT void aclsim_memory_limit(uint64_t bytes) { limit = bytes; }

Status sim_malloc(uint64_t size, uint64_t *address) {
    sim_lock();
    reserve();
    Status status = 0;
    if (used + size > limit || next_address + size + 2 * GAP > base + SPACE) {
        status = sim_error(207001, "out of device memory: %llu bytes, %llu in use", (unsigned long long)size, (unsigned long long)used);
    } else {
        if (block_count == block_room) {
            block_room = block_room ? 2 * block_room : 256;
            blocks = realloc(blocks, block_room * sizeof *blocks);
        }
        blocks[block_count++] = (MemoryBlock){next_address, size, true};
        *address = next_address;
        memset((void *)(next_address - base + shadow), POISON, size);
        next_address += (size + GAP + 63) / 64 * 64;
        used += size;
    }
    sim_unlock();
    return status;
}

static MemoryBlock *block_at(uint64_t address) {
    uint64_t low = 0, high = block_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (blocks[middle].address <= address) low = middle + 1;
        else high = middle;
    }
    return low ? &blocks[low - 1] : NULL;
}

static bool queued_uses(uint64_t address, uint64_t size);

Status sim_free(uint64_t address) {
    sim_lock();
    MemoryBlock *block = block_at(address);
    Status status = 0;
    if (!block || block->address != address || !block->alive) {
        sim_violation("aclrtFree of %p, which is no live block", (void *)address);
        status = sim_error(107000, "aclrtFree: no such block");
    } else {
        if (queued_uses(address, block->size)) sim_violation("aclrtFree of a block that a queued task uses");
        block->alive = false;
        used -= block->size;
        madvise((void *)((block->address - base + shadow + 4095) / 4096 * 4096), block->size > 8192 ? block->size - 4096 : 0, MADV_DONTNEED);
    }
    sim_unlock();
    return status;
}

unsigned char *sim_bytes(uint64_t address, uint64_t size, const char *what) {
    sim_lock();
    MemoryBlock *block = sim_is_device((void *)address) ? block_at(address) : NULL;
    bool fits = block && block->alive && address + size <= block->address + block->size;
    sim_unlock();
    if (!fits) {
        sim_violation("%s: %llu bytes at %p are not inside one live block", what, (unsigned long long)size, (void *)address);
        return NULL;
    }
    return (unsigned char *)(address - base + shadow);
}

void sim_pin(const char *at, uint64_t size) {
    sim_lock();
    if (pinned_count < 4096) {
        pinned[pinned_count].at = at;
        pinned[pinned_count++].size = size;
    }
    sim_unlock();
}

bool sim_unpin(const char *at) {
    bool found = false;
    sim_lock();
    for (int i = 0; i < pinned_count; i++)
        if (pinned[i].at == at) {
            pinned[i] = pinned[--pinned_count];
            found = true;
            break;
        }
    sim_unlock();
    return found;
}

bool sim_is_pinned(const void *address, uint64_t size) {
    bool found = false;
    sim_lock();
    for (int i = 0; i < pinned_count; i++)
        found |= (const char *)address >= pinned[i].at && (const char *)address + size <= pinned[i].at + pinned[i].size;
    sim_unlock();
    return found;
}

EXPORT uint64_t aclsim_memory_used(void) { return used; }
EXPORT uint64_t aclsim_memory_total(void) { return limit; }

uint64_t sim_size_of(int dtype) {
    switch (dtype) {
    case I8: case U8: case BOOL: return 1;
    case F16: case BF16: case I16: case U16: return 2;
    case F32: case I32: case U32: return 4;
    case F64: case I64: case U64: return 8;
    default: return 0;
    }
}

/* ---------------------------------------------------------------------------------------------- faults */
typedef struct { char name[64]; int countdown, code; } Fault;
static Fault call_faults[32], task_faults[32];
static int call_fault_count, task_fault_count;
static char repeat_refused[64];
static bool capture_refused;

static Status due(Fault *faults, int *count, const char *name) {
    Status code = 0;
    sim_lock();
    for (int i = 0; i < *count; i++)
        if (!strcmp(faults[i].name, name) || !strcmp(faults[i].name, "*")) {
            if (--faults[i].countdown == 0) {
                code = faults[i].code;
                faults[i] = faults[--*count];
                break;
            }
        }
    sim_unlock();
    return code;
}

static void add(Fault *faults, int *count, const char *name, int kth, int code) {
    sim_lock();
    if (*count < 32) {
        Fault *f = &faults[(*count)++];
        snprintf(f->name, sizeof f->name, "%s", name);
        f->countdown = kth;
        f->code = code;
    }
    sim_unlock();
}

/* The kth call of a function from now on gives this code. */
EXPORT void aclsim_fail_call(const char *function, int kth, int code) { add(call_faults, &call_fault_count, function, kth, code); }
/* The kth task of an operator from now on fails on the device; the code appears at the next synchronisation. */
EXPORT void aclsim_fail_task(const char *name, int kth, int code) { add(task_faults, &task_fault_count, name, kth, code); }
/* Executors of this operator ("*": of any) are not repeatable. */
EXPORT void aclsim_refuse_repeat(const char *name) { snprintf(repeat_refused, sizeof repeat_refused, "%s", name); }
EXPORT void aclsim_refuse_capture(bool refuse) { capture_refused = refuse; }

EXPORT void aclsim_reset(void) {
    sim_lock();
    call_fault_count = task_fault_count = 0;
    repeat_refused[0] = 0;
    capture_refused = false;
    limit = 1ull << 32;
    aclsim_clear_violations();
    sim_unlock();
}

Status sim_enter(const char *function) {
    sim_log("{\"call\": \"%s\"}", function);
    Status code = due(call_faults, &call_fault_count, function);
    return code ? sim_error(code, "%s: injected", function) : 0;
}

Status sim_task_failure(const char *name) { return due(task_faults, &task_fault_count, name); }
bool sim_refuses_repeat(const char *name) { return !strcmp(repeat_refused, "*") || !strcmp(repeat_refused, name); }
bool sim_refuses_capture(void) { return capture_refused; }

/* ---------------------------------------------------------------------------------------------- streams */
int sim_mode = -1;
static Stream *streams[256];
static int stream_count;

static void choose_mode(void) {
    if (sim_mode >= 0) return;
    const char *mode = getenv("ACLSIM_MODE");
    sim_mode = !mode || !strcmp(mode, "lazy") ? 0 : !strcmp(mode, "threads") ? 1 : 2;
}

EXPORT void aclsim_mode(const char *mode) { sim_mode = !strcmp(mode, "lazy") ? 0 : !strcmp(mode, "threads") ? 1 : 2; }

Task *sim_task(int kind, const char *name) {
    Task *task = calloc(1, sizeof *task);
    task->kind = kind;
    task->name = name;
    return task;
}

static bool overlaps(uint64_t a, uint64_t n, uint64_t b, uint64_t m) { return n && m && a < b + m && b < a + n; }

static bool task_uses(const Task *t, uint64_t address, uint64_t size) {
    if (overlaps(t->workspace, t->workspace_size, address, size)) return true;
    if (overlaps((uint64_t)t->to, t->size, address, size) || overlaps((uint64_t)t->from, t->size, address, size)) return true;
    if (t->graph)
        for (Task *inner = t->graph->first; inner; inner = inner->next)
            if (task_uses(inner, address, size)) return true;
    if (!t->executor) return false;
    for (int i = 0; i < t->executor->count; i++) {
        const Arg *a = &t->executor->args[i];
        if (a->kind == ONE_TENSOR && overlaps(a->tensor.address, a->tensor.storage * sim_size_of(a->tensor.dtype), address, size)) return true;
        if (a->kind == MANY_TENSORS)
            for (uint64_t k = 0; k < a->count; k++)
                if (overlaps(a->tensors[k].address, a->tensors[k].storage * sim_size_of(a->tensors[k].dtype), address, size)) return true;
    }
    return false;
}

static bool queued_uses(uint64_t address, uint64_t size) {
    for (int i = 0; i < stream_count; i++)
        for (Task *t = streams[i]->first; t; t = t->next)
            if (task_uses(t, address, size)) return true;
    for (uint64_t i = 0; i < object_count; i++)
        if (objects[i]->kind == GRAPH && objects[i]->alive)
            for (Task *t = ((Graph *)objects[i])->first; t; t = t->next)
                if (task_uses(t, address, size)) return true;
    return false;
}

static Status run_task(Stream *stream, Task *task);

static bool bring(Tensor *t, const char *name) {
    uint64_t size = t->storage * sim_size_of(t->dtype);
    t->bytes = t->address ? sim_bytes(t->address, size, name) : NULL;
    return t->bytes || !t->address;
}

/* Whether all tensors of a task lie in live memory now. */
static bool bring_in(Executor *e) {
    bool good = true;
    for (int i = 0; i < e->count; i++) {
        if (e->args[i].kind == ONE_TENSOR) good &= bring(&e->args[i].tensor, e->name);
        for (uint64_t k = 0; e->args[i].kind == MANY_TENSORS && k < e->args[i].count; k++) good &= bring(&e->args[i].tensors[k], e->name);
    }
    return good;
}

static Status run_kernel(Task *task) {
    Status failure = sim_task_failure(task->name);
    if (failure) return failure;
    if (task->workspace_size) {
        unsigned char *room = sim_bytes(task->workspace, task->workspace_size, task->name);
        if (room) memset(room, POISON, task->workspace_size);
    }
    if (bring_in(task->executor)) task->executor->kernel(task->executor);
    return 0;
}

static Status run_task(Stream *stream, Task *task) {
    switch (task->kind) {
    case KERNEL: return run_kernel(task);
    case COPY: {
        void *to = sim_is_device(task->to) ? sim_bytes((uint64_t)task->to, task->size, "copy") : task->to;
        void *from = sim_is_device(task->from) ? sim_bytes((uint64_t)task->from, task->size, "copy") : task->from;
        if (to && from) memmove(to, from, task->size);
        return 0;
    }
    case FILL: {
        unsigned char *to = sim_bytes((uint64_t)task->to, task->size, "memset");
        if (to) memset(to, task->value, task->size);
        return 0;
    }
    case RECORD: {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        task->event->at = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
        task->event->done = task->ticket;
        return 0;
    }
    case WAIT: return 0; /* see ready() */
    case REPLAY: {
        Status status = 0;
        for (Task *t = task->graph->first; t && !status; t = t->next) status = run_task(stream, t);
        return status;
    }
    }
    return 0;
}

/* In lazy mode what an event waits for runs first. */
static void fulfil(Event *event, uint64_t ticket) {
    for (int i = 0; i < stream_count && event->done < ticket; i++)
        for (Task *t = streams[i]->first; t; t = t->next)
            if (t->kind == RECORD && t->event == event && t->ticket <= ticket) {
                while (streams[i]->first && event->done < ticket) {
                    Task *task = streams[i]->first;
                    if (task->kind == WAIT) fulfil(task->event, task->ticket);
                    Status status = streams[i]->failure ? 0 : run_task(streams[i], task);
                    if (status) streams[i]->failure = status;
                    streams[i]->first = task->next;
                    if (!streams[i]->first) streams[i]->last = NULL;
                }
                break;
            }
}

static void *work(void *argument) {
    Stream *stream = argument;
    sim_lock();
    while (!stream->stop) {
        Task *task = stream->first;
        if (!task || (task->kind == WAIT && task->event->done < task->ticket)) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 1000000;
            if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
            pthread_cond_timedwait(&stream->changed, &lock, &until);
            continue;
        }
        sim_unlock();
        struct timespec pause = {0, (long)(rand() % 20000)};
        nanosleep(&pause, NULL);
        Status status = stream->failure ? 0 : run_task(stream, task);
        sim_lock();
        if (status) stream->failure = status;
        stream->first = task->next;
        if (!stream->first) stream->last = NULL;
        pthread_cond_broadcast(&idle);
    }
    sim_unlock();
    return NULL;
}

Stream *sim_new_stream(void) {
    choose_mode();
    Stream *stream = sim_new(STREAM, sizeof *stream);
    pthread_cond_init(&stream->changed, NULL);
    sim_lock();
    streams[stream_count++] = stream;
    sim_unlock();
    if (sim_mode == 1) pthread_create(&stream->worker, NULL, work, stream);
    return stream;
}

void sim_end_stream(Stream *stream) {
    sim_drain(stream);
    sim_lock();
    stream->stop = true;
    pthread_cond_broadcast(&stream->changed);
    sim_unlock();
    if (stream->worker) pthread_join(stream->worker, NULL);
    sim_lock();
    for (int i = 0; i < stream_count; i++)
        if (streams[i] == stream) streams[i] = streams[--stream_count];
    stream->object.alive = false;
    sim_unlock();
}

void sim_add_to_graph(Graph *graph, Task *task) {
    if (graph->last) graph->last->next = task;
    else graph->first = task;
    graph->last = task;
}

Status sim_queue(Stream *stream, Task *task) {
    sim_lock();
    if (stream->capturing) {
        sim_add_to_graph(stream->capturing, task);
        sim_unlock();
        return 0;
    }
    if (stream->last) stream->last->next = task;
    else stream->first = task;
    stream->last = task;
    pthread_cond_broadcast(&stream->changed);
    sim_unlock();
    if (sim_mode == 2) {
        Status failure = sim_drain(stream);
        sim_lock();
        stream->failure = failure;
        sim_unlock();
    }
    return 0;
}

/* Waits for all queued work; the failure of a task, which it forgets. */
Status sim_drain(Stream *stream) {
    sim_lock();
    while (stream->first) {
        if (stream->worker) {
            pthread_cond_wait(&idle, &lock);
            continue;
        }
        Task *task = stream->first;
        if (task->kind == WAIT) fulfil(task->event, task->ticket);
        Status status = stream->failure ? 0 : run_task(stream, task);
        if (status) stream->failure = status;
        stream->first = task->next;
        if (!stream->first) stream->last = NULL;
    }
    Status failure = stream->failure;
    stream->failure = 0;
    sim_unlock();
    return failure;
}

Status sim_drain_all(void) {
    Status failure = 0;
    for (int i = 0; i < stream_count; i++) {
        Status found = sim_drain(streams[i]);
        failure = failure ? failure : found;
    }
    return failure;
}
