"""New tensors: filled with a number, ranges, windows of signal processing."""

from __future__ import annotations

import math
import operator

import numpy as np

from ..dtypes import DType, dtype_of, float32, float64, int64
from ..errors import StaticValueError
from ..ir.core import Value
from ..ir.primitive import F, Number, Primitive, call, composite, trace
from ..ir.sizes import Dim, count_of, depends_on_data, largest, may_be_at_most
from ..ir.types import Size, tensor
from .family import (
    as_shape,
    as_tensor,
    broadcast_to,
    cast,
    constant,
    in_dtype,
    is_tensor,
    number,
    number_in,
    promoted_dtype,
    run_time_int,
    static_size,
)
from .requirements import SymScalar, require, require_dtype, static_int


class Iota(Primitive):
    """start, start + step, start + 2 step, ...: `size` numbers."""

    internal = True

    def infer(*, start: Number, step: Number, size: Size, dtype: DType):
        return tensor(dtype, (size,))

    def numpy(*, start, step, size, dtype):
        if isinstance(start, int) and isinstance(step, int) and step:
            return np.arange(start, start + size * step, step).astype(dtype, copy=False)
        return (np.arange(size) * step + start).astype(dtype)

    def aclnn(c):
        c.give(c.array(np.arange(c.size) * c.step + c.start, c.out.dtype))

    def samples(rng):
        yield ({"start": 2, "step": 3, "size": 4, "dtype": "int64"},)
        yield ({"start": 0.5, "step": -0.25, "size": 3, "dtype": "float32"},)
        yield ({"start": 0, "step": 1, "size": 0, "dtype": "float64"},)


def _eye(n, m=None, dtype=None):
    rows = static_size(n, "n")
    columns = rows if m is None else static_size(m, "m")
    return F.eye(rows=rows, columns=columns, dtype=dtype_of(dtype or float32))


class Eye(Primitive):
    """A matrix with ones on its main diagonal and zeros elsewhere, float32 by default."""

    def infer(*, rows: Size, columns: Size, dtype: DType):
        fits = may_be_at_most(0, rows) and may_be_at_most(0, columns)
        require(fits, f"a matrix cannot have {rows} rows and {columns} columns")
        return tensor(dtype, (rows, columns))

    def numpy(*, rows, columns, dtype):
        return np.eye(rows, columns, dtype=dtype)

    def aclnn(c):
        c.give(c.array(np.eye(c.rows, c.columns), c.out.dtype))

    call = _eye

    def samples(rng):
        yield ({"rows": 3, "columns": 2, "dtype": "float32"},)
        yield ({"rows": 2, "columns": 2, "dtype": "int64"},)
        yield ({"rows": 0, "columns": 2, "dtype": "float64"},)

    errors = [((), {"rows": -1, "columns": 2, "dtype": float32}, "cannot have -1 rows")]


def _filled(shape, value, dtype):
    return constant(number_in(value, dtype), tensor(dtype, _sizes_of(shape)))


def _sizes_of(shape):
    """A shape as it is given: one size, or several."""
    one = isinstance(shape, int | np.integer | Dim | SymScalar) or getattr(shape, "shape", None) == ()
    return as_shape((shape,) if one else (tuple(shape),))


@composite()
def zeros(shape, dtype=None):
    """A tensor of zeros, float32 by default."""
    return _filled(shape, 0, _dtype_beside_shape("zeros", shape, dtype))


@composite()
def ones(shape, dtype=None):
    """A tensor of ones, float32 by default."""
    return _filled(shape, 1, _dtype_beside_shape("ones", shape, dtype))


def _dtype_beside_shape(name, shape, dtype):
    if isinstance(shape, int) and isinstance(dtype, int):
        raise TypeError(f"{name}() takes the shape as one argument: {name}(({shape}, {dtype}))")
    return dtype_of(dtype or float32)


@composite()
def full(shape, value, dtype=None):
    """A tensor whose elements all are `value`: a number, or a Tensor of one element; its dtype by default."""
    if value.__class__ is Dim:
        value = F.size_value(size=value)
    if is_tensor(value) or value.__class__ is SymScalar:
        value = as_tensor(value) if dtype is None else in_dtype(value, dtype_of(dtype))
        return broadcast_to(value, _sizes_of(shape))
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
    start, end, step = map(_number, (start, end, step))
    if run_time_int(start) is not None or run_time_int(end) is not None or _of_data(start) or _of_data(end):
        return _run_time_range(start, end, static_int(step, "step"), dtype)
    for name, bound in (("start", start), ("end", end), ("step", step)):
        if bound.__class__ is Value or bound.__class__ is SymScalar:
            raise StaticValueError(f"`{name}` of arange must be a constant, but its value is known only at run time")
        if isinstance(bound, bool) or not isinstance(bound, int | float | Dim):
            raise TypeError(f"`{name}` of arange must be a number, not {type(bound).__name__}")
    if step == 0:
        raise ValueError("`step` of arange must not be zero")
    whole = all(isinstance(v, int | Dim) for v in (start, end, step))
    if not all(math.isfinite(v) for v in (start, end, step) if v.__class__ is not Dim):
        raise ValueError(f"arange needs finite bounds, not {start}, {end} and {step}")
    dtype = dtype_of(dtype or (int64 if whole else float32))
    if not whole:
        start, end, step = (operator.index(v) if v.__class__ is Dim else v for v in (start, end, step))
        return F.iota(start=start, step=step, size=max(0, math.ceil((end - start) / step)), dtype=dtype)
    step = operator.index(step)  # of a symbolic one the numbers are not known
    size = count_of(start, end, step)
    if start.__class__ is Dim:
        numbers = F.iota(start=0, step=step, size=size, dtype=int64)
        return cast(numbers + number(start, tensor(int64, (size,))), dtype)
    return F.iota(start=start, step=step, size=size, dtype=dtype)


def _number(x):
    """The number that a Tensor without dimensions is; everything else as it is."""
    return x.item() if is_tensor(x) and x.__class__ is not Value and x.ndim == 0 else x


def _of_data(bound):
    return bound.__class__ is Dim and depends_on_data(bound)


def _run_time_range(start, end, step, dtype):
    """The same for ints of which one is known only at run time."""
    if step == 0:
        raise ValueError("`step` of arange must not be zero")
    first, last = (as_tensor(bound) if run_time_int(bound) is None else run_time_int(bound) for bound in (start, end))
    for name, bound in (("start", first), ("end", last)):
        require_dtype(bound.dtype is int64, f"`{name}` of arange must be an int beside others known only at run time")
    span = (last - first if step > 0 else first - last) + (abs(step) - 1)
    count = F.maximum(F.floordiv(span, constant(abs(step), span.type)), constant(0, span.type))
    found = F.iota(start=0, step=step, size=trace.builder.bind(count), dtype=int64)
    return cast(found + broadcast_to(first, found.shape), dtype or int64)


# ------------------------------------------------------------------------------------------------ like a tensor
@composite("new_zeros", "new_empty")
def new_zeros(x, *size, dtype=None):
    """Zeros of a shape, of the dtype of x by default."""
    return constant(0, tensor(dtype_of(dtype or as_tensor(x).dtype), as_shape(size)))


@composite("new_ones")
def new_ones(x, *size, dtype=None):
    """Ones of a shape, of the dtype of x by default."""
    return constant(1, tensor(dtype_of(dtype or as_tensor(x).dtype), as_shape(size)))


@composite("new_full")
def new_full(x, size, fill_value, *, dtype=None):
    """`fill_value` in a shape, of the dtype of x by default."""
    return full(size, fill_value, dtype_of(dtype or as_tensor(x).dtype))


@composite("fills", "fill")
def fills(x, value):
    """`value` in the shape and dtype of x: a new tensor."""
    return full_like(x, value)


@composite("type_as")
def type_as(x, other):
    """The same numbers in the dtype of another tensor."""
    return cast(as_tensor(x), as_tensor(other, "other").dtype)


# ------------------------------------------------------------------------------------------------ sequences
@composite()
def linspace(start, end, steps, dtype=None):
    """`steps` numbers from start to end, both included, at equal distances; float32 unless they are float64.

    `start` and `end` may be Tensors of one shape: the numbers lie along a new last dimension.
    """
    if any(v.__class__ is Dim for v in (start, end, steps)):
        return _spread(start, end, steps, dtype)
    count = static_int(steps, "steps")
    require(count >= 0, f"`steps` must not be negative: {count}")
    if not any(is_tensor(v) or v.__class__ is SymScalar for v in (start, end)):
        return _constant(np.linspace(start, end, count), dtype_of(dtype or float32))
    start, end = promoted_dtype(start, end, floating=True)
    shape = (*(start.shape if start.ndim >= end.ndim else end.shape), count)
    share = broadcast_to(_constant(np.linspace(0.0, 1.0, count), start.dtype), shape)
    start, end = (broadcast_to(F.expand_dims(v, axes=(-1,)), shape) for v in (start, end))
    out = start * (1 - share) + end * share  # exact at both ends
    return out if dtype is None else cast(out, dtype_of(dtype))


def _spread(start, end, count, dtype):
    """The same for a number of steps, or ends, that are sizes of arguments."""
    require(may_be_at_most(0, count), f"`steps` must not be negative: {count}")
    count = count if count.__class__ is Dim else static_int(count, "steps")
    of_numbers = not any(is_tensor(v) or v.__class__ is SymScalar for v in (start, end))
    start, end = (as_tensor(F.size_value(size=v)) if v.__class__ is Dim else v for v in (start, end))
    if of_numbers:
        dtype = dtype_of(dtype or float32)
        start, end = (cast(as_tensor(v), float64) for v in (start, end))
    start, end = promoted_dtype(start, end, floating=True)
    start, end = (F.expand_dims(v, axes=(-1,)) for v in (start, end))
    places = F.iota(start=0, step=1, size=count, dtype=start.dtype)
    share = places / number(largest(1, count - 1), places.type)
    shape = (*(start.shape if start.ndim >= end.ndim else end.shape)[:-1], count)
    share, start, end = (broadcast_to(v, shape) for v in (share, start, end))
    out = start * (1 - share) + end * share  # exact at both ends
    return out if dtype is None else cast(out, dtype_of(dtype))


@composite()
def logspace(start, end, steps, base=10, dtype=None):
    """`base` to the powers of `linspace(start, end, steps)`; float32 by default."""
    dtype = dtype_of(dtype or float32)
    if not any(is_tensor(v) or v.__class__ is SymScalar for v in (start, end)):
        return _constant(np.logspace(start, end, static_int(steps, "steps"), base=base), dtype)
    return cast(call.pow(float(base), linspace(start, end, steps)), dtype)


def _constant(array, dtype):
    return constant(array.astype(dtype.numpy), tensor(dtype, array.shape))


def _triangle_indices(places, row, col, offset, dtype):
    dtype = dtype_of(dtype or int64)
    require_dtype(dtype.is_int, f"indices must be integers, not {dtype.name}")
    found = places(static_int(row, "row"), static_int(offset, "offset"), static_int(col, "col"))
    return _constant(np.stack(found), dtype)


@composite()
def tril_indices(row, col, offset=0, dtype=None):
    """The indices [2, n] on and below a diagonal of a matrix, row by row; int64 by default."""
    return _triangle_indices(np.tril_indices, row, col, offset, dtype)


@composite()
def triu_indices(row, col, offset=0, dtype=None):
    """The indices [2, n] on and above a diagonal of a matrix, row by row; int64 by default."""
    return _triangle_indices(np.triu_indices, row, col, offset, dtype)


@composite(internal=True)
def signal_window(kind, length, periodic=True, dtype=None, *args):
    """A window of NumPy's (bartlett, blackman, hanning, kaiser); a periodic one is one longer, cut off."""
    length = static_int(length, "window_length")
    require(length >= 0, f"`window_length` must not be negative: {length}")
    whole = getattr(np, kind)(length + 1, *args)[:-1] if periodic and length > 1 else getattr(np, kind)(length, *args)
    return _constant(whole, dtype_of(dtype or float32))


@composite(internal=True)
def cosine_window(length, periodic=True, alpha=0.54, beta=0.46, dtype=None):
    """alpha - beta cos(2 pi i / n), where n is the length of a periodic window, and one less than it for another."""
    length = static_int(length, "window_length")
    require(length >= 0, f"`window_length` must not be negative: {length}")
    if length < 2:
        return _constant(np.ones(length), dtype_of(dtype or float32))
    angle = 2 * np.pi * np.arange(length) / (length if periodic else length - 1)
    return _constant(alpha - beta * np.cos(angle), dtype_of(dtype or float32))
