"""`profile`: what runs inside a `with` block takes, by kernel, op and line of the user's."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from time import perf_counter_ns
from types import TracebackType
from typing import IO, Any

from ..backends.timed import Table, Times
from ..collectives import traffic
from ..compiler import recorder
from ..compiler.recorder import Calls, Event, Recording
from ..config import compiles, context, jit_disabled
from ..eager.timed import timing
from ..errors import kind_of
from ..inspection.figures import duration, size
from ..inspection.measured import LEFT, Row, Tally, notes_of, slowest_first, table_of
from ..inspection.tabular import Cells, Tables, text_table
from ..source import Loc
from ..transforms.compiled_form import HasCompiledForm
from ..transforms.jit import JitFunction
from .terminal import show
from .trace import write_trace

__all__ = ["Profile", "profile"]

#: The tables, and the most rows that are shown.
_KINDS, _SHOWN = ("line", "kernel", "op"), 20
#: Those that a text shows; a notebook has all.
_IN_TEXT = _KINDS[:2]
#: How many kernels of eager mode are kept for a trace.
_EVENTS = 20_000
_ENTERING = "entering programs: conversions, new arrays"
_AROUND = "around programs: guards, keys, results"
_FIRST = "first calls: around programs, with measuring"
_BETWEEN = "Python between calls and kernels"
_WAITING = "waiting for other threads"
_MEASURING = "measuring"


def profile(fn: Any = None) -> Profile:
    """What runs inside the block takes: ``with profile(fn) as p: fn(x)``, then ``print(p)``.

    `fn` is a function given to `jit`, a Cell or a derivative: its calls count, also by `py_call` of another compiled
    function, and nothing else; compiled outside of the block they run as ever.  Without it, and where it runs eagerly,
    the whole block counts: compiled functions and, op by op, eager mode.  In the block compiled functions run a form
    that reads the clock between its parts, which is compiled at the first call; that is not counted.

    TypeError for something that is not called; RuntimeError where something is profiled already, and on an Ascend
    device, whose kernels cannot be timed.

    >>> from autodiff_compiler import Tensor, jit
    >>> f = jit(lambda x: (x * x).sum())
    >>> with profile(f) as p:
    ...     y = f(Tensor([1.0, 2.0]))
    >>> p.calls, p.by("line")[0].calls
    (1, 1)
    """
    return Profile(fn)


class Profile(Tables):
    """What was measured; `print` shows it as tables, a notebook likewise, `show` in colours.

    `seconds` is the time of the calls, or of the block (see `profile`), without that of compiling, `compile_seconds`;
    of several threads it is what all of them took together.  `calls` counts the outermost calls of compiled functions.
    The first ones of each program take longer, up to the last that compiles something: what these take around programs
    has a row of its own, and the mean of a call is that of the others.
    """

    _left = LEFT

    def __init__(self, fn: Any = None) -> None:
        self._function = _compiled_form(fn)
        self._name, self._given = _name_of(fn), fn is not None
        #: whether the whole block counts
        self._whole = self._function is None
        self._recording: Recording | None = None
        self._stack = ExitStack()
        self._began = self._ended = self._between = 0
        self._moved_before: dict[str, traffic.Traffic] = {}
        #: By call and line, what collectives of this process moved in the block, and how long it waited in them.
        self.communication: dict[str, traffic.Traffic] = {}
        self._measured: list[tuple[str, Times, Table]] = []
        self._eager: list[tuple[Loc | None, Event]] = []
        self._eager_ops: dict[tuple[str, Loc | None], tuple[int, int]] = {}
        self._eager_noting = 0
        self._threads: set[int] = set()
        self._all = self._first = Calls()
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[Row, ...]] = {}
        self._kernels: dict[object, Row] = {}
        self.seconds = self.compile_seconds = 0.0
        self.calls = 0

    # ------------------------------------------------------------------------------------------- measuring
    def __enter__(self) -> Profile:
        if context.device_target != "CPU":
            raise RuntimeError(
                f"a profile measures the CPU only: kernels of {context.device_target} cannot be timed here"
            )
        if self._recording is not None:
            raise RuntimeError("a profile measures one block: make another one")
        with ExitStack() as stack:  # undoes the first steps if a later one fails
            self._recording = recorder.start(None if self._whole else self._counts)
            stack.callback(recorder.stop)
            stack.callback(context.measure, False)
            context.measure(True)
            if self._whole:
                stack.enter_context(timing(self._note))
            self._stack = stack.pop_all()
        self._moved_before = traffic.so_far()
        self._began = perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = perf_counter_ns()
        self.communication = traffic.so_far(self._moved_before)
        self._stack.close()
        found = self._recording
        assert found is not None
        mine = self._mine()
        if mine is not None:
            found.programs = {key: ran for key, ran in found.programs.items() if key in mine}
            found.outermost = {key: called for key, called in found.outermost.items() if key in mine}
            found.events = [event for event in found.events if event.owner in mine]
        self._measured = found.tables()
        self.compile_seconds = found.compiling * 1e-9
        self._all = sum((called.all for called in found.outermost.values()), Calls())
        self._first = sum((called.first for called in found.outermost.values()), Calls())
        self.calls = self._all.count
        self._threads = self._threads.union(*[found.threads[key] for key in found.outermost])
        self._between = max(0, self._ended - self._began - found.busy(self._ended)) if self._whole else 0
        eager = sum(total for _, total in self._eager_ops.values()) + self._eager_noting
        self.seconds = (self._all.total + eager + self._between) * 1e-9

    def _mine(self) -> set[int] | None:
        """The ids of the profiled function and of its programs; None: everything is profiled."""
        if self._function is None:
            return None
        entries = [e for entries in tuple(self._function._entries.values()) for e in entries]
        executables = [x for entry in entries for x in entry.program.executables()]
        return {id(self._function._history), *[id(getattr(x, "times", None)) for x in executables]}

    def _counts(self, owner: object) -> bool:
        """Whether calls of this function, or runs of this program, are profiled."""
        assert self._function is not None
        mine = self._mine() if owner is not self._function._history else None
        return mine is None or id(owner) in mine

    def _note(self, op: str, loc: Loc | None, began: int, ended: int, noting: int) -> None:
        """Records a kernel of eager mode."""
        found = self._recording
        if found is not None and not recorder.inside():  # programs measure theirs themselves
            found.spent(began, ended + noting)
            with self._lock:
                count, total = self._eager_ops.get((op, loc), (0, 0))
                self._eager_ops[op, loc] = count + 1, total + ended - began
                self._eager_noting += noting
                self._threads.add(recorder.this_thread())
                if len(self._eager) < _EVENTS:
                    self._eager.append((loc, Event(op, threading.get_ident(), began, ended, 0)))

    # ------------------------------------------------------------------------------------------- results
    def by(self, kind: str) -> tuple[Row, ...]:
        """The rows by "kernel", "op" or "line", the slowest first; their `seconds` are those of the profile.

        The last rows are about what lies outside of kernels; ValueError for another kind.
        """
        if kind not in _KINDS:
            raise ValueError(f"rows are by kernel, op or line, not by {kind!r}")
        if not self._rows:
            self._rows = self._made()
        return self._rows[kind]

    def _made(self) -> dict[str, tuple[Row, ...]]:
        found = self._recording
        if found is None or not self._ended:
            raise RuntimeError("the profile has measured nothing yet: leave its `with` block first")
        tally = Tally()
        for name, times, table in self._measured:
            tally.add(name, times, table)
        inside = tally.seconds
        for (op, loc), (count, total) in self._eager_ops.items():
            tally.add_eager(op, loc, count, total * 1e-9)
        running = sum(ran.nanoseconds for ran in found.programs.values())
        first = max(0, self._first.total - self._first.running)
        noting = self._all.noting - self._first.noting
        around = self._all.total - running - first - noting
        interrupted = min(noting, found.interrupted)
        entering = running * 1e-9 - inside - tally.reading
        # Threads wait where they enter and leave programs, or in kernels, where waiting cannot be measured.
        waiting = max(0.0, min(entering, sum(ran.idle for ran in found.programs.values()) * 1e-9))
        outside = {
            _ENTERING: entering - waiting,
            _WAITING: waiting + interrupted * 1e-9,
            _FIRST: first * 1e-9,
            _AROUND: around * 1e-9,
            _BETWEEN: self._between * 1e-9,
        }
        less = sum(min(0.0, x) for x in outside.values())  # the estimated time of clock readings was too high
        outside[_MEASURING] = tally.reading + (noting - interrupted + self._eager_noting) * 1e-9 + less
        rest = [Row(name, seconds=max(0.0, x), cumulative=max(0.0, x)) for name, x in outside.items() if x > 0]
        tally.finish(self.seconds)
        calls = {_FIRST: self._first.count, _AROUND: self.calls - self._first.count}
        for row in rest:
            row.calls = calls.get(row.name, 0)
            row.share = row.seconds / self.seconds if self.seconds else 0.0
        self._kernels = tally.kernels
        by: dict[str, dict[Any, Row]] = {"kernel": tally.kernels, "op": tally.ops, "line": {**tally.lines}}
        return {kind: (*slowest_first(rows.values()), *rest) for kind, rows in by.items()}

    @property
    def functions(self) -> dict[str, tuple[int, float]]:
        """By name of the functions with outermost calls: how many calls, and their seconds."""
        found: dict[str, tuple[int, float]] = {}
        for called in self._recording.outermost.values() if self._recording is not None else ():
            calls, seconds = found.get(called.name, (0, 0.0))
            found[called.name] = calls + called.all.count, seconds + called.all.total * 1e-9
        return found

    @property
    def _ran(self) -> bool:
        """Whether anything was measured."""
        return bool(self.calls or self._eager_ops)

    def table(self, by: str = "line", limit: int = _SHOWN) -> str:
        """A table as text, of at most `limit` rows and those about time outside of kernels; the slowest come first."""
        return text_table(*self._table(by, limit), LEFT)

    def __str__(self) -> str:
        if self._recording is None or not self._ended:
            return f"<{'running ' if self._recording is not None else ''}profile of {self._name}>"
        return super().__str__()

    __repr__ = __str__

    def show(self, file: IO[str] | None = None) -> None:
        """Prints the tables, in colours where `rich` is installed and the terminal has them (not with NO_COLOR)."""
        show(self, file)

    def trace(self, path: str) -> None:
        """Writes a trace for Perfetto or chrome://tracing.

        Calls, and kernels of eager mode, stand where they were (the first 20,000 of each).  Of each program the last
        run is shown in detail: its parts in their order with what they took in it, one that ran several times as one.
        """
        found = self._recording
        if found is None or not self._ended:
            raise RuntimeError("the profile has measured nothing yet: leave its `with` block first")
        self.by("kernel")
        programs = list(found.programs.values())
        write_trace(path, self._name, self._began, found.events, programs, self._eager, self._kernels)

    def _tables(self, *, everything: bool = False) -> list[Cells]:
        return [self._table(kind, _SHOWN) for kind in (_KINDS if everything else _IN_TEXT)] if self._ran else []

    def _table(self, by: str, limit: int) -> Cells:
        rows = self.by(by)
        inside = [row for row in rows if row.name not in _OUTSIDE]
        outside = [row for row in rows if row.name in _OUTSIDE and row.name != _MEASURING]
        measuring = [row for row in rows if row.name == _MEASURING]  # which only a profile takes
        shown = slowest_first([*inside[:limit], *outside])
        return table_of(shown, by, measuring, len(inside) - limit, f'`table("{by}", {len(inside)})`')

    def _headline(self) -> str:
        if not self._ran:
            return f"{self._name}: {'it was not called' if self._given else 'nothing was measured'} in the block"
        kernels = sum(row.share for row in self.by("kernel") if row.name not in _OUTSIDE)
        parts = [duration(self.seconds)]
        if self.calls:
            parts[0] += f" in {self.calls} call{'s' * (self.calls != 1)}"
        if len(self._threads) > 1:
            parts[0] += f" of {len(self._threads)} threads"
        if self.calls and not self._whole:
            first, later = self._first, self.calls - self._first.count
            mean = (self._all.total - first.total) / later if later else self._all.total / self.calls
            after = f" after {first.count} first call{'s' * (first.count != 1)}" if later else ""
            parts.append(f"{duration(mean * 1e-9)} each{after}")
        return ", ".join([f"{self._name}: {parts[0]}", *parts[1:], f"{100 * kernels:.0f} % of it in kernels"])

    def _notes(self) -> list[str]:
        notes = notes_of([row for kind in _IN_TEXT for row in self.by(kind)[:_SHOWN]]) if self._ran else []
        if self.compile_seconds:
            notes.append(f"compiled in {duration(self.compile_seconds)}, which is not counted")
        notes += [
            f"communication: {call}: {found.calls} call{'s' * (found.calls > 1)}, {size(found.bytes)}, "
            f"waited {duration(found.seconds)}"
            for call, found in list(self.communication.items())[:_SHOWN]
        ]
        if self._first.count:
            notes.append(self._said_of_first_calls())
        if self._recording is not None and self._recording.nested:
            notes.append("programs that ran inside others are parts of these: of the line that calls Python")
        if len(self._threads) > 1:
            clock = duration((self._ended - self._began) * 1e-9)
            notes.append(
                f"{len(self._threads)} threads ran, within {clock}: times are what they took together, "
                "those of kernels with what they waited in these"
            )
        return notes

    def _said_of_first_calls(self) -> str:
        count, took = self._first.count, duration(self._first.total * 1e-9)
        later = self.calls - count
        were = f"were first calls, which took {took} together" if count > 1 else f"was a first call, which took {took}"
        rule = "calls of a program are first calls until it has run once and its fast path is compiled"
        rest = ""
        if later:
            mean = duration((self._all.total - self._first.total) * 1e-9 / later)
            rest = f"; the {f'{later} others' if later > 1 else 'other one'} took {mean}{' each' * (later > 1)}"
        return f"{count} of {self.calls} call{'s' * (self.calls > 1)} {were}: {rule}{rest}"


_OUTSIDE = frozenset({_ENTERING, _WAITING, _FIRST, _AROUND, _BETWEEN, _MEASURING})


def _compiled_form(fn: Any) -> JitFunction | None:
    """The compiled function that a call of `fn` runs, if it runs one."""
    if fn is None:
        return None
    if not callable(fn):
        raise TypeError(f"profile() takes a function, a Cell or a derivative, not {kind_of(fn)}")
    if isinstance(fn, HasCompiledForm) and not isinstance(fn, JitFunction):
        return fn._as_compiled() if compiles() else None
    fn = getattr(fn, "__func__", fn)
    return fn if isinstance(fn, JitFunction) and not jit_disabled() else None


def _name_of(fn: Any) -> str:
    if fn is None:
        return "all that ran"
    fn = getattr(fn, "__func__", fn)
    return str(getattr(fn, "_name", None) or getattr(fn, "__name__", None) or type(fn).__name__)
