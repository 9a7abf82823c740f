"""`if` as a branch of the driver.

Results that are numbers or constants are registers; an array that is wanted in a place of its own is written there by
both arms, any other is a pointer to what the arm has made.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.core import Op
from ...ir.types import TensorType
from .emit import Reg
from .interrupts import has_loops
from .lower import OPS, Lowering
from .overwriting import wish_changes
from .registers import Roots, operand_of, registers_of
from .values import Spread

__all__: list[str] = []


def _if(low: Lowering, op: Op) -> None:
    text = low.text
    test = low.scalar(op.operands[0]).reg
    places = {i: place for i, r in enumerate(op.results) if (place := low.wish(r)) is not None}
    merged = [i for i, r in enumerate(op.results) if low.uses.get(r) and not (i in places and places[i].fixed)]
    same = {i: constant for i in merged if (constant := _same_constant(op, i)) is not None}
    merged = [i for i in merged if i not in same]
    roots = {i: Roots() for i in merged}
    polls = any(has_loops(low, block) for block in op.blocks)
    before, written = low.fuel, low.written

    def arm(number: int) -> Callable[[], list[Reg]]:
        block = op.blocks[number]

        def write() -> list[Reg]:
            low.fuel, low.written = before, set(written)
            with low.inside(op, number):
                for i, place in places.items():
                    out = block.outs[i]
                    if place.carried is not None:
                        wish_changes(low, out, block, place)
                    elif out.block is block and isinstance(out.owner, Op) and out not in low.wanted:
                        low.wanted[out] = place
                low.block(block)
                low.tick += 1  # what is copied now is no part of the last op
                for i, place in places.items():
                    out = block.outs[i]
                    low.wanted.pop(out, None)
                    if place.fixed and low.env[out] is not place.array:
                        low.copy_defined(out, place.array)
                found: list[Reg] = []
                for i in merged:
                    found += registers_of(low, low.env[block.outs[i]], op.results[i].type, roots[i])
            return [*found, low.fuel] if polls else found

        return write

    found = text.branch(test, arm(0), arm(1))
    low.written = written
    low.fuel = found.pop() if polls else before
    registers = iter(found)
    for i in merged:
        type = op.results[i].type
        low.env[op.results[i]] = operand_of(low, type, registers, tuple(roots[i]))
    for i, constant in same.items():
        low.env[op.results[i]] = constant
    for i, place in places.items():
        if place.fixed:
            low.env[op.results[i]] = place.array


def _same_constant(op: Op, i: int) -> Spread | None:
    """The constant that both arms yield, if they do."""
    found = []
    for block in op.blocks:
        out = block.outs[i]
        made = out.owner
        if not isinstance(made, Op) or made.defn.name != "const" or isinstance(made.attr("value"), str):
            return None
        found.append(made.attr("value"))
    a, b = found
    type = op.results[i].type
    assert isinstance(type, TensorType)
    return Spread(type, a) if type.shape != () and repr(a) == repr(b) else None


OPS["if"] = _if
