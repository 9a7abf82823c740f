"""What compiled code finds outside of itself: globals, closures, attributes.

Every such read leaves a guard, so that a later change is seen at the next call; Tensors become inputs of the compiled
function (fetched anew at each call), Parameters become state.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import SideEffectError
from ..ir.core import Module, StateInfo
from ..ir.primitive import trace
from ..ir.types import TensorType, tensor
from ..runtime.mutable import Mutable, kind_of
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor, wrap
from ..source import Loc
from .guards import (
    AnyGuard,
    Content,
    FunctionGuard,
    Guard,
    LookupGuard,
    class_attribute,
    content_of,
    is_changeable,
    plainly,
    shown,
    type_of,
)
from .inputs import NOTHING_KNOWN, Foreknown
from .joins import NUMBER_DTYPE
from .outside_containers import OutsideContainers
from .values import StateVar, TensorVar, parts

__all__ = ["AnyGuard", "Capture", "Outside", "class_attribute", "plainly", "shown", "type_of"]

_LEAVES_WATCHED = 16


@dataclass(frozen=True)
class Capture:
    """A Tensor found outside: fetched at each call and passed as one more argument."""

    what: str
    fetch: Callable[[], Tensor]
    type: TensorType
    #: a quick way to read it, as in `Guard`
    quick: tuple[Callable[[Any], Any], Any] | None = None


def _here() -> Loc | None:
    """The place that is being compiled."""
    return trace.builder.loc if trace.builder is not None else None


class Outside:
    """The guards, captured Tensors and states of one compilation."""

    def __init__(
        self,
        module: Module,
        add_argument: Callable[..., Any],
        on_read: Callable[[Any, tuple[Any, ...]], None] = lambda value, key: None,
        known: Foreknown = NOTHING_KNOWN,
    ) -> None:
        self.module = module
        self._on_read = on_read
        self.guards: dict[tuple[Any, ...], AnyGuard] = {}
        self.captures: list[Capture] = []
        self.states: dict[str, Any] = {}
        self._add_argument = add_argument
        self._captured: dict[tuple[Any, ...], Any] = {}
        self._state_of: dict[int, StateVar] = {}
        #: first among the guards
        self.lookups = LookupGuard()
        #: containers that functions called while compiling have made, which are no objects of compiled code
        self.made: list[Any] = []
        #: those found outside that stay what they are: their keys, what they are called, how to find them, and they
        self.containers: list[tuple[tuple[Any, ...], str, Callable[[], Any], Any]] = []
        #: those that compiled code changes
        self.changed = OutsideContainers(known, self)
        #: Cells that compiled code has made, by id, each with the block it was made in
        self.cells: dict[int, tuple[Any, Any]] = {}

    def read(
        self,
        value: Any,
        key: tuple[Any, ...],
        what: str,
        fetch: Callable[[], Any],
        *,
        watched: bool = False,
        quick: tuple[Callable[[Any], Any], Any] | None = None,
    ) -> Any:
        """The value that compiled code sees for an object found under `key`.

        `fetch` finds it again; `quick` is a quick way to do so, as in `Guard`.
        """
        self._on_read(value, key)
        if self.changed.holds(value):
            return self.changed.opened(value, key, what, fetch)
        if isinstance(value, Tensor) and self._of_made(key):  # which the Cell may hold no longer at the end
            key, fetch, quick = (*key, id(value)), lambda: value, None
        if isinstance(value, Parameter):
            self.guard(key, what, fetch, value, watched, quick)
            return self.state(value)
        if isinstance(value, Tensor):
            return self._capture(value, key, what, fetch, quick)
        if isinstance(value, Mutable) and isinstance(value, int | float):
            return self._mutable(value, key, what, fetch)
        if isinstance(value, types.ModuleType) or getattr(type(value), "__graph_state__", None) is not None:
            self.guard(key, what, fetch, value, watched, quick)
            return value
        if isinstance(value, set) and len(value) > _LEAVES_WATCHED:
            raise SideEffectError(f"{what} is a set of {len(value)} elements: too large to be watched for changes")
        expected = content_of(value)
        self.guard(key, what, fetch, expected, watched and type(expected) is not Content, quick)
        if type(expected) is Content and key[-1] != "__dict__":
            self.containers.append((key, what, fetch, value))
        return value

    def made_inside(self, x: Any) -> bool:
        """Whether a container is one of those in `made`, or is held by one."""
        return any(part is x for found in self.made for part in parts(found))

    def guard(
        self,
        key: tuple[Any, ...],
        what: str,
        fetch: Callable[[], Any],
        expected: Any,
        watched: bool = False,
        quick: tuple[Callable[[Any], Any], Any] | None = None,
    ) -> None:
        """Notes that `fetch()` must give this very object at each call; `quick` as in `Guard`.

        A Cell that compiled code has made is no other at the next call.
        """
        if key not in self.guards and not self._of_made(key):
            self.guards[key] = Guard(what, fetch, expected, watched, _here(), quick)

    def _of_made(self, key: tuple[Any, ...]) -> bool:
        return bool(self.cells) and len(key) > 1 and key[1] in self.cells

    def function(self, fn: Any) -> None:
        """Notes that a Python function is compiled."""
        key = ("function", id(fn))
        if key not in self.guards:
            self.guards[key] = FunctionGuard(fn, _here())

    def builtin(self, name: str, namespace: dict[str, Any], builtins: dict[str, Any]) -> None:
        """Notes that a name stands for a builtin: no global of that name may appear."""
        self.lookups.absence(namespace, name, "global ")
        self.lookups.name(builtins, name, "builtin ")

    def property(
        self,
        owner: Any,
        key: str,
        what: str,
        ask: Callable[[], Any],
        quick: tuple[Callable[[Any], Any], Any] | None = None,
        watched: bool = False,
    ) -> Any:
        """What is asked of an outside object without reading a part of it: its length, whether it has an attribute."""
        value = ask()
        self.guard((key, id(owner)), what, ask, value, watched, quick)  # `ask` keeps the owner alive
        return value

    def class_attribute(self, cls: type, name: str) -> Any:
        """What a class has under a name, functions and descriptors as they are, or None; a change is noticed."""
        self.lookups.attribute(cls, name)
        return class_attribute(cls, name)

    def kind(self, obj: Any) -> None:
        """Notes that compiled code depends on the class of an object from outside."""
        cls = type(obj)
        if not is_changeable(cls) or isinstance(obj, type):
            return
        if getattr(cls, "__graph_state__", None) is not None:  # giving it another class moves the epoch
            self.guard(("class", id(obj)), f"class of a {cls.__name__} object", lambda: type(obj), cls, True)
        else:
            self.lookups.kind(obj)

    def item(self, owner: Any, index: Any, value: Any) -> Any:
        """An element of an outside container (whose content is guarded already)."""
        if isinstance(value, Tensor | Mutable) or self.changed.holds(value):
            # those of a tuple stay what they are
            fixed = getattr(type(owner), "__getitem__", None) is tuple.__getitem__
            key, what = ("item", id(owner), repr(index)), f"element {index!r}"
            return self.read(value, key, what, lambda: owner[index], watched=fixed)
        return value

    def state(self, parameter: Parameter) -> StateVar:
        """The state cell of a Parameter: one per object.  It has the Parameter's name unless another one has it."""
        found = self._state_of.get(id(parameter))
        if found is None:
            name, number = parameter.name, len(self.states)
            while name in self.states:
                name, number = f"{parameter.name}.{number}", number + 1
            type_ = type_of(parameter)
            # Another shape (`set_data`) moves the epoch.
            self.guard(("type", id(parameter)), f"type of {name}", lambda: parameter, type_, watched=True)
            found = self._state_of[id(parameter)] = StateVar(name, type_, parameter)
            self.states[name] = parameter
            self.module.states[name] = StateInfo(name, type_)
        return found

    def number(
        self, key: tuple[Any, ...], what: str, fetch: Callable[[], Any], kind: type, *, watched: bool = False
    ) -> Any:
        """A Python number that compiled code changes: fetched at each call, only its type is guarded."""
        self.guard((*key, "type"), f"type of {what}", lambda: kind_of(fetch()), kind, watched)
        dtype = NUMBER_DTYPE[kind]
        type_ = tensor(dtype, ())
        self.captures.append(Capture(what, lambda: wrap(np.asarray(fetch(), dtype.numpy)), type_))
        return self._add_argument(type_, what.rpartition(".")[2], None, kind)

    def _mutable(self, value: Any, key: tuple[Any, ...], what: str, fetch: Callable[[], Any]) -> Any:
        """A number that its owner has marked with `mutable`."""
        found = self._captured.get(key)
        if found is None:
            self.guard(key, f"whether {what} is mutable", lambda: isinstance(fetch(), Mutable), True)
            found = self._captured[key] = self.number(key, what, fetch, kind_of(value))
        return found

    def _capture(
        self,
        value: Tensor,
        key: tuple[Any, ...],
        what: str,
        fetch: Callable[[], Any],
        quick: tuple[Callable[[Any], Any], Any] | None,
    ) -> TensorVar:
        found = self._captured.get(key)
        if found is None:
            type_ = type_of(value)
            self.guard(key, what, fetch, type_)
            self.captures.append(Capture(what, fetch, type_, quick))
            found = self._captured[key] = self._add_argument(type_, what.rpartition(".")[2], value)
        return found

    def all_guards(self) -> list[AnyGuard]:
        """The guards in the order in which they are to be asked."""
        return [*([self.lookups] if self.lookups.entries else []), *self.guards.values()]
