"""Reading and writing parts of a tensor: strided slices, and positions given by integer tensors.

Bounds are checked in one place: `check_index` turns Python's negative indices into positions and raises IndexError at
run time.  Everything after it is pure, so it may be moved, repeated and differentiated.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import DType, bool_, float32, int64
from ..ir.core import Value
from ..ir.primitive import Effect, F, Ints, Number, Primitive, call, composite
from ..ir.sizes import count_of, is_at_most, may_be_at_most
from ..ir.types import Shape, Size, TensorType, dim_product, same_dim, tensor
from .family import as_tensor, broadcast_shapes, broadcast_to, constant, is_tensor, normal_axis, static_size, zeros_like
from .requirements import SymScalar, require, require_dtype, static_int
from .samples import D2, F2, F3, I2, L2, M23
from .shape import permuted


# ------------------------------------------------------------------------------------------------ slices
def sliced_shape(shape, axes, starts, stops, steps):
    """The shape of a strided slice; a negative stop means running down past the first element."""
    out = list(shape)
    for a, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        require(-len(shape) <= a < 0, f"axis {a} of shape {list(shape)} cannot be sliced")
        size = count_of(start, stop, step)
        last = start + (size - 1) * step
        ends = (start, last) if step > 0 else (last, start)
        inside = is_at_most(0, ends[0]) and is_at_most(ends[1], shape[a] - 1)  # of symbolic ones for all values
        inside = inside or size == 0 or (may_be_at_most(0, ends[0]) and may_be_at_most(ends[1], shape[a] - 1))
        require(inside, f"slice {start}:{stop}:{step} leaves the {shape[a]} elements of axis {a}")
        out[a] = size
    return tuple(out)


def _slice(x, begin, size):
    """The part of `x` from `begin` on, `size` elements of every dimension; a size of -1 takes the rest."""
    x = as_tensor(x)
    begin, size = _one_per_axis(begin, x.ndim, "begin"), _one_per_axis(size, x.ndim, "size")
    for i, (start, length) in enumerate(zip(begin, size, strict=True)):
        length = static_int(length, "size")
        x = narrow(x, i, start, x.shape[i] - static_int(start, "begin") if length == -1 else length)
    return x


def _one_per_axis(given, ndim, parameter):
    parts = [given[i] for i in range(given.shape[0])] if is_tensor(given) and given.__class__ is not Value else given
    if given.__class__ is Value:
        parts = [F.gather(given, constant(i, tensor(int64, ())), axis=-1) for i in range(given.shape[0])]
    require(len(parts) == ndim, f"`{parameter}` names {len(parts)} dimensions of a tensor of {ndim}")
    return list(parts)


@composite("narrow")
def narrow(x, axis, start, length):
    """`length` elements along an axis from `start` on, which may be known only at run time; IndexError outside."""
    x = as_tensor(x)
    axis, length = normal_axis(axis, x.ndim), static_size(length, "length")
    size = x.shape[axis]
    if start.__class__ is Value or start.__class__ is SymScalar:
        first = as_tensor(start, "start")
        require(first.ndim == 0, f"`start` must be one number, not of shape {list(first.shape)}")
        steps = F.iota(start=0, step=1, size=length, dtype=int64)
        first = F.check_index(first, size=size)
        return F.gather(x, F.check_index(broadcast_to(first, (length,)) + steps, size=size, negative=False), axis=axis)
    first = static_size(start, "start")
    first += size if first < 0 else 0
    if not (first >= 0 and 0 <= length <= size - first):
        raise IndexError(f"{length} elements from {start} on leave the {size} elements of axis {axis}")
    if length == size:
        return x
    return F.slice(x, axes=(axis,), starts=(first,), stops=(first + length,), steps=(1,))


def _python_slice(start, stop, step):
    """Such a slice for Python, which takes -1, the place before the first element, for that of the last one."""
    if start < 0:
        return slice(0, 0)
    return slice(start, stop if stop >= 0 else None, step)


class Slice(Primitive):
    """Elements start, start + step, ... before stop of some axes; all elements of the others."""

    def infer(x: TensorType, *, axes: Ints, starts: Shape, stops: Shape, steps: Ints):
        return tensor(x.dtype, sliced_shape(x.shape, axes, starts, stops, steps))

    def numpy(x, *, axes, starts, stops, steps):
        index = [slice(None)] * x.ndim
        for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
            index[axis] = _python_slice(start, stop, step)
        return x[tuple(index)]

    def aclnn(c, x):
        found, turned = c.sliced(x, c.axes, c.starts, c.out.shape, c.steps)
        c.give(c.flipped(found, turned))

    view = "x"
    call = _slice

    def vjp(c, g, x):
        return F.slice_update(zeros_like(x), g, axes=c.axes, starts=c.starts, stops=c.stops, steps=c.steps)

    def samples(rng):
        yield rng(3, 4), {"axes": (-2, -1), "starts": (1, 3), "stops": (3, -1), "steps": (1, -2)}
        yield rng(5), {"axes": (-1,), "starts": (0,), "stops": (5,), "steps": (2,)}
        yield rng(5), {"axes": (-1,), "starts": (0,), "stops": (0,), "steps": (1,)}

    errors = [((F2,), {"axes": (-1,), "starts": (0,), "stops": (3,), "steps": (1,)}, "leaves the 2 elements")]


class SliceUpdate(Primitive):
    """`x` with a strided slice of it replaced."""

    internal = True

    def infer(x: TensorType, update: TensorType, *, axes: Ints, starts: Shape, stops: Shape, steps: Ints):
        wanted = tensor(x.dtype, sliced_shape(x.shape, axes, starts, stops, steps))
        require_dtype(update.dtype is x.dtype, f"a slice of {x} cannot hold {update}")
        require(update is wanted, f"the slice of {x} is {wanted}, not {update}")
        return x

    def numpy(x, update, *, axes, starts, stops, steps):
        index = [slice(None)] * x.ndim
        for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
            index[axis] = _python_slice(start, stop, step)
        out = x.copy()
        out[tuple(index)] = update
        return out

    def aclnn(c, x, update):
        c.copy(c.out, x)
        place, turned = c.sliced(c.out, c.axes, c.starts, update.shape, c.steps)
        c.copy(place, c.flipped(update, turned))

    inplace = "x"

    def vjp(c, g, x, update):
        where = {"axes": c.axes, "starts": c.starts, "stops": c.stops, "steps": c.steps}
        gx = F.slice_update(g, zeros_like(update), **where) if c.needs.x else None
        return gx, (F.slice(g, **where) if c.needs.update else None)

    def samples(rng):
        yield rng(3, 4), rng(2, 2), {"axes": (-2, -1), "starts": (1, 3), "stops": (3, -1), "steps": (1, -2)}
        yield rng(5), rng(3), {"axes": (-1,), "starts": (0,), "stops": (5,), "steps": (2,)}

    errors = [
        ((F3, F3), {"axes": (-1,), "starts": (0,), "stops": (2,), "steps": (1,)}, "is f32[2], not f32[3]"),
        ((F3, D2), {"axes": (-1,), "starts": (0,), "stops": (2,), "steps": (1,)}, "cannot hold"),
    ]


# ------------------------------------------------------------------------------------------------ integer tensors
def all_within(places, size):
    """Whether all positions (int64) are from 0 to size - 1; calling `argmax` takes a quarter of the time of `max`."""
    unsigned = places.view(np.uint64)  # one unsigned comparison checks both bounds
    return places.size == 0 or unsigned.item(unsigned.argmax()) < size


class CheckIndex(Primitive):
    """Indices as positions from 0 to size - 1 (int64); IndexError where one lies outside of -size ... size - 1.

    With ``negative=False`` negative indices are outside too: labels do not count from the end.  The NumPy kernel makes
    a copy and checks that: another thread may change the user's array between the check and the use.
    """

    internal = True
    effect = Effect.IO

    def infer(index: TensorType, *, size: Size, negative: bool = True):
        require_dtype(index.dtype.is_int, f"an index must be an integer, not {index.dtype.name}")
        require(may_be_at_most(0, size), f"an axis has no size {size}")
        return tensor(int64, index.shape)

    def numpy(index, *, size, negative):
        places = index.astype(int)  # a copy; and before the sum: an int8 could not hold it
        if all_within(places, size):
            return places
        lowest = -size if negative else 0
        given = places.view(index.dtype) if index.dtype == np.uint64 else places  # 2**64 - 1 is not -1
        low, high = int(given.min()), int(given.max())
        if low < lowest or high >= size:
            raise IndexError(f"index {low if low < lowest else high} is out of bounds for size {size}")
        return np.where(places < 0, places + size, places)

    view = "index"

    def vjp(c, g, index):
        return None

    def samples(rng):
        yield rng.ints(2, 3, low=-4, high=4), {"size": 4}
        yield rng.ints(low=-4, high=4), {"size": 4}
        yield rng.ints(0), {"size": 4}

    errors = [((F2,), {"size": 2}, "must be an integer")]


def checked(index, size, *, negative=True):
    """An index as a user gives it (number, list, array, Tensor, run-time int) as positions."""
    if isinstance(index, list | tuple):
        index = np.asarray(index, np.int64) if len(index) == 0 else np.asarray(index)
    if isinstance(index, int | np.integer) and not -(2**63) <= index < 2**63:
        raise IndexError(f"index {index} is out of bounds for size {size}")
    index = as_tensor(index, "index")
    require_dtype(index.dtype.is_int, f"an index must be an integer, not {index.dtype.name}")
    return F.check_index(index, size=size, negative=negative)


def gathered_shape(x, index, axis):
    require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
    require_dtype(index.dtype is int64, f"positions must be int64, not {index}")
    at = x.ndim + axis
    return (*x.shape[:at], *index.shape, *x.shape[at + 1 :])


def _gather(x, index, axis=0, batch_dims=0):
    x = as_tensor(x)
    axis, batch = normal_axis(axis, x.ndim), static_int(batch_dims, "batch_dims")
    index = checked(index, x.shape[axis])
    if batch == 0:
        return F.gather(x, index, axis=axis)
    at = axis + x.ndim
    batch += index.ndim if batch < 0 else 0
    same = 0 <= batch <= min(at, index.ndim) and x.shape[:batch] == index.shape[:batch]
    require(same, f"shapes {list(x.shape)} and {list(index.shape)} have no {batch} batch dimensions before axis {at}")
    # The axis comes first after the batch and is merged with it; afterwards the indexed dimensions go to its place.
    between, free = at - batch, index.ndim - batch
    order = (*range(batch), at, *range(batch, at), *range(at + 1, x.ndim))
    x = permuted(x, tuple([i - len(order) for i in order]))
    lead, rest = dim_product(x.shape[:batch]), x.shape[batch + 1 :]
    rows = multiples(lead, x, batch - x.ndim)
    rows = F.reshape(rows, shape=(*index.shape[:batch], *(1,) * free))
    picked = F.gather(
        F.reshape(x, shape=(lead * x.shape[batch], *rest)), index + broadcast_to(rows, index.shape), axis=-1 - len(rest)
    )
    middle = range(batch + free, batch + free + between)
    order = (*range(batch), *middle, *range(batch, batch + free), *range(batch + free + between, picked.ndim))
    return permuted(picked, tuple([i - len(order) for i in order]))


# ------------------------------------------------------------------------------------------------ many examples at once
def to_front(x, at):
    """Dimension number `at` as the first one."""
    order = [at, *(i for i in range(x.ndim) if i != at)]
    return F.transpose(x, axes=tuple([i - x.ndim for i in order])) if at else x


def moved_first(x, start, length, distance, inverse=False):
    """`length` dimensions moved in front of the `distance` ones before them, which begin at `start`; or the inverse."""
    a, b = list(range(start, start + distance)), list(range(start + distance, start + distance + length))
    order = [*range(start), *b, *a, *range(start + distance + length, x.ndim)]
    if inverse:
        order = sorted(range(x.ndim), key=order.__getitem__)
    return x if order == list(range(x.ndim)) else F.transpose(x, axes=tuple([i - x.ndim for i in order]))


def multiples(n, x, axis):
    """0, 1, ... n - 1 times the size of an axis."""
    size = x.shape[axis]
    if type(size) is int:
        return F.iota(start=0, step=size, size=n, dtype=int64)
    return F.iota(start=0, step=1, size=n, dtype=int64) * broadcast_to(F.shape_of(x, axis=axis), (n,))


def rows_of(x, axis):
    """The slices along an axis of all examples (of a `vmap`) in one leading dimension, and how many an example has."""
    x = moved_first(x, 1, 1, x.ndim + axis - 1)
    n, count = x.shape[:2]
    return F.reshape(x, shape=(n * count, *x.shape[2:])), count


def numbered(index, x, axis):
    """The positions of every example offset to the rows of `rows_of` of x, along the axis of an example."""
    first = multiples(index.shape[0], x, axis)
    if index.ndim > 1:
        first = F.expand_dims(first, axes=tuple(range(1 - index.ndim, 0)))
    return F.add(index, broadcast_to(first, index.shape))


class Gather(Primitive):
    """Slices of `x` along an axis at the positions in `index`, whose shape takes the axis' place."""

    positions = "index"

    def infer(x: TensorType, index: TensorType, *, axis: int):
        return tensor(x.dtype, gathered_shape(x, index, axis))

    picks = "x"

    def numpy(x, index, *, axis):
        return x.take(index, axis=axis)  # the method: the function `np.take` takes a microsecond longer

    def aclnn(c, x, index):
        axis = c.axis % x.ndim
        if not x.size:  # there are no positions: this is not reached
            c.op("InplaceFillScalar", c.out, 0)
        elif index.ndim:
            c.op("GatherV2", x, axis, c.place(index), c.out)
        else:
            c.op("IndexSelect", x, axis, c.place(index).expanded((0,)), c.out.expanded((axis,)))

    def batch(c, n, x, index):
        if not c.needs.index:
            return F.gather(x, index, axis=c.axis)
        if not c.needs.x:
            return to_front(F.gather(x, index, axis=c.axis), x.ndim + c.axis)
        rows, _ = rows_of(x, c.axis)
        found = F.gather(rows, numbered(index, x, c.axis), axis=-rows.ndim)
        return moved_first(found, 1, index.ndim - 1, x.ndim + c.axis - 1, inverse=True)

    call = _gather
    methods = ("gather",)

    def vjp(c, g, x, index):
        return F.scatter_add(zeros_like(x), index, g, axis=c.axis), None

    def samples(rng):
        yield rng(4, 3), rng.ints(2, 3, low=0, high=4), {"axis": -2}
        yield rng(4, 3), rng.ints(low=0, high=3), {"axis": -1}
        yield rng(4), rng.ints(0), {"axis": -1}

    errors = [((F2, I2), {"axis": -1}, "must be int64"), ((F2, L2), {"axis": -2}, "does not exist")]


def dynamic_index(x, i, axis=0):
    """The slice `x[i]` along an axis for an index known at run time; negative ones count from the end."""
    return _gather(x, i, axis)


# ------------------------------------------------------------------------------------------------ along an axis
def along_axis(x, index, axis):
    x, index = as_tensor(x), as_tensor(index, "index")
    axis = normal_axis(axis, x.ndim)
    require(index.ndim == x.ndim, f"a tensor of {x.ndim} dimensions cannot be indexed along an axis by {index.ndim}")
    size, at = x.shape[axis], x.ndim + axis
    others = broadcast_shapes([(*s[:at], *s[at + 1 :]) for s in (x.shape, index.shape)], "tensor and index")
    x = broadcast_to(x, (*others[:at], size, *others[at:]))
    index = broadcast_to(index, (*others[:at], index.shape[axis], *others[at:]))
    return x, checked(index, size), axis


def _take_along_axis(x, index, axis=-1):
    x, index, axis = along_axis(x, index, axis)
    return F.take_along_axis(x, index, axis=axis)


def require_along(x, index, axis):
    require(-x.ndim <= axis < 0 and index.ndim == x.ndim, f"{index} does not index {x} along axis {axis}")
    require_dtype(index.dtype is int64, f"positions must be int64, not {index}")
    fits = all(i == axis or same_dim(x.shape[i], index.shape[i]) for i in range(-x.ndim, 0))
    require(fits, f"{index} does not index {x} along axis {axis}: other sizes differ")


def taken(x, places):
    """The elements at positions >= 0 along the last axis; `np.take_along_axis` takes twice as long."""
    if x.ndim == 1:
        return x.take(places)
    if x.size == 0 or not (x.flags.c_contiguous or places.size >= x.size):
        return np.take_along_axis(x, places, -1)
    return x.reshape(-1).take(places + np.arange(0, x.size, x.shape[-1]).reshape(*x.shape[:-1], 1))


class TakeAlongAxis(Primitive):
    """Elements of `x` by position along an axis: for axis -1, ``result[i, j] = x[i, index[i, j]]``.

    `distinct` promises that no element is read twice: the derivative need not add up.
    """

    positions = "index"

    def infer(x: TensorType, index: TensorType, *, axis: int, distinct: bool = False):
        require_along(x, index, axis)
        return tensor(x.dtype, index.shape)

    picks = "x"

    def numpy(x, index, *, axis, distinct):
        return taken(x, index) if axis == -1 else np.take_along_axis(x, index, axis)

    def aclnn(c, x, index):
        if x.size:
            c.op("Gather", x, c.axis % x.ndim, c.place(index), c.out)
        else:  # there are no positions: this is not reached
            c.op("InplaceFillScalar", c.out, 0)

    call = _take_along_axis
    methods = ("take_along_axis",)

    def vjp(c, g, x, index):
        return F.add_along_axis(zeros_like(x), index, g, axis=c.axis, distinct=c.distinct), None

    def samples(rng):
        yield rng(3, 4), rng.ints(3, 2, low=0, high=4), {"axis": -1}
        yield rng(3, 4), rng.ints(1, 4, low=0, high=3), {"axis": -2}
        yield rng(2, 3), np.array([[2, 0], [1, 2]]), {"axis": -1, "distinct": True}

    errors = [((F2, I2), {"axis": -1}, "must be int64"), ((M23, L2), {"axis": -1}, "does not index")]


@composite("gather_elements", "gather_d")
def gather_elements(x, dim, index):
    """Elements of `x` by position along one dimension: for `dim` 0, ``result[i, j] = x[index[i, j], j]``.

    `index` has as many dimensions as `x` and may be smaller in the others.
    """
    x, index = as_tensor(x), as_tensor(index, "index")
    axis = normal_axis(dim, x.ndim, "dim")
    return F.take_along_axis(leading_part(x, index.shape, axis), checked(index, x.shape[axis]), axis=axis)


def leading_part(x, shape, axis):
    """The first elements of every dimension but `axis`, as many as `shape` has."""
    fits = len(shape) == x.ndim
    where = [i for i in range(-x.ndim, 0) if fits and i != axis and not same_dim(shape[i], x.shape[i])]
    fits = fits and all(shape[i] <= x.shape[i] for i in where)
    require(fits, f"an index of shape {list(shape)} does not fit a tensor of shape {list(x.shape)} along axis {axis}")
    if not where:
        return x
    stops = tuple([shape[i] for i in where])
    return F.slice(x, axes=tuple(where), starts=(0,) * len(where), stops=stops, steps=(1,) * len(where))


# ------------------------------------------------------------------------------------------------ one-hot
def _one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    index, depth = as_tensor(indices, "indices"), static_size(depth, "depth")
    require_dtype(index.dtype.is_int, f"one_hot takes integers, not {index.dtype.name}")
    require(may_be_at_most(0, depth), f"`depth` must not be negative: {depth}")
    axis = normal_axis(axis, index.ndim + 1)
    numbers = all(isinstance(v, bool | int | float) for v in (on_value, off_value))
    if numbers and bool not in (type(on_value), type(off_value)):
        dtype = int64 if type(on_value) is type(off_value) is int else float32
        return F.one_hot(index, depth=depth, axis=axis, on=on_value, off=off_value, dtype=dtype)
    return call.where(F.one_hot(index, depth=depth, axis=axis, dtype=bool_), on_value, off_value)


class OneHot(Primitive):
    """A new dimension of size `depth` at `axis`: `on` at the position each index names, elsewhere `off`.

    An index outside of 0 ... depth - 1 names no position.
    """

    def infer(index: TensorType, *, depth: Size, axis: int, on: Number = 1, off: Number = 0, dtype: DType):
        require_dtype(index.dtype.is_int, f"not defined for {index.dtype.name}: {index}")
        fits = -index.ndim - 1 <= axis < 0 and may_be_at_most(0, depth)
        require(fits, f"no dimension of size {depth} at axis {axis} of {index}")
        at = index.ndim + 1 + axis
        return tensor(dtype, (*index.shape[:at], depth, *index.shape[at:]))

    def numpy(index, *, depth, axis, on, off, dtype):
        flat = np.asarray(index).reshape(-1).astype(int, copy=False)
        out = np.zeros((flat.size, depth), dtype) if off == 0 else np.full((flat.size, depth), off, dtype)
        places = flat + np.arange(flat.size) * depth
        if not all_within(flat, depth):
            places = places[(flat >= 0) & (flat < depth)]
        out.reshape(-1)[places] = on
        out = out.reshape(*np.shape(index), depth)
        return out if axis == -1 else np.ascontiguousarray(np.moveaxis(out, -1, axis))

    call = _one_hot

    def aclnn(c, index):
        at = index.ndim + 1 + c.axis
        index = index if index.dtype.itemsize >= 4 else c.cast(index, int64)
        mask = c.test(
            "EqTensor", index.expanded((at,)), c.along(range(c.depth), index.dtype, index.ndim + 1, at), c.out.shape
        )
        c.op("SWhere", mask, c.number(c.on, c.out), c.number(c.off, c.out), c.out)

    def samples(rng):
        yield rng.ints(2, 3, low=-1, high=4), {"depth": 3, "axis": -2, "dtype": "float32"}
        yield rng.ints(low=0, high=2), {"depth": 2, "axis": -1, "on": 2.5, "off": -1, "dtype": "float64"}
        yield rng.ints(2, low=0, high=2), {"depth": 2, "axis": -1, "dtype": "bool"}

    errors = [
        ((F2,), {"depth": 2, "axis": -1, "dtype": float32}, "not defined for float32"),
        ((I2,), {"depth": 2, "axis": -3, "dtype": float32}, "no dimension of size 2 at axis -3"),
    ]


# ------------------------------------------------------------------------------------------------ several axes
def merged_rows(x, indices):
    """`x` with the dimensions that the last dimension of `indices` names merged, and the positions along them."""
    x, indices = as_tensor(x), as_tensor(indices, "indices")
    depth = indices.shape[-1] if indices.ndim else 0
    require(1 <= depth <= x.ndim, f"indices of shape {list(indices.shape)} do not index {x.ndim} dimensions")
    position = None
    for i in range(depth):
        part = F.slice(indices, axes=(-1,), starts=(i,), stops=(i + 1,), steps=(1,)) if depth > 1 else indices
        part = checked(F.squeeze(part, axes=(-1,)), x.shape[i])
        position = part if position is None else position * x.shape[i] + part
    merged = (dim_product(x.shape[:depth]), *x.shape[depth:])
    return (x if depth == 1 else F.reshape(x, shape=merged)), position


@composite("gather_nd")
def gather_nd(x, indices):
    """The elements (or slices) of `x` at the indices in the last dimension of `indices`; IndexError outside."""
    rows, position = merged_rows(x, indices)
    return F.gather(rows, position, axis=-rows.ndim)


@composite("index_select")
def index_select(x, axis, index):
    """The slices of `x` along an axis at the positions in `index`, of one dimension; IndexError outside."""
    x, index = as_tensor(x), as_tensor(index, "index")
    require(index.ndim <= 1, f"`index` must have one dimension, not {index.ndim}")
    return _gather(x, F.reshape(index, shape=(1,)) if index.ndim == 0 else index, axis)


@composite("take")
def take(x, index, axis=None, mode="raise"):
    """The elements of the flat tensor (or the slices along an axis) at the positions in `index`.

    Outside of the tensor: IndexError; with ``mode="clip"`` the nearest element, with "wrap" counted around.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = F.reshape(x, shape=(dim_product(x.shape),)), -1
    axis = normal_axis(axis, x.ndim)
    index = as_tensor(np.asarray(index) if isinstance(index, list | tuple) else index, "index")
    if mode != "raise":
        size = x.shape[axis]
        require(type(size) is int and size > 0, f"nothing can be taken from {size} elements")
        index = F.cast(index, dtype=int64)
        if mode == "clip":
            index = F.minimum(F.maximum(index, _filled(0, index)), _filled(size - 1, index))
        elif mode == "wrap":
            index = F.mod(index, _filled(size, index))
        else:
            raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', not {mode!r}")
    return _gather(x, index, axis)


def _filled(number, like):
    return constant(number, tensor(like.dtype, like.shape))
