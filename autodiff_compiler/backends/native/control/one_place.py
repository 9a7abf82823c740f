"""Carries with one buffer (home): a next version that cannot be written in place is computed elsewhere and copied.

Two buffers that are swapped (`carries`) need no copies, but both are live throughout the loop.  `backend` compares the
arenas of both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ....ir.core import Block, Op, Value
from ....ir.types import TensorType
from ..codegen.emit import Reg
from ..codegen.values import Array, Buffer, Operand, Undefined, joined, roots_of, size_of
from ..lower import Lowering
from ..memory.last_uses import last_use
from ..memory.overwriting import note_in_place, only_changed, wish_changes
from ..memory.sequences import NULL
from ..memory.wishes import Carried, Place, too_dear
from .carries import Carry
from .moves import can_move, copy_together
from .registers import Roots


class OnePlace(Carry):
    """An array: its register points to this version, which lies at `home` or where it was before the loop."""

    type: TensorType

    def __init__(
        self, low: Lowering, init: Operand, place: Place | None, arg: Value, cost: int, *, dying: bool, kept: bool
    ) -> None:
        """`place`: where the last version is wanted; `cost`: estimated nanoseconds of a trip.

        `dying`: `init` is dead after the loop.  `kept`: it is live, and the first version is a copy of it.
        """
        assert isinstance(arg.type, TensorType)
        self.low, self.type, self.arg, self.cost = low, arg.type, arg, cost
        self.place, self.nbytes = place, size_of(arg.type)
        self.home = place.array if place is not None else low.empty_array(self.type)
        self.carried = Carried(arg, self.home, self)
        self.roots = Roots()
        #: the virtual buffer of this version: live from the start of a trip to the last use
        self.stands = Buffer("version", self.nbytes, low.tick + 1, low.tick + 1, virtual=True)
        self._add(self.home.roots)
        low.regions[-1].moving.update(self.home.roots)
        if isinstance(init, Undefined):
            self.first = [NULL]
        elif isinstance(init, Array) and init.contiguous and not (kept or (dying and self._leaves())):
            self._add(init.roots)
            self.first = [low.text.at(init.base, init.offset)]
        else:
            region = low.regions.pop()  # the copy is made before the loop
            low.copy_operand(init, self.home)
            low.regions.append(region)
            for root in self.home.roots:  # from now on `stands` is live for it
                root.idle = low.tick + 1
            self.first = [low.text.at(self.home.base, self.home.offset)]

    def _leaves(self) -> bool:
        """Whether home is memory of a result, and not of a next version of a state."""
        found = [root.result for root in self.home.roots]
        outermost = len(self.low.regions) == 1
        return outermost and None not in found and self.low.versions.next_of.keys().isdisjoint(found)

    def _add(self, roots: Iterable[Buffer]) -> None:
        """This version may lie in these buffers, too."""
        for root in roots:
            if root not in self.roots.found:
                root.joins.append(self.stands)
        self.roots.add(roots)

    def begin(self, registers: list[Reg]) -> Operand:
        (self.now,) = registers
        return replace(self.low.at_pointer(self.type, self.now, tuple(self.roots)), joined=self.stands)

    def pointers(self) -> list[Reg]:
        return [self.now]

    def moved(self, pointers: Iterator[Reg], now: Operand) -> Operand:
        return self.begin([next(pointers)])

    def wish(self, value: Value, body: Block) -> None:
        low = self.low
        self.carried.changed = only_changed(low, self.arg, value, body)
        wish_changes(low, value, body, Place(self.home, fixed=False, carried=self.carried))
        if value.block is body and isinstance(value.owner, Op):
            low.pushes.setdefault(value, []).append(lambda: self.settle(value))

    def settle(self, value: Value) -> None:
        """Copies the next version home if this one is dead, else once it is."""
        self.low.unsettled.pop(self.arg, None)
        if not self.needs_copy(self.low.env[value]):
            return
        if last_use(self.low, self.arg, ()):
            self._copy(value)
        else:
            self.low.unsettled[self.arg] = self, value

    def needs_copy(self, operand: Operand) -> bool:
        """Whether the next version lies, or may lie, in memory that the next trip overwrites."""
        return not (isinstance(operand, Undefined) or self.stays(operand))

    def note_copy(self) -> None:
        """Each trip copies a version: notes whether that takes too long."""
        if too_dear(self.low.machine, self.nbytes, self.cost):
            self.low.keeping.dear.add(self.arg)

    def _copy(self, value: Value) -> None:
        low = self.low
        operand = low.env[value]
        low.tick += 1  # what is copied now is no part of the last op
        self.note_copy()
        if not isinstance(operand, Array) or not operand.contiguous:
            if not set(roots_of(operand)).isdisjoint(self.home.roots):
                low.env[value] = low.ordered(operand, self.type)
            low.copy_defined(value, self.home)
        else:
            note_in_place(low, operand, self.home)
            low.copy_unless_there(value, operand, self.home)
        self._moved(value, operand)

    def _moved(self, value: Value, operand: Operand) -> None:
        """The value lies at home now; if it is undefined at run time, its pointer stays null."""
        low, text = self.low, self.low.text
        found = self.home
        if isinstance(operand, Array) and low.may_be_nowhere(value, operand):
            here = text.at(self.home.base, self.home.offset)
            none = text.let("i1", f"icmp eq {operand.base}, null")
            chosen = text.let("ptr", f"select {none}, ptr null, {here}")
            found = low.at_pointer(self.type, chosen, self.home.roots)
        low.env[value] = found

    def next(self, operand: Operand, value: Value) -> list[Reg]:
        low = self.low
        low.unsettled.pop(self.arg, None)
        if isinstance(operand, Undefined):
            return [NULL]
        if self.needs_copy(operand):
            stand_in = low.stand_in(self.type, operand, value)
            self._copy(stand_in)
            operand = low.env[stand_in]
        assert isinstance(operand, Array)
        low.touch(operand)
        self._add(operand.roots)
        return [low.text.at(operand.base, operand.offset)]

    def rest(self) -> None:
        """The loop ends: if the last version may lie elsewhere, home is dead until that is copied there."""
        if len(self.roots.found) > 1:
            for root in self.home.roots:
                if root.idle is None:
                    root.idle = self.low.tick

    def end(self, registers: list[Reg]) -> Operand:
        low = self.low
        if self.place is None and all(root.idle is not None and not root.fills for root in self.home.roots):
            for root in self.home.roots:  # all versions lie elsewhere
                root.virtual = True
                del self.roots.found[root]
        low.tick += 1  # other carries are copied before or after this one
        found = joined(low.at_pointer(self.type, registers[0], tuple(self.roots)), low.tick)
        low.touch(found)
        if self.place is None:
            return found
        note_in_place(low, found, self.home)
        low.copy_unless_there(low.stand_in(self.type, found, self.arg), found, self.home)
        return self.home


def place_of(low: Lowering, result: Value, init: Value, one: bool) -> Place | None:
    """Where the last version of a carry is wanted, if the loop may overwrite that place from the first trip on.

    `one`: the carry has one buffer; with two, the first version must not lie there.
    """
    place = low.wish(result)
    if place is None or place.carried is None or place.carried.one is None:
        return place
    outer, loop = place.carried.arg, result.owner
    assert isinstance(loop, Op)
    if not one and not set(roots_of(low.env[init])).isdisjoint(place.array.roots):
        return None
    mine = sum(user is loop for user, _ in low.uses.get(outer, ()))
    if mine == (init is outer) and last_use(low, outer, [loop] if mine else []):
        return place._replace(carried=None)
    return None


def next_versions(low: Lowering, carries: Sequence[tuple[Carry, Value]]) -> list[Reg]:
    """The registers for the next trip; copies are ordered, so that none overwrites what is still to be copied."""
    # Carries with two buffers overwrite no live version.
    found = {carry: carry.next(low.env[x], x) for carry, x in carries if not isinstance(carry, OnePlace)}
    left = {carry: x for carry, x in carries if isinstance(carry, OnePlace)}
    for together in _together(low, left):
        copy_together(low, [(left[one], one.home) for one in together])
        for one in together:
            one.note_copy()
            found[one] = one.next(one.home, left.pop(one))
    while left:
        carry = next((carry for carry in left if not _readers(low, carry, left)), None)
        if carry is None:  # they change places
            carry = next(iter(left))
            for reader in _readers(low, carry, left):
                x, kept = left[reader], low.array(reader.type)
                low.copy_defined(x, kept)
                left[reader] = low.stand_in(reader.type, kept, x)
        value = left.pop(carry)
        found[carry] = carry.next(low.env[value], value)
    return [r for carry, _ in carries for r in found[carry]]


def _together(low: Lowering, left: dict[OnePlace, Value]) -> Iterator[list[OnePlace]]:
    """Sets of carries of one type that are copied in one fused loop, so that they can be swapped."""
    copied = [one for one, x in left.items() if one.needs_copy(low.env[x]) and can_move(low, x)]
    for type in dict.fromkeys(one.type for one in copied):
        found = [one for one in copied if one.type == type]
        while lost := [one for one in found if not set(found).issuperset(_readers(low, one, left))]:
            found = [one for one in found if one not in lost]
        if len(found) > 1:
            yield found


def _readers(low: Lowering, carry: OnePlace, left: dict[OnePlace, Value]) -> list[OnePlace]:
    """The other carries whose next versions may lie at the home of this one, to which its own is to be copied."""
    if not carry.needs_copy(low.env[left[carry]]):
        return []
    home = set(carry.home.roots)
    return [other for other, x in left.items() if other is not carry and not home.isdisjoint(roots_of(low.env[x]))]
