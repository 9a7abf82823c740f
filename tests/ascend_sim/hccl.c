/* libhccl.so of the simulator: communicators, and collectives queued on streams. */
#define _GNU_SOURCE
#include "hccl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOT_BYTES 4108
#define MARK "hccl of the simulator "
#define NEEDS_CONTEXT(name)                                              \
    do {                                                                 \
        Status injected_ = sim_enter(name);                              \
        if (injected_) return injected_;                                 \
        if (sim_context(name)) return E_PARA;                            \
    } while (0)

/* ---------------------------------------------------------------------------------------------- communicators */
static const char *parent(void) {
    const char *named = getenv("ACLSIM_HCCL");
    return named ? named : "/tmp";
}

EXPORT Status HcclGetRootInfo(char *info) {
    static int made;
    NEEDS_CONTEXT("HcclGetRootInfo");
    if (!info) return sim_error(E_PTR, "HcclGetRootInfo");
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    memset(info, 0, ROOT_BYTES);
    int n = snprintf(info, ROOT_BYTES, MARK "%.120s/hccl-%d-%d-%lld", parent(), (int)getpid(), made++, (long long)t.tv_sec * 1000000000 + t.tv_nsec);
    memset(info + n + 1, 0xa5, ROOT_BYTES - (size_t)n - 1); /* all bytes must travel */
    if (mkdir(info + strlen(MARK), 0700)) return sim_error(E_OPEN, "%s: %m", info + strlen(MARK));
    return 0;
}

static Status enter(const char *folder, uint32_t size, uint32_t rank, Comm **comm) {
    if (!size || size > MOST_RANKS || rank >= size) return sim_error(E_PARA, "rank %u of %u", rank, size);
    Comm *made = sim_new(COMMUNICATOR, sizeof *made);
    snprintf(made->folder, sizeof made->folder, "%.190s", folder);
    made->rank = (int)rank, made->size = (int)size, made->device = sim_chosen();
    Status status = join_others(made);
    if (status) sim_kill(&made->object);
    else *comm = made;
    return status;
}

EXPORT Status HcclCommInitRootInfo(uint32_t size, const char *info, uint32_t rank, Comm **comm) {
    NEEDS_CONTEXT("HcclCommInitRootInfo");
    if (!info || !comm) return sim_error(E_PTR, "HcclCommInitRootInfo");
    const char *end = memchr(info, 0, ROOT_BYTES);
    if (strncmp(info, MARK, strlen(MARK)) || !end) return sim_error(E_PARA, "this is no root info");
    for (const char *p = end + 1; p < info + ROOT_BYTES; p++)
        if ((unsigned char)*p != 0xa5) return sim_error(E_PARA, "the root info is not whole");
    return enter(info + strlen(MARK), size, rank, comm);
}

/* The number behind the text `key` after `from`, which may be in quotation marks; -1 if there is none before `end`. */
static long number_behind(const char *from, const char *end, const char *key) {
    const char *at = strstr(from, key);
    if (!at || at >= end) return -1;
    at += strlen(key);
    at += strspn(at, "\": \t\n");
    return strtol(at, NULL, 10);
}

/* A table of ranks as JSON: of each object with a `rank_id`, the device is what counts here. */
EXPORT Status HcclCommInitClusterInfo(const char *path, uint32_t rank, Comm **comm) {
    NEEDS_CONTEXT("HcclCommInitClusterInfo");
    if (!path || !comm) return sim_error(E_PTR, "HcclCommInitClusterInfo");
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!file) return sim_error(E_OPEN, "EI0004: the rank table %s: %m", path);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    uint32_t size = 0;
    uint64_t sum = 14695981039346656037ull;
    long device = -1;
    for (const char *p = text; *p; p++) sum = (sum ^ (unsigned char)*p) * 1099511628211ull;
    for (const char *p = text; (p = strstr(p, "\"rank_id\"")); p++, size++) {
        const char *open = p, *close = strchr(p, '}');
        while (open > text && *open != '{') open--;
        if (close && number_behind(p, close, "\"rank_id\"") == (long)rank) device = number_behind(open, close, "\"device_id\"");
    }
    if (!strstr(text, "\"completed\"") || device < 0) return sim_error(E_PARA, "EI0004: the rank table has no device for rank %u", rank);
    if (device != sim_chosen()) return sim_error(E_PARA, "EI0004: rank %u has device %ld in the rank table, the thread has %d", rank, device, sim_chosen());
    char folder[192];
    snprintf(folder, sizeof folder, "%.120s/hccl-table-%016llx", parent(), (unsigned long long)sum);
    mkdir(folder, 0700); /* whoever comes first */
    return enter(folder, size, rank, comm);
}

EXPORT Status HcclCommDestroy(Comm *handle) {
    Status injected = sim_enter("HcclCommDestroy");
    if (injected) return injected;
    Comm *comm = sim_object(handle, COMMUNICATOR, "HcclCommDestroy");
    if (!comm) return sim_error(E_PARA, "HcclCommDestroy");
    if (comm->queued) {
        sim_violation("HcclCommDestroy: a queued collective uses the communicator");
        return sim_error(E_AGAIN, "the communicator is in use");
    }
    leave_others(comm);
    sim_kill(&comm->object);
    return 0;
}

EXPORT Status HcclGetRankSize(Comm *handle, uint32_t *size) {
    NEEDS_CONTEXT("HcclGetRankSize");
    Comm *comm = sim_object(handle, COMMUNICATOR, "HcclGetRankSize");
    if (!comm || !size) return sim_error(E_PARA, "HcclGetRankSize");
    *size = (uint32_t)comm->size;
    return 0;
}

EXPORT Status HcclGetRankId(Comm *handle, uint32_t *rank) {
    NEEDS_CONTEXT("HcclGetRankId");
    Comm *comm = sim_object(handle, COMMUNICATOR, "HcclGetRankId");
    if (!comm || !rank) return sim_error(E_PARA, "HcclGetRankId");
    *rank = (uint32_t)comm->rank;
    return 0;
}

EXPORT const char *HcclGetErrorString(int32_t code) {
    switch (code) {
    case 0: return "no error";
    case E_PARA: return "parameter error";
    case E_PTR: return "empty pointer";
    case E_NOT_SUPPORT: return "not support feature";
    case E_NOT_FOUND: return "not found specific resource";
    case E_TIMEOUT: return "timeout";
    case E_OPEN: return "open file fail";
    case E_AGAIN: return "try again";
    default: return "unknown error";
    }
}

/* ---------------------------------------------------------------------------------------------- collectives */
/* An operand in memory of the device, aligned to its elements. */
static Status placed(const char *name, const void *address, uint64_t size, uint64_t item) {
    if (!size) return 0;
    if (!address) return sim_error(E_PTR, "%s: a buffer is NULL", name);
    if ((uint64_t)address % item) return sim_error(E_PARA, "%s: %p is not aligned to %d bytes", name, address, (int)item);
    return sim_bytes((uint64_t)address, size, name) ? 0 : sim_error(E_PARA, "%s: a buffer is not in the device's memory", name);
}

static Status reducible(const char *name, int dtype, int op) {
    if (op < SUM || op > MIN) return sim_error(E_PARA, "%s: reduction %d", name, op);
    bool known = dtype == H_I8 || dtype == H_I16 || dtype == H_I32 || dtype == H_I64 || dtype == H_F16 || dtype == H_F32 || dtype == H_BF16;
    if (!known || (op == PROD && (dtype == H_I16 || dtype == H_BF16))) return sim_error(E_NOT_SUPPORT, "%s: dataType %d with op %d", name, dtype, op);
    return 0;
}

/* Checks messages between two ranks and numbers them: one at most from one rank to another in one call. */
static Status messages(const char *name, Comm *comm, Exchange *x) {
    bool known[2][MOST_RANKS] = {0};
    for (struct Message *m = x->messages; m < x->messages + x->message_count; m++) {
        uint64_t item = hccl_size_of(m->dtype);
        if (!item) return sim_error(E_PARA, "%s: dataType %d", name, m->dtype);
        if (m->peer < 0 || m->peer >= comm->size) return sim_error(E_PARA, "%s: there is no rank %d", name, m->peer);
        if (m->peer == comm->rank) return sim_error(E_PARA, "%s: rank %d is this one", name, m->peer);
        if (known[m->sends][m->peer]) return sim_error(E_PARA, "%s: two messages between the same ranks", name);
        known[m->sends][m->peer] = true;
        Status status = placed(name, (void *)m->at, m->count * item, item);
        if (status) return status;
    }
    for (struct Message *m = x->messages; m < x->messages + x->message_count; m++)
        m->number = m->sends ? comm->sent[m->peer]++ : comm->received[m->peer]++;
    return 0;
}

/* Checks a call and queues it; `x` has the way, the header without name, and the addresses with their sizes in elements. */
static Status queue(const char *name, Comm *handle, Stream *stream_handle, Exchange x) {
    NEEDS_CONTEXT(name);
    Comm *comm = sim_object(handle, COMMUNICATOR, name);
    Stream *stream = stream_handle ? sim_object(stream_handle, STREAM, name) : NULL;
    if (!comm || !stream) return sim_error(E_PTR, "%s: the communicator or the stream", name);
    if (comm->device != sim_chosen() || stream->device != comm->device) {
        sim_violation("%s: the communicator is of device %d, the thread's is %d", name, comm->device, sim_chosen());
        return sim_error(E_PARA, "%s: device", name);
    }
    if (stream->capturing) return sim_error(E_NOT_SUPPORT, "%s: the stream is captured", name);
    x.item = x.way == BARRIER || x.way == MESSAGES ? 1 : hccl_size_of(x.header.dtype);
    if (!x.item) return sim_error(E_PARA, "%s: dataType %d", name, x.header.dtype);
    Status status = x.header.op == NO_REDUCTION ? 0 : reducible(name, x.header.dtype, x.header.op);
    if (status) return status;
    if ((int)x.header.root >= comm->size) return sim_error(E_PARA, "%s: there is no rank %u", name, x.header.root);
    if (x.way == MESSAGES && (status = messages(name, comm, &x))) return status;
    x.from_size *= x.item, x.to_size *= x.item;
    if ((status = placed(name, (void *)x.from, x.from_size, x.item)) || (status = placed(name, (void *)x.to, x.to_size, x.item))) return status;
    bool overlap = x.from < x.to + x.to_size && x.to < x.from + x.from_size;
    if (overlap && !(x.from == x.to && (x.way == ALL_REDUCE || x.way == BROADCAST))) sim_violation("%s: the buffers overlap", name);
    x.comm = comm;
    snprintf(x.header.name, sizeof x.header.name, "%s", name);
    if (x.way != MESSAGES) x.number = comm->collectives++;
    Task *task = sim_task(EXCHANGE, name);
    task->ranges = calloc(2 + (size_t)x.message_count, sizeof(Range));
    task->ranges[task->range_count++] = (Range){x.from, x.from + x.from_size, false};
    task->ranges[task->range_count++] = (Range){x.to, x.to + x.to_size, true};
    for (struct Message *m = x.messages; m < x.messages + x.message_count; m++)
        task->ranges[task->range_count++] = (Range){m->at, m->at + m->count * hccl_size_of(m->dtype), !m->sends};
    task->exchange = exchange, task->with = malloc(sizeof x);
    memcpy(task->with, &x, sizeof x);
    comm->queued++;
    return sim_queue(stream, task);
}

static uint64_t ranks_of(Comm *handle) { return sim_alive(handle) ? (uint64_t)handle->size : 0; }
static bool is_rank(Comm *handle, uint32_t rank) { return sim_alive(handle) && handle->rank == (int)rank; }

#define AT(pointer) ((uint64_t)(pointer))

EXPORT Status HcclAllReduce(void *from, void *to, uint64_t count, int32_t dtype, int32_t op, Comm *comm, Stream *stream) {
    return queue("HcclAllReduce", comm, stream, (Exchange){.way = ALL_REDUCE, .header = {"", dtype, op, 0, count}, .from = AT(from), .to = AT(to), .from_size = count, .to_size = count});
}

EXPORT Status HcclAllGather(void *from, void *to, uint64_t count, int32_t dtype, Comm *comm, Stream *stream) {
    return queue("HcclAllGather", comm, stream, (Exchange){.way = ALL_GATHER, .header = {"", dtype, NO_REDUCTION, 0, count}, .from = AT(from), .to = AT(to), .from_size = count, .to_size = count * ranks_of(comm)});
}

EXPORT Status HcclReduceScatter(void *from, void *to, uint64_t count, int32_t dtype, int32_t op, Comm *comm, Stream *stream) {
    return queue("HcclReduceScatter", comm, stream, (Exchange){.way = REDUCE_SCATTER, .header = {"", dtype, op, 0, count}, .from = AT(from), .to = AT(to), .from_size = count * ranks_of(comm), .to_size = count});
}

EXPORT Status HcclBroadcast(void *at, uint64_t count, int32_t dtype, uint32_t root, Comm *comm, Stream *stream) {
    return queue("HcclBroadcast", comm, stream, (Exchange){.way = BROADCAST, .header = {"", dtype, NO_REDUCTION, root, count}, .from = AT(at), .to = AT(at), .from_size = is_rank(comm, root) ? count : 0, .to_size = count});
}

EXPORT Status HcclReduce(void *from, void *to, uint64_t count, int32_t dtype, int32_t op, uint32_t root, Comm *comm, Stream *stream) {
    return queue("HcclReduce", comm, stream, (Exchange){.way = REDUCE, .header = {"", dtype, op, root, count}, .from = AT(from), .to = AT(to), .from_size = count, .to_size = to ? count : 0});
}

EXPORT Status HcclScatter(void *from, void *to, uint64_t count, int32_t dtype, uint32_t root, Comm *comm, Stream *stream) {
    uint64_t sends = is_rank(comm, root) ? count * ranks_of(comm) : 0;
    return queue("HcclScatter", comm, stream, (Exchange){.way = SCATTER, .header = {"", dtype, NO_REDUCTION, root, count}, .from = AT(from), .to = AT(to), .from_size = sends, .to_size = count});
}

static Status one_message(const char *name, struct Message message, Comm *comm, Stream *stream) {
    Exchange x = {.way = MESSAGES, .header = {"", 0, NO_REDUCTION, 0, 0}, .message_count = 1};
    x.messages[0] = message;
    return queue(name, comm, stream, x);
}

EXPORT Status HcclSend(void *from, uint64_t count, int32_t dtype, uint32_t rank, Comm *comm, Stream *stream) {
    return one_message("HcclSend", (struct Message){true, (int)rank, dtype, AT(from), count, 0}, comm, stream);
}

EXPORT Status HcclRecv(void *to, uint64_t count, int32_t dtype, uint32_t rank, Comm *comm, Stream *stream) {
    return one_message("HcclRecv", (struct Message){false, (int)rank, dtype, AT(to), count, 0}, comm, stream);
}

typedef struct { int32_t way; void *at; uint64_t count; int32_t dtype; uint32_t rank; } Item;

EXPORT Status HcclBatchSendRecv(Item *items, uint32_t count, Comm *comm, Stream *stream) {
    if (!items || !count || count > 2 * MOST_RANKS) return sim_error(E_PARA, "HcclBatchSendRecv: %u messages", count);
    Exchange x = {.way = MESSAGES, .header = {"", 0, NO_REDUCTION, 0, 0}, .message_count = (int)count};
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].way < 0 || items[i].way > 1) return sim_error(E_PARA, "HcclBatchSendRecv: way %d", items[i].way);
        x.messages[i] = (struct Message){items[i].way == 0, (int)items[i].rank, items[i].dtype, AT(items[i].at), items[i].count, 0};
    }
    return queue("HcclBatchSendRecv", comm, stream, x);
}

EXPORT Status HcclBarrier(Comm *comm, Stream *stream) {
    return queue("HcclBarrier", comm, stream, (Exchange){.way = BARRIER, .header = {"", 0, NO_REDUCTION, 0, 0}});
}

/* The counts and places of the parts; the elements that they span. */
static uint64_t parts_of(Parts *parts, const uint64_t *counts, const uint64_t *places, uint64_t ranks) {
    uint64_t most = 0;
    for (uint64_t r = 0; r < ranks; r++) {
        parts->count[r] = counts[r], parts->at[r] = places[r];
        if (counts[r] && places[r] + counts[r] > most) most = places[r] + counts[r];
    }
    return most;
}

EXPORT Status HcclAlltoAllV(const void *from, const void *counts, const void *places, int32_t dtype, const void *to, const void *in_counts, const void *in_places, int32_t in_dtype, Comm *comm, Stream *stream) {
    Exchange x = {.way = ALL_TO_ALL, .header = {"", dtype, NO_REDUCTION, 0, 0}, .from = AT(from), .to = AT(to)};
    if (!counts || !places || !in_counts || !in_places) return sim_error(E_PTR, "HcclAlltoAllV");
    if (dtype != in_dtype) return sim_error(E_PARA, "HcclAlltoAllV: two dtypes");
    x.from_size = parts_of(&x.out, counts, places, ranks_of(comm));
    x.to_size = parts_of(&x.in, in_counts, in_places, ranks_of(comm));
    return queue("HcclAlltoAllV", comm, stream, x);
}

EXPORT Status HcclAlltoAll(const void *from, uint64_t count, int32_t dtype, const void *to, uint64_t in_count, int32_t in_dtype, Comm *comm, Stream *stream) {
    Exchange x = {.way = ALL_TO_ALL, .header = {"", dtype, NO_REDUCTION, 0, count}, .from = AT(from), .to = AT(to)};
    if (dtype != in_dtype || count != in_count) return sim_error(E_PARA, "HcclAlltoAll: two dtypes or counts");
    for (uint64_t r = 0; r < ranks_of(comm); r++) x.out.count[r] = x.in.count[r] = count, x.out.at[r] = x.in.at[r] = r * count;
    x.from_size = x.to_size = count * ranks_of(comm);
    return queue("HcclAlltoAll", comm, stream, x);
}
