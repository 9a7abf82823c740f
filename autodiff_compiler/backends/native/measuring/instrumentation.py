"""Timers: readings of the clock between the pieces of a program.

One reading ends a piece and begins the next, so everything is counted once, and control flow gets its own time without
that of its blocks.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ....ir.core import Block, Op
from ...base import Piece
from ...timed import Counted, Span, Table, Times, Waiting, alone, counted, may_leave, runs_python, spent
from ..codegen.emitter import Emitter
from ..jit.engine import load
from ..jit.machine import this_host

#: Bytes of a row of the table: a count, and nanoseconds.
_ROW = 16
#: The calibration: readings of a try, and tries.
_READINGS, _TRIES = 2000, 7

_READ = """define internal i64 @clock.now() alwaysinline {
  %time = alloca [2 x i64], align 8
  %ignored = call i32 @clock_gettime(i32 <clock>, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %second = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %second, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

define internal void @lap.start(ptr %clock) noinline {
  %now = call i64 @clock.now()
  store i64 %now, ptr %clock, align 8
  ret void
}

define internal void @lap(ptr %clock, i64 %row) noinline {
  %now = call i64 @clock.now()
  %before = load i64, ptr %clock, align 8
  store i64 %now, ptr %clock, align 8
  %took = sub i64 %now, %before
  %table = load ptr, ptr <table>, align 8
  %count = getelementptr i8, ptr %table, i64 %row
  %sum = getelementptr i8, ptr %count, i64 8
  %c = atomicrmw add ptr %count, i64 1 monotonic, align 8
  %s = atomicrmw add ptr %sum, i64 %took monotonic, align 8
  ret void
}

define internal void @lap.ran(i64 %times, i64 %row) noinline {
  %table = load ptr, ptr <table>, align 8
  %count = getelementptr i8, ptr %table, i64 %row
  %c = atomicrmw add ptr %count, i64 %times monotonic, align 8
  ret void
}"""
_DECLARE = "declare i32 @clock_gettime(i32, ptr)"
_CALIBRATE = """
define void @readings(ptr %clock) {
entry:
  call void @lap.start(ptr %clock)
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %next]
  call void @lap(ptr %clock, i64 0)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, <readings>
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


class _Block:
    """A block that is being written: its first line (`where`), its spans, and scalar pieces in no span yet (`waiting`).

    Where exceptions may end the block, `rows` maps ops to the row that counts how often their part of the block runs;
    `behind` maps an op that may raise to the row of the part behind it.
    """

    def __init__(self, where: int) -> None:
        self.where = where
        self.rows: dict[Op, int] = {}
        self.behind: dict[Op, int] = {}
        self.waiting: Waiting = []
        self.spans: list[Span] = []
        self.entry: int | None = None


class _Part:
    """A piece that is being written: its finished blocks, and the pieces in them that are counted with it (`inner`).

    `hosts`: how many Python functions the program called before it.
    """

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.blocks: list[tuple[Span, ...]] = []
        self.entries: list[int | None] = []
        self.inner: list[Counted] = []


class _Compiling:
    """Time of compilations in Python functions that a program calls; machine code adds it to the row of the call."""

    def __init__(self) -> None:
        self._found: dict[int, int] = {}
        self._lock = threading.Lock()

    def watched(self, run: Callable[..., Any], row: int) -> Callable[..., Any]:
        """``run``, and notes what it spends on compiling (not if it raises: then no reading follows)."""

        def noted(*arrays: Any) -> Any:
            before = spent.compiling[0]
            found = run(*arrays)
            if spent.compiling[0] > before:
                with self._lock:
                    self._found[row] = self._found.get(row, 0) + spent.compiling[0] - before
            return found

        return noted

    def without(self, table: Table) -> Table:
        """A copy of the table less that time."""
        left = table.copy()
        with self._lock:
            for row, nanoseconds in self._found.items():
                left[row, 1] -= nanoseconds
        return left


class Timers:
    """Writes the readings while the driver is written, and records the spans between them.

    Row 0 of the table is for what follows the last op: handing out results.
    """

    def __init__(self, low: Emitter) -> None:
        self.low, self.count = low, 1
        self._blocks: list[_Block] = []
        self._parts: list[_Part] = []
        self._main: list[Span] = []
        self._last: tuple[Piece, ...] = ()
        #: rows that are counted without a reading, and their counter variables
        self._counters: dict[int, str] = {}
        self._compiling = _Compiling()
        clock = getattr(time, "CLOCK_MONOTONIC")  # noqa: B009  (type checkers know it on some systems only)
        text = _READ.replace("<table>", low.context.place("times")).replace("<clock>", str(clock))
        low.text.needs["lap"] = text
        low.text.declares.add(_DECLARE)
        low.text.do("%clock = alloca i64, align 8")
        low.text.do("call void @lap.start(ptr %clock)")

    def open_block(self, block: Block) -> None:
        """Begins a block."""
        made = _Block(len(self.low.text.lines))
        self._blocks.append(made)
        leaving = [op for op in block.ops if may_leave(op)]
        if leaving:
            row = self._counter(made.where)
            for op in block.ops:
                made.rows[op] = row
                if op in leaving:
                    made.behind[op] = row = self._next()

    def close_block(self) -> None:
        """Ends the block opened last."""
        block = self._blocks.pop()
        if not self._parts:
            self._end_waiting(block)  # else their time would be counted as handing out results
            self._main = block.spans
            return
        part = self._parts[-1]
        part.blocks.append(tuple(block.spans))
        part.entries.append(block.entry)
        if block.waiting:
            done = all(row is not None for _, row in block.waiting)
            row = 0 if done else block.spans[-1].number if block.spans else self._counter(block.where)
            part.inner += counted(block.waiting, row)

    def open_piece(self, ops: Iterable[Op]) -> None:
        """Begins a piece of these ops."""
        if any(map(runs_python, ops)):
            self._end_waiting(self._blocks[-1])
        self._parts.append(_Part(len(self.low.hosts)))

    def close_piece(self, piece: Piece, kernels: list[str]) -> None:
        """Ends the piece opened last, by a reading unless it is too short for one (scalars, an `if` of scalars)."""
        part, block = self._parts.pop(), self._blocks[-1]
        first, timed = piece.ops[0], any(part.blocks)
        small = piece.scalar or (piece.blocks and first.defn.name == "if")
        hosted = any(map(runs_python, piece.ops))
        untimed = small and not timed and not hosted
        own = block.rows[first] if block.rows and (untimed or first in block.behind) else None
        pieces: Waiting = [*block.waiting, (alone(piece), own), *part.inner]
        if untimed:
            block.waiting = pieces
        else:
            self._span(piece, kernels, part, pieces, own)
        for host in self.low.hosts[part.hosts :] if hosted else ():
            host.run = self._compiling.watched(host.run, block.spans[-1].number)
        if first in block.behind:
            self._counter(len(self.low.text.lines), block.behind[first])

    def _end_waiting(self, block: _Block) -> None:
        """A reading for the waiting pieces."""
        if block.waiting:
            self._enter(block)
            number, begun = self._read(), block.waiting[0][1]
            block.spans.append(Span(number, counted(block.waiting, number), begun=begun))
            block.waiting = []

    def _enter(self, block: _Block) -> None:
        """Writes a reading where a nested block begins: what was before it is the time of the op around it."""
        if not block.spans and self._parts:
            block.entry = self._next()
            self.low.text.lines.insert(block.where, self._reading(block.entry))

    def _span(self, piece: Piece, kernels: list[str], part: _Part, pieces: Waiting, begun: int | None) -> None:
        """A reading for the piece and the waiting ones."""
        block = self._blocks[-1]
        self._enter(block)
        number, block.waiting = self._read(), []
        if not any(part.blocks):
            block.spans.append(Span(number, counted(pieces, number), " ".join(kernels), begun=begun))
            return
        blocks, entries = tuple(part.blocks), tuple(part.entries)
        block.spans.append(
            Span(number, counted(pieces, number), " ".join(kernels), piece.ops[0], blocks, entries, begun)
        )

    def end(self, last: Sequence[Piece]) -> None:
        """The reading at the end of the program; `last`: the pieces that handed out the results."""
        text, self._last = self.low.text, tuple(last)
        self.leave()
        text.lines.append(self._reading(0))
        # LLVM promotes them to registers.
        starts = [(f"  {x} = alloca i64, align 8", f"  store i64 0, ptr {x}, align 8") for x in self._counters.values()]
        text.lines[1:1] = [line for lines in starts for line in lines]

    def leave(self) -> None:
        """Before a return: adds the counters to the table."""
        text = self.low.text
        for row, counter in self._counters.items():
            ran = text.make("i64", f"load i64, ptr {counter}, align 8")
            text.do(f"call void @lap.ran({ran}, i64 {_ROW * row})")

    def times(self, arena: int) -> Times:
        """The spans and the table of the program."""
        spans = (*self._main, Span(0, counted([(piece, None) for piece in self._last], 0)))
        table = np.zeros((self.count, 2), np.int64)
        compiling = self._compiling
        now = lambda: compiling.without(table)  # noqa: E731
        return Times("native", arena, spans, now, reading_nanoseconds(), address=table.ctypes.data)

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _read(self) -> int:
        """Writes a reading; returns its row."""
        number = self._next()
        self.low.text.lines.append(self._reading(number))
        return number

    def _counter(self, where: int, row: int | None = None) -> int:
        """Counts in a row (a new one if None) how often the line `where` runs; returns the row."""
        text, number = self.low.text, self._next() if row is None else row
        counter, ran, more = (text.fresh(x) for x in ("runs", "ran", "ran"))
        self._counters[number] = counter
        text.lines[where:where] = [
            f"  {ran} = load i64, ptr {counter}, align 8",
            f"  {more} = add i64 {ran}, 1",
            f"  store i64 {more}, ptr {counter}, align 8",
        ]
        return number

    def _reading(self, number: int) -> str:
        return f"  call void @lap(ptr %clock, i64 {_ROW * number})"


@cache
def reading_nanoseconds() -> float:
    """What a reading adds to the time of its span."""
    text = _READ.replace("<table>", "@context").replace("<clock>", str(getattr(time, "CLOCK_MONOTONIC")))  # noqa: B009
    text = "\n".join([text, _CALIBRATE.replace("<readings>", str(_READINGS)), _DECLARE])
    loaded = load(text, context_size=1, target=this_host())
    table, clock = np.zeros(2, np.int64), np.zeros(1, np.int64)
    loaded.fill([table.ctypes.data])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.address("readings"))
    found = []
    for _ in range(_TRIES):
        table[:] = 0
        run(clock.ctypes.data)
        found.append(table[1] / table[0])
    return float(min(found))
