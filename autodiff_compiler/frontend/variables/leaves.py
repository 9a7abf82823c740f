"""Leaves: what is known of the Values that parameters of blocks and results of control flow are.

What two leaves have in common (`common_leaf`) is what a phi of both is, and what a loop must carry that begins with one
and ends with the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.sizes import ERASED, Size, size_of
from ...ir.types import TensorType, has_erased_sizes, known_same, tensor
from ...primitives.sizes_of_data import erased, sized
from ...runtime.mutable import NUMBER_DTYPE
from .arithmetic import fits_tensor, joined_number, lifted_number
from .values import PARAMETERS, ArrayVar, Rows, Snapshot, SymScalar, TensorVar, snapshot_of


class Liftable(Protocol):
    """A `Variable`, to leaves."""

    value: Any

    def leaf(self) -> Leaf | None: ...

    def lifted(self, type: TensorType, builder: Builder) -> Value: ...


@dataclass(slots=True, eq=False)
class Leaf:
    """What is known, while compiling, of a Value and of what it stands for."""

    type: TensorType
    #: of which Python class it is; None for Tensors
    kind: Any = None
    #: whether it is a constant or a Parameter, which needs no slot until something else takes its place
    fixed: bool = False
    #: as of a `TensorVar`
    locked: str = ""
    snapshot: Snapshot | None = None
    #: the Parameter that it is
    source: Any = None
    #: of two leaves that of higher precedence decides what they have in common
    precedence: ClassVar[int] = 0

    def common(self, other: Any) -> Leaf | None:
        """What is known of one of the two, chosen at run time; None if they have nothing in common."""
        raise NotImplementedError

    def fits(self, type_: TensorType) -> bool:
        """Whether it may become a Tensor of that type."""
        return False

    def covers(self, common: Leaf) -> bool:
        """Whether `common`, which it has with another leaf, says nothing that it does not say itself."""
        return not self.fixed and self.kind is common.kind and self.type is common.type

    def is_parameter(self, other: Leaf | None) -> bool:
        """Whether both are the same Parameter."""
        return other is not None and self.source is not None and self.source is other.source

    def as_element(self) -> Leaf | None:
        """The leaf of an element of a list of which only run time knows how long it is; None if it cannot be in one."""
        return None

    def value_of(self, x: Liftable, builder: Builder) -> Value:
        """What fits it as a Value, at the end of a builder's block."""
        return x.lifted(self.type, builder)

    def made(self, value: Value) -> Any:
        """The value of compiled code that such a Value is, where an op of the program has made it."""
        raise NotImplementedError

    def example(self, value: Value) -> Any:
        """The same for a Value of which there is no more than the type."""
        return self.made(value)

    def hidden(self, sees: Callable[[Size], bool]) -> Leaf:
        """The leaf of what leaves a block, without the sizes that are not seen outside."""
        type_ = erased(self.type, lambda symbol: not sees(size_of(symbol)))
        assert isinstance(type_, TensorType)
        return self if type_ is self.type else replace(self, type=type_)


class NumberLeaf(Leaf):
    """A Python number."""

    __slots__ = ()

    @classmethod
    def of(cls, kind: type, *, fixed: bool = False) -> NumberLeaf:
        return cls(tensor(NUMBER_DTYPE[kind], ()), kind, fixed)

    def common(self, other: Any) -> Leaf | None:
        kind = joined_number(self.kind, other.kind)
        return None if kind is None else NumberLeaf.of(kind)

    def fits(self, type_: TensorType) -> bool:
        return fits_tensor(self.kind, type_)

    def as_element(self) -> Leaf:
        return NumberLeaf.of(self.kind)

    def value_of(self, x: Liftable, builder: Builder) -> Value:
        return lifted_number(x.value, self.kind, builder)

    def made(self, value: Value) -> SymScalar:
        return SymScalar(value, self.kind)


class TensorLeaf(Leaf):
    """A Tensor or Parameter."""

    __slots__ = ()
    precedence = 1

    def common(self, other: Any) -> Leaf | None:
        type_ = joined_type(self.type, other.type) if isinstance(other, TensorLeaf) else None
        if type_ is None:
            if not other.fits(self.type):
                return None
            type_ = self.type
        parameters = PARAMETERS if self.source is not None or other.source is not None else ""
        locked = self.locked or other.locked or parameters
        return TensorLeaf(type_, locked=locked, snapshot=snapshot_of(self, other))

    def fits(self, type_: TensorType) -> bool:
        return self.type == type_

    def as_element(self) -> Leaf | None:
        changes = self.fixed or self.source is not None or self.snapshot is not None
        return None if changes else TensorLeaf(self.type)  # of no Parameter: the list would have it as it is at the end

    def value_of(self, x: Liftable, builder: Builder) -> Value:
        own = x.leaf() if has_erased_sizes(self.type) else None
        if own is None or own.type is self.type or own.kind is not None:
            return x.lifted(self.type, builder)
        value = x.lifted(own.type, builder)
        with builder:
            return F.with_sizes(value, type=self.type)

    def covers(self, common: Leaf) -> bool:
        states = common.snapshot.states if common.snapshot is not None else frozenset()
        read = not states or (self.snapshot is not None and states <= self.snapshot.states)
        return super().covers(common) and read and bool(self.locked) == bool(common.locked)

    def made(self, value: Value) -> TensorVar:
        value = sized(value) if has_erased_sizes(value.type) else value
        return self.example(value)

    def example(self, value: Value) -> TensorVar:
        return TensorVar(value, self.locked, self.snapshot)


class RowsLeaf(Leaf):
    """The elements of a list of which only run time knows how many there are: Tensors, or numbers of class `kind`."""

    __slots__ = ()
    precedence = 3

    @classmethod
    def of(cls, elem: Leaf) -> RowsLeaf:
        return cls(tensor(elem.type.dtype, (ERASED, *elem.type.shape)), elem.kind or Rows)

    @property
    def number(self) -> type | None:
        """The class of its elements if they are numbers."""
        return None if self.kind is Rows else self.kind

    @property
    def elem(self) -> Leaf:
        """The leaf of an element."""
        return NumberLeaf.of(self.number) if self.number else TensorLeaf(tensor(self.type.dtype, self.type.shape[1:]))

    def as_element(self) -> Leaf:
        return self.elem

    def common(self, other: Any) -> Leaf | None:
        return RowsLeaf.of(self.elem) if isinstance(other, RowsLeaf) and same_elements(self.elem, other.elem) else None

    def value_of(self, x: Liftable, builder: Builder) -> Value:
        with builder:
            return F.with_sizes(x.value.value, type=self.type)

    def made(self, value: Value) -> Rows:
        return self.example(sized(value) if has_erased_sizes(value.type) else value)

    def example(self, value: Value) -> Rows:
        return Rows(value, self.number)


def same_elements(a: Leaf, b: Leaf) -> bool:
    """Whether elements of two lists may be those of one."""
    return a.kind is b.kind and a.type is b.type


class ArrayLeaf(Leaf):
    """An array of NumPy (its kind is ndarray) or a scalar (generic)."""

    __slots__ = ()
    precedence = 2

    def common(self, other: Any) -> Leaf | None:
        alike = self.kind is other.kind and self.type == other.type
        return ArrayLeaf(self.type, self.kind) if alike and not (self.fixed and other.fixed) else None

    def made(self, value: Value) -> ArrayVar:
        return ArrayVar(value, self.kind)


def joined_type(a: TensorType, b: TensorType) -> TensorType | None:
    """The type of what is of one or of the other: sizes in which they differ are left open; None if others do."""
    if a is b:
        return a
    if a.dtype is not b.dtype or a.ndim != b.ndim:
        return None
    return tensor(
        a.dtype, tuple([m if known_same((m,), (n,)) else ERASED for m, n in zip(a.shape, b.shape, strict=True)])
    )


def common_leaf(a: Leaf | None, b: Leaf | None) -> Leaf | None:
    """What is known of one of two leaves, chosen at run time; None if they have nothing in common."""
    if a is None or b is None:
        return None
    return b.common(a) if b.precedence > a.precedence else a.common(b)
