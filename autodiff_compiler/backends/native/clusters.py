"""Which ops of a block are computed together, in one walk over the elements.

A cluster walks over one shape, its elements in three levels: slabs (`batch`) of rows (`outer`) of elements (`inner`),
each a set of axes.  Elementwise ops of that shape belong to it, and reductions: over `inner`, whose results other ops
of the same walk may use (they are numbers of a row); over `outer`, and over both, which end in it.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

from ...ir.core import Block, Op, Value
from ...ir.primitive import Effect
from ...ir.types import Shape, TensorType
from ...ir.walk import dependencies
from .formulas import has_formula

__all__ = ["REDUCTIONS", "Axes", "Cluster", "items", "reduced_axes"]

#: Reductions that a walk can compute.
REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all"})
#: Ops of one walk.  What does not fit the registers goes through the stack, which is cheaper than arrays between walks;
#: but what the code generator does for a loop grows faster than the loop.
_MOST = 96
_SHAPES = frozenset({"reshape", "expand_dims", "squeeze"})
#: Ops without code, which go first: what waits for them can join a walk then.
_FREE = frozenset({"const", "iota", "expand_dims", "squeeze", "reshape", "broadcast_to", "transpose", "slice"})
#: Elements of a walk that goes before larger ones, which may wait for one number per row or channel.
_FEW = 4096


@dataclass(frozen=True)
class Axes:
    """The axes of the walk by level, each in the order of the shape."""

    batch: tuple[int, ...]
    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @classmethod
    def of_reduction(cls, ndim: int, axes: tuple[int, ...]) -> Axes:
        """The levels that suit a reduction over these axes (not negative)."""
        kept = tuple(a for a in range(ndim) if a not in axes)
        tail = 0  # the last axes that are all reduced, or all kept
        last = ndim - 1 in axes
        while tail < ndim and ((ndim - 1 - tail) in axes) == last:
            tail += 1
        inner = tuple(range(ndim - tail, ndim))
        if last and axes == inner:
            return cls((), kept, inner)
        if last:
            return cls(kept, tuple(a for a in axes if a not in inner), inner)
        return cls(tuple(a for a in kept if a not in inner), axes, inner)


@dataclass(eq=False)
class Cluster:
    """Ops that one walk over `shape` computes, in an order that respects what they read."""

    shape: Shape = ()
    axes: Axes | None = None
    ops: list[Op] = field(default_factory=list)
    #: one number per element, and per row
    full: set[Value] = field(default_factory=set)
    rows: set[Value] = field(default_factory=set)
    #: results of reductions that no op of the walk may use
    ends: set[Value] = field(default_factory=set)

    def takes(self, op: Op) -> bool:
        """Adds the op if it belongs here."""
        if len(self.ops) >= _MOST or not self.ends.isdisjoint(op.operands):
            return False
        type = op.results[0].type
        assert isinstance(type, TensorType)
        name = op.defn.name
        if name in REDUCTIONS:
            joins = self._reduction(op)
        elif name == "broadcast_to":
            joins = type.shape == self.shape and self._spreads(op)
            if joins:
                self.full.add(op.results[0])
        elif name in _SHAPES:
            joins = op.operands[0] in self.rows and self._is_row(op.results[0])
            if joins:
                self.rows.add(op.results[0])
        elif not self.ops or type.shape == self.shape:
            joins = self.rows.isdisjoint(op.operands)
            if joins:
                self.full.add(op.results[0])
                self.shape = type.shape
        else:
            joins = (
                not self.rows.isdisjoint(op.operands)
                and self._is_row(op.results[0])
                and self.full.isdisjoint(op.operands)
            )
            if joins:
                self.rows.add(op.results[0])
        if joins:
            self.ops.append(op)
        return joins

    def _reduction(self, op: Op) -> bool:
        (x,) = op.operands
        if self.ops and x not in self.full:
            return False
        ndim = len(x.shape)
        axes = reduced_axes(op)
        if not axes or ndim == 0:
            return False
        wanted = Axes.of_reduction(ndim, axes)
        mine = self.axes or wanted
        level = _level(mine, axes)
        if level is None:
            # Everything together is a reduction of slabs if there is only one slab.
            return False
        self.shape, self.axes = x.shape, mine
        (self.rows if level == "row" else self.ends).add(op.results[0])
        return True

    def _is_row(self, x: Value) -> bool:
        """Whether the shape of a value is that of one number per row."""
        if self.axes is None:
            return False
        return x.shape in self.row_shapes()

    def row_shapes(self) -> tuple[Shape, Shape]:
        """The shape of one number per row, with and without the axes of 1 that are left of `inner`."""
        assert self.axes is not None
        inner = self.axes.inner
        return (
            tuple(1 if a in inner else d for a, d in enumerate(self.shape)),
            tuple(d for a, d in enumerate(self.shape) if a not in inner),
        )

    def _spreads(self, op: Op) -> bool:
        """Whether the op gives each element the number of its row."""
        x = op.operands[0]
        return x in self.rows and x.shape == self.row_shapes()[0]


def _level(axes: Axes, reduced: tuple[int, ...]) -> str | None:
    if reduced == axes.inner:
        return "row"
    if reduced == axes.outer:
        return "column"
    return "slab" if reduced == tuple(sorted(axes.outer + axes.inner)) else None


def reduced_axes(op: Op) -> tuple[int, ...]:
    """The axes that a reduction runs over, in order, not negative."""
    ndim = len(op.operands[0].shape)
    axes = op.attr("axes") if "axes" in op.defn.schema else (op.attr("axis"),)
    return tuple(sorted(a % ndim for a in axes))


def walks(op: Op) -> bool:
    """Whether the op can be a part of a cluster of more than one element."""
    if op.defn.effect is not Effect.PURE or len(op.results) != 1 or not op.operands:
        return False
    type = op.results[0].type
    if not isinstance(type, TensorType):
        return False
    if op.defn.name in REDUCTIONS:
        return bool(reduced_axes(op)) and 0 not in op.operands[0].shape
    return bool(type.shape) and 0 not in type.shape and has_formula(op)


def items(block: Block) -> Iterator[Cluster | Op]:
    """The ops of a block and its clusters, in an order that keeps dependencies and effects and lets clusters grow."""
    waits, readers = dependencies(block)
    number = {op: i for i, op in enumerate(block.ops)}
    ready = [(_turn(op), i) for i, op in enumerate(block.ops) if waits[op] == 0]
    heapq.heapify(ready)
    done: set[Op] = set()
    candidate = functools.cache(_candidate)  # of an op that is looked at from many others

    def place(op: Op) -> None:
        done.add(op)
        for reader in readers[op]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heapq.heappush(ready, (_turn(reader), number[reader]))

    while ready:
        first = block.ops[heapq.heappop(ready)[1]]
        if first in done:
            continue
        place(first)
        if not walks(first):
            yield first
            continue
        cluster = Cluster()
        if not cluster.takes(first):
            yield first
            continue
        near = _near(first, readers, number, done, candidate)
        heapq.heapify(near)
        while near:
            op = block.ops[heapq.heappop(near)]
            if op not in done and waits[op] == 0 and candidate(op) and cluster.takes(op):
                place(op)
                for i in _near(op, readers, number, done, candidate):
                    heapq.heappush(near, i)
        yield cluster


def _turn(op: Op) -> int:
    """Which of the ops that could be next goes first: the least."""
    if op.defn.name in _FREE:
        return 0
    small = walks(op) and op.defn.name not in REDUCTIONS and prod(op.results[0].shape) <= _FEW  # type: ignore[arg-type]
    return 1 if small else 2


def _candidate(op: Op) -> bool:
    return walks(op) or op.defn.name == "broadcast_to" or op.defn.name in _SHAPES


def _near(
    op: Op, readers: dict[Op, list[Op]], number: dict[Op, int], done: set[Op], candidate: Callable[[Op], bool]
) -> list[int]:
    """The ops that read what an op made, and those that make what such a reader needs besides."""
    found: dict[int, None] = {}
    todo = [reader for reader in readers[op] if candidate(reader)]
    while todo and len(found) < _MOST:
        near = todo.pop()
        if number[near] in found:
            continue
        found[number[near]] = None
        owners = [x.owner for x in near.operands if isinstance(x.owner, Op)]
        todo += [owner for owner in owners if owner in number and owner not in done and candidate(owner)]
    return list(found)
