"""The recorder of a profile: calls of compiled functions, runs of programs, and time spent on compiling.

A call inside another one is a part of it; each thread has its own outermost call.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from time import perf_counter_ns, thread_time_ns
from typing import Any, NamedTuple

import numpy as np

from ..backends.timed import Table, Times, spent
from ..depth import along

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
    """The runs of one program: `last` is when the last one began and ended, and what its spans took then.

    `nanoseconds` are without those of compiling what the functions call that the program calls.
    `idle`: nanoseconds of runs in which their threads waited, as far as several ran.
    """

    name: str
    times: Times
    before: Table
    runs: int = 0
    nanoseconds: int = 0
    idle: int = 0
    last: tuple[int, int, int, Table] | None = None


@dataclass
class Calls:
    """Outermost calls: how many, and nanoseconds without compiling: in all, in programs, and on noting."""

    count: int = 0
    total: int = 0
    running: int = 0
    noting: int = 0

    def __add__(self, other: Calls) -> Calls:
        return Calls(*[getattr(self, x.name) + getattr(other, x.name) for x in fields(Calls)])


@dataclass
class Called:
    """The outermost calls of one function.

    `first`: of each program those up to the last one that compiled something, and at least one; they do what is done
    once, and take the slow path.  `later`: the others, by program.
    """

    name: str
    first: Calls = field(default_factory=Calls)
    later: dict[int | None, Calls] = field(default_factory=dict)

    @property
    def all(self) -> Calls:
        return sum(self.later.values(), self.first)

    def add(self, call: Calls, program: int | None, compiled: bool) -> None:
        if compiled or program not in self.later:
            self.first += self.later.get(program, Calls()) + call
            self.later[program] = Calls()
        else:
            self.later[program] += call


@dataclass
class Recording:
    """All that was noted; times are nanoseconds.

    `counts`: whose calls are outermost ones, those of other functions and programs are as if nobody measured (None: all
    are).
    """

    counts: Callable[[object], bool] | None = None
    #: the outermost calls and runs, with how long each took without compiling
    events: list[Event] = field(default_factory=list)
    #: by their identities, which nothing else may get meanwhile
    owners: dict[int, object] = field(default_factory=dict)
    #: by owner
    outermost: dict[int, Called] = field(default_factory=dict)
    #: by the identity of their times
    programs: dict[int, Ran] = field(default_factory=dict)
    compiling: int = 0
    #: what of noting in calls was waiting for other threads
    interrupted: int = 0
    #: of programs that ran inside others, whose time it is: what their spans took then, and before all this
    nested: dict[int, tuple[Table, Table]] = field(default_factory=dict)
    #: by owner, the threads of its calls
    threads: dict[int, set[int]] = field(default_factory=dict)
    #: time in which any thread was in a call or compiled, as far as that is over
    _busy: int = 0
    #: whether two threads were at any time
    several: bool = False
    lock: Any = field(default_factory=threading.Lock)
    #: how many threads are now, since when, and until when the last ones were
    _active: int = 0
    _since: int = 0
    _until: int = 0

    def begin(self) -> None:
        """This thread begins something that counts."""
        with self.lock:
            self.several = self.several or self._active > 0
            if not self._active:
                self._since = perf_counter_ns()
            self._active += 1

    def end(self, ended: int) -> None:
        """It has ended; the lock is held."""
        self._active -= 1
        if not self._active:
            self._busy += ended - self._since
            self._until = ended

    def busy(self, now: int) -> int:
        """How long any thread was in a call or compiled until now."""
        with self.lock:
            return self._busy + (now - self._since if self._active else 0)

    def spent(self, began: int, ended: int) -> None:
        """Something has run that did not say when it began."""
        with self.lock:
            if not self._active:
                self._busy += max(0, ended - max(began, self._until))
                self._until = ended

    def add(self, owner: object, name: str, began: int, ended: int, state: _State) -> None:
        """An outermost call or run; `state` says what was done in it."""
        key = id(owner)
        with self.lock:
            self.end(ended)
            self.owners[key] = owner
            self.threads.setdefault(key, set()).add(_thread.state.number)
            call = Calls(1, ended - began - state.compiled, state.ran, state.noting)
            self.outermost.setdefault(key, Called(name)).add(call, state.program, state.made)
            if len(self.events) < _EVENTS:
                self.events.append(Event(name, threading.get_ident(), began, ended, key))

    def tables(self) -> list[tuple[str, Times, Table]]:
        """What the spans of each program have taken by now, without runs inside other programs."""
        found = []
        for key, ran in self.programs.items():
            table, before = ran.times.now(), ran.before
            if key in self.nested:
                inside, earlier = self.nested[key]
                table, before = table - inside, np.minimum(before, earlier)
            found.append((ran.name, ran.times, table - before))
        return found

    def ran_inside(self, times: Times, before: Table) -> None:
        """A program has run inside another one."""
        with self.lock:
            self.owners[id(times)] = times
            inside, earlier = self.nested.get(id(times), (np.zeros_like(before), before))
            self.nested[id(times)] = inside + times.now() - before, np.minimum(earlier, before)

    def ran(self, name: str, times: Times, began: int, ended: int, start: _Start, idle: int) -> None:
        """A program has run; its thread was `idle` so long in between."""
        before = start.table
        with self.lock:
            found = self.programs.get(id(times))
            if found is None:
                found = self.programs[id(times)] = Ran(name, times, before)
            found.before = np.minimum(found.before, before)  # the run that ends first need not have begun first
            found.runs += 1
            found.nanoseconds += ended - began - (spent.compiling[0] - start.compiling)
            found.idle += idle
            found.last = began, ended, threading.get_ident(), times.now() - before


_numbers = itertools.count()


@dataclass
class _State:
    """What is going on in a thread: whether it is in a call, or a program, and what else the call has been spent on.

    `ran`: nanoseconds in programs, of which `program` was the first; `made`: whether anything was compiled.
    `number`: another one than that of any other thread, also of those that have ended.
    """

    calling: bool = False
    running: bool = False
    compiling: bool = False
    compiled: int = 0
    noting: int = 0
    ran: int = 0
    program: int | None = None
    made: bool = False
    runs: int = 0
    number: int = field(default_factory=lambda: next(_numbers))
    #: the programs that run inside another one
    within: set[int] = field(default_factory=set)


class _Start(NamedTuple):
    """What was so when a run began: the table, how long the thread had been on a processor (None: nobody asks), and
    had compiled."""

    table: Table
    awake: int | None
    compiling: int


class _Thread(threading.local):
    def __init__(self) -> None:
        self.state = _State()


_thread = _Thread()


def _take(state: _State) -> None:
    _thread.state = state


# What a thread with a small stack lets another one compile is a part of its own call.
along.append((lambda: _thread.state, _take))
along.append((lambda: spent.compiling, lambda found: setattr(spent, "compiling", found)))
#: what is being recorded; None nearly always
_now: list[Recording | None] = [None]


def recording() -> Recording | None:
    """What is being recorded now."""
    return _now[0]


def start(counts: Callable[[object], bool] | None = None) -> Recording:
    """Begins a recording (see `Recording.counts`); RuntimeError if there is one."""
    if _now[0] is not None:
        raise RuntimeError("something is being profiled already: one profile at a time")
    made = _now[0] = Recording(counts)
    return made


def stop() -> None:
    """Ends the recording."""
    _now[0] = None


def inside(owner: object = None) -> bool:
    """Whether calls of the owner in this thread are not to be recorded: nothing is recorded, they are inside another
    recorded call, or they do not count."""
    noted = _now[0]
    if noted is None or (state := _thread.state).calling or state.compiling:
        return True
    return owner is not None and noted.counts is not None and not noted.counts(owner)


def this_thread() -> int:
    """The number of the thread, which no other has or will have."""
    return _thread.state.number


def called(owner: object, name: str, run: Callable[..., Any], *args: Any) -> Any:
    """``run(*args)`` as an outermost call of this thread."""
    noted, thread = _now[0], _thread.state
    if noted is None or thread.calling:
        return run(*args)
    thread.calling, thread.noting, compiled = True, 0, spent.compiling[0]
    thread.ran, thread.program, thread.made = 0, None, False
    noted.begin()
    began = perf_counter_ns()
    try:
        return run(*args)
    finally:
        ended = perf_counter_ns()
        thread.calling, thread.compiled = False, spent.compiling[0] - compiled
        noted.add(owner, name, began, ended, thread)


def observed(fast: Callable[..., Any], owner: object, name: str, times: Times) -> Callable[..., Any]:
    """Wraps the fast path into a compiled entry: notes its calls, each with the run of the program that is in it."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if inside(owner):
            noted = _now[0]
            if noted is None or not _thread.state.running:
                return fast(*args, **kwargs)
            return _inside_another(noted, times, fast, args, kwargs)
        return called(owner, name, call, args, kwargs)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        thread = _thread.state
        noted, start, runs = _now[0], perf_counter_ns(), thread.runs
        before = _start(noted, times)
        began = perf_counter_ns()
        try:
            return fast(*args, **kwargs)
        finally:
            ended = perf_counter_ns()
            if noted is not None and runs == thread.runs:  # else it took the slow path
                _note(noted, name, times, began, ended, before)
            thread.noting += began - start + perf_counter_ns() - ended

    return run


def _start(noted: Recording | None, times: Times) -> _Start:
    """A run begins; of the thread it counts how long it is on a processor where it may have to wait for others."""
    table = times.now()
    return _Start(table, thread_time_ns() if noted is not None and noted.several else None, spent.compiling[0])


def _inside_another(
    noted: Recording, times: Times, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A run of a program that another one's functions call."""
    within, key = _thread.state.within, id(times)
    if key in within:  # it is in itself
        return run(*args, **kwargs)
    before = times.now()
    within.add(key)
    try:
        return run(*args, **kwargs)
    finally:
        within.discard(key)
        noted.ran_inside(times, before)


def _note(noted: Recording, name: str, times: Times, began: int, ended: int, start: _Start) -> None:
    """A program has run."""
    thread, awake = _thread.state, start.awake
    thread.ran += ended - began - (spent.compiling[0] - start.compiling)
    if thread.program is None:
        thread.program = id(times)
    if awake is None:
        noted.ran(name, times, began, ended, start, 0)
        return
    later = thread_time_ns()
    noted.ran(name, times, began, ended, start, max(0, ended - began - (later - awake)))
    waited = perf_counter_ns() - ended - (thread_time_ns() - later)
    with noted.lock:
        noted.interrupted += max(0, waited)


def record_runs(executable: Any, name: str) -> None:
    """Wraps the runs of a program, so that they are recorded."""
    run, times = executable.run, executable.times

    def measured(*arrays: Any) -> Any:
        noted, thread = _now[0], _thread.state
        if noted is None:
            return run(*arrays)
        if not thread.calling:
            if noted.counts is not None and not noted.counts(times):
                return run(*arrays)
            return called(times, name, measured, *arrays)
        if thread.running:
            return _inside_another(noted, times, run, arrays, {})
        start = perf_counter_ns()
        thread.running = True
        thread.runs += 1
        before = _start(noted, times)
        began = perf_counter_ns()
        try:
            return run(*arrays)
        finally:
            ended = perf_counter_ns()
            thread.running = False
            _note(noted, name, times, began, ended, before)
            thread.noting += began - start + perf_counter_ns() - ended

    executable.run = measured


@contextmanager
def compiling() -> Iterator[None]:
    """Around a compilation: its time counts neither for the call that needs it nor for the program around that."""
    noted, thread = _now[0], _thread.state
    if noted is None or thread.compiling:
        yield
        return
    thread.compiling = thread.made = True
    outermost = not thread.calling
    if outermost:
        noted.begin()
    began = perf_counter_ns()
    try:
        yield
    finally:
        ended = perf_counter_ns()
        thread.compiling = False
        spent.compiling[0] += ended - began
        with noted.lock:
            noted.compiling += ended - began
            if outermost:
                noted.end(ended)


def waited(began: int) -> None:
    """Since `began` the thread has waited for another one to compile: that time does not count for the call, either."""
    thread = _thread.state
    if _now[0] is not None and not thread.compiling:
        spent.compiling[0] += perf_counter_ns() - began
