"""Attributes of objects from outside that compiled code writes: state of the call, written back at its end.

The first write to an attribute makes an `AttributeVar`, which holds what the object held at the entry; from then on
every read asks it.  Branches join and loops carry it like a list.  A number at the entry is known at run time only,
since it would otherwise be another one at each call; it may have been read as a constant before, and then the function
is compiled once more with that knowledge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..dtypes import DType
from ..errors import CompileError, SideEffectError
from ..runtime.parameter import Parameter
from ..runtime.precision import viewed
from .inputs import Again
from .lowering import Lowering
from .outside import class_attribute, plainly
from .values import (
    UNBOUND,
    AttributeVar,
    Held,
    LocalDict,
    LocalList,
    MaybeUnbound,
    StateVar,
    TensorVar,
    Weak,
    describe,
    elements,
    flatten,
)

__all__ = ["final_contents", "held_by", "no_state", "read", "slot_of", "to_write", "write"]

_PLAIN = (bool, int, float, str, bytes, type(None), DType)
_ALLOWED = "Tensors, numbers, strings, None, and tuples, lists and dicts of them"


def held_by(lw: Lowering, owner: Any, name: str) -> AttributeVar | None:
    """The written attribute of that name; None if compiled code only reads it."""
    key = (id(owner), name)
    slot = lw.attributes.get(key)
    return slot_of(lw, owner, name) if slot is None and key in lw.known.changing else slot


def slot_of(lw: Lowering, owner: Any, name: str) -> AttributeVar:
    """An attribute that is going to be written, with what it holds."""
    owner = viewed(owner)
    key = (id(owner), name)
    slot = lw.attributes.get(key)
    if slot is None:
        _check_owner(owner, name)
        if key in lw.read_backward:
            raise Again(replace(lw.known, scouting=True))  # code of the backward pass must see what is written
        slot = lw.attributes[key] = AttributeVar(owner, name, _entry(lw, owner, name))
    return slot


def _check_owner(owner: Any, name: str) -> None:
    cls = type(owner)
    if isinstance(owner, type) or getattr(cls, "__graph_state__", None) is None:
        raise no_state(describe(owner), name)
    setter = class_attribute(cls, "__setattr__")
    if setter is not object.__setattr__ and not setter.__module__.startswith(__name__.partition(".")[0] + "."):
        raise _refused(owner, name, f"{cls.__name__} has a `__setattr__` of its own; return the value")
    descriptor = class_attribute(cls, name)
    if hasattr(type(descriptor), "__set__") and type(descriptor).__name__ != "member_descriptor":
        raise _refused(owner, name, f"it is a {type(descriptor).__name__} of {cls.__name__}")
    if getattr(type(plainly(owner, name)), "__graph_state__", None) is not None:
        raise _refused(owner, name, "it holds a Cell; decide between Cells with a static condition")


def no_state(what: str, name: str, hint: str = "") -> SideEffectError:
    """The error for a write of an attribute that cannot be state; without a hint it is one of a plain object."""
    hint = hint or "make it an attribute of a Cell or of a jit_class object, or return the value"
    text = f"attribute '{name}' of a {what} cannot be written in compiled code"
    return SideEffectError(text, code="AC1606", hint=hint)


def _refused(owner: Any, name: str, hint: str) -> SideEffectError:
    return no_state(describe(owner), name, hint)


def _entry(lw: Lowering, owner: Any, name: str) -> Any:
    """What the attribute holds when the call begins."""
    value = plainly(owner, name)
    if value is UNBOUND:
        return UNBOUND  # nobody reads it before it is written, so it does not matter whether it is there
    if isinstance(value, Parameter):
        raise _refused(owner, name, "it is a Parameter: use ops.assign")
    key = ("attribute", id(owner), name)
    if key in lw.outside.guards and any(type(x) in (int, float) for x in _leaves(value)):
        raise Again(replace(lw.known, changing=lw.known.changing | {(id(owner), name)}))
    return _opened(lw, value, key, f"{type(owner).__name__}.{name}", lambda: object.__getattribute__(owner, name))


def _leaves(value: Any) -> Any:
    return flatten(value) if type(value) is tuple else (value,)


def _opened(lw: Lowering, value: Any, key: tuple[Any, ...], what: str, fetch: Callable[[], Any]) -> Any:
    """The abstract value of what was found there: numbers are known at run time only, also those in tuples."""
    if type(value) in (int, float):
        return lw.outside.number(key, what, fetch, type(value), watched=True)
    if type(value) is not tuple:
        return lw.outside.read(value, key, what, fetch, watched=True)

    def form() -> Any:
        now = fetch()
        return (type(now), len(now)) if isinstance(now, tuple) else type(now)

    lw.outside.guard((*key, "form"), what, form, form())
    return tuple([
        _opened(lw, v, (*key, i), f"{what}[{i}]", lambda i=i: fetch()[i])  # type: ignore[misc]
        for i, v in enumerate(value)
    ])  # fmt: skip


def read(lw: Lowering, slot: AttributeVar) -> Any:
    """What a written attribute holds here; UNBOUND if it does not exist."""
    held = slot.held
    if isinstance(held, CompileError):
        raise held.again(lw.here, "read here")
    if type(held) is MaybeUnbound:
        raise held.error.again(lw.here, "read here") if held.error is not None else _only_sometimes(slot, held)
    return held


def _only_sometimes(slot: AttributeVar, held: MaybeUnbound) -> SideEffectError:
    return SideEffectError(
        f"{slot.label} does not exist before the call and is assigned on some paths only",
        code="AC1606",
        spans=((held.loc, "on the other path it gets no value"),) if held.loc else (),
        hint="assign it on every path, or set it in __init__",
    )


def write(lw: Lowering, owner: Any, name: str, value: Any) -> None:
    """``owner.name = value`` for an attribute that is no Parameter."""
    _check_value(owner, name, value)
    slot = slot_of(lw, owner, name)
    lw.touch(slot)
    slot.held, slot.kept = value, value is slot.entry


def _check_value(owner: Any, name: str, value: Any) -> None:
    kind = type(value)
    if kind is TensorVar and value.snapshot is None:
        return
    if kind is Weak or kind in _PLAIN:
        return
    if isinstance(value, tuple | LocalList | LocalDict):
        for item in elements(value):
            _check_value(owner, name, item)
        return
    what = "Parameter" if kind is StateVar or kind is TensorVar else describe(value)
    raise SideEffectError(
        f"attribute '{name}' of a {describe(owner)} cannot be given a {what} in compiled code",
        code="AC1606",
        hint="give it a copy: `w.copy()`" if what == "Parameter" else f"it may hold {_ALLOWED}",
    )


def final_contents(lw: Lowering) -> list[tuple[Any, str, Any]]:
    """The attributes that are to be written back at the exit: owner, name and abstract content.

    What was assigned on some paths only is an error here.
    """
    changed = [slot for slot in lw.attributes.values() if slot.held is not slot.entry]
    for slot in changed:
        read(lw, slot)
    return [(slot.owner, slot.name, to_write(slot)) for slot in changed]


def to_write(slot: AttributeVar) -> Any:
    """What is to be written back; beside it, if known only at run time, whether it is still the Tensor of the entry."""
    return Held(slot.held, slot.kept) if type(slot.kept) is Weak else slot.held
