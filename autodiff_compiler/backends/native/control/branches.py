"""`if` as a branch of the driver.

Results that are scalars or constants are registers (phis).  An array that is wanted somewhere is written there by both
arms.  Any other is a pointer: to the buffer that arms write what they compute to, or to what an arm yields from before;
if that takes too much memory, arms copy what they yield to one buffer (`moves`).
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.core import Block, Op, Value
from ....ir.types import TensorType
from ..codegen.emit import Reg
from ..codegen.lanes import Lane
from ..codegen.values import Array, Buffer, Operand, Spread, Undefined, joined, roots_of
from ..kernels.interrupts import has_loops
from ..lower import OPS, Lowering
from ..memory.last_uses import dies
from ..memory.overwriting import wish_changes
from ..memory.wishes import Place
from .moves import give_places, move_together
from .registers import Roots, operand_of, registers_of


def _if(low: Lowering, op: Op) -> None:
    text = low.text
    test = low.scalar(op.operands[0]).reg
    places = {i: place for i, r in enumerate(op.results) if (place := low.wish(r)) is not None}
    merged = [i for i, r in enumerate(op.results) if low.uses.get(r) and not (i in places and places[i].fixed)]
    same = {i: constant for i in merged if (constant := _same_constant(low, op, i)) is not None}
    merged = [i for i in merged if i not in same]
    for i in merged:
        if i not in places and (made := _made(op, i)) is not None:
            places[i] = Place(_place(low, op, i, made), fixed=False)
    if low.keeping.moves:
        give_places(low, op, merged, places)
        merged = [i for i in merged if not (i in places and places[i].fixed)]
    shared = [_Shared(b) for place in places.values() for b in place.array.roots if b.idle is not None]
    roots = {i: Roots() for i in merged}
    polls = any(has_loops(low, block) for block in op.blocks)
    before, written = low.fuel, low.written

    def arm(number: int) -> Callable[[], list[Reg]]:
        block = op.blocks[number]

        def write() -> list[Reg]:
            low.fuel, low.written = before, set(written)
            for one in shared:
                one.begin(low.tick + 1)
            with low.inside(op, number), low.arms.arm(number, low, block):
                _wish(low, block, places)
                low.block(block)
                low.tick += 1  # what is copied now is no part of the last op
                moved: dict[int, Operand] = {**move_together(low, block, places)} if low.keeping.moves else {}
                moved |= _settle(low, block, {i: place for i, place in places.items() if i not in moved})
                found: list[Reg] = []
                for i in merged:
                    operand = moved[i] if i in moved else _brought(low, block.outs[i], places.get(i))
                    found += registers_of(low, operand, op.results[i].type, roots[i])
            for one in shared:
                one.end(low.tick)
            return [*found, low.fuel] if polls else found

        return write

    found = text.branch(test, arm(0), arm(1))
    low.tick += 1  # what is read from now on is no part of an arm
    low.written = written
    low.fuel = found.pop() if polls else before
    registers = iter(found)
    for i in merged:
        found_there = operand_of(low, op.results[i].type, registers, tuple(roots[i]))
        low.env[op.results[i]] = joined(found_there, low.tick) if isinstance(found_there, Array) else found_there
    for i, constant in same.items():
        low.env[op.results[i]] = constant
    for i, place in places.items():
        if place.fixed:
            low.env[op.results[i]] = place.array
    alone = {root for r in op.results if len(mine := roots_of(low.env.get(r))) == 1 for root in mine}
    for one in shared:
        one.close(low.tick, alone=one.buffer in alone)


def _wish(low: Lowering, block: Block, places: dict[int, Place]) -> None:
    """Asks for what an arm yields to be written to its places."""
    for i, place in places.items():
        out = block.outs[i]
        if place.carried is not None:
            wish_changes(low, out, block, place)
        elif out.block is block and isinstance(out.owner, Op) and out not in low.wanted:
            low.wanted[out] = place


def _settle(low: Lowering, block: Block, places: dict[int, Place]) -> dict[int, Operand]:
    """Copies what an arm yields to fixed places; the operands, by result, of what it yields more than once."""
    found: dict[int, Operand] = {}
    for i, place in places.items():
        out = block.outs[i]
        low.wanted.pop(out, None)
        if place.carried is not None and place.carried.one is not None and out.block is block:
            if block.outs.count(out) == 1:
                place.carried.one.settle(out)
            else:
                version = low.stand_in(out.type, low.env[out], out)
                place.carried.one.settle(version)
                found[i] = low.env[version]
        if place.fixed and low.env[out] is not place.array and not isinstance(low.env[out], Undefined):
            low.copy_defined(out, place.array)
    return found


class _Shared:
    """A buffer that each arm may write a result to: dead in an arm until it is written there."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer, self.since, self.before, self.filled = buffer, buffer.idle, len(buffer.gaps), False
        self.touched = 0

    def begin(self, tick: int) -> None:
        self.touched = len(self.buffer.touches)
        if self.buffer.idle is None:
            self.buffer.idle = tick

    def end(self, tick: int) -> None:
        self.filled = self.filled or len(self.buffer.touches) > self.touched
        if self.buffer.idle is not None:
            self.buffer.fill(tick + 1)

    def close(self, tick: int, *, alone: bool) -> None:
        """After both arms: dead if neither wrote it, or if a virtual buffer stands for the result (not `alone`)."""
        if not self.filled:
            del self.buffer.gaps[self.before :]
            self.buffer.idle = self.since
        elif not alone and self.buffer.idle is None:
            self.buffer.idle = tick


def _made(op: Op, i: int) -> TensorType | None:
    """The type of a result, if it is an array that an arm computes."""
    type = op.results[i].type
    if not isinstance(type, TensorType) or type.shape == ():
        return None
    outs = [(out.owner, out.block is block) for block in op.blocks if isinstance((out := block.outs[i]).owner, Op)]
    made = any(owner.defn.name == "const" or (inside and owner.defn.name != "undef") for owner, inside in outs)
    return type if made else None


def _brought(low: Lowering, out: Value, place: Place | None) -> Operand:
    """The operand that an arm yields: copied to its place if it must be copied anyway, being no array in C order."""
    operand = low.env[out]
    scattered = isinstance(operand, Spread) or (isinstance(operand, Array) and not operand.contiguous)
    if place is None or not scattered:
        return operand
    if place.carried is not None:
        if place.carried.one is None:
            return operand
        # Others may read the value where it is; the next version is all that is taken there.
        version = low.stand_in(out.type, operand, out)
        place.carried.one.settle(version)
        return low.env[version]
    low.copy(out, place.array)
    return place.array


def _place(low: Lowering, op: Op, i: int, type: TensorType) -> Array:
    """The array that arms write a result to: over what an arm yields from before, if that dies there, or a new one."""
    for block in op.blocks:
        handed = dies(low, block.outs[i], (block, i))
        if handed is not None and block.outs[i].block is not block:
            return low.array(type, handed)
    return low.empty_array(type)


def _same_constant(low: Lowering, op: Op, i: int) -> Spread | None:
    """The constant that both arms yield, if they do."""
    found: list[bool | int | float] = []
    for block in op.blocks:
        out = block.outs[i]
        made, before = out.owner, low.env.get(out)
        if isinstance(made, Op) and made.defn.name == "const" and not isinstance(made.attr("value"), str):
            found.append(made.attr("value"))
        elif isinstance(before, Spread) and not isinstance(before.number, Lane):
            found.append(before.number)
        else:
            return None
    a, b = found
    type = op.results[i].type
    assert isinstance(type, TensorType)
    return Spread(type, a) if type.shape != () and repr(a) == repr(b) else None


OPS["if"] = _if
