"""Ops of a walk that had better wait: what they make would lie in memory until something far behind it is ready.

The derivative of `tanh` follows from its result, which a walk has at hand; but it is read on the way back, and what it
follows from is there until then anyway.
"""

from __future__ import annotations

from math import prod
from typing import Protocol

from ....ir.core import Op, Value
from ....ir.primitive import COSTLY
from ....ir.types import TensorType
from .clusters import REDUCTIONS, Cluster

__all__ = ["VIEWS", "waiting"]

#: Ops whose results lie where their operands do.
VIEWS = frozenset({"expand_dims", "squeeze", "reshape", "broadcast_to", "transpose", "slice", "stop_gradient"})


class Order(Protocol):
    """How far the ops of a block have been put in order: see `grouping`."""

    outs: set[Value]
    waits: dict[Op, int]
    readers: dict[Op, list[Op]]
    number: dict[Op, int]
    done: set[Op]


def waiting(order: Order, cluster: Cluster) -> tuple[list[Op], int]:
    """The ops of a cluster that had better go later, and before which op of the block: right before what reads them.

    They are cheap (dear ones share steps with others of the walk), and over the time until then they would hold twice
    as much memory as they take care of by going now.
    """
    late = _late(order, cluster)
    outside = [r for op in late for r in order.readers[op] if r not in late]
    if not outside:
        return [], 0
    now, then = order.number[cluster.ops[0]], min(order.number[reader] for reader in outside)
    made = {op.results[0] for op in late if any(reader not in late for reader in order.readers[op])}
    read = dict.fromkeys(_lying(x) for op in late for x in op.operands if x.owner not in late)
    held = sum(map(_bytes, made)) * (then - now)
    kept = sum(_bytes(x) * max(0, then - _needed(order, x, now, late)) for x in read)
    return (list(late), then) if held > 2 * kept else ([], 0)


def _late(order: Order, cluster: Cluster) -> dict[Op, None]:
    """The cheap elementwise ops, the last first, of whose readers none is ready when the cluster is done."""
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


def _lying(x: Value) -> Value:
    """The value in whose memory a value lies."""
    while isinstance(x.owner, Op) and x.owner.defn.name in VIEWS:
        x = x.owner.operands[0]
    return x


def _bytes(x: Value) -> int:
    """What a value takes in memory: numbers and constants take nothing."""
    constant = isinstance(x.owner, Op) and x.owner.defn.name == "const"
    if constant or not isinstance(x.type, TensorType) or x.type.shape == ():
        return 0
    return prod(x.type.shape) * x.type.dtype.itemsize  # type: ignore[arg-type]


def _needed(order: Order, x: Value, now: int, late: dict[Op, None]) -> int:
    """Until which op of the block a value is there, whenever the late ones go; of what others made, only until now."""
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
