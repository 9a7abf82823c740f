"""Reading and writing parts of a tensor: strided slices, and places given by integer tensors.

Bounds are checked in one place: `check_index` turns Python's negative indices into positions and raises IndexError at
run time.  Everything after it is pure, so it may be moved, repeated and differentiated.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import int64
from ..ir.primitive import Effect, F, Ints, Primitive
from ..ir.types import TensorType, same_dim, tensor
from .family import (
    as_tensor,
    broadcast_shapes,
    broadcast_to,
    cast,
    constant,
    normal_axis,
    promoted_dtype,
    require,
    require_dtype,
    zeros_like,
)
from .samples import D2, F2, F3, I2, L2, M23


# ------------------------------------------------------------------------------------------------ slices
def sliced_shape(shape, axes, starts, stops, steps):
    """The shape of a strided slice; a negative stop means running down past the first element."""
    out = list(shape)
    for a, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        require(-len(shape) <= a < 0 and type(shape[a]) is int, f"axis {a} of shape {list(shape)} cannot be sliced")
        size = len(range(start, stop, step))
        inside = size == 0 or (0 <= start < shape[a] and 0 <= start + (size - 1) * step < shape[a])
        require(inside, f"slice {start}:{stop}:{step} leaves the {shape[a]} elements of axis {a}")
        out[a] = size
    return tuple(out)


class Slice(Primitive):
    """Elements start, start + step, ... before stop of some axes; all elements of the others."""

    def infer(x: TensorType, *, axes: Ints, starts: Ints, stops: Ints, steps: Ints):
        return tensor(x.dtype, sliced_shape(x.shape, axes, starts, stops, steps))

    def numpy(x, *, axes, starts, stops, steps):
        index = [slice(None)] * x.ndim
        for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
            index[axis] = slice(start, stop if stop >= 0 else None, step)
        return x[tuple(index)]

    view = "x"

    def vjp(c, g, x):
        return F.slice_update(zeros_like(x), g, axes=c.axes, starts=c.starts, stops=c.stops, steps=c.steps)

    def samples(rng):
        yield rng(3, 4), {"axes": (-2, -1), "starts": (1, 3), "stops": (3, -1), "steps": (1, -2)}
        yield rng(5), {"axes": (-1,), "starts": (0,), "stops": (5,), "steps": (2,)}
        yield rng(5), {"axes": (-1,), "starts": (0,), "stops": (0,), "steps": (1,)}

    errors = [((F2,), {"axes": (-1,), "starts": (0,), "stops": (3,), "steps": (1,)}, "leaves the 2 elements")]


class SliceUpdate(Primitive):
    """`x` with a strided slice of it replaced."""

    def infer(x: TensorType, update: TensorType, *, axes: Ints, starts: Ints, stops: Ints, steps: Ints):
        wanted = tensor(x.dtype, sliced_shape(x.shape, axes, starts, stops, steps))
        require_dtype(update.dtype is x.dtype, f"a slice of {x} cannot hold {update}")
        require(update is wanted, f"the slice of {x} is {wanted}, not {update}")
        return x

    def numpy(x, update, *, axes, starts, stops, steps):
        index = [slice(None)] * x.ndim
        for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
            index[axis] = slice(start, stop if stop >= 0 else None, step)
        out = x.copy()
        out[tuple(index)] = update
        return out

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
class CheckIndex(Primitive):
    """Indices as positions from 0 to size - 1 (int64); IndexError where one lies outside of -size ... size - 1.

    With ``negative=False`` negative indices are outside too: labels do not count from the end.
    """

    effect = Effect.IO

    def infer(index: TensorType, *, size: int, negative: bool = True):
        require_dtype(index.dtype.is_int, f"an index must be an integer, not {index.dtype.name}")
        return tensor(int64, index.shape)

    def numpy(index, *, size, negative):
        lowest = -size if negative else 0
        if index.size:
            low, high = int(index.min()), int(index.max())
            if low < lowest or high >= size:
                raise IndexError(f"index {low if low < lowest else high} is out of bounds for size {size}")
        index = index.astype(int)  # before the sum: an int8 could not hold it
        return np.where(index < 0, index + size, index)

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
    index = as_tensor(index, "index")
    require_dtype(index.dtype.is_int, f"an index must be an integer, not {index.dtype.name}")
    require(type(size) is int, "a dimension of symbolic size cannot be indexed yet")
    return F.check_index(index, size=size, negative=negative)


def _gathered_shape(x, index, axis):
    require(-x.ndim <= axis < 0, f"axis {axis} does not exist in {x}")
    require_dtype(index.dtype is int64, f"positions must be int64, not {index}")
    at = x.ndim + axis
    return (*x.shape[:at], *index.shape, *x.shape[at + 1 :])


def _gather(x, index, axis=0):
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    return F.gather(x, checked(index, x.shape[axis]), axis=axis)


class Gather(Primitive):
    """Slices of `x` along an axis at the positions in `index`, whose shape takes the axis' place."""

    def infer(x: TensorType, index: TensorType, *, axis: int):
        return tensor(x.dtype, _gathered_shape(x, index, axis))

    def numpy(x, index, *, axis):
        return np.take(x, index, axis=axis)

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


def _scatter(name, x, index, updates, axis):
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    index = checked(index, x.shape[axis])
    at = x.ndim + axis
    updates = broadcast_to(cast(as_tensor(updates), x.dtype), (*x.shape[:at], *index.shape, *x.shape[at + 1 :]))
    return getattr(F, name)(x, index, updates, axis=axis)


def _require_updates(x, index, updates, axis):
    wanted = tensor(x.dtype, _gathered_shape(x, index, axis))
    require_dtype(updates.dtype is x.dtype, f"{x} cannot take updates of {updates}")
    require(updates is wanted, f"updates of {x} at {index} along axis {axis} are {wanted}, not {updates}")
    return x


class ScatterAdd(Primitive):
    """`x` with `updates` added at the positions in `index` along an axis; repeated positions add up."""

    def infer(x: TensorType, index: TensorType, updates: TensorType, *, axis: int):
        return _require_updates(x, index, updates, axis)

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        place = (slice(None),) * (x.ndim + axis) + (index,)
        if index.ndim == 0:
            out[place] += updates
        else:
            np.add.at(out, place, updates)
        return out

    widen = True
    inplace = "x"
    call = lambda x, index, updates, axis=0: _scatter("scatter_add", x, index, updates, axis)

    def vjp(c, g, x, index, updates):
        return g, None, (F.gather(g, index, axis=c.axis) if c.needs.updates else None)

    def samples(rng):
        yield rng(4, 2), np.array([1, 3, 1]), rng(3, 2), {"axis": -2}
        yield rng(2, 3), np.array(2), rng(2), {"axis": -1}
        yield rng(2, 3), np.array([[0, 1], [1, 1]]), rng(2, 2, 2), {"axis": -1}

    errors = [((F3, L2, F3), {"axis": -1}, "are f32[2], not f32[3]")]


class ScatterUpdate(Primitive):
    """`x` with the slices at the positions in `index` replaced; of repeated positions the last one counts."""

    def infer(x: TensorType, index: TensorType, updates: TensorType, *, axis: int):
        return _require_updates(x, index, updates, axis)

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        out[(slice(None),) * (x.ndim + axis) + (index,)] = updates
        return out

    inplace = "x"
    call = lambda x, index, updates, axis=0: _scatter("scatter_update", x, index, updates, axis)

    def vjp(c, g, x, index, updates):
        gx = F.scatter_update(g, index, zeros_like(updates), axis=c.axis) if c.needs.x else None
        if not c.needs.updates:
            return gx, None, None
        gu = F.gather(g, index, axis=c.axis)
        if index.ndim:
            gu = F.select(_last_writer(index, x.shape[c.axis], updates.shape, c.axis), gu, 0)
        return gx, None, gu

    def samples(rng):
        yield rng(4, 2), np.array([1, 3, 1]), rng(3, 2), {"axis": -2}
        yield rng(2, 3), np.array(2), rng(2), {"axis": -1}
        yield rng(2, 3), np.array([[0, 1], [1, 1]]), rng(2, 2, 2), {"axis": -1}

    errors = [((F3, L2, F3), {"axis": -1}, "are f32[2], not f32[3]")]
    # The last of the updates of one place is what remains.
    ties = [(([0.0, 0.0], [1, 1], [5.0, 6.0]), {"axis": -1}, ([1.0, 0.0], None, [0.0, 1.0]))]


def _last_writer(index, size, shape, axis):
    """Which updates were not overwritten by a later one at the same position, in the shape of the updates."""
    order = np.arange(np.prod(index.shape, dtype=np.int64)).reshape(index.shape)
    order = constant(order, tensor(int64, index.shape))
    last = F.scatter_update(constant(0, tensor(int64, (size,))), index, order, axis=-1)
    wins = F.equal(F.gather(last, index, axis=-1), order)
    after = -1 - axis
    return broadcast_to(F.expand_dims(wins, axes=tuple(range(-after, 0))) if after else wins, shape)


# ------------------------------------------------------------------------------------------------ along an axis
def _along_axis(x, index, axis):
    x, index = as_tensor(x), as_tensor(index, "index")
    axis = normal_axis(axis, x.ndim)
    require(index.ndim == x.ndim, f"take_along_axis of {x.ndim} dimensions with an index of {index.ndim}")
    size, at = x.shape[axis], x.ndim + axis
    others = broadcast_shapes([(*s[:at], *s[at + 1 :]) for s in (x.shape, index.shape)], "tensor and index")
    x = broadcast_to(x, (*others[:at], size, *others[at:]))
    index = broadcast_to(index, (*others[:at], index.shape[axis], *others[at:]))
    return x, checked(index, size), axis


def _take_along_axis(x, index, axis=-1):
    x, index, axis = _along_axis(x, index, axis)
    return F.take_along_axis(x, index, axis=axis)


def _require_along(x, index, axis):
    require(-x.ndim <= axis < 0 and index.ndim == x.ndim, f"{index} does not index {x} along axis {axis}")
    require_dtype(index.dtype is int64, f"positions must be int64, not {index}")
    fits = all(i == axis or same_dim(x.shape[i], index.shape[i]) for i in range(-x.ndim, 0))
    require(fits, f"{index} does not index {x} along axis {axis}: other sizes differ")


class TakeAlongAxis(Primitive):
    """For every place of `index`, the element of `x` at that position of the axis and at the same place elsewhere."""

    def infer(x: TensorType, index: TensorType, *, axis: int):
        _require_along(x, index, axis)
        return tensor(x.dtype, index.shape)

    def numpy(x, index, *, axis):
        return np.take_along_axis(x, index, axis)

    call = _take_along_axis
    methods = ("gather_elements",)

    def vjp(c, g, x, index):
        return F.add_along_axis(zeros_like(x), index, g, axis=c.axis), None

    def samples(rng):
        yield rng(3, 4), rng.ints(3, 2, low=0, high=4), {"axis": -1}
        yield rng(3, 4), rng.ints(1, 4, low=0, high=3), {"axis": -2}

    errors = [((F2, I2), {"axis": -1}, "must be int64"), ((M23, L2), {"axis": -1}, "does not index")]


def _add_along_axis(x, index, updates, axis=-1):
    x, updates = promoted_dtype(as_tensor(x), as_tensor(updates, "updates"))
    x, index, axis = _along_axis(x, index, axis)
    return F.add_along_axis(x, index, broadcast_to(updates, index.shape), axis=axis)


class AddAlongAxis(Primitive):
    """`x` with `updates` added at the elements that `take_along_axis` would read; repeated places add up."""

    def infer(x: TensorType, index: TensorType, updates: TensorType, *, axis: int):
        _require_along(x, index, axis)
        require_dtype(updates.dtype is x.dtype, f"{x} cannot take updates of {updates}")
        require(updates.shape == index.shape, f"updates {updates} at {index}: shapes differ")
        return x

    def numpy(x, index, updates, *, axis):
        out = x.copy()
        if index.shape[axis] == 1:  # no place is repeated
            np.put_along_axis(out, index, np.take_along_axis(x, index, axis) + updates, axis)
        else:
            place = list(np.indices(index.shape, sparse=True))
            place[axis] = index
            np.add.at(out, tuple(place), updates)
        return out

    widen = True
    inplace = "x"
    call = _add_along_axis

    def vjp(c, g, x, index, updates):
        return g, None, (F.take_along_axis(g, index, axis=c.axis) if c.needs.updates else None)

    def samples(rng):
        yield rng(3, 4), rng.ints(3, 2, low=0, high=4), rng(3, 2), {"axis": -1}
        yield rng(2, 3), np.array([[1, 1], [0, 2]]), rng(2, 2), {"axis": -1}
        yield rng(3, 4), rng.ints(1, 4, low=0, high=3), rng(1, 4), {"axis": -2}

    errors = [((F2, L2, F3), {"axis": -1}, "shapes differ")]
