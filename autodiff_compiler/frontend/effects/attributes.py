"""Attributes of objects from outside that compiled code writes: state of the call, written back at its end.

The first write to an attribute makes an `AttributeVar`, which holds what the object held at the entry; from then on
every read asks it.  Branches join and loops carry it like a list.  A number at the entry is known at run time only,
since it would otherwise be another one at each call; it may have been read as a constant before, and then the function
is compiled once more with that knowledge.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import filterfalse
from typing import Any

from ...dtypes import DType
from ...errors import CompileError, SideEffectError
from ...ir.abstract import Abstract
from ...runtime.parameter import Parameter
from ...runtime.precision import viewed
from ...runtime.records import record_fields
from ...runtime.tensor import Tensor
from ..guards.objects import UNBOUND, class_attribute, is_changeable, own_attributes, plainly
from ..guards.outer_names import called, called_in_guards, is_outer, key_of
from ..guards.outside import Outside, here
from ..variables.changing import Aliased, is_aliased
from ..variables.lookup import no_state
from ..variables.structure import flatten, parts, rebuild
from ..variables.values import AttributeVar, Held, MaybeUnbound, describe, is_size, is_tensor, is_unbound
from .inputs import Again, Foreknown
from .outside_containers import OutsideContainers, held_in

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (bool, int, float, str, bytes, type(None), DType)
_ALLOWED = "Tensors, numbers, strings, None, and tuples, lists and dicts of them"


class Attributes:
    """The written attributes of one compilation."""

    def __init__(
        self, known: Foreknown, outside: Outside, containers: OutsideContainers, touch: Callable[[Any], None]
    ) -> None:
        self._known, self._outside, self._containers, self._touch = known, outside, containers, touch
        #: by the id of the object and the name
        self.slots: dict[tuple[int, str], AttributeVar] = {}
        #: those that blocks of the backward pass read as they are
        self.read_backward: set[tuple[int, str]] = set()

    def held_by(self, owner: Any, name: str) -> AttributeVar | None:
        """The written attribute of that name; None if compiled code only reads it."""
        if self._known.outer_names:  # those of a module, perhaps
            owner = self._known.outer_names.get(id(own_attributes(owner)), owner)
        key = (id(owner), name)
        slot = self.slots.get(key)
        return self.slot_of(owner, name) if slot is None and key in self._known.changing else slot

    def slot_of(self, owner: Any, name: str) -> AttributeVar:
        """An attribute that is going to be written, with what it holds."""
        owner = viewed(owner)
        key = (id(owner), name)
        slot = self.slots.get(key)
        if slot is None:
            if not is_outer(owner):
                _check_owner(owner, name)
            if ("attribute", key[0], "__dict__") in self._outside.guards:
                raise _refused(owner, name, "its `__dict__` is read, which would not show it")
            if key in self.read_backward:
                raise Again(replace(self._known, scouting=True))  # code of the backward pass must see what is written
            slot = self.slots[key] = AttributeVar(owner, name, self._entry(owner, name))
        return slot

    def is_written(self, owner: Any, name: str | None = None) -> bool:
        """Whether compiled code has written an attribute of that name, or (without a name) any, of an object."""
        return (id(owner), name) in self.slots if name is not None else any(key[0] == id(owner) for key in self.slots)

    def _entry(self, owner: Any, name: str) -> Any:
        """What the attribute holds when the call begins."""
        value = plainly(owner, name)
        if value is UNBOUND:
            return UNBOUND  # nobody reads it before it is written, so it does not matter whether it is there
        if isinstance(value, Parameter):
            raise _refused(owner, name, "it is a Parameter: use ops.assign")
        key = key_of(owner, name)
        if key in self._outside.guards and any(type(x) in (int, float) for x in _leaves(value)):
            raise Again(replace(self._known, changing=self._known.changing | {(id(owner), name)}))
        watched = getattr(type(owner), "__graph_state__", None) is not None  # setting one moves the epoch
        what = called_in_guards(owner, name)
        return self._opened(value, key, what, lambda: object.__getattribute__(owner, name), watched)

    def _opened(self, value: Any, key: tuple[Any, ...], what: str, fetch: Callable[[], Any], watched: bool) -> Any:
        """The abstract value of what was found there: numbers are known at run time only, also those in tuples."""
        if type(value) in (int, float):
            return self._outside.number(key, what, fetch, type(value), watched=watched)
        if type(value) is not tuple:
            return self._outside.read(value, key, what, fetch, watched=watched)

        def form() -> Any:
            now = fetch()
            return (type(now), len(now)) if isinstance(now, tuple) else type(now)

        self._outside.guard((*key, "form"), what, form, form())
        return tuple([
            self._opened(v, (*key, i), f"{what}[{i}]", lambda i=i: fetch()[i], watched)  # type: ignore[misc]
            for i, v in enumerate(value)
        ])  # fmt: skip

    def read(self, slot: AttributeVar) -> Any:
        """What a written attribute holds here; UNBOUND if it does not exist."""
        held = slot.held
        if isinstance(held, CompileError):
            raise held.again(here(), "read here")
        if held is not UNBOUND and is_unbound(held):
            raise held.error.again(here(), "read here") if held.error is not None else _only_sometimes(slot, held)
        return held

    def delete(self, owner: Any, name: str) -> None:
        """``del owner.name`` for an attribute of an object from outside."""
        owner = viewed(owner)
        cls = type(owner)
        if is_outer(owner):
            slot = self.slot_of(owner, name)
            if self.read(slot) is UNBOUND:
                raise NameError(f"name '{name}' is not defined")
            self._touch(slot)
            slot.held, slot.kept = UNBOUND, False
            return
        for method in ("__delattr__", "__getattr__"):
            if isinstance(class_attribute(cls, method), types.FunctionType) and not hasattr(cls, "__graph_state__"):
                raise _refused(owner, name, f"{cls.__name__} has a `{method}` of its own; set it to None")
        descriptor = class_attribute(cls, name)
        if descriptor is not None and type(descriptor).__name__ != "member_descriptor":
            raise _refused(owner, name, f"{cls.__name__} has it too; set it to None")
        slot = self.slot_of(owner, name)
        if self.read(slot) is UNBOUND:
            raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
        self._touch(slot)
        slot.held, slot.kept = UNBOUND, False

    def write(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value`` for an attribute that is no Parameter."""
        if self._containers.of_outside(value) is None:
            value = self._captured(value)
            _check_value(owner, name, value)
        slot = self.slot_of(owner, name)
        self._touch(slot)
        slot.held, slot.kept = value, value is slot.entry

    def check_elements(self, container: Any) -> None:
        """After the change of a container: refuses elements that one from outside cannot be given."""
        opened = self._containers.of_outside(container)
        if opened is None:
            return
        known = {id(x) for x in opened.elements(opened.entry)}
        for x in opened.elements(held_in(container)):
            if id(x) not in known and self._containers.of_outside(x) is None:
                for bad in filterfalse(_is_object, _not_kept(self._captured(x))):
                    raise _not_given(opened.what, bad)
        self._capture_in(container, known)

    def _captured(self, value: Any) -> Any:
        """The value with eager Tensors in it captured: `o.h + (x,)` holds both kinds."""
        for x in [*parts(value)]:
            if is_aliased(x):
                self._capture_in(x)
        return self._captured_leaf(value)

    def _capture_in(self, container: Aliased, known: Collection[int] = ()) -> None:
        """Captures the eager Tensors in a container, but for those whose ids are `known`."""
        for key, x in container.by_key():
            if id(x) not in known:
                container.put(key, self._captured_leaf(x))

    def _captured_leaf(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return self._outside.captured(x)
        if not isinstance(x, tuple):
            return x
        items = [self._captured_leaf(v) for v in x]
        return x if all(a is b for a, b in zip(x, items, strict=True)) else rebuild(x, items)

    def final(self) -> list[AttributeVar]:
        """The attributes that are written back at the exit; an error if one was assigned on some paths only."""
        changed = [slot for slot in self.slots.values() if slot.held is not slot.entry]
        for slot in changed:
            self.read(slot)
        return changed


def _check_owner(owner: Any, name: str) -> None:
    cls = type(owner)
    if isinstance(owner, type):
        raise no_state(describe(owner), name)
    if getattr(cls, "__graph_state__", None) is None:
        _check_plain(owner, name)
    else:
        setter = class_attribute(cls, "__setattr__")
        if setter is not object.__setattr__ and not setter.__module__.startswith(_PACKAGE + "."):
            raise _refused(owner, name, f"{cls.__name__} has a `__setattr__` of its own; return the value")
    descriptor = class_attribute(cls, name)
    if hasattr(type(descriptor), "__set__") and type(descriptor).__name__ != "member_descriptor":
        raise _refused(owner, name, f"it is a {type(descriptor).__name__} of {cls.__name__}")
    if getattr(type(plainly(owner, name)), "__graph_state__", None) is not None:
        raise _refused(owner, name, "it holds a Cell; decide between Cells with a static condition")


def _check_plain(owner: Any, name: str) -> None:
    """Refuses to write an attribute of an object that is no Cell, unless its class is an ordinary one of the user's."""
    cls = type(owner)
    known = cls.__module__.partition(".")[0] in sys.stdlib_module_names | {"numpy", "scipy", _PACKAGE}
    special = isinstance(owner, tuple | list | dict | set | frozenset | enum.Enum | BaseException)
    if cls is types.FunctionType:
        allowed = not name.startswith("__")
    else:
        allowed = cls is types.SimpleNamespace or not (known or special or record_fields(owner) is not None)
    if not allowed:
        raise no_state(describe(owner), name)
    if isinstance(class_attribute(cls, "__getattribute__"), types.FunctionType):
        raise _refused(owner, name, f"{cls.__name__} has a `__getattribute__` of its own; return the value")
    if plainly(owner, "__dict__") is UNBOUND and class_attribute(cls, name) is None:
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")


def _refused(owner: Any, name: str, hint: str) -> SideEffectError:
    if is_outer(owner):
        return SideEffectError(f"{called(owner, name)} cannot be assigned in compiled code", code="AC1601", hint=hint)
    return no_state(describe(owner), name, hint)


def _leaves(value: Any) -> Any:
    return flatten(value) if type(value) is tuple else (value,)


def _only_sometimes(slot: AttributeVar, held: MaybeUnbound) -> SideEffectError:
    if slot.entry is not UNBOUND:
        text = f"{slot.label} is deleted on some paths only"
        hint = "set it to None, or delete it on every path"
        return SideEffectError(text, code="AC1606", spans=((held.loc, ""),) if held.loc else (), hint=hint)
    before = "give it a value before the call" if is_outer(slot.owner) else "set it in __init__"
    return SideEffectError(
        f"{slot.label} does not exist before the call and is assigned on some paths only",
        code="AC1606",
        spans=((held.loc, "on the other path it gets no value"),) if held.loc else (),
        hint=f"assign it on every path, or {before}",
    )


def _check_value(owner: Any, name: str, value: Any) -> None:
    bad = next(_not_kept(value), None)
    if bad is not None:
        raise _not_given(called(owner, name) if is_outer(owner) else f"attribute '{name}' of a {describe(owner)}", bad)


def _not_given(what: str, value: Any) -> SideEffectError:
    if is_tensor(value):
        found, hint = "Parameter", "give it a copy: `w.copy()`"
    elif type(value) in (list, dict):
        found, hint = f"{describe(value)} that came from outside", "give it a copy: `held.copy()`"
    else:
        found, hint = describe(value), f"it may hold {_ALLOWED}"
    return SideEffectError(f"{what} cannot be given a {found} in compiled code", code="AC1606", hint=hint)


def _not_kept(value: Any) -> Iterator[Any]:
    """The parts of a value that objects from outside cannot be given."""
    for x in parts(value):
        plain = isinstance(x, tuple) or type(x) in _PLAIN or is_size(x)
        if not (x.outlives_call if isinstance(x, Abstract) else plain):
            yield x


def _is_object(x: Any) -> bool:
    """Whether something is an object of the user's that counts by identity: containers may be given those."""
    ours = type(x).__module__.partition(".")[0] == _PACKAGE
    plain = is_changeable(type(x)) and not ours and record_fields(x) is None and not isinstance(x, Iterable)
    return isinstance(x, type | types.FunctionType | types.MethodType | enum.Enum) or plain


def to_write(slot: AttributeVar) -> Any:
    """What is to be written back; beside it, if known only at run time, whether it is still the Tensor of the entry."""
    return slot.held if isinstance(slot.kept, bool) else Held(slot.held, slot.kept)
