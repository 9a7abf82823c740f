"""Objects of compile time that change: what regions note, joins join and loops carry."""

from __future__ import annotations

import itertools
from typing import Any

from ...errors import CompileError, JoinError, StaticValueError, shown_as
from ...ir.abstract import Abstract, abstract
from ...source import Loc

_serial = itertools.count()

#: The end of a hint, for loops whose trips are not known already.
KNOWN_TRIPS = ", or loop a number of times known at compile time"


def serial_now() -> int:
    """A number that is greater than the serial of every object made before."""
    return next(_serial)


class Changing(Abstract):
    """An object of compile time that changes: regions note what it holds, branches join that and loops carry it.

    `serial` is greater than that of what was made before.  It is `broken` where paths disagree about its content.
    """

    __slots__ = ()
    serial: int

    def content(self) -> Any:
        """A copy of what it holds now; why that is not known, if it is broken."""
        return self.copied() if self.broken is None else self.broken

    def set_content(self, saved: Any) -> None:
        """Puts a saved content back."""
        self.broken = saved if isinstance(saved, CompileError) else None  # type: ignore[misc]  # a slot of subclasses
        if self.broken is None:
            self.fill(saved)

    def copied(self) -> Any:
        """A copy of what it holds."""
        raise NotImplementedError

    def fill(self, saved: Any) -> None:
        """Gives it other content."""
        raise NotImplementedError

    def as_value(self, held: Any) -> Any:
        """A content as an abstract value, which can be joined."""
        return held

    def of_value(self, value: Any) -> Any:
        """The content that such a value is."""
        return value

    def seen(self, value: Any) -> Any:
        """Of such a value what compiled code sees."""
        return value

    #: what error messages call it, if it has a name of its own
    label = ""

    def uneven(self, error: CompileError) -> CompileError:
        """The error for whoever reads it after paths that disagree about it; `error` says how."""
        return error

    def changed_in_loop(self, error: CompileError, loc: Loc | None) -> CompileError:
        """The error for a loop that is kept and whose trips disagree about it."""
        return error


class Aliased(Changing):
    """A value that changes: all names and elements that are this very object see it.

    `locked` says why compiled code cannot change it: somebody who is not known here may hold it too.
    """

    __slots__ = ()
    is_aliased = True

    def like(self, held: Any) -> Any:
        """Another one of the same kind, with other content."""
        made = self._new(held)
        made.locked = self.locked
        return made

    def _new(self, held: Any) -> Any:
        return type(self)(held)  # type: ignore[call-arg]  # of subclasses

    def by_key(self) -> list[tuple[Any, Any]]:
        """The elements that may be replaced (see `put`), with their indices or keys."""
        return []

    def put(self, key: Any, element: Any) -> None:
        """Replaces an element, as if it had been that one before."""
        raise NotImplementedError

    def as_of(self, held: Any) -> Any:
        """One like it with the content that it had at another time."""
        if isinstance(held, CompileError):
            raise held
        made = self.like(held)
        made.serial = self.serial
        return made


def is_aliased(x: Any) -> bool:
    """Whether a value is an object that others may hold, too, and see its changes."""
    return abstract(x).is_aliased


@shown_as("iterator")
class Progress(Changing):
    """How far compiled code has got with something; `broken` as for a list."""

    #: what paths must agree about
    held: Any

    def __init__(self) -> None:
        self.broken = None
        self.serial = serial_now()

    def copied(self) -> Any:
        return self.held

    def fill(self, saved: Any) -> None:
        self.held = saved

    def uneven(self, error: CompileError) -> CompileError:
        what = "how many elements are left of an iterator depends on data: the paths do not take the same from it"
        hint = "take the elements before the paths part, or make a list of them"
        return StaticValueError(what, spans=error.spans, hint=hint)

    def changed_in_loop(self, error: CompileError, loc: Loc | None) -> CompileError:
        return JoinError(
            "elements are taken from an iterator in a loop that runs at run time",
            code="AC1406",
            loc=loc,
            hint=f"make a list of its elements before the loop{KNOWN_TRIPS}",
        )


@shown_as("iterator")
class Cursor(Progress):
    """How many elements were taken from an iterator of compiled code."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    @property
    def held(self) -> slice:
        return slice(self.taken, None)

    @held.setter
    def held(self, saved: slice) -> None:
        self.taken = saved.start
