"""Elements chosen by indices or conditions, and functions applied to slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from ..dtypes import bool_
from ..ir.primitive import call
from ..keywords import answering, refuse_unknown
from ..ops.state import compiled_from_source
from ..primitives.family import broadcast_shapes, broadcast_to, cast, in_dtype, is_tensor, normal_axis
from ..primitives.requirements import require
from .operands import given_tensor, operand, together
from .shapes import stack

_Function = Callable[..., Any]


@answering
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip", **unknown: Never) -> Any:
    """The slices at `indices` along an axis, or elements of the flat array.

    Indices out of range are clipped ("clip"; negative ones to 0), or wrapped ("wrap").

    >>> from autodiff_compiler import numpy as np
    >>> np.take(np.array([4, 3, 5]), np.array([0, 2, 9])).tolist()
    [4, 5, 5]
    """
    if unknown:
        refuse_unknown(take, unknown)
    if mode == "raise":
        raise NotImplementedError("take has the modes 'clip' and 'wrap'")
    return call.take(given_tensor(a, "a"), given_tensor(indices, "indices"), axis, mode)


@answering
def take_along_axis(arr: Any, indices: Any, axis: int | None, **unknown: Never) -> Any:
    """Elements by position along an axis: for axis 0, ``result[i, j] = arr[indices[i, j], j]``; the others broadcast.

    >>> from autodiff_compiler import numpy as np
    >>> np.take_along_axis(np.array([[4, 3], [5, 9]]), np.array([[1], [0]]), 1).tolist()
    [[3], [5]]
    """
    if unknown:
        refuse_unknown(take_along_axis, unknown)
    arr, indices = given_tensor(arr, "arr"), given_tensor(indices, "indices")
    arr, axis = (call.reshape(arr, (-1,)), 0) if axis is None else (arr, axis)
    require(arr.ndim == indices.ndim, f"`indices` needs {arr.ndim} dimensions, not {indices.ndim}")
    place = normal_axis(axis, arr.ndim)
    others = [tuple(1 if i == arr.ndim + place else n for i, n in enumerate(x.shape)) for x in (arr, indices)]
    shape = broadcast_shapes(others, "array and indices")

    def along(x: Any) -> Any:
        return broadcast_to(x, tuple(x.shape[place] if i == arr.ndim + place else n for i, n in enumerate(shape)))

    return call.take_along_axis(along(arr), along(indices), place)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """The elements of `x` where the condition holds, else those of `y`, in their common dtype.

    TypeError: x and y are not both given.

    >>> from autodiff_compiler import numpy as np
    >>> np.where(np.array([True, False]), 1, 2).tolist()
    [1, 2]
    """
    if x is None or y is None:
        raise TypeError("where needs `x` and `y`; `argwhere` gives the places where a condition holds")
    x, y = together(x, y)
    return call.where(cast(operand(condition, "condition"), bool_), x, y)


def choose(a: Any, choices: Any, mode: str = "clip") -> Any:
    """``result[i] = choices[a[i]][i]``: elements of several arrays; all are broadcast to one shape.

    Numbers out of range are clipped ("clip") or wrapped ("wrap").  ValueError: `a` is not of ints.

    >>> from autodiff_compiler import numpy as np
    >>> np.choose(np.array([1, 0]), [[1, 2], [10, 20]]).tolist()
    [10, 2]
    """
    if mode == "raise":
        raise NotImplementedError("choose has the modes 'clip' and 'wrap'")
    a = operand(a, "a")
    require(a.dtype.is_int, f"`a` must be whole numbers, not {a.dtype.name}")
    given = list(choices) if isinstance(choices, tuple | list) else list(call.unbind(operand(choices), 0))
    return call.choose(a, together(*given), mode)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The elements of the first choice whose condition holds, else `default`.

    ValueError: single numbers, or not as many choices as conditions.

    >>> from autodiff_compiler import numpy as np
    >>> np.select([[True, False, False], [True, True, False]], [[1, 2, 3], [4, 5, 6]]).tolist()
    [1, 5, 0]
    """
    conditions, choices = _rows(condlist), together(*_rows(choicelist))
    require(len(conditions) == len(choices), f"{len(conditions)} conditions need as many choices, not {len(choices)}")
    shape = broadcast_shapes([x.shape for x in (*conditions, *choices)], "conditions and choices")
    found = cast(operand(default), choices[0].dtype) if is_tensor(default) else in_dtype(default, choices[0].dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = call.where(cast(condition, bool_), choice, found)
    return broadcast_to(found, shape)


def _rows(x: Any) -> list[Any]:
    if isinstance(x, tuple | list):
        return [operand(y) for y in x]
    x = operand(x)
    require(x.ndim > 0, "conditions and choices are several arrays, not a single number")
    return list(call.unbind(x, 0))


# ------------------------------------------------------------------------------------------------ functions
@compiled_from_source
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """`select` among functions of the array, or among values: one for each condition, and maybe one for the rest.

    The functions get the whole array and the further arguments.  ValueError: another number of functions.

    >>> from autodiff_compiler import numpy as np
    >>> x = np.array([-2.0, 3.0])
    >>> np.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x * 10]).tolist()
    [2.0, 30.0]
    """
    choices = []
    for f in funclist:
        choices.append(f(x, *args, **kw) if callable(f) else f)
    conditions = _condition_list(condlist)
    if len(choices) == len(conditions):
        choices.append(0)
    if len(choices) != len(conditions) + 1:
        raise ValueError(f"{len(conditions)} conditions need as many functions, or one more, not {len(funclist)}")
    return _pieces(conditions, choices)


def _condition_list(condlist: Any) -> list[Any]:
    if isinstance(condlist, tuple | list) and any(is_tensor(c) or isinstance(c, tuple | list) for c in condlist):
        return [operand(c) for c in condlist]
    condlist = operand(condlist)
    return list(call.unbind(condlist, 0)) if condlist.ndim > 1 else [condlist]


def _pieces(conditions: list[Any], choices: list[Any]) -> Any:
    *pieces, default = together(*choices)
    return select(conditions, pieces, default)


@compiled_from_source
def apply_along_axis(func1d: _Function, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function applied to all vectors along an axis; what it returns takes the place of that axis.

    >>> from autodiff_compiler import numpy as np
    >>> np.apply_along_axis(lambda v: v.max() - v.min(), 1, np.array([[1, 5], [4, 2]])).tolist()
    [4, 2]
    """
    results = []
    for row in _vectors(arr, axis):
        results.append(func1d(row, *args, **kwargs))
    return _together_again(results, arr, axis)


def _vectors(arr: Any, axis: int) -> list[Any]:
    last = call.moveaxis(given_tensor(arr, "arr"), axis, -1)
    return list(call.unbind(call.reshape(last, (-1, last.shape[-1])), 0))


def _together_again(results: list[Any], arr: Any, axis: int) -> Any:
    n, found = arr.ndim, stack(results)
    place = normal_axis(axis, n) + n
    others = (*arr.shape[:place], *arr.shape[place + 1 :])
    new = found.ndim - 1
    found = call.reshape(found, (*others, *found.shape[1:]))
    return call.moveaxis(found, tuple(range(n - 1, n - 1 + new)), tuple(range(place, place + new))) if new else found


@compiled_from_source
def apply_over_axes(func: _Function, a: Any, axes: Any) -> Any:
    """A function ``func(a, axis=axis)`` applied for one axis after the other; dimensions that it removes are restored.

    >>> from autodiff_compiler import numpy as np
    >>> np.apply_over_axes(np.sum, np.ones((2, 3, 4)), [0, 2]).tolist()
    [[[8.0], [8.0], [8.0]]]
    """
    found = operand(a, "a")
    n = found.ndim
    for axis in (axes,) if isinstance(axes, int) else axes:
        found = _of_as_many(func(found, axis=axis), axis, n)
    return found


def _of_as_many(x: Any, axis: int, ndim: int) -> Any:
    x = x if x.ndim == ndim else call.expand_dims(x, axis)
    require(x.ndim == ndim, f"the function must keep the axis or take it away, not return {x.ndim} dimensions")
    return x


def array_str(a: Any) -> str:
    """The text of an array, as `print` shows it.

    >>> from autodiff_compiler import numpy as np
    >>> np.array_str(np.arange(3))
    '[0 1 2]'
    """
    return str(given_tensor(a, "a"))


array_str.__graph_call__ = lambda ctx, args, kwargs: ctx.call(str, args, kwargs)  # type: ignore[attr-defined]
