"""Tensors made from nothing: filled, counted."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import DType, dtype_of, float32, int64
from ..errors import StaticValueError
from ..ir.core import Value
from ..ir.primitive import F, Literal, Primitive, composite
from ..ir.types import Size, tensor
from .family import Weak, as_shape, as_tensor, broadcast_to, cast, constant, is_tensor


class Iota(Primitive):
    """start, start + step, start + 2 step, ...: `size` numbers."""

    def infer(*, start: Literal, step: Literal, size: Size, dtype: DType):
        return tensor(dtype, (size,))

    def numpy(*, start, step, size, dtype):
        return (np.arange(size) * step + start).astype(dtype)

    def samples(rng):
        yield ({"start": 2, "step": 3, "size": 4, "dtype": "int64"},)
        yield ({"start": 0.5, "step": -0.25, "size": 3, "dtype": "float32"},)
        yield ({"start": 0, "step": 1, "size": 0, "dtype": "float64"},)


def _filled(shape, value, dtype):
    return constant(value, tensor(dtype, as_shape((shape,) if isinstance(shape, int) else (tuple(shape),))))


@composite()
def zeros(shape, dtype=None):
    """A tensor of zeros, float32 by default."""
    return _filled(shape, 0, dtype_of(dtype or float32))


@composite()
def ones(shape, dtype=None):
    """A tensor of ones, float32 by default."""
    return _filled(shape, 1, dtype_of(dtype or float32))


@composite()
def full(shape, value, dtype=None):
    """A tensor whose elements all are `value`: a number, or a Tensor of one element; its dtype by default."""
    if is_tensor(value) or value.__class__ is Weak:
        value = as_tensor(value)
        value = cast(value, dtype_of(dtype)) if dtype is not None else value
        return broadcast_to(value, as_shape((shape,) if isinstance(shape, int) else (tuple(shape),)))
    return _filled(shape, value, dtype_of(dtype or type(value)))


@composite()
def zeros_like(x, dtype=None):
    """Zeros of the shape of x, and of its dtype unless another is given."""
    x = as_tensor(x)
    return constant(0, tensor(dtype_of(dtype or x.dtype), x.shape))


@composite()
def ones_like(x, dtype=None):
    """Ones of the shape of x, and of its dtype unless another is given."""
    x = as_tensor(x)
    return constant(1, tensor(dtype_of(dtype or x.dtype), x.shape))


@composite()
def full_like(x, value, dtype=None):
    """`value` in the shape of x, and of its dtype unless another is given."""
    x = as_tensor(x)
    return full(x.shape, value, dtype_of(dtype or x.dtype))


@composite()
def arange(start, end=None, step=1, dtype=None):
    """The numbers from start (0 if only one argument is given) up to before end; int64 unless a float is among them."""
    if end is None:
        start, end = 0, start
    for name, bound in (("start", start), ("end", end), ("step", step)):
        if bound.__class__ is Value or bound.__class__ is Weak:
            raise StaticValueError(f"`{name}` of arange must be a constant, but its value is known only at run time")
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            raise TypeError(f"`{name}` of arange must be a number, not {type(bound).__name__}")
    if step == 0:
        raise ValueError("`step` of arange must not be zero")
    whole = all(isinstance(v, int) for v in (start, end, step))
    size = len(range(start, end, step)) if whole else max(0, math.ceil((end - start) / step))
    return F.iota(start=start, step=step, size=size, dtype=dtype or (int64 if whole else float32))
