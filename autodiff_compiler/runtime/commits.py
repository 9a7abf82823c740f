"""Commits: what a compiled program had written when an exception left it.

A program returns the new values of states, written arguments and attributes, and its caller writes them back.  Before
each op that may raise, a commit records the values so far; if it does raise, the caller writes these back.  Users'
functions that the program calls see them, too (`seeing`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

__all__ = ["Commit", "Committed", "noting", "seeing", "sees_state"]

T = TypeVar("T")


class Committed:
    """The values recorded in one run: of states by name, and the rest (`rest`) by the last `Commit` (`place`)."""

    __slots__ = ("home", "place", "rest", "show", "states")

    def __init__(self, home: Any, show: Show | None = None) -> None:
        self.home, self.show = home, show
        self.states: dict[str, Any] = {}
        self.place: Commit | None = None
        self.rest: tuple[Any, ...] = ()


#: A context manager that writes recorded values back while a user's function runs.
Show = Callable[[Committed], AbstractContextManager[None]]


class _Running(threading.local):
    runs: Sequence[Committed] = ()


_running = _Running()


@contextmanager
def noting(home: Any, show: Show | None = None) -> Iterator[Committed]:
    """Within it the commits of a module's program in this thread are recorded; `home`: the module's states."""
    noted = Committed(home, show)
    outer = _running.runs
    _running.runs = (*outer, noted)
    try:
        yield noted
    finally:
        _running.runs = outer


def seeing(home: Any, call: Callable[[], T]) -> T:
    """``call()``, a user's function in the program of this home, with the values recorded before it written back."""
    noted = _running.runs[-1] if _running.runs else None
    if noted is None or noted.home is not home or noted.show is None:
        return call()
    with noted.show(noted):
        return call()


def sees_state(fn: Any) -> bool:
    """Whether a host function uses `seeing`, so that commits before it must have run."""
    return getattr(fn, "sees_state", False) is True


class Commit:
    """The host function that records values: of the states named, or of everything else.

    They are for an exception of the next op, so a backend may call it only when that raises; those of a `lasting` one
    are for all ops that follow.
    """

    #: Its text in a saved program, in which nothing is written back.
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
