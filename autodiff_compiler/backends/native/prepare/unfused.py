"""Which ops share a kernel, and for pairs that were not fused though one reads the other's result, the reason.

Each block is scheduled again, and the cluster of the first op is asked to take the second: its refusal is the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....ir.core import Module, Op, Value
from ....ir.types import TensorType
from ....ir.walk import ops_of
from ..fusion.clusters import SHAPES, Cluster, is_fusible, is_scalar
from ..fusion.grouping import FREE, items
from .decompositions import decomposed, without_calls


class Unfused(NamedTuple):
    """A pair: `reader` reads what `maker` computes, and is not in its kernel; `why` is the reason."""

    maker: Op
    reader: Op
    why: str


class Grouped(NamedTuple):
    """`module`: what is lowered; its ops by kernel, and the unfused pairs."""

    module: Module
    kernels: list[list[Op]]
    unfused: list[Unfused]


def grouped(module: Module) -> Grouped:
    """The kernels of a module that went through the pipeline, in the order of the program."""
    lowered = decomposed(without_calls(module))
    found = Grouped(lowered, [], [])
    for function in lowered:
        for block in [function.body, *(block for op in ops_of(function.body) for block in op.blocks)]:
            order = list(items(block))
            found.kernels.extend([item.ops if isinstance(item, Cluster) else [item] for item in order])
            found.unfused.extend(_unfused(order))
    return found


def _unfused(order: list[Cluster | Op]) -> Iterator[Unfused]:
    place = {op: i for i, item in enumerate(order) for op in (item.ops if isinstance(item, Cluster) else [item])}
    for j, item in enumerate(order):
        seen: set[Op] = set()
        for reader in item.ops if isinstance(item, Cluster) else ():
            for x in reader.operands:
                maker = _maker(x, place)
                if maker is None or place[maker] == j or maker in seen:
                    continue
                seen.add(maker)
                first = order[place[maker]]
                if isinstance(first, Cluster):
                    yield Unfused(maker, reader, _why(first, reader, place))


def _maker(x: Value, place: dict[Op, int]) -> Op | None:
    """The op of the block that computes a tensor, looking through views."""
    while isinstance(x.owner, Op) and x.owner in place and x.owner.defn.name in FREE and x.owner.operands:
        x = x.owner.operands[0]
    return x.owner if isinstance(x.owner, Op) and x.owner in place else None


def _why(cluster: Cluster, reader: Op, place: dict[Op, int]) -> str:
    """Why a kernel does not take an op, or an op that it needs and that comes later."""
    kernel = Cluster()
    for op in cluster.ops:
        kernel.add(op)
    number = place[cluster.ops[0]]
    needed = {reader}
    todo = [reader]
    while todo:
        for x in todo.pop().operands:
            owner = x.owner
            if isinstance(owner, Op) and place.get(owner, -1) > number and owner not in needed:
                needed.add(owner)
                todo.append(owner)
    block = reader.parent
    assert block is not None
    for op in [op for op in block.ops if op in needed]:
        why = _refused(kernel, op)
        if why is not None:
            return why if op is reader else f"{reader.defn.name} needs {op.defn.name}{_at(op)}, too, and {why}"
    return "the order of the ops keeps them apart"


def _refused(kernel: Cluster, op: Op) -> str | None:
    """Adds an op to a kernel, or says why it cannot be added."""
    name = op.defn.name
    of_row = is_scalar(op) and not kernel.rows.isdisjoint(op.operands)
    if is_fusible(op) or of_row or name == "broadcast_to" or name in SHAPES:
        return kernel.add(op)
    numbers = [x.type for x in op.operands if isinstance(x.type, TensorType) and x.type.shape == ()]
    made = kernel.full | kernel.rows | kernel.ends
    if made.isdisjoint(op.operands):
        return None if name in FREE else f"{name} is computed later"
    if any(x in made and x.type in numbers for x in op.operands):
        return f"{name} needs one number that is known only when the kernel has gone over all elements"
    return f"{name} needs the whole array"


def _at(op: Op) -> str:
    return f" ({str(op.loc.of_user()).rpartition(':')[0]})" if op.loc is not None else ""
