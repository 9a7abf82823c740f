"""Operands: what a value of the IR is while a program is written (an array, a splat, a tuple, a sequence)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from ....dtypes import DType
from ....ir.sizes import Size
from ....ir.types import Shape, TensorType, Type, tensor
from .emit import Int, Reg
from .lanes import Lane

#: How an op is run: by a kernel of its own, in a fused loop, by NumPy.
NATIVE, FUSED, HOST = "native", "inside walks", "NumPy kernel"


def size_of(type: Type) -> Size:
    """The bytes of a tensor."""
    assert isinstance(type, TensorType)
    return prod(type.shape) * type.dtype.itemsize


def row_major(shape: Shape, itemsize: int) -> Shape:
    """The strides, in bytes, of an array in C order."""
    strides: list[Size] = []
    step: Size = itemsize
    for d in reversed(shape):
        strides.append(step)
        step *= d
    return tuple(reversed(strides))


@dataclass(eq=False)
class Buffer:
    """Memory of one or more values: a pointer in a register, whose address is planned when all uses are known.

    `first` and `last`, steps of the program, bound its live range.
    """

    name: str
    nbytes: Size
    first: int
    last: int
    #: the position of the result or argument that it is; None of both: it lies in the frame
    result: int | None = None
    argument: int | None = None
    #: no memory is planned for it
    virtual: bool = False
    #: (buffer, step): at that step this may be written over that buffer in place, as each element is read before it is
    #: written; a dict for its order, which must be the same in every process
    over: dict[tuple[Buffer, int], None] = field(default_factory=dict)
    #: holes of the live range: in an arm of an `if`, steps before it is written there
    gaps: list[tuple[int, int]] = field(default_factory=list)
    #: the first step of a gap that is still open
    idle: int | None = None
    #: steps before which it holds nothing, in their arm of an `if`
    fills: set[int] = field(default_factory=set)
    #: the steps that read or write it
    touches: list[int] = field(default_factory=list)
    #: results of `if`s that may alias it, each as a virtual buffer: live from the end of the `if` on
    joins: list[Buffer] = field(default_factory=list)
    #: steps of arms at which it is dead, as only the other arm reads it
    unread: list[tuple[int, int]] = field(default_factory=list)

    def fill(self, tick: int) -> None:
        """A step writes it: an open gap ends before that."""
        if self.idle is not None:
            if self.idle < tick:
                self.gaps.append((self.idle, tick - 1))
            self.idle = None
            self.fills.add(tick)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The intervals of its live range (first and last step), in order."""
        found, start = [], self.first
        end = self.last if self.idle is None else min(self.last, self.idle - 1)
        for first, last in self.gaps:
            found.append((start, first - 1))
            start = last + 1
        pieces = [(a, min(b, self.last)) for a, b in [*found, (start, end)] if a <= min(b, self.last)]
        for first, last in self.unread:
            pieces = [(a, b) for x, y in pieces for a, b in ((x, min(y, first - 1)), (max(x, last + 1), y)) if a <= b]
        return pieces

    @property
    def base(self) -> Reg:
        return Reg(f"%{self.name}", "ptr")


def with_joins(buffers: Iterable[Buffer]) -> Iterable[Buffer]:
    """Buffers and the results of `if`s that may alias them, each once."""
    found: dict[Buffer, None] = {}
    for buffer in buffers:
        found[buffer] = None
        found.update(dict.fromkeys(buffer.joins))
    return found


@dataclass(eq=False)
class Array:
    """A strided array: the first element `offset` bytes behind `base`."""

    type: TensorType
    base: Reg
    strides: Shape
    offset: Int = 0
    #: the buffers that it may alias
    roots: tuple[Buffer, ...] = ()
    #: an iota: it has no memory, and each element is the number of its address
    is_iota: bool = False
    #: the virtual buffer for `roots`, where an `if` decides which of them it is
    joined: Buffer | None = None

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def contiguous(self) -> bool:
        wanted = row_major(self.shape, self.dtype.itemsize)
        same = all(d == 1 or a == b for d, a, b in zip(self.shape, self.strides, wanted, strict=True))
        return same and not self.is_iota

    def viewed(self, type: TensorType, strides: Shape, offset: Int | None = None) -> Array:
        """A view: some of the elements, or the elements in another order."""
        return replace(self, type=type, strides=strides, offset=self.offset if offset is None else offset)

    def in_order(self, type: TensorType) -> Array:
        """A view in C order: of all elements if the array is in C order itself."""
        return self.viewed(type, row_major(type.shape, type.dtype.itemsize))


def joined(array: Array, tick: int) -> Array:
    """An array in one of several buffers: from a step on each is only needed as far as that is."""
    if len(array.roots) == 1:
        return array
    stands = Buffer("joined", size_of(array.type), tick, tick, virtual=True)
    for root in array.roots:
        root.joins.append(stands)
    return replace(array, joined=stands)


def part(array: Array, axis: int, start: Size, size: Size, step: int = 1) -> Array:
    """A slice along one axis: `size` elements from `start` on, `step` apart."""
    shape, strides = list(array.shape), list(array.strides)
    offset: Int = array.offset
    assert not isinstance(offset, Reg)
    offset += start * strides[axis]
    shape[axis], strides[axis] = size, strides[axis] * step
    return array.viewed(tensor(array.dtype, tuple(shape)), tuple(strides), offset)


@dataclass(eq=False)
class Spread:
    """A splat: one number in every element, known now or in a register."""

    type: TensorType
    number: Lane | bool | int | float


@dataclass(eq=False)
class Pack:
    """A tuple."""

    elems: list[Operand]


class Undefined:
    """An undefined value (`undef`): of a path that is not taken."""


@dataclass(eq=False)
class Rows:
    """A tensor per trip of a loop, that of trip i `i * step` bytes behind `base`."""

    type: TensorType
    base: Reg
    step: Int
    strides: Shape


@dataclass(eq=False)
class Runs:
    """A sequence per trip: its descriptor lies `i * step` bytes behind `base` (see `memory/sequences.py`)."""

    elem: Type
    base: Reg
    step: Int


#: The elements of a sequence; of tuples, a list with one part per member.
Part: TypeAlias = "Rows | Runs | Spread | Undefined | list[Part]"


@dataclass(eq=False)
class Sequence:
    """One value per trip of a loop."""

    elem: Type
    length: Reg
    part: Part
    roots: tuple[Buffer, ...] = ()


Operand: TypeAlias = Array | Spread | Pack | Undefined | Sequence


def roots_of(operand: Operand | None) -> tuple[Buffer, ...]:
    """The buffers that an operand may alias."""
    if isinstance(operand, Pack):
        return tuple(root for elem in operand.elems for root in roots_of(elem))
    return operand.roots if isinstance(operand, Array | Sequence) else ()
