"""Bounds of indices in IR from a file: the compiler puts `check_index` before them, a file may leave it out.

An op whose class names `positions` takes integers that lie within an axis of its first operand.  Here positions are
traced back to where they come from, through all that hands them on as they are: views, parts, loops, branches, calls.
What an argument, a state or Python gives may be any number of its dtype; `check_index`, constants and counting say what
they give; of what is computed nothing is known, and it is let pass (the backends keep every position within its axis in
any case).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .core import Block, Module, Op, Value
from .loops import Loop
from .printer import Unbound
from .types import Seq, TensorType
from .verify import VerifyError
from .walk import callee_of, ops_of

__all__ = ["verify_positions"]

#: The least and the greatest number that a value may hold.
Range = tuple[int, int]

#: Ops that hand on elements of operands as they are, beside views: the numbers of those operands.
_HANDS_ON = {"gather": 0, "take_along_axis": 0, "to_seq": 0, "from_seq": 0, "roll": 0}
_JOINS = {"concat", "stack", "tuple_make"}
_FROM_OUTSIDE = {"state_read", "host_call"}


def verify_positions(module: Module) -> None:
    """Raises VerifyError where an index may lie outside of its axis, because nothing has checked it for that size."""
    calls: dict[str, list[Op]] = {}
    for function in module.functions.values():
        for op in ops_of(function.body):
            if op.defn.name == "call":
                calls.setdefault(str(callee_of(op)), []).append(op)
    for function in module.functions.values():
        for op in ops_of(function.body):
            name = op.defn.positions
            if name is None:
                continue
            index = op.operands[op.defn.operand_names.index(name)]
            size = op.operands[0].shape[op.attr("axis")]
            for low, high in _Trace(module, calls).of(index):
                if type(size) is int and low <= high and (low < 0 or high >= size):
                    raise VerifyError(
                        f"its {name} may be {low if low < 0 else high}, but the axis has {size} elements: "
                        f"a `check_index` with size={size} must be before it",
                        function,
                        op,
                    )


class _Trace:
    """Where the elements of one value come from."""

    def __init__(self, module: Module, calls: dict[str, list[Op]]) -> None:
        self.module, self.calls = module, calls
        self.seen: set[Value] = set()

    def of(self, x: Value) -> Iterator[Range]:
        """The ranges of all sources that are known."""
        waiting = [x]
        while waiting:
            x = waiting.pop()
            if x in self.seen:
                continue
            self.seen.add(x)
            found = _given(x, self.module)
            if found is not None:
                yield found
            elif isinstance(x.owner, Op):
                waiting += self.behind(x, x.owner)
            elif isinstance(x.owner, Block):
                waiting += self.bound(x, x.owner)

    def behind(self, x: Value, op: Op) -> list[Value]:
        """The values whose elements an op hands on as its result."""
        name = op.defn.name
        if name in _JOINS:
            return list(op.operands)
        if name == "tuple_get":
            made = op.operands[0].op
            return [made.operands[op.attr("index")]] if made is not None and made.defn.name == "tuple_make" else []
        if name == "if":
            return [block.outs[x.index] for block in op.blocks]
        if name == "call":
            callee = self.module.functions.get(str(callee_of(op)))
            return [] if callee is None else [callee.outs[x.index]]
        if name in ("scan", "while"):
            k = x.index - (name == "while")
            return [op.blocks[-1].outs[k], *[carry.init for carry in Loop(op).carries[k : k + 1]]] if k >= 0 else []
        if name == "cast" or op.defn.view is not None or name in _HANDS_ON:
            at = 0 if op.defn.view is None else op.defn.operand_names.index(op.defn.view)
            return [op.operands[at]] if _is_whole(op.operands[at]) else []
        return []

    def bound(self, x: Value, block: Block) -> list[Value]:
        """The values that an argument of a block stands for."""
        op = block.parent
        if op is None:
            named = next((f.name for f in self.module.functions.values() if f.body is block), "")
            return [call.operands[x.index] for call in self.calls.get(named, ())]
        if op.defn.name not in ("scan", "while"):
            return []
        loop = Loop(op)
        given = [(carry.init, carry.next) for carry in loop.carries if x in carry.args]
        return [*given[0]] if given else [sequence for sequence, arg in loop.elements if arg is x]


def _is_whole(x: Value) -> bool:
    type = x.type
    while isinstance(type, Seq):
        type = type.elem
    return isinstance(type, TensorType) and type.dtype.is_int


def _given(x: Value, module: Module) -> Range | None:
    """The numbers of a value that is a source; None for one that is none, or of which nothing is known."""
    type = x.type
    while isinstance(type, Seq):
        type = type.elem
    if not isinstance(type, TensorType) or not type.dtype.is_int:
        return None
    bits = type.dtype.bits
    whole = (0, 2**bits - 1) if type.dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if isinstance(x.owner, Block):
        return whole if x.owner is module.entry.body else None
    op = x.owner
    assert isinstance(op, Op)
    name = op.defn.name
    if name in _FROM_OUTSIDE:
        return whole
    if name == "check_index":
        return 0, op.attr("size") - 1
    if name == "iota":
        return _counted(op)
    return _constant(op.attr("value"), module) if name == "const" else None


def _counted(op: Op) -> Range | None:
    first, step, size = op.attr("start"), op.attr("step"), op.attr("size")
    if not all(type(n) is int for n in (first, step, size)) or size == 0:
        return None
    last = first + (size - 1) * step
    return min(first, last), max(first, last)


def _constant(value: Any, module: Module) -> Range | None:
    if type(value) is int:
        return value, value
    array = module.constants.get(str(value).removeprefix("@"))
    if array is None or isinstance(array, Unbound) or array.size == 0:
        return None
    return int(array.min()), int(array.max())
