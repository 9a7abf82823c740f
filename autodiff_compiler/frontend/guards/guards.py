"""What compiled code depends on: each guard knows what was read while compiling, and whether it is still the same."""

from __future__ import annotations

import enum
import functools
import itertools
import operator
import os
import re
import reprlib
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import DType
from ...errors import RecursionDepthError
from ...ir.abstract import Abstract
from ...ir.types import TensorType
from ...runtime.parameter import Parameter
from ...runtime.records import held_besides, is_named_tuple
from ...runtime.tensor import Tensor
from ...source import Loc
from .objects import is_changeable, module_name, own_attributes, same_static, type_of

__all__ = [
    "AnyGuard",
    "Content",
    "FunctionGuard",
    "Guard",
    "Holds",
    "LookupGuard",
    "MethodOf",
    "check_nesting",
    "content_of",
    "in_short",
    "shown",
    "stated",
]

_LEAVES_SHOWN = 4
#: Below how many bytes a copy of an array is made to compare it, which is quicker then.
_COPIED = 2048
#: In how many levels of containers from outside compiled code looks.
_DEEPEST = 200


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
    #: a quick way to read it: a function and what to call it with
    quick: tuple[Callable[[Any], Any], Any] | None = None

    def holds(self) -> bool:
        try:
            return matches(self.fetch(), self.expected)
        except (AttributeError, KeyError, IndexError, ValueError):
            return False

    def seen(self) -> str:
        """What it was while compiling."""
        return self._told(self.expected)

    def now(self) -> str:
        """What it is now."""
        try:
            return self._told(content_of(self.fetch()))
        except (AttributeError, KeyError, IndexError, ValueError):
            return "nothing: it does not exist any more"

    def _told(self, value: Any) -> str:
        if self.what.startswith(_WHETHER):
            return "yes" if value else "no"
        return "none" if self.what.startswith(_THINGS) and not value else shown(value)


#: How texts begin that ask a question, and those about any number of things: neither "is" something.
_WHETHER, _THINGS = "whether ", "the hooks of "


def stated(what: str, seen: str, place: str = "", now: str | None = None) -> str:
    """What was read, where, what it was and, if that changed, what it is now, as people say it.

    >>> stated("global rate", "3", " (a.py:5)", "4"), stated("whether a Net has 'fc'", "yes", now="no")
    ('global rate is 3 (a.py:5); now it is 4', "a Net has 'fc': yes; now: no")
    """
    named = what.startswith((_WHETHER, _THINGS))
    text = f"{what.removeprefix(_WHETHER)}{':' if named else ' is'} {seen}{place}"
    return text if now is None else f"{text}; now{':' if named else ' it is'} {now}"


_code, _defaults = operator.attrgetter("__code__"), operator.attrgetter("__defaults__")


class FunctionGuard:
    """A Python function that was compiled: its code and its defaults must still be the same."""

    watched = False

    def __init__(self, fn: Any, loc: Loc | None = None) -> None:
        self.what, self.loc = f"function {fn.__qualname__}", loc
        self.fn = self._fn = fn
        self._code, self._defaults, self._named = fn.__code__, fn.__defaults__, fn.__kwdefaults__
        self._content = content_of(self._named) if self._named else None
        #: quick ways to ask, as in `Guard`, with what each must give
        self.quick: Any = ()
        if not self._named:
            # Where there are no defaults, every argument was given, and later defaults change nothing.
            kept = ((_defaults, fn, self._defaults),) if self._defaults else ()
            self.quick = ((_code, fn, self._code), *kept)

    def holds(self) -> bool:
        fn = self._fn
        if fn.__code__ is not self._code or fn.__defaults__ is not self._defaults:
            return False
        return fn.__kwdefaults__ is self._named and (self._content is None or matches(self._named, self._content))

    def redefined(self) -> bool:
        """Whether it has other code now, and not only other defaults."""
        return self._fn.__code__ is not self._code

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


#: A function, what to call it with, and the very object it must give.
Entry = tuple[Callable[[Any], Any], Any, Any]


class LookupGuard:
    """What names stand for in classes, modules and builtins, and of which class objects are: looked up one by one.

    It comes before the guards that read attributes, so that those find what was found while compiling, and run no code
    of the user's.
    """

    what = "what names in classes, modules and builtins stand for"
    watched = False
    loc = None

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        #: for each of them the names that it looks at, where those are all
        self.spaces: list[Any] = []
        #: what each is called; of names that must not appear, what stands before them, and the names
        self.names: list[Any] = []
        self._known: set[tuple[Any, ...]] = set()
        self._absent: dict[int, set[str]] = {}
        self._kept: list[Any] = []  # whose id is in `_known`

    def _once(self, owner: Any, *more: Any) -> bool:
        """Whether this is asked for the first time."""
        key = (id(owner), *more)
        if key in self._known:
            return False
        self._known.add(key)
        self._kept.append(owner)
        return True

    def _add(self, get: Callable[[Any], Any], key: Any, value: Any, name: str, space: Any = None) -> None:
        self.entries.append((get, key, value))
        self.spaces.append(space)
        self.names.append(name)

    def name(self, space: Any, name: str, what: str, owner: Any = None) -> None:
        """A name that a namespace has: it must keep what it stands for."""
        if self._once(owner or space, "name", name):
            value = space[name]
            self._add(space.get if value is not None else space.__getitem__, name, value, f"{what}{name}", space)

    def absence(self, space: Any, name: str, what: str, owner: Any = None) -> None:
        """A name that a namespace has not: it must not appear."""
        names = self._absent.get(id(owner or space))
        if names is None:
            names = self._absent[id(owner or space)] = set()
            self._kept.append(owner or space)
            self.entries.append((space.keys().isdisjoint, names, True))
            self.spaces.append(space)
            self.names.append((what, names))
        names.add(name)

    def attribute(self, cls: type, name: str) -> None:
        """What a class has under a name, itself or by a class that it inherits from."""
        if not self._once(cls, "attribute", name):
            return
        self.bases(cls)
        for c in cls.__mro__:
            if name in c.__dict__:
                if is_changeable(c):
                    self.name(c.__dict__, name, f"{c.__name__}.", c)
                return
            if is_changeable(c) and c.__module__.partition(".")[0] != _PACKAGE:
                self.absence(c.__dict__, name, f"{c.__name__}.", c)

    def bases(self, cls: type) -> None:
        """The classes that a class inherits from."""
        if is_changeable(cls) and cls.__module__.partition(".")[0] != _PACKAGE and self._once(cls, "bases"):
            self._add(_mro, cls, cls.__mro__, f"the classes that {cls.__name__} inherits from")

    def kind(self, obj: Any, space: Any = None) -> None:
        """The class of an object, which may be changed if the user wrote it; of a module, whose names are `space`."""
        if self._once(obj, "kind"):
            self._add(type, obj, type(obj), f"the class of a {type(obj).__name__} object", space)

    def descriptor(self, static: Any) -> None:
        """Whether what a class holds takes part in reading or writing it, which its own class says."""
        cls = type(static)
        if not is_changeable(cls) or cls.__module__.partition(".")[0] in _UNCHANGED:
            return
        if not isinstance(static, type):
            self.kind(static)
        for name in ("__get__", "__set__", "__delete__"):
            self.attribute(cls, name)

    def holds(self) -> bool:
        try:
            return not any(get(key) is not value for get, key, value in self.entries)
        except KeyError:
            return False

    def seen(self) -> str:
        """The names that are watched."""
        return ", ".join(sorted(_texts(self.names)))

    def now(self) -> str:
        """Which of them have changed."""
        changed = [n for n, entry in zip(self.names, self.entries, strict=True) if not _unchanged(entry)]
        return f"others: {', '.join(sorted(_texts(changed)))}" if changed else "the same"


_PACKAGE = __name__.partition(".")[0]
_mro = operator.attrgetter("__mro__")
#: Where the classes are defined that nobody changes.
_UNCHANGED = sys.stdlib_module_names | {"numpy", "scipy", _PACKAGE}


def _texts(names: list[Any]) -> set[str]:
    return {n if isinstance(n, str) else ", ".join(f"{n[0]}{name}" for name in sorted(n[1])) for n in names}


def _unchanged(entry: Entry) -> bool:
    get, key, value = entry
    try:
        return get(key) is value
    except KeyError:
        return False


AnyGuard = Guard | FunctionGuard | LookupGuard


#: How an object that is only compared by identity is shown.
_OBJECT = re.compile(r"a \w+ object$")


def shown(x: Any) -> str:
    """A value that guards compare, in few words."""
    if isinstance(x, TensorType):
        return f"Tensor {x}"
    if isinstance(x, Content):
        return _written(x.kind, x.items)
    if isinstance(x, tuple | list) and not is_named_tuple(x):
        return _written(type(x), x)
    if isinstance(x, types.ModuleType):
        return f"module {module_name(x)}"
    if isinstance(x, type | types.FunctionType):
        return f"{'class' if isinstance(x, type) else 'function'} {x.__name__}"
    plain = x is None or isinstance(
        x, bool | int | float | str | bytes | DType | slice | range | enum.Enum | np.generic
    )
    return reprlib.repr(x) if plain else f"a {type(x).__name__} object"


def _written(kind: type, items: Any) -> str:
    """A container of some kind as Python writes it; `items` as `Content` has them."""
    if issubclass(kind, np.ndarray):
        return f"array {items.dtype}{[*items.shape]} of {_written(list, items.ravel()[: _LEAVES_SHOWN + 1].tolist())}"
    if issubclass(kind, functools.partial):
        return f"partial({', '.join(map(shown, items))})"
    base = next(b for b in (dict, list, tuple, set, frozenset) if issubclass(kind, b))
    if base is not dict and (alike := _objects(items)):
        return f"a {kind.__name__} of {alike}"
    parts = [*map(shown, items[: _LEAVES_SHOWN + 1])]
    if base is dict:
        keys, values = items[: len(items) // 2], items[len(items) // 2 :]
        pairs = itertools.islice(zip(keys, values, strict=True), _LEAVES_SHOWN + 1)
        parts = [f"{shown(key)}: {shown(value)}" for key, value in pairs]
    text = ", ".join([*parts[:_LEAVES_SHOWN], *["..."] * (len(parts) > _LEAVES_SHOWN)])
    text += "," * (base is tuple and len(parts) == 1)
    if base is set or base is frozenset:
        text = f"{{{text}}}" if parts else ""
        return text if kind is set and parts else f"{kind.__name__}({text})"
    text = f"[{text}]" if base is list else f"({text})" if base is tuple else f"{{{text}}}"
    return text if kind is base else f"{kind.__name__}({text})"


def _objects(items: Any) -> str:
    """How many objects of one class these are, of which nothing else is known; nothing if they are not."""
    first = shown(items[0]) if len(items) > 1 else ""
    same = _OBJECT.match(first) and all(shown(x) == first for x in items)
    return f"{len(items)} {first[2:]}s" if same else ""


def matches(now: Any, expected: Any) -> bool:
    """Whether a value read again is, for compiled code, the one seen before."""
    if now is expected:
        return True
    if isinstance(expected, Content):
        return expected.matches(now)
    if isinstance(expected, TensorType):
        return isinstance(now, Tensor) and type_of(now) is expected
    if isinstance(expected, tuple) and isinstance(now, tuple) and type(now) is type(expected):
        return len(now) == len(expected) and all(map(matches, now, expected)) and not _attributes(now)
    return same_static(now, expected)


def check_nesting(value: Any) -> None:
    """Refuses a value from outside that holds itself, or containers in more levels than are followed."""
    level = [value]
    for _ in range(_DEEPEST):
        held = [x for holder in level for x in _held(holder) if isinstance(x, list | dict | tuple)]
        level = list({id(x): x for x in held}.values())
        if not level:
            return
    raise RecursionDepthError(
        f"a {type(value).__name__} from outside holds itself, or containers nested more than {_DEEPEST} deep",
        hint="keep the way back in an attribute of an object",
    )


def _held(holder: Any) -> Iterable[Any]:
    return type(holder).values(holder) if isinstance(holder, dict) else holder  # no method of an object of the user's


def content_of(value: Any) -> Any:
    """What an outside value must match later: containers by content, Tensors by type, other objects by identity."""
    if isinstance(value, list | dict | tuple):
        check_nesting(value)
    return _content_of(value)


def _content_of(value: Any) -> Any:
    if isinstance(value, Abstract):
        return value  # made by compiled code: no guard watches what it holds
    if isinstance(value, list | dict | set | frozenset | np.ndarray | functools.partial):
        return Content(value)
    if isinstance(value, tuple):
        items = tuple(map(_content_of, value))
        plain = all(a is b for a, b in zip(items, value, strict=True)) and not _attributes(value)
        return value if plain else Content(value)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return type_of(value)
    return value


_BARE = frozenset((tuple, list, dict, set, frozenset, np.ndarray))


def _attributes(x: Any) -> list[tuple[str, Any]]:
    """What a container holds besides its elements."""
    return held_besides(x) if type(x) not in _BARE else []


class Content:
    """The content of an outside container, array or partial function as it was read."""

    def __init__(self, owner: Any) -> None:
        self.kind = type(owner)
        #: what has attributes, which are watched where they are read: so another object cannot take its place
        self.only = owner if _attributes(owner) else None
        self._factory = self._factory_of(owner)
        #: the bytes of an array's elements in the order of C, where those are no objects
        self.stored: bytes | None = None
        if not isinstance(owner, np.ndarray):
            self.items: Any = list(map(_content_of, self._of(owner)))
        elif owner.dtype.hasobject or not owner.nbytes:
            self.items = owner.copy()
        else:
            self.stored = owner.tobytes()
            self.items = np.frombuffer(self.stored, owner.dtype).reshape(owner.shape)

    @staticmethod
    def _factory_of(owner: Any) -> Any:
        return owner.default_factory if isinstance(owner, defaultdict) else None

    @staticmethod
    def _of(owner: Any) -> list[Any]:
        if isinstance(owner, dict):
            return [*owner, *type(owner).values(owner)]
        if isinstance(owner, functools.partial):
            return [owner.func, owner.args, owner.keywords]
        return sorted(owner, key=repr) if isinstance(owner, set | frozenset) else list(owner)

    def matches(self, now: Any) -> bool:
        if type(now) is not self.kind or (now is not self.only and _attributes(now)):
            return False
        if self.only is not None and (now is not self.only or self._factory is not self._factory_of(now)):
            return False
        if isinstance(now, np.ndarray):
            return now.shape == self.items.shape and now.dtype == self.items.dtype and self._same_bytes(now)
        items = self._of(now)
        return len(items) == len(self.items) and all(map(matches, items, self.items))

    def _same_bytes(self, now: Any) -> bool:
        """Whether an array has these very bits: so NaNs equal themselves, and 0.0 is not -0.0."""
        if self.stored is None:
            return bool(now.tobytes() == self.items.tobytes())
        if now.nbytes < _COPIED or not now.flags.c_contiguous:
            return bool(now.tobytes() == self.stored)
        word = np.uint64 if now.nbytes % 8 == 0 else np.uint8
        return bool((now.reshape(-1).view(word) == np.frombuffer(self.stored, word)).all())


class MethodOf:
    """A quick way to read the function of a method, as in `Guard`: what an object's class has under a name.

    A class, so that it is known what is read, and by which name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, owner: Any) -> Any:
        return getattr(owner, self.name).__func__


class Holds:
    """A quick way to ask whether an object has an attribute of that name itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, owner: Any) -> bool:
        return self.name in own_attributes(owner)


def in_short(guards: Sequence[AnyGuard], contents: bool = False) -> tuple[list[Entry], list[Callable[[], bool]]]:
    """How to ask guards quickly: functions to call, with what, and the very object each must give; what is left.

    Where it gives another object, the guards themselves must be asked.  With `contents`, those that ask for content are
    among the former, with the `Content`.
    """
    lookups = [entry for g in guards if isinstance(g, LookupGuard) for entry in g.entries]
    functions = [entry for g in guards if isinstance(g, FunctionGuard) and g.quick for entry in g.quick]
    quick = [g for g in guards if isinstance(g, Guard) and g.quick and (contents or type(g.expected) is not Content)]
    read = [(*g.quick, g.expected) for g in quick if g.quick]
    others = [g for g in guards if not isinstance(g, LookupGuard) and not (isinstance(g, FunctionGuard) and g.quick)]
    return [*lookups, *functions, *read], [g.holds for g in others if not any(g is q for q in quick)]
