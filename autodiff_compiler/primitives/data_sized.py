"""Results whose size depends on the data: a size of data in compiled code (`sizes_of_data`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import from_numpy, int32, int64
from ..errors import DynamicShapeError
from ..ir.core import Value
from ..ir.primitive import F, composite
from ..ir.types import dim_product, tensor
from .family import as_tensor, broadcast_shapes, broadcast_to, cast, constant, normal_axis, zeros_like
from .requirements import SymScalar, require, require_dtype
from .sizes_of_data import sized


def known_elements(x: Any, what: str, hint: str) -> Any:
    """A copy of a tensor's elements, which sizes are made from; DynamicShapeError in compiled code, which has none.

    A copy because NumPy counts first and reads again, and another thread may change the user's array in between.
    """
    if x.__class__ is Value or x.__class__ is SymScalar:
        raise DynamicShapeError(f"the size of {what} depends on the elements", code="AC1307", hint=hint)
    return np.array(x)


def _new(array):
    return constant(array, tensor(from_numpy(array.dtype), array.shape))


def _flat(x):
    return F.reshape(x, shape=(dim_product(x.shape),))


def _picked(x, places):
    """The elements of the flat tensor at known positions, with their derivative."""
    return F.gather(_flat(x), places, axis=-1)


def places_of(mask: Any) -> Any:
    """Where a mask holds: positions among its elements, a vector."""
    if mask.__class__ is Value:
        return sized(F.places(mask), dim_product(mask.shape))
    return _new(np.flatnonzero(np.array(mask)).astype(np.int64))


def coordinates(mask: Any) -> list[Any]:
    """Where a mask holds: a vector of positions for each of its dimensions."""
    places = places_of(mask)
    found: list[Any] = []
    for axis in range(mask.ndim - 1, -1, -1):
        if axis == 0:
            return [places, *found]
        size = constant_size(mask.shape[axis], places)
        found.insert(0, F.mod(places, size))
        places = F.floordiv(places, size)
    return found


def constant_size(size: Any, like: Any) -> Any:
    """A size in the type of a Value or Tensor of int64."""
    number = F.size_value(size=size) if like.__class__ is Value else _new(np.array(size, np.int64))
    return broadcast_to(number, like.shape)


@composite("masked_select")
def masked_select(x, mask):
    """The elements where the mask holds, in one dimension."""
    x, mask = as_tensor(x), as_tensor(mask, "mask")
    require_dtype(mask.dtype.is_bool, f"a mask holds bools, not {mask.dtype.name}")
    shape = broadcast_shapes([x.shape, mask.shape], "tensor and mask")
    return _picked(broadcast_to(x, shape), places_of(broadcast_to(mask, shape)))


@composite("nonzero")
def nonzero(x, as_tuple=False):
    """The indices (int64) of the nonzero elements: [elements, dimensions], or a vector for each dimension."""
    x = as_tensor(x)
    require(x.ndim > 0, "nonzero needs at least one dimension: a single number has no places")
    found = coordinates(x if x.dtype.is_bool else F.not_equal(x, zeros_like(x)))
    return tuple(found) if as_tuple else F.stack(*found, axis=-1)


@composite("argwhere")
def argwhere(x):
    """The indices (int64) of the nonzero elements, one in each row."""
    return nonzero(x)


@composite()
def unique(x):
    """The distinct elements in the order in which they first appear, and the position of each element among them.

    Positions are int64 for int64 elements, else int32.
    """
    x = as_tensor(x)
    if x.__class__ is Value:
        first, positions = F.first_places(_flat(F.stop_gradient(x)))
        first, positions = sized(first, dim_product(x.shape)), F.reshape(positions, shape=x.shape)
    else:
        first, positions = _first(np.array(x).reshape(-1), x.shape)
    return _picked(x, first), cast(positions, int64 if x.dtype is int64 else int32)


def _first(values, shape):
    """What `first_places` gives for known elements."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return _new(first[order].astype(np.int64)), _new(rank[inverse.reshape(-1)].reshape(shape).astype(np.int64))


@composite("unique_consecutive")
def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along `dim`) without repetitions of the one before.

    On demand also the position of every element among them and how often each was repeated.
    """
    x = as_tensor(x)
    axis = -1 if dim is None else normal_axis(dim, x.ndim, "dim")
    x = _flat(x) if dim is None else x
    new = F.run_starts(x, axis=axis)
    starts = places_of(new)
    out = [F.gather(x, starts, axis=axis)]
    index = int64 if x.dtype is int64 else int32
    if return_inverse:
        out.append(cast(F.cumsum(cast(new, int64), axis=-1) - 1, index))
    if return_counts:
        size, n = x.shape[axis], starts.shape[0]
        end = broadcast_to(F.size_value(size=size) if starts.__class__ is Value else _new(np.array(size)), (1,))
        ends = F.concat(starts, end, axis=-1)
        first, last = (F.slice(ends, axes=(-1,), starts=(i,), stops=(n + i,), steps=(1,)) for i in (0, 1))
        out.append(cast(F.sub(last, first), index))
    return tuple(out) if len(out) > 1 else out[0]
