"""Readings of the clock between the pieces of a program, for those who ask what each takes.

One reading ends a piece and begins the next: all that is done between two readings belongs to the piece that the later
one ends.  So control flow gets its own time without that of its blocks, and everything is counted once.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..base import Piece
from ..timed import Span, Times
from .engine import load

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["Laps"]

#: A row of the table: how often, and nanoseconds.
_ROW = 16
#: What the calibration reads, and how often it is tried.
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
    """A block that is being written: where it begins, and pieces on single numbers that no span has taken yet."""

    def __init__(self, where: int) -> None:
        self.where = where
        self.waiting: list[Piece] = []
        self.spans: list[Span] = []
        self.entry: int | None = None


class _Part:
    """A piece that is being written: the blocks in it that are done, and what of them belongs to itself."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Span, ...]] = []
        self.entries: list[int | None] = []
        self.extra: list[Piece] = []


class Laps:
    """Writes the readings while the driver is written, and notes what lies between them.

    Row 0 of the table is what follows the last op: results that are handed out.
    """

    def __init__(self, low: Lowering) -> None:
        self.low, self.count = low, 1
        self._blocks: list[_Block] = []
        self._parts: list[_Part] = []
        self._main: list[Span] = []
        self._rest: list[Piece] = []
        clock = getattr(time, "CLOCK_MONOTONIC")  # noqa: B009  (type checkers know it on some systems only)
        text = _READ.replace("<table>", low.context.place("times")).replace("<clock>", str(clock))
        low.text.needs["lap"] = text
        low.text.declares.add(_DECLARE)
        low.text.do("%clock = alloca i64, align 8")
        low.text.do("call void @lap.start(ptr %clock)")

    def open_block(self) -> None:
        """A block begins to be written."""
        self._blocks.append(_Block(len(self.low.text.lines)))

    def close_block(self) -> None:
        """The block opened last is written."""
        block = self._blocks.pop()
        if self._parts:
            part = self._parts[-1]
            part.blocks.append(tuple(block.spans))
            part.entries.append(block.entry)
            part.extra += block.waiting
        else:
            self._main, self._rest = block.spans, block.waiting

    def open_piece(self) -> None:
        """A piece begins to be written."""
        self._parts.append(_Part())

    def close_piece(self, piece: Piece, kernels: list[str]) -> None:
        """The piece opened last is written; a reading ends it, unless it is over before the clock is read."""
        part, block = self._parts.pop(), self._blocks[-1]
        timed = any(part.blocks)
        if not timed and (piece.scalar or (piece.blocks and piece.ops[0].defn.name == "if")):
            block.waiting.append(piece)
            return
        if not block.spans and self._parts:  # what was done before the block belongs to what the block is of
            block.entry = self._next()
            self.low.text.lines.insert(block.where, self._reading(block.entry))
        number = self._next()
        self.low.text.lines.append(self._reading(number))
        if timed:
            piece = Piece(piece.ops, piece.moves, piece.calls, piece.scalar)
            inner = {span.kernel for spans in part.blocks for span in spans}
            kernels = [name for name in kernels if name not in inner]
        pieces = (*block.waiting, piece, *(part.extra if timed else ()))
        block.waiting = []
        blocks, entries = (tuple(part.blocks), tuple(part.entries)) if timed else ((), ())
        block.spans.append(Span(number, pieces, " ".join(kernels), blocks, entries))

    def end(self, last: Sequence[Piece]) -> None:
        """Results are where they leave; `last`: what took them there."""
        self.low.text.lines.append(self._reading(0))
        self._rest += last

    def times(self, arena: int) -> Times:
        """The table of the program."""
        spans = (*self._main, Span(0, tuple(self._rest)))
        table = np.zeros((self.count, 2), np.int64)
        return Times("native", arena, spans, table.copy, reading_nanoseconds(), address=table.ctypes.data)

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _reading(self, number: int) -> str:
        return f"  call void @lap(ptr %clock, i64 {_ROW * number})"


@cache
def reading_nanoseconds() -> float:
    """What a reading adds to the time of what it ends."""
    text = _READ.replace("<table>", "@context").replace("<clock>", str(getattr(time, "CLOCK_MONOTONIC")))  # noqa: B009
    text = "\n".join([text, _CALIBRATE.replace("<readings>", str(_READINGS)), _DECLARE])
    loaded = load(text, context_size=1)
    table, clock = np.zeros(2, np.int64), np.zeros(1, np.int64)
    loaded.fill([table.ctypes.data])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.address("readings"))
    found = []
    for _ in range(_TRIES):
        table[:] = 0
        run(clock.ctypes.data)
        found.append(table[1] / table[0])
    return float(min(found))
