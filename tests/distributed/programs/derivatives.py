"""Every collective in every mode: values against NumPy over what all have, derivatives against differences."""

import sys

import numpy as np
from measured import RANK, WORLD, N, agrees, modes, operand, verify_derivatives, weighed

import autodiff_compiler as ac
from autodiff_compiler import ops
from autodiff_compiler.ops import communication as comm


def neighbors(x):
    of = ops.NeighborExchange([(RANK + 1) % N], [(RANK - 1) % N], [x.shape], [x.shape], x.dtype)
    return of((x,))[0]


def ring(x):
    comm.isend(x * x, (RANK + 1) % N, tag=3)
    found, handle = comm.irecv(x, (RANK - 1) % N, tag=3)
    handle.wait()
    return x + found


def uneven(x):
    """Rows to all: process s sends r + 1 rows to process r."""
    sent, received = [r + 1 for r in range(N)], [RANK + 1] * N
    return comm.all_to_all_single_with_output_shape((N * (RANK + 1), 2), x, received, sent)[0]


#: What is applied, to a tensor of which shape, and what NumPy gives for this process.
CASES = {
    "all_reduce_sum": (ops.AllReduce(), (2, 3), lambda xs: xs.sum(0)),
    "all_reduce_prod": (ops.AllReduce("prod"), (2, 3), lambda xs: xs.prod(0)),
    "all_reduce_max": (ops.AllReduce("max"), (2, 3), lambda xs: xs.max(0)),
    "all_reduce_min": (ops.AllReduce("min"), (2, 3), lambda xs: xs.min(0)),
    "all_reduce_avg": (lambda x: comm.all_reduce(x, "avg")[0], (3,), lambda xs: xs.mean(0)),
    "all_reduce_number": (ops.AllReduce(), (), lambda xs: xs.sum(0)),
    "all_gather": (ops.AllGather(), (2, 3), np.concatenate),
    "all_gather_number": (ops.AllGather(), (), lambda xs: xs),
    "reduce_scatter": (ops.ReduceScatter(), (2 * N, 3), lambda xs: np.split(xs.sum(0), N)[RANK]),
    "reduce_scatter_max": (ops.ReduceScatter("max"), (2 * N,), lambda xs: np.split(xs.max(0), N)[RANK]),
    "reduce_scatter_prod": (ops.ReduceScatter("prod"), (N, 2), lambda xs: np.split(xs.prod(0), N)[RANK]),
    "broadcast": (lambda x: ops.Broadcast(N - 1)((x,))[0], (2, 3), lambda xs: xs[N - 1]),
    "reduce": (ops.Reduce(N - 1), (2, 3), lambda xs: xs.sum(0) if RANK == N - 1 else np.zeros(1)),
    "reduce_min": (ops.Reduce(0, "min"), (2, 3), lambda xs: xs.min(0) if RANK == 0 else np.zeros(1)),
    "gather": (ops.CollectiveGather(0), (2, 3), lambda xs: np.concatenate(xs) if RANK == 0 else np.zeros(1)),
    "scatter": (ops.CollectiveScatter(N - 1), (2 * N, 3), lambda xs: np.split(xs[N - 1], N)[RANK]),
    "all_to_all": (ops.AlltoAll(N, 0, 1), (2 * N, 3), lambda xs: np.concatenate([np.split(x, N)[RANK] for x in xs], 1)),
    "all_to_all_v": (
        uneven,
        (N * (N + 1) // 2, 2),
        lambda xs: np.concatenate([x[RANK * (RANK + 1) // 2 :][: RANK + 1] for x in xs]),
    ),
    "neighbors": (neighbors, (2, 3), lambda xs: xs[RANK - 1]),
    "ring": (ring, (2, 3), lambda xs: xs[RANK] + xs[RANK - 1] ** 2),
}


def check(name):
    apply, shape, wanted = CASES[name]
    x = operand(shape)
    xs = np.stack(WORLD.allgather(x))
    for mode, f in modes(apply).items():
        agrees(f"{name} {mode}", f(ac.Tensor(x)).asnumpy(), wanted(xs), 1e-12)
    verify_derivatives(name, lambda t: weighed(apply(t)), x, orders=1 if N > 2 else 2)


for case in sys.argv[1:] or CASES:
    check(case)
if RANK == 0:
    print("done", flush=True)
