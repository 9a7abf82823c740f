"""One buffer for each result of an `if`: at the end of an arm, what it yields is copied there unless it lies there.

Otherwise a result is a pointer (a phi) to what an arm yields.  That costs no copy, but after the `if` it may alias any
of several buffers, and all of them stay live.  `backend` compares the arenas of both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....ir.core import Block, Op, Value
from ....ir.types import TensorType
from ..codegen.values import Array, Operand, roots_of, size_of
from ..kernels.interrupts import cost_of
from ..loops.fusing import write_copies
from ..lower import Lowering
from ..memory.last_uses import last_read, last_use
from ..memory.wishes import Place, too_dear


def give_places(low: Lowering, op: Op, merged: Sequence[int], places: dict[int, Place]) -> None:
    """Gives each array result of an `if` a buffer, unless all that arms yield for it stays live afterwards."""
    cost = sum(cost_of(block, low.machine.vector_bytes) for block in op.blocks)
    for i in merged:
        type = op.results[i].type
        if not isinstance(type, TensorType) or type.shape == () or (i in places and places[i].carried is not None):
            continue
        if too_dear(low.machine, size_of(type), cost):
            continue
        if i in places or any(last_read(low, block.outs[i], (block, i)) for block in op.blocks):
            places[i] = Place(low.empty_array(type), fixed=True)


def move_together(low: Lowering, block: Block, places: Mapping[int, Place]) -> dict[int, Array]:
    """Copies what an arm yields to its places, all of one type in one fused loop, so that arrays can be swapped."""
    moved: dict[int, Array] = {}
    found = _found(low, block, places)
    for type in dict.fromkeys(array.type for array in found.values()):
        together = {i: array for i, array in found.items() if array.type == type}
        while stays := [i for i in together if not _may_move(low, block, i, places[i], together)]:
            for i in stays:
                del together[i]
        if together:
            copy_together(low, [(block.outs[i], array) for i, array in together.items()])
            low.tick += 1  # at the end of the arm nobody needs what was moved
            moved |= together
    return moved


def _found(low: Lowering, block: Block, places: Mapping[int, Place]) -> dict[int, Array]:
    """The places of the results whose arrays lie elsewhere."""
    found = {}
    for i, place in places.items():
        out = block.outs[i]
        operand = low.env[out]
        if not can_move(low, out):
            continue
        one = place.carried.one if place.carried is not None else None
        if (one is not None and one.needs_copy(operand)) or (place.fixed and operand is not place.array):
            found[i] = place.array
    return found


def _may_move(low: Lowering, block: Block, i: int, place: Place, together: Mapping[int, Array]) -> bool:
    """Whether the copy overwrites no live value: this version of the carry is dead, or the place is no carry's."""
    if place.carried is None:
        return True
    home = set(place.array.roots)
    others = (low.env[out] for j, out in enumerate(block.outs) if j not in together)
    return last_use(low, place.carried.arg, [block]) and all(home.isdisjoint(roots_of(other)) for other in others)


def can_move(low: Lowering, value: Value) -> bool:
    """Whether a value is an array in memory, in C order."""
    operand = low.env[value]
    return isinstance(operand, Array) and operand.contiguous and 0 not in operand.shape


def copy_together(low: Lowering, pairs: Sequence[tuple[Value, Array]]) -> None:
    """Copies arrays of one type in one loop, which reads an element of each before it writes any of these."""
    low.tick += 1
    arrays = {low.stand_in(to.type, _somewhere(low, value, to)): to for value, to in pairs}
    for to in arrays.values():
        low.touch(to)
        for x in arrays:
            for root in roots_of(low.env[x]):
                if all(_in_step(operand, root) for operand in map(low.env.__getitem__, arrays)):
                    to.roots[0].over[root, low.tick] = None
    write_copies(low, arrays)


def _somewhere(low: Lowering, value: Value, to: Array) -> Operand:
    """The operand to copy from; for a null pointer (an undefined value, which nobody reads) the destination itself."""
    operand = low.env[value]
    if not isinstance(operand, Array) or not low.may_be_nowhere(value, operand):
        return operand
    none = low.text.let("i1", f"icmp eq {operand.base}, null")
    here, there = low.text.at(to.base, to.offset), low.text.at(operand.base, operand.offset)
    return replace(operand, base=low.text.let("ptr", f"select {none}, {here}, {there}"), offset=0)


def _in_step(operand: object, root: object) -> bool:
    """Whether an array, if it aliases the buffer, begins at its first byte."""
    return not isinstance(operand, Array) or root not in operand.roots or operand.offset == 0
