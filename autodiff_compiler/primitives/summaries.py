"""Masked extremes, extremes with their positions, the range, the k-th smallest element."""

from __future__ import annotations

from ..dtypes import int64
from ..ir.primitive import F, call, composite
from ..ir.types import dim_product, tensor
from .family import as_tensor, cast, constant, in_dtype, normal_axes, normal_axis
from .reduce import reduced_shape
from .requirements import require, static_int, static_number


# ------------------------------------------------------------------------------------------------ extremes
@composite("amax")
def amax(x, axis=None, keepdims=False, *, initial=None, where=None):
    """Greatest element over axes (all by default) where `where` holds, or `initial` if that is greater.

    Ties share the cotangent evenly.  ValueError for `where` without `initial`.
    """
    return _limited("max", x, axis, keepdims, initial, where)


@composite("amin")
def amin(x, axis=None, keepdims=False, *, initial=None, where=None):
    """Smallest element over axes (all by default) where `where` holds, or `initial` if that is smaller; see `amax`."""
    return _limited("min", x, axis, keepdims, initial, where)


def _limited(name, x, axis, keepdims, initial, where):
    x = bounded(name, x, initial, where)
    axes = normal_axes(axis, x.ndim)
    if initial is not None and any(x.shape[a] == 0 for a in axes):
        return constant(initial, tensor(x.dtype, reduced_shape(x.shape, axes, keepdims)))
    return getattr(F, name)(x, axes=axes, keepdims=keepdims)


@composite(internal=True)
def bounded(name, x, initial, where):
    """The elements raised to `initial` (lowered, if `name` is "min"), and replaced by it where `where` fails."""
    x = as_tensor(x, "input")
    if initial is None:
        if where is not None:
            raise ValueError("`where` needs `initial`: the result where it holds nowhere")
        return x
    initial = in_dtype(static_number(initial, "initial"), x.dtype)
    x = (call.maximum if name == "max" else call.minimum)(x, initial)
    return x if where is None else call.where(where, x, initial)


@composite("argmax_with_value")
def argmax_with_value(x, axis=0, keep_dims=False):
    """The greatest elements along an axis, and (int64) the first places where they stand."""
    return _with_place("argmax", as_tensor(x), axis, keep_dims)


@composite("argmin_with_value")
def argmin_with_value(x, axis=0, keep_dims=False):
    """The smallest elements along an axis, and (int64) the first places where they stand."""
    return _with_place("argmin", as_tensor(x), axis, keep_dims)


def _with_place(name, x, axis, keepdims):
    if axis is None:
        flat = F.reshape(x, shape=(dim_product(x.shape),))
        value, place = _with_place(name, flat, 0, False)
        return value, place  # one number, also with `keep_dims`
    require(x.ndim > 0, f"{name}_with_value needs at least one dimension")
    axis = normal_axis(axis, x.ndim)
    place = cast(getattr(F, name)(x, axis=axis, keepdims=True), int64)
    value = F.take_along_axis(x, place, axis=axis)
    return (value, place) if keepdims else (F.squeeze(value, axes=(axis,)), F.squeeze(place, axes=(axis,)))


@composite("aminmax")
def aminmax(x, *, axis=0, keepdims=False):
    """Smallest and greatest element along an axis (None: of all); ties share the cotangent evenly."""
    return call.min(x, axis, keepdims), call.max(x, axis, keepdims)


@composite("ptp")
def ptp(x, axis=None, keepdims=False):
    """Greatest element minus smallest element, over axes (all by default)."""
    return call.sub(call.max(x, axis, keepdims), call.min(x, axis, keepdims))


@composite("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    """The k-th smallest element along a dimension, k counted from 1, and (int64) where it stands."""
    x, k = as_tensor(x), static_int(k, "k")
    axis = normal_axis(dim, x.ndim, "dim")
    require(1 <= k <= x.shape[axis], f"there is no element number {k} of {x.shape[axis]}")
    order = F.slice(cast(F.argsort(x, axis=axis), int64), axes=(axis,), starts=(k - 1,), stops=(k,), steps=(1,))
    value = F.take_along_axis(x, order, axis=axis)
    return (value, order) if keepdim else (F.squeeze(value, axes=(axis,)), F.squeeze(order, axes=(axis,)))
