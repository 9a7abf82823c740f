"""Numerical derivatives by five-point differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..runtime.tensor import Array, Tensor
from ..runtime.trees import leaves, replaced

__all__ = ["floats_of", "numerical_gradient", "step_for", "weighted_sum", "weights_for"]

#: Inputs with more elements are checked at this many of them, drawn evenly.
ELEMENTS = 64


def floats_of(args: Any) -> list[Tensor]:
    """The float Tensors in a structure, in order."""
    return [x for x in leaves(args) if x.dtype.is_float]


def step_for(dtype: np.dtype[Any]) -> float:
    """A step for which rounding and the error of a five-point difference are about equal: the fifth root of epsilon."""
    return float(np.finfo(dtype).eps) ** 0.2 / 2


def weights_for(outputs: Any) -> list[Array]:
    """Fixed, uneven weights for the float outputs, so that errors of different elements do not cancel."""
    return [np.cos(1.0 + np.arange(t.size, dtype=np.float64)).reshape(t.shape) + 0.25 for t in floats_of(outputs)]


def weighted_sum(outputs: Any, weights: Sequence[Array]) -> float:
    """The number whose derivative is checked; computed in float64."""
    pairs = zip(floats_of(outputs), weights, strict=True)
    return float(sum((t.asnumpy().astype(np.float64) * w).sum() for t, w in pairs))


def numerical_gradient(
    fn: Callable[..., Any], args: Sequence[Any], position: int, weights: Sequence[Array], step: float
) -> dict[tuple[int, ...], float]:
    """Five-point differences of the weighted outputs by elements of the Tensor at that position of `args`.

    The Tensors stay as they are: `fn` gets copies.
    """
    array = args[position].asnumpy().copy()
    found = {}
    for flat in np.unique(np.linspace(0, array.size - 1, min(array.size, ELEMENTS)).astype(int)):
        index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
        h = step * max(1.0, abs(float(array[index])))

        def at(offset: float, index: tuple[int, ...] = index) -> tuple[float, float]:
            moved = array.copy()
            moved[index] += offset
            given = replaced(list(args), Tensor.copy)
            given[position] = Tensor(moved)
            return weighted_sum(fn(*given), weights), float(moved[index])

        points = [at(k * h) for k in (-2, -1, 1, 2)]
        width = points[2][1] - points[1][1]  # the actual step, after rounding
        values = [p[0] for p in points]
        found[index] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (6 * width)
    return found
