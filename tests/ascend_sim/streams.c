/* Streams, their tasks, events, captured graphs, and who may touch which memory when.

   Every task gets a clock: what of every stream is done before it runs.  Two accesses of the same bytes, one of them a
   write, must be ordered by their streams, by events, or by the host having waited; all else is a breach. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
int sim_mode = -1;
static Stream *streams[SLOTS];

static int mode_of(const char *mode) { return !mode || !strcmp(mode, "lazy") ? 0 : !strcmp(mode, "threads") ? 1 : 2; }
EXPORT void aclsim_mode(const char *mode) { sim_mode = mode_of(mode); }

/* ---------------------------------------------------------------------------------------------- tasks */
Task *sim_task(int kind, const char *name) {
    Task *task = calloc(1, sizeof *task);
    task->kind = kind;
    task->name = name;
    return task;
}

static void *copied(const void *from, size_t size) {
    void *made = malloc(size ? size : 1);
    memcpy(made, from, size);
    return made;
}

Executor *sim_copy_executor(const Executor *e) {
    Executor *made = copied(e, sizeof *e);
    made->args = copied(e->args, (size_t)e->count * sizeof(Arg));
    for (int i = 0; i < e->count; i++) {
        Arg *a = &made->args[i];
        if (a->integers) a->integers = copied(a->integers, a->count * sizeof(int64_t));
        if (a->booleans) a->booleans = copied(a->booleans, a->count * sizeof(bool));
        if (a->tensors) a->tensors = copied(a->tensors, a->count * sizeof(Tensor));
    }
    return made;
}

void sim_release_arguments(Executor *e) {
    for (int i = 0; e->args && i < e->count; i++) {
        free(e->args[i].integers);
        free(e->args[i].booleans);
        free(e->args[i].tensors);
    }
    free(e->args);
    e->args = NULL;
    e->count = 0;
}

static void end_task(Task *task) {
    if (task->executor) {
        sim_release_arguments(task->executor);
        free(task->executor);
    }
    free(task->with);
    free(task->ranges);
    free(task);
}

/* ---------------------------------------------------------------------------------------------- ranges */
typedef struct { Range *items; int count, room; } Ranges;

static void touch(Ranges *found, uint64_t from, uint64_t to, bool write) {
    if (from >= to) return;
    if (found->count == found->room) {
        found->room = found->room ? 2 * found->room : 64;
        found->items = realloc(found->items, (size_t)found->room * sizeof *found->items);
    }
    found->items[found->count++] = (Range){from, to, write};
}

bool sim_extent(const Tensor *t, uint64_t *from, uint64_t *to) {
    uint64_t last = (uint64_t)t->offset, size = sim_size_of(t->dtype);
    if (!t->address) return false;
    for (int i = 0; i < t->rank; i++) {
        if (!t->dims[i]) return false;
        last += (uint64_t)((t->dims[i] - 1) * t->strides[i]);
    }
    *from = t->address + (uint64_t)t->offset * size, *to = t->address + (last + 1) * size;
    return true;
}

static void touch_tensor(Ranges *found, const Tensor *t, bool write) {
    uint64_t from, to;
    if (sim_extent(t, &from, &to)) touch(found, from, to, write);
}

static void ranges_of(const Task *t, Ranges *found) {
    touch(found, t->workspace, t->workspace + t->workspace_size, true);
    touch(found, (uint64_t)t->to, (uint64_t)t->to + t->size, true);
    if (t->from) touch(found, (uint64_t)t->from, (uint64_t)t->from + t->size, false);
    for (int i = 0; i < t->range_count; i++) touch(found, t->ranges[i].from, t->ranges[i].to, t->ranges[i].write);
    for (Task *inner = t->graph ? t->graph->first : NULL; inner; inner = inner->next) ranges_of(inner, found);
    for (int i = 0; t->executor && i < t->executor->count; i++) {
        const Arg *a = &t->executor->args[i];
        if (a->kind == ONE_TENSOR) touch_tensor(found, &a->tensor, a->out);
        for (uint64_t k = 0; a->kind == MANY_TENSORS && k < a->count; k++) touch_tensor(found, &a->tensors[k], a->out);
    }
}

static bool overlaps(const Range *r, uint64_t from, uint64_t to) { return r->from < to && from < r->to; }

static bool task_uses(const Task *t, uint64_t from, uint64_t to) {
    static Ranges found; /* guarded by the lock */
    found.count = 0;
    ranges_of(t, &found);
    for (int i = 0; i < found.count; i++)
        if (overlaps(&found.items[i], from, to)) return true;
    return false;
}

typedef struct { uint64_t from, to; bool found; } Search;

static void search_graph(void *graph, void *with) {
    Search *s = with;
    for (Task *t = ((Graph *)graph)->first; t && !s->found; t = t->next) s->found = task_uses(t, s->from, s->to);
}

bool sim_queued_uses(uint64_t address, uint64_t size) {
    Search s = {address, address + size, false};
    for (int i = 0; i < SLOTS && !s.found; i++)
        for (Task *t = streams[i] ? streams[i]->first : NULL; t && !s.found; t = t->next) s.found = task_uses(t, s.from, s.to);
    if (!s.found) sim_each(GRAPH, search_graph, &s);
    return s.found;
}

/* ---------------------------------------------------------------------------------------------- order */
typedef struct { Range range; uint64_t tick; const char *name; } Access;
static struct { Access *items; int count, room; uint64_t tick; } accesses[SLOTS];
static Clock host; /* what the host knows to be done */

static void join(Clock *into, const Clock *from) {
    for (int i = 0; i < SLOTS; i++)
        if (from->at[i] > into->at[i]) into->at[i] = from->at[i];
}

/* What the host knows to be done can be in nobody's way any more. */
static void prune(void) {
    for (int s = 0; s < SLOTS; s++) {
        int done = 0;
        while (done < accesses[s].count && accesses[s].items[done].tick <= host.at[s]) done++;
        if (done) memmove(accesses[s].items, accesses[s].items + done, (size_t)(accesses[s].count -= done) * sizeof(Access));
    }
}

static void check(const Range *r, const Clock *known, int except, const char *name, const char *where) {
    for (int s = 0; s < SLOTS; s++)
        for (int i = accesses[s].count; s != except && i-- > 0;) {
            const Access *a = &accesses[s].items[i];
            if (a->tick <= known->at[s]) break;
            if ((r->write || a->range.write) && overlaps(&a->range, r->from, r->to)) {
                sim_violation("%s %s memory that %s of %s %s, without waiting for it", name, r->write ? "writes" : "reads",
                              a->name, where, a->range.write ? "writes" : "reads");
                return;
            }
        }
}

static void note(int slot, const Range *r, const char *name) {
    if (accesses[slot].count == accesses[slot].room) {
        accesses[slot].room = accesses[slot].room ? 2 * accesses[slot].room : 256;
        accesses[slot].items = realloc(accesses[slot].items, (size_t)accesses[slot].room * sizeof(Access));
    }
    accesses[slot].items[accesses[slot].count++] = (Access){*r, accesses[slot].tick, name};
}

void sim_host_touches(const void *address, uint64_t size, bool write, const char *name) {
    Range r = {(uint64_t)address, (uint64_t)address + size, write};
    sim_lock();
    check(&r, &host, -1, name, "a stream");
    sim_unlock();
}

static void order(Stream *stream, Task *task) {
    static Ranges found; /* guarded by the lock */
    join(&stream->clock, &host);
    stream->clock.at[stream->slot] = ++accesses[stream->slot].tick;
    if (task->kind == RECORD) task->event->clock = stream->clock;
    if (task->kind == WAIT) join(&stream->clock, &task->event->clock);
    found.count = 0;
    ranges_of(task, &found);
    for (int i = 0; i < found.count; i++) {
        check(&found.items[i], &stream->clock, stream->slot, task->name, "another stream");
        note(stream->slot, &found.items[i], task->name);
    }
}

void sim_host_waited(const Clock *clock) {
    sim_lock();
    join(&host, clock);
    prune();
    sim_unlock();
}

/* ---------------------------------------------------------------------------------------------- execution */
static bool bring(Tensor *t, const char *name) {
    uint64_t size = (uint64_t)t->storage * sim_size_of(t->dtype);
    t->bytes = t->address ? sim_operand(t->address, size, name) : NULL;
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
        if (room) sim_poison(room, task->workspace_size);
    }
    if (bring_in(task->executor)) task->executor->kernel(task->executor);
    return 0;
}

static void run_copy(Task *task) {
    void *to = sim_is_device(task->to) ? sim_bytes((uint64_t)task->to, task->size, task->name) : task->to;
    void *from = sim_is_device(task->from) ? sim_bytes((uint64_t)task->from, task->size, task->name) : task->from;
    if (to && from) memmove(to, from, task->size);
}

static void run_fill(Task *task) {
    unsigned char *to = sim_bytes((uint64_t)task->to, task->size, task->name);
    if (to && task->kind == FILL) memset(to, task->value, task->size);
    if (to && task->kind == STATUS) {
        memset(to, 0, task->size);
        memcpy(to, &sim_overflowed, sizeof sim_overflowed);
    }
}

static Status run_task(Task *task) {
    struct timespec now;
    Status status = 0;
    switch (task->kind) {
    case KERNEL: return run_kernel(task);
    case COPY: run_copy(task); break;
    case FILL: case STATUS: run_fill(task); break;
    case CLEAR: sim_overflowed = 0; break;
    case RECORD:
        clock_gettime(CLOCK_MONOTONIC, &now);
        task->event->at = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
        task->event->done = task->ticket;
        break;
    case EXCHANGE:
        status = sim_task_failure(task->name);
        return status ? status : task->exchange(task);
    case WAIT: break; /* see `fulfil` and `work` */
    case REPLAY:
        for (Task *t = task->graph->first; t && !status; t = t->next) status = run_task(t);
        break;
    }
    return status;
}

/* Runs a task, unless an earlier one of the stream failed; events come in any case. */
static void step(Stream *stream, Task *task) {
    Status status = stream->failure && task->kind != RECORD ? 0 : run_task(task);
    if (!status) return;
    stream->failure = status;
    memcpy(stream->said, task->said, sizeof stream->said);
}

static void take_off(Stream *stream) {
    Task *task = stream->first;
    stream->first = task->next;
    if (!stream->first) stream->last = NULL;
    end_task(task);
}

/* Where no thread works for a stream, what somebody waits for runs now: the tasks up to an event. */
static void fulfil(Event *event, uint64_t ticket) {
    for (int i = 0; i < SLOTS && event->done < ticket; i++) {
        bool records = false;
        for (Task *t = streams[i] ? streams[i]->first : NULL; t; t = t->next) records |= t->kind == RECORD && t->event == event;
        while (records && streams[i]->first && event->done < ticket) {
            if (streams[i]->worker) pthread_cond_wait(&idle, &sim_mutex);
            else {
                Task *task = streams[i]->first;
                if (task->kind == WAIT) fulfil(task->event, task->ticket);
                step(streams[i], task);
                take_off(streams[i]);
            }
        }
    }
}

static void *work(void *argument) {
    Stream *stream = argument;
    unsigned seed = (unsigned)stream->slot + 1;
    sim_lock();
    while (!stream->stop) {
        Task *task = stream->first;
        if (!task || (task->kind == WAIT && task->event->done < task->ticket)) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 1000000;
            if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
            pthread_cond_timedwait(&stream->changed, &sim_mutex, &until);
            continue;
        }
        sim_unlock();
        struct timespec pause = {0, (long)(rand_r(&seed) % 20000)};
        nanosleep(&pause, NULL);
        step(stream, task);
        sim_lock();
        take_off(stream);
        pthread_cond_broadcast(&idle);
    }
    sim_unlock();
    return NULL;
}

static Status run_out(Stream *stream) {
    while (stream->first) {
        if (stream->worker) {
            pthread_cond_wait(&idle, &sim_mutex);
            continue;
        }
        Task *task = stream->first;
        if (task->kind == WAIT) fulfil(task->event, task->ticket);
        step(stream, task);
        take_off(stream);
    }
    return stream->failure;
}

/* Waits for all queued work; the failure of a task, which it forgets. */
Status sim_drain(Stream *stream) {
    sim_lock();
    Clock then = stream->clock;
    Status failure = run_out(stream);
    stream->failure = 0;
    sim_host_waited(&then);
    sim_unlock();
    return failure;
}

Status sim_drain_device(int device) {
    Status failure = 0;
    for (int i = 0; i < SLOTS; i++) {
        if (!streams[i] || streams[i]->device != device) continue;
        Status found = sim_drain(streams[i]);
        failure = failure ? failure : found;
    }
    return failure;
}

void sim_wait_event(Event *event) {
    sim_lock();
    Clock then = event->clock;
    fulfil(event, event->recorded);
    sim_host_waited(&then);
    sim_unlock();
}

/* ---------------------------------------------------------------------------------------------- streams */
Stream *sim_new_stream(void) {
    if (sim_mode < 0) sim_mode = mode_of(getenv("ACLSIM_MODE"));
    Stream *stream = sim_new(STREAM, sizeof *stream);
    pthread_cond_init(&stream->changed, NULL);
    sim_lock();
    for (stream->slot = 0; stream->slot < SLOTS && streams[stream->slot];) stream->slot++;
    if (stream->slot == SLOTS) abort();
    stream->device = sim_chosen();
    streams[stream->slot] = stream;
    sim_unlock();
    if (sim_mode == 1) pthread_create(&stream->worker, NULL, work, stream);
    return stream;
}

Stream *sim_default_stream(void) {
    static Stream *of[64];
    int device = sim_chosen();
    sim_lock();
    if (!of[device]) {
        of[device] = sim_new_stream();
        of[device]->object.own = true;
    }
    sim_unlock();
    return of[device];
}

void sim_end_stream(Stream *stream) {
    sim_drain(stream);
    sim_lock();
    stream->stop = true;
    pthread_cond_broadcast(&stream->changed);
    sim_unlock();
    if (stream->worker) pthread_join(stream->worker, NULL);
    sim_lock();
    streams[stream->slot] = NULL;
    sim_kill(&stream->object);
    sim_unlock();
}

void sim_end_streams_of(int device) {
    for (int i = 0; i < SLOTS; i++)
        if (streams[i] && streams[i]->device == device && !streams[i]->object.own) {
            sim_violation("aclrtResetDevice: a stream of the device was not destroyed before");
            sim_end_stream(streams[i]);
        }
}

Status sim_queue(Stream *stream, Task *task) {
    sim_lock();
    if (stream->capturing || (task->kind == WAIT && task->event->captured)) {
        sim_capture(stream, task);
        sim_unlock();
        return 0;
    }
    order(stream, task);
    if (stream->last) stream->last->next = task;
    else stream->first = task;
    stream->last = task;
    pthread_cond_broadcast(&stream->changed);
    if (sim_mode == 2) run_out(stream);
    sim_unlock();
    return 0;
}

/* ---------------------------------------------------------------------------------------------- captured graphs */
static void extend(Graph *graph, Task *task) {
    if (graph->last) graph->last->next = task;
    else graph->first = task;
    graph->last = task;
}

/* A captured graph runs in the order in which it was captured, so its events only say which streams take part. */
void sim_capture(Stream *stream, Task *task) {
    Graph *graph = stream->capturing;
    if (task->kind == RECORD) {
        task->event->captured = graph;
        task->event->by = stream;
    } else if (task->kind == WAIT) {
        if (!graph) stream->capturing = task->event->captured; /* the stream joins the capture */
        else if (task->event->by != graph->origin) task->event->by->open = false;
        stream->open = stream != stream->capturing->origin;
    } else {
        extend(graph, task);
        stream->open = stream != graph->origin;
        return;
    }
    end_task(task);
}

static void let_go(void *event, void *graph) {
    if (((Event *)event)->captured == graph) ((Event *)event)->captured = NULL;
}

/* Ends the capture on all its streams; whether every one came back to the first. */
bool sim_capture_ends(Graph *graph) {
    bool joined = true;
    sim_lock();
    for (int i = 0; i < SLOTS; i++)
        if (streams[i] && streams[i]->capturing == graph) {
            joined &= !streams[i]->open;
            streams[i]->capturing = NULL, streams[i]->open = false;
        }
    sim_each(EVENT, let_go, graph);
    sim_unlock();
    return joined;
}

/* The graph that is being captured and forbids this thread an action that waits or copies at once; or NULL. */
Graph *sim_forbids(void) {
    Graph *found = NULL;
    sim_lock();
    for (int i = 0; i < SLOTS && !found; i++) {
        Graph *g = streams[i] ? streams[i]->capturing : NULL;
        if (g && (g->mode == 0 || (g->mode == 1 && pthread_equal(g->thread, pthread_self())))) found = g;
    }
    sim_unlock();
    return found;
}

bool sim_is_queued(const Graph *graph) {
    bool found = false;
    sim_lock();
    for (int i = 0; i < SLOTS; i++)
        for (Task *t = streams[i] ? streams[i]->first : NULL; t; t = t->next) found |= t->graph == graph;
    sim_unlock();
    return found;
}

void sim_end_graph(Graph *graph) {
    sim_lock();
    while (graph->first) {
        Task *task = graph->first;
        graph->first = task->next;
        end_task(task);
    }
    sim_kill(&graph->object);
    sim_unlock();
}
