"""Norms, variance, medians, and reductions that ignore nan."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import dtype_of, float32, int32, int64
from ..ir.primitive import F, Ints, Number, Primitive, call, composite
from ..ir.types import TensorType, tensor
from .compare import truth
from .family import as_tensor, broadcast_to, cast, expand, float_unary, normal_axes, normal_axis, promoted, zeros_like
from .flops import size_of_type
from .reduce import at_least_float32, mean, reduced_shape
from .requirements import require, require_dtype, static_int, static_number
from .samples import B2, EMPTY, F2, I2
from .shape import size_of


# ------------------------------------------------------------------------------------------------ norms
class EuclideanNorm(Primitive):
    """Square root of the sum of squares over axes; at 0, where it has none, all its derivatives count as 0."""

    internal = True

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        return tensor(float_unary(x).dtype, reduced_shape(x.shape, axes, keepdims))

    flops = lambda x, **_: 2 * size_of_type(x)
    blas = True

    def numpy(x, *, axes, keepdims):
        if len(axes) < x.ndim:
            return np.sqrt(np.add.reduce(np.square(x), axis=axes, keepdims=keepdims))
        return np.sqrt(np.vdot(x, x)).reshape((1,) * (x.ndim * keepdims))

    def decomposed(c, x):
        return F.sqrt(F.sum(x * x, axes=c.axes, keepdims=c.keepdims))

    widen = True

    def vjp(c, g, x):
        nothing = F.equal(c.out, 0)
        share = F.select(nothing, 0, g / F.select(nothing, 1, c.out))
        return x * expand(share, c.axes, x.shape, c.keepdims)

    def samples(rng):
        yield rng(2, 3), {"axes": (-1,)}
        yield rng(2, 3), {"axes": (-2,), "keepdims": True}
        yield rng(2, 3), {"axes": (-2, -1), "keepdims": True}
        yield rng(low=0.5), {"axes": ()}
        yield rng(0, 3), {"axes": (-2,)}

    errors = [((I2,), {"axes": (-1,)}, "not defined for int32"), ((F2,), {"axes": (-2,)}, "do not exist")]
    ties = [(([0.0, 0.0],), {"axes": (-1,)}, ([0.0, 0.0],)), (([3.0, -4.0],), {"axes": (-1,)}, ([0.6, -0.8],))]


class AbsPower(Primitive):
    """abs(x) to a power; where x is 0 all derivatives count as 0."""

    internal = True

    def infer(x: TensorType, *, order: float):
        return float_unary(x)

    def numpy(x, *, order):
        return np.power(np.absolute(x), order)

    widen = True
    decomposed = lambda c, x: F.pow(F.abs(x), c.order)

    def vjp(c, g, x):
        slope = c.order * F.abs_power(x, order=c.order - 1) * F.sign(x)
        return F.kept(F.not_equal(x, 0), g * slope)

    def samples(rng):
        yield rng.distinct(2, 3), {"order": 3.0}
        yield rng.distinct(3), {"order": -0.5}

    errors = [((I2,), {"order": 3.0}, "not defined for int32")]
    ties = [(([0.0, -2.0],), {"order": 3.0}, ([0.0, -12.0],)), (([0.0, 4.0],), {"order": 0.5}, ([0.0, 0.25],))]


@composite()
def vector_norm(x, ord=2, axis=None, keepdims=False, dtype=None):
    """Norm of the numbers over axes (all by default): `ord` 2, 1, inf, -inf, 0 (how many differ from 0), any other.

    Where a norm has a kink or a cusp (for order 2 where all numbers are 0, for others in every number that is 0) its
    derivatives count as 0.
    """
    x = as_tensor(x)
    x = x if dtype is None else cast(x, dtype_of(dtype))
    narrow, x = at_least_float32(x)
    axes = normal_axes(axis, x.ndim)
    if isinstance(static_number(ord, "ord"), bool) or not isinstance(ord, int | float):
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
        total = F.sum(F.abs_power(x, order=ord), axes=axes, keepdims=keepdims)
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


@composite()
def cond(x, p=None):
    """Condition numbers of square matrices: the norm of order p times that of the inverse (by default and for 2, -2 of
    any matrices: the quotient of the greatest and the smallest singular value, or its inverse).
    """
    (x,) = promoted(x, floating=True)
    if p in (None, 2, -2):
        greatest, smallest = matrix_norm(x, 2), matrix_norm(x, -2)
        return smallest / greatest if p == -2 else greatest / smallest
    return matrix_norm(x, p) * matrix_norm(call.inverse(x), p)


# ------------------------------------------------------------------------------------------------ variance
def _deviations(x, axis, ddof):
    """The result's dtype, the axes, the deviations from the mean, and the divisor of their squares."""
    narrow, x = at_least_float32(x)
    axes = normal_axes(axis, x.ndim)
    centre = mean(x, axes, True)
    count = size_of(x, axes, centre)
    if not isinstance(static_number(ddof, "ddof"), int | float):
        raise TypeError(f"`ddof` must be a number, not {type(ddof).__name__}")
    freedom = max(count - ddof, 0) if isinstance(count, int) else call.maximum(call.sub(count, ddof), 0)
    return narrow, axes, x - expand(centre, axes, x.shape, True), freedom, centre


def _var(x, axis=None, ddof=0, keepdims=False):
    narrow, axes, apart, freedom, centre = _deviations(x, axis, ddof)
    total = F.sum(apart * apart, axes=axes, keepdims=True)
    return _finished(total / freedom, axes, keepdims, narrow), _finished(centre, axes, keepdims, narrow)


def _std(x, axis=None, ddof=0, keepdims=False):
    narrow, axes, apart, freedom, centre = _deviations(x, axis, ddof)
    length = F.euclidean_norm(apart, axes=axes, keepdims=True)
    root = math.sqrt(freedom) if isinstance(freedom, int | float) else F.sqrt(freedom)
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
def _median_type(x, axis):
    shape = reduced_shape(x.shape, (axis,), True)
    require(x.shape[axis] != 0, f"an empty tensor has no median: {x} over axis {axis}")
    return tensor(x.dtype, shape), tensor(int64, shape)


def _scatter_to_median(c, gs, x):
    """The cotangents of medians, scattered back to the operand."""
    return None if gs[0] is None else F.add_along_axis(zeros_like(x), c.outs[1], gs[0], axis=c.axis, distinct=True)


class MedianOf(Primitive):
    """The median along an axis, which stays with size 1, and its index (int64): of two middle elements the lower.

    Of equal elements it is the first.  nan is greater than any number and, unless ignored, the median where there is
    one.
    """

    internal = True
    multiple = True

    def infer(x: TensorType, *, axis: int, ignore_nan: bool = False):
        return _median_type(x, axis)

    def numpy(x, *, axis, ignore_nan):
        dtype = x.dtype
        x = x.astype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else x  # to order bfloat16's nan
        last = x.shape[axis] - 1
        if ignore_nan:
            count = np.sum(x == x, axis=axis, keepdims=True)
            middle = np.take_along_axis(np.sort(x, axis=axis), np.maximum(count - 1, 0) // 2, axis=axis)
            found = x == middle
        else:
            ordered = np.moveaxis(np.partition(x, [last // 2, last], axis=axis), axis, -1)
            middle = np.moveaxis(ordered[..., last // 2 : last // 2 + 1], -1, axis)
            found, top = x == middle, np.moveaxis(ordered[..., last:], -1, axis)
            if (top != top).any():
                found, middle = np.where(top == top, found, x != x), np.where(top == top, middle, top)
        return middle.astype(dtype), found.argmax(axis=axis, keepdims=True)

    def decomposed(c, x):
        axis, size = c.axis, x.shape[c.axis]
        ordered = F.msort(x, axis=axis)

        def at(place):
            return F.slice(ordered, axes=(axis,), starts=(place,), stops=(place + 1,), steps=(1,))

        if c.ignore_nan:
            there = F.cast(F.sum(F.cast(F.equal(x, x), dtype=int64), axes=(axis,), keepdims=True), dtype=int32)
            place = F.cast(F.floordiv(F.maximum(there - 1, 0), 2), dtype=int64)  # int32 is divided fast
            middle = F.take_along_axis(ordered, place, axis=axis)
            found = F.equal(x, broadcast_to(middle, x.shape))
        else:
            middle, top = at((size - 1) // 2), at(size - 1)
            lost = F.not_equal(top, top)
            found = F.equal(x, broadcast_to(middle, x.shape))
            found = F.select(broadcast_to(lost, x.shape), F.not_equal(x, x), found)
            middle = F.select(lost, top, middle)
        return middle, F.argmax(F.cast(found, dtype=int32), axis=axis, keepdims=True)

    def vjp(c, gs, x):
        return _scatter_to_median(c, gs, x)

    def samples(rng):
        yield rng.distinct(2, 3), {"axis": -1}
        yield rng.distinct(4, 2), {"axis": -2, "ignore_nan": True}

    errors = [((EMPTY,), {"axis": -1}, "has no median"), ((F2,), {"axis": -2}, "do not exist")]


def _median(x, axis, keepdims, ignore_nan):
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    values, index = F.median_of(x, axis=axis, ignore_nan=ignore_nan)
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


# ------------------------------------------------------------------------------------------------ of samples
@composite("cov")
def cov(x, correction=1, fweights=None, aweights=None):
    """Covariances of the rows of a matrix, whose columns are observations; of a vector its variance.

    `fweights` says how often each observation was made, `aweights` how much it counts; `correction` is subtracted from
    their number.
    """
    narrow, x = at_least_float32(x)
    require(x.ndim <= 2, f"cov takes a matrix or a vector, not {x.ndim} dimensions")
    rows = F.reshape(x, shape=(1,) * (2 - x.ndim) + x.shape)
    count = rows.shape[1]
    weights = None
    for w, what in ((fweights, "fweights"), (aweights, "aweights")):
        if w is not None:
            w = cast(as_tensor(w, what), rows.dtype)
            require(w.shape == (count,), f"{what} must be [{count}], not {list(w.shape)}")
            weights = w if weights is None else weights * w
    if weights is None:
        weights = call.ones((count,), rows.dtype)
    total = call.sum(weights)
    # What one observation counts, on average over the weights.
    each = 1 if aweights is None else call.sum(weights * cast(as_tensor(aweights), rows.dtype)) / total
    scale = call.sub(total, call.mul(each, correction))
    apart = rows - expand(call.matmul(rows, weights) / expand(total, (-1,), rows.shape[:1]), (-1,), rows.shape)
    weighted = apart * expand(weights, (-2,), rows.shape)
    spread = call.div(call.matmul(weighted, call.transpose(apart, (1, 0))), call.maximum(scale, 0))
    return cast(F.reshape(spread, shape=()) if rows.shape[0] == 1 else spread, narrow)


def _histc(x, bins=100, min=0.0, max=0.0):
    x, bins, low, high = as_tensor(x), static_int(bins, "bins"), float(min), float(max)
    if bins < 1 or not low <= high or math.isinf(low) or math.isinf(high):
        raise ValueError(f"a histogram needs bins >= 1 and finite min <= max, not {bins}, {min} and {max}")
    return F.histc(x, bins=bins, low=low, high=high)


class Histc(Primitive):
    """How many numbers lie in each of `bins` equal parts of low ... high, the last part with its end.

    Equal bounds stand for the smallest and greatest number, one apart if these are equal.  Counts are int32 for
    integers, else float32.
    """

    def infer(x: TensorType, *, bins: int, low: Number, high: Number):
        require_dtype(not x.dtype.is_bool, f"not defined for bools: {x}", hint="cast it to a number first")
        return tensor(int32 if x.dtype.is_int else float32, (bins,))

    flops = lambda x, **_: 5 * size_of_type(x)

    def numpy(x, *, bins, low, high):
        if low == high and x.size:
            low, high = float(x.min()), float(x.max())
        if low == high:
            low, high = low - 1, high + 1
        counts, _ = np.histogram(x, bins, (low, high))
        return counts.astype(np.int32 if x.dtype.kind in "iu" else np.float32)

    call = _histc
    methods = ("histc",)

    def batch(c, n, x):
        return None

    def samples(rng):
        yield rng(2, 3), {"bins": 4, "low": -1.0, "high": 1.5}
        yield rng.ints(5), {"bins": 3, "low": 0.0, "high": 0.0}
        yield rng(0), {"bins": 2, "low": 0.0, "high": 0.0}

    errors = [((B2,), {"bins": 1, "low": 0.0, "high": 1.0}, "not defined for bools")]


# ------------------------------------------------------------------------------------------------ without nan
def _nansum(x, axis=None, keepdims=False, *, dtype=None):
    x = as_tensor(x)
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    if not x.dtype.is_float:
        return call.sum(x, axis, dtype, keepdims)
    return F.nansum(x, axes=normal_axes(axis, x.ndim), keepdims=keepdims)


class Nansum(Primitive):
    """Sum over axes of the elements that are not nan; no cotangent passes to the others."""

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        return tensor(float_unary(x).dtype, reduced_shape(x.shape, axes, keepdims))

    def numpy(x, *, axes, keepdims):
        total = np.add.reduce(x, axis=axes, keepdims=keepdims)
        if (total != total).any():  # else no element was nan
            total = np.add.reduce(np.where(x == x, x, x.dtype.type(0)), axis=axes, keepdims=keepdims)
        return total

    widen = True
    call = _nansum
    methods = ("nansum",)
    decomposed = lambda c, x: F.sum(F.select(F.isnan(x), 0, x), axes=c.axes, keepdims=c.keepdims)

    def vjp(c, g, x):
        return F.select(F.isnan(x), 0, expand(g, c.axes, x.shape, c.keepdims))

    def samples(rng):
        yield rng(2, 3), {"axes": (-1,)}
        yield rng(2, 3, 2), {"axes": (-3, -1), "keepdims": True}
        yield rng(), {"axes": ()}
        yield rng(0, 3), {"axes": (-2,)}

    errors = [((I2,), {"axes": (-1,)}, "not defined for int32"), ((F2,), {"axes": (-2,)}, "do not exist")]
    ties = [(([math.nan, 2.0, math.inf],), {"axes": (-1,)}, ([0.0, 1.0, 1.0],))]


@composite("nanmean")
def nanmean(x, axis=None, keepdims=False, *, dtype=None):
    """Mean over axes of the elements that are not nan; nan where there is none."""
    x = as_tensor(x)
    narrow, x = at_least_float32(x if dtype is None else cast(x, dtype_of(dtype)))
    axes = normal_axes(axis, x.ndim)
    known = F.count(F.equal(x, x), axes=axes, keepdims=keepdims)
    return cast(F.nansum(x, axes=axes, keepdims=keepdims) / cast(known, x.dtype), narrow)


@composite("count_nonzero")
def count_nonzero(x, axis=None, keepdims=False, dtype=None):
    """How many elements over axes differ from 0."""
    x = truth(x)
    return cast(F.count(x, axes=normal_axes(axis, x.ndim), keepdims=keepdims), dtype_of(dtype or int64))


class Count(Primitive):
    """How many (int64) bools over axes hold."""

    internal = True

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        require_dtype(x.dtype.is_bool, f"not defined for {x.dtype.name}: {x}", hint="compare it with 0 first")
        return tensor(int64, reduced_shape(x.shape, axes, keepdims))

    def numpy(x, *, axes, keepdims):
        if len(axes) < x.ndim:
            return np.add.reduce(x, axis=axes, dtype=np.int64, keepdims=keepdims)
        return np.full((1,) * (x.ndim * keepdims), np.count_nonzero(x))

    decomposed = lambda c, x: F.sum(F.cast(x, dtype=int64), axes=c.axes, keepdims=c.keepdims)

    def samples(rng):
        yield rng.bools(2, 3), {"axes": (-1,)}
        yield rng.bools(2, 3), {"axes": (-2, -1), "keepdims": True}
        yield rng.bools(0, 3), {"axes": (-2,)}
        yield rng.bools(), {"axes": ()}

    errors = [((F2,), {"axes": (-1,)}, "not defined for float32")]
