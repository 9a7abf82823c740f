/* libascendcl.so of the simulator: start-up, devices, memory, copies, streams, events, captured graphs. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdlib.h>
#include <string.h>

typedef Stream *aclrtStream;
typedef Event *aclrtEvent;

const char *sim_take_message(void);
Status sim_malloc(uint64_t size, uint64_t *address);
Status sim_free(uint64_t address);
void sim_pin(const char *at, uint64_t size);
bool sim_unpin(const char *at);
uint64_t aclsim_memory_used(void);
uint64_t aclsim_memory_total(void);

#define ENTER(name)                              \
    do {                                         \
        Status injected_ = sim_enter(name);      \
        if (injected_) return injected_;         \
    } while (0)
#define NEEDS_CONTEXT(name)                                        \
    do {                                                           \
        ENTER(name);                                               \
        Status context_ = sim_context(name);                       \
        if (context_) return context_;                             \
    } while (0)

/* Refuses what waits, looks or copies at once while a capture forbids it; that ends the capture badly too. */
#define NOT_IN_CAPTURE(name)                                                                \
    do {                                                                                    \
        Graph *captured_ = sim_forbids();                                                   \
        if (captured_) {                                                                    \
            captured_->broken = true;                                                       \
            return sim_error(107030, "%s is not allowed while a stream is captured", name); \
        }                                                                                   \
    } while (0)

static int initialised;
static bool finalised;

static int devices(void) {
    const char *text = getenv("ACLSIM_DEVICES");
    return text ? atoi(text) : 2;
}

/* ---------------------------------------------------------------------------------------------- start-up */
EXPORT Status aclInit(const char *path) {
    (void)path;
    ENTER("aclInit");
    if (devices() == 0) return sim_error(500000, "no device");
    if (initialised++) return sim_error(100002, "aclInit was called before");
    finalised = false;
    return 0;
}

EXPORT Status aclFinalize(void) {
    ENTER("aclFinalize");
    if (finalised || !initialised) return sim_error(100037, "aclFinalize was called before");
    finalised = true;
    initialised = 0;
    return 0;
}

EXPORT const char *aclGetRecentErrMsg(void) { return sim_take_message(); }
EXPORT const char *aclrtGetSocName(void) { return "Ascend910B_simulated"; }

EXPORT Status aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) {
    ENTER("aclrtGetVersion");
    *major = 1, *minor = 13, *patch = 0;
    return 0;
}

EXPORT Status aclrtGetRunMode(int32_t *mode) {
    NEEDS_CONTEXT("aclrtGetRunMode");
    *mode = 1;
    return 0;
}

EXPORT Status aclrtGetDeviceCount(uint32_t *count) {
    ENTER("aclrtGetDeviceCount");
    if (!initialised) return sim_error(100001, "aclInit was not called");
    *count = devices();
    return 0;
}

EXPORT Status aclrtSetDevice(int32_t number) {
    ENTER("aclrtSetDevice");
    if (!initialised) return sim_error(100001, "aclInit was not called");
    if (number < 0 || number >= devices()) return sim_error(107001, "there is no device %d", number);
    sim_set_device(number);
    return 0;
}

EXPORT Status aclrtResetDevice(int32_t number) {
    ENTER("aclrtResetDevice");
    if (number < 0 || number >= devices() || sim_sets[number] == 0) return sim_error(107001, "device %d was not set", number);
    NOT_IN_CAPTURE("aclrtResetDevice");
    sim_drain_device(number);
    sim_reset_device(number);
    return 0;
}

EXPORT Status aclrtGetCurrentContext(void **context) {
    NEEDS_CONTEXT("aclrtGetCurrentContext");
    *context = sim_current_context();
    return 0;
}

EXPORT Status aclrtSetCurrentContext(void *context) {
    ENTER("aclrtSetCurrentContext");
    if (!context || !sim_object(context, CONTEXT, "aclrtSetCurrentContext")) return sim_error(107000, "aclrtSetCurrentContext");
    sim_choose_context(context);
    return 0;
}

EXPORT Status aclrtSynchronizeDevice(void) {
    NEEDS_CONTEXT("aclrtSynchronizeDevice");
    NOT_IN_CAPTURE("aclrtSynchronizeDevice");
    return sim_drain_device(sim_chosen());
}

EXPORT Status aclGetCannAttribute(int32_t attribute, int32_t *value) {
    ENTER("aclGetCannAttribute");
    if (attribute < 0 || attribute > 2 || !value) return sim_error(100000, "aclGetCannAttribute");
    *value = 1;
    return 0;
}

/* 0: numbers that overflow become the largest, nan becomes 0; 1: infinities and nan. */
EXPORT Status aclrtSetDeviceSatMode(int32_t mode) {
    NEEDS_CONTEXT("aclrtSetDeviceSatMode");
    if (mode < 0 || mode > 1) return sim_error(107000, "aclrtSetDeviceSatMode: %d", mode);
    sim_saturates = mode == 0;
    return 0;
}

EXPORT Status aclrtGetDeviceSatMode(int32_t *mode) {
    NEEDS_CONTEXT("aclrtGetDeviceSatMode");
    if (!mode) return sim_error(107000, "aclrtGetDeviceSatMode");
    *mode = !sim_saturates;
    return 0;
}

EXPORT Status aclGetDeviceCapability(uint32_t number, int32_t info, int64_t *value) {
    ENTER("aclGetDeviceCapability");
    (void)number, (void)info;
    *value = 0;
    return 0;
}

static int64_t options[8];

EXPORT Status aclrtSetSysParamOpt(int32_t option, int64_t value) {
    ENTER("aclrtSetSysParamOpt");
    if (option < 0 || option >= 8) return sim_error(100000, "option %d", option);
    options[option] = value;
    return 0;
}

EXPORT Status aclrtCtxSetSysParamOpt(int32_t option, int64_t value) {
    NEEDS_CONTEXT("aclrtCtxSetSysParamOpt");
    if (option < 0 || option >= 8) return sim_error(100000, "option %d", option);
    options[option] = value;
    return 0;
}

EXPORT int64_t aclsim_option(int option) { return options[option]; }

/* ---------------------------------------------------------------------------------------------- memory */
EXPORT Status aclrtMalloc(void **address, size_t size, int32_t policy) {
    NEEDS_CONTEXT("aclrtMalloc");
    if (!address || !size || policy < 0 || policy > 7) return sim_error(100000, "aclrtMalloc of %zu bytes", size);
    return sim_malloc(size, (uint64_t *)address);
}

EXPORT Status aclrtFree(void *address) {
    ENTER("aclrtFree");
    if (!address) return sim_error(100000, "aclrtFree of NULL");
    return sim_free((uint64_t)address);
}

EXPORT Status aclrtMallocHost(void **address, size_t size) {
    NEEDS_CONTEXT("aclrtMallocHost");
    if (!address || !size) return sim_error(100000, "aclrtMallocHost of %zu bytes", size);
    *address = malloc(size);
    sim_pin(*address, size);
    return 0;
}

EXPORT Status aclrtFreeHost(void *address) {
    ENTER("aclrtFreeHost");
    if (!sim_unpin(address)) {
        sim_violation("aclrtFreeHost of %p, which is no page-locked memory", address);
        return sim_error(107000, "aclrtFreeHost");
    }
    return 0;
}

EXPORT Status aclrtGetMemInfo(int32_t attribute, size_t *left, size_t *total) {
    NEEDS_CONTEXT("aclrtGetMemInfo");
    if (attribute < 0 || attribute > 11) return sim_error(100000, "aclrtGetMemInfo");
    *total = aclsim_memory_total();
    *left = *total - aclsim_memory_used();
    return 0;
}

/* The direction that the addresses mean; -1 if it is not `kind`. */
static bool direction_fits(const void *to, const void *from, int kind) {
    bool device_to = sim_is_device(to), device_from = sim_is_device(from);
    int found = device_to ? (device_from ? 3 : 1) : (device_from ? 2 : 0);
    return kind == 4 || kind == found;
}

static Status check_copy(void *to, size_t room, const void *from, size_t size, int kind, const char *name) {
    if (!to || !from || size > room) return sim_error(100000, "%s: %zu bytes into %zu", name, size, room);
    if (!direction_fits(to, from, kind)) {
        sim_violation("%s: the addresses are not of kind %d", name, kind);
        return sim_error(107000, "%s: direction", name);
    }
    if (sim_is_device(to) && !sim_bytes((uint64_t)to, size, name)) return sim_error(107000, "%s: target", name);
    if (sim_is_device(from) && !sim_bytes((uint64_t)from, size, name)) return sim_error(107000, "%s: source", name);
    return 0;
}

EXPORT Status aclrtMemcpy(void *to, size_t room, const void *from, size_t size, int32_t kind) {
    NEEDS_CONTEXT("aclrtMemcpy");
    Status status = check_copy(to, room, from, size, kind, "aclrtMemcpy");
    NOT_IN_CAPTURE("aclrtMemcpy");
    if (status) return status;
    sim_host_touches(from, size, false, "aclrtMemcpy");
    sim_host_touches(to, size, true, "aclrtMemcpy");
    void *a = sim_is_device(to) ? sim_bytes((uint64_t)to, size, "aclrtMemcpy") : to;
    const void *b = sim_is_device(from) ? sim_bytes((uint64_t)from, size, "aclrtMemcpy") : from;
    memmove(a, b, size); /* at once: it waits for no stream */
    return 0;
}

/* The stream of a handle, of the thread's device; NULL means the device's default stream. */
static Stream *stream_of(aclrtStream handle, const char *name) {
    Stream *found = handle ? sim_object(handle, STREAM, name) : sim_default_stream();
    if (!found || found->device == sim_chosen()) return found;
    sim_violation("%s: the stream is one of device %d, the thread's is %d", name, found->device, sim_chosen());
    return NULL;
}

EXPORT Status aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, int32_t kind, aclrtStream handle) {
    NEEDS_CONTEXT("aclrtMemcpyAsync");
    Status status = check_copy(to, room, from, size, kind, "aclrtMemcpyAsync");
    if (status) return status;
    if (!sim_is_device(to) && !sim_is_device(from)) return sim_error(207000, "copies between host addresses are not queued");
    Stream *stream = stream_of(handle, "aclrtMemcpyAsync");
    if (!stream) return sim_error(107003, "aclrtMemcpyAsync: stream");
    const void *host = sim_is_device(to) ? from : to;
    bool pageable = !sim_is_device(host) && !sim_is_pinned(host, size);
    if (pageable && stream->capturing) return sim_error(107030, "a captured copy needs page-locked memory");
    Task *task = sim_task(COPY, "a copy");
    task->to = to, task->from = (void *)from, task->size = size, task->way = kind;
    sim_queue(stream, task);
    return pageable ? sim_drain(stream) : 0;
}

EXPORT Status aclrtMemset(void *address, size_t room, int32_t value, size_t size) {
    NEEDS_CONTEXT("aclrtMemset");
    NOT_IN_CAPTURE("aclrtMemset");
    unsigned char *to = size <= room ? sim_bytes((uint64_t)address, size, "aclrtMemset") : NULL;
    if (!to) return sim_error(107000, "aclrtMemset");
    sim_host_touches(address, size, true, "aclrtMemset");
    memset(to, value, size);
    return 0;
}

EXPORT Status aclrtMemsetAsync(void *address, size_t room, int32_t value, size_t size, aclrtStream handle) {
    NEEDS_CONTEXT("aclrtMemsetAsync");
    Stream *stream = stream_of(handle, "aclrtMemsetAsync");
    if (!stream || size > room || !sim_bytes((uint64_t)address, size, "aclrtMemsetAsync")) return sim_error(100000, "aclrtMemsetAsync");
    Task *task = sim_task(FILL, "aclrtMemsetAsync");
    task->to = address, task->size = size, task->value = value;
    return sim_queue(stream, task);
}

/* ---------------------------------------------------------------------------------------------- streams, events */
EXPORT Status aclrtCreateStream(aclrtStream *stream) {
    NEEDS_CONTEXT("aclrtCreateStream");
    *stream = sim_new_stream();
    return 0;
}

EXPORT Status aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag) {
    (void)priority, (void)flag;
    NEEDS_CONTEXT("aclrtCreateStreamWithConfig");
    *stream = sim_new_stream();
    return 0;
}

EXPORT Status aclrtDestroyStream(aclrtStream handle) {
    ENTER("aclrtDestroyStream");
    if (!handle) return sim_error(100000, "aclrtDestroyStream of NULL");
    Stream *stream = sim_object(handle, STREAM, "aclrtDestroyStream");
    if (!stream) return sim_error(107017, "aclrtDestroyStream");
    if (stream->capturing) return sim_error(107027, "aclrtDestroyStream: the stream is captured");
    sim_end_stream(stream);
    return 0;
}

EXPORT Status aclrtSynchronizeStream(aclrtStream handle) {
    NEEDS_CONTEXT("aclrtSynchronizeStream");
    Stream *stream = stream_of(handle, "aclrtSynchronizeStream");
    if (!stream) return sim_error(107003, "aclrtSynchronizeStream");
    if (stream->capturing) {
        stream->capturing->broken = true;
        return sim_error(107027, "a stream that is captured cannot be waited for");
    }
    NOT_IN_CAPTURE("aclrtSynchronizeStream");
    Status failure = sim_drain(stream);
    return failure ? sim_error(failure, "%s", stream->said[0] ? stream->said : "a task of the stream failed") : 0;
}

EXPORT Status aclrtStreamQuery(aclrtStream handle, int32_t *status) {
    NEEDS_CONTEXT("aclrtStreamQuery");
    Stream *stream = stream_of(handle, "aclrtStreamQuery");
    if (!stream) return sim_error(107003, "aclrtStreamQuery");
    NOT_IN_CAPTURE("aclrtStreamQuery");
    *status = stream->first ? 1 : 0;
    return 0;
}

EXPORT Status aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    NEEDS_CONTEXT("aclrtCreateEventExWithFlag");
    if (!flag) return sim_error(100000, "an event needs a flag");
    Event *made = sim_new(EVENT, sizeof *made);
    made->synchronises = flag & 1, made->timed = flag & 8;
    *event = made;
    return 0;
}

EXPORT Status aclrtDestroyEvent(aclrtEvent handle) {
    ENTER("aclrtDestroyEvent");
    Event *event = sim_object(handle, EVENT, "aclrtDestroyEvent");
    if (!event) return sim_error(107017, "aclrtDestroyEvent");
    sim_kill(&event->object);
    return 0;
}

EXPORT Status aclrtRecordEvent(aclrtEvent handle, aclrtStream on) {
    NEEDS_CONTEXT("aclrtRecordEvent");
    Event *event = sim_object(handle, EVENT, "aclrtRecordEvent");
    Stream *stream = stream_of(on, "aclrtRecordEvent");
    if (!event || !stream) return sim_error(107017, "aclrtRecordEvent");
    Task *task = sim_task(RECORD, "record");
    task->event = event;
    if (!stream->capturing) task->ticket = ++event->recorded;
    return sim_queue(stream, task);
}

EXPORT Status aclrtStreamWaitEvent(aclrtStream on, aclrtEvent handle) {
    NEEDS_CONTEXT("aclrtStreamWaitEvent");
    Event *event = sim_object(handle, EVENT, "aclrtStreamWaitEvent");
    Stream *stream = stream_of(on, "aclrtStreamWaitEvent");
    if (!event || !stream) return sim_error(107017, "aclrtStreamWaitEvent");
    if (!event->synchronises) sim_violation("aclrtStreamWaitEvent: the event was not made for it");
    Task *task = sim_task(WAIT, "wait");
    task->event = event, task->ticket = event->recorded;
    return sim_queue(stream, task);
}

EXPORT Status aclrtQueryEventStatus(aclrtEvent handle, int32_t *status) {
    NEEDS_CONTEXT("aclrtQueryEventStatus");
    Event *event = sim_object(handle, EVENT, "aclrtQueryEventStatus");
    if (!event) return sim_error(107017, "aclrtQueryEventStatus");
    if (event->captured) return sim_error(107028, "the event is captured");
    NOT_IN_CAPTURE("aclrtQueryEventStatus");
    *status = event->recorded && event->done >= event->recorded;
    if (*status) sim_host_waited(&event->clock);
    return 0;
}

EXPORT Status aclrtSynchronizeEvent(aclrtEvent handle) {
    NEEDS_CONTEXT("aclrtSynchronizeEvent");
    Event *event = sim_object(handle, EVENT, "aclrtSynchronizeEvent");
    if (!event) return sim_error(107017, "aclrtSynchronizeEvent");
    if (event->captured) return sim_error(107028, "the event is captured");
    NOT_IN_CAPTURE("aclrtSynchronizeEvent");
    sim_wait_event(event);
    return 0;
}

EXPORT Status aclrtEventElapsedTime(float *ms, aclrtEvent first, aclrtEvent second) {
    NEEDS_CONTEXT("aclrtEventElapsedTime");
    Event *a = sim_object(first, EVENT, "aclrtEventElapsedTime"), *b = sim_object(second, EVENT, "aclrtEventElapsedTime");
    if (!a || !b) return sim_error(107017, "aclrtEventElapsedTime");
    if (!a->timed || !b->timed) return sim_error(107006, "an event was not made for timing");
    if (!a->recorded || !b->recorded || a->done < a->recorded || b->done < b->recorded) return sim_error(107006, "an event is not complete");
    *ms = (float)(b->at - a->at);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- overflow */
EXPORT Status aclrtGetOverflowStatus(void *address, size_t size, aclrtStream handle) {
    NEEDS_CONTEXT("aclrtGetOverflowStatus");
    Stream *stream = stream_of(handle, "aclrtGetOverflowStatus");
    if (!stream || size != 64 || !sim_bytes((uint64_t)address, size, "aclrtGetOverflowStatus")) return sim_error(107000, "aclrtGetOverflowStatus");
    Task *task = sim_task(STATUS, "aclrtGetOverflowStatus");
    task->to = address, task->size = size;
    return sim_queue(stream, task);
}

EXPORT Status aclrtResetOverflowStatus(aclrtStream handle) {
    NEEDS_CONTEXT("aclrtResetOverflowStatus");
    Stream *stream = stream_of(handle, "aclrtResetOverflowStatus");
    if (!stream) return sim_error(107003, "aclrtResetOverflowStatus");
    return sim_queue(stream, sim_task(CLEAR, "aclrtResetOverflowStatus"));
}

/* ---------------------------------------------------------------------------------------------- captured graphs */
EXPORT Status aclmdlRICaptureBegin(aclrtStream handle, int32_t mode) {
    NEEDS_CONTEXT("aclmdlRICaptureBegin");
    if (!handle) return sim_error(107031, "the default stream cannot be captured");
    Stream *stream = stream_of(handle, "aclmdlRICaptureBegin");
    if (!stream || mode < 0 || mode > 2) return sim_error(107000, "aclmdlRICaptureBegin");
    if (stream->capturing) return sim_error(107027, "the stream is captured already");
    if (sim_refuses_capture()) return sim_error(207000, "this release cannot capture");
    Graph *made = sim_new(GRAPH, sizeof *made);
    made->origin = stream, made->thread = pthread_self(), made->mode = mode;
    stream->capturing = made;
    return 0;
}

EXPORT Status aclmdlRICaptureEnd(aclrtStream handle, Graph **graph) {
    Status injected = sim_enter("aclmdlRICaptureEnd");
    Stream *stream = stream_of(handle, "aclmdlRICaptureEnd");
    Graph *found = stream ? stream->capturing : NULL;
    if (!found) return sim_error(107029, "nothing is captured");
    if (found->origin != stream) return sim_error(107036, "the capture began on another stream");
    if (found->mode != 2 && !pthread_equal(found->thread, pthread_self())) return sim_error(107038, "another thread began");
    Status status = sim_capture_ends(found) ? 0 : sim_error(107025, "a stream did not come back to the first");
    if (found->broken) status = sim_error(507903, "the capture was broken off");
    if (injected) status = injected; /* the capture ends all the same */
    if (status) sim_end_graph(found);
    *graph = status ? NULL : found;
    return status;
}

EXPORT Status aclmdlRIExecuteAsync(Graph *handle, aclrtStream on) {
    NEEDS_CONTEXT("aclmdlRIExecuteAsync");
    Graph *graph = sim_object(handle, GRAPH, "aclmdlRIExecuteAsync");
    Stream *stream = stream_of(on, "aclmdlRIExecuteAsync");
    if (!graph || !stream) return sim_error(107017, "aclmdlRIExecuteAsync");
    Task *task = sim_task(REPLAY, "a captured graph");
    task->graph = graph;
    return sim_queue(stream, task);
}

EXPORT Status aclmdlRIDestroy(Graph *handle) {
    NEEDS_CONTEXT("aclmdlRIDestroy");
    Graph *graph = sim_object(handle, GRAPH, "aclmdlRIDestroy");
    if (!graph) return sim_error(107017, "aclmdlRIDestroy");
    if (graph->origin->device != sim_chosen()) sim_violation("aclmdlRIDestroy: the graph is another device's");
    if (sim_is_queued(graph)) {
        sim_violation("aclmdlRIDestroy: the graph is running");
        return sim_error(107037, "aclmdlRIDestroy: the graph is running");
    }
    sim_end_graph(graph);
    return 0;
}
