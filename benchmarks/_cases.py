"""What a row of `kernels.py` is: a public function, the call of NumPy or SciPy in its place, and their operands."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from _measure import np

from autodiff_compiler import ops

KiB = 1024
MiB = 1024 * KiB


class Operands:
    """Makes the operands of one row: arrays of about `nbytes` bytes in a dtype, always the same numbers."""

    def __init__(self, nbytes: int, dtype: str) -> None:
        self.rng = np.random.default_rng(0)
        self.dtype = np.dtype(dtype)
        self.n = nbytes // self.dtype.itemsize
        #: The sizes of a matrix of n elements: powers of 2, rows <= columns <= 2 * rows.
        self.rows = 1 << int(math.log2(self.n)) // 2
        self.columns = self.n // self.rows

    def array(self, *shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        """Uniform numbers of a shape."""
        return self.rng.uniform(low, high, shape).astype(self.dtype)

    def vector(self, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        return self.array(self.n, low=low, high=high)

    def matrix(self, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        """About square."""
        return self.array(self.rows, self.columns, low=low, high=high)

    def square(self) -> np.ndarray:
        """Square, well conditioned, of at most n elements."""
        size = math.isqrt(self.n)
        return self.array(size, size) + size * np.eye(size, dtype=self.dtype)

    def images(self, channels: int = 16) -> np.ndarray:
        """[4, channels, size, size]."""
        size = math.isqrt(self.n // (4 * channels))
        return self.array(4, channels, size, size)

    def positions(self, below: int, *shape: int, dtype: str = "int32") -> np.ndarray:
        """Whole numbers from 0 to below - 1, as many as elements unless a shape is given."""
        return self.rng.integers(0, below, shape or self.n).astype(dtype)

    def bools(self) -> np.ndarray:
        return self.rng.random(self.n) < 0.5


Inputs = Callable[[Operands], list[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One row per size and dtype."""

    family: str
    #: The name of the public function, and behind it what is special.
    name: str
    peer: Callable[..., Any]
    ours: Callable[..., Any]
    inputs: Inputs
    dtypes: tuple[str, ...] = ("float32", "float64")
    #: Greater sizes are left out: the op is cubic, or its result greater than its operands.
    largest: int = 4 * MiB
    #: Whether results are to be compared (random numbers are not).
    comparable: bool = True
    #: Whether compiled code has it: not where the size of the result depends on data.
    compilable: bool = True
    #: Relative and absolute tolerance in units of the dtype's precision.
    tolerance: float = 1e3
    #: What the two do not have in common, or why the peer is not the shortest call.
    note: str = ""


# ------------------------------------------------------------------------------------------------ operands of many
def vector(d: Operands) -> list[np.ndarray]:
    return [d.vector()]


def vectors(d: Operands) -> list[np.ndarray]:
    return [d.vector(), d.vector()]


def matrix(d: Operands) -> list[np.ndarray]:
    return [d.matrix()]


def matrices(d: Operands) -> list[np.ndarray]:
    return [d.matrix(), d.matrix()]


def within(low: float, high: float, count: int = 1) -> Inputs:
    """`count` vectors of numbers between two bounds."""
    return lambda d: [d.vector(low, high) for _ in range(count)]


def whole(count: int = 1, low: int = 0, high: int = 100) -> Inputs:
    """`count` vectors of whole numbers (in the row's dtype)."""
    return lambda d: [(low + d.positions(high - low)).astype(d.dtype) for _ in range(count)]


class Family:
    """Collects the cases of a family: ``row(name, peer, ours, inputs, ...)``."""

    def __init__(self, name: str, cases: list[Case], inputs: Inputs = vector, **common: Any) -> None:
        self.name, self.cases, self.inputs, self.common = name, cases, inputs, common

    def __call__(
        self, name: str, peer: Callable[..., Any], ours: Any = None, inputs: Inputs | None = None, **kw: Any
    ) -> None:
        ours = ours or getattr(ops, name.split()[0])
        self.cases.append(Case(self.name, name, peer, ours, inputs or self.inputs, **{**self.common, **kw}))
