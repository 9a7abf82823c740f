"""Deferral: ops that leave their fused loop for a later one, so that their results do not live longer than needed.

The derivative of `tanh` could be computed in the loop that computes `tanh`; but it is read in the backward pass, and
`tanh` itself is alive until then anyway.
"""

from __future__ import annotations

from math import prod
from typing import Protocol

from ....ir.core import Op, Value
from ....ir.primitive import COSTLY
from ....ir.types import TensorType
from .clusters import REDUCTIONS, Cluster

__all__ = ["VIEWS", "deferred"]

#: Ops whose results alias their operands.
VIEWS = frozenset({"expand_dims", "squeeze", "reshape", "broadcast_to", "transpose", "slice", "stop_gradient"})


class Order(Protocol):
    """The state of the scheduler (`grouping.Order`) that deferral reads."""

    outs: set[Value]
    waits: dict[Op, int]
    readers: dict[Op, list[Op]]
    number: dict[Op, int]
    done: set[Op]


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
    return prod(x.type.shape) * x.type.dtype.itemsize  # type: ignore[arg-type]


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
