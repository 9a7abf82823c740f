"""Functional updates: at indices, along axes, by segments.  Nothing is written in place."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import bool_, float32, int64
from ..errors import DynamicShapeError
from ..ir.core import Value
from ..ir.primitive import METHODS, F, call, composite
from ..ir.sizes import may_be_at_most
from ..ir.types import dim_product, tensor
from .family import (
    as_shape,
    as_tensor,
    broadcast_to,
    constant,
    in_dtype,
    normal_axis,
    number,
    promoted_dtype,
    static_size,
)
from .index import checked, leading_part, merged_rows
from .requirements import require, require_dtype, static_int


# ------------------------------------------------------------------------------------------------ at places
def _at_places(name, x, indices, updates):
    """A scatter of slices at the indices in the last dimension of `indices`."""
    x = as_tensor(x)
    rows, position = merged_rows(x, indices)
    updates = broadcast_to(in_dtype(updates, x.dtype), (*position.shape, *rows.shape[1:]))
    out = getattr(F, name)(rows, position, updates, axis=-rows.ndim)
    return out if out.shape == x.shape else F.reshape(out, shape=x.shape)


@composite("tensor_scatter_update")
def tensor_scatter_update(x, indices, updates):
    """`x` with the elements (or slices) at the indices in `indices` replaced; of a repeated index the last counts."""
    return _at_places("scatter_update", x, indices, updates)


@composite("tensor_scatter_add")
def tensor_scatter_add(x, indices, updates):
    """`x` with `updates` added at the indices in the last dimension of `indices`."""
    return _at_places("scatter_add", x, indices, updates)


@composite("tensor_scatter_sub", "scatter_sub")
def tensor_scatter_sub(x, indices, updates):
    """`x` with `updates` subtracted at the indices in the last dimension of `indices`."""
    return _at_places("scatter_add", x, indices, F.neg(in_dtype(updates, as_tensor(x).dtype)))


@composite("tensor_scatter_mul", "scatter_mul")
def tensor_scatter_mul(x, indices, updates):
    """`x` multiplied by `updates` at the indices in the last dimension of `indices`."""
    return _at_places("scatter_mul", x, indices, updates)


@composite("tensor_scatter_div", "scatter_div")
def tensor_scatter_div(x, indices, updates):
    """`x` divided by the product of `updates` at the indices in the last dimension of `indices`; floats only."""
    x = as_tensor(x)
    require_dtype(x.dtype.is_float, f"not defined for {x.dtype.name}", hint="cast it to a float first")
    updates = in_dtype(updates, x.dtype)
    one = constant(1, tensor(x.dtype, x.shape))
    return x / _at_places("scatter_mul", one, indices, updates)


@composite("tensor_scatter_max", "scatter_max")
def tensor_scatter_max(x, indices, updates):
    """The greater of `x` and `updates` at the indices in `indices`; equal ones share the cotangent."""
    return _at_places("scatter_max", x, indices, updates)


@composite("tensor_scatter_min", "scatter_min")
def tensor_scatter_min(x, indices, updates):
    """The smaller of `x` and `updates` at the indices in `indices`; equal ones share the cotangent."""
    return _at_places("scatter_min", x, indices, updates)


@composite()
def scatter_nd(indices, updates, shape):
    """Zeros of a shape with `updates` added at the indices in the last dimension of `indices`."""
    updates = as_tensor(updates, "updates")
    return tensor_scatter_add(constant(0, tensor(updates.dtype, as_shape((shape,)))), indices, updates)


# ------------------------------------------------------------------------------------------------ along an axis
def scatter_elements(x, axis, index, source, *, add=False):
    """`x` with elements replaced by (or added to) those of `source`: at the positions in `index` along the axis.

    `index` may be smaller than `x` in the other dimensions, and `source` larger than `index`.
    """
    x, index = as_tensor(x), as_tensor(index, "index")
    axis = normal_axis(axis, x.ndim)
    part = leading_part(x, index.shape, axis)
    index = checked(index, x.shape[axis])
    source = in_dtype(source, x.dtype)
    if source.ndim and source.shape != index.shape:
        sizes = tuple([index.shape[i] for i in range(index.ndim)])
        require(source.ndim == index.ndim and all(s >= n for s, n in zip(source.shape, sizes, strict=True)),
                f"a source of shape {list(source.shape)} is too small for an index of shape {list(sizes)}")  # fmt: skip
        where = tuple(range(-source.ndim, 0))
        source = F.slice(source, axes=where, starts=(0,) * len(where), stops=sizes, steps=(1,) * len(where))
    source = broadcast_to(source, index.shape)
    if add:
        out = F.add_along_axis(part, index, source, axis=axis)
    else:
        flat = _flat_positions(index, part.shape, axis)
        out = F.scatter_update(_flat(part), flat, _flat(source), axis=-1)
        out = F.reshape(out, shape=part.shape)
    if part.shape == x.shape:
        return out
    where = tuple(range(-x.ndim, 0))
    return F.slice_update(x, out, axes=where, starts=(0,) * x.ndim, stops=out.shape, steps=(1,) * x.ndim)


def _flat(x):
    return F.reshape(x, shape=(dim_product(x.shape),))


def _flat_positions(index, shape, axis):
    """Positions along an axis as positions in the flattened tensor."""
    at = len(shape) + axis
    lead, size, after = dim_product(shape[:at]), shape[at], dim_product(shape[at + 1 :])
    index = F.reshape(index, shape=(lead, index.shape[axis], after))
    rows = F.iota(start=0, step=1, size=lead, dtype=int64)
    rows = rows * number(size * after, tensor(int64, (lead,)))
    columns = F.iota(start=0, step=1, size=after, dtype=int64)
    index = index * after + broadcast_to(F.reshape(rows, shape=(lead, 1, 1)), index.shape)
    return _flat(index + broadcast_to(columns, index.shape))


@composite("scatter")
def scatter(x, axis, index, src):
    """`x` with elements replaced by those of `src`, at the positions in `index` along an axis."""
    return scatter_elements(x, axis, index, src)


@composite()
def tensor_scatter_elements(x, indices, updates, axis=0, reduction="none"):
    """`x` with elements replaced by `updates` (or, with reduction "add", raised by them) at positions along an axis."""
    if reduction not in ("none", "add"):
        raise ValueError(f"reduction must be 'none' or 'add', not {reduction!r}")
    return scatter_elements(x, axis, indices, updates, add=reduction == "add")


def _index_add(x, axis, index, source, alpha=1):
    x, source = promoted_dtype(x, source)
    return call.scatter_add(x, index, source if alpha == 1 else call.mul(source, alpha), axis)


@composite()
def index_add(x, indices, y, axis):
    """`x` with the slices of `y` added at the positions in `indices` along an axis."""
    return _index_add(x, axis, indices, y)


@composite("index_fill")
def index_fill(x, axis, index, value):
    """`x` with the slices at the positions in `index` along an axis filled with one value."""
    x, value = as_tensor(x), in_dtype(value, as_tensor(x).dtype)
    require(value.ndim == 0, f"`value` must be one number, not of shape {list(value.shape)}")
    return call.scatter_update(x, index, value, axis)


@composite("slice_scatter")
def slice_scatter(x, src, axis=0, start=None, end=None, step=1):
    """`x` with the slice start:end:step along an axis replaced by `src`."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    return call.setitem(x, (..., slice(start, end, step), *[slice(None)] * (-1 - axis)), src)


@composite("select_scatter")
def select_scatter(x, src, axis, index):
    """`x` with the slice at one position along an axis replaced by `src`."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    return call.setitem(x, (..., index, *[slice(None)] * (-1 - axis)), src)


@composite("inplace_update")
def inplace_update(x, v, indices):
    """`x` with the rows at the given positions replaced by those of `v`."""
    return call.scatter_update(x, [indices] if isinstance(indices, int) else indices, v)


# ------------------------------------------------------------------------------------------------ methods of two forms
def _scatter_add_method(x, *args, **named):
    """``x.scatter_add(indices, updates)`` at places, ``x.scatter_add(dim, index, src)`` along a dimension."""
    if len(args) + len(named) == 2:
        return tensor_scatter_add(x, *args, **named)
    dim, index, src = _three(args, named, ("dim", "index", "src"))
    return scatter_elements(x, dim, index, src, add=True)


def _index_add_method(x, *args, **named):
    """``x.index_add(indices, y, axis)`` and ``x.index_add(dim, index, source, alpha=1)``."""
    alpha = named.pop("alpha", 1)
    if "indices" in named or (args and not isinstance(args[0], int)):
        indices, y, axis = _three(args, named, ("indices", "y", "axis"))
        return _index_add(x, axis, indices, y, alpha)
    dim, index, source = _three(args, named, ("dim", "index", "source"))
    return _index_add(x, dim, index, source, alpha)


def _three(args, named, names):
    """Three arguments by position or by name."""
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(args) + len(named) != 3 or set(given) != set(names):
        raise TypeError(f"the arguments must be {', '.join(names)}")
    return [given[name] for name in names]


METHODS["scatter_add"] = _scatter_add_method
METHODS["index_add"] = _index_add_method


# ------------------------------------------------------------------------------------------------ by segments
def _by_segments(name, x, segment_ids, num_segments, initial):
    """Rows combined by segment.  A negative id belongs to no segment, an id that is too great raises IndexError."""
    x, ids = as_tensor(x), as_tensor(segment_ids, "segment_ids")
    count = static_size(num_segments, "num_segments")
    require(may_be_at_most(0, count), f"`num_segments` must not be negative: {count}")
    fits = 1 <= ids.ndim <= x.ndim and x.shape[: ids.ndim] == ids.shape
    require(fits, f"segment ids of shape {list(ids.shape)} do not fit a tensor of shape {list(x.shape)}")
    require_dtype(ids.dtype.is_int, f"segment ids must be integers, not {ids.dtype.name}")
    ids, rest = _flat(ids), x.shape[ids.ndim :]
    outside = number(count, tensor(ids.dtype, ids.shape))
    ids = F.select(F.less(ids, constant(0, tensor(ids.dtype, ids.shape))), outside, ids)
    ids = F.check_index(ids, size=count + 1, negative=False)
    start = constant(initial, tensor(x.dtype, (count + 1, *rest)))
    out = getattr(F, name)(start, ids, F.reshape(x, shape=(*ids.shape, *rest)), axis=-1 - len(rest))
    return F.slice(out, axes=(-1 - len(rest),), starts=(0,), stops=(count,), steps=(1,))


@composite("unsorted_segment_sum")
def unsorted_segment_sum(x, segment_ids, num_segments):
    """Sums of the rows with one segment id, 0 where there is none; rows with negative ids do not count."""
    return _by_segments("scatter_add", x, segment_ids, num_segments, 0)


@composite("unsorted_segment_prod")
def unsorted_segment_prod(x, segment_ids, num_segments):
    """Products of the rows with one segment id, 1 where there is none; rows with negative ids do not count."""
    return _by_segments("scatter_mul", x, segment_ids, num_segments, 1)


@composite("unsorted_segment_max")
def unsorted_segment_max(x, segment_ids, num_segments):
    """Greatest of the rows with one segment id, the dtype's least finite number where there is none."""
    return _extreme_of_segments("scatter_max", x, segment_ids, num_segments, 0)


@composite("unsorted_segment_min")
def unsorted_segment_min(x, segment_ids, num_segments):
    """Smallest of the rows with one segment id, the dtype's greatest finite number where there is none."""
    return _extreme_of_segments("scatter_min", x, segment_ids, num_segments, 1)


def _extreme_of_segments(name, x, segment_ids, num_segments, side):
    x, ids = as_tensor(x), as_tensor(segment_ids, "segment_ids")
    limit = _limits(x.dtype)[side]
    if not x.dtype.is_float:
        return _by_segments(name, x, ids, num_segments, limit)
    out = _by_segments(name, x, ids, num_segments, math.inf if side else -math.inf)  # which rows may hold, too
    counts = _by_segments("scatter_add", constant(1, tensor(int64, ids.shape)), ids, num_segments, 0)
    empty = F.reshape(F.equal(counts, 0), shape=(*counts.shape, *(1,) * (out.ndim - 1)))
    return F.select(broadcast_to(empty, out.shape), limit, out)


def _limits(dtype):
    """The least and the greatest finite number of a dtype."""
    if not dtype.is_float:
        info = np.iinfo(dtype.numpy)
        return int(info.min), int(info.max)
    if dtype.name == "bfloat16":
        return -(2.0 - 2.0**-7) * 2.0**127, (2.0 - 2.0**-7) * 2.0**127
    return float(np.finfo(dtype.numpy).min), float(np.finfo(dtype.numpy).max)


@composite("bincount")
def bincount(x, weights=None, minlength=0):
    """How often (float32) each of the numbers 0, 1, ... occurs, or the sum of its weights.

    The result has `minlength` elements or as many as the greatest number asks for.  That is not known in compiled code:
    there it has `minlength`, and a greater number raises IndexError.
    """
    x = as_tensor(x)
    require(x.ndim == 1, f"bincount takes a vector, not {x.ndim} dimensions")
    require_dtype(x.dtype.is_int, f"bincount counts integers, not {x.dtype.name}")
    size = static_int(minlength, "minlength")
    if x.__class__ is not Value:
        values = np.asarray(x)
        size = max(size, int(values.max()) + 1 if values.size else 0)
    elif size == 0:
        raise DynamicShapeError(
            "the size of bincount depends on the greatest number",
            code="AC1307",
            hint="give `minlength` as the size of the result",
        )
    weights = constant(1, tensor(float32, x.shape)) if weights is None else as_tensor(weights, "weights")
    require(weights.shape == x.shape, f"weights of shape {list(weights.shape)} for {x.shape[0]} numbers")
    index = F.check_index(x, size=size, negative=False)
    return F.scatter_add(constant(0, tensor(weights.dtype, (size,))), index, weights, axis=-1)


# ------------------------------------------------------------------------------------------------ masks
@composite("masked_scatter")
def masked_scatter(x, mask, source):
    """`x` with the elements where the mask holds replaced by those of `source`, one after the other.

    IndexError if `source` has too few.
    """
    x, source = as_tensor(x), _flat(as_tensor(source, "source"))
    mask = broadcast_to(as_tensor(mask, "mask"), x.shape)
    require_dtype(mask.dtype is bool_, f"a mask holds bools, not {mask.dtype.name}")
    require_dtype(source.dtype is x.dtype, f"a tensor of {x.dtype.name} cannot take elements of {source.dtype.name}")
    flat = _flat(mask)
    # Sorted by the mask, the places where it holds come first, in order: the inverse of that order counts them.
    rank = F.argsort(F.argsort(F.logical_not(flat), axis=-1), axis=-1)
    rank = F.select(flat, rank, constant(0, tensor(int64, rank.shape)))
    if source.shape == (0,):
        source = constant(0, tensor(x.dtype, (1,)))
        rank = F.select(flat, constant(1, tensor(int64, rank.shape)), rank)
    taken = F.gather(source, F.check_index(rank, size=source.shape[0]), axis=-1)
    return F.select(mask, F.reshape(taken, shape=x.shape), x)
