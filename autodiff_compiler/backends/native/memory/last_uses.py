"""Liveness while a program is lowered: whether a use is the last one of a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ....ir.core import Block, Op, Value
from ..codegen.values import Array, Buffer, roots_of, size_of

if TYPE_CHECKING:
    from .buffer_plan import BufferPlan


def last_use(low: BufferPlan, arg: Value, ops: Sequence[Op | Block]) -> bool:
    """Whether the version of a carry in this trip is dead after these ops, or after what an arm yields."""
    body = arg.owner
    assert isinstance(body, Block)
    for user, i in low.uses.get(arg, ()):
        if user is body:
            # What is collected is copied at the start of the trip.
            if i < _carries(body):
                return False
        elif user not in ops and not _done(low, user, arg, ops):
            return False
    return True


def _done(low: BufferPlan, user: Op | Block, x: Value, ops: Sequence[Op | Block] = ()) -> bool:
    """Whether a use of a value is lowered or one of `ops`, and so are all uses of results that alias the value.

    A pending `commit` reads later, if an op raises.
    """
    for around, block in _around(user):
        if around in low.written:
            break
        if block is not None and low.versions.elsewhere(around, around.blocks.index(block)):
            return not _repeats(around, x.block)  # what one arm reads the other does not, in this trip
    else:
        return False
    if around in low.commits:
        return False
    mine = set(roots_of(low.env.get(x)))
    views = [r for r in around.results if not mine.isdisjoint(roots_of(low.env.get(r)))]
    return all(by in ops or _done(low, by, r, ops) for r in views for by, _ in low.uses.get(r, ()))


def last_read(low: BufferPlan, x: Value, last: tuple[Op | Block, int]) -> bool:
    """Whether a use, which is being lowered, is the last of a value."""
    return all(use == last or _done(low, use[0], x) for use in low.uses.get(x, ()))


def _around(user: Op | Block) -> Iterator[tuple[Op, Block | None]]:
    """The ops around a use, innermost first, each with its block that the use lies in."""
    block, op = (user, user.parent) if isinstance(user, Block) else (None, user)
    while op is not None:
        yield op, block
        block = op.parent
        op = block.parent if block is not None else None


def _repeats(op: Op, block: Block | None) -> bool:
    """Whether an `if` lies in a loop inside a block: the next trip may take its other arm."""
    while op.parent is not block and op.parent is not None and op.parent.parent is not None:
        op = op.parent.parent
        if op.defn.name != "if":
            return True
    return False


def dies(low: BufferPlan, x: Value, last: tuple[Op | Block, int]) -> Buffer | None:
    """The frame's buffer that holds only an array, if that dies at a use, which is being lowered."""
    operand = low.env.get(x)
    if not (isinstance(operand, Array) and operand.contiguous and operand.offset == 0 and len(operand.roots) == 1):
        return None
    (root,) = operand.roots
    of_frame = root.result is None and root.argument is None and not root.virtual and root.idle is None
    if not of_frame or root.nbytes != size_of(operand.type):
        return None
    around = low.regions[-1] if low.regions else None
    if around is not None and (root.first < around.start or root in around.moving):
        return None
    same = [y for y, other in low.env.items() if root in roots_of(other)]
    left = [(y, use) for y in same for use in low.uses.get(y, ()) if not _done(low, use[0], y)]
    return root if left == [(x, last)] else None


def _carries(body: Block) -> int:
    """The number of carries of the loop with that body."""
    loop = body.parent
    assert loop is not None
    return int(loop.attr("carries")) if loop.defn.name == "scan" else len(loop.operands)
