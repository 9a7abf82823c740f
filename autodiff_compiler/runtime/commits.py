"""What a compiled program had written when an exception left it.

A program computes the new values of states, written arguments and attributes, and they take effect when it has ended.
Before each place where it may stop with an exception it notes what had been written by then; whoever runs the program
writes that back when it does stop.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["Commit", "Committed", "noting"]


class Committed:
    """The values noted in one run: those of states by name, and the rest by the place that noted it last."""

    __slots__ = ("home", "place", "rest", "states")

    def __init__(self, home: Any) -> None:
        self.home = home
        self.states: dict[str, Any] = {}
        self.place: Commit | None = None
        self.rest: tuple[Any, ...] = ()


class _Running(threading.local):
    runs: Sequence[Committed] = ()


_running = _Running()


@contextmanager
def noting(home: Any) -> Iterator[Committed]:
    """What the program of a module notes meanwhile in this thread; `home` is the object of the module's states."""
    noted = Committed(home)
    outer = _running.runs
    _running.runs = (*outer, noted)
    try:
        yield noted
    finally:
        _running.runs = outer


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
