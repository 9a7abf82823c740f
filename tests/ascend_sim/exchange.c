/* Messages between the processes of a communicator.

   A file is written under another name first, so that whoever sees it sees all of it.  A rank deletes its file of one
   collective when it has all files of the next: then everybody has read it. */
#define _GNU_SOURCE
#include "hccl.h"

#include "floats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIMED_OUT 507048
#define FAILED 507000

uint64_t hccl_size_of(int dtype) {
    static const uint64_t sizes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2};
    return dtype >= 0 && dtype <= H_BF16 ? sizes[dtype] : 0;
}

/* ---------------------------------------------------------------------------------------------- files */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_of(const char *variable, double otherwise) {
    const char *text = getenv(variable);
    return text ? atof(text) : otherwise;
}

typedef char Path[288];

static void path_of(Path path, const Comm *comm, const char *kind, uint64_t number, int rank) {
    snprintf(path, sizeof(Path), "%s/%s.%llu.%d", comm->folder, kind, (unsigned long long)number, rank);
}

/* Waits until a file is there, or is not; false when the time is up. */
static bool appears(const char *path, bool there, double until) {
    for (long pause = 20000; (access(path, F_OK) == 0) != there; pause = pause < 1000000 ? 2 * pause : pause) {
        if (now() > until) return false;
        struct timespec t = {0, pause};
        nanosleep(&t, NULL);
    }
    return true;
}

static double execution_ends(void) { return now() + seconds_of("HCCL_EXEC_TIMEOUT", 1836); }

static bool published(const Comm *comm, const char *path, const void *head, uint64_t head_size, const void *data, uint64_t size) {
    Path draft;
    snprintf(draft, sizeof draft, "%s/draft.%d", comm->folder, comm->rank);
    FILE *file = fopen(draft, "wb");
    bool good = file && fwrite(head, 1, head_size, file) == head_size && fwrite(data ? data : "", 1, size, file) == size;
    if (file) good &= fclose(file) == 0;
    return good && rename(draft, path) == 0;
}

/* The content of a file, of `size` bytes at least; the caller frees it. */
static unsigned char *content(const char *path, uint64_t size) {
    FILE *file = fopen(path, "rb");
    struct stat found;
    if (!file || fstat(fileno(file), &found) || (uint64_t)found.st_size < size) {
        if (file) fclose(file);
        return NULL;
    }
    unsigned char *made = malloc((size_t)found.st_size + 1);
    if (fread(made, 1, (size_t)found.st_size, file) != (size_t)found.st_size) {
        free(made);
        made = NULL;
    }
    fclose(file);
    return made;
}

/* ---------------------------------------------------------------------------------------------- beginning and end */
typedef struct { int size, device; char host[64]; } Member;

Status join_others(Comm *comm) {
    Member own = {comm->size, comm->device, ""};
    Path path;
    gethostname(own.host, sizeof own.host - 1);
    path_of(path, comm, "join", 0, comm->rank);
    if (access(comm->folder, F_OK)) return sim_error(E_NOT_FOUND, "no rank gave this root info, or it has left");
    if (access(path, F_OK) == 0) return sim_error(E_PARA, "rank %d is in this communicator already", comm->rank);
    if (!published(comm, path, &own, sizeof own, NULL, 0)) return sim_error(E_NOT_FOUND, "%s: %m", path);
    double until = now() + seconds_of("HCCL_CONNECT_TIMEOUT", 120);
    for (int r = 0; r < comm->size; r++) {
        path_of(path, comm, "join", 0, r);
        if (!appears(path, true, until)) return sim_error(E_TIMEOUT, "EI0006: Getting socket times out: rank %d of %d did not come", r, comm->size);
        Member *member = (Member *)content(path, sizeof *member);
        Status status = 0;
        if (!member) status = sim_error(E_NOT_FOUND, "rank %d left", r);
        else if (member->size != comm->size)
            status = sim_error(E_PARA, "EI0005: The arguments for collective communication are inconsistent between ranks: nRanks, local %d, of rank %d %d", comm->size, r, member->size);
        else if (r != comm->rank && member->device == comm->device && !strcmp(member->host, own.host))
            status = sim_error(E_PARA, "rank %d has the same device %d", r, comm->device);
        free(member);
        if (status) return status;
    }
    return 0;
}

static void remove_folder(const char *folder) {
    DIR *all = opendir(folder);
    Path path;
    for (struct dirent *entry; all && (entry = readdir(all));) {
        snprintf(path, sizeof path, "%.190s/%.90s", folder, entry->d_name);
        unlink(path);
    }
    if (all) closedir(all);
    rmdir(folder);
}

void leave_others(Comm *comm) {
    Path path;
    path_of(path, comm, "left", 0, comm->rank);
    published(comm, path, "", 0, NULL, 0);
    for (int r = 0; r < comm->size; r++) {
        path_of(path, comm, "left", 0, r);
        if (access(path, F_OK)) return;
    }
    remove_folder(comm->folder); /* the last one */
}

/* ---------------------------------------------------------------------------------------------- numbers */
static double real_of(const unsigned char *at, int dtype) {
    return dtype == H_F32 ? *(const float *)at : dtype == H_F16 ? half_to_float(*(const uint16_t *)at) : bfloat_to_float(*(const uint16_t *)at);
}

static void put_real(unsigned char *at, int dtype, double value) {
    if (dtype == H_F32) *(float *)at = (float)value;
    else *(uint16_t *)at = dtype == H_F16 ? float_to_half((float)value) : float_to_bfloat((float)value);
}

static int64_t whole_of(const unsigned char *at, int dtype) {
    return dtype == H_I8 ? *(const int8_t *)at : dtype == H_I16 ? *(const int16_t *)at : dtype == H_I32 ? *(const int32_t *)at : *(const int64_t *)at;
}

static void put_whole(unsigned char *at, int dtype, int64_t value) { memcpy(at, &value, hccl_size_of(dtype)); }

static double reals(double a, double b, int op) {
    if (op == SUM) return a + b;
    if (op == PROD) return a * b;
    if (a != a || b != b) return a + b;
    return (op == MAX) == (a > b) ? a : b;
}

static int64_t wholes(int64_t a, int64_t b, int op) {
    if (op == SUM) return (int64_t)((uint64_t)a + (uint64_t)b);
    if (op == PROD) return (int64_t)((uint64_t)a * (uint64_t)b);
    return (op == MAX) == (a > b) ? a : b;
}

/* Reduces more elements into others; 16-bit floats are rounded after each rank. */
static void reduce(unsigned char *into, const unsigned char *more, uint64_t count, const Header *h) {
    uint64_t item = hccl_size_of(h->dtype);
    bool real = h->dtype == H_F32 || h->dtype == H_F16 || h->dtype == H_BF16;
    for (uint64_t i = 0; i < count * item; i += item) {
        if (real) put_real(into + i, h->dtype, reals(real_of(into + i, h->dtype), real_of(more + i, h->dtype), h->op));
        else put_whole(into + i, h->dtype, wholes(whole_of(into + i, h->dtype), whole_of(more + i, h->dtype), h->op));
    }
}

/* ---------------------------------------------------------------------------------------------- collectives */
/* The bytes of a rank's message for this one: where they begin behind its head, and how many. */
static void part_of(const Exchange *x, const Parts *theirs, int rank, uint64_t *at, uint64_t *size) {
    uint64_t each = x->header.count * x->item, me = (uint64_t)x->comm->rank;
    bool root = rank == (int)x->header.root;
    *at = 0, *size = each;
    if (x->way == REDUCE_SCATTER || x->way == SCATTER) *at = me * each;
    if ((x->way == BROADCAST || x->way == SCATTER) && !root) *size = 0;
    if (x->way == REDUCE && x->comm->rank != (int)x->header.root) *size = 0;
    if (x->way == BARRIER) *size = 0;
    if (x->way == ALL_TO_ALL) {
        for (uint64_t r = 0; r < me; r++) *at += theirs->count[r] * x->item;
        *size = theirs->count[me] * x->item;
    }
}

static void take_in(const Exchange *x, unsigned char *to, const unsigned char *part, int rank, uint64_t size) {
    uint64_t each = x->header.count * x->item;
    switch (x->way) {
    case ALL_REDUCE: case REDUCE_SCATTER: case REDUCE:
        if (rank) reduce(to, part, x->header.count, &x->header);
        else memcpy(to, part, size);
        break;
    case ALL_GATHER: memcpy(to + (uint64_t)rank * each, part, size); break;
    case ALL_TO_ALL: memcpy(to + x->in.at[rank] * x->item, part, size); break;
    default: memcpy(to, part, size);
    }
}

static Status differs(Task *task, const Exchange *x, const Header *theirs, int rank) {
    const Header *own = &x->header;
    const char *what = strcmp(own->name, theirs->name) ? "tag" : own->count != theirs->count ? "count" : own->dtype != theirs->dtype ? "dataType" : own->op != theirs->op ? "op" : own->root != theirs->root ? "root" : NULL;
    if (!what) return 0;
    snprintf(task->said, sizeof task->said,
             "EI0005: The arguments for collective communication are inconsistent between ranks: %s; local %s of %llu, dataType %d, rank %d %s of %llu, dataType %d",
             what, own->name, (unsigned long long)own->count, own->dtype, rank, theirs->name, (unsigned long long)theirs->count, theirs->dtype);
    return FAILED;
}

static Status late(Task *task, const Exchange *x, int rank) {
    Path left;
    path_of(left, x->comm, "left", 0, rank);
    snprintf(task->said, sizeof task->said, "EI0002: The wait execution of the Notify register times out: %s waited for rank %d%s", x->header.name,
             rank, access(left, F_OK) ? "" : ", which has left");
    return TIMED_OUT;
}

/* This rank's data as others read them: what an all-to-all sends stands in the order of the ranks. */
static unsigned char *gathered(const Exchange *x, const unsigned char *from, uint64_t *size) {
    unsigned char *made = malloc(x->from_size + 1);
    *size = x->from_size;
    if (x->way != ALL_TO_ALL) memcpy(made, from, *size);
    else {
        *size = 0;
        for (int r = 0; r < x->comm->size; r++) {
            memcpy(made + *size, from + x->out.at[r] * x->item, x->out.count[r] * x->item);
            *size += x->out.count[r] * x->item;
        }
    }
    return made;
}

typedef struct { Header header; Parts parts; } Head;

static Status from_rank(Task *task, const Exchange *x, unsigned char *to, int rank, double until) {
    Path path;
    path_of(path, x->comm, "c", x->number, rank);
    if (!appears(path, true, until)) return late(task, x, rank);
    unsigned char *found = content(path, sizeof(Head));
    if (!found) return late(task, x, rank);
    const Head *head = (const Head *)found;
    Status status = differs(task, x, &head->header, rank);
    uint64_t at, size;
    part_of(x, &head->parts, rank, &at, &size);
    if (!status && x->way == ALL_TO_ALL && head->parts.count[x->comm->rank] != x->in.count[rank]) {
        snprintf(task->said, sizeof task->said, "EI0005: The arguments for collective communication are inconsistent between ranks: rank %d sends %llu, %llu are received",
                 rank, (unsigned long long)head->parts.count[x->comm->rank], (unsigned long long)x->in.count[rank]);
        status = FAILED;
    }
    if (!status && size) take_in(x, to, found + sizeof(Head) + at, rank, size);
    free(found);
    return status;
}

static Status collective(Task *task, Exchange *x) {
    Comm *comm = x->comm;
    const unsigned char *from = x->from_size ? sim_bytes(x->from, x->from_size, task->name) : NULL;
    unsigned char *to = x->to_size ? sim_bytes(x->to, x->to_size, task->name) : NULL;
    if ((x->from_size && !from) || (x->to_size && !to)) return FAILED;
    Head head = {x->header, x->out};
    Path path;
    uint64_t size = 0;
    unsigned char *data = from ? gathered(x, from, &size) : NULL;
    path_of(path, comm, "c", x->number, comm->rank);
    bool good = published(comm, path, &head, sizeof head, data, size);
    free(data);
    if (!good) return FAILED;
    if (to && (x->way != BROADCAST || comm->rank != (int)x->header.root)) sim_poison(to, x->to_size);
    double until = execution_ends();
    for (int r = 0; r < comm->size; r++) {
        Status status = from_rank(task, x, to, r, until);
        if (status) return status;
    }
    if (x->number) {
        path_of(path, comm, "c", x->number - 1, comm->rank);
        unlink(path);
    }
    return 0;
}

/* Where a message is, and what both ranks must say alike of it. */
static Header described(Path path, const Exchange *x, const struct Message *m) {
    char kind[16];
    snprintf(kind, sizeof kind, "m%d-%d", m->sends ? x->comm->rank : m->peer, m->sends ? m->peer : x->comm->rank);
    path_of(path, x->comm, kind, m->number, 0);
    Header header = {"", m->dtype, NO_REDUCTION, 0, m->count};
    snprintf(header.name, sizeof header.name, "%s", strcmp(x->header.name, "HcclRecv") ? x->header.name : "HcclSend");
    return header;
}

static Status received(Task *task, const Exchange *x, const struct Message *m, double until) {
    Path path;
    Exchange own = *x;
    own.header = described(path, x, m);
    if (!appears(path, true, until)) return late(task, x, m->peer);
    uint64_t size = m->count * hccl_size_of(m->dtype);
    unsigned char *found = content(path, sizeof(Header)), *to = size ? sim_bytes(m->at, size, task->name) : NULL;
    Status status = found && (to || !size) ? differs(task, &own, (Header *)found, m->peer) : FAILED;
    if (!status && size) memcpy(to, found + sizeof(Header), size);
    free(found);
    if (!status) unlink(path);
    return status;
}

/* Messages between two ranks: all that are sent can be read at once, and are waited for until they were. */
static Status messages(Task *task, Exchange *x) {
    double until = execution_ends();
    Path path;
    for (int i = 0; i < x->message_count; i++) {
        struct Message *m = &x->messages[i];
        if (!m->sends) continue;
        Header header = described(path, x, m);
        uint64_t size = m->count * hccl_size_of(m->dtype);
        unsigned char *from = size ? sim_bytes(m->at, size, task->name) : NULL;
        if ((size && !from) || !published(x->comm, path, &header, sizeof header, from, size)) return FAILED;
    }
    for (int i = 0; i < x->message_count; i++) {
        Status status = x->messages[i].sends ? 0 : received(task, x, &x->messages[i], until);
        if (status) return status;
    }
    for (int i = 0; i < x->message_count; i++) {
        if (!x->messages[i].sends) continue;
        described(path, x, &x->messages[i]);
        if (!appears(path, false, until)) return late(task, x, x->messages[i].peer);
    }
    return 0;
}

Status exchange(Task *task) {
    Exchange *x = task->with;
    x->comm->queued--;
    return x->way == MESSAGES ? messages(task, x) : collective(task, x);
}
