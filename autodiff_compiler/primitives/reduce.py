"""Reductions over axes.  `axes` are stored as negative numbers; each runs over all of them in `call` by default."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import bool_, dtype_of, float32, int32, int64, uint64
from ..ir.primitive import F, Ints, Primitive, call, composite
from ..ir.types import TensorType, dim_product, tensor
from .compare import truth
from .family import (
    as_tensor,
    broadcast_to,
    cast,
    constant,
    divided,
    expand,
    float_unary,
    normal_axes,
    normal_axis,
    promoted,
)
from .flops import per_operand
from .requirements import require, require_dtype
from .samples import EMPTY, F2, I2
from .shape import size_of


def reduced_shape(shape, axes, keepdims):
    """The shape that is left after reducing `axes` (negative)."""
    require(all(-len(shape) <= a < 0 for a in axes), f"axes {list(axes)} do not exist in shape {list(shape)}")
    gone = {len(shape) + a for a in axes}
    if keepdims:
        return tuple([1 if i in gone else d for i, d in enumerate(shape)])
    return tuple([d for i, d in enumerate(shape) if i not in gone])


def _accumulable(x, dtype):
    """x at a dtype it can be summed in, and the dtype of the result: smaller integers and bools are summed as int64."""
    x = as_tensor(x)
    # MindSpore 2.10: `sum` and `prod` of bools and of integers below 64 bits are int64.
    dtype = dtype_of(dtype) if dtype is not None else x.dtype if _sums_exist(x.dtype) else int64
    return cast(x, dtype if _sums_exist(dtype) else int64), dtype


def _sums_exist(dtype):
    return dtype.is_float or dtype in (int64, uint64)


def _sum(x, axis=None, dtype=None, keepdims=False):
    x, dtype = _accumulable(x, dtype)
    return cast(F.sum(x, axes=normal_axes(axis, x.ndim), keepdims=keepdims), dtype)


class Sum(Primitive):
    """Sum over axes; smaller integers and bools are summed as int64.

    Added as NumPy adds: by halves along the last axis (or over all), one row after the other along others, so that a
    million rows of float32 lose up to two digits more; cast to float64 where that matters.
    """

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        require_dtype(_sums_exist(x.dtype), f"not defined for {x.dtype.name}: {x}", hint="cast it to int64 first")
        return tensor(x.dtype, reduced_shape(x.shape, axes, keepdims))

    flops = per_operand

    def numpy(x, *, axes, keepdims):
        return np.add.reduce(x, axis=axes, keepdims=keepdims)

    def aclnn(c, x):
        c.sum(x, c.axes, c.keepdims, c.out) if c.axes else c.give(x)

    widen = True
    call = _sum
    methods = ("sum",)

    def vjp(c, g, x):
        return expand(g, c.axes, x.shape, c.keepdims)

    def samples(rng):
        yield rng(2, 3), {"axes": (-1,)}
        yield rng(2, 3, 2), {"axes": (-3, -1), "keepdims": True}
        yield rng(2, 3), {"axes": (-2, -1)}
        yield rng(), {"axes": ()}
        yield rng(0, 3), {"axes": (-2,)}

    errors = [((I2,), {"axes": (-1,)}, "not defined for int32"), ((F2,), {"axes": (-2,)}, "do not exist")]


@composite("mean")
def mean(x, axis=None, keepdims=False, keep_dims=False):
    """Mean over axes (all by default); integers and bools become float32 first, an empty mean is nan.

    `keep_dims` is MindSpore's name of `keepdims`.
    """
    dtype, x = at_least_float32(x)
    axes = normal_axes(axis, x.ndim)
    total = F.sum(x, axes=axes, keepdims=keepdims or keep_dims)
    return cast(total / size_of(x, axes, total), dtype)


def at_least_float32(x):
    """The float dtype that a result for x has, and x as a float of at least 32 bits to compute it with."""
    x = as_tensor(x)
    dtype = x.dtype if x.dtype.is_float else float32
    return dtype, cast(x, float32 if dtype.bits == 16 else dtype)


def _prod(x, axis=None, keepdims=False, dtype=None, *, keep_dims=False):
    x, dtype = _accumulable(x, dtype)
    keepdims = keepdims or keep_dims
    if axis is None:
        flat = F.prod(F.reshape(x, shape=(dim_product(x.shape),)), axis=-1)
        return cast(F.reshape(flat, shape=(1,) * x.ndim) if keepdims else flat, dtype)
    for a in normal_axes(axis, x.ndim):  # from the left: gone axes shift no later one
        x = F.prod(x, axis=a, keepdims=keepdims)
    return cast(x, dtype)


class Prod(Primitive):
    """Product over axes; smaller integers and bools are multiplied as int64.  Its derivative is exact at zeros too."""

    def infer(x: TensorType, *, axis: int, keepdims: bool = False):
        require_dtype(_sums_exist(x.dtype), f"not defined for {x.dtype.name}: {x}", hint="cast it to int64 first")
        return tensor(x.dtype, reduced_shape(x.shape, (axis,), keepdims))

    flops = per_operand

    def numpy(x, *, axis, keepdims):
        return np.multiply.reduce(x, axis=axis, keepdims=keepdims)

    def aclnn(c, x):
        wide = c.temp(c.out.shape, c.wide(x.dtype)) if c.wide(x.dtype) is not x.dtype else c.out
        if x.size:
            c.op("ProdDim", x, c.axis % x.ndim, c.keepdims, wide.dtype, wide)
        else:
            c.op("InplaceFillScalar", wide, 1)
        c.convert(wide, c.out)

    widen = True
    call = _prod
    methods = ("prod",)

    def vjp(c, g, x):
        before = F.cumprod(x, axis=c.axis, exclusive=True)
        others = before * F.cumprod(x, axis=c.axis, exclusive=True, reverse=True)
        return expand(g, (c.axis,), x.shape, c.keepdims) * others

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield rng(2, 3), {"axis": -2, "keepdims": True}
        yield np.array([2.0, 0.0, 3.0]), {"axis": -1}
        yield rng(2, 0), {"axis": -1}

    errors = [((I2,), {"axis": -1}, "not defined for int32"), ((F2,), {"axis": -2}, "do not exist")]
    ties = [
        (([2.0, 0.0, 3.0],), {"axis": -1}, ([0.0, 6.0, 0.0],)),
        (([0.0, 0.0, 3.0],), {"axis": -1}, ([0.0, 0.0, 0.0],)),
    ]


def _extreme(name):
    def public(x, axis=None, keepdims=False, *, initial=None, where=None, return_indices=False):
        if not return_indices:
            return getattr(call, f"a{name}")(x, axis, keepdims, initial=initial, where=where)
        return getattr(call, f"arg{name}_with_value")(call.bounded(name, x, initial, where), axis, keepdims)

    return public


def _extreme_type(x: TensorType, *, axes: Ints, keepdims: bool = False):
    result = tensor(x.dtype, reduced_shape(x.shape, axes, keepdims))
    require(all(x.shape[a] != 0 for a in axes), f"an empty tensor has no extreme element: {x} over axes {list(axes)}")
    return result


def winners_of(x, extreme):
    """Where elements are the extreme one."""
    return F.equal(x, extreme)


def _shared(c, g, x):
    if not c.axes:
        return g
    winners = winners_of(x, expand(c.out, c.axes, x.shape, c.keepdims))
    # MindSpore 2.10: equal extremes share the cotangent evenly.
    count = F.sum(F.cast(winners, dtype=x.dtype if x.dtype.is_float else int64), axes=c.axes, keepdims=c.keepdims)
    return F.select(winners, expand(divided(g, count), c.axes, x.shape, c.keepdims), 0)


class _Extreme(Primitive, abstract=True):
    """An extreme element over axes, whose cotangent all that equal it share evenly."""

    infer = _extreme_type
    flops = per_operand
    public = _extreme
    cuts = True
    vjp = _shared

    def samples(rng):
        yield rng.distinct(2, 3), {"axes": (-1,)}
        yield rng.distinct(2, 3, 2), {"axes": (-3, -1), "keepdims": True}
        yield rng.distinct(2, 3), {"axes": (-2, -1)}
        yield rng(), {"axes": ()}

    errors = [((EMPTY,), {"axes": (-1,)}, "no extreme element"), ((F2,), {"axes": (-2,)}, "do not exist")]


class Max(_Extreme):
    """Greatest element over axes, nan if there is one; ties share the cotangent evenly.

    With `initial`, `where` as for `amax`. With `return_indices` a pair with the first places along one axis.
    """

    def numpy(x, *, axes, keepdims):
        return np.maximum.reduce(x, axis=axes, keepdims=keepdims)

    def aclnn(c, x):
        c.extreme_of("Amax", x, c.axes, c.keepdims, c.out) if c.axes else c.give(x)

    methods = ("max",)

    ties = [
        (([[1.0, 1.0, 0.0]],), {"axes": (-1,)}, ([[0.5, 0.5, 0.0]],)),
        (([[1.0, 1.0], [1.0, 1.0]],), {"axes": (-2, -1)}, ([[0.25, 0.25], [0.25, 0.25]],)),
    ]


class Min(_Extreme):
    """Smallest element over axes, nan if there is one; ties share the cotangent evenly; see `max`."""

    def numpy(x, *, axes, keepdims):
        return np.minimum.reduce(x, axis=axes, keepdims=keepdims)

    def aclnn(c, x):
        c.extreme_of("Amin", x, c.axes, c.keepdims, c.out) if c.axes else c.give(x)

    methods = ("min",)

    ties = [
        (([[-1.0, -1.0, 0.0]],), {"axes": (-1,)}, ([[0.5, 0.5, 0.0]],)),
        (([[1.0, 1.0], [1.0, 1.0]],), {"axes": (-2, -1)}, ([[0.25, 0.25], [0.25, 0.25]],)),
    ]


def _quantifying(name):
    def public(x, axis=None, keepdims=False, keep_dims=False):
        x = truth(x)
        return getattr(F, name)(x, axes=normal_axes(axis, x.ndim), keepdims=keepdims or keep_dims)

    return public


class _Quantifier(Primitive, abstract=True):
    """A bool of all bools over axes."""

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        require_dtype(x.dtype is bool_, f"not defined for {x.dtype.name}: {x}", hint="compare it with 0 first")
        return tensor(bool_, reduced_shape(x.shape, axes, keepdims))

    flops = per_operand
    public = _quantifying

    def samples(rng):
        yield rng.bools(2, 3), {"axes": (-1,)}
        yield rng.bools(2, 3), {"axes": (-2, -1), "keepdims": True}
        yield rng.bools(0, 3), {"axes": (-2,)}

    errors = [((F2,), {"axes": (-1,)}, "not defined for float32")]


class Any(_Quantifier):
    """Whether any bool over the axes holds; numbers hold where they are not zero."""

    def numpy(x, *, axes, keepdims):
        return np.logical_or.reduce(x, axis=axes, keepdims=keepdims)

    def aclnn(c, x):
        c.reduce("Any", x, c.axes, False)

    methods = ("any",)


class All(_Quantifier):
    """Whether every bool over the axes holds; numbers hold where they are not zero."""

    def numpy(x, *, axes, keepdims):
        return np.logical_and.reduce(x, axis=axes, keepdims=keepdims)

    def aclnn(c, x):
        c.reduce("All", x, c.axes, True)

    methods = ("all",)


def _placing(name):
    def public(x, axis=None, keepdims=False):
        x = as_tensor(x)
        if axis is not None:
            return getattr(F, name)(x, axis=normal_axis(axis, x.ndim), keepdims=keepdims)
        flat = getattr(F, name)(F.reshape(x, shape=(dim_product(x.shape),)), axis=-1)
        return F.reshape(flat, shape=(1,) * x.ndim) if keepdims else flat

    return public


class _Place(Primitive, abstract=True):
    """The index of an extreme element along an axis."""

    flops = per_operand
    public = _placing

    def samples(rng):
        yield rng.distinct(2, 3), {"axis": -1}
        yield rng.distinct(2, 3), {"axis": -2, "keepdims": True}

    errors = [((EMPTY,), {"axis": -1}, "no extreme element")]


class Argmax(_Place):
    """Index (int64) of the greatest element along an axis, the first of several; of the flat tensor by default."""

    def infer(x: TensorType, *, axis: int, keepdims: bool = False):
        return tensor(int64, _extreme_type(x, axes=(axis,), keepdims=keepdims).shape)

    def numpy(x, *, axis, keepdims):
        return x.argmax(axis=axis, keepdims=keepdims)

    def aclnn(c, x):
        c.first_extreme("Amax", x, c.axis, c.keepdims, c.out)

    methods = ("argmax",)


class Argmin(_Place):
    """Index of the smallest element along an axis, the first of several; of the flat tensor by default.

    It is an int32, where `argmax` gives an int64: so does MindSpore.
    """

    def infer(x: TensorType, *, axis: int, keepdims: bool = False):
        # MindSpore 2.10: the index is int32, where that of `argmax` is int64.
        return tensor(int32, _extreme_type(x, axes=(axis,), keepdims=keepdims).shape)

    def numpy(x, *, axis, keepdims):
        return x.argmin(axis=axis, keepdims=keepdims).astype(np.int32)

    def aclnn(c, x):
        c.first_extreme("Amin", x, c.axis, c.keepdims, c.out)

    methods = ("argmin",)


# ------------------------------------------------------------------------------------------------ logarithms of sums
def exp_ratio(x, y):
    """exp(x) / exp(y) without overflow for x <= y; 0 where exp(x) is, even if exp(y) is too."""
    return F.exp(F.select(F.equal(x, -math.inf), -math.inf, x - y))


def _logsumexp(x, axis=None, keepdims=False):
    (x,) = promoted(x, floating=True)
    return F.logsumexp(x, axes=normal_axes(axis, x.ndim), keepdims=keepdims)


class Logsumexp(Primitive):
    """log(sum(exp(x))) over axes, without overflow; -inf for nothing."""

    def infer(x: TensorType, *, axes: Ints, keepdims: bool = False):
        return tensor(float_unary(x).dtype, reduced_shape(x.shape, axes, keepdims))

    def numpy(x, *, axes, keepdims):
        top = np.maximum.reduce(x, axis=axes, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, np.zeros((), x.dtype))  # infinities would give inf - inf
        out = np.log(np.add.reduce(np.exp(x - top), axis=axes, keepdims=True)) + top
        return out if keepdims else np.squeeze(out, axis=axes)

    def decomposed(c, x):
        if not all(x.shape):
            return constant(-math.inf, tensor(x.dtype, reduced_shape(x.shape, c.axes, c.keepdims)))
        top = F.max(x, axes=c.axes, keepdims=True) if c.axes else x
        top = F.select(F.isfinite(top), top, 0)
        total = F.sum(F.exp(x - broadcast_to(top, x.shape)), axes=c.axes, keepdims=True)
        out = F.log(total) + top
        return out if c.keepdims or not c.axes else F.squeeze(out, axes=c.axes)

    widen = True
    call = _logsumexp
    methods = ("logsumexp",)

    def vjp(c, g, x):
        # Divided by their sum the shares are exact even where the rounding of a large `out` is not small beside 1.
        share = exp_ratio(x, expand(c.out, c.axes, x.shape, c.keepdims))
        total = F.sum(share, axes=c.axes, keepdims=c.keepdims)
        return share * expand(g / F.select(F.equal(total, 0), 1, total), c.axes, x.shape, c.keepdims)

    def samples(rng):
        yield rng(2, 3), {"axes": (-1,)}
        yield 300 * rng(2, 3), {"axes": (-2,), "keepdims": True}
        yield rng(2, 3), {"axes": (-2, -1)}
        yield rng(), {"axes": ()}

    errors = [((I2,), {"axes": (-1,)}, "not defined for int32"), ((F2,), {"axes": (-2,)}, "do not exist")]
    ties = [
        (([1000.0, 1000.0],), {"axes": (-1,)}, ([0.5, 0.5],)),
        (([-math.inf, 0.0],), {"axes": (-1,)}, ([0.0, 1.0],)),
        (([-math.inf, -math.inf],), {"axes": (-1,)}, ([0.0, 0.0],)),
    ]
