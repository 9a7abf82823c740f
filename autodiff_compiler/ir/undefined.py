"""Reads of `undef`: of placeholders that are passed along on a path without a value, and that no op may read.

A reader stands under a condition that holds only where there is a value.  No analysis here finds out which condition
that is, so a reader moves out of no `if` and no loop.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from .core import Block, Function, Module, Op, Value
from .loops import Loop, known_trips
from .walk import ops_of

#: A value, one that it is handed on to, and the block where that happens; None: where the condition of a `while` holds.
_Way: TypeAlias = "tuple[Value, Value, Block | None]"

#: Ops that hand on what they get, be it a value or a placeholder, or take a placeholder for what has no elements.
_PASSING = frozenset({
    "from_seq", "seq_add", "seq_len", "size_at", "stop_gradient", "to_seq", "tuple_get", "tuple_make", "with_sizes",
    "zeros_of",
})  # fmt: skip
#: Those of them that give a size.
_MEASURING = ("seq_len", "size_at")

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip


def undefined_values(module: Module) -> set[Value]:
    """All values that an `undef` may reach through tuples, branches, carries and calls.

    What a loop keeps of a trip in a sequence is not among them: there is memory for it, whatever stands there.
    """
    return _reached(module, lambda source, place: True)


def misread(function: Function) -> tuple[Op, Value] | None:
    """An op that reads what may be `undef` where no condition can tell, with what it reads; None if there is none.

    A condition around a place where a value is used, but not around where it comes from, is believed to be the one that
    holds only where it is defined.  Callers answer for the arguments.
    """

    def certain(source: Value, place: Block | None) -> bool:
        return place is not None and not _guarded(place, source)

    undefined = _reached(Module({function.name: function}), certain)
    for op in ops_of(function.body) if undefined else ():
        for x in _reads(op):
            if x in undefined and not _guarded(op.parent, x):
                return op, x
    return None


def _reached(module: Module, counts: Callable[[Value, Block | None], bool]) -> set[Value]:
    """The values that may be `undef` from a value on, in a block."""
    found = {op.results[0] for function in module for op in ops_of(function.body) if op.defn.name == "undef"}
    if not found:
        return found
    reached: dict[Value, list[Value]] = {}
    for function in module:
        for op in ops_of(function.body):
            for source, target, place in _handed_on(op, module):
                if counts(source, place):
                    reached.setdefault(source, []).append(target)
    stack = list(found)
    while stack:
        for target in reached.get(stack.pop(), ()):
            if target not in found:
                found.add(target)
                stack.append(target)
    return found


def _reads(op: Op) -> Sequence[Value]:
    """The operands that an op needs the values of: all but those that it only hands on."""
    name = op.defn.name
    if name in _PASSING or name in ("call", "while"):
        return ()
    return op.operands[:1] if name in ("if", "scan") else op.operands


def _guarded(block: Block | None, value: Value) -> bool:
    """Whether a block lies in an `if`, or a loop that may make no trip, in which a value does not lie."""
    while block is not None and block is not value.block:
        owner = block.parent
        if owner is None or _may_not_run(owner, block):
            return True
        block = owner.parent
    return False


def _may_not_run(owner: Op, block: Block) -> bool:
    name = owner.defn.name
    if name == "while":
        return block is owner.blocks[1] and not _surely_runs(owner)
    return name == "if" or (name == "scan" and not _surely_runs(owner))


def _handed_on(op: Op, module: Module) -> Iterator[_Way]:
    """From what to what an op hands on a value unchanged, and in which block."""
    name = op.defn.name
    if name == "if":
        for block in op.blocks:
            if not always_raises(block):
                yield from ((x, r, block) for x, r in zip(block.outs, op.results, strict=True))
    elif name in ("while", "scan"):
        yield from _through_loop(op)
    elif name == "call":
        callee = module.functions.get(op.attr("fn").removeprefix("@"))
        if callee is not None:
            yield from ((x, arg, op.parent) for x, arg in zip(op.operands, callee.args, strict=True))
            yield from ((x, r, callee.body) for x, r in zip(callee.outs, op.results, strict=True))
    elif name in _PASSING and name not in _MEASURING:
        for x in op.operands:
            yield x, op.results[0], op.parent


def _through_loop(op: Op) -> Iterator[_Way]:
    loop, runs = Loop(op), _surely_runs(op)
    yield from ((sequence, element, loop.body) for sequence, element in loop.elements)
    for carry in loop.carries:
        for source, place in ((carry.init, op.parent), (carry.next, loop.body)):
            *later, first = carry.args  # first: in the block that a trip begins with
            yield source, first, place
            yield from ((source, arg, None) for arg in later)
        yield carry.next, carry.result, loop.body
        if not runs:
            yield carry.init, carry.result, op.parent


def always_raises(block: Block) -> bool:
    """Whether control never reaches the end of a block."""
    return any(
        op.defn.name == "raise" or (op.defn.name == "if" and all(map(always_raises, op.blocks))) for op in block.ops
    )


def _surely_runs(loop: Op) -> bool:
    """Whether a loop is known to make a trip."""
    if loop.defn.name == "scan":
        return bool(known_trips(loop))
    cond = loop.blocks[0]
    return _known(cond.outs[0], dict(zip(cond.args, loop.operands, strict=True))) is True


def _known(x: Value, inits: dict[Value, Value]) -> bool | None:
    """What a condition is before the first trip, where that is known."""
    x = inits.get(x, x)
    op = x.op
    if op is None or x.constant is not None:
        return None if x.constant is None else bool(x.constant)
    name = op.defn.name
    if name in _COMPARISONS:
        left, right = (inits.get(y, y).constant for y in op.operands)
        return None if left is None or right is None else bool(_COMPARISONS[name](left, right))
    if name not in ("logical_and", "logical_not", "logical_or"):
        return None
    found = [_known(y, inits) for y in op.operands]
    if name == "logical_not":
        return None if found[0] is None else not found[0]
    decisive = name == "logical_or"  # one such operand is enough
    if decisive in found:
        return decisive
    return None if None in found else not decisive
