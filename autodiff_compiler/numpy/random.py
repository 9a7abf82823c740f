"""Arrays of random numbers, drawn as those of `ops`: from the generator that `set_seed` sets."""

from __future__ import annotations

from typing import Any

from ..dtypes import float16, float32, float64, int8, int16, int32, int64
from ..ops import random as drawn
from ..ops.state import compiled_from_source
from ..primitives.requirements import static_int
from .operands import dtype_named


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape as several ints, or one tuple or list of them; one number for none."""
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = tuple(shape[0])
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"a shape is made of ints, not of a {type(n).__name__}")
    return shape or (1,)


def _named(dtype: Any, among: tuple[Any, ...]) -> Any:
    named = dtype_named(dtype)
    if named not in among:
        raise ValueError(f"`dtype` must be one of {', '.join(d.name for d in among)}, not {named.name}")
    return named


@compiled_from_source
def rand(*shape: Any, dtype: Any = float32) -> Any:
    """Numbers of [0, 1) in a shape, which is (1,) if none is given; ValueError: no float dtype.

    >>> from autodiff_compiler import numpy as np
    >>> np.rand(2, 3).shape
    (2, 3)
    """
    return drawn.rand(_shape(shape), dtype=_named(dtype, (float16, float32, float64)))


@compiled_from_source
def randn(*shape: Any, dtype: Any = float32) -> Any:
    """Numbers of the standard normal distribution in a shape, which is (1,) if none is given."""
    return drawn.randn(_shape(shape), dtype=_named(dtype, (float16, float32, float64)))


@compiled_from_source
def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = int32) -> Any:
    """Integers from `minval` to `maxval` - 1, or from 0 to `minval` - 1; the shape is (1,) by default.

    TypeError: bounds that are no ints.  ValueError: nothing between them, no dtype of signed integers.

    >>> from autodiff_compiler import numpy as np
    >>> sorted(set(np.randint(2, shape=(100,)).tolist()))
    [0, 1]
    """
    low, high = _bounds(minval, maxval)
    sizes = (1,) if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return drawn.randint(low, high, sizes, dtype=_named(dtype, (int8, int16, int32, int64)))


def _bounds(minval: Any, maxval: Any) -> tuple[int, int]:
    low, high = (0, minval) if maxval is None else (minval, maxval)
    low, high = static_int(low, "minval"), static_int(high, "minval" if maxval is None else "maxval")
    if low >= high:
        raise ValueError(f"there is no whole number from {low} to less than {high}")
    return low, high
