"""Programs that measure what their parts take: a table that they write, and which part of the program each row is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from .base import Executable, Piece

__all__ = ["Span", "Table", "TimedExecutable", "Times"]

#: For each number of a span: how often it ran, and its nanoseconds.
Table: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Span:
    """A part of a program whose time is measured: pieces that run one after the other.

    `number`: its row in the table.  `kernel`: the function of the generated code that it is, where it has one of its
    own.  `blocks`: what the blocks of its control flow are made of; their time is not that of the span itself, but that
    in row `entries[i]` is, which counts how often block i began (None: no row, as nothing in the block is measured).
    What pieces on single numbers take is part of a neighbouring span: to read the clock takes longer than they do.
    """

    number: int
    pieces: tuple[Piece, ...]
    kernel: str = ""
    blocks: tuple[tuple[Span, ...], ...] = ()
    entries: tuple[int | None, ...] = ()

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
