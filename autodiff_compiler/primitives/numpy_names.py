"""NumPy's functions in terms of ours, for Tensors in eager mode and in compiled code.

`counterpart` gives the function that stands for a NumPy function: it has NumPy's parameters as far as we have what they
mean, and none of the others, so a call it cannot take fails to bind.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import nearest
from ..ir.primitive import INTERNAL, REGISTRY, UFUNCS, call
from ..registration import Registrar
from .family import normal_axis

#: NumPy's ufuncs that are no formula of one of our ops, with the name of the function that stands for each.
_COMPOSED: dict[np.ufunc, str] = {
    np.copysign: "copysign",
    np.deg2rad: "deg2rad",
    np.degrees: "rad2deg",
    np.heaviside: "heaviside",
    np.logaddexp2: "logaddexp2",
    np.matmul: "matmul",
    np.positive: "positive",
    np.rad2deg: "rad2deg",
    np.radians: "deg2rad",
    np.square: "square",
}
_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


def counterpart(function: Any) -> Callable[..., Any] | None:
    """The function of ours that stands for a NumPy function or ufunc on Tensors; None if there is none."""
    if isinstance(function, np.ufunc):
        ours = UFUNCS.get(function) or _COMPOSED.get(function)
        return None if ours is None else getattr(call, ours)
    try:
        return _FUNCTIONS.get(function)
    except TypeError:  # unhashable
        return None


def bindable(function: Any, args: Sequence[Any], options: dict[str, Any]) -> bool:
    """Whether the counterpart of a NumPy function understands this call."""
    ours = counterpart(function)
    if ours is None:
        return False
    if isinstance(function, np.ufunc):
        return not options and len(args) == function.nin
    try:
        inspect.signature(ours).bind(*args, **options)
    except TypeError:
        return False
    return True


def understood(function: Any) -> list[str]:
    """The keywords that the counterpart of a NumPy function takes."""
    ours = counterpart(function)
    return [] if ours is None or isinstance(function, np.ufunc) else list(inspect.signature(ours).parameters)


def proposal(function: Any) -> str:
    """Advice for a NumPy function that Tensors do not have: names that exist, and the way out."""
    name = getattr(function, "__name__", "the function")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        name = f"{owner.__name__}.{name}"
    known = {n for n in (*REGISTRY, *vars(call)) if n not in INTERNAL}
    likely = [n for n in (name, name.removeprefix("nan")) if n in known][:1]
    ways = [f"`ops.{n}`" for n in likely or nearest(name, known, 2)]
    return "use " + ", or ".join([*ways, "ms.py_call, which runs the function itself (without derivative by default)"])


_stands_for = Registrar(_FUNCTIONS)


# ---------------------------------------------------------------------------------------------------- reductions
def _reduction(ours: str) -> Callable[..., Any]:
    return lambda a, axis=None, *, keepdims=False: getattr(call, ours)(a, axis, keepdims)


for _function, _ours in (
    (np.max, "max"), (np.min, "min"), (np.any, "any"), (np.all, "all"), (np.argmax, "argmax"), (np.argmin, "argmin"),
    (np.ptp, "ptp"), (np.count_nonzero, "count_nonzero"),
):  # fmt: skip
    _stands_for(_function)(_reduction(_ours))
_stands_for(np.amax)(_reduction("max"))
_stands_for(np.amin)(_reduction("min"))


def _cast(a: Any, dtype: Any) -> Any:
    return a if dtype is None else call.cast(a, dtype)


@_stands_for(np.sum)
def _sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return call.sum(a, axis, dtype, keepdims)


@_stands_for(np.nansum)
def _nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return call.nansum(_cast(a, dtype), axis, keepdims)


@_stands_for(np.prod)
def _prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return call.prod(_cast(a, dtype), axis, keepdims)


@_stands_for(np.mean)
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return call.mean(_cast(a, dtype), axis, keepdims)


@_stands_for(np.nanmean)
def _nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return call.nanmean(_cast(a, dtype), axis, keepdims)


@_stands_for(np.var)
def _var(a: Any, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return call.var(_cast(a, dtype), axis, ddof, keepdims)


@_stands_for(np.std)
def _std(a: Any, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return call.std(_cast(a, dtype), axis, ddof, keepdims)


@_stands_for(np.average)
def _average(a: Any, axis: int | None = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return call.mean(a, axis, keepdims)
    if tuple(np.shape(weights)) != tuple(a.shape):
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        sizes = [1] * len(a.shape)
        sizes[axis] = -1
        weights = call.reshape(weights, tuple(sizes))
    total = call.sum(call.broadcast_to(weights, a.shape), axis, None, keepdims)
    return call.div(call.sum(call.mul(a, weights), axis, None, keepdims), total)


@_stands_for(np.median)
def _median(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The mean of the two elements in the middle, NaN where there is one."""
    flat = call.reshape(a, (-1,)) if axis is None else a
    axis_ = 0 if axis is None else normal_axis(axis, a.ndim)
    values = call.sort(flat, axis_)[0]
    n = flat.shape[axis_]
    low, high, last = (_at(values, i, axis_) for i in ((n - 1) // 2, n // 2, n - 1))
    middle = call.div(call.add(low, high), 2)
    found = call.where(call.isnan(last), last, middle) if last.dtype.is_float else middle
    if not keepdims:
        return call.squeeze(found, axis_)
    return found if axis is not None else call.reshape(found, (1,) * len(a.shape))


def _at(a: Any, index: int, axis: int) -> Any:
    """The slice at an index along an axis, with a dimension of size 1."""
    return call.narrow(a, axis, index, 1)


@_stands_for(np.cumsum)
def _cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    a = _cast(a, dtype)
    return call.cumsum(call.reshape(a, (-1,)), 0) if axis is None else call.cumsum(a, axis)


@_stands_for(np.cumprod)
def _cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    a = _cast(a, dtype)
    return call.cumprod(call.reshape(a, (-1,)), 0) if axis is None else call.cumprod(a, axis)


@_stands_for(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    return call.diff(a, n, axis)


@_stands_for(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    return call.trapz(y, x, dx, axis)


# ---------------------------------------------------------------------------------------------------- products
@_stands_for(np.dot)
def _dot(a: Any, b: Any) -> Any:
    n, m = np.ndim(a), np.ndim(b)
    if n == 0 or m == 0:
        return call.mul(a, b)
    if m <= 2:
        return call.matmul(a, b)
    return call.tensordot(a, b, ((n - 1,), (m - 2,)))


@_stands_for(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    return call.matmul(call.reshape(a, (-1,)), call.reshape(b, (-1,)))


@_stands_for(np.outer)
def _outer(a: Any, b: Any) -> Any:
    return call.mul(call.reshape(a, (-1, 1)), call.reshape(b, (1, -1)))


@_stands_for(np.einsum)
def _einsum(subscripts: str, /, *operands: Any) -> Any:
    return call.einsum(subscripts, *operands)


@_stands_for(np.cross)
def _cross(a: Any, b: Any, *, axis: int = -1) -> Any:
    return call.cross(a, b, axis)


_stands_for(np.inner)(lambda a, b: call.inner(a, b))
_stands_for(np.kron)(lambda a, b: call.kron(a, b))
_stands_for(np.tensordot, np.linalg.tensordot)(lambda a, b, axes=2: call.tensordot(a, b, axes))
_stands_for(np.trace)(lambda a, offset=0, axis1=0, axis2=1: call.trace(a, offset, axis1, axis2))


# ---------------------------------------------------------------------------------------------------- choosing
@_stands_for(np.where)
def _where(condition: Any, x: Any, y: Any, /) -> Any:
    return call.where(condition, x, y)


@_stands_for(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return call.clamp(a, a_min if min is None else min, a_max if max is None else max)


@_stands_for(np.take)
def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    return call.take(a, indices, axis)


@_stands_for(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    return call.searchsorted(a, v, side=side)


@_stands_for(np.sort)
def _sort(a: Any, axis: int | None = -1, *, stable: bool | None = None) -> Any:
    return call.sort(call.reshape(a, (-1,)), 0)[0] if axis is None else call.sort(a, axis)[0]


@_stands_for(np.argsort)
def _argsort(a: Any, axis: int | None = -1, *, stable: bool | None = None) -> Any:
    return call.argsort(call.reshape(a, (-1,)), 0) if axis is None else call.argsort(a, axis)


@_stands_for(np.round)
def _round(a: Any, decimals: int = 0) -> Any:
    return call.round(a, decimals)


_stands_for(np.around)(_round)


@_stands_for(np.nan_to_num)
def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return call.nan_to_num(x, nan, posinf, neginf)


@_stands_for(np.isclose)
def _isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return call.isclose(a, b, rtol, atol, equal_nan)


_stands_for(np.take_along_axis)(lambda arr, indices, axis=-1: call.take_along_axis(arr, indices, axis))
_stands_for(np.tril)(lambda m, k=0: call.tril(m, k))
_stands_for(np.triu)(lambda m, k=0: call.triu(m, k))
_stands_for(np.diag)(lambda v, k=0: call.diag(v, k))
_stands_for(np.diagonal)(lambda a, offset=0, axis1=0, axis2=1: call.diagonal(a, offset, axis1, axis2))
_stands_for(np.sinc)(lambda x: call.sinc(x))
_stands_for(np.real)(lambda val: val)


# ---------------------------------------------------------------------------------------------------- joining
@_stands_for(np.concatenate)
def _concatenate(arrays: Sequence[Any], /, axis: int | None = 0, *, dtype: Any = None) -> Any:
    if axis is None:
        arrays, axis = [call.reshape(a, (-1,)) for a in arrays], 0
    return _cast(call.concat(arrays, axis), dtype)


_stands_for(np.concat)(_concatenate)


@_stands_for(np.stack)
def _stack(arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None) -> Any:
    return _cast(call.stack(arrays, axis), dtype)


@_stands_for(np.append)
def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    return _concatenate([arr, values], axis)


_stands_for(np.vstack)(lambda tup: call.vstack(tup))
_stands_for(np.hstack)(lambda tup: call.hstack(tup))
_stands_for(np.dstack)(lambda tup: call.dstack(tup))
_stands_for(np.column_stack)(lambda tup: call.column_stack(tup))


@_stands_for(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    n = ary.shape[normal_axis(axis, ary.ndim)]
    if isinstance(indices_or_sections, int) and n % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return list(call.tensor_split(ary, indices_or_sections, axis))


_stands_for(np.array_split)(lambda ary, parts, axis=0: list(call.tensor_split(ary, parts, axis)))


# ---------------------------------------------------------------------------------------------------- shapes
@_stands_for(np.reshape)
def _reshape(a: Any, /, shape: Any) -> Any:
    return call.reshape(a, shape)


@_stands_for(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    axes = range(np.ndim(m)) if axis is None else axis if isinstance(axis, Iterable) else (axis,)
    return call.flip(m, tuple(axes))


@_stands_for(np.tile)
def _tile(A: Any, reps: Any) -> Any:
    return call.tile(A, tuple(reps) if isinstance(reps, Iterable) else (reps,))


@_stands_for(np.repeat)
def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    return call.repeat_interleave(a, repeats, axis)


_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


@_stands_for(np.pad)
def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0) -> Any:
    if mode not in _MODES:
        raise TypeError(f"np.pad of a Tensor has the modes {', '.join(_MODES)}, not {mode!r}")
    pairs = np.broadcast_to(np.asarray(pad_width), (len(array.shape), 2)).tolist()
    padding = [int(n) for pair in reversed(pairs) for n in pair]
    if mode == "constant":
        return call.pad(array, padding, "constant", constant_values)
    return call.pad(array, padding, _MODES[mode])


_stands_for(np.ravel)(lambda a: call.reshape(a, (-1,)))
_stands_for(np.transpose)(lambda a, axes=None: call.transpose(a, axes))
_stands_for(np.permute_dims)(lambda a, axes=None: call.transpose(a, axes))
_stands_for(np.swapaxes)(lambda a, axis1, axis2: call.swapaxes(a, axis1, axis2))
_stands_for(np.moveaxis)(lambda a, source, destination: call.moveaxis(a, source, destination))
_stands_for(np.squeeze)(lambda a, axis=None: call.squeeze(a, axis))
_stands_for(np.expand_dims)(lambda a, axis: call.expand_dims(a, axis))
_stands_for(np.broadcast_to)(lambda array, shape: call.broadcast_to(array, shape))
_stands_for(np.fliplr)(lambda m: call.fliplr(m))
_stands_for(np.flipud)(lambda m: call.flipud(m))
_stands_for(np.roll)(lambda a, shift, axis=None: call.roll(a, shift, axis))
_stands_for(np.rot90)(lambda m, k=1, axes=(0, 1): call.rot90(m, k, axes))
_stands_for(np.meshgrid)(lambda *xi, indexing="xy": call.meshgrid(*xi, indexing=indexing))
_stands_for(np.copy)(lambda a: call.clone(a))
_stands_for(np.shape)(lambda a: tuple(a.shape))
_stands_for(np.ndim)(lambda a: len(a.shape))
_stands_for(np.size)(lambda a, axis=None: math.prod(a.shape) if axis is None else a.shape[normal_axis(axis, a.ndim)])


# ---------------------------------------------------------------------------------------------------- new arrays
_stands_for(np.zeros_like)(lambda a, dtype=None: call.zeros_like(a, dtype))
_stands_for(np.ones_like)(lambda a, dtype=None: call.ones_like(a, dtype))
_stands_for(np.full_like)(lambda a, fill_value, dtype=None: call.full_like(a, fill_value, dtype or a.dtype))


# ---------------------------------------------------------------------------------------------------- linear algebra
@_stands_for(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return call.norm(x, ord, axis, keepdims)


@_stands_for(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return call.svdvals(a)
    return call.svd(a, full_matrices=full_matrices)


@_stands_for(np.linalg.multi_dot)
def _multi_dot(arrays: Sequence[Any]) -> Any:
    product = arrays[0]
    for a in arrays[1:]:
        product = _dot(product, a)
    return product


_stands_for(np.linalg.det)(lambda a: call.det(a))
_stands_for(np.linalg.slogdet)(lambda a: call.slogdet(a))
_stands_for(np.linalg.inv)(lambda a: call.inverse(a))
_stands_for(np.linalg.pinv)(lambda a: call.pinv(a))
_stands_for(np.linalg.solve)(lambda a, b: call.solve(a, b))
_stands_for(np.linalg.cholesky)(lambda a, /: call.cholesky(a))
_stands_for(np.linalg.eigh)(lambda a: call.eigh(a))
_stands_for(np.linalg.eigvalsh)(lambda a: call.eigvalsh(a))
_stands_for(np.linalg.qr)(lambda a: call.qr(a))
_stands_for(np.linalg.svdvals)(lambda x, /: call.svdvals(x))
_stands_for(np.linalg.matrix_power)(lambda a, n: call.matrix_power(a, n))
_stands_for(np.linalg.matrix_transpose, np.matrix_transpose)(lambda x, /: call.swapaxes(x, -1, -2))
_stands_for(np.linalg.outer)(lambda x1, x2, /: _outer(x1, x2))
_stands_for(np.linalg.matmul)(lambda x1, x2, /: call.matmul(x1, x2))
_stands_for(np.linalg.vector_norm)(
    lambda x, /, *, axis=None, keepdims=False, ord=2: call.vector_norm(x, ord, axis, keepdims)
)
_stands_for(np.linalg.matrix_norm)(
    lambda x, /, *, keepdims=False, ord="fro": call.matrix_norm(x, ord, (-2, -1), keepdims)
)
