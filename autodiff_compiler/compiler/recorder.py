"""What runs while somebody measures: calls of compiled functions, runs of programs, and time spent on compiling.

Calls inside calls are parts of these; each thread has its own outermost call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from ..backends.timed import Table, Times

__all__ = [
    "Event",
    "Ran",
    "Recording",
    "called",
    "compiling",
    "inside",
    "recording",
    "start",
    "stop",
    "waited",
    "watch",
    "way",
]

#: How many events are kept for a trace.
_EVENTS = 20_000


class Event(NamedTuple):
    """Something that began and ended, by `time.perf_counter_ns`; `owner`: of which function or program."""

    name: str
    thread: int
    began: int
    ended: int
    owner: int


@dataclass
class Ran:
    """The runs of one program: `last` is when the last one began and ended, and what its spans took then."""

    name: str
    times: Times
    before: Table
    runs: int = 0
    nanoseconds: int = 0
    last: tuple[int, int, int, Table] | None = None


@dataclass
class Recording:
    """All that was noted; times are nanoseconds."""

    #: the outermost calls and runs, with how long each took without compiling
    events: list[Event] = field(default_factory=list)
    #: by their identities, which nothing else may get meanwhile
    owners: dict[int, object] = field(default_factory=dict)
    #: by owner: name, how often, and how long together
    outermost: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    #: by the identity of their times
    programs: dict[int, Ran] = field(default_factory=dict)
    compiling: int = 0
    #: spent on noting, inside of calls, by owner
    noting: dict[int, int] = field(default_factory=dict)
    #: of programs that ran inside others, whose time it is: what their spans took then
    nested: dict[int, Table] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)

    def add(self, owner: object, name: str, began: int, ended: int, compiled: int, noting: int) -> None:
        """An outermost call or run."""
        key = id(owner)
        with self.lock:
            self.owners[key] = owner
            _, count, total = self.outermost.get(key, (name, 0, 0))
            self.outermost[key] = name, count + 1, total + ended - began - compiled
            self.noting[key] = self.noting.get(key, 0) + noting
            if len(self.events) < _EVENTS:
                self.events.append(Event(name, threading.get_ident(), began, ended, key))

    def tables(self) -> list[tuple[str, Times, Table]]:
        """What the spans of each program have taken by now, without runs inside other programs."""
        found = []
        for key, ran in self.programs.items():
            table = ran.times.now() - ran.before
            if key in self.nested:
                table -= self.nested[key]
            found.append((ran.name, ran.times, table))
        return found

    def ran(self, name: str, times: Times, began: int, ended: int, before: Table) -> None:
        """A program has run."""
        with self.lock:
            found = self.programs.get(id(times))
            if found is None:
                found = self.programs[id(times)] = Ran(name, times, before)
            found.before = np.minimum(found.before, before)  # the run that ends first need not have begun first
            found.runs += 1
            found.nanoseconds += ended - began
            found.last = began, ended, threading.get_ident(), times.now() - before


class _Thread(threading.local):
    """What is going on in a thread: whether it is in a call, or a program, and what else the call has been spent on."""

    calling = running = compiling = False
    compiled = noting = runs = 0


_thread = _Thread()
#: what is being recorded; None nearly always
_now: list[Recording | None] = [None]


def recording() -> Recording | None:
    """What is being recorded now."""
    return _now[0]


def start() -> Recording:
    """Begins a recording; RuntimeError if there is one."""
    if _now[0] is not None:
        raise RuntimeError("something is being profiled already: one profile at a time")
    made = _now[0] = Recording()
    return made


def stop() -> None:
    """Ends the recording."""
    _now[0] = None


def inside() -> bool:
    """Whether calls of this thread are not to be noted: nothing is recorded, or they are part of what is."""
    return _now[0] is None or _thread.calling or _thread.compiling


def called(owner: object, name: str, run: Callable[..., Any], *args: Any) -> Any:
    """``run(*args)`` as an outermost call of this thread."""
    noted, thread = _now[0], _thread
    if noted is None or thread.calling:
        return run(*args)
    thread.calling, thread.compiled, thread.noting = True, 0, 0
    began = perf_counter_ns()
    try:
        return run(*args)
    finally:
        ended = perf_counter_ns()
        thread.calling = False
        noted.add(owner, name, began, ended, thread.compiled, thread.noting)


def way(fast: Callable[..., Any], owner: object, name: str, times: Times) -> Callable[..., Any]:
    """The short way into a compiled form, whose calls are noted with the run of the program that is in them."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if inside():
            return fast(*args, **kwargs)
        return called(owner, name, call, args, kwargs)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        start, runs, before = perf_counter_ns(), _thread.runs, times.now()
        began = perf_counter_ns()
        try:
            return fast(*args, **kwargs)
        finally:
            ended = perf_counter_ns()
            noted = _now[0]
            if noted is not None and runs == _thread.runs:  # else it went the long way
                noted.ran(name, times, began, ended, before)
            _thread.noting += began - start + perf_counter_ns() - ended

    return run


def watch(executable: Any, name: str) -> None:
    """Lets runs of a program be noted."""
    run, times = executable.run, executable.times

    def measured(*arrays: Any) -> Any:
        noted, thread = _now[0], _thread
        if noted is None:
            return run(*arrays)
        if not thread.calling:
            return called(times, name, measured, *arrays)
        start = perf_counter_ns()
        if thread.running:
            before = times.now()
            found = run(*arrays)
            with noted.lock:
                noted.owners[id(times)] = times
                noted.nested[id(times)] = noted.nested.get(id(times), 0) + times.now() - before
            return found
        thread.running = True
        thread.runs += 1
        before = times.now()
        began = perf_counter_ns()
        try:
            return run(*arrays)
        finally:
            ended = perf_counter_ns()
            thread.running = False
            noted.ran(name, times, began, ended, before)
            thread.noting += began - start + perf_counter_ns() - ended

    executable.run = measured


@contextmanager
def compiling() -> Iterator[None]:
    """Something is compiled, which is no part of the call that needs it; but it is of a program that calls Python."""
    noted, thread = _now[0], _thread
    if noted is None or thread.compiling or thread.running:
        yield
        return
    thread.compiling, began = True, perf_counter_ns()
    try:
        yield
    finally:
        took = perf_counter_ns() - began
        thread.compiling = False
        thread.compiled += took
        with noted.lock:
            noted.compiling += took


def waited(began: int) -> None:
    """Since then the thread has waited for a lock, while another one compiled: that is no part of the call, either."""
    thread = _thread
    if _now[0] is not None and not thread.compiling and not thread.running:
        thread.compiled += perf_counter_ns() - began
