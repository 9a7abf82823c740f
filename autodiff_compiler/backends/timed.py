"""Programs that measure the times of their spans: the table that they write, and the span of each row."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..ir.core import Op
from ..ir.primitive import Effect
from ..ir.walk import ops_of
from .base import Executable, Piece

__all__ = [
    "Counted",
    "Span",
    "Table",
    "TimedExecutable",
    "Times",
    "Waiting",
    "alone",
    "counted",
    "may_leave",
    "runs_python",
    "spent",
]

#: For each number of a span: how often it ran, and its nanoseconds.
Table: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class _Spent(threading.local):
    """The nanoseconds that this thread has spent on compiling while a profile measures; they only increase.

    A program that calls Python may cause compilations, which are not counted as its own time.
    """

    def __init__(self) -> None:
        self.compiling = [0]


spent = _Spent()


class Counted(NamedTuple):
    """A piece without its blocks, and the row of the table that counts how often it ran."""

    piece: Piece
    row: int


#: Ops in which a function or an output stream of the user's runs.
_PYTHON = frozenset({"host_call", "print"})
#: Pieces that no span has taken yet; those without a row run as often as the block that they stand in.
Waiting: TypeAlias = list[tuple[Piece, int | None]]


def counted(waiting: Iterable[tuple[Piece, int | None]], row: int) -> tuple[Counted, ...]:
    """The pieces, of which the `row` counts those that have none yet."""
    return tuple([Counted(piece, row if own is None else own) for piece, own in waiting])


def may_leave(op: Op) -> bool:
    """Whether an exception of the user's may end the program in the op, so that what follows runs less often."""
    found = (op, *(inner for block in op.blocks for inner in ops_of(block)))
    return any(one.defn.effect is Effect.IO or one.defn.name == "call" for one in found)


def runs_python(op: Op) -> bool:
    """Whether Python of the user's runs in the op and goes on behind it: nobody can say before how long that takes."""
    return op.defn.name in _PYTHON


def alone(piece: Piece) -> Piece:
    """A piece of control flow without the pieces of its blocks."""
    return Piece(piece.ops, piece.moves, piece.calls, piece.scalar)


@dataclass(frozen=True)
class Span:
    """A part of a program whose time is measured: pieces that run one after the other.

    `number`: its row in the table.  `kernel`: the function of the generated code that it is, where it has one of its
    own.  `control`: the op in whose blocks other spans lie, those of `blocks`; their time is not that of the span
    itself, but that in row `entries[i]` is, which counts how often block i began (None: nothing in the block is
    measured).  To read the clock takes longer than pieces on single numbers: their time is part of a neighbouring span
    or of the one around them, and a row counts them that has no time of its own where nothing else does.  Where Python
    of the user's begins, the span before it ends (see `runs_python`).  `begun`: the row that counts how often the span
    began, where an exception may end it before its own row does.
    """

    number: int
    pieces: tuple[Counted, ...]
    kernel: str = ""
    control: Op | None = None
    blocks: tuple[tuple[Span, ...], ...] = ()
    entries: tuple[int | None, ...] = ()
    begun: int | None = None

    def runs(self, table: Table) -> int:
        """How often it began."""
        return int(table[self.number if self.begun is None else self.begun, 0])

    @property
    def names(self) -> list[str]:
        """The functions of the generated code."""
        return self.kernel.split()

    @property
    def ops(self) -> list[Op]:
        return [op for piece, _ in self.pieces for op in piece.ops]

    def inner(self) -> Iterator[Span]:
        """The spans in its blocks, and in those of these."""
        for block in self.blocks:
            for span in block:
                yield span
                yield from span.inner()


class Times:
    """What the spans of one program have taken so far.

    `backend`: the name of the one that runs it.  `arena`: bytes between its arguments and results (see `Storage`).
    `spans`: in the order of the program, the outermost ones.  `now` gives a table: for each number how often the span
    ran, and its nanoseconds, in all threads that ran the program.  `reading`: nanoseconds of a reading of the clock
    that are part of every run of a span; `beside`: those that are part of none.  `address`: where machine code writes.
    """

    def __init__(
        self,
        backend: str,
        arena: int,
        spans: tuple[Span, ...],
        now: Callable[[], Table],
        reading: float,
        *,
        beside: float = 0.0,
        address: int = 0,
    ) -> None:
        self.backend, self.arena, self.spans, self.now = backend, arena, spans, now
        self.reading, self.beside, self.address = reading, beside, address

    def all_spans(self) -> Iterator[Span]:
        """All spans, those of control flow before those in its blocks."""
        for span in self.spans:
            yield span
            yield from span.inner()


class TimedExecutable(Executable, Protocol):
    """A program that measures its parts; `times` of one that does not is None."""

    times: Times | None
