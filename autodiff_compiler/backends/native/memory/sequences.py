"""Sequences, one value per trip of a loop: their layout, how they grow, and how their elements are read.

A loop collects sequences as an array of records in the room of the call, a stack allocator (`@room`).  A loop of an
unknown number of trips reallocates its records when they are full: in place if nothing lies behind them, else
elsewhere, and pointers into them are moved along.  Everything else stays where it is until a loop around ends its trip.

An element that is a sequence itself is a descriptor in the record: its length and, for every tensor (or sequence) of
its elements, the address of the first and the stride: 8 + 16 n bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....dtypes import int64
from ....errors import InternalCompilerError
from ....ir.core import Value
from ....ir.sizes import Size, largest, usual
from ....ir.types import MOST_BYTES, Seq, TensorType, TupleType, Type, tensor
from ..codegen.emit import Int, Reg, Text, i64
from ..codegen.lanes import NotNativeError
from ..codegen.values import Array, Operand, Pack, Part, Rows, Runs, Sequence, Spread, Undefined, row_major, size_of
from .buffer_plan import BufferPlan
from .poison import poisoned, poisoned_room

NULL = Reg("null", "ptr")
_ALIGNMENT = 64


# ------------------------------------------------------------------------------------------------ room
class Room:
    """Emits the calls that allocate and free memory of the room.

    `entry`: a pointer to its newest chunk and the size of that, in the header of the frame.
    """

    def __init__(self, text: Text, entry: Reg) -> None:
        self.text, self.entry = text, entry
        text.needs["room"] = poisoned_room(_ROOM) if poisoned() else _ROOM
        text.declares |= _DECLARES

    def take(self, count: Int, step: Size) -> Reg:
        """Allocates `count` records; raises MemoryError."""
        base = self.text.make("ptr", f"call ptr @room({self.entry}, {self.bytes(count, step)})")
        self._leave_without(base)
        return base

    def more(self, base: Reg, used: Int, capacity: Int, wanted: Int, step: Size) -> Reg:
        """Reallocates `used` records from `capacity` to `wanted`; their new address."""
        text = self.text
        sizes = f"{text.whole(text.mul(used, step))}, {text.whole(text.mul(capacity, step))}"
        moved = text.make("ptr", f"call ptr @room.more({self.entry}, {base}, {sizes}, {self.bytes(wanted, step)})")
        self._leave_without(moved)
        return moved

    def trim(self, base: Reg, used: Int, capacity: Int, step: Size) -> None:
        """Frees the capacity behind the used records."""
        text = self.text
        sizes = f"{text.whole(text.mul(used, step))}, {text.whole(text.mul(capacity, step))}"
        text.do(f"call void @room.trim({self.entry}, {base}, {sizes})")

    def mark(self) -> Reg:
        """The top of the room, for `release`."""
        return self.text.make("ptr", f"call ptr @room.mark({self.entry})")

    def release(self, mark: Reg) -> None:
        """Frees everything allocated since the mark."""
        self.text.do(f"call void @room.release({self.entry}, {mark})")

    def bytes(self, count: Int, step: Size) -> Reg:
        """The bytes of so many records, saturated where the product overflows."""
        if isinstance(count, int) and isinstance(step, int):
            return i64(min(max(count, 0) * step, MOST_BYTES))
        text = self.text
        limit = text.whole(MOST_BYTES // largest(step, 1))
        most = text.let("i64", f"call i64 @llvm.umin.i64({text.whole(count)}, {limit})")
        text.declares.add("declare i64 @llvm.umin.i64(i64, i64)")
        return text.whole(text.mul(most, step))

    def _leave_without(self, place: Reg) -> None:
        self.text.leave_if(self.text.make("i1", f"icmp eq {place}, null"))


_DECLARES = {
    "declare ptr @PyMem_RawMalloc(i64)",
    "declare void @PyMem_RawFree(ptr)",
    "declare ptr @PyErr_NoMemory()",
    "declare i32 @PyGILState_Ensure()",
    "declare void @PyGILState_Release(i32)",
    "declare ptr @memcpy(ptr, ptr, i64)",
    "declare ptr @memmove(ptr, ptr, i64)",
    "declare ptr @memset(ptr, i32, i64)",
    "declare ptr @PyMem_RawRealloc(ptr, i64)",
    "declare i64 @llvm.umax.i64(i64, i64)",
}

#: A chunk begins with 32 bytes: the chunk before it, where it is free, where it ends.  For `poison` see that module.
_ROOM = """
define internal i64 @room.whole(i64 %bytes) alwaysinline {
  %above = add i64 %bytes, 63
  %whole = and i64 %above, -64
  ret i64 %whole
}

define internal ptr @room.first(ptr %chunk) alwaysinline {
  %number = ptrtoint ptr %chunk to i64
  %above = add i64 %number, 95
  %aligned = and i64 %above, -64
  %place = inttoptr i64 %aligned to ptr
  ret ptr %place
}

define internal ptr @room(ptr %entry, i64 %bytes) noinline {
start:
  %chunk = load ptr, ptr %entry, align 8
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %new, label %look
look:
  %free.at = getelementptr i8, ptr %chunk, i64 8
  %free = load ptr, ptr %free.at, align 8
  %end.at = getelementptr i8, ptr %chunk, i64 16
  %end = load ptr, ptr %end.at, align 8
  %whole = call i64 @room.whole(i64 %bytes)
  %a = ptrtoint ptr %free to i64
  %b = ptrtoint ptr %end to i64
  %left = sub i64 %b, %a
  %fits = icmp ule i64 %whole, %left
  br i1 %fits, label %take, label %new
take:
  %next = getelementptr i8, ptr %free, i64 %whole
  store ptr %next, ptr %free.at, align 8
  ; poison %free, %whole
  ret ptr %free
new:
  %made = call ptr @room.new(ptr %entry, i64 %bytes)
  ret ptr %made
}

define internal ptr @room.new(ptr %entry, i64 %bytes) noinline cold {
start:
  %chunk = load ptr, ptr %entry, align 8
  %size.at = getelementptr i8, ptr %entry, i64 8
  %old = load i64, ptr %size.at, align 8
  %large = icmp ugt i64 %bytes, 4611686018427387904
  br i1 %large, label %lost, label %try
try:
  %doubled = shl i64 %old, 1
  %least = call i64 @llvm.umax.i64(i64 %doubled, i64 65536)
  %wanted = add i64 %bytes, 256
  %size = call i64 @llvm.umax.i64(i64 %least, i64 %wanted)
  %made = call ptr @PyMem_RawMalloc(i64 %size)
  %none = icmp eq ptr %made, null
  br i1 %none, label %lost, label %good
good:
  store ptr %made, ptr %entry, align 8
  store i64 %size, ptr %size.at, align 8
  store ptr %chunk, ptr %made, align 8
  %free.at = getelementptr i8, ptr %made, i64 8
  %end.at = getelementptr i8, ptr %made, i64 16
  %end = getelementptr i8, ptr %made, i64 %size
  store ptr %end, ptr %end.at, align 8
  %first = call ptr @room.first(ptr %made)
  %whole = call i64 @room.whole(i64 %bytes)
  %next = getelementptr i8, ptr %first, i64 %whole
  store ptr %next, ptr %free.at, align 8
  ; poison %first, %whole
  ret ptr %first
lost:
  %state = call i32 @PyGILState_Ensure()
  %null = call ptr @PyErr_NoMemory()
  call void @PyGILState_Release(i32 %state)
  ret ptr null
}

define internal ptr @room.more(ptr %entry, ptr %base, i64 %used, i64 %had, i64 %wanted) noinline {
start:
  %chunk = load ptr, ptr %entry, align 8
  %free.at = getelementptr i8, ptr %chunk, i64 8
  %free = load ptr, ptr %free.at, align 8
  %end.at = getelementptr i8, ptr %chunk, i64 16
  %end = load ptr, ptr %end.at, align 8
  %whole.had = call i64 @room.whole(i64 %had)
  %behind = getelementptr i8, ptr %base, i64 %whole.had
  %last = icmp eq ptr %behind, %free
  %whole = call i64 @room.whole(i64 %wanted)
  %a = ptrtoint ptr %base to i64
  %b = ptrtoint ptr %end to i64
  %left = sub i64 %b, %a
  %fits = icmp ule i64 %whole, %left
  %here = and i1 %last, %fits
  br i1 %here, label %extend, label %move
extend:
  %next = getelementptr i8, ptr %base, i64 %whole
  store ptr %next, ptr %free.at, align 8
  %added = sub i64 %whole, %whole.had
  ; poison %behind, %added
  ret ptr %base
move:
  %first = call ptr @room.first(ptr %chunk)
  %alone = icmp eq ptr %base, %first
  %sane = icmp ult i64 %wanted, 1152921504606846976
  %whole.chunk = and i1 %alone, %last
  %can = and i1 %whole.chunk, %sane
  br i1 %can, label %stretch, label %other
stretch:
  %moved = call ptr @room.stretch(ptr %entry, i64 %used, i64 %whole)
  ret ptr %moved
other:
  %place = call ptr @room(ptr %entry, i64 %wanted)
  %none = icmp eq ptr %place, null
  br i1 %none, label %done, label %copy
copy:
  %to = call ptr @memcpy(ptr %place, ptr %base, i64 %used)
  br label %done
done:
  ret ptr %place
}

; The newest chunk holds one run only: it may move as a whole.
define internal ptr @room.stretch(ptr %entry, i64 %used, i64 %whole) noinline cold {
start:
  %chunk = load ptr, ptr %entry, align 8
  %first = call ptr @room.first(ptr %chunk)
  %a = ptrtoint ptr %chunk to i64
  %b = ptrtoint ptr %first to i64
  %before = sub i64 %b, %a
  %size = add i64 %whole, 128
  %made = call ptr @PyMem_RawRealloc(ptr %chunk, i64 %size)
  %none = icmp eq ptr %made, null
  br i1 %none, label %lost, label %good
good:
  store ptr %made, ptr %entry, align 8
  %size.at = getelementptr i8, ptr %entry, i64 8
  store i64 %size, ptr %size.at, align 8
  %end = getelementptr i8, ptr %made, i64 %size
  %end.at = getelementptr i8, ptr %made, i64 16
  store ptr %end, ptr %end.at, align 8
  %place = call ptr @room.first(ptr %made)
  %lies = getelementptr i8, ptr %made, i64 %before
  %same = icmp eq ptr %lies, %place
  br i1 %same, label %done, label %shift
shift:
  %to = call ptr @memmove(ptr %place, ptr %lies, i64 %used)
  br label %done
done:
  %next = getelementptr i8, ptr %place, i64 %whole
  %free.at = getelementptr i8, ptr %made, i64 8
  store ptr %next, ptr %free.at, align 8
  %new = getelementptr i8, ptr %place, i64 %used
  %added = sub i64 %whole, %used
  ; poison %new, %added
  ret ptr %place
lost:
  %state = call i32 @PyGILState_Ensure()
  %null = call ptr @PyErr_NoMemory()
  call void @PyGILState_Release(i32 %state)
  ret ptr null
}

define internal void @room.trim(ptr %entry, ptr %base, i64 %used, i64 %had) noinline {
start:
  %chunk = load ptr, ptr %entry, align 8
  %free.at = getelementptr i8, ptr %chunk, i64 8
  %free = load ptr, ptr %free.at, align 8
  %whole.had = call i64 @room.whole(i64 %had)
  %behind = getelementptr i8, ptr %base, i64 %whole.had
  %last = icmp eq ptr %behind, %free
  br i1 %last, label %give, label %done
give:
  %whole = call i64 @room.whole(i64 %used)
  %next = getelementptr i8, ptr %base, i64 %whole
  store ptr %next, ptr %free.at, align 8
  br label %done
done:
  ret void
}

define internal ptr @room.mark(ptr %entry) noinline {
start:
  %chunk = load ptr, ptr %entry, align 8
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %nothing, label %some
some:
  %free.at = getelementptr i8, ptr %chunk, i64 8
  %free = load ptr, ptr %free.at, align 8
  ret ptr %free
nothing:
  ret ptr null
}

; A mark of an older chunk: all of the newest one was taken since.
define internal void @room.release(ptr %entry, ptr %mark) noinline {
start:
  %chunk = load ptr, ptr %entry, align 8
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %done, label %some
some:
  %free.at = getelementptr i8, ptr %chunk, i64 8
  %end.at = getelementptr i8, ptr %chunk, i64 16
  %end = load ptr, ptr %end.at, align 8
  %first = call ptr @room.first(ptr %chunk)
  %above = icmp uge ptr %mark, %first
  %below = icmp ule ptr %mark, %end
  %inside = and i1 %above, %below
  %to = select i1 %inside, ptr %mark, ptr %first
  store ptr %to, ptr %free.at, align 8
  br label %done
done:
  ret void
}

; Before and after a call: everything is free, and only the newest chunk, which is the largest, stays.
define internal void @room.rest(ptr %entry) noinline {
start:
  %chunk = load ptr, ptr %entry, align 8
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %done, label %some
some:
  %free.at = getelementptr i8, ptr %chunk, i64 8
  %first = call ptr @room.first(ptr %chunk)
  store ptr %first, ptr %free.at, align 8
  %older = load ptr, ptr %chunk, align 8
  store ptr null, ptr %chunk, align 8
  br label %next
next:
  %at = phi ptr [%older, %some], [%behind, %drop]
  %end = icmp eq ptr %at, null
  br i1 %end, label %done, label %drop
drop:
  %behind = load ptr, ptr %at, align 8
  call void @PyMem_RawFree(ptr %at)
  br label %next
done:
  ret void
}
"""


# ------------------------------------------------------------------------------------------------ records
class Record:
    """The layout of what a loop collects in one trip: fields with their offsets."""

    def __init__(self) -> None:
        self.nbytes: Size = 0
        self._alignment = 1

    @property
    def step(self) -> Size:
        """Bytes from one record to the next."""
        return (self.nbytes + self._alignment - 1) // self._alignment * self._alignment

    def field(self, type: Type) -> Size:
        """Adds a field for a tensor, or for the descriptor of a sequence; its offset."""
        nbytes, alignment = 8 + 16 * len(leaves(type.elem)) if isinstance(type, Seq) else size_of(type), 8
        if isinstance(type, TensorType):
            alignment = type.dtype.itemsize
            while alignment < min(usual(nbytes), _ALIGNMENT):
                alignment *= 2
        start = (self.nbytes + alignment - 1) // alignment * alignment
        self.nbytes, self._alignment = start + nbytes, max(self._alignment, alignment)
        return start

    def part(self, type: Type) -> list[tuple[Type, Size]]:
        """Fields for all leaves of an element."""
        return [(leaf, self.field(leaf)) for leaf in leaves(type)]


def leaves(type: Type) -> list[Type]:
    """The tensors and sequences that a value of this type consists of."""
    if isinstance(type, TupleType):
        return [leaf for t in type.elems for leaf in leaves(t)]
    return [type]


def part_leaves(part: Part, type: Type) -> Iterator[Part]:
    """The parts that hold the leaves of the elements."""
    if isinstance(type, TupleType):
        for i, t in enumerate(type.elems):
            yield from part_leaves(part[i] if isinstance(part, list) else Undefined(), t)
    else:
        yield part


def of_leaves(type: Type, pairs: Iterator[tuple[Reg, Int]]) -> Part:
    """The parts of elements of this type, from the address and the stride of each leaf; tensors in C order."""
    if isinstance(type, TupleType):
        return [of_leaves(t, pairs) for t in type.elems]
    base, step = next(pairs)
    if isinstance(type, Seq):
        return Runs(type.elem, base, step)
    assert isinstance(type, TensorType)
    return Rows(type, base, step, row_major(type.shape, type.dtype.itemsize))


# ------------------------------------------------------------------------------------------------ elements
def element(low: BufferPlan, xs: Sequence, index: Int, *, undefined: bool = False) -> Operand:
    """The element of a trip.  `undefined`: the sequence may be at run time, and its element is then, too."""
    return _element(low, xs, xs.part, index, undefined)


def _element(low: BufferPlan, xs: Sequence, part: Part, index: Int, undefined: bool) -> Operand:
    text = low.text
    if isinstance(part, list):
        return Pack([_element(low, xs, p, index, undefined) for p in part])
    if isinstance(part, Spread | Undefined):
        return part
    place = text.at(part.base, text.mul(index, part.step))
    if undefined:
        place = _defined(low, part, place)
    if isinstance(part, Rows):
        if part.type.shape == ():
            return Spread(part.type, low.one.load(place, part.type.dtype))
        return Array(part.type, place, part.strides, 0, xs.roots)
    length = text.load("i64", place, 8)
    pairs = [
        (text.load("ptr", text.at(place, 8 + 16 * k), 8), text.load("i64", text.at(place, 16 + 16 * k), 8))
        for k in range(len(leaves(part.elem)))
    ]
    return Sequence(part.elem, length, of_leaves(part.elem, iter(pairs)), xs.roots)


def _defined(low: BufferPlan, part: Rows | Runs, place: Reg) -> Reg:
    """Where an element lies: null if the sequence is undefined, zeros if that is loaded before a condition tells."""
    text, nowhere = low.text, NULL
    if isinstance(part, Runs):
        nowhere = low.constant(np.zeros(8 + 16 * len(leaves(part.elem)), np.uint8))
    elif part.type.shape == ():
        nowhere = low.constant(np.zeros(16, np.uint8))
    none = text.let("i1", f"icmp eq {part.base}, null")
    return text.let("ptr", f"select {none}, {nowhere}, {place}")


def note_sequence(low: BufferPlan, xs: Operand, type: Seq, place: Reg) -> None:
    """Writes the descriptor of a sequence, whose elements stay where they are."""
    text = low.text
    if not isinstance(xs, Sequence):
        text.store(i64(0), place, 8)
        return
    text.store(xs.length, place, 8)
    for k, (base, step) in enumerate(places(low, xs)):
        text.store(base, text.at(place, 8 + 16 * k), 8)
        text.store(text.whole(step), text.at(place, 16 + 16 * k), 8)


def places(low: BufferPlan, xs: Sequence) -> list[tuple[Reg, Int]]:
    """The address and the stride of each leaf of the elements, as `of_leaves` takes them."""
    found: list[tuple[Reg, Int]] = []
    for part, type in zip(part_leaves(xs.part, xs.elem), leaves(xs.elem), strict=True):
        if isinstance(part, Rows | Runs):
            found.append((part.base, part.step))
        elif isinstance(part, Undefined):
            found.append((NULL, 0))
        else:
            raise InternalCompilerError(f"a sequence of one {type} has no place")
    return found


def is_ordered(part: Part) -> bool:
    """Whether all tensors of the elements lie in C order in memory."""
    if isinstance(part, list):
        return all(map(is_ordered, part))
    if isinstance(part, Spread):
        return False
    return not isinstance(part, Rows) or part.strides == row_major(part.type.shape, part.type.dtype.itemsize)


# ------------------------------------------------------------------------------------------------ from outside
def descriptor_type(type: Type) -> TensorType:
    """The type of the argument for a value: a tensor itself, or the descriptor of a sequence."""
    if isinstance(type, TensorType):
        return type
    row_tensors(type)
    assert isinstance(type, Seq)
    return tensor(int64, (1 + len(leaves(type.elem)),))


def row_tensors(type: Type) -> list[TensorType]:
    """The tensors of the elements of a sequence."""
    found: list[TensorType] = []
    for leaf in leaves(type.elem) if isinstance(type, Seq) else [type]:
        if not isinstance(type, Seq) or not isinstance(leaf, TensorType):
            raise NotNativeError(f"{type} enters or leaves the program")
        found.append(leaf)
    return found


def enter(low: BufferPlan, arg: Value, descriptor: Array) -> None:
    """Binds a sequence that is an argument, from its descriptor."""
    assert isinstance(arg.type, Seq)
    text, place = low.text, descriptor.base
    pairs = []
    for k, leaf in enumerate(row_tensors(arg.type)):
        pairs.append((text.load("ptr", text.at(place, 8 + 8 * k), 8), size_of(leaf)))
    length = text.load("i64", place, 8)
    low.env[arg] = Sequence(arg.type.elem, length, of_leaves(arg.type.elem, iter(pairs)))
