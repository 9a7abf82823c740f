/* A simulated Ascend device: what the libraries of the simulator share.

   Nothing here comes from the vendor; the contract is what docs/ascend.md says of CANN's documented behaviour.
   Device memory has addresses that no host code can read: its bytes lie in a second mapping (`sim_bytes`).
*/
#ifndef SIM_H
#define SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_DIMS 8
#define MAX_ARGS 24
#define SLOTS 64 /* streams at a time */

typedef int32_t Status;

/* dtypes, as CANN numbers them */
enum { F32 = 0, F16 = 1, I8 = 2, I32 = 3, U8 = 4, I16 = 6, U16 = 7, U32 = 8, I64 = 9, U64 = 10, F64 = 11, BOOL = 12, BF16 = 27 };

/* ---------------------------------------------------------------------------------------------- objects */
typedef enum {
    TENSOR = 1, SCALAR, INTS, BOOLS, FLOATS, TENSORS, SCALARS, EXECUTOR, STREAM, EVENT, GRAPH, CONTEXT, COMMUNICATOR
} Kind;

typedef struct {
    Kind kind;
    bool alive;
    bool listed; /* a list owns it */
    bool own;    /* the simulator's own, no leak */
    uint64_t number;
} Object;

typedef struct {
    Object object;
    int rank, dtype, format;
    int64_t dims[MAX_DIMS], strides[MAX_DIMS], offset, storage;
    uint64_t address;
    unsigned char *bytes; /* of its storage, while a kernel runs */
} Tensor;

typedef struct { Object object; int dtype; double real; int64_t integer; } Scalar;
typedef struct { Object object; uint64_t count; int64_t *values; } Ints;
typedef struct { Object object; uint64_t count; bool *values; } Bools;
typedef struct { Object object; uint64_t count; float *values; } Floats;
typedef struct { Object object; uint64_t count; Tensor **items; } Tensors;

/* One argument of an operator as its kernel sees it: copied in the first phase, so later changes show nothing. */
typedef struct {
    enum { NOTHING, ONE_TENSOR, MANY_TENSORS, NUMBER, INTEGERS, BOOLEANS } kind;
    bool out;
    Tensor *handle; /* must be alive in the second phase */
    Tensor tensor;
    Tensors *list_handle;
    Tensor *tensors;
    uint64_t count;
    int64_t *integers;
    bool *booleans;
    double real;
    int64_t integer;
    int dtype;
} Arg;

typedef struct Executor Executor;
typedef void (*Kernel)(Executor *);

struct Executor {
    Object object;
    const char *name;
    Kernel kernel;
    Arg *args; /* room for MAX_ARGS */
    int count;
    uint64_t workspace;
    bool repeatable, fresh, slow;
    pthread_t thread;
};

/* ---------------------------------------------------------------------------------------------- tasks */
/* Bytes that a task reads or writes. */
typedef struct { uint64_t from, to; bool write; } Range;

/* How much of every stream is done. */
typedef struct { uint64_t at[SLOTS]; } Clock;

typedef struct Task {
    struct Task *next;
    enum { KERNEL, COPY, FILL, STATUS, CLEAR, RECORD, WAIT, REPLAY, EXCHANGE } kind;
    const char *name;
    Executor *executor; /* an own copy */
    uint64_t workspace, workspace_size;
    void *to, *from;
    uint64_t size;
    int value, way;
    struct Event *event;
    uint64_t ticket;
    struct Graph *graph;
    Status (*exchange)(struct Task *); /* of a collective; what it needs is in `with`, which is freed with the task */
    void *with;
    Range *ranges; /* its memory; freed with the task */
    int range_count;
    char said[256]; /* why it failed */
} Task;

typedef struct Stream {
    Object object;
    Task *first, *last;
    Status failure;
    char said[256]; /* why the task failed */
    struct Graph *capturing;
    bool open; /* takes part in a capture that another stream began, and has not come back to it */
    bool stop;
    int slot, device;
    Clock clock;
    pthread_t worker;
    pthread_cond_t changed;
} Stream;

typedef struct Event {
    Object object;
    uint64_t recorded, done; /* tickets */
    double at;
    bool timed, synchronises;
    Clock clock;
    struct Graph *captured;
    Stream *by;
} Event;

typedef struct Graph {
    Object object;
    Task *first, *last;
    Stream *origin;
    pthread_t thread;
    int mode;
    bool broken;
} Graph;

/* ---------------------------------------------------------------------------------------------- core.c */
/* Called at the start of every function of the interface; its status is what a test injected. */
Status sim_enter(const char *function);
/* What `aclGetRecentErrMsg` will say; returns the status. */
Status sim_error(Status status, const char *format, ...);
/* A breach of the contract: tests read the list and fail. */
void sim_violation(const char *format, ...);
void *sim_new(Kind kind, size_t size);
/* The object behind a handle, or NULL (a violation) if it is none of this kind or was destroyed. */
void *sim_object(const void *handle, Kind kind, const char *function);
bool sim_alive(const void *handle);
/* The object is destroyed; a later use of it is known as such. */
void sim_kill(Object *object);
/* All living objects of a kind; with the lock held. */
void sim_each(Kind kind, void (*visit)(void *object, void *with), void *with);
void sim_lock(void);
void sim_unlock(void);
extern pthread_mutex_t sim_mutex;
/* Whether results that overflow become the largest number and nan 0, and whether that happened. */
extern bool sim_saturates;
extern uint32_t sim_overflowed;

/* ---------------------------------------------------------------------------------------------- memory.c */
bool sim_is_device(const void *address);
/* The bytes of `size` bytes of device memory; NULL (a violation) unless they lie in one live block. */
unsigned char *sim_bytes(uint64_t address, uint64_t size, const char *what);
/* The same for an operand of a kernel, which may read 32 bytes behind its end. */
unsigned char *sim_operand(uint64_t address, uint64_t size, const char *what);
void sim_poison(unsigned char *bytes, uint64_t size);
bool sim_is_pinned(const void *address, uint64_t size);
void aclsim_memory_limit(uint64_t bytes);
uint64_t sim_live_blocks(void);
uint64_t sim_pinned(void);
uint64_t sim_size_of(int dtype);

/* The device of the calling thread, -1 if it has none. */
int sim_chosen(void);
/* A device's default context, which all threads share, lives from when it is first set to its last reset. */
void *sim_current_context(void);
void sim_choose_context(void *context);
void sim_set_device(int device);
void sim_reset_device(int device);
/* How often each device was set and not reset. */
extern int sim_sets[8];
/* Whether the calling thread has a device; sets the error. */
Status sim_context(const char *function);
/* ---------------------------------------------------------------------------------------------- streams.c */
Task *sim_task(int kind, const char *name);
Executor *sim_copy_executor(const Executor *e);
void sim_release_arguments(Executor *e);
/* The bytes from the first to the last element of a view; false if it has none. */
bool sim_extent(const Tensor *t, uint64_t *from, uint64_t *to);
bool sim_queued_uses(uint64_t address, uint64_t size);
Status sim_queue(Stream *stream, Task *task);
Status sim_drain(Stream *stream);
Status sim_drain_device(int device);
void sim_wait_event(Event *event);
/* The host reads or writes memory now. */
void sim_host_touches(const void *address, uint64_t size, bool write, const char *name);
void sim_host_waited(const Clock *clock);
Stream *sim_new_stream(void);
/* The one of the thread's device that a NULL handle means. */
Stream *sim_default_stream(void);
void sim_end_stream(Stream *stream);
void sim_end_streams_of(int device);
void sim_capture(Stream *stream, Task *task);
bool sim_capture_ends(Graph *graph);
Graph *sim_forbids(void);
bool sim_is_queued(const Graph *graph);
void sim_end_graph(Graph *graph);
void sim_log(const char *format, ...);

/* Settings that tests make */
extern int sim_mode; /* 0 lazy, 1 threads, 2 eager */
bool sim_refuses_repeat(const char *operator_name);
Status sim_task_failure(const char *operator_name);
bool sim_refuses_capture(void);

#endif
