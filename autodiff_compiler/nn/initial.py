"""Initial values of Parameters, drawn from NumPy's global generator (`numpy.random.seed` makes them repeat)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import DType
from ..runtime.tensor import Tensor

__all__ = ["initial", "uniform"]

Shape = tuple[int, ...]


def uniform(bound: float) -> Callable[[Shape], Any]:
    """Numbers spread evenly over -bound ... bound."""
    return lambda shape: np.random.uniform(-bound, bound, shape)


def _fans(shape: Shape) -> tuple[int, int]:
    """How many inputs and outputs a weight [out, in, ...] connects."""
    if len(shape) < 2:
        raise ValueError(f"this initial value needs a weight of two or more dimensions, not of shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _he_bound(shape: Shape, slope: float = 0.0) -> float:
    return math.sqrt(6 / ((1 + slope**2) * _fans(shape)[0]))


#: What a string stands for: functions from the shape to numbers.
_BY_NAME: dict[str, Callable[[Shape], Any]] = {
    "zeros": np.zeros,
    "ones": np.ones,
    "normal": lambda shape: np.random.normal(0.0, 0.01, shape),
    "uniform": uniform(0.07),
    "xavier_uniform": lambda shape: uniform(math.sqrt(6 / sum(_fans(shape))))(shape),
    "he_uniform": lambda shape: uniform(_he_bound(shape))(shape),
    "he_normal": lambda shape: np.random.normal(0.0, math.sqrt(2 / _fans(shape)[0]), shape),
}
_BY_NAME |= {"zero": _BY_NAME["zeros"], "one": _BY_NAME["ones"]}


def initial(value: Any, shape: Shape, dtype: DType) -> Tensor:
    """A Tensor of a shape and dtype from a number, a name ("zeros"), a Tensor, or a function of the shape.

    ValueError: an unknown name, or a Tensor of another shape.

    >>> from autodiff_compiler import float32
    >>> initial("ones", (2,), float32).tolist()
    [1.0, 1.0]
    """
    if isinstance(value, Tensor):
        if value.shape != shape:
            raise ValueError(f"the initial value has shape {value.shape}, the Parameter has {shape}")
        return Tensor(value, dtype)
    if isinstance(value, str):
        found = _BY_NAME.get(value.lower())
        if found is None:
            raise ValueError(f"there is no initial value called {value!r}; known are {', '.join(sorted(_BY_NAME))}")
        value = found
    if callable(value):
        return Tensor(np.asarray(value(shape)), dtype)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"an initial value is a number, a name, a Tensor or a function, not a {type(value).__name__}")
    return Tensor(np.full(shape, value), dtype)
