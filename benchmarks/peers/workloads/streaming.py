"""Kernels that only move memory, on arrays beyond the caches, beside the bandwidth that a triad reaches here.

The column "triad" is the time in which the best triad that was measured moves the bytes of the case; it writes over one
array again and again.  So its ratio to ours is the part of the bandwidth that we use.  With *recycled* outputs a result
is dropped before the next call, with *fresh* ones every result of a turn is kept: its pages have never been touched.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Call, Case
from ..frameworks import available, blocking, compiled_torch, put

#: Float64; three arrays are six times a cache of 32 MiB.
N = 8_000_000
FRACTION = 0.85
KEPT = 8

KERNELS: dict[str, tuple[Callable[..., Any], int, int]] = {
    # name: function, number of arguments, arrays moved per call
    "triad a + 2.5 b": (lambda a, b: a + 2.5 * b, 2, 3),
    "chain (a * 1.5 + b) * a - 0.5": (lambda a, b: (a * 1.5 + b) * a - 0.5, 2, 3),
    "scale 2 a": (lambda a: 2.0 * a, 1, 2),
    "sum of a * b": (lambda a, b: (a * b).sum(), 2, 2),
}


def arrays(count: int) -> Arrays:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(N) for _ in range(count)]


def _numpy_triad(a: Any, b: Any, out: Any) -> None:
    np.multiply(b, 2.5, out=out)
    np.add(a, out, out=out)


def triads() -> Iterator[tuple[Callable[..., None], int]]:
    """Ways to write a triad, each with the arrays that it moves."""
    yield _numpy_triad, 5
    if available("numba"):
        import numba

        def loop(a: Any, b: Any, out: Any) -> None:
            for i in numba.prange(a.size):
                out[i] = a[i] + 2.5 * b[i]

        yield numba.njit(loop, parallel=numba.get_num_threads() > 1), 3
    if available("torch"):
        import torch

        def combined(a: Any, b: Any, out: Any) -> None:
            torch.add(torch.from_numpy(a), torch.from_numpy(b), alpha=2.5, out=torch.from_numpy(out))

        yield combined, 3


class Triad:
    """Microseconds per array that is moved, measured anew in each round by the best of the ways."""

    def __init__(self) -> None:
        self.arrays = [*arrays(2), np.empty(N)]
        self.ways = list(triads())
        for way, _ in self.ways:
            way(*self.arrays)

    def __call__(self) -> float:
        times = []
        for way, moved in self.ways:
            for _ in range(3):
                start = time.perf_counter()
                way(*self.arrays)
                times.append((time.perf_counter() - start) / moved)
        return 1e6 * min(times)


def seconds(call: Callable[[], Any], fresh: bool) -> float:
    """Microseconds of one of a few calls, as `fresh` says: the best."""
    kept: collections.deque[Any] = collections.deque(maxlen=KEPT)
    best = float("inf")
    result = None
    for _ in range(KEPT):
        if fresh:
            kept.append(result)
        else:
            result = None
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best


def case(name: str, fresh: bool) -> Case:
    f, count, moved = KERNELS[name]

    def timed(column: str) -> Callable[[], Callable[[], float]]:
        def make() -> Callable[[], float]:
            call = Call(_compiled(column, f), *put(column, arrays(count)))
            call()
            return lambda: seconds(call, fresh)

        return make

    triad: list[Triad] = []

    def limit() -> Callable[[], float]:
        if not triad:
            triad.append(Triad())
        return lambda: moved * triad[0]()

    columns = ("native", "numpy", "eager", "jax", "torch", "torch.compile", "hand")
    return Case(
        f"{name}, {'fresh' if fresh else 'recycled'} outputs", {c: timed(c) for c in columns},
        targets={} if fresh else {"triad": FRACTION}, beside={"triad": limit}, kind="figure", unit="us",
    )  # fmt: skip


def _compiled(column: str, f: Callable[..., Any]) -> Callable[..., Any]:
    if column in ("native", "numpy"):
        import autodiff_compiler as ms

        found: Callable[..., Any] = ms.jit(f)
        return found
    if column == "jax":
        return blocking(f)
    return compiled_torch(f) if column == "torch.compile" else f


def cases() -> Iterator[Case]:
    for name in KERNELS:
        for fresh in (False, True):
            if not (fresh and name.startswith("sum")):
                yield case(name, fresh)
