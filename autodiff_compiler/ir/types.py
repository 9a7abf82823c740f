"""Types of the IR: tensors, tuples, the per-trip sequences that loops leave behind, and the links of derivatives.

Types are interned, so `a is b` decides equality and a type is a cheap dictionary key.  A dimension is an `int` or a
`Dim` (a size that only a call knows, see `ir.sizes`); rules compare sizes with `same_dim`, and calculate with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from ..dtypes import DType
from ..errors import ShapeError
from .sizes import ERASED, Dim, Size, bounds, may_be_equal

__all__ = [
    "MOST_BYTES",
    "Dim",
    "Link",
    "Seq",
    "Shape",
    "Size",
    "TensorType",
    "TupleType",
    "Type",
    "dim_product",
    "has_erased_sizes",
    "known_same",
    "link",
    "same_dim",
    "same_shape",
    "scan_types",
    "seq",
    "tensor",
    "tuple_of",
]


Shape: TypeAlias = tuple[Size, ...]


class Type:
    """What a Value may hold."""

    __slots__ = ("__weakref__",)


#: More than any machine has addresses for; sums of two still fit 64 bits.
MOST_BYTES = 2**62


class TensorType(Type):
    """A dense array: element type and shape.  Made by `tensor(dtype, shape)`."""

    __slots__ = ("dtype", "shape")
    dtype: DType
    shape: Shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_countable(self) -> bool:
        """Whether a machine can count its bytes, and add to them, in 64 bits; sizes of 0 hide no others."""
        return prod([d for d in self.shape if isinstance(d, int) and d]) * self.dtype.itemsize < MOST_BYTES

    def __repr__(self) -> str:
        return f"{self.dtype.short}[{','.join(map(str, self.shape))}]"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return tensor, (self.dtype, self.shape)


class TupleType(Type):
    """A fixed number of values of any types.  Made by `tuple_of(elems)`."""

    __slots__ = ("elems",)
    elems: tuple[Type, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.elems))})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return tuple_of, (self.elems,)


class Seq(Type):
    """One value per trip of a loop; its length is the trip count.  Made by `seq(elem)`."""

    __slots__ = ("elem",)
    elem: Type

    def __repr__(self) -> str:
        return f"seq<{self.elem!r}>"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return seq, (self.elem,)


class Link(Type):
    """What ties a `pull` to its `linearize`: no value at run time.  Made by `link(ins, outs)`.

    Pulling takes a cotangent of each of `outs` and gives one of each of `ins`.
    """

    __slots__ = ("ins", "outs")
    ins: tuple[Type, ...]
    outs: tuple[Type, ...]

    def __repr__(self) -> str:
        return f"link<{tuple_of(self.ins)!r} -> {tuple_of(self.outs)!r}>"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return link, (self.ins, self.outs)


_TENSORS: dict[tuple[DType, Shape], TensorType] = {}
_TUPLES: dict[tuple[Type, ...], TupleType] = {}
_SEQS: dict[Type, Seq] = {}
_LINKS: dict[tuple[tuple[Type, ...], tuple[Type, ...]], Link] = {}


def tensor(dtype: DType, shape: Shape) -> TensorType:
    found = _TENSORS.get((dtype, shape))
    if found is None:
        # NumPy integers and bools would print differently and compare equal: keep plain ints only.
        shape = tuple(d if type(d) is Dim else int(d) for d in shape)
        if any((d if type(d) is int else bounds(d)[1]) < 0 for d in shape):
            raise ShapeError(f"a size must not be negative: {list(shape)}")
        found = TensorType()
        found.dtype, found.shape = dtype, shape
        found = _TENSORS.setdefault((dtype, shape), found)
    return found


def tuple_of(elems: tuple[Type, ...]) -> TupleType:
    found = _TUPLES.get(elems)
    if found is None:
        found = TupleType()
        found.elems = elems
        found = _TUPLES.setdefault(elems, found)
    return found


def seq(elem: Type) -> Seq:
    found = _SEQS.get(elem)
    if found is None:
        found = Seq()
        found.elem = elem
        found = _SEQS.setdefault(elem, found)
    return found


def link(ins: tuple[Type, ...], outs: tuple[Type, ...]) -> Link:
    found = _LINKS.get((ins, outs))
    if found is None:
        found = Link()
        found.ins, found.outs = ins, outs
        found = _LINKS.setdefault((ins, outs), found)
    return found


def same_dim(a: Size, b: Size) -> bool:
    """Whether two sizes are equal, as a rule needs it.

    The call that is compiled for answers what the symbols leave open, or for sizes of data a check of the program.
    """
    return a is b or a == b or may_be_equal(a, b)


def same_shape(a: Shape, b: Shape) -> bool:
    """The same of shapes."""
    return len(a) == len(b) and all(map(same_dim, a, b))


def known_same(a: Shape, b: Shape) -> bool:
    """Whether two shapes are equal for all values of the symbols: where the answer saves work, and nobody is asked."""
    return len(a) == len(b) and all(
        x is y or (x.__class__ is int and y.__class__ is int and x == y) for x, y in zip(a, b, strict=True)
    )


def has_erased_sizes(t: Type) -> bool:
    """Whether a tensor's type does not say all of its sizes."""
    return isinstance(t, TensorType) and any(d is ERASED for d in t.shape)


def dim_product(shape: Shape) -> Size:
    """The number of elements."""
    return prod(shape)


def scan_types(types: Sequence[Type], carries: int) -> list[Type]:
    """The argument types of a scan's body: index, carries, elements."""
    return [*types[: 1 + carries], *(t.elem for t in types[1 + carries :] if isinstance(t, Seq))]
