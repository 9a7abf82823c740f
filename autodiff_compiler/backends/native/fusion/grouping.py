"""The scheduler: puts the ops of a block in order, and fuses them into clusters.

A cluster takes the ready readers of its results, and then its siblings: ops that read the same arrays, which then go
through the memory once instead of once per op.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterator
from math import prod

from ....ir.core import Block, Op, Value
from ....ir.primitive import COSTLY, Effect
from ....ir.sizes import usual
from ....ir.types import Shape, TensorType
from ....ir.walk import dependencies
from ..codegen.formulas import has_formula
from .clusters import MOST_OPS, REDUCTIONS, SHAPES, Cluster, is_fusible, is_scalar

#: Ops without code.  They go first, as ops on scalars do: their readers can then be fused.
FREE = frozenset(
    {"const", "iota", "size_value", "expand_dims", "squeeze", "reshape", "broadcast_to", "transpose", "slice"}
)
#: Ops whose results alias their operands.
VIEWS = frozenset({"expand_dims", "squeeze", "reshape", "broadcast_to", "transpose", "slice", "stop_gradient"})
#: Loops of up to so many elements go before larger ones, which may wait for one number per row or channel.
_FEW = 4096
#: Ops of a cluster from which on it looks for no siblings: their readers must fit in, too.
_FULL = 32
#: Elements of a row below which a loop by rows is slower than a flat one.
_LONG = 256


def items(block: Block) -> Iterator[Cluster | Op]:
    """The clusters and other ops of a block, in an order that keeps dependencies and effects and lets clusters grow."""
    return Order(block).items()


class Order:
    """The state of the scheduler for one block."""

    def __init__(self, block: Block) -> None:
        self.ops, self.outs = block.ops, set(block.outs)
        #: how many ops each still waits for, and which ops wait for it
        self.waits, self.readers = dependencies(block)
        self.number = {op: i for i, op in enumerate(block.ops)}
        self.done: set[Op] = set()
        #: deferred ops, and the number of the op that they go before
        self.later: dict[Op, int] = {}
        self.ready: list[tuple[int, int, int]] = []
        for op in block.ops:
            if self.waits[op] == 0:
                self._push(op)
        #: scalar ops whose results are broadcast later, and the shapes that they are broadcast to
        self.broadcasts = _broadcasts(block, self.readers)
        self.candidate = functools.cache(self._candidate)  # an op is looked at from many others
        #: the elementwise ops that read a value in full, and are not placed yet
        self.readers_of: dict[Value, list[Op]] = {}
        for op in block.ops:
            if is_fusible(op) and op.defn.name not in REDUCTIONS:
                for x in dict.fromkeys(op.operands):
                    if x.shape == op.results[0].shape:
                        self.readers_of.setdefault(x, []).append(op)
        #: ops that may fail, by number, the last first
        self.fallible = [i for i, op in enumerate(block.ops) if not (self.candidate(op) or _is_pure(op))][::-1]

    def items(self) -> Iterator[Cluster | Op]:
        while self.ready:
            _, place, number = heapq.heappop(self.ready)
            first = self.ops[number]
            if first in self.done or self.waits[first] or place < self.later.get(first, place):
                continue
            self._place(first)
            cluster = Cluster()
            if is_fusible(first) and cluster.takes(first):
                self._grow(cluster, first)
                self._defer(cluster)
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
        """Queues an op that is ready."""
        number = self.number[op]
        turn = (2, self.later[op]) if op in self.later else (_priority(op), number)
        heapq.heappush(self.ready, (*turn, number))

    def _defer(self, cluster: Cluster) -> None:
        """Takes the deferred ops out of a cluster."""
        late, then = deferred(self, cluster)
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
            # a scalar that no element of the loop needs can wait
            wanted = self.candidate(op) and (op not in self.broadcasts or cluster.shape in self.broadcasts[op])
            if op not in self.done and self.waits[op] == 0 and wanted and cluster.takes(op):
                self._place(op)
                for i in self._near(op):
                    heapq.heappush(near, i)

    def _candidate(self, op: Op) -> bool:
        return is_fusible(op) or op.defn.name == "broadcast_to" or op.defn.name in SHAPES or op in self.broadcasts

    def _near(self, op: Op) -> list[int]:
        """The numbers of an op's readers, and of the ops that these still need."""
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
        """The ops that an op reads from and that are not placed yet."""
        owners = [x.owner for x in op.operands if isinstance(x.owner, Op)]
        return [owner for owner in owners if owner in self.number and owner not in self.done]

    # ------------------------------------------------------------------------------------------- siblings
    def _siblings(self, cluster: Cluster, refused: set[Op]) -> list[int]:
        """The number of an op that reads an array that the cluster reads, and costs no memory if it joins; or none."""
        if len(cluster.ops) >= _FULL or not _flat(cluster):
            return []
        for x in dict.fromkeys(x for op in cluster.ops for x in op.operands):
            if x in cluster.full or x.shape != cluster.shape or x not in self.readers_of:
                continue
            self.readers_of[x] = readers = [op for op in self.readers_of[x] if op not in self.done]
            for op in readers:
                if self.waits[op] == 0 and op not in refused:
                    refused.add(op)  # or taken: it is not looked at twice
                    if self._frees(op) or self._ends_in_results(op):
                        return [self.number[op]]
        return []

    def _frees(self, op: Op) -> bool:
        """Whether an op frees as much memory as it takes: it is the last reader of an operand of its type."""
        result = op.results[0]
        if result in self.outs:
            return False
        return any(
            all(reader is op or reader in self.done for reader in self.readers[x.owner])
            for x in op.operands
            if isinstance(x.owner, Op) and x.owner in self.number and x.type is result.type and x not in self.outs
        )

    def _ends_in_results(self, op: Op) -> bool:
        """Whether fusible ops lead from an op to results of the block and reductions only.

        These need no arena.  No op that may fail comes before them: a result could not overwrite its last version then.
        """
        while self.fallible and self.ops[self.fallible[-1]] in self.done:
            self.fallible.pop()
        limit = self.fallible[-1] if self.fallible else len(self.ops)
        chain, todo = {op}, [op]
        while todo:
            now = todo.pop()
            neighbours = self._missing(now)
            if now.defn.name not in REDUCTIONS and now.results[0] not in self.outs:
                neighbours += self.readers[now]
            for other in neighbours:
                if other in chain or other in self.done:
                    continue
                if len(chain) == _FULL or self.number[other] > limit or not _same_loop(other, op):
                    return False
                chain.add(other)
                todo.append(other)
        return self.number[op] < limit


def _priority(op: Op) -> int:
    """The rank of a ready op: the least goes first."""
    if op.defn.name in FREE or (_is_pure(op) and op.results[0].shape == ()):
        return 0
    small = is_fusible(op) and op.defn.name not in REDUCTIONS and usual(prod(op.results[0].shape)) <= _FEW
    return 1 if small else 2


def _broadcasts(block: Block, readers: dict[Op, list[Op]]) -> dict[Op, frozenset[Shape]]:
    """The scalar ops of a block whose results are broadcast later, and to which shapes."""
    if not any(op.defn.name in REDUCTIONS and op.results[0].shape == () for op in block.ops):
        return {}  # no loop computes a scalar that others use
    scalars: dict[Op, frozenset[Shape]] = {}
    found: dict[Op, frozenset[Shape]] = {}
    for op in reversed(block.ops):
        if op.defn.name == "broadcast_to":
            found[op] = frozenset([op.results[0].shape])
            continue
        shapes = frozenset[Shape]().union(*[found[reader] for reader in readers[op] if reader in found])
        if not shapes:
            continue
        if is_scalar(op):
            scalars[op] = found[op] = shapes
        elif (op.defn.name in SHAPES or is_fusible(op)) and prod(op.results[0].shape) == 1:
            found[op] = shapes
    return scalars


def _is_pure(op: Op) -> bool:
    """Whether an op is a view or a formula: it cannot fail, and has no effect."""
    if op.defn.name in FREE:
        return True
    one = len(op.results) == 1 and isinstance(op.results[0].type, TensorType)
    return one and op.defn.effect is Effect.PURE and has_formula(op)


def _same_loop(op: Op, other: Op) -> bool:
    """Whether an op iterates over the same shape as `other`, an elementwise one."""
    if not is_fusible(op):
        return False
    x = op.operands[0] if op.defn.name in REDUCTIONS else op.results[0]
    return x.shape == other.results[0].shape


def _flat(cluster: Cluster) -> bool:
    """Whether a fused loop has one pass, in long rows."""
    if any(op.defn.name == "broadcast_to" and op.operands[0] in cluster.rows for op in cluster.ops):
        return False
    return cluster.axes is None or usual(prod(cluster.shape[a] for a in cluster.axes.inner)) >= _LONG


# ------------------------------------------------------------------------------------------------ deferral
def deferred(order: Order, cluster: Cluster) -> tuple[list[Op], int]:
    """The ops of a cluster that are deferred, and the op of the block, by number, right before which they go.

    They are cheap (costly ones share work with others of the loop), and until then their results would hold more than
    twice the memory (bytes times ops) that computing them now frees.
    """
    late = _late(order, cluster)
    outside = [r for op in late for r in order.readers[op] if r not in late]
    if not outside:
        return [], 0
    now, then = order.number[cluster.ops[0]], min(order.number[reader] for reader in outside)
    made = {op.results[0] for op in late if any(reader not in late for reader in order.readers[op])}
    read = dict.fromkeys(_viewed(x) for op in late for x in op.operands if x.owner not in late)
    held = sum(map(_bytes, made)) * (then - now)
    kept = sum(_bytes(x) * max(0, then - _last_reader(order, x, now, late)) for x in read)
    return (list(late), then) if held > 2 * kept else ([], 0)


def _late(order: Order, cluster: Cluster) -> dict[Op, None]:
    """The cheap elementwise ops, the last first, none of whose readers is ready when the cluster is done."""
    late: dict[Op, None] = {}
    for op in reversed(cluster.ops[1:]):
        (result,), cost = op.results, op.defn.cost
        elementwise = result in cluster.full and op.defn.name not in REDUCTIONS
        if not elementwise or cost is None or cost >= COSTLY or result in order.outs:
            continue
        readers = order.readers[op]
        if readers and all(r in late or (r not in order.done and order.waits[r] > 0) for r in readers):
            late[op] = None
    return late


def _viewed(x: Value) -> Value:
    """The value that x is a view of, or x."""
    while isinstance(x.owner, Op) and x.owner.defn.name in VIEWS:
        x = x.owner.operands[0]
    return x


def _bytes(x: Value) -> int:
    """The bytes of a value in the arena: scalars and constants have none there."""
    constant = isinstance(x.owner, Op) and x.owner.defn.name == "const"
    if constant or not isinstance(x.type, TensorType) or x.type.shape == ():
        return 0
    return usual(prod(x.type.shape)) * x.type.dtype.itemsize


def _last_reader(order: Order, x: Value, now: int, late: dict[Op, None]) -> int:
    """The last op of the block, by number, that reads a value or a view of it, not counting `late`; at least `now`."""
    last, todo = now, [x]
    while todo:
        value = todo.pop()
        if value in order.outs:
            return len(order.number)
        for reader in order.readers.get(value.owner, ()) if isinstance(value.owner, Op) else ():
            if reader.defn.name in VIEWS:
                todo += reader.results
            elif reader not in late and reader not in order.done:
                last = max(last, order.number[reader])
    return last
