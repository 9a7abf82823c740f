"""Order: sorting, the greatest elements, places in a sorted sequence.

Sorting is stable, nan is greater than everything, and the derivative of sorted values goes back along the order.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import int32, int64
from ..ir.primitive import F, Primitive, composite
from ..ir.types import TensorType, tensor
from .family import as_tensor, cast, constant, normal_axis, promoted_dtype, require, require_dtype, static_int
from .index import checked
from .samples import D2, EMPTY, F2


# ------------------------------------------------------------------------------------------------ kernels
def _comparable(x):
    """16-bit floats as float32, which sorts much faster and in the same order."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _stable_order(x, axis):
    """`argsort` that keeps equal elements in order, by the faster algorithm that does not where few are equal."""
    x = _comparable(x)
    if x.size < 512:
        return np.argsort(x, axis, kind="stable")
    rows = np.moveaxis(x, axis, -1)
    order = np.argsort(rows, -1)
    ordered = np.take_along_axis(rows, order, -1)
    same = np.zeros(rows.shape, bool)  # as the element before
    np.equal(ordered[..., 1:], ordered[..., :-1], out=same[..., 1:])
    last = ordered[..., -1:]
    if np.count_nonzero(same) * 8 > x.size or (last != last).any():
        return np.argsort(x, axis, kind="stable")
    tied = same.copy()
    tied[..., :-1] |= same[..., 1:]
    if tied.any():
        run = np.cumsum(~same.reshape(-1))[tied.reshape(-1)]
        places = order[tied]
        order[tied] = places[np.lexsort((places, run))]
    return np.moveaxis(order, -1, axis)


# ------------------------------------------------------------------------------------------------ sorting
class Argsort(Primitive):
    """The order (int64) that sorts the elements along an axis; equal elements stay in order, nan is the greatest."""

    def infer(x: TensorType, *, axis: int, descending: bool = False):
        require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
        return tensor(int64, x.shape)

    def numpy(x, *, axis, descending):
        if not descending:
            return _stable_order(x, axis)
        order = np.flip(_stable_order(np.flip(x, axis), axis), axis)
        return x.shape[axis] - 1 - order

    call = lambda x, axis=-1, descending=False: _argsort(x, axis, descending)
    methods = ("argsort",)

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng(2, 3), {"axis": -1}
        yield rng.ints(4, 3, low=0, high=2).astype(np.float64), {"axis": -2, "descending": True}
        yield rng(0), {"axis": -1}

    errors = [((F2,), {"axis": -2}, "does not exist")]


def _argsort(x, axis=-1, descending=False):
    x = as_tensor(x)
    return cast(F.argsort(x, axis=normal_axis(axis, x.ndim), descending=descending), int32)


@composite("sort")
def sort(x, axis=-1, descending=False):
    """The elements in order along an axis, and (int32) where they stood; equal elements stay in order."""
    x = as_tensor(x)
    if x.ndim == 0:
        return x, constant(0, tensor(int32, ()))
    axis = normal_axis(axis, x.ndim)
    order = F.argsort(x, axis=axis, descending=descending)
    return F.take_along_axis(x, order, axis=axis, distinct=True), cast(order, int32)


@composite("msort")
def msort(x):
    """The elements in order along the first axis."""
    return sort(x, 0)[0]


def _require_choice(x, k, axis):
    size = x.shape[axis]
    require(type(size) is int and 0 <= k <= size, f"{k} elements cannot be chosen from {size} along axis {axis}")


class TopkOrder(Primitive):
    """Where (int64) the k greatest or smallest elements along an axis stand, in order; of equal ones the first."""

    def infer(x: TensorType, *, k: int, axis: int, largest: bool = True):
        require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
        _require_choice(x, k, axis)
        at = x.ndim + axis
        return tensor(int64, (*x.shape[:at], k, *x.shape[at + 1 :]))

    def numpy(x, *, k, axis, largest):
        x = np.moveaxis(_comparable(x), axis, -1)
        size = x.shape[-1]
        chosen = None
        if k > 0 and k * 4 < size and x.size >= 512:
            split = size - k if largest else k - 1
            some = np.argpartition(x, split, -1)
            some = np.sort(some[..., split:] if largest else some[..., :k], -1)
            values = np.take_along_axis(x, some, -1)
            bound = values.min(-1, keepdims=True) if largest else values.max(-1, keepdims=True)
            # Several elements equal to the last one, or nan: `argpartition` need not have taken the first.
            if ((x == bound).sum(-1) == (values == bound).sum(-1)).all() and (bound == bound).all():
                chosen = some
        if chosen is None:
            chosen = np.broadcast_to(np.arange(size), x.shape)
            values = x
        if largest:
            order = values.shape[-1] - 1 - _stable_order(values[..., ::-1], -1)[..., ::-1]
        else:
            order = _stable_order(values, -1)
        return np.ascontiguousarray(np.moveaxis(np.take_along_axis(chosen, order[..., :k], -1), -1, axis))

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield rng(2, 5), {"k": 2, "axis": -1}
        yield rng(3, 2), {"k": 2, "axis": -2, "largest": False}
        yield rng(1, 600), {"k": 3, "axis": -1}
        yield rng(3), {"k": 0, "axis": -1}

    errors = [
        ((F2,), {"k": 3, "axis": -1}, "3 elements cannot be chosen from 2"), ((F2,), {"k": 1, "axis": -2}, "does not")
    ]  # fmt: skip


@composite("topk", "top_k")
def topk(x, k, dim=None, largest=True, sorted=True):
    """The k greatest (or smallest) elements along a dimension (the last one) in order, and (int32) where they stand.

    With ``sorted=False`` any order would do; they come in order too.
    """
    x = as_tensor(x)
    axis = -1 if dim is None else dim
    axis = normal_axis(axis, x.ndim, "dim")
    k = static_int(k, "k")
    _require_choice(x, k, axis)  # the kernel would take what there is
    order = F.topk_order(x, k=k, axis=axis, largest=largest)
    return F.take_along_axis(x, order, axis=axis, distinct=True), cast(order, int32)


# ------------------------------------------------------------------------------------------------ searching
def _searchsorted(sorted_sequence, values, side="left", sorter=None):
    """Where (int64) in ascending sequences (along the last axis) the values belong."""
    sequence, values = promoted_dtype(as_tensor(sorted_sequence), as_tensor(values, "values"))
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    if sorter is not None:
        order = as_tensor(sorter, "sorter")
        require(order.shape == sequence.shape, "`sorter` and the sequence differ in shape")
        sequence = F.take_along_axis(sequence, checked(order, sequence.shape[-1]), axis=-1)
    _require_rows(sequence.shape, values.shape)  # the kernel would find some
    return F.searchsorted(sequence, values, right=side == "right")


def _require_rows(sequence, values):
    fits = len(sequence) == 1 or (sequence and values and sequence[:-1] == values[:-1])
    require(bool(fits), f"values {list(values)} do not belong to sequences {list(sequence)}: leading sizes differ")


class Searchsorted(Primitive):
    """How many elements of an ascending sequence lie before each value: the lesser ones, with `right` equal ones too.

    One sequence takes values of any shape; sequences along the last axis take values along it.
    """

    def infer(sequence: TensorType, values: TensorType, *, right: bool = False):
        require_dtype(sequence.dtype is values.dtype, f"dtypes differ: {sequence} and {values}")
        _require_rows(sequence.shape, values.shape)
        return tensor(int64, values.shape)

    def numpy(sequence, values, *, right):
        side = "right" if right else "left"
        if sequence.dtype.itemsize == 2 and sequence.dtype.kind not in "iu":
            sequence, values = sequence.astype(np.float32), values.astype(np.float32)
        if sequence.ndim == 1:
            return np.asarray(np.searchsorted(sequence, values, side))
        out = np.empty(values.shape, np.int64)
        for place in np.ndindex(values.shape[:-1]):
            out[place] = np.searchsorted(sequence[place], values[place], side)
        return out

    call = _searchsorted
    methods = ("searchsorted",)

    def vjp(c, g, sequence, values):
        return None, None

    def samples(rng):
        yield np.sort(rng(5)), rng(2, 3), {"right": False}
        yield np.sort(rng(2, 4)), rng(2, 3), {"right": True}
        yield np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0]), {"right": True}

    errors = [((F2, D2), {}, "dtypes differ"), ((tensor(F2.dtype, (2, 3)), EMPTY), {}, "leading sizes")]


@composite()
def bucketize(x, boundaries, right=False):
    """Between which ascending boundaries (int32) the elements lie; `right` puts a boundary into the bucket after it."""
    sequence = as_tensor(np.asarray(boundaries) if isinstance(boundaries, list | tuple) else boundaries, "boundaries")
    require(sequence.ndim == 1, f"`boundaries` must have one dimension, not {sequence.ndim}")
    return cast(_searchsorted(sequence, x, "right" if right else "left"), int32)
