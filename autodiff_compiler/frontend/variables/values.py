"""What a name may stand for while a function is being compiled.

A *static* value is the Python object itself.  A *dynamic* one is known only by its type: a Tensor (`TensorVar`), a
Python number (`SymScalar`), a state cell (`StateVar`).  Tuples, lists and dicts are Python's own, with such values
inside; lists and dicts that compiled code made (and may therefore change) are `LocalList` and `LocalDict`.

What is no Python object is `Abstract`: it says itself what it is.  The functions here ask it, and answer for objects.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ...errors import CompileError, InternalCompilerError, LoopError, StaticValueError, UnsupportedSyntaxError, shown_as
from ...ir.abstract import Abstract, abstract
from ...ir.core import Unknown, Value
from ...ir.types import Dim, TensorType
from ...primitives.requirements import SymScalar as SymScalar
from ...runtime.mutable import Mutable, plain
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ...source import Loc
from ..guards.objects import UNBOUND, module_name
from ..guards.outer_names import called
from .changing import Aliased, Changing, serial_now

#: Reasons for locking a Tensor.
OUTSIDE = "came from outside"
EITHER = "is one of several, chosen at run time,"
PARAMETERS = "is one of several Parameters, chosen at run time,"


def is_box(x: Any) -> bool:
    """Whether a value is the box of a Tensor, which Tensors assigned by index change for all its names."""
    return type(x) is TensorVar


@shown_as("Tensor")
class TensorVar(Unknown, Aliased):
    """A Tensor known by its type: a box, shared by all names of that Tensor, around its current Value.

    `locked` says why its elements cannot be assigned: somebody whom this box does not know may hold the Tensor too.
    `snapshot`: the Tensor may be a Parameter, whose value was read when paths met.  `source`: the Parameter that
    `to_float` cast, or STANDS_FOR_PARAMETER.
    """

    __slots__ = ("locked", "serial", "snapshot", "source", "value")
    is_dynamic = is_tensor = True
    python_class = Tensor
    #: the reason for locking what is one of several of these
    locked_as_either = EITHER

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

    describe = __repr__

    @property
    def outlives_call(self) -> bool:
        return self.snapshot is None

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
class StateVar(Unknown, Abstract):
    """A Parameter (or other cell that outlives the call), read at the moment of use."""

    __slots__ = ("name", "source", "type")
    is_dynamic = is_tensor = is_parameter = True
    python_class = Parameter
    locked_as_either = PARAMETERS

    def __init__(self, name: str, type: TensorType, source: Tensor) -> None:
        self.name, self.type, self.source = name, type, source

    def __repr__(self) -> str:
        return f"Parameter {self.name}: {self.type}"

    def describe(self) -> str:
        return f"Tensor {self.type}"

    @property
    def snapshot(self) -> Snapshot:
        """What a Tensor that is this Parameter, or another one, is from now on."""
        return Snapshot(frozenset({self.name}), serial_now())


@dataclass(frozen=True)
class Snapshot:
    """The Parameters one of which a Tensor may be, and the time (a serial) of their reading: no write may follow."""

    states: frozenset[str]
    since: int


def snapshot_of(*boxes: Any) -> Snapshot | None:
    """The snapshot that one of these Tensors, chosen at run time, is."""
    found = [s for x in boxes if (s := x.snapshot) is not None]
    return Snapshot(frozenset().union(*(s.states for s in found)), min(s.since for s in found)) if found else None


class Held(NamedTuple):
    """The content of an attribute that was a Tensor at the entry, and whether it is still that Tensor."""

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
        return called(self.owner, self.name)

    def content(self) -> Any:
        known = is_box(self.entry) and not isinstance(self.held, CompileError)
        return Held(self.held, self.kept) if known else self.held

    def seen(self, value: Any) -> Any:
        return value.value if type(value) is Held else value

    def set_content(self, saved: Any) -> None:
        self.held, self.kept = saved if type(saved) is Held else (saved, saved is self.entry)


class _Container(Aliased):
    """A list, dict or set made by compiled code.

    `broken` is why its content cannot be known here, if paths disagree about it; `locked` as for a `TensorVar`;
    `marked` says that it was marked with `mutable`.
    """

    __slots__ = ()
    outlives_call = True

    def __init__(self, items: Any = (), marked: bool = False) -> None:
        super().__init__(items)  # type: ignore[call-arg]  # of a list, dict or set
        self.broken, self.locked, self.marked = None, "", marked  # type: ignore[misc]  # slots of subclasses
        self.serial = serial_now()  # type: ignore[misc]

    def describe(self) -> str:
        return described(self)

    def fill(self, saved: Any) -> None:
        self.clear()  # type: ignore[attr-defined]
        self.update(saved)  # type: ignore[attr-defined]

    def _new(self, held: Any) -> Any:
        return type(self)(held, self.marked)


@shown_as("list")
class LocalList(_Container, list):
    """A list made by compiled code."""

    __slots__ = ("broken", "locked", "marked", "serial")
    python_class = list
    #: whether what loops append to it may be stacked first
    stacks = True

    def __init__(self, items: Any = (), marked: bool = False) -> None:
        super().__init__(items, marked)
        if any(is_rows(x) for x in list.copy(self)):  # of all that makes lists, not all know those that grow
            self.fill(list.copy(self))

    def copied(self) -> Any:
        return list.copy(self)

    def fill(self, saved: Any) -> None:
        grown = any(is_rows(x) for x in saved)
        if grown and len(saved) > 1:
            raise InternalCompilerError("the elements of a list that grows are among others")
        list.__setitem__(self, slice(None), saved)
        collecting = len(saved) > 0 and saved[0] is EARLIER
        self.__class__ = GrownList if grown else CollectingList if collecting else LocalList

    def _new(self, held: Any) -> Any:
        made = LocalList((), self.marked)
        made.fill(list(held))
        return made

    def at(self, i: int) -> Any:
        """Element number i as it is now, as a loop over the list sees it."""
        return self[i]

    def by_key(self) -> list[tuple[Any, Any]]:
        return [*enumerate(self.copied())]

    def put(self, key: Any, element: Any) -> None:
        list.__setitem__(self, key, element)


class GrownList(LocalList):
    """A list of Tensors of one type, or of numbers, of which only run time knows how many there are.

    Its one element are their `Rows`.  A list becomes one where a loop or a branch has added to it.
    """

    __slots__ = ()

    def check_length(self, message: str, hint: str) -> None:
        raise LoopError(message, code="AC1504", hint=hint)


class CollectingList(LocalList):
    """A list as a trip of a kept loop sees it that appends to it: `EARLIER`, then the elements that the trip knows."""

    __slots__ = ()

    def describe(self) -> str:
        return "list that a loop appends to"

    def check_length(self, message: str, hint: str) -> None:
        raise LoopError("a list is looked at in a loop that appends to it", code="AC1504", hint=hint)


class Earlier(Abstract):
    """The elements of a `CollectingList` that a trip of the loop does not know."""

    def describe(self) -> str:
        return "list that a loop appends to"


EARLIER = Earlier()
#: Why the elements of a Tensor cannot be assigned that such a loop has appended: the list holds copies of their values.
COLLECTED = "was appended to a list in a loop"


@shown_as("list")
class Rows(Unknown, Abstract):
    """The elements of a `GrownList`: the slices of `value` along its first dimension, Tensors or of class `number`."""

    __slots__ = ("number", "value")
    is_dynamic = is_rows = True
    python_class = list

    def __init__(self, value: Value, number: type | None = None) -> None:
        self.value, self.number = value, number

    @property
    def type(self) -> TensorType:
        return self.value.type  # type: ignore[return-value]

    def describe(self) -> str:
        return "list whose length is known only at run time"


@shown_as("dict")
class LocalDict(_Container, dict):
    """A dict made by compiled code."""

    __slots__ = ("broken", "locked", "marked", "serial")
    python_class = dict

    def copied(self) -> Any:
        return dict(self)

    def at(self, i: int) -> Any:
        """Key number i as it is now."""
        return next(islice(self, i, None))

    def by_key(self) -> list[tuple[Any, Any]]:
        return [*self.items()]

    def put(self, key: Any, element: Any) -> None:
        dict.__setitem__(self, key, element)


@shown_as("set")
class LocalSet(_Container, set):
    """A set of static elements made by compiled code."""

    python_class = set
    outlives_call = False

    def copied(self) -> Any:
        return set(self)

    __hash__ = None

    def __repr__(self) -> str:
        return repr(set(self))


@shown_as("str")
class Text(Abstract):
    """A str known at run time: ``form.format(*arguments)``.

    `ways` says what each argument is to the form: the `str` or `repr` of a Tensor, an `array` or `scalar` of NumPy's, a
    Python `number`, or another `text`.
    """

    __slots__ = ("arguments", "form", "ways")
    python_class = str

    def __init__(self, form: str, arguments: tuple[Any, ...], ways: tuple[str, ...]) -> None:
        self.form, self.arguments, self.ways = form, arguments, ways

    def describe(self) -> str:
        return "str known at run time"

    def refuse(self, what: str) -> None:
        raise StaticValueError(
            f"{what} of a str that is known only at run time",
            hint="it can be printed, raised, be the message of an assert, or be joined to other text",
        )


@shown_as("exception")
class NewException(Abstract):
    """An exception that compiled code makes: its class and arguments."""

    __slots__ = ("args", "cls", "kwargs")

    def __init__(self, cls: type[BaseException], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.cls, self.args, self.kwargs = cls, args, kwargs

    @property
    def python_class(self) -> type:
        return self.cls

    def refuse(self, what: str) -> None:
        raise StaticValueError(f"{what} of an exception made by compiled code", hint="raise it")


@shown_as("object")
class LocalObject(Aliased):
    """An instance of a `jit_class` class made by compiled code: its attributes; `broken`, `locked` as for a list."""

    __slots__ = ("broken", "cls", "locked", "serial", "slots", "stands_in")

    def __init__(self, cls: type, slots: Any = ()) -> None:
        self.cls, self.slots = cls, dict(slots)
        #: whether it stands for an argument that is some object from outside
        self.stands_in = False
        self.broken, self.locked = None, ""
        self.serial = serial_now()

    @property
    def python_class(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"{self.cls.__name__} object"

    def copied(self) -> Any:
        return dict(self.slots)

    def fill(self, saved: Any) -> None:
        self.slots = dict(saved)

    def _new(self, held: Any) -> LocalObject:
        return LocalObject(self.cls, held)


@shown_as("super")
class LocalSuper(Abstract):
    """``super()`` in a method of a LocalObject: what the classes after `after` in its MRO have."""

    __slots__ = ("after", "owner")

    def __init__(self, after: type, owner: LocalObject) -> None:
        self.after, self.owner = after, owner


@shown_as("ndarray")
class ArrayVar(Unknown, Abstract):
    """What `asnumpy` gave in compiled code: an array known by its type, detached.  `kind` is ndarray, or generic for a
    NumPy scalar; `owner` the Tensor or Parameter whose memory it shares.
    """

    __slots__ = ("kind", "owner", "value")
    is_dynamic = is_array = True

    def __init__(self, value: Value, kind: type = np.ndarray, owner: Any = None) -> None:
        self.value, self.kind, self.owner = value, kind, owner

    @property
    def type(self) -> TensorType:
        return self.value.type  # type: ignore[return-value]

    @property
    def python_class(self) -> Any:
        return self.kind if self.kind is np.ndarray else self.type.dtype.numpy.type

    def describe(self) -> str:
        return f"NumPy {'array' if self.kind is np.ndarray else 'scalar'} {self.type}"


class DictView(Abstract, tuple):
    """What the method `kind` (`keys`, `values` or `items`) of a dict gave, with the dict."""

    source: LocalDict
    kind: str
    outlives_call = True

    def __repr__(self) -> str:
        return f"dict_{self.kind}({list(self)})"

    def describe(self) -> str:
        return described(self)

    def at(self, i: int) -> Any:
        """Element number i of the dict as it is now."""
        return next(islice(getattr(self.source, self.kind)(), i, None))

    def check_usable(self) -> None:
        if self._is_stale():
            raise UnsupportedSyntaxError(
                f"what `{self.kind}()` of a dict gave is used after the dict has changed",
                code="AC1103",
                hint=f"call `{self.kind}()` again",
            )

    def _is_stale(self) -> bool:
        """Whether the dict has changed since, so that Python's view would show something else."""
        now = list(getattr(self.source, self.kind)())
        parts = [(x, y) if self.kind == "items" else ((x,), (y,)) for x, y in zip(self, now, strict=False)]
        return len(now) != len(self) or any(p is not q for x, y in parts for p, q in zip(x, y, strict=True))


def is_marked(x: Any) -> bool:
    """Whether a value is marked with `mutable`."""
    return abstract(x).marked or isinstance(x, Mutable)


def unmarked(x: Any) -> Any:
    """The value without that mark."""
    return type(x)(x) if abstract(x).marked else plain(x)


def is_broken(x: Any) -> bool:
    """Whether x is a container whose content is not known here."""
    return abstract(x).broken is not None


def is_size(x: Any) -> bool:
    """Whether a value is a size that only a call knows: no number of Python's, but made of such sizes."""
    return x.__class__ is Dim


def class_of(x: Any) -> type:
    """The class of an object, also of one made by compiled code."""
    return x.python_class if isinstance(x, Abstract) else int if is_size(x) else type(x)


def usable(x: Any) -> Any:
    """x itself; raises if it is a container whose content is not known here."""
    abstract(x).check_usable()
    return x


def of_known_length(x: Any) -> Any:
    """A list that is gone through element by element; raises if it has grown meanwhile by a run-time condition."""
    abstract(usable(x)).check_length(
        "a list grows by a condition known only at run time while it is iterated over",
        "add to another list, and iterate over that afterwards",
    )
    return x


#: The source of a Tensor that is a Parameter to the code of a call whose gradients are watched.
STANDS_FOR_PARAMETER = "stands for a Parameter"


@dataclass(frozen=True)
class MaybeUnbound(Abstract):
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
    """Whether a value is a Tensor, an array or a number, known only at run time."""
    return abstract(x).is_dynamic


def is_iterator(x: Any) -> bool:
    """Whether a value is an iterator of compiled code, of which every element comes once."""
    return abstract(x).is_iterator


def describe(x: Any) -> str:
    """A value in the words of an error message."""
    return x.describe() if isinstance(x, Abstract) else described(x)


def described(x: Any) -> str:
    """The same for an object of Python's, or what is one."""
    return next(_WORDS[cls] for cls in type(x).__mro__ if cls in _WORDS)(x)


_WORDS: dict[type, Callable[[Any], str]] = {
    object: lambda x: f"{type(x).__name__} object",
    type(None): lambda x: "None",
    Tensor: lambda x: "Tensor",
    types.ModuleType: lambda x: f"module {module_name(x)!r}",
    **dict.fromkeys((bool, int, float, str), lambda x: f"{type(x).__name__} {x!r}"),
    dict: lambda x: f"dict of {len(x)}",
    list: lambda x: f"list of {len(x)}",
    tuple: lambda x: f"tuple of {len(x)}",
    set: lambda x: f"set of {len(x)}",
    **dict.fromkeys(
        (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
        lambda x: f"{type(x).__name__} {x.__qualname__}",
    ),
}


#: Why a Tensor made of an ndarray argument is locked.
ARRAY = "was given as an ndarray"


def is_tensor(x: Any) -> bool:
    """Whether an abstract value is a Tensor."""
    return abstract(x).is_tensor


def is_union(x: Any) -> bool:
    """Whether an abstract value is a Tensor of one of several ranks."""
    return abstract(x).is_union


def is_rows(x: Any) -> bool:
    """Whether an abstract value stands for the elements of a list whose length is known only at run time."""
    return abstract(x).is_rows


def is_parameter(x: Any) -> bool:
    """Whether an abstract value is a Parameter."""
    return isinstance(x, Abstract) and x.is_parameter


@shown_as("method")
class BoundMethod(Abstract):
    """A method of a Tensor, array or container of compiled code, bound; the `Variable` of its owner calls it."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name
