"""Results whose size depends on the data: eager code only, since a compiled program has fixed shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import from_numpy, int32, int64
from ..errors import DynamicShapeError
from ..ir.core import Value
from ..ir.primitive import F, composite
from ..ir.types import dim_product, tensor
from .family import SymScalar, as_tensor, broadcast_shapes, broadcast_to, constant, normal_axis, require, require_dtype


def known_elements(x: Any, what: str, hint: str) -> Any:
    """A copy of a tensor's elements, which sizes are made from; DynamicShapeError in compiled code, which has none.

    A copy because NumPy counts first and reads again, and another thread may change the user's array in between.
    """
    if x.__class__ is Value or x.__class__ is SymScalar:
        raise DynamicShapeError(f"the size of {what} depends on the elements", code="AC1307", hint=hint)
    return np.array(x)


def _new(array):
    return constant(array, tensor(from_numpy(array.dtype), array.shape))


def _picked(x, places):
    """The elements of the flat tensor at known positions, with their derivative."""
    flat = F.reshape(x, shape=(dim_product(x.shape),))
    return F.gather(flat, _new(places.astype(np.int64)), axis=-1)


_MASK_HINT = "use where(mask, x, 0), masked_fill, or a sum with the mask"


@composite("masked_select")
def masked_select(x, mask):
    """The elements where the mask holds, in one dimension; not in compiled code."""
    x, mask = as_tensor(x), as_tensor(mask, "mask")
    require_dtype(mask.dtype.is_bool, f"a mask holds bools, not {mask.dtype.name}")
    shape = broadcast_shapes([x.shape, mask.shape], "tensor and mask")
    chosen = np.broadcast_to(known_elements(mask, "masked_select", _MASK_HINT), shape)
    return _picked(broadcast_to(x, shape), np.flatnonzero(chosen))


@composite("nonzero")
def nonzero(x, as_tuple=False):
    """The indices (int64) of the nonzero elements: [elements, dimensions], or a vector for each dimension.

    Not in compiled code.
    """
    x = as_tensor(x)
    require(x.ndim > 0, "nonzero needs at least one dimension: a single number has no places")
    found = known_elements(x, "nonzero", "compute with the mask `x != 0` itself").nonzero()
    if as_tuple:
        return tuple([_new(part.astype(np.int64)) for part in found])
    return _new(np.stack(found, 1).astype(np.int64))


@composite("argwhere")
def argwhere(x):
    """The indices (int64) of the nonzero elements, one in each row; not in compiled code."""
    return nonzero(x)


@composite()
def unique(x):
    """The distinct elements in the order in which they first appear, and the position of each element among them.

    Positions are int64 for int64 elements, else int32.  Not in compiled code.
    """
    x = as_tensor(x)
    values = known_elements(x, "unique", "sort the elements and compare neighbours").reshape(-1)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    positions = rank[inverse.reshape(-1)].reshape(x.shape)
    return _picked(x, first[order]), _new(positions.astype(int64.numpy if x.dtype is int64 else int32.numpy))


@composite("unique_consecutive")
def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along `dim`) without repetitions of the one before; not in compiled code.

    On demand also the position of every element among them and how often each was repeated.
    """
    x = as_tensor(x)
    values = known_elements(x, "unique_consecutive", "compare neighbours and mask")
    axis = -1 if dim is None else normal_axis(dim, x.ndim, "dim")
    if dim is None:
        x, values = F.reshape(x, shape=(dim_product(x.shape),)), values.reshape(-1)
    rows = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = np.flatnonzero(new)
    out = [F.gather(x, _new(starts.astype(np.int64)), axis=axis)]
    index = int64 if x.dtype is int64 else int32
    if return_inverse:
        out.append(_new((np.cumsum(new) - 1).astype(index.numpy)))
    if return_counts:
        out.append(_new(np.diff([*starts, len(rows)]).astype(index.numpy)))
    return tuple(out) if len(out) > 1 else out[0]
