"""A program for any size beside the program for that size: microseconds per call, in turns in one process.

    python benchmarks/sizes.py [NAME ...]

`ratio` is symbolic divided by known: the target is 1.05 where a call takes more than 50 microseconds, and 60
nanoseconds more where it takes less.  Times are the best of many short rounds, which a busy machine changes least.  The
last table has the processor time of a compilation, for which the target is 1.3 times that of known sizes.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["AC_CACHE"] = "0"  # compilations are timed

from _measure import interleaved, machine, np, table

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops, value_and_grad

WORK, RATIO, MORE, COMPILING = 50.0, 1.05, 0.06, 1.3
ROUNDS, SECONDS = 150, 0.001
Case = tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], tuple[int, ...]]


def of(*shape: int) -> Any:
    return Tensor((np.random.default_rng(sum(shape)).normal(size=shape) * 0.3).astype(np.float32))


def chain(x: Any) -> Any:
    return (ops.tanh(x * 2.0 + 1.0) * x - ops.sigmoid(x)) * 0.5


def normed(x: Any) -> Any:
    centred = x - x.mean(-1, keep_dims=True)
    return centred / ops.sqrt((centred * centred).mean(-1, keep_dims=True) + 1e-5)


def step_of(network: Any) -> Callable[..., Any]:
    return value_and_grad(lambda *args: (network(*args) ** 2).sum(), None, network.trainable_params())


class Recurrent(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 32, batch_first=True)

    def construct(self, x: Any) -> Any:
        return self.lstm(x)[0]


def cases() -> dict[str, Case]:
    mlp = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 64), nn.ReLU(), nn.Dense(64, 10))
    images = nn.SequentialCell(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2, 2))
    cubes = value_and_grad(lambda x: (normed(x) ** 3).sum())
    rows, last = (lambda n: (of(n, 64),)), (lambda n: (of(200, n),))
    return {
        "x * 2 + 1": (lambda x: x * 2.0 + 1.0, lambda n: (of(n),), (1, 8, 64, 1000, 100_000)),
        "five arguments": (lambda a, b, c, d, e: a + b + c + d + e, lambda n: (of(n),) * 5, (8,)),
        "chain": (chain, lambda n: (of(n),), (8, 1000, 100_000)),
        "chain, gradient": (value_and_grad(lambda x: chain(x).sum()), lambda n: (of(n),), (8, 1000, 100_000)),
        "softmax of rows": (lambda x: ops.softmax(x, -1), rows, (4, 64, 1000)),
        "softmax, short last axis": (lambda x: ops.softmax(x, -1), last, (3, 10, 17, 100)),
        "softmax of columns": (lambda x: ops.softmax(x, 0), last, (3, 10, 100)),
        "layer norm of rows": (normed, rows, (4, 200, 1000)),
        "layer norm, gradient": (cubes, rows, (4, 200, 1000)),
        "layer norm, short last axis": (normed, last, (3, 8, 10, 17, 64)),
        "layer norm, short last axis, gradient": (cubes, last, (3, 8, 10, 17, 64)),
        "sum": (lambda x: x.sum(), last, (3, 17, 500)),
        "sum over axis 0": (lambda x: x.sum(0), last, (3, 17, 500)),
        "sum over axis 1": (lambda x: x.sum(1), last, (3, 17, 500)),
        "sum of rows over axis 0": (lambda x: x.sum(0), rows, (4, 64, 1000)),
        "sum of rows over axis 1": (lambda x: x.sum(1), rows, (4, 64, 1000)),
        "maximum over axis 1": (lambda x: x.max(1), last, (3, 17, 500)),
        "MLP": (lambda x: mlp(x), rows, (1, 8, 32, 256)),
        "MLP, gradient": (step_of(mlp), rows, (1, 8, 32, 256)),
        "LSTM, gradient": (step_of(Recurrent()), lambda n: (of(8, n, 16),), (4, 12, 30)),
        "block of convolution, batch": (lambda x: images(x), lambda n: (of(n, 3, 16, 16),), (1, 8, 32)),
        "block of convolution, gradient": (step_of(images), lambda n: (of(n, 3, 16, 16),), (1, 8, 32)),
        "attention": (
            lambda q, k, v: ops.softmax(q @ k.swapaxes(-1, -2) * 0.125, -1) @ v,
            lambda n: (of(4, n, 64),) * 3,
            (8, 50, 128),
        ),
    }  # fmt: skip


def rows_of(name: str, function: Callable[..., Any], make: Any, sizes: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """The rows of times, and that of compilations."""
    compiled: tuple[list[float], list[float]] = [], []
    times = []
    for n in sizes:
        args = make(n)
        known, symbolic = jit(function, dynamic=False), jit(function)
        symbolic(*make(n + 1))  # sizes that differ from those of the call before are symbolic
        for step, found in zip((known, symbolic), compiled, strict=True):
            found.append(taken(step, args))
            for _ in range(30):
                step(*args)
        if "must be known" in str(symbolic.explain_recompiles()):
            raise SystemExit(f"{name} is compiled for each size: {symbolic.explain_recompiles()}")
        fixed, free = interleaved([partial(known, *args), partial(symbolic, *args)], ROUNDS, SECONDS)
        missed = free > RATIO * fixed if fixed > WORK else free > fixed + MORE
        times.append([name, n, fixed, free, free / fixed, round(1e3 * (free - fixed)), "missed" if missed else ""])
    first, second = map(min, compiled)
    return times, [name, first, second, second / first, "missed" if second > COMPILING * first else ""]


def taken(run: Callable[..., Any], args: tuple[Any, ...]) -> float:
    gc.collect()
    start = time.process_time()
    run(*args)
    return 1e3 * (time.process_time() - start)


def main() -> None:
    ms.set_seed(1)
    jit(lambda x: (ops.tanh(x) @ x).sum())(of(3, 3))  # what the first compilation of a process loads
    times, compilations = [], []
    for name, case in cases().items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        of_calls, of_compilation = rows_of(name, *case)
        times += of_calls
        compilations.append(of_compilation)
    print(machine())
    head = ("", "size", "known: us", "symbolic: us", "ratio", "more: ns", "")
    table(f"Calls, the best of {ROUNDS} rounds", head, times)
    table("Compilations", ("", "known: ms", "symbolic: ms", "ratio", ""), compilations)


if __name__ == "__main__":
    main()
