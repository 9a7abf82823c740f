"""Kernels that hardly do more than move memory, on arrays beyond the caches, beside the bandwidth a triad reaches here.

The column "triad" is the time in which the best triad that was measured moves the bytes of the case; it writes over one
array again and again.  So its ratio to ours is the part of the bandwidth that we use.  With *recycled* outputs a result
is dropped before the next call, with *fresh* ones every result of a turn is kept: its pages have never been touched.
The column "hand" is NumPy with `out=`: into one array again and again, or into a new one.
"""

from __future__ import annotations

import collections
import concurrent.futures
import ctypes
import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..case import Call, Case, Formula
from ..frameworks import COLUMNS, arrays_of, available, blocking, compiled_torch, put, vocabulary

#: Of each array: three are six times a cache of 32 MiB.
BYTES = 64 << 20
FRACTION = 0.85
#: Results of a turn with fresh outputs, which are all kept; calls of a turn.
KEPT = 8


@dataclasses.dataclass(frozen=True)
class Kernel:
    """`moved`: how many arrays go to or come from memory; `by_hand(out, *arguments)` is NumPy's way."""

    name: str
    formula: Formula
    by_hand: Callable[..., Any]
    arguments: int
    moved: int
    dtypes: tuple[str, ...] = ("float64", "float32")
    #: whether moving memory is what takes the time
    bound: bool = True
    #: whether the result is a large array
    large: bool = True
    absent: Mapping[str, str] = dataclasses.field(default_factory=dict)


def _triad(out: Any, a: Any, b: Any) -> Any:
    return np.add(a, np.multiply(b, b.dtype.type(2.5), out=out), out=out)


def _multiply_add(out: Any, a: Any, b: Any, c: Any) -> Any:
    return np.add(np.multiply(a, b, out=out), c, out=out)


def _chain(out: Any, a: Any, b: Any) -> Any:
    np.add(np.multiply(a, 1.5, out=out), b, out=out)
    return np.subtract(np.multiply(out, a, out=out), 0.5, out=out)


def _copy(out: Any, a: Any) -> Any:
    np.copyto(out, a)
    return out


_SLOPE = math.sqrt(2 / math.pi)


def _gelu_formula(f: Any) -> Callable[..., Any]:
    return lambda a: 0.5 * a * (1.0 + f.tanh(_SLOPE * (a + 0.044715 * (a * a * a))))


def _gelu(out: Any, a: Any) -> Any:
    np.multiply(np.multiply(a, a, out=out), a, out=out)
    np.add(np.multiply(out, 0.044715, out=out), a, out=out)
    np.add(np.tanh(np.multiply(out, _SLOPE, out=out), out=out), 1.0, out=out)
    return np.multiply(np.multiply(out, a, out=out), 0.5, out=out)


KERNELS = (
    Kernel("triad a + 2.5 b", lambda f: lambda a, b: a + 2.5 * b, _triad, 2, 3),
    Kernel("a b + c", lambda f: lambda a, b, c: a * b + c, _multiply_add, 3, 4),
    Kernel("chain (a * 1.5 + b) * a - 0.5", lambda f: lambda a, b: (a * 1.5 + b) * a - 0.5, _chain, 2, 3, ("float64",)),
    Kernel("scale 2 a", lambda f: lambda a: 2.0 * a, lambda out, a: np.multiply(a, 2.0, out=out), 1, 2),
    Kernel(
        "copy a", lambda f: lambda a: a.clone() if hasattr(a, "clone") else a.copy(), _copy, 1, 2, ("float64",),
        absent={"eager": "it copies when somebody writes"},
    ),
    Kernel("gelu", _gelu_formula, _gelu, 1, 2, bound=False),
    Kernel(
        "sum of a b", lambda f: lambda a, b: (a * b).sum(), lambda out, a, b: np.multiply(a, b, out=out).sum(), 2, 2,
        ("float64",), large=False,
    ),
)  # fmt: skip


@functools.cache
def arrays(count: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(BYTES // np.dtype(dtype).itemsize).astype(dtype) for _ in range(count)]


# ------------------------------------------------------------------------------------------------ the limit
def triads() -> Iterator[tuple[Callable[..., Any], int]]:
    """Ways to write a triad of float64 over its last argument, each with the arrays that it moves."""
    yield lambda a, b, out: _triad(out, a, b), 5
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
    if available("native"):
        yield _past_caches(), 3


#: A triad whose stores bypass the caches; the last array is aligned to 64 bytes, and all are a multiple of that long.
_TRIAD = """
define void @triad(ptr %a, ptr %b, ptr %out, i64 %bytes) {
start:
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %loop]
  %a.at = getelementptr i8, ptr %a, i64 %i
  %b.at = getelementptr i8, ptr %b, i64 %i
  %out.at = getelementptr i8, ptr %out, i64 %i
  %x = load <8 x double>, ptr %a.at, align 8
  %y = load <8 x double>, ptr %b.at, align 8
  %scaled = fmul <8 x double> %y, splat (double 2.5)
  %sum = fadd <8 x double> %x, %scaled
  store <8 x double> %sum, ptr %out.at, align 64, !nontemporal !0
  %next = add i64 %i, 64
  %more = icmp ult i64 %next, %bytes
  br i1 %more, label %loop, label %done
done:
  fence seq_cst
  ret void
}
!0 = !{i32 1}
"""


def _past_caches() -> Callable[..., Any]:
    """A triad by LLVM alone, an equal part of it in each thread."""
    from autodiff_compiler.backends.native.jit.engine import load

    made = load(_TRIAD)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    run = kind(made.address("triad"))
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    pool = concurrent.futures.ThreadPoolExecutor(threads)

    def call(a: Any, b: Any, out: Any, code: Any = made) -> None:
        part = out.nbytes // threads // 64 * 64
        sizes = [part] * (threads - 1) + [out.nbytes - part * (threads - 1)]
        starts = [[x.ctypes.data + i * part for x in (a, b, out)] for i in range(threads)]
        if threads == 1:
            run(*starts[0], sizes[0])
        else:
            list(pool.map(lambda start, size: run(*start, size), starts, sizes))

    return call


class Triad:
    """Microseconds per array that is moved, measured anew in each round by the best of the ways."""

    def __init__(self) -> None:
        room = np.empty(BYTES + 64, np.uint8)
        start = -room.ctypes.data % 64
        out = room[start : start + BYTES].view(np.float64)
        self.arrays = [*arrays(2, "float64"), out]
        self.ways = list(triads())
        for way, _ in self.ways:
            out.fill(0)
            way(*self.arrays)
            _compare(out, _triad(np.empty_like(out), *arrays(2, "float64")))

    def __call__(self) -> float:
        times = []
        for way, moved in self.ways:
            for _ in range(3):
                start = time.perf_counter()
                way(*self.arrays)
                times.append((time.perf_counter() - start) / moved)
        return 1e6 * min(times)


_limit = functools.cache(Triad)


# ------------------------------------------------------------------------------------------------ the cases
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


def case(kernel: Kernel, dtype: str, fresh: bool) -> Case:
    def timed(column: str) -> Callable[[], Callable[[], float]]:
        @functools.cache
        def make() -> Callable[[], float]:
            given = arrays(kernel.arguments, dtype)
            f = _compiled(column, kernel.formula(vocabulary(column)))
            call = _by_hand(kernel, given, fresh) if column == "hand" else Call(f, *put(column, given))
            expected = kernel.by_hand(np.empty_like(given[0]), *given)
            _compare(arrays_of(call())[0], np.asarray(expected))
            return lambda: seconds(call, fresh)

        return make

    columns = [c for c in COLUMNS if c not in kernel.absent and c not in ("autograd", "numba")]
    outputs = f", {'fresh' if fresh else 'recycled'} outputs" if kernel.large else ""
    return Case(
        f"{kernel.name}, {dtype}{outputs}", {c: timed(c) for c in columns},
        absent=kernel.absent, targets={"triad": FRACTION} if kernel.bound and not fresh else {},
        beside={"triad": lambda: lambda: kernel.moved * _limit()()}, kind="figure", unit="us",
    )  # fmt: skip


def _by_hand(kernel: Kernel, given: list[np.ndarray], fresh: bool) -> Callable[[], Any]:
    if fresh:
        return lambda: kernel.by_hand(np.empty_like(given[0]), *given)
    return Call(kernel.by_hand, np.empty_like(given[0]), *given)


def _compare(found: np.ndarray, expected: np.ndarray) -> None:
    """AssertionError: a sample of the elements is not what it must be."""
    np.testing.assert_allclose(found.ravel()[::997], expected.ravel()[::997], 1e-4, 1e-5)


def _compiled(column: str, f: Callable[..., Any]) -> Callable[..., Any]:
    if column in ("native", "numpy"):
        import autodiff_compiler as ms

        found: Callable[..., Any] = ms.jit(f)
        return found
    if column == "jax":
        return blocking(f)
    return compiled_torch(f) if column == "torch.compile" else f


def cases() -> Iterator[Case]:
    for kernel in KERNELS:
        for dtype in kernel.dtypes:
            for fresh in (False, True) if kernel.large else (False,):
                yield case(kernel, dtype, fresh)
