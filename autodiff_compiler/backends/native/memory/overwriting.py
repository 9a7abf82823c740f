"""Ops that update some elements of their operand: in place if the operand dies there, else in a copy."""

from __future__ import annotations

from contextlib import nullcontext

from ....ir.core import Block, Op, Value
from ..codegen.values import Array
from .buffer_plan import BufferPlan
from .last_uses import last_use
from .wishes import Place

#: Ops that update some elements of their first operand, in place if they can.
CHANGE = frozenset({"slice_update", "scatter_update", "scatter_add", "scatter_max", "scatter_min", "scatter_mul"})


def wish_changes(low: BufferPlan, value: Value, block: Block, place: Place) -> None:
    """Asks for a value of a block to be written to a place, and the versions that it is updated from as well."""
    changed = place.carried is not None and place.carried.changed
    while value.block is block and isinstance(value.owner, Op) and value not in low.wanted:
        low.wanted[value] = place
        before = _before(low, value.owner, value.index)
        if before is None or not (changed or value.owner.defn.name in CHANGE):
            return
        value, reads = before
        if len(low.uses[value]) != reads:
            return


def note_in_place(low: BufferPlan, array: Array, to: Array) -> None:
    """The current step may write `to` in place over an array, whichever of its buffers that lies in."""
    for root in array.roots:
        to.roots[0].over[root, low.tick] = None


def only_changed(low: BufferPlan, arg: Value, out: Value, body: Block) -> bool:
    """Whether the next version of a carry is this one with some elements updated, and nothing else reads this one."""
    return out is not arg and _origin(low, out, body) == (arg, len(low.uses.get(arg, ())))


def _origin(low: BufferPlan, value: Value, block: Block) -> tuple[Value, int] | None:
    """The value from outside a block that a value is an updated version of, and how many reads that takes."""
    reads = 1
    while isinstance(op := value.owner, Op) and op.parent is block:
        before = _before(low, op, value.index) if len(low.uses[value]) == reads else None
        if before is None:
            return None
        value, reads = before
    return value, reads


def _before(low: BufferPlan, op: Op, number: int) -> tuple[Value, int] | None:
    """The operand whose elements an op updates to make a result, and how often it reads it; None if it is no update."""
    if op.defn.name in CHANGE:
        return op.operands[0], 1
    if op.defn.name == "scan" and number < op.attr("carries"):
        (body,) = op.blocks
        return (
            (op.operands[1 + number], 1) if only_changed(low, body.args[1 + number], body.outs[number], body) else None
        )
    if op.defn.name == "if":
        first, second = [_origin(low, arm.outs[number], arm) for arm in op.blocks]
        if first is not None and second is not None and first[0] is second[0]:
            return first[0], first[1] + second[1]
    return None


def target_to_change(low: BufferPlan, op: Op) -> Array:
    """The array for the result of an update: in place if the operand is this version of the carry, and dies."""
    x, (result,) = op.operands[0], op.results
    place = low.wanted.get(result)
    if place is None or place.carried is None or place.carried.arg is not x:
        return low.target(result)
    elsewhere = not any(_read_elsewhere(low, op, root) for root in place.array.roots)
    return low.target(result, over=elsewhere and last_use(low, x, [op]))


def copy_to_change(low: BufferPlan, op: Op, to: Array) -> None:
    """Copies the first operand to `to`, unless it lies there: if it dies at the op, the plan may give both one place.

    Not if another operand may alias it.
    """
    x, result = op.operands[0], op.results[0]
    operand = low.env[x]
    carried = low.carried.get(result)
    mine = carried is not None and (carried.changed or (carried.arg is x and last_use(low, x, [op])))
    if not (isinstance(operand, Array) and operand.contiguous and (mine or operand.offset == 0)):
        low.copy(x, to)
        return
    # The first version of a carry may alias any value from before the loop: it is copied.
    if any(_read_elsewhere(low, op, root) for root in (to.roots if mine else operand.roots)):
        low.copy(x, to)
        return
    if mine:
        assert carried is not None
        carried.in_place = True
    else:
        note_in_place(low, operand, to)
    text = low.text
    source, place = text.at(operand.base, operand.offset), text.at(to.base, to.offset)
    elsewhere = text.make("i1", f"icmp ne {source}, {place.text}")

    def copy() -> tuple[()]:
        with low.trace.once() if mine else nullcontext():
            low.copy(x, to)
        return ()

    text.branch(elsewhere, copy)


def _read_elsewhere(low: BufferPlan, op: Op, root: object) -> bool:
    """Whether another operand may alias a buffer."""
    return any(isinstance(other := low.env[y], Array) and root in other.roots for y in op.operands[1:])
