"""What a compiled program had written when an exception left it.

A program computes the new values of states, written arguments and attributes, and they take effect when it has ended.
Before each place where it may stop with an exception it notes what had been written by then; whoever runs the program
writes that back when it does stop.  Functions of the user's that the program calls on its way see it too (`seeing`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

__all__ = ["Commit", "Committed", "noting", "seeing", "sees_state"]

T = TypeVar("T")


class Committed:
    """The values noted in one run: those of states by name, and the rest by the place that noted it last."""

    __slots__ = ("home", "place", "rest", "show", "states")

    def __init__(self, home: Any, show: Show | None = None) -> None:
        self.home, self.show = home, show
        self.states: dict[str, Any] = {}
        self.place: Commit | None = None
        self.rest: tuple[Any, ...] = ()


#: Writes what was noted to where everybody sees it, for as long as a function of the user's runs.
Show = Callable[[Committed], AbstractContextManager[None]]


class _Running(threading.local):
    runs: Sequence[Committed] = ()


_running = _Running()


@contextmanager
def noting(home: Any, show: Show | None = None) -> Iterator[Committed]:
    """What the program of a module notes meanwhile in this thread; `home` is the object of the module's states."""
    noted = Committed(home, show)
    outer = _running.runs
    _running.runs = (*outer, noted)
    try:
        yield noted
    finally:
        _running.runs = outer


def seeing(home: Any, call: Callable[[], T]) -> T:
    """``call()``, a function of the user's in the program of this home, which sees what was written before it."""
    noted = _running.runs[-1] if _running.runs else None
    if noted is None or noted.home is not home or noted.show is None:
        return call()
    with noted.show(noted):
        return call()


def sees_state(fn: Any) -> bool:
    """Whether a host function of a program uses `seeing`, so that all must have been noted when it is called."""
    return getattr(fn, "sees_state", False) is True


class Commit:
    """The host function that a program calls with the values to be noted: of the states named, or of all the rest.

    They are for an exception that leaves the op that follows, so a backend need not call before there is one; those of
    a `lasting` one are for all that follow.
    """

    #: How a program that was saved spells it: nobody writes anything back there.
    text = "None"

    def __init__(self, home: Any, states: tuple[str, ...] | None = None, lasting: bool = False) -> None:
        self.home, self.states, self.lasting = home, states, lasting

    def __call__(self, *arrays: Any) -> None:
        if not _running.runs or _running.runs[-1].home is not self.home:
            return
        noted = _running.runs[-1]
        if self.states is None:
            noted.place, noted.rest = self, arrays
        else:
            noted.states.update(zip(self.states, arrays, strict=True))
