"""Live ranges of a planned function: how many bytes are live at each op, and of which values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...backends.op_by_op import nbytes
from ...backends.stacks import Stacks
from ...ir.core import Block, Function, Module, Op, Value
from ...ir.sizes import Dim, Size
from ...ir.types import Seq
from ...ir.walk import ops_of
from ...passes.memory import memory_plan
from ..links import part_of

#: What the bytes of a value are for.  Residuals are kept for a derivative.
KINDS = ("arguments", "results", "residuals", "temporaries")


@dataclass(frozen=True)
class Life:
    """The bytes of a value, and the first and last op (by number, in the order of the text) that they are needed at."""

    value: Value
    kind: str
    nbytes: Size
    first: int
    last: int


class _Reach:
    """Last uses of values by op number; views count as the value that they show."""

    def __init__(self, function: Function) -> None:
        self.plan = memory_plan(function)
        self.number = {op: i for i, op in enumerate(ops_of(function.body))}
        #: of an op that owns blocks: the last op inside
        self.end = {op: i + sum(1 for block in op.blocks for _ in ops_of(block)) for op, i in self.number.items()}
        self.last: dict[Value, int] = {}
        self.by_adjoint: set[Value] = set()
        self._block(function.body)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            for inner in op.blocks:
                self._block(inner)
            for x in op.operands:
                self._read(x, op)
        if block.ops:
            for x in block.outs:
                self._until(x, self.end[block.ops[-1]])

    def _read(self, x: Value, op: Op) -> None:
        """An op reads a value: one from around a loop is needed until the loop ends."""
        outer: Op | None = op
        while outer is not None and outer.parent is not x.block:
            outer = outer.parent.parent if outer.parent is not None else None
        self._until(x, self.end[outer or op])
        if part_of(op.loc) == "adjoint":
            self.by_adjoint.add(self.plan.root(x))

    def _until(self, x: Value, end: int) -> None:
        root = self.plan.root(x)
        self.last[root] = max(self.last.get(root, 0), end)


def lives_of(module: Module) -> Iterator[Life]:
    """The values of a planned program that have bytes of their own, arguments first.

    A result that is written over an operand takes its bytes over; those that a loop hands from trip to trip are counted
    where they come from.  Of what loops of unknown length collect nothing is known.
    """
    function, stacks = module.entry, Stacks(module)
    reach = _Reach(function)
    plan, end = reach.plan, len(reach.number)
    outs = {plan.root(x) for x in function.outs}
    for x in function.args:
        yield Life(x, "arguments", nbytes(x), 0, max(0, end - 1))
    taken = {x: reach.number[result.op] for result, x in plan.overwrites.items() if result.op is not None}
    for op, first in reach.number.items():
        for x in op.results:
            size = stacks.of(x).known if isinstance(x.type, Seq) and op.blocks else nbytes(x)
            if plan.root(x) is not x or not (isinstance(size, Dim) or size):
                continue
            last = reach.last.get(x, first)
            if x in taken:
                last = taken[x] - 1
            kept = part_of(op.loc) != "adjoint" and x in reach.by_adjoint
            kind = "results" if x in outs else "residuals" if kept else "temporaries"
            start = reach.end[op] if op.blocks else first
            yield Life(x, kind, size, start, end - 1 if x in outs else max(start, last))
