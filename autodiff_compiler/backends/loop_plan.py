"""The plan of a loop: what its emitters decide alike before they write it, whatever they write."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ..ir.core import Block, Op, Value
from ..ir.loops import Carry, Loop
from ..ir.walk import Use


class LoopPlan(Loop):
    """A loop as far as it is read.

    Unread elements and residuals (`collected`) are left out, and an index that nothing is computed from is None.  A
    residual is stored as soon as it is computed, so that it does not live on to the end of the trip: those of `early`
    exist when a trip begins.  `counted`: the trips of a `while` are counted, for its readers or for residuals.
    """

    def __init__(self, op: Op, uses: Mapping[Value, Sequence[Use]]) -> None:
        super().__init__(op)
        self._uses = uses
        if self.index is not None and not uses.get(self.index):
            self.index = None
        self.elements = [(xs, arg) for xs, arg in self.elements if uses.get(arg)]
        self.collected = [(out, result) for out, result in self.collected if uses.get(result)]
        self.early = {out for out, _ in self.collected if not (isinstance(out.owner, Op) and out.block is self.body)}
        self.counted = self.cond is not None and bool(uses.get(self.count) or self.collected)
        self._position = {op: i for i, op in enumerate(self.body.ops)}

    def may_be_overwritten(self, carry: Carry) -> bool:
        """Whether an op takes the carry that may write its result over that operand."""
        users = (user for user, _ in self._uses.get(carry.arg, ()) if isinstance(user, Op))
        places = ((u.defn.inplace, u.defn.operand_names, u.operands) for u in users)
        return any(inplace and operands[names.index(inplace)] is carry.arg for inplace, names, operands in places)

    def is_replaced(self, carry: Carry, late: Container[str] = ()) -> bool:
        """Whether the next value may take the place of the carry where it is computed: nothing reads the carry later.

        `late`: ops that their readers carry out, so that they read their operands later.
        """
        made = carry.next.owner
        if not isinstance(made, Op) or carry.next.block is not self.body or made.blocks:
            return False
        if any(carry.arg is other.next for other in self.carries):
            return False
        end = self._position[made]
        return all(self._is_over(user, end, late) for user, _ in self._uses.get(carry.arg, ()))

    def _is_over(self, user: Op | Block, end: int, late: Container[str]) -> bool:
        """Whether a reader stands no later than the op of that position in the body."""
        if user is self.body:
            return True  # a residual: it is stored when the trip begins
        here = user.parent if isinstance(user, Block) else user
        if here is None or here.defn.name in late:
            return False
        while here.parent is not self.body:
            if here.parent is None or here.parent.parent is None:
                return False
            here = here.parent.parent
        return self._position[here] <= end
