"""Norms, variance, medians, and reductions that pass over nan."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import dtype_of, int64
from ..ir.primitive import F, Ints, Primitive, call, composite
from ..ir.types import TensorType, tensor
from .compare import truth
from .family import as_tensor, cast, expand, float_unary, normal_axes, normal_axis, require
from .reduce import at_least_float32, mean, reduced_shape
from .samples import EMPTY, F2, I2
from .shape import size_of


# ------------------------------------------------------------------------------------------------ norms
class EuclideanNorm(Primitive):
    """Square root of the sum of squares over axes; its derivative at 0 is 0."""

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        return tensor(float_unary(x).dtype, reduced_shape(x.shape, axes, keepdims))

    def numpy(x, *, axes, keepdims):
        if len(axes) < x.ndim:
            return np.sqrt(np.add.reduce(np.square(x), axis=axes, keepdims=keepdims))
        flat = np.ravel(x)
        return np.sqrt(np.dot(flat, flat)).reshape((1,) * (x.ndim * keepdims))

    widen = True

    def vjp(c, g, x):
        length = F.select(F.equal(c.out, 0), 1, c.out)
        return x * expand(g / length, c.axes, x.shape, c.keepdims)

    def samples(rng):
        yield rng(2, 3), {"axes": (-1,)}
        yield rng(2, 3), {"axes": (-2,), "keepdims": True}
        yield rng(2, 3), {"axes": (-2, -1), "keepdims": True}
        yield rng(low=0.5), {"axes": ()}
        yield rng(0, 3), {"axes": (-2,)}

    errors = [((I2,), {"axes": (-1,)}, "not defined for int32"), ((F2,), {"axes": (-2,)}, "do not exist")]
    ties = [
        (([0.0, 0.0],), {"axes": (-1,)}, ([0.0, 0.0],)),
        (([3.0, -4.0],), {"axes": (-1,)}, ([0.6, -0.8],)),
    ]


@composite()
def vector_norm(x, ord=2, axis=None, keepdims=False, dtype=None):
    """Norm of the numbers over axes (all by default): `ord` 2, 1, inf, -inf, 0 (how many differ from 0), any other.

    Where all numbers are 0 the derivative is 0; for 0 < ord < 1 it is infinite in every number that is 0.
    """
    x = as_tensor(x)
    x = x if dtype is None else cast(x, dtype_of(dtype))
    narrow, x = at_least_float32(x)
    axes = normal_axes(axis, x.ndim)
    if isinstance(ord, bool) or not isinstance(ord, int | float):
        raise ValueError(f"the order of a vector norm is a number, not {ord!r}")
    if ord == 2:
        out = F.euclidean_norm(x, axes=axes, keepdims=keepdims)
    elif ord == 0:
        out = F.sum(cast(F.not_equal(x, 0), x.dtype), axes=axes, keepdims=keepdims)
    elif ord == 1:
        out = F.sum(F.abs(x), axes=axes, keepdims=keepdims)
    elif math.isinf(ord):
        out = (F.max if ord > 0 else F.min)(F.abs(x), axes=axes, keepdims=keepdims)
    else:
        total = F.sum(call.pow(F.abs(x), ord), axes=axes, keepdims=keepdims)
        nothing = F.equal(total, 0)
        out = F.select(nothing, 0, call.pow(F.select(nothing, 1, total), 1 / ord))
    return cast(out, narrow)


@composite()
def matrix_norm(x, ord="fro", axis=(-2, -1), keepdims=False, dtype=None):
    """Norm of matrices, which lie in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2.

    "nuc" is the sum of the singular values, 2 the greatest and -2 the smallest of them; 1 and -1 are the greatest and
    smallest sum of absolute values of a column, inf and -inf those of a row.
    """
    x = as_tensor(x)
    x = x if dtype is None else cast(x, dtype_of(dtype))
    require(isinstance(axis, tuple | list) and len(axis) == 2, f"a matrix norm needs two axes, not {axis}")
    row, column = (normal_axis(a, x.ndim) for a in axis)
    require(row != column, f"axis {axis} names one axis twice")
    if ord == "fro":
        return vector_norm(x, 2, (row, column), keepdims)
    if ord not in ("nuc", 2, -2, 1, -1, math.inf, -math.inf):
        raise ValueError(f"the order of a matrix norm is 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, not {ord!r}")
    if ord in ("nuc", 2, -2):
        others = [a for a in range(-x.ndim, 0) if a not in (row, column)]
        singular = call.svdvals(call.transpose(x, (*others, row, column)))
        reduction = F.sum if ord == "nuc" else F.max if ord == 2 else F.min
        out = reduction(singular, axes=(-1,))
        return F.expand_dims(out, axes=tuple(sorted((row, column)))) if keepdims else out
    inner, outer = (row, column) if abs(ord) == 1 else (column, row)
    sums = vector_norm(x, 1, inner, True)
    out = (F.max if ord > 0 else F.min)(sums, axes=(outer,), keepdims=True)
    return out if keepdims else F.squeeze(out, axes=tuple(sorted((row, column))))


@composite("norm")
def norm(x, ord=None, dim=None, keepdim=False, *, dtype=None):
    """Norm of the vectors in one axis or of the matrices in two; by default the Euclidean norm of all numbers.

    With an order but no axis the tensor is one vector or one matrix.
    """
    x = as_tensor(x)
    if ord is None:
        return vector_norm(x, 2, dim, keepdim, dtype)
    if dim is None:
        require(x.ndim in (1, 2), f"a norm of order {ord} over all of {x.ndim} dimensions needs `dim`")
        dim = tuple(range(-x.ndim, 0))
    if isinstance(dim, tuple | list) and len(dim) == 2:
        return matrix_norm(x, ord, dim, keepdim, dtype)
    require(isinstance(dim, int) or len(dim) == 1, f"a norm is over one axis or two, not {dim}")
    return vector_norm(x, ord, dim, keepdim, dtype)


# ------------------------------------------------------------------------------------------------ variance
def _deviations(x, axis, ddof):
    """The result's dtype, the axes, the deviations from the mean, and the divisor of their squares."""
    narrow, x = at_least_float32(x)
    axes = normal_axes(axis, x.ndim)
    centre = mean(x, axes, True)
    count = size_of(x, axes, centre)
    freedom = max(count - int(ddof), 0) if isinstance(count, int) else count - int(ddof)
    return narrow, axes, x - expand(centre, axes, x.shape, True), freedom, centre


def _var(x, axis=None, ddof=0, keepdims=False):
    narrow, axes, apart, freedom, centre = _deviations(x, axis, ddof)
    total = F.sum(apart * apart, axes=axes, keepdims=True)
    return _finished(total / freedom, axes, keepdims, narrow), _finished(centre, axes, keepdims, narrow)


def _std(x, axis=None, ddof=0, keepdims=False):
    narrow, axes, apart, freedom, centre = _deviations(x, axis, ddof)
    length = F.euclidean_norm(apart, axes=axes, keepdims=True)
    root = math.sqrt(freedom) if isinstance(freedom, int) else F.sqrt(freedom)
    return _finished(length / root, axes, keepdims, narrow), _finished(centre, axes, keepdims, narrow)


def _finished(x, axes, keepdims, dtype):
    return cast(x if keepdims or not axes else F.squeeze(x, axes=axes), dtype)


@composite("var")
def var(x, axis=None, ddof=0, keepdims=False):
    """Mean squared deviation from the mean over axes (all by default), divided by the count less `ddof`."""
    return _var(x, axis, ddof, keepdims)[0]


@composite("std")
def std(x, axis=None, ddof=0, keepdims=False):
    """Square root of `var`; where all numbers are equal its derivative is 0."""
    return _std(x, axis, ddof, keepdims)[0]


@composite()
def var_mean(x, axis=None, ddof=0, keepdims=False):
    """`var` and `mean` at once."""
    return _var(x, axis, ddof, keepdims)


@composite()
def std_mean(x, axis=None, ddof=0, keepdims=False):
    """`std` and `mean` at once."""
    return _std(x, axis, ddof, keepdims)


# ------------------------------------------------------------------------------------------------ medians
class Argmedian(Primitive):
    """Index (int64) of the median along an axis, which stays with size 1: of two middle elements the lower.

    Of equal elements it is the first.  nan is greater than any number and, unless ignored, the median where there is
    one.
    """

    def infer(x: TensorType, *, axis: int, ignore_nan: bool = False):
        shape = reduced_shape(x.shape, (axis,), True)
        require(x.shape[axis] != 0, f"an empty tensor has no median: {x} over axis {axis}")
        return tensor(int64, shape)

    def numpy(x, *, axis, ignore_nan):
        x = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x  # to order bfloat16's nan
        last = x.shape[axis] - 1
        if ignore_nan:
            count = np.sum(x == x, axis=axis, keepdims=True)
            middle = np.take_along_axis(np.sort(x, axis=axis), np.maximum(count - 1, 0) // 2, axis=axis)
            found = x == middle
        else:
            ordered = np.partition(x, [last // 2, last], axis=axis)
            middle, top = np.take(ordered, [last // 2], axis=axis), np.take(ordered, [last], axis=axis)
            found = np.where(top == top, x == middle, x != x)
        return np.argmax(found, axis=axis, keepdims=True)

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng.distinct(2, 3), {"axis": -1}
        yield rng.distinct(4, 2), {"axis": -2, "ignore_nan": True}

    errors = [((EMPTY,), {"axis": -1}, "has no median"), ((F2,), {"axis": -2}, "do not exist")]


def _median(x, axis, keepdims, ignore_nan):
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    index = F.argmedian(x, axis=axis, ignore_nan=ignore_nan)
    values = F.take_along_axis(x, index, axis=axis)
    return (values, index) if keepdims else (F.squeeze(values, axes=(axis,)), F.squeeze(index, axes=(axis,)))


@composite("median")
def median(x, axis=-1, keepdims=False):
    """The median along an axis and its index; of two middle elements the lower, which gets the whole cotangent.

    nan if there is one.
    """
    return _median(x, axis, keepdims, False)


@composite("nanmedian")
def nanmedian(x, axis=-1, keepdims=False):
    """The `median` of the elements that are not nan, and its index."""
    return _median(x, axis, keepdims, True)


# ------------------------------------------------------------------------------------------------ without nan
@composite("nansum")
def nansum(x, axis=None, keepdims=False, *, dtype=None):
    """Sum over axes of the elements that are not nan."""
    x = as_tensor(x)
    return call.sum(F.select(F.isnan(x), 0, x) if x.dtype.is_float else x, axis, dtype, keepdims)


@composite("nanmean")
def nanmean(x, axis=None, keepdims=False, *, dtype=None):
    """Mean over axes of the elements that are not nan; nan where there is none."""
    x = as_tensor(x)
    narrow, x = at_least_float32(x if dtype is None else cast(x, dtype_of(dtype)))
    axes = normal_axes(axis, x.ndim)
    known = cast(F.logical_not(F.isnan(x)), x.dtype)
    total = F.sum(F.select(F.isnan(x), 0, x), axes=axes, keepdims=keepdims)
    return cast(total / F.sum(known, axes=axes, keepdims=keepdims), narrow)


@composite("count_nonzero")
def count_nonzero(x, axis=None, keepdims=False, dtype=None):
    """How many elements over axes differ from 0."""
    return call.sum(truth(x), axis, dtype or int64, keepdims)
