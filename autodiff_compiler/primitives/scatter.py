"""Scatter ops: writing and combining at positions given by integer tensors.

The primitives take positions that `check_index` has made.  Where a position is repeated, additions add up, products
multiply, and of replacements the last one counts.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import bool_, int64
from ..ir.primitive import F, Primitive
from ..ir.types import TensorType, dim_product, tensor
from .family import as_tensor, broadcast_to, constant, divided, in_dtype, normal_axis, promoted_dtype, zeros_like
from .flops import per_update
from .index import along_axis, checked, gathered_shape, moved_first, numbered, require_along, rows_of
from .requirements import require, require_dtype
from .samples import F2, F3, L2


# ------------------------------------------------------------------------------------------------ kernels
def _flat_positions(index, out, axis, per_element=False):
    """Where in the flattened `out` the slices (or elements) lie that `index` names along an axis, in its order."""
    at = out.ndim + axis
    before, after = math.prod(out.shape[:at]), math.prod(out.shape[at + 1 :])
    index = index.reshape(before, index.shape[at], after) if per_element else index.reshape(1, index.size, 1)
    rows = index if before == 1 else index + (np.arange(before) * out.shape[at])[:, None, None]
    return (rows if after == 1 else rows * after + np.arange(after)).reshape(-1)


def _combine_at(combine, out, index, updates, axis):
    """out[..., index, ...] = combine(out[..., index, ...], updates) in place, one update after the other."""
    place = (slice(None),) * (out.ndim + axis) + (index,)
    if index.ndim == 0:
        out[place] = combine(out[place], updates)
    elif not out.flags.c_contiguous or out.ndim == index.ndim == 1:
        combine.at(out, place, updates)
    else:  # along one axis `at` is an order of magnitude faster than on slices
        combine.at(out.reshape(-1), _flat_positions(index, out, axis), updates.reshape(-1))


def _add_at(out, index, updates, axis):
    """Adds `updates` at positions along an axis, in place."""
    rows = len(out) if out.ndim else 0
    if -axis < out.ndim or out.ndim < 2 or updates.size < 4096 or updates.size * 4 < out.size or out.itemsize < 4:
        _combine_at(np.add, out, index, updates, axis)
    else:  # many rows: the product with the sparse matrix of ones at (index, row) is several times faster
        import scipy.sparse

        count = index.size
        columns = (np.ones(count, out.dtype), index.reshape(-1), np.arange(count + 1))
        out += (scipy.sparse.csc_array(columns, (rows, count)) @ updates.reshape(count, -1)).reshape(out.shape)


# ------------------------------------------------------------------------------------------------ slices
def _scattering(name):
    """The user-facing form of a scatter: positions are checked, and updates take the dtype and the shape of `x`."""

    def public(x, index, updates, axis=0):
        x = as_tensor(x)
        axis = normal_axis(axis, x.ndim)
        index = checked(index, x.shape[axis])
        at = x.ndim + axis
        updates = broadcast_to(in_dtype(updates, x.dtype), (*x.shape[:at], *index.shape, *x.shape[at + 1 :]))
        return getattr(F, name)(x, index, updates, axis=axis)

    return public


def _scatter_examples(c, n, x, index, updates):
    """A scatter for `n` examples: with one index for all as it is, else among the rows of all examples."""
    wanted = (n, *(updates.shape[1:] if c.needs.updates else updates.shape))
    updates = broadcast_to(updates, wanted)
    x = x if c.needs.x else broadcast_to(x, (n, *x.shape))
    apply = getattr(F, c.defn.name)
    if not c.needs.index:
        return apply(x, index, updates, axis=c.axis)
    before = x.ndim + c.axis - 1
    rows, count = rows_of(x, c.axis)
    updates = moved_first(updates, 1, index.ndim - 1, before)
    rows = apply(rows, numbered(index, x, c.axis), updates, axis=-rows.ndim)
    split = F.reshape(rows, shape=(n, count, *rows.shape[1:]))
    return moved_first(split, 1, 1, before, inverse=True)


def _updated(x: TensorType, index: TensorType, updates: TensorType, *, axis: int):
    wanted = tensor(x.dtype, gathered_shape(x, index, axis))
    require_dtype(updates.dtype is x.dtype, f"{x} cannot take updates of {updates}")
    require(updates is wanted, f"updates of {x} at {index} along axis {axis} are {wanted}, not {updates}")
    return x


def _combined(x: TensorType, index: TensorType, updates: TensorType, *, axis: int):
    require_dtype(not x.dtype.is_bool, f"not defined for bools: {x}", hint="cast it to a number first")
    return _updated(x, index, updates, axis=axis)


class _Scatter(Primitive, abstract=True):
    """`x`, changed at the positions in `index` along an axis by `updates`."""

    positions = "index"
    inplace = "x"
    infer = _combined
    batch = _scatter_examples
    public = _scattering
    errors = [((F3, L2, F3), {"axis": -1}, "are f32[2], not f32[3]")]


class ScatterAdd(_Scatter):
    """`x` with `updates` added at the positions in `index` along an axis; repeated positions add up."""

    infer = _updated
    flops = per_update

    def aclnn(c, x, index, updates):
        c.at_positions("add", x, index, updates)

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        _add_at(out, index, updates, axis)
        return out

    widen = True

    def vjp(c, g, x, index, updates):
        return g, None, (F.gather(g, index, axis=c.axis) if c.needs.updates else None)

    def samples(rng):
        yield rng(4, 2), np.array([1, 3, 1]), rng(3, 2), {"axis": -2}
        yield rng(2, 3), np.array(2), rng(2), {"axis": -1}
        yield rng(2, 3), np.array([[0, 1], [1, 1]]), rng(2, 2, 2), {"axis": -1}


class ScatterUpdate(_Scatter):
    """`x` with the slices at the positions in `index` replaced; of repeated positions the last one counts."""

    infer = _updated

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        out[(slice(None),) * (x.ndim + axis) + (index,)] = updates
        return out

    def aclnn(c, x, index, updates):
        c.at_positions("replace", x, index, updates)

    def vjp(c, g, x, index, updates):
        gu = F.gather(g, index, axis=c.axis) if c.needs.updates else None  # first: then g may be written to
        if gu is not None and index.ndim:
            gu = F.select(_last_writer(index, x.shape[c.axis], updates.shape, c.axis), gu, 0)
        return (F.scatter_update(g, index, zeros_like(updates), axis=c.axis) if c.needs.x else None), None, gu

    samples = ScatterAdd.samples

    # The last of the updates of one place is what remains.
    ties = [(([0.0, 0.0], [1, 1], [5.0, 6.0]), {"axis": -1}, ([1.0, 0.0], None, [0.0, 1.0]))]


def _last_writer(index, size, shape, axis):
    """Which updates were not overwritten by a later one at the same position, in the shape of the updates."""
    order = F.iota(start=0, step=1, size=dim_product(index.shape), dtype=int64)
    order = F.reshape(order, shape=index.shape)
    last = F.scatter_update(constant(0, tensor(int64, (size,))), index, order, axis=-1)
    return _as_updates(F.equal(F.gather(last, index, axis=-1), order), shape, axis)


def _require_known(index):
    known = all(type(d) is int for d in index.shape)
    require(known, f"the derivative by updates at positions of symbolic size is not available yet: {index.type}")


def _as_updates(of_index, shape, axis):
    """A tensor of the index's shape, broadcast to the shape of the updates."""
    after = -1 - axis
    return broadcast_to(F.expand_dims(of_index, axes=tuple(range(-after, 0))) if after else of_index, shape)


def _extremes_at(extreme, x, index, updates, axis):
    """`scatter_max` or `scatter_min` as a masked reduction over all pairs of position and update; None if many."""
    at, count, size = x.ndim + axis, dim_product(index.shape), x.shape[axis]
    if dim_product(x.shape) * count > 2**24:
        return None
    if not count:
        return x
    rows = F.reshape(updates, shape=(*x.shape[:at], count, *x.shape[at + 1 :]))
    places = F.reshape(F.iota(start=0, step=1, size=size, dtype=index.dtype), shape=(size, 1))
    mine = F.equal(broadcast_to(places, (size, count)), broadcast_to(F.reshape(index, shape=(1, count)), (size, count)))
    wide = (*x.shape[: at + 1], count, *x.shape[at + 1 :])
    mine = broadcast_to(F.reshape(mine, shape=(size, count, *[1] * (x.ndim - at - 1))), wide)
    own = broadcast_to(F.expand_dims(x, axes=(axis,)), wide)
    others = broadcast_to(F.expand_dims(rows, axes=(axis - 1,)), wide)
    found = F.select(mine, others, own)
    reduce = F.max if extreme is F.maximum else F.min
    return extreme(x, reduce(found, axes=(axis,), keepdims=False))


def _shared_by_ties(c, g, x, index, updates):
    """The cotangents of x and the updates: all that equal the result at their position share its cotangent."""
    kept, won = F.equal(x, c.out), F.equal(updates, F.gather(c.out, index, axis=c.axis))
    count = F.scatter_add(F.cast(kept, dtype=x.dtype), index, F.cast(won, dtype=x.dtype), axis=c.axis)
    share = divided(g, count)
    return F.select(kept, share, 0), None, F.select(won, F.gather(share, index, axis=c.axis), 0)


class _ScatterExtreme(_Scatter, abstract=True):
    """Elements and updates that equal the result share its cotangent evenly."""

    flops = per_update
    cuts = True
    vjp = _shared_by_ties

    def samples(rng):
        values = rng.distinct(7, 2)
        yield values[:4], np.array([1, 3, 1]), values[4:], {"axis": -2}
        yield values[:2], np.array(1), values[5, :2], {"axis": -1}


class ScatterMax(_ScatterExtreme):
    """`x` with the elements at the positions in `index` along an axis raised to the greatest of them and `updates`.

    Elements and updates that equal the result share its cotangent evenly; nan wins.
    """

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        _combine_at(np.maximum, out, index, updates, axis)
        return out

    decomposed = lambda c, x, index, updates: _extremes_at(F.maximum, x, index, updates, c.axis)

    ties = [(([1.0, 3.0], [0, 0, 1], [1.0, 1.0, 2.0]), {"axis": -1}, ([1 / 3, 1.0], None, [1 / 3, 1 / 3, 0.0]))]


class ScatterMin(_ScatterExtreme):
    """`x` with the elements at the positions in `index` along an axis lowered to the smallest of them and `updates`.

    Elements and updates that equal the result share its cotangent evenly; nan wins.
    """

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        _combine_at(np.minimum, out, index, updates, axis)
        return out

    decomposed = lambda c, x, index, updates: _extremes_at(F.minimum, x, index, updates, c.axis)

    ties = [(([1.0, 1.0], [0, 0, 1], [1.0, 1.0, 2.0]), {"axis": -1}, ([1 / 3, 1.0], None, [1 / 3, 1 / 3, 0.0]))]


class ScatterMul(_Scatter):
    """`x` with the slices at the positions in `index` along an axis multiplied by `updates`, repeatedly if repeated."""

    flops = per_update

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        _combine_at(np.multiply, out, index, updates, axis)
        return out

    widen = True

    def aclnn(c, x, index, updates):
        c.at_positions("multiply", x, index, updates)

    def vjp(c, g, x, index, updates):
        gx = g * F.scatter_mul(constant(1, tensor(x.dtype, x.shape)), index, updates, axis=c.axis)
        if not c.needs.updates:
            return gx, None, None
        gu = F.gather(g * x, index, axis=c.axis)
        return gx, None, (gu * _products_of_others(updates, index, c.axis) if index.ndim else gu)

    def samples(rng):
        yield rng(4, 2), np.array([1, 3, 1]), rng(3, 2), {"axis": -2}
        yield rng(2, 3), np.array(2), rng(2), {"axis": -1}
        yield rng(3), np.array([[0, 0, 2], [0, 2, 0]]), np.array([[1.5, 0.0, 2.0], [-0.5, 3.0, 0.0]]), {"axis": -1}

    ties = [(([2.0, 1.0], [0, 0], [0.0, 3.0]), {"axis": -1}, ([0.0, 1.0], None, [6.0, 0.0]))]


def _products_of_others(updates, index, axis):
    """For every update the product of all others at its position.

    No division, so zeros are right at every order: sorted by position, the products of the updates before and after
    each come from log2(n) doublings (Hillis and Steele's scan, segmented).
    """
    _require_known(index)
    n = int(np.prod(index.shape, dtype=int))
    at = updates.ndim + axis - (index.ndim - 1)
    flat = F.reshape(updates, shape=(*updates.shape[:at], n, *updates.shape[at + index.ndim :]))
    places = F.reshape(index, shape=(n,))
    order = F.argsort(places, axis=-1)
    places, factors = F.gather(places, order, axis=-1), F.gather(flat, order, axis=axis)

    def shifted(x, by):  # the element `by` steps before, if it is an update of the same position; else 1
        steps = np.arange(n) - by
        inside = constant((steps >= 0) & (steps < n), tensor(bool_, (n,)))
        same = F.logical_and(F.equal(places, F.roll(places, shifts=(by,), axes=(-1,))), inside)
        return F.select(_as_updates(same, x.shape, axis), F.roll(x, shifts=(by,), axes=(axis,)), 1)

    product = None
    for sign in (1, -1):
        scanned, by = factors, 1
        while by < n:
            scanned = scanned * shifted(scanned, sign * by)
            by *= 2
        exclusive = shifted(scanned, sign)
        product = exclusive if product is None else product * exclusive
    return F.reshape(F.gather(product, F.argsort(order, axis=-1), axis=axis), shape=updates.shape)


# ------------------------------------------------------------------------------------------------ elements
def _add_along_axis(x, index, updates, axis=-1):
    x, updates = promoted_dtype(x, updates)
    x, index, axis = along_axis(x, index, axis)
    return F.add_along_axis(x, index, broadcast_to(updates, index.shape), axis=axis)


class AddAlongAxis(Primitive):
    """The transpose of `take_along_axis`: `x` with `updates` added at the elements it reads; repeated ones add up."""

    internal = True

    positions = "index"

    def infer(x: TensorType, index: TensorType, updates: TensorType, *, axis: int, distinct: bool = False):
        require_along(x, index, axis)
        require_dtype(updates.dtype is x.dtype, f"{x} cannot take updates of {updates}")
        require(updates.shape == index.shape, f"updates {updates} at {index}: shapes differ")
        return x

    flops = per_update

    def numpy(x, index, updates, *, axis, distinct):
        out = x.copy()
        if distinct or index.shape[axis] == 1:  # no position is repeated
            np.put_along_axis(out, index, np.take_along_axis(out, index, axis) + updates, axis)
        elif out.flags.c_contiguous:
            np.add.at(out.reshape(-1), _flat_positions(index, out, axis, True), updates.reshape(-1))
        else:
            place = list(np.indices(index.shape, sparse=True))
            place[axis] = index
            np.add.at(out, tuple(place), updates)
        return out

    def aclnn(c, x, index, updates):
        c.add_along(x, index, updates)

    widen = True
    inplace = "x"
    call = _add_along_axis

    def vjp(c, g, x, index, updates):
        if not c.needs.updates:
            return g, None, None
        return g, None, F.take_along_axis(g, index, axis=c.axis, distinct=c.distinct)

    def samples(rng):
        yield rng(3, 4), rng.ints(3, 2, low=0, high=4), rng(3, 2), {"axis": -1}
        yield rng(2, 3), np.array([[1, 1], [0, 2]]), rng(2, 2), {"axis": -1}
        yield rng(2, 3, 2), np.array([[[1, 1], [0, 0], [1, 1]]] * 2), rng(2, 3, 2), {"axis": -2}
        yield rng(3, 4), rng.ints(1, 4, low=0, high=3), rng(1, 4), {"axis": -2}
        yield rng(2, 3), np.array([[2, 0], [1, 2]]), rng(2, 2), {"axis": -1, "distinct": True}

    errors = [((F2, L2, F3), {"axis": -1}, "shapes differ")]
