"""In which order the ops of a block are computed, and which of them together: clusters grow along what reads what.

A cluster takes what reads what it makes, as far as that is ready, and then what reads the same arrays as it does: these
go through the memory once instead of once per op.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterator
from math import prod

from ....ir.core import Block, Op, Value
from ....ir.primitive import Effect
from ....ir.types import Shape, TensorType
from ....ir.walk import dependencies
from ..codegen.formulas import has_formula
from .clusters import MOST_OPS, REDUCTIONS, SHAPES, Cluster, of_one_number, walks
from .deferral import waiting

__all__ = ["FREE", "Order", "items"]

#: Ops without code, which go first, as those on single numbers do: what waits for them can join a walk then.
FREE = frozenset({"const", "iota", "expand_dims", "squeeze", "reshape", "broadcast_to", "transpose", "slice"})
#: Elements of a walk that goes before larger ones, which may wait for one number per row or channel.
_FEW = 4096
#: Ops of a walk that looks for no siblings any more: what they bring along must fit in, too.
_FULL = 32
#: Elements of a row below which a walk over all elements in one is faster than one by rows.
_LONG = 256


def items(block: Block) -> Iterator[Cluster | Op]:
    """The ops of a block and its clusters, in an order that keeps dependencies and effects and lets clusters grow."""
    return Order(block).items()


class Order:
    """How far the ops of a block have been put in order."""

    def __init__(self, block: Block) -> None:
        self.ops, self.outs = block.ops, set(block.outs)
        #: how many ops each still waits for, and who waits for it
        self.waits, self.readers = dependencies(block)
        self.number = {op: i for i, op in enumerate(block.ops)}
        self.done: set[Op] = set()
        #: ops that were put off, and until which op
        self.later: dict[Op, int] = {}
        self.ready: list[tuple[int, int, int]] = []
        for op in block.ops:
            if self.waits[op] == 0:
                self._push(op)
        #: ops on single numbers that are spread over arrays later, and over which shapes
        self.spread = _spread(block, self.readers)
        self.candidate = functools.cache(self._candidate)  # of an op that is looked at from many others
        #: the elementwise ops that read a value in full, and are not in order yet
        self.readers_of: dict[Value, list[Op]] = {}
        for op in block.ops:
            if walks(op) and op.defn.name not in REDUCTIONS:
                for x in dict.fromkeys(op.operands):
                    if x.shape == op.results[0].shape:
                        self.readers_of.setdefault(x, []).append(op)
        #: ops that may fail, the last first
        self.others = [i for i, op in enumerate(block.ops) if not (self.candidate(op) or _harmless(op))][::-1]

    def items(self) -> Iterator[Cluster | Op]:
        while self.ready:
            _, turn, number = heapq.heappop(self.ready)
            first = self.ops[number]
            if first in self.done or self.waits[first] or turn < self.later.get(first, turn):
                continue
            self._place(first)
            cluster = Cluster()
            if walks(first) and cluster.takes(first):
                self._grow(cluster, first)
                self._put_off(cluster)
                yield cluster
            else:
                yield first

    def _place(self, op: Op) -> None:
        self.done.add(op)
        for reader in self.readers[op]:
            self.waits[reader] -= 1
            if self.waits[reader] == 0:
                self._push(reader)

    def _push(self, op: Op) -> None:
        """An op is ready."""
        number = self.number[op]
        turn = (2, self.later[op]) if op in self.later else (_turn(op), number)
        heapq.heappush(self.ready, (*turn, number))

    def _put_off(self, cluster: Cluster) -> None:
        """Lets ops of a cluster go later that had better wait."""
        late, then = waiting(self, cluster)
        for op in late:
            cluster.ops.remove(op)
            cluster.full.discard(op.results[0])
            self.done.remove(op)
            self.later[op] = then
            for reader in self.readers[op]:
                self.waits[reader] += 1
        for op in late:
            if self.waits[op] == 0:
                self._push(op)

    def _grow(self, cluster: Cluster, first: Op) -> None:
        near = self._near(first)
        heapq.heapify(near)
        refused: set[Op] = set()
        while near or (near := self._siblings(cluster, refused)):
            op = self.ops[heapq.heappop(near)]
            # a number that no element of the walk needs can wait for its end
            wanted = self.candidate(op) and (op not in self.spread or cluster.shape in self.spread[op])
            if op not in self.done and self.waits[op] == 0 and wanted and cluster.takes(op):
                self._place(op)
                for i in self._near(op):
                    heapq.heappush(near, i)

    def _candidate(self, op: Op) -> bool:
        return walks(op) or op.defn.name == "broadcast_to" or op.defn.name in SHAPES or op in self.spread

    def _near(self, op: Op) -> list[int]:
        """The ops that read what an op made, and those that make what such a reader needs besides."""
        found: dict[int, None] = {}
        todo = [reader for reader in self.readers[op] if self.candidate(reader)]
        while todo and len(found) < MOST_OPS:
            near = todo.pop()
            if self.number[near] in found:
                continue
            found[self.number[near]] = None
            todo += [owner for owner in self._missing(near) if self.candidate(owner)]
        return list(found)

    def _missing(self, op: Op) -> list[Op]:
        """The ops that make what an op reads and are not in order yet."""
        owners = [x.owner for x in op.operands if isinstance(x.owner, Op)]
        return [owner for owner in owners if owner in self.number and owner not in self.done]

    # ------------------------------------------------------------------------------------------- siblings
    def _siblings(self, cluster: Cluster, refused: set[Op]) -> list[int]:
        """The number of an op that reads what a cluster reads and may as well be computed by its walk, if any."""
        if len(cluster.ops) >= _FULL or not _flat(cluster):
            return []
        for x in dict.fromkeys(x for op in cluster.ops for x in op.operands):
            if x in cluster.full or x.shape != cluster.shape or x not in self.readers_of:
                continue
            self.readers_of[x] = readers = [op for op in self.readers_of[x] if op not in self.done]
            for op in readers:
                if self.waits[op] == 0 and op not in refused:
                    refused.add(op)  # or taken: it is not looked at twice
                    if self._frees(op) or self._ends(op):
                        return [self.number[op]]
        return []

    def _frees(self, op: Op) -> bool:
        """Whether an op lets go of as much memory as it takes: nobody needs one of its operands after it."""
        result = op.results[0]
        if result in self.outs:
            return False
        return any(
            all(reader is op or reader in self.done for reader in self.readers[x.owner])
            for x in op.operands
            if isinstance(x.owner, Op) and x.owner in self.number and x.type is result.type and x not in self.outs
        )

    def _ends(self, op: Op) -> bool:
        """Whether all that an op leads to is results of the block, and reductions, by way of ops of its walk.

        Results have memory of their own.  None is made before what may fail: it could not lie over its last version.
        """
        while self.others and self.ops[self.others[-1]] in self.done:
            self.others.pop()
        limit = self.others[-1] if self.others else len(self.ops)
        chain, todo = {op}, [op]
        while todo:
            now = todo.pop()
            beside = self._missing(now)
            if now.defn.name not in REDUCTIONS and now.results[0] not in self.outs:
                beside += self.readers[now]
            for other in beside:
                if other in chain or other in self.done:
                    continue
                if len(chain) == _FULL or self.number[other] > limit or not _same_walk(other, op):
                    return False
                chain.add(other)
                todo.append(other)
        return self.number[op] < limit


def _turn(op: Op) -> int:
    """Which of the ops that could be next goes first: the least."""
    if op.defn.name in FREE or (_harmless(op) and op.results[0].shape == ()):
        return 0
    small = walks(op) and op.defn.name not in REDUCTIONS and prod(op.results[0].shape) <= _FEW  # type: ignore[arg-type]
    return 1 if small else 2


def _spread(block: Block, readers: dict[Op, list[Op]]) -> dict[Op, frozenset[Shape]]:
    """The ops of a block that compute single numbers which are spread later, and over which shapes they are."""
    if not any(op.defn.name in REDUCTIONS and op.results[0].shape == () for op in block.ops):
        return {}  # no walk makes a number that others follow from
    spread: dict[Op, frozenset[Shape]] = {}
    found: dict[Op, frozenset[Shape]] = {}
    for op in reversed(block.ops):
        if op.defn.name == "broadcast_to":
            found[op] = frozenset([op.results[0].shape])
            continue
        shapes = frozenset[Shape]().union(*[found[reader] for reader in readers[op] if reader in found])
        if not shapes:
            continue
        if of_one_number(op):
            spread[op] = found[op] = shapes
        elif (op.defn.name in SHAPES or walks(op)) and prod(op.results[0].shape) == 1:  # type: ignore[arg-type]
            found[op] = shapes
    return spread


def _harmless(op: Op) -> bool:
    """Whether an op only computes."""
    if op.defn.name in FREE:
        return True
    one = len(op.results) == 1 and isinstance(op.results[0].type, TensorType)
    return one and op.defn.effect is Effect.PURE and has_formula(op)


def _same_walk(op: Op, other: Op) -> bool:
    """Whether an op goes over elements as the other, an elementwise one, does."""
    if not walks(op):
        return False
    x = op.operands[0] if op.defn.name in REDUCTIONS else op.results[0]
    return x.shape == other.results[0].shape


def _flat(cluster: Cluster) -> bool:
    """Whether a walk goes over its elements once, in long rows."""
    if any(op.defn.name == "broadcast_to" and op.operands[0] in cluster.rows for op in cluster.ops):
        return False
    return cluster.axes is None or prod(cluster.shape[a] for a in cluster.axes.inner) >= _LONG  # type: ignore[misc]
