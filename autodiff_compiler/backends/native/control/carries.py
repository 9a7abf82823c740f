"""Loop-carried values (carries): scalars in registers, arrays by pointer.

A trip writes the next version of an array into the spare one of two buffers, which are then swapped.  One buffer is
enough where the next version is written in place: by a fused loop that reads this version for the last time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.core import Block, Value
from ....ir.types import TensorType, TupleType, Type
from ..codegen.emit import Reg
from ..codegen.values import Array, Buffer, Operand, Pack, Sequence, Spread, Undefined, size_of
from ..lower import Lowering
from ..memory.overwriting import only_changed, wish_changes
from ..memory.sequences import NULL
from ..memory.wishes import Carried, Place
from .registers import Roots, elements_of, operand_of, registers_of
from .sequence_ops import anchored


class Carry:
    """A carry: one tensor or sequence, which `registers` hold at the start of a trip."""

    def __init__(self, low: Lowering, type: Type, init: Operand) -> None:
        self.low, self.type = low, type
        self.roots = Roots()
        self.first = registers_of(low, init, type, self.roots)

    def begin(self, registers: list[Reg]) -> Operand:
        return operand_of(self.low, self.type, iter(registers), tuple(self.roots))

    def wish(self, value: Value, body: Block) -> None:
        """Asks for the next version to be written to its place."""

    def pointers(self) -> list[Reg]:
        """The registers that may point to records of the loop."""
        return []

    def moved(self, pointers: Iterator[Reg], now: Operand) -> Operand:
        """The operand of the carry, which was `now`, after the records were moved."""
        return now

    def next(self, operand: Operand, value: Value) -> list[Reg]:
        if isinstance(operand, Sequence):
            operand = anchored(self.low, operand, escapes=True)
        return registers_of(self.low, operand, self.type, self.roots)

    def end(self, registers: list[Reg]) -> Operand:
        return operand_of(self.low, self.type, iter(registers), tuple(self.roots))

    def stays(self, operand: Operand) -> bool:
        """Whether the next trip finds an operand in memory, in C order and unchanged."""
        if not isinstance(operand, Array) or not operand.contiguous:
            return False
        region = self.low.regions[-1]
        return all(
            root in self.roots.found
            or root in region.records
            or (root.first < region.start and root not in region.moving)
            for root in operand.roots
        )


class ArrayCarry(Carry):
    """An array with two buffers: the registers point to this version and to the buffer of the next one.

    `place`: where the last version is wanted after the loop.
    """

    type: TensorType

    def __init__(
        self, low: Lowering, type: TensorType, init: Operand, place: Place | None, arg: Value, free: Buffer | None
    ) -> None:
        """`free`: the buffer of `init`, if it may be written over."""
        self.low, self.type, self.place, self.arg = low, type, place, arg
        self.roots = Roots()
        self.nbytes, self.start = size_of(type), low.regions[-1].start
        self.second = free if place is not None else None
        self.one = place.array if place is not None else low.array(type, free)
        self.roots.add(self.one.roots)
        for root in self.one.roots:
            root.fill(low.tick)
        low.regions[-1].moving.update([*self.one.roots, *([free] if free else [])])
        self.here = low.text.at(self.one.base, self.one.offset)
        self.carried = Carried(arg, self.one)
        self.first_spare = ""
        #: whether `one` is a new buffer that is dead when the loop begins, and whether it is never written
        self.fresh, self.unused = place is None and free is None and not self._begins_here(init), False
        if isinstance(init, Undefined):
            first = NULL
        elif self._begins_here(init):
            low.copy_operand(init, self.one)
            self.first = [self.here, self._spare_of(self.here)]
            return
        elif isinstance(init, Spread) or not init.contiguous:  # type: ignore[union-attr]
            made = low.array(type, self._other())
            low.copy_operand(init, made)
            first = made.base
        else:
            assert isinstance(init, Array)
            first = low.text.at(init.base, init.offset)
            over = free in self.one.roots or low.versions.now_of(self.one, init) is not None
            if len(init.roots) == 1 and over:
                self.first = [first, self._spare_of(first)]
                return
            low.touch(init)
            self.roots.add(init.roots)
        self.first = [first, self.here]

    def _begins_here(self, init: Operand) -> bool:
        """Whether the first version must be copied, and may be copied to where the last one will lie."""
        if isinstance(init, Undefined) or (isinstance(init, Array) and init.contiguous):
            return False
        if self.place is None:
            return True
        return self.place.carried is None and self.one.roots[0].result not in self.low.versions.next_of

    def _spare_of(self, first: Reg) -> Reg:
        """The register of the spare buffer of the first trip: a line that `_write_first_spare` replaces."""
        found = Reg(self.low.text.fresh("spare"), "ptr")
        self.first_spare = f"{found.text} ="
        self.low.text.do(self.first_spare)
        return found

    def _write_first_spare(self) -> None:
        """Emits the spare buffer of the first trip, now that it is known whether the next version is in place."""
        lines = self.low.text.lines
        number = next(i for i, line in enumerate(lines) if line.strip() == self.first_spare)
        if self.carried.in_place:
            lines[number] = f"  {self.first_spare} getelementptr i8, {self.here}, i64 0"
            return
        same = self.low.text.fresh("same")
        lines[number : number + 1] = [
            f"  {same} = icmp eq {self.first[0]}, {self.here.text}",
            f"  {self.first_spare} select i1 {same}, {self._other().base}, {self.here}",
        ]

    def _other(self) -> Buffer:
        """The second buffer, allocated when it turns out to be needed."""
        if self.second is None:
            self.second = self.low.buffer(self.nbytes)
            self.second.first = self.start
            self.roots.add([self.second])
        return self.second

    def begin(self, registers: list[Reg]) -> Operand:
        low = self.low
        self.now, self.spare = registers
        self.current = low.at_pointer(self.type, self.now, tuple(self.roots))
        self.following = low.at_pointer(self.type, self.spare, self.one.roots)
        self.carried = Carried(self.arg, self.following)
        return self.current

    def pointers(self) -> list[Reg]:
        return [self.now]

    def moved(self, pointers: Iterator[Reg], now: Operand) -> Operand:
        self.now = next(pointers)
        self.current = self.low.at_pointer(self.type, self.now, tuple(self.roots))
        return self.current

    def wish(self, value: Value, body: Block) -> None:
        self.carried.changed = only_changed(self.low, self.arg, value, body)
        wish_changes(self.low, value, body, Place(self.following, fixed=False, carried=self.carried))

    def next(self, operand: Operand, value: Value) -> list[Reg]:
        low, text = self.low, self.low.text
        if isinstance(operand, Undefined):
            return [NULL, self.spare]
        if operand is self.following and self.carried.in_place:
            return [self.spare, self.spare]
        low.touch(operand)
        if isinstance(operand, Array) and self.stays(operand):
            found = text.at(operand.base, operand.offset)
            self.roots.add(operand.roots)
            if self.second not in operand.roots and set(self.one.roots).isdisjoint(operand.roots):
                self.unused = self.fresh
                return [found, self.spare]  # nothing is ever written there
        else:
            found = self.spare
            low.copy_defined(value, self.following)
            if isinstance(operand, Array) and low.may_be_nowhere(value, operand):
                none = text.let("i1", f"icmp eq {operand.base}, null")
                found = text.let("ptr", f"select {none}, ptr null, {found}")
        if self.carried.in_place:  # in an arm of an `if`; after the other one it may still be elsewhere
            return [found, self.here]
        taken = text.let("i1", f"icmp eq {found}, {self.here.text}")
        return [found, text.let("ptr", f"select {taken}, {self._other().base}, {self.here}")]

    def end(self, registers: list[Reg]) -> Operand:
        low = self.low
        if self.first_spare:
            self._write_first_spare()
        if self.unused:
            for root in self.one.roots:
                root.virtual = True
        mine = self.one.roots if self.unused else ()
        found = low.at_pointer(self.type, registers[0], tuple(r for r in self.roots if r not in mine))
        for root in self.roots:
            root.last = max(root.last, low.tick)
        if self.second is not None:
            low.keeping.turns = True
        if self.place is None:
            return found
        if self.place.carried is not None and self.carried.in_place:  # that of the loop around this one
            self.place.carried.in_place = True
        low.copy_unless_there(low.stand_in(self.type, found, self.arg), found, self.one)
        return self.one


class _TupleCarry(Carry):
    """A tuple: a carry for each element."""

    def __init__(self, low: Lowering, type: TupleType, init: Operand, arg: Value) -> None:
        self.low, self.type = low, type
        self.elems: list[Carry] = []
        for elem, t in zip(elements_of(init, type), type.elems, strict=True):
            self.elems.append(carry_of(low, t, elem, low.stand_in(t, elem, arg)))
        self.first = [r for e in self.elems for r in e.first]

    def _each(self, registers: list[Reg]) -> Iterator[tuple[Carry, list[Reg]]]:
        for elem in self.elems:
            yield elem, registers[: len(elem.first)]
            registers = registers[len(elem.first) :]

    def begin(self, registers: list[Reg]) -> Operand:
        return Pack([elem.begin(own) for elem, own in self._each(registers)])

    def pointers(self) -> list[Reg]:
        return [p for elem in self.elems for p in elem.pointers()]

    def moved(self, pointers: Iterator[Reg], now: Operand) -> Operand:
        assert isinstance(now, Pack)
        return Pack([elem.moved(pointers, part) for elem, part in zip(self.elems, now.elems, strict=True)])

    def next(self, operand: Operand, value: Value) -> list[Reg]:
        assert isinstance(self.type, TupleType)
        found: list[Reg] = []
        for elem, part in zip(self.elems, elements_of(operand, self.type), strict=True):
            found += elem.next(part, self.low.stand_in(elem.type, part, value))
        return found

    def end(self, registers: list[Reg]) -> Operand:
        return Pack([elem.end(own) for elem, own in self._each(registers)])


def carry_of(low: Lowering, type: Type, init: Operand, arg: Value) -> Carry:
    """The carry for a value of this type, with the first version `init`, which is `arg` in the body."""
    if isinstance(type, TupleType):
        return _TupleCarry(low, type, init, arg)
    if isinstance(type, TensorType) and type.shape != ():
        return ArrayCarry(low, type, init, None, arg, None)
    return Carry(low, type, init)
