"""Fusion groups: elementwise ops of one shape, brought together so that a backend may compute each in one loop.

A group is a run of consecutive ops of one block over one shape: elementwise ops, broadcasts of values from outside, and
reductions of that shape, whose results the group itself does not read.  A group is marked by nothing but the order of
its ops: they may run one by one, and `fusion_plan` finds the groups again.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Effect
from ..ir.types import Shape, TensorType
from ..ir.walk import Cloner, dependencies, ops_of
from .manager import Notes, module_pass

#: Reductions that may end a group.
_REDUCTIONS = frozenset({"sum", "max", "min", "any", "all"})


@dataclass(frozen=True)
class FusionGroup:
    """At least two consecutive ops that one loop over `shape` can compute."""

    number: int
    shape: Shape
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class FusionPlan:
    """The groups of a function in the order of its text, and the group of each op that has one."""

    groups: tuple[FusionGroup, ...]
    of: dict[Op, FusionGroup]


def loop_shape(op: Op) -> Shape | None:
    """The shape that an op loops over, element by element; None if it is no part of a group."""
    defn = op.defn
    if defn.effect is not Effect.PURE or len(op.results) != 1:
        return None
    type = op.results[0].type
    if not isinstance(type, TensorType):
        return None
    if (defn.scalar is not None and op.operands) or defn.name in ("cast", "broadcast_to"):
        return type.shape
    return op.operands[0].shape if defn.name in _REDUCTIONS else None


def fusion_plan(function: Function) -> FusionPlan:
    """The groups of a function: runs as long as they can be."""
    groups: list[FusionGroup] = []
    blocks = [function.body, *(b for op in ops_of(function.body) for b in op.blocks)]
    for block in blocks:
        run = _Run()
        for op in [*block.ops, None]:
            if op is None or not run.takes(op):
                if len(run.ops) > 1:
                    assert run.shape is not None
                    groups.append(FusionGroup(len(groups), run.shape, tuple(run.ops)))
                run = _Run()
                if op is not None:
                    run.takes(op)
    return FusionPlan(tuple(groups), {op: group for group in groups for op in group.ops})


class _Run:
    """A group that grows."""

    def __init__(self) -> None:
        self.shape: Shape | None = None
        self.ops: list[Op] = []
        self.made: set[Value] = set()
        self.reduced: set[Value] = set()

    def takes(self, op: Op) -> bool:
        """Adds an op, if it belongs to the group (or begins it)."""
        shape = loop_shape(op)
        if shape is None or (self.ops and shape != self.shape) or not self.reduced.isdisjoint(op.operands):
            return False
        if op.defn.name == "broadcast_to" and op.operands[0] in self.made:
            return False
        self.shape = shape
        self.ops.append(op)
        self.made.update(op.results)
        if op.defn.name in _REDUCTIONS:
            self.reduced.update(op.results)
        return True


def _notes(function: Function, names: dict[Value, str]) -> Notes:
    return {op: f"group {group.number}" for op, group in fusion_plan(function).of.items()}


@module_pass("fuse", _notes)
def fuse(module: Module) -> Module:
    """The module with pure ops moved so that groups are long; effects keep their order."""
    new = module.like()
    for function in module:
        body = Block.like(function.args)
        copy = _Reorder(Builder(body, module=new), dict(zip(function.args, body.args, strict=True)))
        body.outs = copy.clone_ops(function.body)
        new.add(Function(function.name, body, function.loc))
    return new


class _Reorder(Cloner):
    """Copies a block in the order of `_schedule`."""

    def clone_ops(self, block: Block) -> list[Value]:
        ordered = Block()
        ordered.ops, ordered.outs = _schedule(block), block.outs
        return super().clone_ops(ordered)


def _schedule(block: Block) -> list[Op]:
    """The ops of a block in an order that keeps dependencies and effects and lets groups grow.

    Each op comes as early as in the old order, except that a group, once begun, first takes every op that it may take:
    those that read what it made, and those that a common reader waits for.
    """
    waits, readers = dependencies(block)
    number = {op: i for i, op in enumerate(block.ops)}
    ready = [i for i, op in enumerate(block.ops) if waits[op] == 0]
    order: list[Op] = []
    done: set[Op] = set()

    def place(op: Op) -> None:
        order.append(op)
        done.add(op)
        for reader in readers[op]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heapq.heappush(ready, number[reader])

    while ready:
        first = block.ops[heapq.heappop(ready)]
        if first in done:
            continue
        run = _Run()
        begun = run.takes(first)
        place(first)
        near = _near(first, readers, number) if begun else []
        heapq.heapify(near)
        while near:
            op = block.ops[heapq.heappop(near)]
            if op not in done and waits[op] == 0 and run.takes(op):
                place(op)
                for i in _near(op, readers, number):
                    heapq.heappush(near, i)
    return order


def _near(op: Op, readers: dict[Op, list[Op]], number: dict[Op, int]) -> list[int]:
    """The ops that read what an op made, and those that make what such a reader needs besides."""
    shape = loop_shape(op)
    found = []
    for reader in readers[op]:
        if loop_shape(reader) != shape:
            continue
        found.append(number[reader])
        found += [number[x.owner] for x in reader.operands if isinstance(x.owner, Op) and x.owner in number]
    return found
