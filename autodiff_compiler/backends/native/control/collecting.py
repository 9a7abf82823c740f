"""Sequences that a loop collects: each trip writes its elements into a record, where they are computed if possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....ir.core import Block, Op, Value
from ....ir.sizes import Size
from ....ir.types import Seq, TensorType, TupleType, Type
from ..codegen.emit import Int, Reg
from ..codegen.values import Array, Buffer, Operand, Sequence, Undefined, size_of
from ..lower import Lowering
from ..memory.sequences import NULL, Record, note_sequence, of_leaves
from ..memory.wishes import Place
from .registers import elements_of
from .sequence_ops import anchored


class _Group:
    """Sequences that share records; `direct`: the array whose rows the elements are, if there is one."""

    def __init__(self, direct: Array | None = None) -> None:
        self.record = Record()
        self.direct = direct
        self.members: list[tuple[Value, Value, list[tuple[Type, Size]]]] = []
        self.base = NULL

    def add(self, low: Lowering, out: Value, result: Value) -> None:
        before = self.step
        self.members.append((out, result, self.record.part(out.type)))
        if self.direct is None:
            low.trace.collect(result, self.step - before)

    @property
    def step(self) -> Size:
        return self.direct.strides[0] if self.direct is not None else self.record.step


class Collected:
    """The sequences that a loop collects."""

    def __init__(self, low: Lowering, collected: list[tuple[Value, Value]], trips: Size | None) -> None:
        """`collected`: what the body yields, and the sequence of it, which is read."""
        self.low = low
        self.groups: list[_Group] = []
        shared: _Group | None = None
        for out, result in collected:
            users = low.uses[result]
            stacked = [user for user, _ in users if isinstance(user, Op) and user.defn.name == "from_seq"]
            if stacked:
                group = _Group(self._direct(stacked[0], result, trips) if len(users) == 1 else None)
                self.groups.append(group)
            else:
                if shared is None:
                    shared = _Group()
                    self.groups.append(shared)
                group = shared
            group.add(low, out, result)
        self.growing = [g for g in self.groups if g.direct is None]
        self.root: Buffer | None = None
        if self.groups:
            self.root = Buffer("room", 0, low.tick, low.tick, virtual=True)
        self.room = low.room() if self.growing else None
        direct = [g.direct.roots[0] for g in self.groups if g.direct is not None]
        self.records = (*direct, self.root) if self.root is not None else ()

    def _direct(self, op: Op, result: Value, trips: Size | None) -> Array | None:
        """The array that `from_seq` makes of the sequence, if the loop can write its rows directly."""
        made = op.results[0]
        assert isinstance(made.type, TensorType)
        if trips is None or trips != made.type.shape[0] or op.parent is not _parent(result) or size_of(made.type) == 0:
            return None
        return self.low.target(made)

    def take(self, count: Int) -> list[Reg]:
        """Allocates so many records for every group; their base pointers."""
        for group in self.growing:
            assert self.room is not None
            group.base = self.room.take(count, group.step)
            self.low.may_fail()
        for group in self.groups:
            if group.direct is not None:
                group.base = self.low.text.at(group.direct.base, group.direct.offset)
        return [g.base for g in self.growing]

    def begin(self, bases: list[Reg]) -> None:
        for group, base in zip(self.growing, bases, strict=True):
            group.base = base

    def roots_of(self, group: _Group) -> tuple[Buffer, ...]:
        assert self.root is not None
        return group.direct.roots if group.direct is not None else (self.root,)

    def plan(self, body: Block, index: Int) -> None:
        """Starts a trip: writes the elements that exist, and asks for the others to be written to their records."""
        low = self.low
        for group in self.groups:
            if group.direct is not None:
                low.touch(group.direct)
            place = low.text.at(group.base, low.text.mul(index, group.step))
            for out, _, fields in group.members:
                write = self._writer(group, out, fields, place)
                if not (isinstance(out.owner, Op) and out.block is body):
                    write()
                    continue
                low.pushes.setdefault(out, []).append(write)
                if isinstance(out.type, TensorType) and out.type.shape != () and out not in low.wanted:
                    array = low.at_pointer(out.type, low.text.at(place, fields[0][1]), self.roots_of(group))
                    low.wanted[out] = Place(array, fixed=True)

    def _writer(self, group: _Group, out: Value, fields: list[tuple[Type, Size]], place: Reg) -> Callable[[], None]:
        low = self.low

        def write() -> None:
            wanted = low.wanted.pop(out, None)
            operand = low.env[out]
            if wanted is not None and operand is wanted.array:
                return
            _write_leaves(low, operand, out, iter(fields), place, self.roots_of(group))

        return write

    def trim(self, trips: Int, capacity: Int) -> None:
        for group in reversed(self.growing):
            assert self.room is not None
            self.room.trim(group.base, trips, capacity, group.step)

    def bind(self, length: Reg) -> None:
        low = self.low
        for group in self.groups:
            for _, result, fields in group.members:
                assert isinstance(result.type, Seq)
                pairs: list[tuple[Reg, Int]] = [(low.text.at(group.base, offset), group.step) for _, offset in fields]
                part = of_leaves(result.type.elem, iter(pairs))
                low.env[result] = Sequence(result.type.elem, length, part, self.roots_of(group))


def _parent(value: Value) -> Block | None:
    return value.owner.parent if isinstance(value.owner, Op) else None


def _write_leaves(
    low: Lowering,
    operand: Operand,
    value: Value,
    fields: Iterator[tuple[Type, Size]],
    place: Reg,
    roots: tuple[Buffer, ...],
) -> None:
    """Copies a value to its fields of a record."""
    if isinstance(value.type, TupleType):
        for part, t in zip(elements_of(operand, value.type), value.type.elems, strict=True):
            _write_leaves(low, part, low.stand_in(t, part, value), fields, place, roots)
        return
    type, offset = next(fields)
    text = low.text
    place = text.at(place, offset)
    if isinstance(type, Seq):
        if isinstance(operand, Sequence):
            operand = anchored(low, operand, escapes=True)
        note_sequence(low, operand, type, place)
        return
    assert isinstance(type, TensorType)
    if isinstance(operand, Undefined):
        return
    if type.shape == ():
        low.one.store(low.lane(operand, type), place)
        return
    if isinstance(operand, Array) and operand.base.text == place.text and operand.offset == 0:
        return
    low.copy_defined(value, low.at_pointer(type, place, roots))
