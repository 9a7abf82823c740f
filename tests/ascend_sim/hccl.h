/* Collectives of simulated devices: one process per device, messages are files of a folder per communicator. */
#ifndef HCCL_H
#define HCCL_H

#include "sim.h"

#define MOST_RANKS 16

/* dtypes, reductions and results, as HCCL numbers them */
enum { H_I8 = 0, H_I16, H_I32, H_F16, H_F32, H_I64, H_U64, H_U8, H_U16, H_U32, H_F64, H_BF16 };
enum { SUM = 0, PROD, MAX, MIN, NO_REDUCTION = 255 };
enum { E_PARA = 1, E_PTR = 2, E_NOT_SUPPORT = 5, E_NOT_FOUND = 6, E_TIMEOUT = 9, E_OPEN = 10, E_AGAIN = 20 };

typedef struct {
    Object object;
    char folder[192];
    int rank, size, device;
    uint64_t collectives; /* queued so far: the number of the next one */
    uint64_t sent[MOST_RANKS], received[MOST_RANKS];
    _Atomic int queued; /* that have not run */
} Comm;

/* What all ranks must say alike of a collective. */
typedef struct { char name[32]; int32_t dtype, op; uint32_t root; uint64_t count; } Header;

typedef enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SCATTER, ALL_TO_ALL, BARRIER, MESSAGES } Way;

/* Elements to and from each rank, and where they begin. */
typedef struct { uint64_t count[MOST_RANKS], at[MOST_RANKS]; } Parts;

typedef struct {
    Comm *comm;
    Way way;
    Header header;
    uint64_t number, item; /* bytes of an element */
    uint64_t from, to, from_size, to_size;
    Parts out, in; /* of an all-to-all */
    struct Message { bool sends; int peer, dtype; uint64_t at, count, number; } messages[2 * MOST_RANKS];
    int message_count;
} Exchange;

uint64_t hccl_size_of(int dtype);
/* Runs a collective with the others; its status is one of the device's. */
Status exchange(Task *task);
/* Enters a communicator, whose members all do; the status is one of HCCL's. */
Status join_others(Comm *comm);
void leave_others(Comm *comm);

#endif
