"""`if`, `while` and `scan` as branches and loops of the driver.

Values without dimensions are registers all the way.  A carry that is an array is a pointer: a trip writes the next
version into the spare one of two buffers, which change places; where the op that writes it reads the old version
element by element, and nobody reads that later, one buffer is enough.  What a loop collects is written into its record
of the trip where it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...dtypes import int64
from ...errors import InternalCompilerError
from ...ir.build import Builder
from ...ir.core import Block, Op, Value
from ...ir.primitive import F
from ...ir.types import Seq, TensorType, TupleType, Type, seq
from ...ir.walk import ops_of, uses
from ...primitives.control import COUNT, Scan
from .emit import Int, Reg, i64, pointer
from .lanes import Lane
from .lower import OPS, Carried, Lowering, Place
from .sequences import NULL, Record, element, is_ordered, leaves, note_sequence, of_leaves, places
from .values import Array, Buffer, Operand, Pack, Part, Rows, Sequence, Spread, Undefined, size_of

__all__: list[str] = []

#: Ops that change some elements of their first operand, where it lies if they can.
_CHANGE = frozenset({"slice_update", "scatter_update", "scatter_add", "scatter_max", "scatter_min", "scatter_mul"})
#: Nanoseconds of estimated work between two looks at signals.
_PATIENCE = 10_000_000
#: Loops of less estimated work do not look.
_SHORT = 100_000
#: Bytes of records that are many.
_LARGE = 1 << 20
#: Records that there is room for at first where the trips are not known.
_FIRST = 16

_POLL = """define internal i32 @poll() noinline cold {
  %state = call i32 @PyGILState_Ensure()
  %result = call i32 @PyErr_CheckSignals()
  %held = icmp eq i32 %state, 0
  br i1 %held, label %share, label %done
share:
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  call void @PyGILState_Release(i32 %state)
  ret i32 %result
}"""
_POLL_DECLARES = {
    "declare i32 @PyGILState_Ensure()",
    "declare void @PyGILState_Release(i32)",
    "declare i32 @PyErr_CheckSignals()",
    "declare ptr @PyEval_SaveThread()",
    "declare void @PyEval_RestoreThread(ptr)",
}


# ------------------------------------------------------------------------------------------------ registers
class _Roots:
    """Whose bytes some values may be, while they are collected."""

    def __init__(self) -> None:
        self.found: dict[Buffer, None] = {}

    def add(self, roots: Iterable[Buffer]) -> None:
        self.found.update(dict.fromkeys(roots))

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self.found)


def _registers(low: Lowering, operand: Operand, type: Type, roots: _Roots) -> list[Reg]:
    """A value as registers: numbers, pointers to arrays in C order, places of sequences."""
    if isinstance(type, TupleType):
        parts = operand.elems if isinstance(operand, Pack) else [Undefined()] * len(type.elems)
        return [r for part, t in zip(parts, type.elems, strict=True) for r in _registers(low, part, t, roots)]
    if isinstance(type, Seq):
        if not isinstance(operand, Sequence):
            return [i64(0), *[r for _ in leaves(type.elem) for r in (NULL, i64(0))]]
        operand = anchored(low, operand, escapes=False)
        low.touch(operand)
        roots.add(operand.roots)
        return [operand.length, *[r for base, step in places(low, operand) for r in (base, low.text.whole(step))]]
    assert isinstance(type, TensorType)
    if type.shape == ():
        return [low.lane(operand, type).reg]
    if isinstance(operand, Undefined):
        return [NULL]
    array = low.ordered(operand, type)
    low.touch(array)
    roots.add(array.roots)
    return [low.text.at(array.base, array.offset)]


def _operand(low: Lowering, type: Type, registers: Iterator[Reg], roots: tuple[Buffer, ...]) -> Operand:
    """The value that such registers stand for."""
    if isinstance(type, TupleType):
        return Pack([_operand(low, t, registers, roots) for t in type.elems])
    if isinstance(type, Seq):
        length = next(registers)
        pairs = [(next(registers), _known(next(registers))) for _ in leaves(type.elem)]
        return Sequence(type.elem, length, of_leaves(type.elem, iter(pairs)), roots)
    assert isinstance(type, TensorType)
    if type.shape == ():
        return Spread(type, low.one.lane(next(registers), type.dtype))
    return low.at_pointer(type, next(registers), roots)


def _known(register: Reg) -> Int:
    """The number where a register is one."""
    return int(register.text) if register.text.lstrip("-").isdigit() else register


def _register_types(low: Lowering, type: Type) -> list[str]:
    if isinstance(type, TupleType):
        return [t for elem in type.elems for t in _register_types(low, elem)]
    if isinstance(type, Seq):
        return ["i64", *["ptr", "i64"] * len(leaves(type.elem))]
    assert isinstance(type, TensorType)
    return [low.one.type_of(type.dtype)] if type.shape == () else ["ptr"]


# ------------------------------------------------------------------------------------------------ if
def lower_if(low: Lowering, op: Op) -> None:
    text = low.text
    test = low.scalar(op.operands[0]).reg
    places: dict[int, Place] = {}
    for i, r in enumerate(op.results):
        place = low.wish(r)
        if place is not None:
            places[i] = place
    merged = [
        i for i in range(len(op.results)) if not (i in places and places[i].fixed) and low.uses.get(op.results[i])
    ]
    same = {i: s for i in merged if (s := _same_number(low, op, i)) is not None}
    merged = [i for i in merged if i not in same]
    roots = {i: _Roots() for i in merged}
    polls = any(inner.defn.name in ("while", "scan", "call") for block in op.blocks for inner in ops_of(block))
    before, written = low.fuel, low.written

    def arm(block: Block) -> Callable[[], list[Reg]]:
        def write() -> list[Reg]:
            low.fuel, low.written = before, set(written)
            with low.inside():
                for i, place in places.items():
                    out = block.outs[i]
                    if out.block is block and isinstance(out.owner, Op) and out not in low.wanted:
                        low.wanted[out] = place
                low.block(block)
                for i, place in places.items():
                    out = block.outs[i]
                    low.wanted.pop(out, None)
                    if place.fixed and low.env[out] is not place.array:
                        low.copy_defined(out, place.array)
                found: list[Reg] = []
                for i in merged:
                    found += _registers(low, low.env[block.outs[i]], op.results[i].type, roots[i])
            return [*found, low.fuel] if polls else found

        return write

    found = text.branch(test, arm(op.blocks[0]), arm(op.blocks[1]))
    low.written = written
    low.fuel = found.pop() if polls else before
    registers = iter(found)
    for i in merged:
        type = op.results[i].type
        low.env[op.results[i]] = _operand(low, type, registers, tuple(roots[i]))
    for i, spread in same.items():
        low.env[op.results[i]] = spread
    for i, place in places.items():
        if place.fixed:
            low.env[op.results[i]] = place.array


def _same_number(low: Lowering, op: Op, i: int) -> Spread | None:
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


# ------------------------------------------------------------------------------------------------ carries
class _Carry:
    """One tensor or sequence that goes from trip to trip; the `registers` stand for it at the start of a trip."""

    def __init__(self, low: Lowering, type: Type, init: Operand) -> None:
        self.low, self.type = low, type
        self.roots = _Roots()
        self.first = _registers(low, init, type, self.roots)

    def begin(self, registers: list[Reg]) -> Operand:
        return _operand(self.low, self.type, iter(registers), tuple(self.roots))

    def wish(self, value: Value, body: Block) -> None:
        """Lets the next version be written where it is to be, if it can."""

    def pointers(self) -> list[Reg]:
        """What may point to records of the loop."""
        return []

    def moved(self, pointers: Iterator[Reg], now: Operand) -> Operand:
        """The carry, which was `now`, after records have moved."""
        return now

    def next(self, operand: Operand, value: Value | None) -> list[Reg]:
        if isinstance(operand, Sequence):
            operand = anchored(self.low, operand, escapes=True)
        return _registers(self.low, operand, self.type, self.roots)

    def end(self, registers: list[Reg]) -> Operand:
        return _operand(self.low, self.type, iter(registers), tuple(self.roots))


class _ArrayCarry(_Carry):
    """An array: its registers point to the version of this trip and to the buffer of the next one.

    `place` is where the last version is wanted after the loop.
    """

    type: TensorType

    def __init__(self, low: Lowering, type: TensorType, init: Operand, place: Place | None, arg: Value) -> None:
        self.low, self.type, self.place, self.arg = low, type, place, arg
        self.roots = _Roots()
        self.nbytes, self.start = size_of(type), low.tick
        self.second: Buffer | None = None
        self.one = place.array if place is not None else low.array(type)
        self.roots.add(self.one.roots)
        if isinstance(init, Undefined):
            first = NULL
        elif isinstance(init, Spread) or not init.contiguous:  # type: ignore[union-attr]
            made = low.array(type, self._other())
            low.copy_operand(init, made)
            first = made.base
        else:
            assert isinstance(init, Array)
            low.touch(init)
            self.roots.add(init.roots)
            first = low.text.at(init.base, init.offset)
        self.here = low.text.at(self.one.base, self.one.offset)
        self.first = [first, self.here]

    def _other(self) -> Buffer:
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
        low = self.low
        while value.block is body and isinstance(value.owner, Op) and value not in low.wanted:
            low.wanted[value] = Place(self.following, fixed=False, carried=self.carried)
            if value.owner.defn.name not in _CHANGE:
                return
            value = value.owner.operands[0]
            if len(low.uses[value]) != 1:
                return

    def next(self, operand: Operand, value: Value | None) -> list[Reg]:
        low, text = self.low, self.low.text
        if isinstance(operand, Undefined):
            return [NULL, self.spare]
        if operand is self.following and self.carried.in_place:
            return [self.spare, self.spare]
        low.touch(operand)
        if isinstance(operand, Array) and operand.contiguous and all(map(self._stays, operand.roots)):
            found = text.at(operand.base, operand.offset)
            self.roots.add(operand.roots)
        else:
            found = self.spare
            if value is not None:
                low.copy_defined(value, self.following)
                if value in low.undefined and isinstance(operand, Array):
                    none = text.let("i1", f"icmp eq {operand.base}, null")
                    found = text.let("ptr", f"select {none}, ptr null, {found}")
            else:
                low.copy_operand(operand, self.following)
        taken = text.let("i1", f"icmp eq {found}, {self.here.text}")
        return [found, text.let("ptr", f"select {taken}, {self._other().base}, {self.here}")]

    def _stays(self, root: Buffer) -> bool:
        """Whether bytes are still there, unchanged, in the next trip."""
        return root.first < self.start or root in self.roots.found or root in self.low.regions[-1].records

    def end(self, registers: list[Reg]) -> Operand:
        low = self.low
        found = low.at_pointer(self.type, registers[0], tuple(self.roots))
        for root in self.roots:
            root.last = max(root.last, low.tick)
        if self.place is None:
            return found
        text = low.text
        there = text.let("i1", f"icmp eq {registers[0]}, {self.here.text}")

        def copy() -> tuple[()]:
            low.copy_defined(low.stand_in(self.type, found, self.arg), self.one)
            return ()

        text.branch(there, lambda: (), copy)
        return self.one


class _TupleCarry(_Carry):
    """A tuple: its elements one by one."""

    def __init__(self, low: Lowering, type: TupleType, init: Operand, arg: Value) -> None:
        self.low, self.type = low, type
        self.elems: list[_Carry] = []
        for i, t in enumerate(type.elems):
            elem = init.elems[i] if isinstance(init, Pack) else undefined(t)
            self.elems.append(_carry(low, t, elem, low.stand_in(t, elem, arg), None))
        self.first = [r for e in self.elems for r in e.first]

    def _each(self, registers: list[Reg]) -> Iterator[tuple[_Carry, list[Reg]]]:
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

    def next(self, operand: Operand, value: Value | None) -> list[Reg]:
        assert isinstance(self.type, TupleType)
        found: list[Reg] = []
        for i, (elem, t) in enumerate(zip(self.elems, self.type.elems, strict=True)):
            part = operand.elems[i] if isinstance(operand, Pack) else undefined(t)
            found += elem.next(part, self.low.stand_in(t, part, value))
        return found

    def end(self, registers: list[Reg]) -> Operand:
        return Pack([elem.end(own) for elem, own in self._each(registers)])


def _carry(low: Lowering, type: Type, init: Operand, arg: Value, result: Value | None) -> _Carry:
    if isinstance(type, TupleType):
        return _TupleCarry(low, type, init, arg)
    if isinstance(type, TensorType) and type.shape != ():
        return _ArrayCarry(low, type, init, low.wish(result) if result is not None else None, arg)
    return _Carry(low, type, init)


# ------------------------------------------------------------------------------------------------ what is collected
class _Group:
    """Sequences whose elements lie in the same records."""

    def __init__(self, direct: Array | None = None) -> None:
        self.record = Record()
        #: of whose rows the elements become, where nobody else sees the sequence
        self.direct = direct
        self.members: list[tuple[Value, Value, list[tuple[Type, int]]]] = []
        self.base = NULL

    def add(self, out: Value, result: Value) -> None:
        self.members.append((out, result, self.record.part(out.type)))

    @property
    def step(self) -> int:
        return self.direct.strides[0] if self.direct is not None else self.record.step


class _Collected:
    """All that a loop collects."""

    def __init__(self, low: Lowering, outs: list[Value], results: list[Value], trips: int | None) -> None:
        self.low = low
        self.groups: list[_Group] = []
        shared: _Group | None = None
        for out, result in zip(outs, results, strict=True):
            users = low.uses.get(result, [])
            if not users:
                continue
            stacked = [user for user, _ in users if isinstance(user, Op) and user.defn.name == "from_seq"]
            if stacked:
                group = _Group(self._direct(stacked[0], result, trips) if len(users) == 1 else None)
                self.groups.append(group)
            else:
                if shared is None:
                    shared = _Group()
                    self.groups.append(shared)
                group = shared
            group.add(out, result)
        self.growing = [g for g in self.groups if g.direct is None]
        self.root: Buffer | None = None
        if self.groups:
            self.root = Buffer("room", 0, low.tick, low.tick, virtual=True)
        self.room = low.room() if self.growing else None
        direct = [g.direct.roots[0] for g in self.groups if g.direct is not None]
        self.records = (*direct, self.root) if self.root is not None else ()

    def _direct(self, op: Op, result: Value, trips: int | None) -> Array | None:
        """The array that the sequence is made into, right where it is collected."""
        made = op.results[0]
        assert isinstance(made.type, TensorType)
        if trips is None or trips != made.type.shape[0] or op.parent is not _parent(result) or size_of(made.type) == 0:
            return None
        return self.low.target(made)

    def take(self, count: Int) -> list[Reg]:
        """Room for so many records in every group; where they begin."""
        for group in self.growing:
            assert self.room is not None
            group.base = self.room.take(count, group.step)
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
        """At the start of a trip: notes what is there, and where the rest is to be written."""
        low = self.low
        for group in self.groups:
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

    def _writer(self, group: _Group, out: Value, fields: list[tuple[Type, int]], place: Reg) -> Callable[[], None]:
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
    value: Value | None,
    fields: Iterator[tuple[Type, int]],
    place: Reg,
    roots: tuple[Buffer, ...],
) -> None:
    """Copies a value to its fields of a record."""
    type = value.type if value is not None else None
    if isinstance(operand, Pack) or isinstance(type, TupleType):
        assert isinstance(type, TupleType)
        parts = operand.elems if isinstance(operand, Pack) else [Undefined()] * len(type.elems)
        for part, t in zip(parts, type.elems, strict=True):
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
    assert value is not None
    if isinstance(operand, Array) and operand.base.text == place.text and operand.offset == 0:
        return
    low.copy_defined(value, low.at_pointer(type, place, roots))


# ------------------------------------------------------------------------------------------------ sequences
def anchored(low: Lowering, xs: Sequence, *, escapes: bool) -> Sequence:
    """The sequence with its tensors in C order; where it `escapes` from a trip, in memory that stays as it is."""
    if is_ordered(xs.part) and (not escapes or all(root.virtual for root in xs.roots)):
        return xs
    return _combined(low, [xs])


def _combined(low: Lowering, sources: list[Sequence]) -> Sequence:
    """A copy of a sequence, or the sum of two."""
    elem, length = sources[0].elem, sources[0].length
    number = low.one.lane(length, int64) if isinstance(_known(length), Reg) else int(length.text)
    operands = [low.stand_in(COUNT, Spread(COUNT, number)), *[low.stand_in(seq(elem), xs) for xs in sources]]
    with Builder(Block([COUNT, *[elem] * len(sources)])) as b:
        args = b.block.args[1:]
        b.ret(args[0] if len(sources) == 1 else _sum(args[0], args[1]))
    op = Op(Scan, tuple(operands), (seq(elem),), (0, False), (b.block,))
    low.uses.update(uses(b.block))
    low.uses.update({x: [(op, i)] for i, x in enumerate(operands)})
    low.uses[op.results[0]] = [(b.block, 0)]
    lower_scan(low, op)
    found = low.env[op.results[0]]
    assert isinstance(found, Sequence)
    return found


def _sum(x: Value, y: Value) -> Any:
    if isinstance(x.type, TensorType):
        return F.add(x, y)
    if isinstance(x.type, Seq):
        return F.seq_add(x, y)
    assert isinstance(x.type, TupleType)
    return F.tuple_make(*[_sum(F.tuple_get(x, index=i), F.tuple_get(y, index=i)) for i in range(len(x.type.elems))])


def lower_seq_add(low: Lowering, op: Op) -> None:
    found = [x for x in (low.env[y] for y in op.operands) if isinstance(x, Sequence)]
    low.env[op.results[0]] = _combined(low, found) if len(found) == 2 else found[0] if found else Undefined()


def lower_seq_len(low: Lowering, op: Op) -> None:
    xs = low.env[op.operands[0]]
    number: Lane | int = 0
    if isinstance(xs, Sequence):
        known = _known(xs.length)
        number = low.one.lane(known, int64) if isinstance(known, Reg) else known
    low.env[op.results[0]] = Spread(COUNT, number)


def lower_to_seq(low: Lowering, op: Op) -> None:
    """The rows of a tensor, where they lie."""
    (x,) = op.operands
    operand = low.env[x]
    type = op.results[0].type
    assert isinstance(type, Seq)
    assert isinstance(type.elem, TensorType)
    length = i64(x.shape[0])  # type: ignore[arg-type]
    if isinstance(operand, Array):
        base = low.text.at(operand.base, operand.offset)
        part: Part = Rows(type.elem, base, operand.strides[0], operand.strides[1:])
        low.env[op.results[0]] = Sequence(type.elem, length, part, operand.roots)
    elif isinstance(operand, Spread):
        low.env[op.results[0]] = Sequence(type.elem, length, Spread(type.elem, operand.number))
    else:
        low.env[op.results[0]] = Undefined()


def lower_from_seq(low: Lowering, op: Op) -> None:
    """The elements as rows, where they lie if they lie as far apart as is known."""
    (result,) = op.results
    type = result.type
    assert isinstance(type, TensorType)
    xs = low.env[op.operands[0]]
    if not isinstance(xs, Sequence):
        low.env[result] = Undefined()
    elif isinstance(xs.part, Spread):
        low.env[result] = Spread(type, xs.part.number)
    elif isinstance(xs.part, Rows) and isinstance(xs.part.step, int):
        low.env[result] = Array(type, xs.part.base, (xs.part.step, *xs.part.strides), 0, xs.roots)
    elif isinstance(xs.part, Rows):
        target, part = low.target(result), xs.part
        low.touch(xs)

        def row(i: Int, carried: list[Reg]) -> list[Reg]:
            to = low.at_pointer(part.type, low.text.at(target.base, low.text.mul(i, target.strides[0])), target.roots)
            low.copy_operand(element(low, xs, i), to)
            return carried

        low.text.loop(0, type.shape[0], 1, [], row)  # type: ignore[arg-type]
    else:
        raise InternalCompilerError(f"from_seq of {xs.elem}", loc=op.loc)


# ------------------------------------------------------------------------------------------------ loops
class _Loop:
    """What `while` and `scan` have in common."""

    def __init__(self, low: Lowering, op: Op) -> None:
        self.low, self.op, self.text = low, op, low.text
        self.is_scan = op.defn.name == "scan"
        if self.is_scan:
            k = op.attr("carries")
            self.body = op.blocks[0]
            self.inits, self.xs = op.operands[1 : 1 + k], op.operands[1 + k :]
            self.args, self.elems = self.body.args[1 : 1 + k], self.body.args[1 + k :]
            self.finals, collected = op.results[:k], op.results[k:]
            self.backwards = bool(op.attr("reverse"))
        else:
            k = len(op.operands)
            self.body = op.blocks[1]
            self.inits, self.xs, self.args, self.elems = op.operands, (), self.body.args, []
            self.finals, collected = op.results[1 : 1 + k], op.results[1 + k :]
            self.backwards = False
        self.outs = self.body.outs[:k]
        self.collects = self.body.outs[k:], collected
        self.carries: list[tuple[_Carry, Value, Value, Value, int]] = []

    def _open(self, trips: int | None) -> None:
        """Before the loop."""
        low = self.low
        low.tick += 1
        self.collected = _Collected(low, *self.collects, trips)
        self.region = low.open_region(self.collected.records)
        for i, (init, arg, result, out) in enumerate(zip(self.inits, self.args, self.finals, self.outs, strict=True)):
            if out is arg:
                low.env[arg] = low.env[result] = low.env[init]
                low.touch(low.env[init])
                self._also(i, low.env[init])
                continue
            operand = low.env[init]
            if isinstance(operand, Sequence):
                operand = anchored(low, operand, escapes=False)
            carry = _carry(low, arg.type, operand, arg, result)
            self.carries.append((carry, arg, result, out, i))
        self.cost = cost_of(self.body)
        if not self.is_scan:
            self.cost += cost_of(self.op.blocks[0])

    def _also(self, i: int, operand: Operand) -> None:
        """The condition of a `while` sees the carry too."""
        if not self.is_scan:
            self.low.env[self.op.blocks[0].args[i]] = operand

    def first(self) -> list[Reg]:
        return [r for carry, *_ in self.carries for r in carry.first]

    def bind(self, registers: list[Reg]) -> list[Reg]:
        """The carries at the start of a trip; what is left of the registers."""
        for carry, arg, _, _, i in self.carries:
            n = len(carry.first)
            operand = carry.begin(registers[:n])
            self.low.env[arg] = operand
            self._also(i, operand)
            registers = registers[n:]
        return registers

    def trip(self, index: Int) -> list[Reg]:
        """The body; the carries of the next trip."""
        low = self.low
        outer = low.written
        low.written = set()
        used = low.room_uses
        keep = _holds_sequences([out.type for out in self.body.outs])
        spot = len(low.text.lines)
        for x, arg in zip(self.xs, self.elems, strict=True):
            if low.uses.get(arg):
                low.touch(low.env[x])
                operand = low.env[x]
                low.env[arg] = element(low, operand, index) if isinstance(operand, Sequence) else undefined(arg.type)
        self.collected.plan(self.body, index)
        for carry, _, _, out, _ in self.carries:
            carry.wish(out, self.body)
        with low.inside():
            low.block(self.body)
        found: list[Reg] = []
        mine = [carry.carried for carry, *_ in self.carries if isinstance(carry, _ArrayCarry)]
        low.wanted = {v: p for v, p in low.wanted.items() if p.carried is None or p.carried not in mine}
        for carry, _, _, out, _ in self.carries:
            found += carry.next(low.env[out], out)
        if low.room_uses != used and not keep:
            mark = pointer(low.text.fresh("mark"))
            room = low.room()
            low.text.lines.insert(spot, f"  {mark.text} = call ptr @room.mark({room.entry})")
            room.release(mark)
        low.written = outer
        return found

    def spend(self) -> None:
        """At the end of a trip: looks at signals now and then."""
        low, text = self.low, self.text
        left = text.make("i64", f"sub {low.fuel}, {max(1, self.cost)}")
        low.text.needs["poll"] = _POLL
        low.text.declares |= _POLL_DECLARES
        low.polls = True

        def look() -> list[Reg]:
            failed = text.make("i32", "call i32 @poll()")
            text.leave_if(text.make("i1", f"icmp ne {failed}, 0"), "i32 1")
            return [i64(_PATIENCE)]

        (low.fuel,) = text.branch(text.make("i1", f"icmp slt {left}, 0"), look, lambda: [left], rare=True)

    def _close(self, registers: list[Reg], length: Reg) -> None:
        """After the loop."""
        low = self.low
        low.tick += 1
        low.close_region(self.region)
        for carry, _, result, _, _ in self.carries:
            n = len(carry.first)
            low.env[result] = carry.end(registers[:n])
            registers = registers[n:]
        self.collected.bind(length)

    # ------------------------------------------------------------------------------------------- scan
    def scan(self) -> None:
        low, text = self.low, self.text
        count = low.env[self.op.operands[0]]
        n: Int = low.scalar(self.op.operands[0]).reg
        known: int | None = None
        if isinstance(count, Spread) and not isinstance(count.number, Lane):
            known = n = max(int(count.number), 0)
        else:
            text.declares.add("declare i64 @llvm.smax.i64(i64, i64)")
            n = text.let("i64", f"call i64 @llvm.smax.i64(i64 0, {n})")
        self._open(known)
        self.collected.take(n)
        polled = known is None or known * self.cost > _SHORT
        threads = polled or _has_loops(self.body)

        def trip(i: Int, registers: list[Reg]) -> list[Reg]:
            if threads:
                low.fuel = registers[-1]
            self.bind(registers)
            index = self.body.args[0]
            if low.uses.get(index):
                assert isinstance(index.type, TensorType)
                number = i if isinstance(i, int) else low.one.lane(i, index.type.dtype)
                low.env[index] = Spread(index.type, number)
            found = self.trip(i)
            if polled:
                self.spend()
            return [*found, low.fuel] if threads else found

        start, stop, step = (text.sub(n, 1), -1, -1) if self.backwards else (0, n, 1)
        carried = [*self.first(), low.fuel] if threads else self.first()
        found = text.loop(start, stop, step, carried, trip)
        if threads:
            low.fuel = found.pop()
        self._close(found, text.whole(n))

    # ------------------------------------------------------------------------------------------- while
    def loop(self) -> None:
        low, text = self.low, self.text
        cond = self.op.blocks[0]
        self._open(None)
        groups = self.collected.growing
        counted = bool(groups) or bool(low.uses.get(self.op.results[0]))
        state: list[Reg] = [low.fuel]
        if counted:
            state.append(i64(0))
        if groups:
            state += [i64(_FIRST), *self.collected.take(_FIRST)]
        self.trips = self.capacity = i64(0)

        def take(registers: list[Reg]) -> None:
            low.fuel = registers[0]
            rest = registers[1:]
            if counted:
                self.trips, rest = rest[0], rest[1:]
            if groups:
                self.capacity, rest = rest[0], rest[1:]
                self.collected.begin(rest[: len(groups)])
                rest = rest[len(groups) :]
            self.bind(rest)

        def test(registers: list[Reg]) -> Reg:
            take(registers)
            with low.inside():
                low.block(cond)
                return low.scalar(cond.outs[0]).reg

        def trip(registers: list[Reg]) -> list[Reg]:
            if groups:
                self._grow()
            found = self.trip(self.trips)
            self.spend()
            after = [low.fuel]
            if counted:
                after.append(text.whole(text.add(self.trips, 1)))
            if groups:
                after += [self.capacity, *[g.base for g in groups]]
            return [*after, *found]

        size = len(state)
        found = text.repeat([*state, *self.first()], test, trip)
        low.fuel = found[0]
        if counted:
            self.trips = found[1]
        if groups:
            self.capacity = found[2]
            self.collected.begin(found[3:size])
            self.collected.trim(self.trips, self.capacity)
        low.last_failure = low.tick
        self._close(found[size:], self.trips)
        count = self.op.results[0]
        assert isinstance(count.type, TensorType)
        low.env[count] = Spread(count.type, low.one.lane(self.trips, count.type.dtype))

    def _grow(self) -> None:
        """More room where all of it is used; what points to records follows them."""
        text, groups, room = self.text, self.collected.growing, self.collected.room
        assert room is not None

        pointers = [p for carry, *_ in self.carries for p in carry.pointers()]

        def grow() -> list[Reg]:
            # Twice as many, of large ones a quarter more.
            limit = _LARGE // max(g.step for g in groups) if any(g.step for g in groups) else _LARGE
            large = text.let("i1", f"icmp ugt {self.capacity}, {max(1, limit)}")
            quarter = text.let("i64", f"lshr {self.capacity}, 2")
            more = text.let("i64", f"select {large}, {quarter}, {self.capacity}")
            wanted = text.whole(text.add(self.capacity, more))
            moved = [room.more(g.base, self.trips, self.capacity, wanted, g.step) for g in groups]
            follow = [self._followed(p, moved) for p in pointers]
            return [wanted, *moved, *follow]

        full = text.make("i1", f"icmp eq i64 {self.trips.text}, {self.capacity.text}")
        now = [self.capacity, *[g.base for g in groups], *pointers]
        found = text.branch(full, grow, lambda: now, rare=True)
        self.capacity = found[0]
        self.collected.begin(found[1 : 1 + len(groups)])
        left = iter(found[1 + len(groups) :])
        for carry, arg, *_ in self.carries:
            self.low.env[arg] = carry.moved(left, self.low.env[arg])

    def _followed(self, pointer: Reg, moved: list[Reg]) -> Reg:
        """Where a pointer points now, if it pointed to a record."""
        text = self.text
        place = text.let("i64", f"ptrtoint {pointer} to i64")
        for group, base in zip(self.collected.growing, moved, strict=True):
            start = text.let("i64", f"ptrtoint {group.base} to i64")
            offset = text.let("i64", f"sub i64 {place.text}, {start.text}")
            size = text.whole(text.mul(self.trips, group.step))
            inside = text.let("i1", f"icmp ult {offset}, {size.text}")
            pointer = text.let("ptr", f"select {inside}, {text.at(base, offset)}, {pointer}")
        return pointer


def undefined(type: Type) -> Operand:
    """Something of a type that nobody reads."""
    if isinstance(type, TupleType):
        return Pack([undefined(t) for t in type.elems])
    return Undefined()


def _holds_sequences(types: Iterable[Type]) -> bool:
    return any(isinstance(leaf, Seq) for type in types for leaf in leaves(type))


def _has_loops(block: Block) -> bool:
    return any(op.defn.name in ("while", "scan", "call") for op in ops_of(block))


def cost_of(block: Block) -> int:
    """Nanoseconds that a block takes, roughly; a loop of unknown length counts as one trip."""
    total = 0
    for op in block.ops:
        if op.blocks:
            trips = 1
            if op.defn.name == "scan":
                made = op.operands[0].owner
                if isinstance(made, Op) and made.defn.name == "const" and not isinstance(made.attr("value"), str):
                    trips = max(0, int(made.attr("value")))
            total += 2 + trips * sum(map(cost_of, op.blocks))
            continue
        sizes = [size_of(x.type) for x in (*op.operands, *op.results) if isinstance(x.type, TensorType)]
        total += 1 + max(sizes, default=0) // 16
        if op.defn.name in ("matmul", "conv"):
            total += max(sizes, default=0) * 4
    return total


def lower_scan(low: Lowering, op: Op) -> None:
    _Loop(low, op).scan()


def lower_while(low: Lowering, op: Op) -> None:
    _Loop(low, op).loop()


OPS.update(
    {
        "if": lower_if,
        "while": lower_while,
        "scan": lower_scan,
        "seq_add": lower_seq_add,
        "seq_len": lower_seq_len,
        "to_seq": lower_to_seq,
        "from_seq": lower_from_seq,
    }
)
