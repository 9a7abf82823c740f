"""Cells that compute in another float type (`to_float`), in compiled code: see `runtime.precision`."""

from __future__ import annotations

import types
from typing import Any

from ...dtypes import DType
from ...ir.primitive import F
from ...runtime.parameter import ParameterTuple
from ...runtime.precision import child_view, has_other_floats, view_of, viewed
from ..guards.objects import class_attribute, is_ours, is_watched
from .interpreter import ValueContext
from .structure import flatten, map_leaves
from .values import TensorVar, is_box, is_tensor

_LOCKED = "to_float has cast"


def enter(
    ctx: ValueContext, cell: Any, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], dict[str, Any]]:
    """The `self` that a Cell computes with, and its arguments as it sees them."""
    dtype = _guard(ctx, cell)
    if dtype is None:
        return cell, args, kwargs
    seen = [_in_dtype(ctx, x, dtype) for x in args]
    return view_of(cell, dtype), seen, {k: _in_dtype(ctx, x, dtype) for k, x in kwargs.items()}


def read(ctx: ValueContext, view: Any, name: str) -> Any:
    """``self.name`` in a Cell that computes in another float type."""
    owner, dtype = viewed(view), view._dtype
    static = class_attribute(type(owner), name)
    if isinstance(static, property) and isinstance(static.fget, types.FunctionType) and not is_ours(static.fget):
        ctx.outside.class_attribute(type(owner), name)
        defining = next(c for c in type(owner).__mro__ if name in c.__dict__)
        return _in_dtype(ctx, ctx.call_python(static.fget, [view], {}, (defining, view)), dtype)
    found = ctx.call(getattr, [owner, name], {})
    if isinstance(found, types.MethodType) and found.__self__ is owner:
        return types.MethodType(found.__func__, view)
    if isinstance(found, ParameterTuple) or (type(found) is tuple and name in owner.__dict__):
        found = tuple([ctx.outside.item(found, i, x) for i, x in enumerate(found)])
    if is_watched(type(found)):
        _guard(ctx, found)
        return child_view(found)
    return found if isinstance(found, list | dict) else _in_dtype(ctx, found, dtype)


def _guard(ctx: ValueContext, cell: Any) -> Any:
    """The float type of a Cell, watched."""
    dtype = getattr(cell, "_precision", None)
    what = f"to_float of {type(cell).__name__}"
    ctx.outside.guard(("to_float", id(cell)), what, lambda: getattr(cell, "_precision", None), dtype, watched=True)
    return dtype


def _in_dtype(ctx: ValueContext, x: Any, dtype: DType) -> Any:
    def other(v: Any) -> bool:
        return is_tensor(v) and has_other_floats(v.type, dtype)

    def leaf(v: Any) -> Any:
        source = None if is_box(v) else v
        return TensorVar(F.cast(ctx.unwrap(v), dtype=dtype), _LOCKED, source=source) if other(v) else v

    return map_leaves(leaf, x) if any(map(other, flatten(x))) else x


def whole(x: Any) -> Any:
    """The Parameter that a cast Tensor was made of, to be written; everything else itself."""
    return x.source if is_box(x) and is_tensor(x.source) else x
