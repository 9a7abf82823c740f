"""Assignments to elements, attributes and Parameters."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from types import FunctionType
from typing import Any

from ...dtypes import promote, promote_scalar
from ...errors import ArgumentError, DTypeError, ShapeError, SideEffectError
from ...ir.build import current
from ...ir.primitive import METHODS, F
from ...runtime.parameter import Parameter
from ...runtime.precision import viewed
from ...runtime.records import record_fields
from ..guards import objects
from ..guards.objects import class_attribute, definer, is_written
from . import cells, operators, requirements
from .arithmetic import kind_of_number
from .classes import is_jit_class, put
from .interpreter import ValueContext
from .precision import whole
from .values import LocalList, LocalObject, StateVar, TensorVar, Weak, describe, is_dynamic

__all__ = ["assign_state", "set_attribute", "set_generic", "set_item"]


def set_item(lw: ValueContext, owner: Any, index: Any, value: Any) -> None:
    """``owner[index] = value``."""
    owner = whole(owner)
    if type(owner) in (TensorVar, StateVar, LocalList):
        index = requirements.settled_index(lw, index)
    if type(owner) is TensorVar:
        lw.effects.check_writable(owner)
        lw.effects.write(owner, METHODS["__setitem__"](owner.value, lw.unwrap(index), lw.unwrap(value)))
        return
    if type(owner) is StateVar:
        current = lw.unwrap(owner)
        lw.effects.snapshots.note_write(owner.name)
        F.state_write(
            METHODS["__setitem__"](current, lw.unwrap(index), lw.unwrap(value)), state=owner.name, type=owner.type
        )
        return
    method = requirements.python_method(lw, owner, "__setitem__")
    if method is not None:
        lw.call_python(method, [owner, index, value], {})
        return
    if cells.is_made(lw, owner):
        cells.set_item(lw, owner, index, value)
        return
    requirements.check_local(lw, owner)
    if isinstance(owner, list):
        index = requirements.element_index(lw, index)
    code = "AC1305" if isinstance(owner, list) else None
    requirements.require_static(index, "an index into a Python container", code)
    lw.effects.change(owner)
    owner[index] = value
    lw.effects.containers.note_assigned(owner, index)
    lw.effects.attributes.check_elements(owner)


def _is_frozen(owner: Any, name: str) -> bool:
    """Whether the `__setattr__` that `dataclasses` made refuses the assignment of an attribute."""
    setter: Any = class_attribute(type(owner), "__setattr__")
    fields = record_fields(owner)
    if fields is None or not isinstance(setter, FunctionType):
        return False
    made = requirements.is_generated(owner, setter) or objects.is_ours(setter)
    return made and (name in fields or "__dataclass_params__" in vars(type(owner)))


def set_attribute(lw: ValueContext, owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``: a Parameter of a Cell is assigned, a property is set by its function."""
    owner = viewed(owner)
    if type(owner) is LocalObject:
        put(lw, owner, name, value)
        return
    if type(owner) is StateVar:
        raise SideEffectError(
            f"attribute '{name}' of a Parameter cannot be written in compiled code",
            code="AC1606",
            hint="set it outside of compiled code",
        )
    if is_dynamic(owner):
        kind = owner.kind.__name__ if type(owner) is Weak else "Tensor"
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")
    cls = type(owner)
    if _is_frozen(owner, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    setter = class_attribute(cls, "__setattr__")
    if is_written(setter) and not hasattr(cls, "__graph_state__") and not isinstance(owner, type):
        lw.outside.class_attribute(cls, "__setattr__")
        lw.call_python(setter, [owner, name, value], {}, (definer(cls, "__setattr__"), owner))
        return
    set_generic(lw, owner, name, value)


def set_generic(lw: ValueContext, owner: Any, name: str, value: Any) -> None:
    """What ``object.__setattr__(owner, name, value)`` does, and that of Cells."""
    cls = type(owner)
    static = class_attribute(cls, name)
    if isinstance(static, property) and isinstance(static.fset, FunctionType) and not objects.is_ours(static.fset):
        lw.outside.class_attribute(cls, name)
        defining = next(c for c in cls.__mro__ if name in c.__dict__)
        lw.call_python(static.fset, [owner, value], {}, (defining, owner))
        return
    if cells.is_made(lw, owner):
        cells.put(lw, owner, name, value)
        return
    assigned = isinstance(getattr(owner, name, None), Parameter)
    assigned = assigned and not is_jit_class(cls) and objects.is_ours(class_attribute(cls, "__setattr__"))
    if assigned and not (value is None or type(value) is StateVar or lw.effects.attributes.is_written(owner, name)):
        assign_state(lw, operators.attribute(lw, owner, name), value)
    else:
        lw.effects.attributes.write(owner, name, value)


def assign_state(lw: ValueContext, state: StateVar | TensorVar, value: Any) -> None:
    """Writes a Parameter or Tensor as eager `assign` does: numbers fill, lower dtypes are cast, shapes must agree."""
    new, held = lw.unwrap(value), state.type
    kind = kind_of_number(new)
    given = promote_scalar(held.dtype, kind) if kind else getattr(new, "dtype", None)
    if given is None:
        raise ArgumentError(f"cannot assign a {describe(value)} to {state!r}")
    if promote(held.dtype, given) is not held.dtype:
        raise DTypeError(f"{state!r} cannot be assigned {given.name}", hint="cast the value first")
    if type(new) is Weak:
        new = F.broadcast_to(F.cast(new.value, dtype=held.dtype), shape=held.shape)
    elif kind:
        new = current().const(new, held)
    if new.shape != held.shape:
        raise ShapeError(f"{state!r} cannot be assigned a value of shape {list(new.shape)}")
    new = new if new.type is held else F.cast(new, dtype=held.dtype)
    if isinstance(state, TensorVar):
        lw.effects.write(state, new)
        return
    lw.effects.snapshots.note_write(state.name)
    F.state_write(new, state=state.name, type=held)
