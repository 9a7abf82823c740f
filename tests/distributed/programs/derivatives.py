"""Every collective, in every mode: values against NumPy over what all processes have, derivatives against differences.

The derivative is that of the sum over the processes: all move at the same time, each in a direction of its own.
"""

import sys

import numpy as np
from mpi4py import MPI

import autodiff_compiler as ac
from autodiff_compiler import collectives, ops
from autodiff_compiler.ops import communication as comm

WORLD = MPI.COMM_WORLD.Dup()
collectives.init()
N, RANK = WORLD.size, WORLD.rank
RNG = np.random.default_rng(100 + RANK)
WEIGHTS = [RNG.standard_normal(6 * N * N) for _ in range(4)]


def operand(shape):
    """Numbers that differ from process to process, away from ties."""
    steps = np.random.default_rng(7).permutation(N * int(np.prod(shape, dtype=int)))
    return 0.3 + 0.17 * steps.reshape(N, *shape)[RANK]


def weighed(y, which=0):
    """A number of a tensor, curved, with weights of this process."""
    w = ac.Tensor(np.resize(WEIGHTS[which], tuple(y.shape)))
    return (y * y * w + ops.sin(y)).sum()


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
    "all_to_all": (
        ops.AlltoAll(N, 0, 1),
        (2 * N, 3),
        lambda xs: np.concatenate([np.split(x, N)[RANK] for x in xs], 1),
    ),
    "all_to_all_v": (
        uneven,
        (N * (N + 1) // 2, 2),
        lambda xs: np.concatenate([x[RANK * (RANK + 1) // 2 :][: RANK + 1] for x in xs]),
    ),
    "neighbors": (neighbors, (2, 3), lambda xs: xs[RANK - 1]),
    "ring": (ring, (2, 3), lambda xs: xs[RANK] + xs[RANK - 1] ** 2),
}


def total(number):
    return WORLD.allreduce(float(number))


def agrees(what, found, wanted, tolerance=1e-6):
    """All processes say whether they agree, so that all end together."""
    off = float(np.max(np.abs(np.asarray(found) - np.asarray(wanted)), initial=0.0))
    worst = WORLD.allreduce(off / (1.0 + float(np.max(np.abs(wanted), initial=0.0))), op=MPI.MAX)
    if not worst <= tolerance:
        print(f"{what}: process {RANK} found {found}, wanted {wanted}", flush=True)
        WORLD.Barrier()
        sys.exit(1)


def difference(f, x, v, step=1e-5):
    """How much f changes in this process while all processes move."""
    return (f(x + step * v) - f(x - step * v)) / (2 * step)


def modes(make):
    """A function in eager code, in machine code, as a NumPy program."""
    return {"eager": make, "native": ac.jit(make, backend="native"), "numpy": ac.jit(make, backend="numpy")}


def check(name):
    apply, shape, wanted = CASES[name]
    x, v, w = operand(shape), RNG.standard_normal(shape), RNG.standard_normal(shape)
    xs = np.stack(WORLD.allgather(x))
    loss = lambda t: weighed(apply(t))
    slope = lambda t: (ac.grad(loss)(t) * ac.Tensor(w)).sum()
    at = lambda f: lambda a: float(f(ac.Tensor(a)).asnumpy())
    of_loss, of_slope = difference(at(loss), x, v), difference(at(slope), x, v, 1e-4)
    for mode, f in modes(apply).items():
        agrees(f"{name} {mode}", f(ac.Tensor(x)).asnumpy(), wanted(xs), 1e-12)
    for mode, f in modes(ac.grad(loss)).items():
        agrees(f"grad {name} {mode}", total((f(ac.Tensor(x)).asnumpy() * v).sum()), total(of_loss))
    agrees(f"grad {name} tape", total((ac.grad(ac.jit(loss))(ac.Tensor(x)).asnumpy() * v).sum()), total(of_loss))
    for mode, f in modes(lambda t: ac.jvp(loss, t, ac.Tensor(v))[1]).items():
        agrees(f"jvp {name} {mode}", float(f(ac.Tensor(x)).asnumpy()), of_loss)
    for mode, f in modes(ac.grad(slope)).items():
        agrees(f"grad grad {name} {mode}", total((f(ac.Tensor(x)).asnumpy() * v).sum()), total(of_slope), 1e-5)
    for mode, f in modes(lambda t: ac.jvp(slope, t, ac.Tensor(v))[1]).items():
        agrees(f"jvp grad {name} {mode}", float(f(ac.Tensor(x)).asnumpy()), of_slope, 1e-5)
    moved = lambda t: ac.jvp(loss, t, ac.Tensor(w))[1]
    of_moved = difference(at(moved), x, v, 1e-4)
    for mode, f in modes(ac.grad(moved)).items():
        agrees(f"grad jvp {name} {mode}", total((f(ac.Tensor(x)).asnumpy() * v).sum()), total(of_moved), 1e-5)


for case in sys.argv[1:] or CASES:
    check(case)
if RANK == 0:
    print("done", flush=True)
