"""What compiled code depends on: each guard knows what was read while compiling, and whether it is still the same."""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...source import Loc, shown_line
from .contents import Content, content_of, matches, shown
from .objects import is_changeable, own_attributes

#: How what was read is found again.
Fetch = Callable[[], Any]
#: A quick way to read it: a function, and what to call it with.
Quick = tuple[Callable[[Any], Any], Any]
#: An identity guard: a function, what to call it with, and the very object it must give.
Entry = tuple[Callable[[Any], Any], Any, Any]


@dataclass(frozen=True)
class Guard:
    """Something read while compiling: `fetch()` must still give `expected` for the compiled code to be valid."""

    what: str
    fetch: Fetch
    expected: Any
    #: whether every change of it moves the process-wide epoch (attributes of Cells)
    watched: bool = False
    #: where it was read first
    loc: Loc | None = None
    quick: Quick | None = None
    #: when it is asked: after the lookups and the functions
    turn: ClassVar[int] = 2

    def in_short(self, contents: bool) -> list[Entry]:
        """Its identity guards (see `in_short`); none if `holds` must be called."""
        if self.quick is None or (isinstance(self.expected, Content) and not contents):
            return []
        return [(*self.quick, self.expected)]

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
    turn = 1

    def __init__(self, fn: Any, loc: Loc | None = None) -> None:
        self.what, self.loc = f"function {fn.__qualname__}", loc
        self.fn = fn
        self._code, self._defaults, self._named = fn.__code__, fn.__defaults__, fn.__kwdefaults__
        self._content = content_of(self._named) if self._named else None

    def in_short(self, contents: bool) -> list[Entry]:
        """Its identity guards, as those of a `Guard`."""
        if self._named:
            return []
        # Where there are no defaults, every argument was given, and later defaults change nothing.
        kept = [(_defaults, self.fn, self._defaults)] if self._defaults else []
        return [(_code, self.fn, self._code), *kept]

    def holds(self) -> bool:
        fn = self.fn
        if fn.__code__ is not self._code or fn.__defaults__ is not self._defaults:
            return False
        return fn.__kwdefaults__ is self._named and (self._content is None or matches(self._named, self._content))

    def redefined(self) -> bool:
        """Whether it has other code now, and not only other defaults."""
        return self.fn.__code__ is not self._code

    def seen(self) -> str:
        """The defaults and the line of the definition that was compiled."""
        return self._text(self._code, self._defaults)

    def now(self) -> str:
        """The defaults and the line of the definition that holds now."""
        return self._text(self.fn.__code__, self.fn.__defaults__)

    @staticmethod
    def _text(code: types.CodeType, defaults: tuple[Any, ...] | None) -> str:
        given = f" with the defaults {shown(defaults)}" if defaults else ""
        return f"the definition at {shown_line(code.co_filename, code.co_firstlineno)}{given}"


class LookupGuard:
    """What names stand for in classes, modules and builtins, and of which class objects are: looked up one by one.

    It comes before the guards that read attributes, so that those find what was found while compiling, and run no code
    of the user's.
    """

    what = "what names in classes, modules and builtins stand for"
    watched = False
    loc = None
    turn = 0

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

    def in_short(self, contents: bool) -> list[Entry]:
        """Its identity guards, as those of a `Guard`."""
        return self.entries

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
    """All guards: identity guards first, in the order of their turns, and the predicates of the other guards.

    Where an identity guard fails, `holds` of its guard decides.  With `contents`, guards of content are among the
    former, with the `Content`.
    """
    asked = [(g.turn, g.in_short(contents), g.holds) for g in guards]
    quick = [entry for _, entries, _ in sorted(asked, key=operator.itemgetter(0)) for entry in entries]
    return quick, [holds for _, entries, holds in asked if not entries]
