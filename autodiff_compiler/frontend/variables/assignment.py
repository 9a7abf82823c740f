"""Assignments to elements, attributes and Parameters."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ...dtypes import promote, promote_scalar
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ir.build import current
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.types import known_same, same_shape, tensor
from ...runtime.parameter import Parameter
from ...runtime.precision import viewed
from ..guards.objects import class_attribute, definer, is_ours
from . import cells
from .arithmetic import kind_of_number
from .base import variable_of
from .interpreter import ValueContext
from .operators import attribute
from .precision import whole
from .requirements import check_bounds, is_jit_class
from .values import StateVar, TensorVar, describe, is_dynamic


def set_item(ctx: ValueContext, owner: Any, index: Any, value: Any) -> None:
    """``owner[index] = value``."""
    check_bounds(owner, index)
    variable_of(whole(owner)).setitem(ctx, index, value)


def set_attribute(ctx: ValueContext, owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``: a Parameter of a Cell is assigned, a property is set by its function."""
    variable_of(viewed(owner)).setattr(ctx, name, value)


def set_generic(ctx: ValueContext, owner: Any, name: str, value: Any) -> None:
    """What ``object.__setattr__(owner, name, value)`` does, and that of Cells."""
    cls = type(owner)
    static = class_attribute(cls, name)
    if isinstance(static, property) and isinstance(static.fset, FunctionType) and not is_ours(static.fset):
        ctx.outside.class_attribute(cls, name)
        ctx.call_python(static.fset, [owner, value], {}, (definer(cls, name), owner))
        return
    if cells.is_made(ctx, owner):
        cells.put(ctx, owner, name, value)
        return
    assigned = isinstance(getattr(owner, name, None), Parameter)
    assigned = assigned and not is_jit_class(cls) and is_ours(class_attribute(cls, "__setattr__"))
    replaced = value is None or isinstance(variable_of(value).identity(), Parameter)
    if assigned and not (replaced or ctx.effects.attributes.is_written(owner, name)):
        assign_state(ctx, attribute(ctx, owner, name), value)
    else:
        ctx.effects.attributes.write(owner, name, value)


def assign_state(ctx: ValueContext, state: StateVar | TensorVar, value: Any) -> None:
    """Writes a Parameter or Tensor as eager `assign` does: numbers fill, lower dtypes are cast, shapes must agree."""
    new, held = ctx.unwrap(value), state.type
    kind = kind_of_number(new)
    given = promote_scalar(held.dtype, kind) if kind else getattr(new, "dtype", None)
    if given is None:
        raise ArgumentError(f"cannot assign a {describe(value)} to {state!r}")
    if promote(held.dtype, given) is not held.dtype:
        raise DTypeError(f"{state!r} cannot be assigned {given.name}", hint="cast the value first")
    if kind:
        if is_dynamic(new):
            new = F.broadcast_to(F.cast(new.value, dtype=held.dtype), shape=held.shape)
        else:
            new = current().const(new, held)
    if not same_shape(new.shape, held.shape):
        raise ShapeError(f"{state!r} cannot be assigned a value of shape {list(new.shape)}")
    if type(new) is Value and not known_same(new.shape, held.shape):
        new = F.with_sizes(new, type=tensor(new.dtype, held.shape))
    new = new if new.type is held else F.cast(new, dtype=held.dtype)
    variable_of(state).overwrite(ctx, new)
