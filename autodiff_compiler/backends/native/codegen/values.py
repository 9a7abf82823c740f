"""What a value of the IR is while a program is written: elements in memory, one number, a tuple, a sequence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from ....dtypes import DType
from ....ir.types import TensorType, Type, tensor
from .emit import Int, Reg
from .lanes import Lane

__all__ = [
    "HOST",
    "NATIVE",
    "WALK",
    "Array",
    "Buffer",
    "Operand",
    "Pack",
    "Part",
    "Rows",
    "Runs",
    "Sequence",
    "Spread",
    "Undefined",
    "joined",
    "part",
    "roots_of",
    "row_major",
    "size_of",
    "with_joins",
]

#: How an op is run.
NATIVE, WALK, HOST = "native", "inside walks", "NumPy kernel"


def size_of(type: Type) -> int:
    """The bytes of a tensor whose sizes are known."""
    assert isinstance(type, TensorType)
    return prod(type.shape) * type.dtype.itemsize  # type: ignore[arg-type]


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of an array in C order."""
    strides, step = [], itemsize
    for d in reversed(shape):
        strides.append(step)
        step *= d
    return tuple(reversed(strides))


@dataclass(eq=False)
class Buffer:
    """Bytes that results are written to.  Its place is found when all uses are known; its register is known before.

    `first` and `last` are the steps of the program between which it is needed.
    """

    name: str
    nbytes: int
    first: int
    last: int
    #: the position of the result or argument it is; else it lies in the frame
    result: int | None = None
    argument: int | None = None
    #: it stands for memory that is neither: nothing is placed for it
    virtual: bool = False
    #: buffers whose elements are read before they are written over one by one, and the steps that do it; in the order
    #: in which they were found, as an order by addresses would make every process write another program
    over: dict[tuple[Buffer, int], None] = field(default_factory=dict)
    #: steps between `first` and `last` at which it holds nothing: in an arm of an `if`, before it is written there
    gaps: list[tuple[int, int]] = field(default_factory=list)
    #: the first step of a gap that has not ended
    idle: int | None = None
    #: steps before which it holds nothing, in their arm of an `if`
    fills: set[int] = field(default_factory=set)
    #: the steps that read or write it
    touches: list[int] = field(default_factory=list)
    #: results of `if`s that may lie here, each as a virtual buffer: needed from the end of the `if` on
    joins: list[Buffer] = field(default_factory=list)
    #: steps of arms at which it need not hold what it does, as only the other arm reads that
    unread: list[tuple[int, int]] = field(default_factory=list)

    def fill(self, tick: int) -> None:
        """A step writes it: a gap ends before that."""
        if self.idle is not None:
            if self.idle < tick:
                self.gaps.append((self.idle, tick - 1))
            self.idle = None
            self.fills.add(tick)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The first and the last of steps one after the other at which it holds something, in order."""
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
    """Buffers, and what may lie in them, each once."""
    found: dict[Buffer, None] = {}
    for buffer in buffers:
        found[buffer] = None
        found.update(dict.fromkeys(buffer.joins))
    return found


@dataclass(eq=False)
class Array:
    """Elements in memory, `strides` bytes apart, from `offset` bytes behind `base` on."""

    type: TensorType
    base: Reg
    strides: tuple[int, ...]
    offset: Int = 0
    #: whose bytes they may be
    roots: tuple[Buffer, ...] = ()
    #: nothing lies there: every element is the number of its place
    counted: bool = False
    #: what stands for the bytes of any of them, if an `if` decides which
    joined: Buffer | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def contiguous(self) -> bool:
        wanted = row_major(self.shape, self.dtype.itemsize)
        same = all(d == 1 or a == b for d, a, b in zip(self.shape, self.strides, wanted, strict=True))
        return same and not self.counted

    def viewed(self, type: TensorType, strides: tuple[int, ...], offset: Int | None = None) -> Array:
        """Some of the elements, or the elements in another order."""
        return replace(self, type=type, strides=strides, offset=self.offset if offset is None else offset)


def joined(array: Array, tick: int) -> Array:
    """An array in one of several buffers: from a step on each is only needed as far as that is."""
    if len(array.roots) == 1:
        return array
    stands = Buffer("joined", size_of(array.type), tick, tick, virtual=True)
    for root in array.roots:
        root.joins.append(stands)
    return replace(array, joined=stands)


def part(array: Array, axis: int, start: int, size: int, step: int = 1) -> Array:
    """`size` elements along an axis from `start` on, `step` apart."""
    shape, strides = list(array.shape), list(array.strides)
    offset: Int = array.offset
    assert isinstance(offset, int)
    offset += start * strides[axis]
    shape[axis], strides[axis] = size, strides[axis] * step
    return array.viewed(tensor(array.dtype, tuple(shape)), tuple(strides), offset)


@dataclass(eq=False)
class Spread:
    """One number in every element: known now, or in a register."""

    type: TensorType
    number: Lane | bool | int | float


@dataclass(eq=False)
class Pack:
    """A tuple."""

    elems: list[Operand]


class Undefined:
    """A value that nobody reads."""


@dataclass(eq=False)
class Rows:
    """A tensor per trip of a loop: trip i's lies `i * step` bytes behind `base`."""

    type: TensorType
    base: Reg
    step: Int
    strides: tuple[int, ...]


@dataclass(eq=False)
class Runs:
    """A sequence per trip: where it lies is noted `i * step` bytes behind `base` (see `sequences`)."""

    elem: Type
    base: Reg
    step: Int


#: What the elements of a sequence are; those of tuples one by one.
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
    """Whose bytes an operand may be."""
    if isinstance(operand, Pack):
        return tuple(root for elem in operand.elems for root in roots_of(elem))
    return operand.roots if isinstance(operand, Array | Sequence) else ()
