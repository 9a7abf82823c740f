"""What compiled code finds outside of itself: globals, closures, attributes.

Every such read leaves a guard, so that a later change is seen at the next call; Tensors become inputs of the compiled
function (fetched anew at each call), Parameters become state.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ...errors import SideEffectError
from ...ir.core import Module, StateInfo
from ...ir.primitive import trace
from ...ir.sizes import deciding
from ...ir.types import TensorType, tensor
from ...runtime.mutable import NUMBER_DTYPE, Mutable, kind_of, number_given
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ...source import Loc
from .contents import Content, content_of
from .guards import AnyGuard, Fetch, FunctionGuard, Guard, LookupGuard, Quick
from .objects import class_attribute, is_changeable, type_of

#: By which a guard is told from others: what was read, as a kind of read and its owner.
Key = tuple[Any, ...]
_LEAVES_WATCHED = 16


def here() -> Loc | None:
    """The place that is being compiled."""
    return trace.builder.loc if trace.builder is not None else None


def _in_symbols(what: str, type_: TensorType) -> TensorType:
    """The type that a Tensor found outside has in the program."""
    return type_ if deciding.by is None else tensor(type_.dtype, deciding.by.shape_of(what, type_.shape))


@dataclass(frozen=True)
class Capture:
    """A Tensor found outside: fetched at each call and passed as one more argument."""

    what: str
    fetch: Callable[[], Tensor]
    type: TensorType
    quick: Quick | None = None


def _within(x: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The containers and Tensors in a container, and it, each with the indices and keys that lead there."""
    if isinstance(x, functools.partial):
        steps: Any = enumerate((x.args, x.keywords))
    elif isinstance(x, dict):
        steps = dict.items(x)
    elif isinstance(x, list | tuple):
        steps = enumerate(x)
    elif isinstance(x, Tensor):
        steps = ()
    else:
        return
    yield path, x
    for step, part in steps:
        yield from _within(part, (*path, step))


def _followed(fetch: Fetch, path: tuple[Any, ...]) -> Any:
    x = fetch()
    for step in path:
        x = (x.args, x.keywords)[step] if isinstance(x, functools.partial) else x[step]
    return x


def _lead_to_one(ways: list[Fetch]) -> bool:
    first = ways[0]()
    return all(way() is first for way in ways)


class Found(Protocol):
    """What makes abstract values of what is found outside."""

    def captured(self, type_: TensorType, name: str, source: Tensor | None, kind: type | None = None) -> Any: ...
    def parameter(self, name: str, type_: TensorType, source: Parameter) -> Any: ...
    def stands_for(self, value: Any) -> bool: ...
    def opened(self, value: Any, key: Key, what: str, fetch: Fetch) -> Any: ...
    def note_read(self, value: Any, key: Key) -> None: ...


class Outside:
    """The guards, captured Tensors and states of one compilation."""

    def __init__(self, module: Module, found: Found) -> None:
        self.module = module
        self._found = found
        self.guards: dict[Key, AnyGuard] = {}
        self.captures: list[Capture] = []
        self.states: dict[str, Any] = {}
        self._captured: dict[Key, Any] = {}
        self._state_of: dict[int, Any] = {}
        #: by the ids of Cells, and of containers of them, the variable that holds each, or the network that it is in
        self._variable_of: dict[int, str] = {}
        #: what is read in the place of Parameters, by their ids (see `replacing`)
        self._instead: dict[int, Any] = {}
        #: first among the guards
        self.lookups = LookupGuard()
        #: containers that functions called while compiling have made, which are no objects of compiled code
        self.made: list[Any] = []
        #: those found outside that stay what they are: their keys, what they are called, how to find them, and they
        self.containers: list[tuple[Key, str, Fetch, Any]] = []
        #: how many of them were walked through, and the ways to what is in those, by id
        self._walked = 0
        self._ways: dict[int, list[Fetch]] = {}
        #: what was found in them, and how each is found again, by id
        self._parts: list[Any] = []
        self._finders: dict[int, Fetch] = {}
        #: Cells that compiled code has made, by id, each with the block it was made in
        self.cells: dict[int, tuple[Any, Any]] = {}

    def read(
        self, value: Any, key: Key, what: str, fetch: Fetch, *, watched: bool = False, quick: Quick | None = None
    ) -> Any:
        """The value that compiled code sees for an object found under `key`."""
        self._found.note_read(value, key)
        variable = what.rpartition(" ")[2] if key[0] in ("global", "cell") else self._variable_of.get(key[1], "")
        if self._found.stands_for(value):
            return self._found.opened(value, key, what, fetch)
        if isinstance(value, Tensor) and self._of_made(key):  # which the Cell may hold no longer at the end
            key, fetch, quick = (*key, id(value)), lambda: value, None
        if isinstance(value, Parameter):
            self.guard(key, what, fetch, value, watched, quick)
            if id(value) in self._instead:
                return self._instead[id(value)]
            return self.state(value, variable)
        if isinstance(value, Tensor):
            return self._capture(value, key, what, fetch, quick)
        if variable:
            for x in (value, *value) if isinstance(value, tuple | list) else (value,):
                self._variable_of.setdefault(id(x), variable)
        if isinstance(value, Mutable) and isinstance(value, int | float):
            return self._mutable(value, key, what, fetch)
        if isinstance(value, types.ModuleType) or getattr(type(value), "__graph_state__", None) is not None:
            self.guard(key, what, fetch, value, watched, quick)
            return value
        if isinstance(value, set) and len(value) > _LEAVES_WATCHED:
            raise SideEffectError(f"{what} is a set of {len(value)} elements: too large to be watched for changes")
        expected = content_of(value)
        self.guard(key, what, fetch, expected, watched and not isinstance(expected, Content), quick)
        if isinstance(expected, Content) and key[-1] != "__dict__":
            self.containers.append((key, what, fetch, value))
        return value

    def part(self, owner: Any, value: Any, step: Callable[[Any], Any]) -> Fetch:
        """How `value`, what `step` gives of an owner, is found again: another container may stand where its own was."""
        find = self._finder(owner)
        if find is None:  # made of what was found, as a pair of a dict's items, or no plain container
            return self._finder(value) or (lambda: step(owner))
        return lambda: step(find())

    def captured(self, x: Tensor) -> Any:
        """What stands for a Tensor that was met as itself: bound in a partial, or held by what is read as a whole."""
        # what no container holds that was found by a name is itself
        return self.read(x, ("object", id(x)), "a Tensor", self._finder(x) or (lambda: x))

    def met(self, x: Any) -> Any:
        """What an operator gets for an operand: a Tensor that a container from outside holds is captured."""
        return self.captured(x) if isinstance(x, Tensor) and self._finder(x) is not None else x

    def _finder(self, x: Any) -> Fetch | None:
        """How what a container from outside holds, or such a container, is found again; None for all else."""
        found = self._finders.get(id(x))
        if found is None and (ways := self._ways_to(x)):
            found = self._finders[id(x)] = ways[0]
            self._parts.append(x)
        return found

    def _ways_to(self, x: Any) -> list[Fetch]:
        for *_, fetch, top in self.containers[self._walked :]:
            for path, part in _within(top, ()):
                self._ways.setdefault(id(part), []).append(functools.partial(_followed, fetch, path))
        self._walked = len(self.containers)
        return self._ways.get(id(x), [])

    def _guard_parts(self) -> None:
        """At the end: what was found by one way and may be found by others must be one object by all of them."""
        for x in self._parts:
            ways = self._ways_to(x)
            if len(ways) > 1:
                one = functools.partial(_lead_to_one, ways)
                self.guard(("one", id(x)), "whether two containers hold one object", one, True)

    def guard(
        self, key: Key, what: str, fetch: Fetch, expected: Any, watched: bool = False, quick: Quick | None = None
    ) -> None:
        """Notes that `fetch()` must give this very object at each call.

        A Cell that compiled code has made is no other at the next call.
        """
        if key not in self.guards and not self._of_made(key):
            self.guards[key] = Guard(what, fetch, expected, watched, here(), quick)

    def _of_made(self, key: Key) -> bool:
        return bool(self.cells) and len(key) > 1 and key[1] in self.cells

    def function(self, fn: Any) -> None:
        """Notes that a Python function is compiled."""
        key = ("function", id(fn))
        if key not in self.guards:
            self.guards[key] = FunctionGuard(fn, here())

    def builtin(self, name: str, namespace: dict[str, Any], builtins: dict[str, Any]) -> None:
        """Notes that a name stands for a builtin: no global of that name may appear."""
        self.lookups.absence(namespace, name, "global ")
        self.lookups.name(builtins, name, "builtin ")

    def property(
        self, owner: Any, key: str, what: str, ask: Fetch, quick: Quick | None = None, watched: bool = False
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
        if isinstance(value, Tensor | Mutable) or self._found.stands_for(value):
            # those of a tuple stay what they are
            fixed = getattr(type(owner), "__getitem__", None) is tuple.__getitem__
            key, what = ("item", id(owner), repr(index)), f"element {index!r}"
            fetch = self.part(owner, value, lambda now: now[index])
            return self.read(value, key, what, fetch, watched=fixed and id(owner) not in self._finders)
        return value

    @contextmanager
    def replacing(self, values: Mapping[int, Any]) -> Iterator[None]:
        """Within it, reads give these values in the place of the Parameters with their ids."""
        before, self._instead = self._instead, {**self._instead, **values}
        try:
            yield
        finally:
            self._instead = before

    def state(self, parameter: Parameter, variable: str = "") -> Any:
        """The state cell of a Parameter: one per object.

        It has the Parameter's name; if another one has that, with the `variable` that holds its network before it.
        """
        found = self._state_of.get(id(parameter))
        if found is None:
            name, number = parameter.name, len(self.states)
            if name in self.states and variable:
                name = f"{variable}.{name}"
            while name in self.states:
                name, number = f"{parameter.name}.{number}", number + 1
            type_ = type_of(parameter)
            # Another shape (`set_data`) moves the epoch.
            self.guard(("type", id(parameter)), f"type of {name}", lambda: parameter, type_, watched=True)
            type_ = _in_symbols(f"the Parameter `{name}`", type_)
            found = self._state_of[id(parameter)] = self._found.parameter(name, type_, parameter)
            self.states[name] = parameter
            self.module.states[name] = StateInfo(name, type_)
        return found

    def number(self, key: Key, what: str, fetch: Fetch, kind: type, *, watched: bool = False) -> Any:
        """A Python number that compiled code changes: fetched at each call, only its type is guarded."""
        self.guard((*key, "type"), f"type of {what}", lambda: kind_of(fetch()), kind, watched)
        dtype = NUMBER_DTYPE[kind]
        type_ = tensor(dtype, ())
        self.captures.append(Capture(what, lambda: number_given(fetch(), kind, what), type_))
        return self._found.captured(type_, what.rpartition(".")[2], None, kind)

    def _mutable(self, value: Any, key: Key, what: str, fetch: Fetch) -> Any:
        """A number that its owner has marked with `mutable`."""
        found = self._captured.get(key)
        if found is None:
            self.guard(key, f"whether {what} is mutable", lambda: isinstance(fetch(), Mutable), True)
            found = self._captured[key] = self.number(key, what, fetch, kind_of(value))
        return found

    def _capture(self, value: Tensor, key: Key, what: str, fetch: Fetch, quick: Quick | None) -> Any:
        found = self._captured.get(key)
        if found is None:
            type_ = type_of(value)
            self.guard(key, what, fetch, type_)
            self.captures.append(Capture(what, fetch, type_, quick))
            type_ = _in_symbols(what, type_)
            found = self._captured[key] = self._found.captured(type_, what.rpartition(".")[2], value)
        return found

    def all_guards(self) -> list[AnyGuard]:
        """The guards in the order in which they are to be asked."""
        self._guard_parts()
        return [*([self.lookups] if self.lookups.entries else []), *self.guards.values()]
