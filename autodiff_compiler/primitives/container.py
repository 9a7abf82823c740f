"""Constants, placeholders, tuples, and the per-trip sequences of loops."""

from __future__ import annotations

import numpy as np

from ..dtypes import int64
from ..errors import ShapeError
from ..ir.primitive import F, Literal, Primitive
from ..ir.types import Seq, Size, TensorType, TupleType, Type, seq, tensor, tuple_of
from .family import zeros_of
from .requirements import require


class Const(Primitive):
    """``const {value=1.0}``: every element is that number; ``const {value="@c0"}``: an array kept in the module."""

    internal = True
    cost = 0

    def infer(*, value: Literal, type: Type):
        return type

    def numpy(*, value, type):
        return np.full(type.shape, value, type.dtype.numpy)


class Undef(Primitive):
    """An undefined value, never read: what the untaken arm of an `if` yields for a residual or an unbound variable."""

    internal = True
    cost = 0

    def infer(*, type: Type):
        return type


class TupleMake(Primitive):
    """Packs values into a tuple."""

    internal = True
    cost = 0

    def infer(*elems: Type):
        return tuple_of(elems)

    def vjp(c, g, *elems):
        return tuple(F.tuple_get(g, index=i) for i in range(len(elems)))


class TupleGet(Primitive):
    """One element of a tuple."""

    internal = True
    cost = 0

    def infer(x: TupleType, *, index: int):
        require(0 <= index < len(x.elems), f"tuple of {len(x.elems)} has no element {index}")
        return x.elems[index]

    def vjp(c, g, x):
        return F.tuple_make(*[g if i == c.index else zeros_of(t) for i, t in enumerate(x.type.elems)])


class SeqLen(Primitive):
    """The number of trips that a sequence remembers."""

    internal = True
    cost = 0

    def infer(xs: Seq):
        require(isinstance(xs, Seq), f"only a sequence has a length, not {xs}")
        return tensor(int64, ())


class SeqAdd(Primitive):
    """Two sequences of equal length, added element by element (nested ones too): the sum of two cotangents."""

    internal = True

    def infer(xs: Seq, ys: Seq):
        require(isinstance(xs, Seq), f"only sequences are added element by element, not {xs}")
        require(xs is ys, f"sequences of different types: {xs} and {ys}")
        return xs

    def vjp(c, g, xs, ys):
        return g, g


class ToSeq(Primitive):
    """A tensor as the sequence of its slices along the first dimension."""

    internal = True

    def infer(x: TensorType):
        require(x.ndim >= 1, "a tensor without dimensions has no slices to iterate over")
        return seq(tensor(x.dtype, x.shape[1:]))

    def vjp(c, g, x):
        return F.from_seq(g, length=x.shape[0])


class FromSeq(Primitive):
    """A sequence of equal tensors stacked along a new first dimension of `length` (which it must have)."""

    internal = True

    def infer(xs: Seq, *, length: Size):
        elem = xs.elem if isinstance(xs, Seq) else None
        if not isinstance(elem, TensorType):
            raise ShapeError(f"only a sequence of tensors can be stacked, not {xs}")
        return tensor(elem.dtype, (length, *elem.shape))

    def vjp(c, g, xs):
        return F.to_seq(g)
