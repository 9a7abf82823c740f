"""Reductions over axes (sums, means, extremes, norms), running sums, differences, integrals.

`axis` is an axis, several, or None for all.
"""

from __future__ import annotations

import math
from typing import Any, Never

from ..dtypes import bool_, float16, float32, int8, int16, int32, int64, uint8, uint16, uint32
from ..ir.primitive import call, distinct
from ..keywords import answering, refuse_unknown
from ..primitives.family import cast, in_dtype, normal_axes, normal_axis
from ..primitives.requirements import require, static_int
from .operands import converted, dtype_named, given_tensor, operand


# ------------------------------------------------------------------------------------------------ extremes
def _extreme(name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    a = operand(a, "a")
    if initial is None and where is True:
        return getattr(call, name)(a, axis, keepdims)
    if initial is None:
        raise ValueError("`where` needs an `initial` value for the elements that are left out")
    initial = in_dtype(initial, a.dtype)
    if initial.ndim > 0:
        raise TypeError("`initial` must be a single number")
    if where is not True:
        a = call.where(where, a, initial)
    pair = "maximum" if name == "max" else "minimum"
    if math.prod(a.shape[i] for i in normal_axes(axis, a.ndim)) == 0:
        shape = [d for i, d in enumerate(a.shape) if i - a.ndim not in normal_axes(axis, a.ndim)]
        require(not keepdims, "an empty extreme has no `keepdims`")
        return call.broadcast_to(initial, tuple(shape))
    return getattr(call, pair)(getattr(call, name)(a, axis, keepdims), initial)


@answering
def amax(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True, **unknown: Never
) -> Any:
    """The greatest element over axes, at least `initial`; with `where` only of those where the mask holds.

    ValueError: a mask without `initial`.

    >>> from autodiff_compiler import numpy as np
    >>> np.amax(np.array([[1, 5], [4, 2]]), axis=1).tolist()
    [5, 4]
    """
    if unknown:
        refuse_unknown(amax, unknown)
    return _extreme("max", a, axis, keepdims, initial, where)


@answering
def amin(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True, **unknown: Never
) -> Any:
    """The least element over axes, at most `initial`; with `where` only of those where the mask holds.

    ValueError: a mask without `initial`.
    """
    if unknown:
        refuse_unknown(amin, unknown)
    return _extreme("min", a, axis, keepdims, initial, where)


max, min = amax, amin


@answering
def argmax(a: Any, axis: int | None = None, **unknown: Never) -> Any:
    """The first position (int64) of the greatest element along an axis, or in the flat array.

    >>> from autodiff_compiler import numpy as np
    >>> np.argmax(np.array([[1, 5], [4, 2]]), axis=0).tolist()
    [1, 0]
    """
    if unknown:
        refuse_unknown(argmax, unknown)
    return cast(_position("argmax", a, axis), int64)


@answering
def argmin(a: Any, axis: int | None = None, **unknown: Never) -> Any:
    """The first position (int32) of the least element along an axis, or in the flat array."""
    if unknown:
        refuse_unknown(argmin, unknown)
    return cast(_position("argmin", a, axis), int32)


def _position(name: str, a: Any, axis: int | None) -> Any:
    a = operand(a, "a")
    return getattr(call, name)(cast(a, int32) if a.dtype.is_bool else a, axis)


# ------------------------------------------------------------------------------------------------ sums and means
@answering
def sum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, **unknown: Never
) -> Any:
    """Sums over axes, plus `initial`; bools and integers are summed as int64, unsigned ones as they are.

    >>> from autodiff_compiler import numpy as np
    >>> np.sum(np.array([[1, 5], [4, 2]]), axis=0).tolist()
    [5, 7]
    """
    if unknown:
        refuse_unknown(sum, unknown)
    a = operand(a, "a")
    named = None if dtype is None else dtype_named(dtype)
    if named is None and a.dtype.kind == "u" and a.dtype is not uint8:
        named = a.dtype
    total = call.sum(a, axis, named, keepdims)
    return total if initial is None else call.add(total, in_dtype(initial, total.dtype))


@answering
def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None, **unknown: Never) -> Any:
    """Means over axes.  integers keep their dtype, as in MindSpore: their mean is truncated.  Bools give float32.

    >>> from autodiff_compiler import numpy as np
    >>> np.mean(np.array([1.0, 2.0])).item(), np.mean(np.array([1, 2]), dtype=np.float32).item()
    (1.5, 1.5)
    """
    if unknown:
        refuse_unknown(mean, unknown)
    a = operand(a, "a")
    found = call.mean(a, axis, keepdims)
    # MindSpore 2.10: the mean of integers is truncated to their dtype.
    return converted(found, dtype or (None if a.dtype.is_bool else a.dtype))


@answering
def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, **unknown: Never) -> Any:
    """Means over axes with weights: an array of the shape of x, or a vector for the one axis.

    With `returned` also the sums of the weights.  TypeError: weights of another shape, or no axis for a vector.

    >>> from autodiff_compiler import numpy as np
    >>> np.average(np.array([1.0, 2.0]), weights=np.array([3.0, 1.0])).item()
    1.25
    """
    if unknown:
        refuse_unknown(average, unknown)
    x = given_tensor(x)
    if weights is None:
        found = mean(x, axis)
        total = call.full_like(found, math.prod(x.shape[i] for i in normal_axes(axis, x.ndim)), found.dtype)
        return (found, total) if returned else found
    weights = given_tensor(weights, "weights")
    if tuple(x.shape) != tuple(weights.shape):
        if weights.ndim != 1:
            raise TypeError("`weights` must be a vector or of the shape of x")
        if not isinstance(axis, int):
            raise TypeError("weights of another shape than x need an `axis`")
        place = normal_axis(axis, x.ndim)
        weights = call.reshape(weights, tuple(-1 if i == x.ndim + place else 1 for i in range(x.ndim)))
    total = call.sum(weights, axis)
    found = call.div(call.sum(call.mul(x, weights), axis), total)
    return (found, call.broadcast_to(total, found.shape)) if returned else found


@answering
def size(a: Any, axis: int | None = None, **unknown: Never) -> int:
    """How many elements there are, in all or along an axis.

    >>> from autodiff_compiler import numpy as np
    >>> np.size(np.ones((2, 3))), np.size(np.ones((2, 3)), axis=1)
    (6, 3)
    """
    if unknown:
        refuse_unknown(size, unknown)
    shape = operand(a, "a").shape
    return int(math.prod(shape) if axis is None else shape[normal_axis(axis, len(shape))])


# ------------------------------------------------------------------------------------------------ without nan
def _without_nan(a: Any, instead: float) -> Any:
    a = operand(a, "a")
    return call.where(call.isnan(a), in_dtype(instead, a.dtype), a) if a.dtype.is_float else a


def _or_nan(found: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    a = operand(a, "a")
    if not a.dtype.is_float:
        return found
    return call.where(call.all(call.isnan(a), axis, keepdims), in_dtype(math.nan, a.dtype), found)


@answering
def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **unknown: Never) -> Any:
    """The greatest element over axes that is not nan; nan where there is none."""
    if unknown:
        refuse_unknown(nanmax, unknown)
    found = call.max(_without_nan(a, -math.inf), axis, keepdims)
    return converted(_or_nan(found, a, axis, keepdims), dtype)


@answering
def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **unknown: Never) -> Any:
    """The least element over axes that is not nan; nan where there is none."""
    if unknown:
        refuse_unknown(nanmin, unknown)
    found = call.min(_without_nan(a, math.inf), axis, keepdims)
    return converted(_or_nan(found, a, axis, keepdims), dtype)


@answering
def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **unknown: Never) -> Any:
    """Sums over axes without nan; the dtype stays.

    >>> from autodiff_compiler import numpy as np
    >>> np.nansum(np.array([1.0, np.nan, 2.0])).item()
    3.0
    """
    if unknown:
        refuse_unknown(nansum, unknown)
    a = operand(a, "a")
    total = call.sum(_without_nan(a, 0), axis, None if a.dtype.is_bool else a.dtype, keepdims)
    return converted(total, a.dtype if dtype is None else dtype)


def _with_nan_mask(a: Any) -> tuple[Any, Any]:
    """A Tensor in float32 at least, and the mask (1, 0) of its elements that are not nan."""
    a = operand(a, "a")
    a = a if a.dtype.is_float and a.dtype is not float16 else cast(a, float32)
    return a, cast(call.logical_not(call.isnan(a)), a.dtype)


@answering
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **unknown: Never) -> Any:
    """Means over axes without nan, in float32 at least; nan where there is nothing else."""
    if unknown:
        refuse_unknown(nanmean, unknown)
    a, present = _with_nan_mask(a)
    total = call.sum(_without_nan(a, 0), axis, None, keepdims)
    return converted(call.div(total, call.sum(present, axis, None, keepdims)), dtype)


@answering
def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False, **unknown: Never) -> Any:
    """`var` without nan, in float32 at least.

    >>> from autodiff_compiler import numpy as np
    >>> np.nanvar(np.array([1.0, np.nan, 3.0])).item()
    1.0
    """
    if unknown:
        refuse_unknown(nanvar, unknown)
    a, present = _with_nan_mask(a)
    deviations = call.mul(call.sub(_without_nan(a, 0), nanmean(a, axis, keepdims=True)), present)
    squares = call.sum(call.mul(deviations, deviations), axis, None, keepdims)
    return converted(call.div(squares, call.sub(call.sum(present, axis, None, keepdims), ddof)), dtype)


@answering
def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False, **unknown: Never) -> Any:
    """The square root of `nanvar`."""
    if unknown:
        refuse_unknown(nanstd, unknown)
    return converted(call.sqrt(nanvar(a, axis, None, ddof, keepdims)), dtype)


# ------------------------------------------------------------------------------------------------ running
def _running(name: str, a: Any, axis: int | None, dtype: Any, wider: dict[Any, Any]) -> Any:
    a = operand(a, "a")
    a = cast(a, wider.get(a.dtype, a.dtype) if dtype is None else dtype_named(dtype))
    if axis is not None and not isinstance(axis, int):
        raise TypeError(f"`axis` must be an int, not a {type(axis).__name__}")
    return getattr(call, name)(call.reshape(a, (-1,)), 0) if axis is None else getattr(call, name)(a, axis)


@answering
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, **unknown: Never) -> Any:
    """Running sums along an axis, or over the flat array; bools and short integers become int32.

    >>> from autodiff_compiler import numpy as np
    >>> np.cumsum(np.array([[1, 2], [3, 4]])).tolist()
    [1, 3, 6, 10]
    """
    if unknown:
        refuse_unknown(cumsum, unknown)
    return _running("cumsum", given_tensor(a, "a"), axis, dtype, dict.fromkeys((bool_, int8, int16, uint8), int32))


@answering
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, **unknown: Never) -> Any:
    """`cumsum` in which nan counts as 0."""
    if unknown:
        refuse_unknown(nancumsum, unknown)
    return cumsum(_without_nan(a, 0), axis, dtype)


@answering
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, **unknown: Never) -> Any:
    """Running products along an axis, or over the flat array; short integers become int32 or uint32."""
    if unknown:
        refuse_unknown(cumprod, unknown)
    signed = dict.fromkeys((bool_, int8, int16), int32)
    return _running("cumprod", a, axis, dtype, signed | dict.fromkeys((uint8, uint16), uint32))


# ------------------------------------------------------------------------------------------------ neighbours
@answering
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, **unknown: Never) -> Any:
    """Differences of neighbours along an axis, n times; of bools whether they differ.

    `prepend` and `append` extend the array first.  ValueError: a negative n, or one that leaves nothing.

    >>> from autodiff_compiler import numpy as np
    >>> np.diff(np.array([1, 3, 7])).tolist(), np.diff(np.array([1, 3, 7]), prepend=0).tolist()
    ([2, 4], [1, 2, 4])
    """
    if unknown:
        refuse_unknown(diff, unknown)
    a, place, n = given_tensor(a, "a"), normal_axis(axis, a.ndim), static_int(n, "n")
    require(n >= 0, f"`n` must not be negative, but is {n}")
    if n == 0:
        return distinct(a, a)
    border = (*a.shape[:place], 1, *a.shape[place + 1 :][: -place - 1])
    ends = [None if x is None else _extension(x, border) for x in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    a = call.concat(parts, place) if len(parts) > 1 else a
    require(n < a.shape[place], f"{n} differences of {a.shape[place]} elements leave nothing")
    deviations = call.not_equal if a.dtype.is_bool else call.sub
    for _ in range(n):
        count = a.shape[place]
        a = deviations(call.narrow(a, place, 1, count - 1), call.narrow(a, place, 0, count - 1))
    return a


def _extension(x: Any, border: tuple[int, ...]) -> Any:
    """An array that extends another: as it is, or a number or slice broadcast."""
    x = operand(x, "prepend")
    return call.broadcast_to(x, border) if x.ndim < len(border) else x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flat array, between elements that are put before and behind.

    >>> from autodiff_compiler import numpy as np
    >>> np.ediff1d(np.array([1, 2, 4]), to_end=[8, 9]).tolist()
    [1, 2, 8, 9]
    """
    flat = call.reshape(given_tensor(ary, "ary"), (-1,))
    between = diff(flat)
    ends = [None if x is None else cast(call.reshape(operand(x), (-1,)), flat.dtype) for x in (to_begin, to_end)]
    return call.concat([x for x in (ends[0], between, ends[1]) if x is not None], 0)


@answering
def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, **unknown: Never) -> Any:
    """The integral along an axis by the trapezoidal rule, for samples at `x` or `dx` deviations.

    >>> from autodiff_compiler import numpy as np
    >>> np.trapz(np.array([1.0, 2.0, 3.0])).item()
    4.0
    """
    if unknown:
        refuse_unknown(trapz, unknown)
    y = operand(y, "y")
    y = y if y.dtype.is_float else cast(y, float32)
    place, count = normal_axis(axis, y.ndim), y.shape[axis]
    width = operand(dx, "dx") if x is None else diff(operand(x))
    if width.ndim == 1:
        width = call.reshape(width, (-1,) + (1,) * (-place - 1))
    pairs = call.add(call.narrow(y, place, 0, count - 1), call.narrow(y, place, 1, count - 1))
    return call.div(call.sum(call.mul(pairs, cast(width, y.dtype)), place), 2)


@answering
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1, **unknown: Never) -> Any:
    """Central differences along axes, one-sided at the ends; the distances are 1, one for all axes, or one for each.

    A list of arrays if there are several axes.  NotImplementedError: another `edge_order`, or distances that differ.

    >>> from autodiff_compiler import numpy as np
    >>> np.gradient(np.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 1.5, 2.0]
    """
    if unknown:
        refuse_unknown(gradient, unknown)
    if edge_order != 1:
        raise NotImplementedError("gradient has `edge_order=1` only")
    f = operand(f, "f")
    f = f if f.dtype.is_float and f.dtype is not float16 else cast(f, float32)
    axes = range(-f.ndim, 0) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    steps = varargs or (1,)
    steps = steps * len(axes) if len(steps) == 1 else steps
    if len(steps) != len(axes):
        raise TypeError(f"gradient takes one distance or one for each of {len(axes)} axes, not {len(steps)}")
    found = [_central(f, step, normal_axis(a, f.ndim)) for step, a in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else found


def _central(f: Any, step: Any, axis: int) -> Any:
    step = operand(step, "varargs")
    if step.ndim > 0:
        raise NotImplementedError("gradient needs one distance for an axis, not one for each pair")
    n = f.shape[axis]
    require(n >= 2, "a gradient needs at least 2 elements along its axis")
    parts = [call.sub(call.narrow(f, axis, 1, 1), call.narrow(f, axis, 0, 1))]
    if n > 2:
        parts.append(call.div(call.sub(call.narrow(f, axis, 2, n - 2), call.narrow(f, axis, 0, n - 2)), 2))
    parts.append(call.sub(call.narrow(f, axis, n - 1, 1), call.narrow(f, axis, n - 2, 1)))
    return call.div(call.concat(parts, axis), cast(step, f.dtype))


@answering
def unwrap(p: Any, discont: float = math.pi, axis: int = -1, **unknown: Never) -> Any:
    """Angles without jumps along an axis: a jump of `discont` or more is reduced by multiples of 2 pi.

    >>> from autodiff_compiler import numpy as np
    >>> [round(x, 5) for x in np.unwrap(np.array([0.0, 6.0])).tolist()]
    [0.0, -0.28319]
    """
    if unknown:
        refuse_unknown(unwrap, unknown)
    if not isinstance(discont, int | float):
        raise TypeError(f"`discont` must be a number, not a {type(discont).__name__}")
    p = operand(p, "p")
    p = p if p.dtype.is_float else cast(p, float32)
    place = normal_axis(axis, p.ndim)
    n = p.shape[place]
    jump = diff(p, axis=place)
    small = call.sub(call.mod(call.add(jump, math.pi), 2 * math.pi), math.pi)
    small = call.where(call.logical_and(call.equal(small, -math.pi), call.greater(jump, 0)), math.pi, small)
    repair = call.where(call.less(call.abs(jump), discont), 0.0, call.sub(small, jump))
    rest = call.add(call.narrow(p, place, 1, n - 1), call.cumsum(repair, place))
    return call.concat([call.narrow(p, place, 0, 1), rest], place)


# ------------------------------------------------------------------------------------------------ norms
@answering
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **unknown: Never) -> Any:
    """Norms of the vectors along one axis or the matrices in two, in float32 at least; of all elements by default.

    Vectors have norms of every order, matrices "fro", inf, -inf, 1, -1, 2, -2 and "nuc".  ValueError: another one.

    >>> from autodiff_compiler import numpy as np
    >>> np.norm(np.array([3.0, -4.0])).item(), np.norm(np.array([3.0, -4.0]), 1).item()
    (5.0, 7.0)
    """
    if unknown:
        refuse_unknown(norm, unknown)
    if not (ord is None or isinstance(ord, int | float) or ord in ("fro", "nuc")):
        raise ValueError(f"{ord!r} is the order of no norm")
    x = operand(x)
    x = x if x.dtype.is_float and x.dtype is not float16 else cast(x, float32)
    if axis is None and ord is None:
        flat = call.vector_norm(call.reshape(x, (-1,)), 2)
        return call.reshape(flat, (1,) * x.ndim) if keepdims else flat
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    require(len(axes) in (1, 2), f"a norm is taken over one axis or two, not {len(axes)}")
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"the norm {ord!r} is defined for matrices only")
        return call.vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    return call.matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)
