"""Instrumentation: clock readings between the statements of a program.

They are inserted last, so that the program is otherwise unchanged.  One reading ends a span and begins the next, as in
machine code (see `native.measuring.instrumentation`).
"""

from __future__ import annotations

import ast
from functools import cache
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np

from ...ir.core import Module, Op
from ..base import Piece
from ..op_by_op import piece_of
from ..timed import Counted, Span, Table, Times, Waiting, alone, counted, may_leave, runs_python, spent
from .program import Branch, Exit, FunctionCode, Loop, Node, Step
from .syntax import Var, assign, call, constant, load, number, store

_READINGS, _TRIES = 2000, 7


class Timer:
    """The instrumentation of a program: the functions it calls, the table and the spans.

    Row 0 is what follows the last op: results that are handed out.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.counts, self.nanoseconds = [0], [0]
        self.clock = Var(None, "clock", joined=True)
        self._spans: tuple[Span, ...] = ()

    def began(self) -> int:
        """The start of the first span, by a clock that stops while the thread compiles."""
        return perf_counter_ns() - spent.compiling[0]

    def lap(self, number: int, before: int) -> int:
        """Adds the span that began at `before` to its row; returns the start of the next."""
        now = perf_counter_ns() - (stood := spent.compiling[0])
        self.nanoseconds[number] += now - before
        self.counts[number] += 1
        return perf_counter_ns() - stood

    def write(self, function: FunctionCode) -> None:
        """Inserts the clock readings into the entry."""
        spans, _, _ = _Writer(self, inner=False).written(function.body)
        function.body.insert(0, Step(assign(store(self.clock), call("CLOCK")), None))
        for i, (tree, var) in enumerate(function.returns):
            if not isinstance(tree, ast.Name):  # an expression that takes time, such as a copy
                result = Var(None, "result")
                function.body.append(Step(assign(store(result), tree), None))
                function.returns[i] = load(result), var
        function.body.append(self.reading(0))
        self._spans = (*spans, Span(0, ()))

    def times(self, arena: int) -> Times:
        """The table of the program."""
        reading, beside = _nanoseconds()
        return Times("numpy", arena, self._spans, self._now, reading, beside=beside)

    def _now(self) -> Table:
        return np.array([self.counts, self.nanoseconds], np.int64).T.copy()

    # ------------------------------------------------------------------------------------------- writing
    def new(self) -> int:
        """A row of the table."""
        self.counts.append(0)
        self.nanoseconds.append(0)
        return len(self.counts) - 1

    def reading(self, row: int) -> Step:
        """The statement that reads the clock."""
        return Step(assign(store(self.clock), call("LAP", number(row), load(self.clock))), None)


class _Block(NamedTuple):
    """A block with its readings inserted; in an inner one `entry` is the row of the time before its first span."""

    spans: tuple[Span, ...]
    #: pieces in no span yet
    waiting: tuple[Counted, ...]
    entry: int | None


class _Writer:
    """Inserts readings into a block."""

    def __init__(self, timer: Timer, *, inner: bool) -> None:
        self.timer, self.inner = timer, inner
        self.made: list[Node] = []
        self.spans: list[Span] = []
        self.waiting: Waiting = []
        #: a span whose reading is not inserted yet: statements that free arrays belong to it
        self.ended: Span | None = None
        #: the start of the current part of the block that always runs as a whole, and the number of spans before it
        self.start = self.before = 0
        #: how many waiting pieces precede the last exit of the block
        self.left = 0

    def written(self, body: list[Node]) -> _Block:
        """The spans of the block; `body` becomes what holds the readings."""
        for node in body:
            if self.ended is not None and (node.ops or not isinstance(node, Step)):
                self._read()
            self._node(node)
        if self.ended is not None:
            self._read()
        if self.inner:
            self._count()
        else:
            self._end_waiting()  # else their time would be that of handing out results
        entry = self.timer.new() if self.spans and self.inner else None
        if entry is not None:
            self.made.insert(0, self.timer.reading(entry))
        body[:] = self.made
        return _Block(tuple(self.spans), counted(self.waiting, 0), entry)

    def _node(self, node: Node) -> None:
        pieces = self._pieces(node)
        if isinstance(node, Exit):
            self.waiting += pieces
            self._count()
            self.made.append(node)
            self.start, self.before, self.left = len(self.made), len(self.spans), len(self.waiting)
            return
        hosted = any(runs_python(op) for piece, _ in pieces for op in piece.ops)
        if hosted:
            self._end_waiting()
        own = pieces[-1][0] if pieces and not isinstance(node, Step) else None
        control = own if own is not None and own.blocks else None
        self.waiting += pieces if control is None else [*pieces[:-1], (alone(control), None)]
        leaving = any(may_leave(op) for piece, _ in pieces for op in piece.ops)
        if leaving:
            self._count()
        begun = self.waiting[-1][1] if leaving else None
        self.made.append(node)
        before = len(self.spans)
        if control is None:
            if hosted or not all(piece.scalar for piece, _ in pieces):
                self._span(begun)
        else:
            blocks = self._blocks(node, control)
            self.waiting += [x for block in blocks for x in block.waiting]
            if any(block.spans for block in blocks):
                inner = tuple(block.spans for block in blocks), tuple(block.entry for block in blocks)
                self._span(begun, control.ops[0], *inner)
            elif isinstance(node, Loop):
                self._span(begun)
        if leaving:  # a span that this has made runs as often as what follows
            self.start, self.before = len(self.made), before

    def _span(
        self,
        begun: int | None = None,
        control: Op | None = None,
        blocks: tuple[tuple[Span, ...], ...] = (),
        entries: tuple[int | None, ...] = (),
    ) -> None:
        """Makes a span of the waiting pieces."""
        number = self.timer.new()
        self.ended = Span(number, counted(self.waiting, number), "", control, blocks, entries, begun)
        self.spans.append(self.ended)
        self.waiting, self.left = [], 0

    def _end_waiting(self) -> None:
        """Ends the waiting pieces with a reading."""
        if self.waiting:
            self._span(next((row for _, row in self.waiting[self.left :]), None))
            self._read()

    def _read(self) -> None:
        assert self.ended is not None
        self.made.append(self.timer.reading(self.ended.number))
        self.ended = None

    def _count(self) -> None:
        """An exit of the block: gives the waiting pieces rows that count them."""
        if all(row is not None for _, row in self.waiting):
            return
        if len(self.spans) > self.before:
            row = self.spans[-1].number
        else:
            row = self.timer.new()
            place = ast.Subscript(value=load("RUNS"), slice=number(row), ctx=ast.Store())
            self.made.insert(self.start, Step(ast.AugAssign(target=place, op=ast.Add(), value=number(1)), None))
        self.waiting = list(counted(self.waiting, row))

    def _blocks(self, node: Node, piece: Piece) -> list[_Block]:
        if isinstance(node, Branch):
            return [_Writer(self.timer, inner=True).written(arm) for arm in node.arms]
        assert isinstance(node, Loop)
        if not node.targets and not isinstance(node.test, ast.Constant):  # a condition that runs once more
            exit = Exit(node.test, node.loc)
            exit.ops = tuple(op for inner in piece.blocks[0] for op in inner.ops)
            node.body.insert(0, exit)
            node.test = constant(True)
        return [_Writer(self.timer, inner=True).written(node.body)]

    def _pieces(self, node: Node) -> Waiting:
        """What a node computes; statements around loops are part of these, those of other branches of their op."""
        return [(piece_of(self.timer.module, op), None) for op in dict.fromkeys(node.ops) if _is_of(node, op)]


def _is_of(node: Node, op: Op) -> bool:
    if isinstance(node, Branch):
        return op.defn.name == "if" or not op.blocks
    return isinstance(node, Loop) or not op.blocks


@cache
def _nanoseconds() -> tuple[float, float]:
    """The overhead of a reading inside the span that it ends, and outside of all spans."""
    found = []
    for _ in range(_TRIES):
        timer = Timer(Module())
        lap, clock = timer.lap, timer.began()
        start = clock
        for _ in range(_READINGS):
            clock = lap(0, clock)
        found.append((timer.nanoseconds[0] / _READINGS, (clock - start - timer.nanoseconds[0]) / _READINGS))
    return min(found)
