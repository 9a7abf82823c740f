"""Ops that make sizes of data, name them and hide them.

A size that only data know has a symbol, which `bind_size` binds to a number known at run time.  Ops that make such a
size (`places`) say nothing of it in the type of their result: its size is erased, and written ``?``.  `with_sizes`
says what the sizes are, once a symbol is bound to what the array has (`sized`).  So what leaves a block in which a
symbol is bound, or differs in a size on two paths, has an erased size there, and another symbol outside.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dtypes import bool_, int64
from ..ir.core import Op, Value
from ..ir.primitive import Effect, F, Names, Primitive, trace
from ..ir.sizes import ERASED, Dim, Symbol, depends_on_data, symbols_of
from ..ir.types import Seq, Shape, Size, TensorType, TupleType, Type, seq, tensor, tuple_of
from ..source import Loc
from .control import COUNT
from .requirements import require, require_dtype
from .samples import B2, F2, F3


class BindSize(Primitive):
    """The number, which is what the symbol `size` is from here on in this block; `text` is what it is from."""

    internal = True
    effect = Effect.IO  # where it stands matters: what mentions the symbol comes after it
    open_sizes = True

    def infer(n: TensorType, *, size: Size, text: str):
        require_dtype(n is COUNT, f"a size is an i64[], not {n}")
        return COUNT

    def vjp(c, g, n):
        return None


class AsSize(Primitive):
    """The number; ValueError if it is negative, which no size is."""

    internal = True
    effect = Effect.IO

    def infer(n: TensorType):
        require_dtype(n is COUNT, f"a size is an i64[], not {n}")
        return COUNT

    def numpy(n):
        if n < 0:
            raise ValueError(f"a size must not be negative: {n}")
        return n

    def vjp(c, g, n):
        return None


class CheckSizes(Primitive):
    """ValueError unless ``left == right``, or ``left <= right``; `texts` stand before the numbers in its message."""

    internal = True
    effect = Effect.IO

    def infer(*, left: Size, op: str, right: Size, texts: Names):
        return None

    def numpy(*, left, op, right, texts):
        if not (left == right if op == "==" else left <= right):
            raise ValueError(f"sizes do not fit: {texts[0]}{left}, but {texts[1]}{right}")
        return ()


class WithSizes(Primitive):
    """The same value, of which it is known that its sizes are those of a type; an erased one hides what it is."""

    internal = True
    view = "x"
    open_sizes = True
    cost = 0

    def infer(x: Type, *, type: Type):
        require(may_be(x, type), f"{x} cannot be {type}")
        return type

    def numpy(x, *, type):
        return x

    def batch(c, n, x):
        return F.with_sizes(x, type=tensor(c.type.dtype, (n, *c.type.shape)))

    def vjp(c, g, x):
        return F.with_sizes(g, type=x.type)


def may_be(a: Type, b: Type) -> bool:
    """Whether two types differ in sizes at most of which data decide one."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        fits = a.dtype is b.dtype and a.ndim == b.ndim
        return fits and all(
            d is n or d == n or depends_on_data(d) or depends_on_data(n) for d, n in zip(a.shape, b.shape, strict=True)
        )
    if isinstance(a, Seq) and isinstance(b, Seq):
        return may_be(a.elem, b.elem)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elems) == len(b.elems):
        return all(map(may_be, a.elems, b.elems))
    return a is b


class SizeAt(Primitive):
    """The size of one dimension, of which the type says nothing: 0 for `undef`."""

    internal = True
    open_sizes = True
    cost = 0

    def infer(x: TensorType, *, axis: int):
        require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
        return COUNT

    def numpy(x, *, axis):
        return np.asarray(0 if x is None else x.shape[axis])

    def batch(c, n, x):
        return F.size_at(x, axis=c.axis)

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng(2, 3), {"axis": -2}

    errors = [((F2,), {"axis": -2}, "does not exist")]


class ZerosOf(Primitive):
    """Zeros for all elements of a tensor, whatever sizes it has; `undef` for `undef`."""

    internal = True
    open_sizes = True
    cost = 1

    def infer(x: TensorType):
        return x

    def numpy(x):
        return None if x is None else np.zeros_like(x)

    def vjp(c, g, x):
        return None


class Places(Primitive):
    """Where a mask holds: positions among its elements in row-major order, a vector of erased size."""

    internal = True
    open_sizes = True

    def infer(mask: TensorType):
        require_dtype(mask.dtype.is_bool, f"a mask holds bools, not {mask.dtype.name}")
        return tensor(int64, (ERASED,))

    def numpy(mask):
        return np.flatnonzero(mask).astype(np.int64, copy=False)

    def vjp(c, g, mask):
        return None


class RunStarts(Primitive):
    """Along an axis, which slices differ from the one before; the first one does."""

    internal = True

    def infer(x: TensorType, *, axis: int):
        require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
        return tensor(bool_, (x.shape[axis],))

    def numpy(x, *, axis):
        n = x.shape[axis]
        new = np.ones(n, bool)
        rows = np.moveaxis(x, axis, 0)
        new[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
        return new

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng.ints(6, low=0, high=2), {"axis": -1}
        yield rng.ints(4, 2, low=0, high=2), {"axis": -2}
        yield rng(0), {"axis": -1}

    errors = [((F2,), {"axis": -2}, "does not exist")]


class FirstPlaces(Primitive):
    """Where each distinct element of a vector stands first, in this order, and for each element which it is of them."""

    internal = True
    multiple = True
    open_sizes = True

    def infer(x: TensorType):
        require(x.ndim == 1, f"distinct elements are those of a vector, not of {x}")
        return tensor(int64, (ERASED,)), tensor(int64, x.shape)

    def numpy(x):
        _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return first[order].astype(np.int64, copy=False), rank[inverse.reshape(-1)].astype(np.int64, copy=False)

    def vjp(c, gs, x):
        return None


class RepeatedPlaces(Primitive):
    """0, 1, ..., each as often as a vector of counts says: of erased size.  ValueError: a count is negative."""

    internal = True
    open_sizes = True
    effect = Effect.IO

    def infer(counts: TensorType):
        require(counts.ndim == 1, f"counts are a vector, not {counts}")
        require_dtype(counts.dtype.is_int, f"counts are integers, not {counts.dtype.name}")
        return tensor(int64, (ERASED,))

    def numpy(counts):
        return np.repeat(np.arange(counts.shape[0]), counts)

    def vjp(c, g, counts):
        return None


class BroadcastSize(Primitive):
    """The size that NumPy's broadcasting gives two; ValueError where they differ and none of them is 1."""

    internal = True
    effect = Effect.IO

    def infer(a: TensorType, b: TensorType, *, texts: Names):
        require_dtype(a is COUNT and b is COUNT, f"sizes are i64[], not {a} and {b}")
        return COUNT

    def numpy(a, b, *, texts):
        if a != b and a != 1 and b != 1:
            raise ValueError(f"sizes do not broadcast: {texts[0]}{a}, but {texts[1]}{b}")
        return b if a == 1 else a

    def vjp(c, g, a, b):
        return None, None


class Stretched(Primitive):
    """The tensor broadcast to another shape of as many dimensions; run time tells along which, as sizes are of data."""

    internal = True
    view = "x"
    open_sizes = True

    def infer(x: TensorType, *, shape: Shape):
        require(x.ndim == len(shape), f"{x} cannot be stretched to {list(shape)}")
        return tensor(x.dtype, shape)

    def numpy(x, *, shape):
        return np.broadcast_to(x, shape)

    def batch(c, n, x):
        return F.stretched(x, shape=(n, *c.shape))

    def vjp(c, g, x):
        return F.unstretched(g, shape=x.shape)

    def samples(rng):
        yield rng(1, 3), {"shape": (2, 3)}

    errors = [((F3,), {"shape": ()}, "cannot be stretched")]


class Unstretched(Primitive):
    """Sums over the dimensions that `stretched` has broadcast from this shape."""

    internal = True
    flops = 1
    open_sizes = True

    def infer(x: TensorType, *, shape: Shape):
        require(x.ndim == len(shape), f"{x} cannot be summed to {list(shape)}")
        return tensor(x.dtype, shape)

    def numpy(x, *, shape):
        axes = tuple([i for i in range(x.ndim) if x.shape[i] != shape[i]])
        return x.sum(axes, keepdims=True, dtype=x.dtype) if axes else x

    def batch(c, n, x):
        return F.unstretched(x, shape=(n, *c.shape))

    def vjp(c, g, x):
        return F.stretched(g, shape=x.shape)

    def samples(rng):
        yield rng(2, 3), {"shape": (1, 3)}

    errors = [((B2,), {"shape": ()}, "cannot be summed")]


def sized(x: Value, high: Size | None = None) -> Value:
    """The tensor with names for its erased sizes, each at most `high`."""
    shape = [d if d is not ERASED else _named(x, i - x.ndim, high) for i, d in enumerate(x.shape)]
    found: Value = F.with_sizes(x, type=tensor(x.dtype, tuple(shape)))
    return found


def _named(x: Value, axis: int, high: Size | None) -> Size:
    size: Size = trace.builder.bind(F.size_at(x, axis=axis), 0, high)
    return size


def erased(type: Type, hides: Callable[[Symbol], bool]) -> Type:
    """The type without the sizes that have a symbol which is to be hidden; the type itself if there is none."""
    if isinstance(type, TensorType):
        hidden = [d.__class__ is Dim and any(map(hides, symbols_of(d))) for d in type.shape]
        if not any(hidden):
            return type
        return tensor(type.dtype, tuple([ERASED if h else d for d, h in zip(type.shape, hidden, strict=True)]))
    if isinstance(type, Seq):
        elem = erased(type.elem, hides)
        return type if elem is type.elem else seq(elem)
    if isinstance(type, TupleType):
        elems = tuple([erased(t, hides) for t in type.elems])
        return type if elems == type.elems else tuple_of(elems)
    return type


def place_of(x: Value) -> Loc | None:
    """Where a value is from, be its size hidden or not."""
    while isinstance(x.owner, Op) and x.owner.defn.name == "with_sizes":
        (x,) = x.owner.operands
    return x.owner.loc if isinstance(x.owner, Op) else None
