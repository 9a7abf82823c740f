"""What programs that check derivatives in many processes share: NumPy's view of all, and differences.

The derivative is that of the sum over the processes: all move at the same time, each in a direction of its own.
"""

import warnings

import numpy as np
from mpi4py import MPI

import autodiff_compiler as ac
from autodiff_compiler import collectives, ops

warnings.filterwarnings("ignore", "the gradient is zero|.AC2003")  # in this process
WORLD = MPI.COMM_WORLD.Dup()
collectives.init()
N, RANK = WORLD.size, WORLD.rank
RNG = np.random.default_rng(100 + RANK)
WEIGHTS = [RNG.standard_normal(6 * N * N) for _ in range(4)]


def operand(shape):
    """Numbers from 0.5 to 1.5 that differ from each other, also from process to process."""
    count = N * int(np.prod(shape, dtype=int))
    return 0.5 + np.random.default_rng(7).permutation(count).reshape(N, *shape)[RANK] / count


def weighed(y, which=0):
    """A number of a tensor, curved, with weights of this process."""
    w = ac.Tensor(np.resize(WEIGHTS[which], tuple(y.shape)))
    return (y * y * w + ops.sin(y)).sum()


def total(number):
    return WORLD.allreduce(float(number))


def agrees(what, found, wanted, tolerance=1e-6):
    """All processes say whether they agree, so that all end together."""
    off = float(np.max(np.abs(np.asarray(found) - np.asarray(wanted)), initial=0.0))
    worst = WORLD.allreduce(off / (1.0 + float(np.max(np.abs(wanted), initial=0.0))), op=MPI.MAX)
    assert worst <= tolerance, f"{what}: found {found}, wanted {wanted}"


def difference(f, x, v, step=1e-5):
    """How much f changes in this process while all processes move."""
    return (f(x + step * v) - f(x - step * v)) / (2 * step)


def number(f):
    """A function of a Tensor as one of an array, to a Python number."""
    return lambda a: float(f(ac.Tensor(a)).asnumpy())


def modes(make, numpy=True):
    """A function in eager code, in machine code, as a NumPy program."""
    found = {"eager": make, "native": ac.jit(make, backend="native")}
    return {**found, "numpy": ac.jit(make, backend="numpy")} if numpy else found


def verify_derivatives(name, loss, x, orders=2, forward=True):
    """Derivatives of a number by a tensor: in reverse and forward mode, on a tape, and of each other."""
    v, w = RNG.standard_normal(x.shape), RNG.standard_normal(x.shape)
    of_loss = difference(number(loss), x, v)
    for mode, f in modes(ac.grad(loss)).items():
        agrees(f"grad {name} {mode}", total((f(ac.Tensor(x)).asnumpy() * v).sum()), total(of_loss))
    agrees(f"grad {name} tape", total((ac.grad(ac.jit(loss))(ac.Tensor(x)).asnumpy() * v).sum()), total(of_loss))
    for mode, f in modes(lambda t: ac.jvp(loss, t, ac.Tensor(v))[1]).items() if forward else ():
        agrees(f"jvp {name} {mode}", float(f(ac.Tensor(x)).asnumpy()), of_loss)
    if orders == 1:
        return
    slope = lambda t: (ac.grad(loss)(t) * ac.Tensor(w)).sum()
    moved = lambda t: ac.jvp(loss, t, ac.Tensor(w))[1]
    of_slope, of_moved = (difference(number(f), x, v, 1e-4) for f in (slope, moved))
    for mode, f in modes(ac.grad(slope), numpy=False).items():
        agrees(f"grad grad {name} {mode}", total((f(ac.Tensor(x)).asnumpy() * v).sum()), total(of_slope), 1e-5)
    again = ac.grad(lambda t: (ac.grad(ac.jit(loss))(t) * ac.Tensor(w)).sum())
    agrees(f"grad grad {name} tape", total((again(ac.Tensor(x)).asnumpy() * v).sum()), total(of_slope), 1e-5)
    for mode, f in modes(lambda t: ac.jvp(slope, t, ac.Tensor(v))[1], numpy=False).items():
        agrees(f"jvp grad {name} {mode}", float(f(ac.Tensor(x)).asnumpy()), of_slope, 1e-5)
    for mode, f in modes(ac.grad(moved), numpy=False).items():
        agrees(f"grad jvp {name} {mode}", total((f(ac.Tensor(x)).asnumpy() * v).sum()), total(of_moved), 1e-5)
