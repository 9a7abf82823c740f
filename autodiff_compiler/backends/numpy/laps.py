"""Readings of the clock between the statements of a program, for those who ask what each takes.

They are written when everything else about the program is decided, so that it stays the program that it is.  One
reading ends a statement and begins the next, as in machine code (see `native.laps`).
"""

from __future__ import annotations

from functools import cache
from time import perf_counter_ns

import numpy as np

from ...ir.core import Module, Op
from ..base import Piece
from ..op_by_op import piece_of
from ..timed import Span, Table, Times
from .program import Branch, FunctionCode, Loop, Node, Step
from .syntax import Var, assign, call, load, number, store

__all__ = ["Laps"]

_READINGS, _TRIES = 2000, 7


class Laps:
    """The readings of a program: what it calls, the table, and what lies between them.

    Row 0 is what follows the last op.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.counts, self.nanoseconds = [0], [0]
        self._clock = Var(None, "clock", joined=True)
        self._spans: tuple[Span, ...] = ()

    def lap(self, number: int, before: int) -> int:
        """The span of that number, which began `before`, has ended; when the next begins."""
        now = perf_counter_ns()
        self.nanoseconds[number] += now - before
        self.counts[number] += 1
        return perf_counter_ns()

    def write(self, function: FunctionCode) -> None:
        """Writes them into the entry."""
        spans, rest, _ = self._block(function.body, inner=False)
        function.body.insert(0, Step(assign(store(self._clock), call("CLOCK")), None))
        function.body.append(self._reading(0))
        self._spans = (*spans, Span(0, tuple(rest)))

    def times(self, arena: int) -> Times:
        """The table of the program."""
        reading, beside = _nanoseconds()
        return Times("numpy", arena, self._spans, self._now, reading, beside=beside)

    def _now(self) -> Table:
        return np.array([self.counts, self.nanoseconds], np.int64).T.copy()

    # ------------------------------------------------------------------------------------------- writing
    def _block(self, body: list[Node], *, inner: bool = True) -> tuple[list[Span], list[Piece], int | None]:
        """The spans of a block; pieces that are part of none; of an inner one the row of what was done before it."""
        made: list[Node] = []
        spans: list[Span] = []
        waiting: list[Piece] = []
        ended: Span | None = None  # whose reading is not written yet: what frees arrays is part of it
        for node in body:
            if ended is not None and (node.ops or not isinstance(node, Step)):
                made.append(self._reading(ended.number))
                ended = None
            made.append(node)
            pieces = self._pieces(node)
            control = bool(pieces and pieces[-1].blocks and not isinstance(node, Step))
            blocks = self._blocks(node) if control else []
            timed = any(found for found, _, _ in blocks)
            if all(p.scalar for p in pieces) or (control and not timed and isinstance(node, Branch)):
                waiting += pieces
                continue
            if timed:
                own = pieces[-1]
                rest = [p for _, others, _ in blocks for p in others]
                pieces = [*pieces[:-1], Piece(own.ops, own.moves, own.calls, own.scalar), *rest]
                parts = tuple(tuple(found) for found, _, _ in blocks), tuple(entry for _, _, entry in blocks)
                ended = Span(self._next(), (*waiting, *pieces), "", *parts)
            else:
                ended = Span(self._next(), (*waiting, *pieces))
            waiting = []
            spans.append(ended)
        if ended is not None:
            made.append(self._reading(ended.number))
        entry = self._next() if spans and inner else None
        if entry is not None:
            made.insert(0, self._reading(entry))
        body[:] = made
        return spans, waiting, entry

    def _blocks(self, node: Node) -> list[tuple[list[Span], list[Piece], int | None]]:
        if isinstance(node, Branch):
            return [self._block(arm) for arm in node.arms]
        return [self._block(node.body)] if isinstance(node, Loop) else []

    def _pieces(self, node: Node) -> list[Piece]:
        """What a node computes; statements around loops are part of these, those of other branches of their op."""
        return [piece_of(self.module, op) for op in dict.fromkeys(node.ops) if _is_of(node, op)]

    def _next(self) -> int:
        self.counts.append(0)
        self.nanoseconds.append(0)
        return len(self.counts) - 1

    def _reading(self, row: int) -> Step:
        return Step(assign(store(self._clock), call("LAP", number(row), load(self._clock))), None)


def _is_of(node: Node, op: Op) -> bool:
    if isinstance(node, Branch):
        return op.defn.name == "if" or not op.blocks
    return isinstance(node, Loop) or not op.blocks


@cache
def _nanoseconds() -> tuple[float, float]:
    """What a reading adds to the time of what it ends, and what of it is part of nothing."""
    found = []
    for _ in range(_TRIES):
        laps = Laps(Module())
        lap, clock = laps.lap, perf_counter_ns()
        start = clock
        for _ in range(_READINGS):
            clock = lap(0, clock)
        found.append((laps.nanoseconds[0] / _READINGS, (clock - start - laps.nanoseconds[0]) / _READINGS))
    return min(found)
