"""What a name may stand for while a function is being compiled.

A *static* value is the Python object itself.  A *dynamic* one is known only by its type: a Tensor (`TensorVar`), a
Python number (`Weak`), a state cell (`StateVar`).  Tuples, lists and dicts are Python's own, with such values inside;
lists and dicts that compiled code made (and may therefore change) are `LocalList` and `LocalDict`.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import CompileError, UnsupportedSyntaxError, shown_as
from ...ir.core import Unknown, Value
from ...ir.types import TensorType
from ...primitives.family import Weak
from ...runtime.mutable import Mutable, plain
from ...runtime.records import record_fields
from ...runtime.tensor import Tensor
from ...source import Loc
from ..guards.guards import Unwatched
from ..guards.objects import UNBOUND, module_name
from .changing import Aliased, Changing, serial_now

__all__ = [
    "ARRAY",
    "EITHER",
    "OUTSIDE",
    "PARAMETERS",
    "STANDS_FOR_PARAMETER",
    "ArrayVar",
    "AttributeVar",
    "BoundContainer",
    "DictView",
    "Held",
    "LocalDict",
    "LocalList",
    "LocalObject",
    "LocalSet",
    "LocalSuper",
    "MaybeUnbound",
    "NewException",
    "Snapshot",
    "StateVar",
    "TensorVar",
    "Text",
    "Weak",
    "class_of",
    "describe",
    "is_box",
    "is_broken",
    "is_dynamic",
    "is_marked",
    "is_unbound",
    "record_fields",
    "snapshot_of",
    "unmarked",
    "usable",
]


def is_box(x: Any) -> bool:
    """Whether a value is the box of a Tensor, which Tensors assigned by index change for all its names."""
    return type(x) is TensorVar


@shown_as("Tensor")
class TensorVar(Unknown, Aliased):
    """A Tensor known by its type: a box, shared by all names of that Tensor, around its current Value.

    `locked` says why its elements cannot be assigned: somebody whom this box does not know may hold the Tensor too.
    `snapshot`: the Tensor may be a Parameter, whose value was read when paths met.  `source`: what `to_float` cast, or
    STANDS_FOR_PARAMETER.
    """

    __slots__ = ("locked", "serial", "snapshot", "source", "value")

    def __init__(self, value: Value, locked: str = "", snapshot: Snapshot | None = None, source: Any = None) -> None:
        self.value = value
        self.locked = locked
        self.snapshot = snapshot
        self.source = source
        self.serial = serial_now()

    @property
    def type(self) -> TensorType:
        return self.value.type  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Tensor {self.type}"

    def content(self) -> Value:
        return self.value

    def set_content(self, saved: Value) -> None:
        self.value = saved

    def as_value(self, held: Value) -> TensorVar:
        return TensorVar(held)

    def of_value(self, value: TensorVar) -> Value:
        return value.value

    def _new(self, held: Value) -> TensorVar:
        return TensorVar(held, snapshot=self.snapshot)


@shown_as("Parameter")
class StateVar(Unknown):
    """A Parameter (or other cell that outlives the call), read at the moment of use."""

    __slots__ = ("name", "source", "type")

    def __init__(self, name: str, type: TensorType, source: Tensor) -> None:
        self.name, self.type, self.source = name, type, source

    @property
    def snapshot(self) -> Snapshot:
        """What its value read now is."""
        return Snapshot(frozenset([self.name]), serial_now())

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
    since = serial_now()
    for x in boxes:
        snapshot = getattr(x, "snapshot", None)
        if snapshot is not None:
            states |= snapshot.states
            since = min(since, snapshot.since)
    return Snapshot(frozenset(states), since) if states else None


class Held(NamedTuple):
    """What an attribute that was a Tensor at the entry holds, and whether it is still that Tensor."""

    value: Any
    kept: Any


class AttributeVar(Changing):
    """An attribute, of an object from outside, that compiled code writes: the abstract values at the entry and now.

    It is older than all that compiled code makes, so that every region notes its changes.
    """

    __slots__ = ("entry", "held", "kept", "name", "noted", "owner")
    serial = -1

    def __init__(self, owner: Any, name: str, entry: Any) -> None:
        self.owner, self.name, self.entry, self.held = owner, name, entry, entry
        #: whether that is still the very Tensor of the entry, which others may hold, too
        self.kept: Any = True
        #: whether another value than that of the entry has been noted (see `commits`)
        self.noted = False

    @property
    def label(self) -> str:  # type: ignore[override]  # a constant of the others
        return f"attribute '{self.name}' of {type(self.owner).__name__}"

    def content(self) -> Any:
        known = type(self.entry) is TensorVar and not isinstance(self.held, CompileError)
        return Held(self.held, self.kept) if known else self.held

    def seen(self, value: Any) -> Any:
        return value.value if type(value) is Held else value

    def set_content(self, saved: Any) -> None:
        self.held, self.kept = saved if type(saved) is Held else (saved, saved is self.entry)


def _begin(container: LocalList | LocalDict, marked: bool) -> None:
    container.broken, container.locked, container.marked = None, "", marked
    container.serial = serial_now()


@shown_as("list")
class LocalList(list, Aliased, Unwatched):
    """A list made by compiled code.

    `broken` is why its content cannot be known here, if paths disagree about it; `locked` as for a `TensorVar`;
    `marked` says that it was marked with `mutable`.
    """

    __slots__ = ("broken", "locked", "marked", "serial")
    broken: CompileError | None
    locked: str
    marked: bool
    serial: int

    def __init__(self, items: Any = (), marked: bool = False) -> None:
        super().__init__(items)
        _begin(self, marked)

    def copied(self) -> Any:
        return list.copy(self)

    def fill(self, saved: Any) -> None:
        list.__setitem__(self, slice(None), saved)

    def _new(self, held: Any) -> LocalList:
        return LocalList(held, self.marked)


@shown_as("dict")
class LocalDict(dict, Aliased, Unwatched):
    """A dict made by compiled code; `broken`, `locked` and `marked` as for a list."""

    __slots__ = ("broken", "locked", "marked", "serial")
    broken: CompileError | None
    locked: str
    marked: bool
    serial: int

    def __init__(self, items: Any = (), marked: bool = False) -> None:
        super().__init__(items)
        _begin(self, marked)

    def copied(self) -> Any:
        return dict(self)

    def fill(self, saved: Any) -> None:
        self.clear()
        self.update(saved)

    def _new(self, held: Any) -> LocalDict:
        return LocalDict(held, self.marked)


@shown_as("str")
class Text:
    """A str known at run time: ``form.format(*arguments)``.

    `ways` says what each argument is to the form: the `str` or `repr` of a Tensor, an `array` or `scalar` of NumPy's, a
    Python `number`, or another `text`.
    """

    __slots__ = ("arguments", "form", "ways")

    def __init__(self, form: str, arguments: tuple[Any, ...], ways: tuple[str, ...]) -> None:
        self.form, self.arguments, self.ways = form, arguments, ways


@shown_as("exception")
class NewException:
    """An exception that compiled code makes: its class and arguments."""

    __slots__ = ("args", "cls", "kwargs")

    def __init__(self, cls: type[BaseException], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.cls, self.args, self.kwargs = cls, args, kwargs


@shown_as("object")
class LocalObject(Aliased):
    """An instance of a `jit_class` class made by compiled code: its attributes; `broken`, `locked` as for a list."""

    __slots__ = ("broken", "cls", "locked", "serial", "slots")

    def __init__(self, cls: type, slots: Any = ()) -> None:
        self.cls, self.slots = cls, dict(slots)
        self.broken: CompileError | None = None
        self.locked = ""
        self.serial = serial_now()

    def copied(self) -> Any:
        return dict(self.slots)

    def fill(self, saved: Any) -> None:
        self.slots = dict(saved)

    def _new(self, held: Any) -> LocalObject:
        return LocalObject(self.cls, held)


@shown_as("super")
class LocalSuper:
    """``super()`` in a method of a LocalObject: what the classes after `after` in its MRO have."""

    __slots__ = ("after", "owner")

    def __init__(self, after: type, owner: LocalObject) -> None:
        self.after, self.owner = after, owner


@shown_as("ndarray")
class ArrayVar(Unknown):
    """What `asnumpy` gave in compiled code: an array known by its type, detached.  `kind` is ndarray, or generic for a
    NumPy scalar; `owner` the Tensor or Parameter whose memory it shares.
    """

    __slots__ = ("kind", "owner", "value")

    def __init__(self, value: Value, kind: type = np.ndarray, owner: Any = None) -> None:
        self.value, self.kind, self.owner = value, kind, owner

    @property
    def type(self) -> TensorType:
        return self.value.type  # type: ignore[return-value]


@shown_as("set")
class LocalSet(set, Aliased):
    """A set of static elements made by compiled code; `broken` and `locked` as for a list."""

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.broken: CompileError | None = None
        self.locked = ""
        self.serial = serial_now()

    def copied(self) -> Any:
        return set(self)

    def fill(self, saved: Any) -> None:
        self.clear()
        self.update(saved)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(set(self))


#: Objects of compiled code that change: they have a serial, and are broken where paths disagree about them.
_CHANGING = (LocalList, LocalDict, LocalSet, LocalObject)


class DictView(tuple):
    """What the method `kind` (`keys`, `values` or `items`) of a dict gave, with the dict."""

    source: LocalDict
    kind: str

    def __repr__(self) -> str:
        return f"dict_{self.kind}({list(self)})"

    def is_stale(self) -> bool:
        """Whether the dict has changed since, so that Python's view would show something else."""
        now = list(getattr(self.source, self.kind)())
        parts = [(x, y) if self.kind == "items" else ((x,), (y,)) for x, y in zip(self, now, strict=False)]
        return len(now) != len(self) or any(p is not q for x, y in parts for p, q in zip(x, y, strict=True))


def is_marked(x: Any) -> bool:
    """Whether a value is marked with `mutable`."""
    return isinstance(x, Mutable) or (isinstance(x, LocalList | LocalDict) and x.marked)


def unmarked(x: Any) -> Any:
    """The value without that mark."""
    return type(x)(x) if isinstance(x, LocalList | LocalDict) else plain(x)


def is_broken(x: Any) -> bool:
    """Whether x is a container whose content is not known here."""
    return isinstance(x, _CHANGING) and x.broken is not None


def class_of(x: Any) -> type:
    """The class of an object, also of one made by compiled code."""
    return x.cls if type(x) is LocalObject else type(x)


def usable(x: Any) -> Any:
    """x itself; raises if it is a container whose content is not known here."""
    if isinstance(x, _CHANGING) and x.broken is not None:
        raise x.broken.again(None, "")
    if type(x) is DictView and x.is_stale():
        raise UnsupportedSyntaxError(
            f"what `{x.kind}()` of a dict gave is used after the dict has changed",
            code="AC1103",
            hint=f"call `{x.kind}()` again",
        )
    return x


#: Reasons for locking a Tensor.
OUTSIDE = "came from outside"
EITHER = "is one of several, chosen at run time,"
PARAMETERS = "is one of several Parameters, chosen at run time,"

#: The source of a Tensor that is a Parameter to the code of a call whose gradients are watched.
STANDS_FOR_PARAMETER = "stands for a Parameter"


@dataclass(frozen=True)
class MaybeUnbound:
    """A name without a usable value: reading it is an error that names the place where paths differ.

    It has a value on some paths only, or (then `error` says so) values of different types.
    """

    loc: Loc | None
    why: str
    error: CompileError | None = None


def is_unbound(x: Any) -> bool:
    """Whether a name or attribute has no usable value."""
    return x is UNBOUND or type(x) is MaybeUnbound


def is_dynamic(x: Any) -> bool:
    return type(x) in (TensorVar, Weak, StateVar, ArrayVar)


def describe(x: Any) -> str:
    """A value in the words of an error message."""
    if type(x) is TensorVar or type(x) is StateVar:
        return f"Tensor {x.type}"
    if type(x) is Weak:
        return f"{x.kind.__name__} known at run time"
    if type(x) is Text:
        return "str known at run time"
    if type(x) is ArrayVar:
        return f"NumPy {'array' if x.kind is np.ndarray else 'scalar'} {x.type}"
    if type(x) is LocalObject:
        return f"{x.cls.__name__} object"
    if isinstance(x, Tensor):
        return "Tensor"
    if x is None or isinstance(x, bool | int | float | str):
        return f"{type(x).__name__} {x!r}" if x is not None else "None"
    if isinstance(x, types.ModuleType):
        return f"module {module_name(x)!r}"
    if isinstance(x, LocalList) and type(x) is not LocalList:
        return "list"  # how long it is is not known
    for kind in (dict, list, tuple, set):
        if isinstance(x, kind):
            return f"{kind.__name__} of {len(x)}"
    named = isinstance(x, type | types.FunctionType | types.BuiltinFunctionType | types.MethodType)
    return f"{type(x).__name__} {x.__qualname__}" if named else f"{type(x).__name__} object"


#: Why a Tensor made of an ndarray argument is locked.
ARRAY = "was given as an ndarray"


def is_tensor(x: Any) -> bool:
    """Whether an abstract value is a Tensor."""
    return type(x) is TensorVar or type(x) is StateVar


@shown_as("method")
class BoundContainer:
    """A method of a list, tuple or dict inside compiled code."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name
