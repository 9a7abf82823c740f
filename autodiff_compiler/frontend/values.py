"""What a name may stand for while a function is being compiled.

A *static* value is the Python object itself.  A *dynamic* one is known only by its type: a Tensor (`TensorVar`), a
Python number (`Weak`), a state cell (`StateVar`).  Tuples, lists and dicts are Python's own, with such values inside;
lists and dicts that compiled code made (and may therefore change) are `LocalList` and `LocalDict`.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import CompileError
from ..ir.core import Value
from ..ir.types import TensorType
from ..primitives.family import Weak
from ..runtime.tensor import Tensor
from ..source import Loc

__all__ = [
    "EITHER",
    "OUTSIDE",
    "PARAMETERS",
    "UNBOUND",
    "DictView",
    "Leaf",
    "LocalDict",
    "LocalList",
    "MaybeUnbound",
    "Snapshot",
    "StateVar",
    "TensorVar",
    "Weak",
    "content",
    "describe",
    "flatten",
    "is_dynamic",
    "is_static",
    "map_leaves",
    "parts",
    "set_content",
    "snapshot_of",
    "structure",
    "usable",
]

_serial = itertools.count()


class TensorVar:
    """A Tensor known by its type: a box, shared by all names of that Tensor, around its current Value.

    `locked` says why its elements cannot be assigned: somebody whom this box does not know may hold the Tensor too.
    `snapshot`: the Tensor may be a Parameter, whose value was read when paths met.
    """

    __slots__ = ("locked", "serial", "snapshot", "value")

    def __init__(self, value: Value, locked: str = "", snapshot: Snapshot | None = None) -> None:
        self.value = value
        self.locked = locked
        self.snapshot = snapshot
        self.serial = next(_serial)

    @property
    def type(self) -> TensorType:
        return self.value.type  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Tensor {self.type}"


class StateVar:
    """A Parameter (or other cell that outlives the call), read at the moment of use."""

    __slots__ = ("name", "source", "type")

    def __init__(self, name: str, type: TensorType, source: Tensor) -> None:
        self.name, self.type, self.source = name, type, source

    def __repr__(self) -> str:
        return f"Parameter {self.name}: {self.type}"


@dataclass(frozen=True)
class Snapshot:
    """The Parameters one of which a Tensor may be, and the time (a serial) of their reading: no write may follow."""

    states: frozenset[str]
    since: int


def snapshot_of(*boxes: Any) -> Snapshot | None:
    """The snapshot that one of these values, chosen at run time, is."""
    states: set[str] = set()
    since = next(_serial)
    for x in boxes:
        if type(x) is StateVar:
            states.add(x.name)
        elif getattr(x, "snapshot", None) is not None:
            states |= x.snapshot.states
            since = min(since, x.snapshot.since)
    return Snapshot(frozenset(states), since) if states else None


class LocalList(list):
    """A list made by compiled code.

    `broken` is why its content cannot be known here, if paths disagree about it; `locked` as for a `TensorVar`.
    """

    __slots__ = ("broken", "locked", "serial")

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.broken: CompileError | None = None
        self.locked = ""
        self.serial = next(_serial)


class LocalDict(dict):
    """A dict made by compiled code; `broken` and `locked` as for a list."""

    __slots__ = ("broken", "locked", "serial")

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.broken: CompileError | None = None
        self.locked = ""
        self.serial = next(_serial)


class DictView(tuple):
    """What `keys`, `values` or `items` of a dict gave, with the dict."""

    source: LocalDict


def usable(x: Any) -> Any:
    """x itself; raises if it is a container whose content is not known here."""
    if isinstance(x, LocalList | LocalDict) and x.broken is not None:
        raise x.broken.again(None, "")
    return x


class _Unbound:
    def __repr__(self) -> str:
        return "no value"


UNBOUND = _Unbound()

#: Reasons for locking a Tensor.
OUTSIDE = "came from outside"
EITHER = "is one of several, chosen at run time,"
PARAMETERS = "is one of several Parameters, chosen at run time,"


@dataclass(frozen=True)
class MaybeUnbound:
    """A name without a usable value: reading it is an error that names the place where paths differ.

    It has a value on some paths only, or (then `error` says so) values of different types.
    """

    loc: Loc | None
    why: str
    error: CompileError | None = None


def serial_now() -> int:
    """A number that is greater than the serial of every object made before."""
    return next(_serial)


def is_dynamic(x: Any) -> bool:
    return type(x) in (TensorVar, Weak, StateVar)


def is_static(x: Any) -> bool:
    """Whether x holds nothing that is known only at run time."""
    if type(x) in (TensorVar, Weak, StateVar) or isinstance(x, Tensor):
        return False
    if isinstance(x, tuple | list):
        return all(map(is_static, x))
    if isinstance(x, dict):
        return all(map(is_static, x.values()))
    return True


def rebuild(like: Any, items: list[Any]) -> Any:
    """A container of the class of `like` with other elements."""
    if isinstance(like, LocalList | LocalDict):
        new = LocalList(items) if isinstance(like, LocalList) else LocalDict(zip(like, items, strict=True))
        new.locked = like.locked
        return new
    if type(like) is dict:
        return dict(zip(like, items, strict=True))
    if isinstance(like, dict):
        made = copy.copy(like)
        for key, item in zip(like, items, strict=True):
            dict.__setitem__(made, key, item)
        return made
    if type(like) is list:
        return items
    if isinstance(like, list):
        changed = copy.copy(like)
        list.__setitem__(changed, slice(None), items)
        return changed
    if hasattr(like, "_fields"):
        return type(like)(*items)
    return tuple(items)


def elements(x: Any) -> Any:
    """The elements of a container in order; None if x is a leaf."""
    if isinstance(x, tuple | list):
        return x
    if isinstance(x, dict):
        return list(x.values())
    return None


def map_leaves(fn: Callable[[Any], Any], x: Any) -> Any:
    """Applies fn to every leaf, keeping containers (rebuilt) as they are."""
    items = elements(usable(x))
    if items is None:
        return fn(x)
    return rebuild(x, [map_leaves(fn, i) for i in items])


def parts(x: Any) -> Iterator[Any]:
    """x itself and everything in it."""
    yield x
    for item in elements(x) or ():
        yield from parts(item)


def flatten(x: Any) -> Iterator[Any]:
    """The leaves of a value from left to right."""
    items = elements(x)
    if items is None:
        yield x
    else:
        for i in items:
            yield from flatten(i)


Leaf = Any


def structure(x: Any) -> Any:
    """A comparable description of the containers of x (not of its leaves)."""
    if isinstance(x, dict):
        return ("dict", tuple(x), tuple(structure(v) for v in x.values()))
    if isinstance(x, tuple | list):
        kind = type(x).__qualname__ if hasattr(x, "_fields") else ("list" if isinstance(x, list) else "tuple")
        return (kind, tuple(structure(v) for v in x))
    return None


def content(obj: Any) -> Any:
    """A copy of what a mutable compile-time object holds now."""
    if type(obj) is TensorVar:
        return obj.value
    if obj.broken is not None:
        return obj.broken
    return list(obj) if isinstance(obj, list) else dict(obj)


def set_content(obj: Any, saved: Any) -> None:
    """Puts a saved content back."""
    if type(obj) is TensorVar:
        obj.value = saved
        return
    obj.broken = saved if isinstance(saved, CompileError) else None
    if obj.broken is not None:
        return
    if isinstance(obj, list):
        obj[:] = saved
    else:
        obj.clear()
        obj.update(saved)


def describe(x: Any) -> str:
    """A value in the words of an error message."""
    if type(x) is TensorVar or type(x) is StateVar:
        return f"Tensor {x.type}"
    if type(x) is Weak:
        return f"{x.kind.__name__} known at run time"
    if isinstance(x, Tensor):
        return "Tensor"
    if x is None or isinstance(x, bool | int | float | str):
        return f"{type(x).__name__} {x!r}" if x is not None else "None"
    if isinstance(x, tuple | list | dict):
        kind = "dict" if isinstance(x, dict) else ("list" if isinstance(x, list) else "tuple")
        return f"{kind} of {len(x)}"
    return f"{type(x).__name__} object" if not hasattr(x, "__qualname__") else f"{type(x).__name__} {x.__qualname__}"
