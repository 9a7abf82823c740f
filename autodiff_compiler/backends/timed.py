"""Programs with timers: the table that they write, and the span of the program that each row belongs to."""

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

#: A row for each number of a span: how often it ran, and its nanoseconds.
Table: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class _Spent(threading.local):
    """Nanoseconds that this thread has spent on compiling during measurements; they only grow.

    Python functions that a program calls may compile other programs, which is not counted as the program's time.
    """

    def __init__(self) -> None:
        self.compiling = [0]


spent = _Spent()


class Counted(NamedTuple):
    """A piece without its blocks, and the row of the table that counts how often it ran."""

    piece: Piece
    row: int


#: Ops in which a function or a stream of the user's runs.
_PYTHON = frozenset({"host_call", "print"})
#: Pieces in no span yet, with the row that counts them (None: they run as often as their block).
Waiting: TypeAlias = list[tuple[Piece, int | None]]


def counted(waiting: Iterable[tuple[Piece, int | None]], row: int) -> tuple[Counted, ...]:
    """The pieces with their rows; `row` for those that have none yet."""
    return tuple([Counted(piece, row if own is None else own) for piece, own in waiting])


def may_leave(op: Op) -> bool:
    """Whether a user's exception may leave the program in the op, so that what follows runs less often."""
    found = (op, *(inner for block in op.blocks for inner in ops_of(block)))
    return any(one.defn.effect is Effect.IO or one.defn.name == "call" for one in found)


def runs_python(op: Op) -> bool:
    """Whether the op runs a user's Python code and returns: its time cannot be estimated."""
    return op.defn.name in _PYTHON


def alone(piece: Piece) -> Piece:
    """A piece of control flow without its blocks."""
    return Piece(piece.ops, piece.moves, piece.calls, piece.scalar)


@dataclass(frozen=True)
class Span:
    """A part of a program whose time is measured: pieces that run one after the other.

    `number`: its row in the table.  `kernel`: the names of its functions in the generated code.  `control`: the op of
    control flow whose blocks have spans of their own, `blocks`; their time is not counted as this span's, but that of
    row `entries[i]` is, which counts how often block i began (None: the block has no spans).  `begun`: the row that
    counts how often the span began, where an exception may leave it before its own row is written.

    Reading the clock takes longer than a scalar piece: such pieces belong to a neighbouring span or the one around
    them; a row without time counts them where no other does.  A span ends before a user's Python code (`runs_python`).
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


@dataclass(eq=False)
class Times:
    """The times of the spans of one program so far.

    `backend`: the name of the one that runs it.  `arena`: see `Storage`.  `spans`: the outermost ones, in program
    order.  `now` gives the table, summed over all threads that ran the program.  `reading`: nanoseconds of a clock
    reading that are part of every run of a span; `beside`: those that are part of none.  `address`: of the table, for
    machine code.
    """

    backend: str
    arena: int
    spans: tuple[Span, ...]
    now: Callable[[], Table]
    reading: float
    beside: float = 0.0
    address: int = 0

    def all_spans(self) -> Iterator[Span]:
        """All spans; those of control flow before those in its blocks."""
        for span in self.spans:
            yield span
            yield from span.inner()


class TimedExecutable(Executable, Protocol):
    """A program that measures its parts; `times` of one that does not is None."""

    times: Times | None
