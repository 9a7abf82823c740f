/* Texts, threads, objects and faults of the simulated device. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t sim_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void sim_lock(void) { pthread_mutex_lock(&sim_mutex); }
void sim_unlock(void) { pthread_mutex_unlock(&sim_mutex); }

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
typedef struct { Object object; int device; } Context; /* never freed: a thread may still name it */
static Context *contexts[8];
static __thread Context *current;
int sim_sets[8];

int sim_chosen(void) { return current && current->object.alive ? current->device : -1; }
void *sim_current_context(void) { return current && current->object.alive ? current : NULL; }
void sim_choose_context(void *context) { current = context; }

void sim_set_device(int number) {
    sim_lock();
    if (!sim_sets[number]++) {
        contexts[number] = sim_new(CONTEXT, sizeof(Context));
        contexts[number]->object.own = true;
        contexts[number]->device = number;
    }
    current = contexts[number];
    sim_unlock();
}

void sim_reset_device(int number) {
    if (sim_chosen() == number) current = NULL;
    sim_lock();
    bool last = --sim_sets[number] == 0;
    sim_unlock();
    if (!last) return;
    sim_end_streams_of(number);
    contexts[number]->object.alive = false;
}

Status sim_context(const char *function) {
    if (sim_chosen() < 0) return sim_error(107002, "%s: no device was set in this thread", function);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- objects
   Handles are found by hashing their addresses.  A destroyed object is remembered for a while, so that a later use is
   known as such; its address is not given out again before. */
#define QUARANTINE 65536u

static Object **table; /* open addressing; a power of two of slots */
static uint64_t table_room, table_count;
static Object *dead[QUARANTINE];
static uint64_t died;

static uint64_t slot_of(const void *handle) {
    uint64_t at = ((uint64_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (table_room - 1);
    while (table[at] && table[at] != handle) at = (at + 1) & (table_room - 1);
    return at;
}

static void enter(Object *object) {
    if (2 * (table_count + 1) > table_room) {
        Object **old = table;
        uint64_t room = table_room;
        table_room = room ? 2 * room : 4096;
        table = calloc(table_room, sizeof *table);
        for (uint64_t i = 0; i < room; i++)
            if (old[i]) table[slot_of(old[i])] = old[i];
        free(old);
    }
    table[slot_of(object)] = object;
    table_count++;
}

static void forget(const Object *object) {
    uint64_t at = slot_of(object);
    if (!table[at]) return;
    table[at] = NULL;
    table_count--;
    for (uint64_t next = (at + 1) & (table_room - 1); table[next]; next = (next + 1) & (table_room - 1)) {
        Object *moved = table[next];
        table[next] = NULL;
        table[slot_of(moved)] = moved;
    }
}

void *sim_new(Kind kind, size_t size) {
    static uint64_t made_so_far;
    Object *made = calloc(1, size);
    made->kind = kind;
    made->alive = true;
    sim_lock();
    made->number = made_so_far++;
    enter(made);
    sim_unlock();
    return made;
}

void sim_kill(Object *object) {
    sim_lock();
    if (!object->alive) { /* a breach that was noted: it waits to be freed already */
        sim_unlock();
        return;
    }
    object->alive = false;
    Object **place = &dead[died++ % QUARANTINE];
    if (*place) {
        forget(*place);
        free(*place);
    }
    *place = object;
    sim_unlock();
}

static const char *kind_name(Kind kind) {
    static const char *names[] = {"?", "tensor", "scalar", "int array", "bool array", "float array", "tensor list",
                                  "scalar list", "executor", "stream", "event", "graph", "context", "communicator"};
    return names[kind];
}

bool sim_alive(const void *handle) {
    sim_lock();
    Object *found = table_room ? table[slot_of(handle)] : NULL;
    bool alive = found && found->alive;
    sim_unlock();
    return alive;
}

void *sim_object(const void *handle, Kind kind, const char *function) {
    sim_lock();
    Object *found = table_room ? table[slot_of(handle)] : NULL;
    sim_unlock();
    if (!found) sim_violation("%s: %p is no handle", function, handle);
    else if (found->kind != kind) sim_violation("%s: a %s is given as a %s", function, kind_name(found->kind), kind_name(kind));
    else if (!found->alive) sim_violation("%s: the %s was destroyed before", function, kind_name(kind));
    else return found;
    return NULL;
}

void sim_each(Kind kind, void (*visit)(void *object, void *with), void *with) {
    for (uint64_t i = 0; i < table_room; i++)
        if (table[i] && table[i]->alive && table[i]->kind == kind) visit(table[i], with);
}

/* What is still alive, one line per kind; "" if nothing is. */
EXPORT const char *aclsim_leaks(void) {
    static char text[1024];
    int alive[16] = {0};
    sim_lock();
    for (uint64_t i = 0; i < table_room; i++)
        if (table[i] && table[i]->alive && !table[i]->own) alive[table[i]->kind]++;
    sim_unlock();
    text[0] = 0;
    for (int k = 1; k <= COMMUNICATOR; k++)
        if (alive[k]) snprintf(text + strlen(text), sizeof text - strlen(text), "%s: %d\n", kind_name(k), alive[k]);
    for (int d = 0; d < 8; d++)
        if (sim_sets[d]) snprintf(text + strlen(text), sizeof text - strlen(text), "device %d: %d\n", d, sim_sets[d]);
    if (sim_live_blocks())
        snprintf(text + strlen(text), sizeof text - strlen(text), "device memory: %llu\n", (unsigned long long)sim_live_blocks());
    if (sim_pinned())
        snprintf(text + strlen(text), sizeof text - strlen(text), "page-locked memory: %llu\n", (unsigned long long)sim_pinned());
    return text;
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

static bool overflow_of(const char *mode);

EXPORT void aclsim_reset(void) {
    sim_lock();
    call_fault_count = task_fault_count = 0;
    repeat_refused[0] = 0;
    capture_refused = false;
    aclsim_memory_limit(1ull << 32);
    sim_saturates = overflow_of(getenv("ACLSIM_OVERFLOW"));
    sim_overflowed = 0;
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

/* ---------------------------------------------------------------------------------------------- overflow */
bool sim_saturates;
uint32_t sim_overflowed;

static bool overflow_of(const char *mode) { return mode && !strcmp(mode, "saturation"); }
static void __attribute__((constructor)) begin(void) { sim_saturates = overflow_of(getenv("ACLSIM_OVERFLOW")); }
