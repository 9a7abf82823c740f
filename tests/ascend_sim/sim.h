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

typedef int32_t Status;

/* dtypes, as CANN numbers them */
enum { F32 = 0, F16 = 1, I8 = 2, I32 = 3, U8 = 4, I16 = 6, U16 = 7, U32 = 8, I64 = 9, U64 = 10, F64 = 11, BOOL = 12, BF16 = 27 };

/* ---------------------------------------------------------------------------------------------- objects */
typedef enum {
    TENSOR = 1, SCALAR, INTS, BOOLS, FLOATS, TENSORS, SCALARS, EXECUTOR, STREAM, EVENT, GRAPH
} Kind;

typedef struct {
    uint64_t magic;
    Kind kind;
    bool alive;
    bool listed; /* a list owns it */
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
    Arg args[MAX_ARGS];
    int count;
    uint64_t workspace;
    bool repeatable, fresh, slow;
    pthread_t thread;
};

/* ---------------------------------------------------------------------------------------------- tasks */
typedef struct Task {
    struct Task *next;
    enum { KERNEL, COPY, FILL, RECORD, WAIT, REPLAY } kind;
    const char *name;
    Executor *executor; /* an own copy */
    uint64_t workspace, workspace_size;
    void *to, *from;
    uint64_t size;
    int value, way;
    struct Event *event;
    uint64_t ticket;
    struct Graph *graph;
} Task;

typedef struct Stream {
    Object object;
    Task *first, *last;
    Status failure;
    struct Graph *capturing;
    pthread_t capture_thread;
    bool busy, stop;
    pthread_t worker;
    pthread_cond_t changed;
} Stream;

typedef struct Event {
    Object object;
    uint64_t recorded, done; /* tickets */
    double at;
} Event;

typedef struct Graph {
    Object object;
    Task *first, *last;
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
void sim_lock(void);
void sim_unlock(void);

bool sim_is_device(const void *address);
/* The bytes of `size` bytes of device memory; NULL (a violation) unless they lie in one live block. */
unsigned char *sim_bytes(uint64_t address, uint64_t size, const char *what);
bool sim_is_pinned(const void *address, uint64_t size);
uint64_t sim_size_of(int dtype);

/* The device of the calling thread, -1 if it has none. */
int sim_chosen(void);
void sim_choose(int device);
/* Whether the calling thread has a device; sets the error. */
Status sim_context(const char *function);
Status sim_queue(Stream *stream, Task *task);
Status sim_drain(Stream *stream);
void sim_add_to_graph(Graph *graph, Task *task);
Task *sim_task(int kind, const char *name);
void sim_log(const char *format, ...);

/* Settings that tests make (control.c) */
extern int sim_mode; /* 0 lazy, 1 threads, 2 eager */
bool sim_refuses_repeat(const char *operator_name);
Status sim_task_failure(const char *operator_name);
bool sim_refuses_capture(void);
uint64_t sim_workspace_for(const char *operator_name, const Executor *e);

#endif
