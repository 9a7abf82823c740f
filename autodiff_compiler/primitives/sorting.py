"""Sorting, the k greatest elements, binary search in a sorted sequence.

Sorting is stable, nan is greater than everything, and the cotangent of sorted values is scattered back by the order.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import int32, int64, uint8
from ..ir.primitive import F, Primitive, composite
from ..ir.sizes import bit_length, may_be_at_most
from ..ir.types import Dim, Size, TensorType, tensor
from .family import as_tensor, cast, constant, normal_axis, promoted_dtype, zeros_like
from .flops import size_of_type, sorted_by_comparing
from .index import checked, taken
from .requirements import require, require_dtype, static_int
from .samples import D2, EMPTY, F2


# ------------------------------------------------------------------------------------------------ kernels
def _comparable(x):
    """16-bit floats as float32, which sorts much faster and in the same order."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _sort_keys(x, descending):
    """Integer keys in the order of the elements along the last axis, which makes sorting stable; None for other dtypes.

    The upper half of an int64 key is the element as an int32, the lower half its position.  Integers in a narrow range
    are uint16 keys without a position.
    """
    if x.dtype == np.float64 and (x[..., :8].astype(np.float32) == x[..., :8]).all():
        narrow = x.astype(np.float32)  # they may all be counts, or have come from float32
        x = narrow if (narrow == x).all() else x
    if x.dtype == np.float32:
        bits = (x + np.float32(0)).view(np.int32)  # -0.0 equals 0.0
        bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)  # the order of floats as the order of ints
        if (x != x).any():
            bits = np.where(x == x, bits, np.int32(0x7FFFFFFF))  # nan of either sign is the greatest
        keys = (~bits if descending else bits).astype(np.int64)
    elif x.dtype.kind in "biu" and x.size:
        least, most = int(x.min()), int(x.max())
        if most - least >= 1 << 31:
            return None
        if x.dtype == np.uint64:  # whose numbers need not fit in int64; their differences do
            x, least, most = x - x.min(), 0, most - least
        keys = x.astype(np.int64)
        keys = most - keys if descending else keys - least
        if most - least < 1 << 16:
            return keys.astype(np.uint16)
    else:
        return None
    keys <<= 32
    keys |= np.arange(x.shape[-1])
    return keys


def _order(x, descending):
    """`argsort` along the last axis that keeps equal elements in order."""
    x = _comparable(x)
    keys = _sort_keys(x, descending) if x.size >= 512 else None
    if keys is not None and keys.dtype == np.uint16:
        return np.argsort(keys, -1, kind="stable")  # by radix
    if keys is not None:
        keys.sort(-1)  # faster than `argsort`, which moves the positions, too
        keys &= 0xFFFFFFFF
        return keys
    order = _order_by_upper_half(x, descending) if x.dtype == np.float64 and 512 <= x.size <= 1 << 16 else None
    if order is not None:
        return order
    if descending:
        return x.shape[-1] - 1 - _ascending(x[..., ::-1])[..., ::-1]
    return _ascending(x)


def _order_by_upper_half(x, descending):
    """The order of float64 numbers: by the upper half of their bits, then ties by the rest; None where ties are many.

    It is faster than `_ascending` where all of it stays in the cache.
    """
    bits = (x + 0.0).view(np.int64)  # -0.0 equals 0.0
    bits ^= (bits >> 63) & 0x7FFFFFFFFFFFFFFF  # the order of floats as the order of ints
    keys = ~bits if descending else bits
    keys &= ~0xFFFFFFFF
    keys |= np.arange(x.shape[-1])
    keys.sort(-1)
    order = keys & 0xFFFFFFFF
    ordered = taken(x, order)
    if np.isnan(ordered[..., [0, -1]]).any():
        return None
    sooner, later = ordered[..., :-1], ordered[..., 1:]
    wrong = np.count_nonzero(sooner < later if descending else sooner > later)
    if wrong:
        # Equal upper halves lie together; only among them is the order wrong.
        run = np.zeros(x.shape, bool)
        run[..., 1:] = keys[..., 1:] >> 32 == keys[..., :-1] >> 32
        tied = run.copy()
        tied[..., :-1] |= run[..., 1:]
        if np.count_nonzero(tied) * 8 > x.size:
            return None
        values, places = ordered[tied], order[tied]
        order[tied] = places[np.lexsort((places, -values if descending else values, np.cumsum(~run)[tied.reshape(-1)]))]
    return order


def _in_order(x, axis, descending):
    """The elements sorted along an axis; 0.0 and -0.0 are equal, so they keep their order."""
    found = np.sort(_comparable(x), axis)
    if x.dtype.kind not in "biu" and np.count_nonzero(found) != found.size and np.signbit(found[found == 0]).any():
        x = np.moveaxis(x, axis, -1)
        return np.ascontiguousarray(np.moveaxis(taken(x, _order(x, descending)), -1, axis))
    if descending:
        found = np.flip(found, axis)
    return found if found.dtype == x.dtype else found.astype(x.dtype)


def _last_axis_to(x, axis):
    """The last axis as `axis` again."""
    return x if axis == -1 else np.ascontiguousarray(np.moveaxis(x, -1, axis))


def _ascending(x):
    """The stable order along the last axis: by the faster unstable sort and a repair of ties, where these are few."""
    if x.size < 512 or x.shape[-1] <= 16:
        return np.argsort(x, -1, kind="stable")
    order = np.argsort(x, -1)
    ordered = taken(x, order)
    equal, last = ordered[..., 1:] == ordered[..., :-1], ordered[..., -1:]
    number = np.count_nonzero(equal)
    if number * 8 > x.size or (last != last).any():
        return np.argsort(x, -1, kind="stable")
    if number:
        same = np.zeros(x.shape, bool)  # as the element before
        same[..., 1:] = equal
        tied = same.copy()
        tied[..., :-1] |= equal
        run = np.cumsum(~same.reshape(-1))[tied.reshape(-1)]
        places = order[tied]
        order[tied] = places[np.lexsort((places, run))]
    return order


# ------------------------------------------------------------------------------------------------ sorting
def _require_axis(x, axis):
    require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")


def _scatter_back(c, gs, x):
    """The cotangents of the selected elements, scattered back to the operand."""
    if gs[0] is None:
        return None
    return F.add_along_axis(zeros_like(x), c.outs[1], gs[0], axis=c.axis, distinct=True)


class Argsort(Primitive):
    """The positions (int64) that sort the elements along an axis; equal elements keep their order, nan is greatest."""

    def infer(x: TensorType, *, axis: int, descending: bool = False):
        _require_axis(x, axis)
        return tensor(int64, x.shape)

    flops = sorted_by_comparing

    def numpy(x, *, axis, descending):
        return np.ascontiguousarray(_last_axis_to(_order(np.moveaxis(x, axis, -1), descending), axis))

    def aclnn(c, x):
        c.sorted(x, c.descending, c.like(x), c.out)

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


def _sort(x, axis=-1, descending=False):
    """The elements sorted along an axis, and their positions (int32); equal elements keep their order, nan is greatest.

    >>> from autodiff_compiler import Tensor
    >>> [part.tolist() for part in Tensor([2, 1, 3]).sort()]
    [[1, 2, 3], [1, 0, 2]]
    """
    x = as_tensor(x)
    if x.ndim == 0:
        return x, constant(0, tensor(int32, ()))
    values, order = F.sort(x, axis=normal_axis(axis, x.ndim), descending=descending)
    return values, cast(order, int32)


class Sort(Primitive):
    """The elements sorted along an axis, and their positions (int64); equal elements keep their order.

    nan is the greatest.
    """

    multiple = True

    def infer(x: TensorType, *, axis: int, descending: bool = False):
        _require_axis(x, axis)
        return x, tensor(int64, x.shape)

    flops = sorted_by_comparing

    def numpy(x, *, axis, descending):
        x = np.moveaxis(x, axis, -1)
        order = _order(x, descending)
        return _last_axis_to(taken(x, order), axis), np.ascontiguousarray(_last_axis_to(order, axis))

    def aclnn(c, x):
        c.sorted(x, c.descending, *c.outs)

    call = _sort
    methods = ("sort",)

    def vjp(c, gs, x):
        return _scatter_back(c, gs, x)

    def samples(rng):
        yield rng.distinct(2, 3), {"axis": -1}
        yield rng.distinct(4, 3), {"axis": -2, "descending": True}
        yield rng(0), {"axis": -1}

    errors = [((F2,), {"axis": -2}, "does not exist")]


def _msort(x):
    """The elements sorted along the first axis."""
    x = as_tensor(x)
    return F.msort(x, axis=-x.ndim) if x.ndim else x


class Msort(Primitive):
    """The elements sorted along an axis, without their positions."""

    def infer(x: TensorType, *, axis: int, descending: bool = False):
        _require_axis(x, axis)
        return x

    flops = sorted_by_comparing

    def numpy(x, *, axis, descending):
        return _in_order(x, axis, descending)

    call = _msort
    methods = ("msort",)

    def aclnn(c, x):
        c.sorted(x, c.descending, c.out, c.temp(x.shape, int64))

    def vjp(c, g, x):
        order = F.argsort(x, axis=c.axis, descending=c.descending)
        return F.add_along_axis(zeros_like(x), order, g, axis=c.axis, distinct=True)

    def samples(rng):
        yield rng(2, 3), {"axis": -2}
        yield rng.distinct(2, 3), {"axis": -1, "descending": True}
        yield rng(0), {"axis": -1}

    errors = [((F2,), {"axis": -2}, "does not exist")]


def _require_choice(x, k, axis):
    size = x.shape[axis]
    fits = may_be_at_most(0, k) and may_be_at_most(k, size)
    require(fits, f"{k} elements cannot be chosen from {size} along axis {axis}")


def _topk(x, k, dim=None, largest=True, sorted=True):
    """The k greatest or smallest elements along a dimension (the last by default), sorted, and their positions (int32).

    Of equal elements the first come first.  A `sorted` of False changes nothing.

    >>> from autodiff_compiler import Tensor
    >>> [part.tolist() for part in Tensor([1.0, 4.0, 3.0]).topk(2)]
    [[4.0, 3.0], [1, 2]]
    """
    x = as_tensor(x)
    axis = -1 if dim is None else dim
    axis = normal_axis(axis, x.ndim, "dim")
    k = k if k.__class__ is Dim else static_int(k, "k")
    _require_choice(x, k, axis)  # NumPy would return fewer than k elements
    values, order = F.topk(x, k=k, axis=axis, largest=largest)
    return values, cast(order, int32)


class Topk(Primitive):
    """The k greatest or smallest elements along an axis, sorted, and their positions (int64): of equals the first."""

    multiple = True

    def infer(x: TensorType, *, k: Size, axis: int, largest: bool = True):
        _require_axis(x, axis)
        _require_choice(x, k, axis)
        at = x.ndim + axis
        shape = (*x.shape[:at], k, *x.shape[at + 1 :])
        return tensor(x.dtype, shape), tensor(int64, shape)

    flops = sorted_by_comparing

    def numpy(x, *, k, axis, largest):
        x = np.moveaxis(x, axis, -1)
        size, comparable = x.shape[-1], _comparable(x)
        chosen = None
        if k > 0 and k * 4 < size and x.size >= 512:
            at = size - k if largest else k - 1
            bound = np.partition(comparable, at, -1)[..., at : at + 1]
            within = ~(comparable < bound) if largest else comparable <= bound
            # More than k if several elements equal the bound, or none if it is nan: then all are put in order.
            if (np.add.reduce(within, -1) == k).all():
                chosen = np.nonzero(within)[-1].reshape(*x.shape[:-1], k)
        if chosen is None:
            order = _order(x, largest)[..., :k]
        else:
            order = taken(chosen, _order(taken(comparable, chosen), largest))
        return _last_axis_to(taken(x, order), axis), np.ascontiguousarray(_last_axis_to(order, axis))

    def aclnn(c, x):
        ordered = c.like(x), c.temp(x.shape, int64)
        c.sorted(x, c.largest, *ordered)
        c.give(*[y.sliced(c.axis, 0, c.k) for y in ordered])

    call = _topk
    methods = ("topk", "top_k")

    def vjp(c, gs, x):
        return _scatter_back(c, gs, x)

    def samples(rng):
        yield rng.distinct(2, 5), {"k": 2, "axis": -1}
        yield rng.distinct(3, 2), {"k": 2, "axis": -2, "largest": False}
        yield rng.distinct(3), {"k": 0, "axis": -1}

    errors = [
        ((F2,), {"k": 3, "axis": -1}, "3 elements cannot be chosen from 2"), ((F2,), {"k": 1, "axis": -2}, "does not")
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ searching
def _searchsorted(sorted_sequence, values, side="left", sorter=None):
    """Where (int64) values belong in ascending sequences along the last axis."""
    sequence, values = promoted_dtype(sorted_sequence, values)
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    if sorter is not None:
        order = as_tensor(sorter, "sorter")
        require(order.shape == sequence.shape, "`sorter` and the sequence differ in shape")
        sequence = F.take_along_axis(sequence, checked(order, sequence.shape[-1]), axis=-1)
    return F.searchsorted(sequence, values, right=side == "right")


def _require_rows(sequence, values):
    fits = len(sequence) == 1 or (sequence and values and sequence[:-1] == values[:-1])
    require(bool(fits), f"values {list(values)} do not belong to sequences {list(sequence)}: leading sizes differ")


def _search_flops(sequence, values, *, right):
    return size_of_type(values) * bit_length(sequence.shape[-1])


class Searchsorted(Primitive):
    """How many elements of an ascending sequence are less than each value, or with `right` at most equal to it.

    One sequence takes values of any shape; sequences along the last axis take values along it.
    """

    def infer(sequence: TensorType, values: TensorType, *, right: bool = False):
        require_dtype(sequence.dtype is values.dtype, f"dtypes differ: {sequence} and {values}")
        _require_rows(sequence.shape, values.shape)
        return tensor(int64, values.shape)

    flops = _search_flops

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

    def aclnn(c, sequence, values):
        if sequence.dtype.is_bool:
            sequence, values = c.cast(sequence, uint8), c.cast(values, uint8)
        if sequence.size:
            order = c.along(range(sequence.shape[-1]), int64, sequence.ndim, sequence.ndim - 1)
            c.op("SearchSorted", sequence, values, False, c.right, c.dense(order.broadcast(sequence.shape)), c.out)
        else:
            c.op("InplaceFillScalar", c.out, 0)

    def vjp(c, g, sequence, values):
        return None, None

    def samples(rng):
        yield np.sort(rng(5)), rng(2, 3), {"right": False}
        yield np.sort(rng(2, 4)), rng(2, 3), {"right": True}
        yield np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0]), {"right": True}

    errors = [((F2, D2), {}, "dtypes differ"), ((tensor(F2.dtype, (2, 3)), EMPTY), {}, "leading sizes")]


@composite()
def bucketize(x, boundaries, right=False):
    """The bucket (int32) of each element between ascending boundaries; with `right` a boundary is in the next one."""
    sequence = as_tensor(np.asarray(boundaries) if isinstance(boundaries, list | tuple) else boundaries, "boundaries")
    require(sequence.ndim == 1, f"`boundaries` must have one dimension, not {sequence.ndim}")
    return cast(_searchsorted(sequence, x, "right" if right else "left"), int32)
