"""Loop carries that every trip updates in a few places: one array, which the text writes to in place.

A copy for each trip would make time quadratic in the trips, as the rows that a loop fills are as many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir.core import Op, Value
from ...ir.loops import Carry, Loop
from ...ir.walk import Use
from .expressions import FORMULAS

__all__ = ["UPDATES", "versions"]

#: Ops whose result is their first operand with other elements in some places.
UPDATES = frozenset({"scatter_add", "scatter_update", "slice_update"})
#: Ops beside formulas that may read an array which is written to later: they are statements of their own then.
_READERS = frozenset({"gather", "matmul", "max", "mean", "min", "prod", "reshape", "slice", "sum", "transpose"})


def versions(loop: Loop, carry: Carry, uses: Mapping[Value, Sequence[Use]]) -> list[Value]:
    """The carry in a trip and what each update makes of it; none where the array may not be written to in place.

    It may if the body reads each version only before the next update, in ops whose results can be made without memory
    of the array, and if its last version is the next value of this carry, and of no other.
    """
    found = [carry.arg]
    position = {op: i for i, op in enumerate(loop.body.ops)}
    while found[-1] is not carry.next:
        update = _update_of(found[-1], position, uses)
        if update is None:
            return []
        found.append(update.results[0])
    if len(found) == 1:
        return []
    return found if all(_is_read_in_time(x, after, position, uses) for x, after in _pairs(found, position)) else []


def _update_of(x: Value, position: Mapping[Op, int], uses: Mapping[Value, Sequence[Use]]) -> Op | None:
    """The only update of an array in the body."""
    updates = [u for u, at in uses.get(x, ()) if at == 0 and isinstance(u, Op) and u.defn.name in UPDATES]
    return updates[0] if len(updates) == 1 and updates[0] in position else None


def _pairs(found: list[Value], position: Mapping[Op, int]) -> list[tuple[Value, int]]:
    """Each version with the position of the op that updates it; the last one is read until the trip ends."""
    ends = [position[x.op] for x in found[1:] if x.op is not None]
    return list(zip(found, [*ends, len(position)], strict=True))


def _is_read_in_time(x: Value, end: int, position: Mapping[Op, int], uses: Mapping[Value, Sequence[Use]]) -> bool:
    yields = 0
    for user, at in uses.get(x, ()):
        if not isinstance(user, Op):
            yields += 1
        elif position.get(user) == end and at == 0:
            continue
        elif position.get(user, end) >= end or not _is_reader(user):
            return False
    return yields == (end == len(position))


def _is_reader(op: Op) -> bool:
    name, defn = op.defn.name, op.defn
    return name in _READERS or name in FORMULAS or (defn.scalar is not None and defn.numpy is None)
