"""Ops that change some elements of their operand: it is copied, unless it may be overwritten where it lies."""

from __future__ import annotations

from ...ir.core import Op
from .lower import Lowering
from .values import Array

__all__ = ["copy_to_change"]


def copy_to_change(low: Lowering, op: Op, to: Array) -> None:
    """Writes the first operand's elements to `to`, where that is not where they are.

    It is where they are if nobody needs the operand after the op; what else the op reads must lie elsewhere then.
    """
    x, result = op.operands[0], op.results[0]
    operand = low.env[x]
    carried = low.carried.get(result)
    mine = carried is not None and carried.arg is x and low.last_use(x, [op])
    if not (isinstance(operand, Array) and operand.contiguous and (mine or _alone(operand))):
        low.copy(x, to)
        return
    # The first version of a carry may be anybody's: it is only read, and copied.
    if any(_read_elsewhere(low, op, root) for root in (to.roots if mine else operand.roots)):
        low.copy(x, to)
        return
    if mine:
        assert carried is not None
        carried.in_place = True
    else:
        to.roots[0].over[operand.roots[0], low.tick] = None
    text = low.text
    source, place = text.at(operand.base, operand.offset), text.at(to.base, to.offset)
    elsewhere = text.make("i1", f"icmp ne {source}, {place.text}")

    def copy() -> tuple[()]:
        low.copy(x, to)
        return ()

    text.branch(elsewhere, copy)


def _alone(operand: Array) -> bool:
    """Whether an array is all that lies in its buffer."""
    return operand.offset == 0 and len(operand.roots) == 1


def _read_elsewhere(low: Lowering, op: Op, root: object) -> bool:
    """Whether another operand may lie in the same bytes."""
    return any(isinstance(other := low.env[y], Array) and root in other.roots for y in op.operands[1:])
