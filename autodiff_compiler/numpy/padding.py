"""`pad`: arrays with more elements at the borders of all their axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import int64
from ..ir.primitive import call, distinct
from ..ir.types import tensor
from ..ops.state import compiled_from_source
from ..primitives.family import cast, constant, in_dtype, is_tensor
from ..primitives.requirements import known_array, require, static_int
from .creation import linspace
from .indexing import apply_along_axis
from .operands import operand

_Function = Callable[..., Any]


@compiled_from_source
def pad(
    arr: Any,
    pad_width: Any,
    mode: Any = "constant",
    stat_length: Any = None,
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Any:
    """The array with `pad_width` more elements before and behind it along every axis, one axis after the other.

    Widths and values are one number, a pair for every axis, or a pair for each.  Modes: "constant"
    (`constant_values`), "edge", "linear_ramp" (to `end_values`), "maximum", "mean" and "minimum" (of the `stat_length`
    outermost elements), "reflect" and "symmetric" (with the `reflect_type` "odd" also turned over at the border),
    "wrap", "empty" (zeros), or a function ``f(vector, (before, behind), axis, kwargs)`` that returns a padded vector.
    ValueError: another mode.  NotImplementedError: "median".

    >>> from autodiff_compiler import numpy as np
    >>> np.pad(np.array([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """
    if not callable(mode):
        return _padded(operand(arr, "arr"), pad_width, mode, stat_length, constant_values, end_values, reflect_type)
    arr = operand(arr, "arr")
    widths = _pairs(pad_width, arr.ndim, "pad_width")
    arr = _padded(arr, pad_width, "empty", None, 0, 0, "even")
    for axis in range(arr.ndim):
        arr = apply_along_axis(mode, axis, arr, widths[axis], axis, kwargs)
    return arr


def _pairs(values: Any, ndim: int, parameter: str) -> list[tuple[Any, Any]]:
    """One (before, behind) pair of values per axis."""
    if is_tensor(values):
        values = known_array(values, parameter).tolist()
    try:
        pairs = np.broadcast_to(np.array(values, object), (ndim, 2))
    except ValueError:
        raise ValueError(f"`{parameter}` must be a number, a pair, or a pair for each of {ndim} axes") from None
    return [(before, behind) for before, behind in pairs]


def _padded(
    arr: Any, pad_width: Any, mode: str, stat_length: Any, constant_values: Any, end_values: Any, reflect_type: str
) -> Any:
    whole = arr
    if arr.ndim == 0:
        return distinct(arr, whole)
    if mode == "median":
        raise NotImplementedError("pad has no mode 'median'")
    if mode not in _MODES:
        raise ValueError(f"`mode` must be one of {', '.join(_MODES)}, or a function, not {mode!r}")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"`reflect_type` must be 'even' or 'odd', not {reflect_type!r}")
    options = {"constant": constant_values, "linear_ramp": end_values}.get(mode, stat_length)
    options = _pairs(options, arr.ndim, "values")
    for axis, pair in enumerate(_pairs(pad_width, arr.ndim, "pad_width")):
        before, behind = (static_int(n, "pad_width") for n in pair)
        require(before >= 0 and behind >= 0, f"widths must not be negative: {before}, {behind}")
        if mode in _FOLDED:
            arr = _folded(arr, axis, (before, behind), mode, reflect_type)
            continue
        made = [_border(arr, axis, n, mode, options[axis], i) for i, n in enumerate((before, behind)) if n]
        parts = [*made[: before > 0], arr, *made[before > 0 :]]
        arr = call.concat(parts, axis) if made else arr
    return distinct(arr, whole)


#: The modes that repeat elements of the array, and all modes.
_FOLDED = ("edge", "reflect", "symmetric", "wrap")
_MODES = ("constant", *_FOLDED, "linear_ramp", "maximum", "mean", "minimum", "empty")


def _folded(arr: Any, axis: int, widths: tuple[int, int], mode: str, reflect_type: str) -> Any:
    """Padding by elements of the array: NumPy pads their indices, or with "odd" the matrix of the linear map."""
    n = arr.shape[axis]
    kind: Any = mode  # one of NumPy's modes, too
    if reflect_type == "even" or mode in ("edge", "wrap"):
        places = np.pad(np.arange(n), widths, kind)
        return call.gather(arr, constant(places, tensor(int64, places.shape)), axis)
    makes = np.pad(np.eye(n), (widths, (0, 0)), kind, reflect_type="odd").astype(arr.dtype.numpy)
    matrix = constant(makes, tensor(arr.dtype, makes.shape))
    return call.moveaxis(call.tensordot(matrix, arr, ((1,), (axis,))), 0, axis)


def _border(arr: Any, axis: int, width: int, mode: str, options: tuple[Any, Any], behind: int) -> Any:
    """`width` elements for one end of an axis."""
    n, option = arr.shape[axis], options[behind]
    shape = tuple(width if i == axis else size for i, size in enumerate(arr.shape))
    if mode in ("constant", "empty"):
        value = in_dtype(option if mode == "constant" else 0, arr.dtype)
        return call.broadcast_to(value, shape)
    edge = call.narrow(arr, axis, n - 1 if behind else 0, 1)
    if mode == "linear_ramp":
        start = call.broadcast_to(in_dtype(option, arr.dtype), edge.shape)
        ramp = linspace(call.squeeze(start, axis), call.squeeze(edge, axis), width, False, dtype=arr.dtype, axis=axis)
        return call.flip(ramp, axis) if behind else ramp
    length = n if option is None else min(static_int(option, "stat_length"), n)
    outermost = call.narrow(arr, axis, n - length if behind else 0, length)
    name = {"maximum": "max", "minimum": "min", "mean": "mean"}[mode]
    return call.broadcast_to(cast(getattr(call, name)(outermost, axis, True), arr.dtype), shape)
