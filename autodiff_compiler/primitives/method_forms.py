"""Tensor methods that take their arguments in two forms, as MindSpore's do: ``axis, keepdims`` and ``dim, keepdim``.

The names of one form stand for those of the other.  Where the forms differ in more than names, the kind of the first
argument or a name of the second form decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..config import check_device
from ..dtypes import DType, dtype_of, int32
from ..ir.primitive import METHODS, call, distinct
from ..ir.types import dim_product
from .family import all_if_none, as_tensor, cast
from .requirements import require, static_int

__all__: list[str] = []

_Method = Callable[..., Any]
_PLAIN = dict(METHODS)


def _static(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


# ------------------------------------------------------------------------------------------------ names of one meaning
_DIM = {"dim": "axis"}
_DIM_KEEP = {"dim": "axis", "keepdim": "keepdims", "correction": "ddof"}

#: Methods whose forms differ in names only: the further names, and what they stand for.
_NAMES: dict[str, dict[str, str]] = {
    **dict.fromkeys(("chunk", "index_fill", "index_select", "narrow", "scatter", "unsqueeze"), _DIM),
    **dict.fromkeys(("all", "any", "logsumexp", "median", "nansum", "prod", "std", "var"), _DIM_KEEP),
    "diag": {"diagonal": "k"},
    "expand_as": {"x": "other"},
    "isclose": {"x2": "y", "other": "y"},
    "matmul": {"tensor2": "b"},
    "mm": {"mat2": "b"},
    "mul": {"other": "y"},
    "outer": {"vec2": "b"},
    "pow": {"exponent": "y"},
    "remainder": {"divisor": "y", "other": "y"},
    "split": {"split_size": "split_size_or_sections", "dim": "axis"},
    "squeeze": _DIM,
}


def _renaming(name: str, names: dict[str, str]) -> _Method:
    plain = _PLAIN[name]

    @functools.wraps(plain)
    def method(tensor: Any, /, *args: Any, **named: Any) -> Any:
        return plain(tensor, *args, **(_renamed(name, named, names) if named else named))

    method.__name__ = method.__qualname__ = name
    return method


def _renamed(method: str, named: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in named.items():
        key = names.get(key, key)
        if key in out:
            raise TypeError(f"{method}() got multiple values for argument {key!r}")
        out[key] = value
    return out


# ------------------------------------------------------------------------------------------------ reductions
def _extreme(name: str) -> _Method:
    plain = _PLAIN[name]

    def method(
        x: Any, /, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = True,
        return_indices: bool = False, **second: Any,
    ) -> Any:  # fmt: skip
        where = None if where is True else where
        if not second:
            return plain(x, all_if_none(axis), keepdims, initial=initial, where=where, return_indices=return_indices)
        strange = [key for key in second if key not in ("dim", "keepdim")]
        if strange:
            raise TypeError(f"{name}() got an unexpected keyword argument {strange[0]!r}")
        if return_indices or initial is not None or where is not None:
            raise TypeError(f"{name}() takes no initial, where or return_indices beside `dim`")
        return plain(x, second.get("dim", axis), second.get("keepdim", keepdims), return_indices=True)

    def either(x: Any, /, *args: Any, **named: Any) -> Any:
        # A bare int is a `dim`: the extremes along it, and where they are.
        if args and _static(args[0]) and not named.keys() & {"keepdims", "initial", "where", "return_indices"}:
            return method(x, **dict(zip(("dim", "keepdim"), args, strict=False)), **named)
        return method(x, *args, **named)

    either.__doc__ = (
        f"The {name}imum, over all elements or over an `axis` (an int or a tuple, by name).\n\n"
        "With `dim`, also as a bare int, a pair: the extremes along it and their places."
    )
    return either


def _sum(
    x: Any, /, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, **second: Any
) -> Any:
    if isinstance(dtype, bool):  # the second argument of the other form
        dtype, keepdims = None, dtype
    if "dim" in second and axis is not None:
        raise TypeError("sum() got multiple values for argument 'axis'")
    axis, keepdims = second.pop("dim", axis), second.pop("keepdim", keepdims)
    if second:
        raise TypeError(f"sum() got an unexpected keyword argument {next(iter(second))!r}")
    total = _PLAIN["sum"](x, all_if_none(axis), dtype, keepdims)
    return total if initial is None else call.add(total, initial)


def _place(name: str) -> _Method:
    def method(x: Any, /, *args: Any, **named: Any) -> Any:
        return _along(x, *args, **_renamed(name, named, _DIM_KEEP))

    def _along(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return _PLAIN[name](x, axis, keepdims and axis is not None)  # without an axis one number

    return method


def _mean(
    x: Any, /, axis: Any = None, keep_dims: bool = False, *, dtype: Any = None, dim: Any = None, keepdim: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The mean over axes; that of integers is the integer next to it towards 0, unless a `dtype` is asked for."""
    x = as_tensor(x) if dtype is None else cast(x, dtype_of(dtype))
    axis, keep = all_if_none(axis if dim is None else dim), keep_dims or keepdim or keepdims
    if not x.dtype.is_int:
        return _PLAIN["mean"](x, axis, keep)
    total = _PLAIN["sum"](x, axis, None, keep)
    number = static_int(dim_product(x.shape), "size") // max(static_int(dim_product(total.shape), "size"), 1)
    require(number > 0, f"no mean of no integers: {list(x.shape)}")
    wide = cast(x, total.dtype)  # the sum itself may overflow: quotients and remainders are summed separately
    rest = _PLAIN["sum"](call.mod(wide, number), axis, None, keep)
    floor = call.add(_PLAIN["sum"](call.floordiv(wide, number), axis, None, keep), call.floordiv(rest, number))
    up = call.logical_and(call.less(floor, 0), call.not_equal(call.mod(rest, number), 0))
    return cast(call.add(floor, cast(up, floor.dtype)), x.dtype)


def _count_nonzero(
    x: Any, /, axis: Any = (), keep_dims: bool = False, dtype: Any = None, *, dim: Any = (), keepdims: bool = False
) -> Any:
    axis = all_if_none(axis if isinstance(dim, tuple) and dim == () else dim)
    return _PLAIN["count_nonzero"](x, axis, keep_dims or keepdims, int32 if dtype is None else dtype)


def _cumsum(x: Any, /, axis: Any = None, dtype: Any = None, *, dim: Any = None, **flags: Any) -> Any:
    axis = axis if dim is None else dim
    if axis is None:  # all elements, one after the other
        x, axis = call.reshape(x, (-1,)), 0
    return _PLAIN["cumsum"](x, axis, dtype, **flags)


def _sorting(name: str) -> _Method:
    def method(
        x: Any, /, axis: int = -1, descending: bool = False, stable: bool = False, *, dim: int | None = None
    ) -> Any:  # every sort here is stable
        return _PLAIN[name](x, axis if dim is None else dim, descending)

    return method


# ------------------------------------------------------------------------------------------------ arithmetic
def _scaled(other: Any, alpha: Any) -> Any:
    return other if type(alpha) is int and alpha == 1 else call.mul(other, alpha)


def _sub(x: Any, /, *args: Any, alpha: Any = 1, **named: Any) -> Any:
    named = _renamed("sub", named, {"y": "other"})
    return _of_second("sub", ("other",), args, named, lambda other: call.sub(x, _scaled(other, alpha)))


def _div(x: Any, /, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return call.floordiv(x, other)
    if rounding_mode not in (None, "trunc"):
        raise ValueError(f"rounding_mode must be None, 'floor' or 'trunc', not {rounding_mode!r}")
    quotient = call.div(x, other)
    return quotient if rounding_mode is None else _truncated(x, other, quotient)


def _truncated(x: Any, other: Any, quotient: Any) -> Any:
    floor = call.floordiv(x, other)
    if floor.dtype.is_float:
        return call.trunc(quotient)
    rest = call.sub(x, call.mul(floor, other))
    up = call.logical_and(call.less(floor, 0), call.not_equal(rest, 0))
    return call.add(floor, cast(up, floor.dtype))


# ------------------------------------------------------------------------------------------------ places and shapes
def _gather(x: Any, /, *args: Any, **named: Any) -> Any:
    if "index" in named or "dim" in named or (args and _static(args[0])):
        names, along = ("dim", "index"), call.gather_elements
        return _of_second("gather", names, args, named, lambda dim, index: along(x, dim, index))
    return _PLAIN["gather"](x, *args, **_renamed("gather", named, {"input_indices": "index"}))


def _select(x: Any, /, *args: Any, **named: Any) -> Any:
    if named.keys() & {"condition", "y"}:
        return _of_second("select", ("condition", "y"), args, named, lambda condition, y: call.where(condition, x, y))
    return _of_second("select", ("dim", "index"), args, named, lambda dim, index: _PLAIN["select"](x, dim, index))


def _of_second(name: str, names: tuple[str, ...], args: Any, named: Any, run: _Method) -> Any:
    """Calls `run` with arguments of these names, given by place or by name."""
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(given) != len(args) + len(named) or set(given) != set(names):
        raise TypeError(f"{name}() takes {' and '.join(names)} here")
    return run(**given)


def _take(x: Any, /, indices: Any = None, axis: Any = None, mode: str = "clip", *, index: Any = None) -> Any:
    if (indices is None) is (index is None):
        raise TypeError("take() takes `indices` or `index`")
    return _PLAIN["take"](x, index if indices is None else indices, axis, mode)


def _transpose(x: Any, /, *axes: Any, **named: Any) -> Any:
    """All axes anew; two bare ints, or `dim0` and `dim1`, are exchanged."""
    if named.keys() & {"dim0", "dim1"}:
        return _of_second("transpose", ("dim0", "dim1"), axes, named, lambda dim0, dim1: call.swapaxes(x, dim0, dim1))
    if len(axes) == 2 and _static(axes[0]) and not named:
        return call.swapaxes(x, *axes)
    return _permute(x, *axes, **named)


def _permute(x: Any, /, *axes: Any, **named: Any) -> Any:
    for key in ("axes", "axis", "dims"):
        if key in named and not axes:
            axes = (named.pop(key),)
    return _PLAIN["transpose"](x, *axes, **named)


def _flatten(x: Any, /, order: Any = "C", end_dim: int = -1, *, start_dim: int = 0) -> Any:
    if _static(order):
        order, start_dim = "C", order
    return _PLAIN["flatten"](x, order, start_dim=start_dim, end_dim=end_dim)


def _given(name: str, *keys: str) -> _Method:
    """The method with its sizes also by these names."""

    def method(x: Any, /, *sizes: Any, **named: Any) -> Any:
        key = next((key for key in keys if key in named), None)
        if key is not None and not sizes:
            sizes = (named.pop(key),)
        return _PLAIN[name](x, *sizes, **named)

    return method


def _view(x: Any, /, *shape: Any, dtype: Any = None) -> Any:
    """Another shape, or the bits of the elements as another dtype."""
    if dtype is None and len(shape) == 1 and isinstance(shape[0], DType):
        (dtype,), shape = shape, ()
    if dtype is None:
        return _PLAIN["view"](x, *shape)
    if shape:
        raise TypeError("view() takes a shape or a dtype")
    return call.bitcast(x, dtype)


def _new_empty(x: Any, /, *size: Any, dtype: Any = None, device: str | None = None, **named: Any) -> Any:
    if device is not None:
        check_device(device)
    return _given("new_empty", "size")(x, *size, dtype=dtype, **named)


def _to(x: Any, /, *args: Any, **named: Any) -> Any:
    """In the dtype given, or that of another tensor; a device can be the "CPU"."""
    device: Any = None
    names: tuple[str, ...] = ("dtype", "non_blocking", "copy")
    first = args[0] if args else named.get("device")
    if isinstance(first, str) and first.lower() in ("cpu", "gpu", "ascend", "npu"):
        names, device = ("device", *names), first
    elif args and not isinstance(first, DType | type | str) and hasattr(first, "dtype"):
        names = ("other", *names[1:])
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(args) > len(names) or not set(given) <= {"dtype", "device", "other", "non_blocking", "copy"}:
        raise TypeError(f"to() takes {', '.join(names)} here")
    if device is not None:
        check_device(device)
    wanted = given["other"].dtype if "other" in given else given.get("dtype")
    out = as_tensor(x) if wanted is None else cast(x, dtype_of(wanted))
    return call.clone(out) if given.get("copy") else distinct(out, x)


def _repeat_interleave(x: Any, /, repeats: Any, dim: Any = None, *, output_size: int | None = None) -> Any:
    return _PLAIN["repeat_interleave"](x, repeats, dim)  # the size follows from `repeats`


_METHODS: dict[str, _Method] = {name: _renaming(name, names) for name, names in _NAMES.items()} | {
    "add": lambda x, /, other, *, alpha=1: call.add(x, _scaled(other, alpha)),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
    "argsort": _sorting("argsort"),
    "count_nonzero": _count_nonzero,
    "cumsum": _cumsum,
    "div": _div,
    "divide": _div,
    "flatten": _flatten,
    "gather": _gather,
    "max": _extreme("max"),
    "mean": _mean,
    "min": _extreme("min"),
    "new_empty": _new_empty,
    "new_ones": _given("new_ones", "size"),
    "new_zeros": _given("new_zeros", "size"),
    "permute": _permute,
    "repeat": _given("repeat", "repeats"),
    "repeat_interleave": _repeat_interleave,
    "select": _select,
    "sort": _sorting("sort"),
    "sub": _sub,
    "subtract": _sub,
    "sum": _sum,
    "take": _take,
    "tile": _given("tile", "dims", "reps"),
    "to": _to,
    "transpose": _transpose,
    "view": _view,
}
for _name, _method in _METHODS.items():
    _method.__name__ = _method.__qualname__ = _name
    _method.__doc__ = _method.__doc__ or _PLAIN[_name].__doc__
    METHODS[_name] = _method
