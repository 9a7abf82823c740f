"""What primitives say about their own tests: draws of operands, and makers of common samples.

``samples(rng)`` of a primitive yields tuples of operands, which may end with a dict of attributes; `rng` is a `Draw`.
Operands are float64 unless the op needs integers or bools, and stay away from kinks: those have closed-form `ties`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dtypes import bool_, float32, float64, int32, int64
from ..ir.types import tensor

__all__ = ["B2", "D2", "EMPTY", "F2", "F3", "I2", "L2", "M23", "Draw", "bools", "ints", "real"]

# Types that error samples are made of.
B2, I2, L2, F2, D2 = (tensor(dtype, (2,)) for dtype in (bool_, int32, int64, float32, float64))
F3, M23, EMPTY = tensor(float32, (3,)), tensor(float32, (2, 3)), tensor(float32, (0,))

Array = np.ndarray[Any, Any]
#: Shapes every elementwise op is tried on: a matrix, a scalar, nothing.
_SHAPES: tuple[tuple[int, ...], ...] = ((2, 3), (), (0, 2))


class Draw:
    """Reproducible random operands."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Array:
        """Uniform float64 numbers."""
        return np.asarray(self._rng.uniform(low, high, shape))

    def ints(self, *shape: int, low: int = -5, high: int = 6) -> Array:
        """int64 numbers from low to high - 1."""
        return np.asarray(self._rng.integers(low, high, shape))

    def bools(self, *shape: int) -> Array:
        return np.asarray(self._rng.integers(0, 2, shape, dtype=np.int8).astype(bool))

    def distinct(self, *shape: int) -> Array:
        """Float64 numbers that differ from each other and from 0 by at least a tenth."""
        n = int(np.prod(shape))
        steps = self._rng.permutation(n) - n // 2
        return np.asarray(0.2 * steps + 0.1).reshape(shape)


def real(low: float = -2.0, high: float = 2.0, *, operands: int = 1) -> Callable[[Draw], Iterator[tuple[Array, ...]]]:
    """Samples of an elementwise op of floats between `low` and `high`."""

    def samples(rng: Draw) -> Iterator[tuple[Array, ...]]:
        for shape in _SHAPES:
            yield tuple([rng(*shape, low=low, high=high) for _ in range(operands)])

    return samples


def ints(low: int = -5, high: int = 6, *, operands: int = 2) -> Callable[[Draw], Iterator[tuple[Array, ...]]]:
    """Samples of an elementwise op of integers from `low` to `high` - 1."""

    def samples(rng: Draw) -> Iterator[tuple[Array, ...]]:
        for shape in _SHAPES:
            yield tuple([rng.ints(*shape, low=low, high=high) for _ in range(operands)])

    return samples


def bools(*, operands: int = 2) -> Callable[[Draw], Iterator[tuple[Array, ...]]]:
    """Samples of an elementwise op of bools."""

    def samples(rng: Draw) -> Iterator[tuple[Array, ...]]:
        for shape in _SHAPES:
            yield tuple([rng.bools(*shape) for _ in range(operands)])

    return samples
