"""What compiled code finds outside of itself: globals, closures, attributes.

Every such read leaves a guard, so that a later change is seen at the next call; Tensors become inputs of the compiled
function (fetched anew at each call), Parameters become state.
"""

from __future__ import annotations

import enum
import functools
import os
import reprlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import ParameterError, SideEffectError
from ..ir.core import Module, StateInfo
from ..ir.primitive import trace
from ..ir.types import TensorType, tensor
from ..runtime.mutable import Mutable, kind_of
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor, wrap
from ..source import Loc
from .joins import NUMBER_DTYPE, same_static
from .values import LocalDict, LocalList, StateVar, TensorVar

__all__ = ["AnyGuard", "Capture", "Outside", "class_attribute", "shown", "type_of"]

_LEAVES_WATCHED = 16
_LEAVES_SHOWN = 4


def type_of(t: Tensor) -> TensorType:
    """The IR type of a run-time Tensor."""
    return tensor(t.dtype, t.shape)


@dataclass(frozen=True)
class Guard:
    """Something read while compiling: `fetch()` must still give `expected` for the compiled code to be valid."""

    what: str
    fetch: Callable[[], Any]
    expected: Any
    #: whether every change of it moves the process-wide epoch (attributes of Cells)
    watched: bool = False
    #: where it was read first
    loc: Loc | None = None

    def holds(self) -> bool:
        try:
            return matches(self.fetch(), self.expected)
        except (AttributeError, KeyError, IndexError, ValueError):
            return False

    def seen(self) -> str:
        """What it was while compiling."""
        return shown(self.expected)

    def now(self) -> str:
        """What it is now."""
        try:
            return shown(_seen(self.fetch()))
        except (AttributeError, KeyError, IndexError, ValueError):
            return "nothing: it does not exist any more"


class FunctionGuard:
    """A Python function that was compiled: its code and its defaults must still be the same."""

    watched = False

    def __init__(self, fn: Any, loc: Loc | None = None) -> None:
        self.what, self.loc = f"function {fn.__qualname__}", loc
        self._fn, self._code, self._defaults, self._named = fn, fn.__code__, fn.__defaults__, fn.__kwdefaults__
        self._content = _seen(self._named) if self._named else None

    def holds(self) -> bool:
        fn = self._fn
        if fn.__code__ is not self._code or fn.__defaults__ is not self._defaults:
            return False
        return fn.__kwdefaults__ is self._named and (self._content is None or matches(self._named, self._content))

    def seen(self) -> str:
        """The defaults and the line of the definition that was compiled."""
        return self._text(self._code, self._defaults)

    def now(self) -> str:
        """Those of the definition that holds now."""
        return self._text(self._fn.__code__, self._fn.__defaults__)

    @staticmethod
    def _text(code: types.CodeType, defaults: tuple[Any, ...] | None) -> str:
        given = f" with the defaults {shown(defaults)}" if defaults else ""
        return f"the definition at {os.path.basename(code.co_filename)}:{code.co_firstlineno}{given}"


class ClassGuard:
    """Attributes of classes: each is still the same, and no class before it in the MRO has got one of that name."""

    what = "attributes of classes"
    watched = False
    loc = None

    def __init__(self) -> None:
        self._known: set[tuple[type, str]] = set()  # keeps the classes alive
        self._entries: list[tuple[Any, str, Any]] = []

    def add(self, cls: type, name: str) -> None:
        if (cls, name) in self._known:
            return
        self._known.add((cls, name))
        for c in cls.__mro__:
            self._entries.append((c.__dict__.get, name, c.__dict__.get(name, self)))
            if name in c.__dict__:
                return

    def holds(self) -> bool:
        for get, name, value in self._entries:  # noqa: SIM110  (a generator costs more than the checks)
            if get(name, self) is not value:
                return False
        return True

    def seen(self) -> str:
        """The names that are watched."""
        return ", ".join(sorted({f"{cls.__name__}.{name}" for cls, name in self._known}))

    def now(self) -> str:
        """Which of them have changed."""
        changed = {name for get, name, value in self._entries if get(name, self) is not value}
        return f"others: {', '.join(sorted(changed))}" if changed else "the same"


AnyGuard = Guard | FunctionGuard | ClassGuard


def shown(x: Any) -> str:
    """A value that guards compare, in few words."""
    if isinstance(x, TensorType):
        return f"Tensor {x}"
    if isinstance(x, _Content):
        return f"{x.kind.__name__} {shown(x.items)}"
    if isinstance(x, tuple | list) and not hasattr(x, "_fields"):
        return f"({', '.join(map(shown, x[:_LEAVES_SHOWN]))}{', ...' if len(x) > _LEAVES_SHOWN else ''})"
    if isinstance(x, type | types.FunctionType | types.ModuleType):
        return f"{'class' if isinstance(x, type) else type(x).__name__} {x.__name__}"
    plain = x is None or isinstance(
        x, bool | int | float | str | bytes | DType | slice | range | enum.Enum | np.generic
    )
    return reprlib.repr(x) if plain else f"a {type(x).__name__} object"


def class_attribute(cls: type, name: str) -> Any:
    """What the first class of the MRO that has this name has under it; None if there is none."""
    for c in cls.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return None


def matches(now: Any, expected: Any) -> bool:
    """Whether a value read again is, for compiled code, the one seen before."""
    if now is expected:
        return True
    if isinstance(expected, _Content):
        return expected.matches(now)
    if isinstance(expected, TensorType):
        return isinstance(now, Tensor) and type_of(now) is expected
    if isinstance(expected, tuple) and isinstance(now, tuple) and type(now) is type(expected):
        return len(now) == len(expected) and all(map(matches, now, expected))
    return same_static(now, expected)


def _seen(value: Any) -> Any:
    """What an outside value must match later: containers by content, Tensors by type, other objects by identity."""
    watched = list | dict | set | frozenset | np.ndarray | functools.partial
    if isinstance(value, watched) and not isinstance(value, LocalList | LocalDict):
        return _Content(value)
    if isinstance(value, tuple):
        items = tuple(map(_seen, value))
        return value if all(a is b for a, b in zip(items, value, strict=True)) else _Content(value)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return type_of(value)
    return value


class _Content:
    """The content of an outside list, dict, set, array or partial function as it was read."""

    def __init__(self, owner: Any) -> None:
        self.kind = type(owner)
        self.items: Any = owner.copy() if isinstance(owner, np.ndarray) else list(map(_seen, self._of(owner)))

    @staticmethod
    def _of(owner: Any) -> list[Any]:
        if isinstance(owner, dict):
            return [*owner, *owner.values()]
        if isinstance(owner, functools.partial):
            return [owner.func, owner.args, owner.keywords]
        return sorted(owner, key=repr) if isinstance(owner, set | frozenset) else list(owner)

    def matches(self, now: Any) -> bool:
        if type(now) is not self.kind:
            return False
        if isinstance(now, np.ndarray):
            # Bytes, so that NaNs equal themselves and 0.0 is not -0.0.
            same = now.shape == self.items.shape and now.dtype == self.items.dtype
            return same and now.tobytes() == self.items.tobytes()
        items = self._of(now)
        return len(items) == len(self.items) and all(map(matches, items, self.items))


@dataclass(frozen=True)
class Capture:
    """A Tensor found outside: fetched at each call and passed as one more argument."""

    what: str
    fetch: Callable[[], Tensor]
    type: TensorType


def _here() -> Loc | None:
    """The place that is being compiled."""
    return trace.builder.loc if trace.builder is not None else None


class Outside:
    """The guards, captured Tensors and states of one compilation."""

    def __init__(self, module: Module, add_argument: Callable[..., Any], name_of: Callable[[Any], str | None]) -> None:
        self.module = module
        self._name_of = name_of
        self.guards: dict[tuple[Any, ...], AnyGuard] = {}
        self.captures: list[Capture] = []
        self.states: dict[str, Any] = {}
        self._add_argument = add_argument
        self._captured: dict[tuple[Any, ...], Any] = {}
        self._state_of: dict[int, StateVar] = {}
        self._builtins: dict[int, set[str]] = {}
        self._classes: ClassGuard | None = None

    def read(
        self, value: Any, key: tuple[Any, ...], what: str, fetch: Callable[[], Any], *, watched: bool = False
    ) -> Any:
        """The value that compiled code sees for an object found under `key`; `fetch` finds it again."""
        if isinstance(value, Parameter):
            self._guard(key, what, fetch, value, watched)
            return self.state(value)
        if isinstance(value, Tensor):
            return self._capture(value, key, what, fetch)
        if isinstance(value, Mutable) and isinstance(value, int | float):
            return self._mutable(value, key, what, fetch)
        if isinstance(value, types.ModuleType) or getattr(type(value), "__graph_state__", None) is not None:
            self._guard(key, what, fetch, value, watched)
            return value
        if isinstance(value, set) and len(value) > _LEAVES_WATCHED:
            raise SideEffectError(f"{what} is a set of {len(value)} elements: too large to be watched for changes")
        expected = _seen(value)
        self._guard(key, what, fetch, expected, watched and type(expected) is not _Content)
        return value

    def guard(
        self, key: tuple[Any, ...], what: str, fetch: Callable[[], Any], expected: Any, watched: bool = False
    ) -> None:
        """Notes that `fetch()` must give this very object at each call."""
        self._guard(key, what, fetch, expected, watched)

    def function(self, fn: Any) -> None:
        """Notes that a Python function is compiled."""
        key = ("function", id(fn))
        if key not in self.guards:
            self.guards[key] = FunctionGuard(fn, _here())

    def builtin(self, name: str, namespace: dict[str, Any]) -> None:
        """Notes that a name stands for a builtin: no global of that name may appear."""
        names = self._builtins.get(id(namespace))
        if names is None:
            names = self._builtins[id(namespace)] = set()
            hidden = namespace.keys().isdisjoint
            what = "that no global hides a builtin"
            self.guards["builtins", id(namespace)] = Guard(what, lambda: hidden(names), True)
        names.add(name)

    def property(self, owner: Any, key: str, what: str, ask: Callable[[], Any]) -> Any:
        """What is asked of an outside object without reading a part of it: its length, whether it has an attribute."""
        value = ask()
        self._guard((key, id(owner)), what, ask, value)  # `ask` keeps the owner alive
        return value

    def class_attribute(self, cls: type, name: str) -> Any:
        """What a class has under a name, functions and descriptors as they are, or None; a change is noticed."""
        if self._classes is None:
            self._classes = self.guards["classes",] = ClassGuard()
        self._classes.add(cls, name)
        return class_attribute(cls, name)

    def item(self, owner: Any, index: Any, value: Any) -> Any:
        """An element of an outside container (whose content is guarded already)."""
        if isinstance(value, Tensor | Mutable):
            return self.read(value, ("item", id(owner), repr(index)), f"element {index!r}", lambda: owner[index])
        return value

    def state(self, parameter: Parameter) -> StateVar:
        """The state cell of a Parameter; one per object, under the Parameter's name."""
        found = self._state_of.get(id(parameter))
        if found is None:
            name = parameter.name or "parameter"
            if name in self.states:
                if parameter.name and name != "parameter" and name != "Parameter":
                    raise ParameterError(
                        f"two Parameters of this function are both called {name!r}",
                        notes=self._known_as([self.states[name], parameter]),
                        hint="give one of them another name; layers in a plain list belong into an nn.CellList",
                    )
                name = f"{name}.{len(self.states)}"
            type_ = type_of(parameter)
            # Another shape (`set_data`) moves the epoch.
            self._guard(("type", id(parameter)), f"type of {name}", lambda: parameter, type_, watched=True)
            found = self._state_of[id(parameter)] = StateVar(name, type_, parameter)
            self.states[name] = parameter
            self.module.states[name] = StateInfo(name, type_)
        return found

    def _known_as(self, objects: list[Any]) -> list[str]:
        names = [self._name_of(x) for x in objects]
        return [f"they are {' and '.join(f'`{n}`' for n in names if n)}"] if any(names) else []

    def number(
        self, key: tuple[Any, ...], what: str, fetch: Callable[[], Any], kind: type, *, watched: bool = False
    ) -> Any:
        """A Python number that compiled code changes: fetched at each call, only its type is guarded."""
        self._guard((*key, "type"), f"type of {what}", lambda: kind_of(fetch()), kind, watched)
        dtype = NUMBER_DTYPE[kind]
        type_ = tensor(dtype, ())
        self.captures.append(Capture(what, lambda: wrap(np.asarray(fetch(), dtype.numpy)), type_))
        return self._add_argument(type_, what.rpartition(".")[2], None, kind)

    def _mutable(self, value: Any, key: tuple[Any, ...], what: str, fetch: Callable[[], Any]) -> Any:
        """A number that its owner has marked with `mutable`."""
        found = self._captured.get(key)
        if found is None:
            self._guard(key, f"whether {what} is mutable", lambda: isinstance(fetch(), Mutable), True)
            found = self._captured[key] = self.number(key, what, fetch, kind_of(value))
        return found

    def _capture(self, value: Tensor, key: tuple[Any, ...], what: str, fetch: Callable[[], Any]) -> TensorVar:
        found = self._captured.get(key)
        if found is None:
            type_ = type_of(value)
            self._guard(key, what, fetch, type_)
            self.captures.append(Capture(what, fetch, type_))
            found = self._captured[key] = self._add_argument(type_, what.rpartition(".")[2], value)
        return found

    def _guard(
        self, key: tuple[Any, ...], what: str, fetch: Callable[[], Any], expected: Any, watched: bool = False
    ) -> None:
        if key not in self.guards:
            self.guards[key] = Guard(what, fetch, expected, watched, _here())
