"""Elements chosen by index, values put on diagonals, tensors brought to other sizes, unique elements."""

from __future__ import annotations

import numpy as np

from ..dtypes import bool_, int64
from ..ir.core import Value
from ..ir.primitive import F, call, composite
from ..ir.types import dim_product, tensor
from .data_sized import known_elements
from .family import (
    as_shape,
    as_tensor,
    broadcast_shapes,
    broadcast_to,
    cast,
    constant,
    in_dtype,
    normal_axis,
    promoted_dtype,
    rows,
    sum_to,
)
from .index import checked
from .requirements import known_sizes, require, require_dtype, static_int
from .shape import permuted


# ------------------------------------------------------------------------------------------------ choosing
@composite("choose")
def choose(x, choices, mode="clip"):
    """``result[i] = choices[x[i]][i]``: elements of several tensors; all broadcast to one shape.

    Numbers out of range are clipped ("clip"), wrapped ("wrap"), or an IndexError ("raise").
    """
    listed = rows(choices)
    x, choices = as_tensor(x), promoted_dtype(*[np.asarray(c) if isinstance(c, list | tuple) else c for c in listed])
    require_dtype(x.dtype.is_int, f"choose takes integers, not {x.dtype.name}")
    shape, n = broadcast_shapes([x.shape, *[c.shape for c in choices]], "index and choices"), len(choices)
    if mode == "clip":
        x = call.minimum(call.maximum(x, 0), n - 1)
    elif mode == "wrap":
        x = call.mod(x, n)
    elif mode != "raise":
        raise ValueError(f"mode must be 'clip', 'wrap' or 'raise', not {mode!r}")
    index = F.expand_dims(broadcast_to(checked(x, n, negative=False), shape), axes=(-1,))
    listed = F.stack(*[broadcast_to(c, shape) for c in choices], axis=-1)
    return F.squeeze(F.take_along_axis(listed, index, axis=-1), axes=(-1,))


@composite("index", internal=True)
def indexed(x, indices):
    """``x[indices[0], indices[1], ...]`` for a list of integer or bool tensors."""
    return call.getitem(x, tuple(rows(indices)))


# ------------------------------------------------------------------------------------------------ diagonals
def _known(x, what):
    """x, whose sizes must be known."""
    known_sizes(x.shape, f"{what} needs known sizes, not {list(x.shape)}")
    return x


@composite("diagonal_scatter")
def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    """x with a diagonal of two dimensions replaced by `src`, which has the shape of that diagonal."""
    x = _known(as_tensor(x), "diagonal_scatter")
    a, b = normal_axis(dim1, x.ndim, "dim1"), normal_axis(dim2, x.ndim, "dim2")
    require(a != b, f"a diagonal runs along two dimensions, not along {dim1} twice")
    order = (*[i for i in range(-x.ndim, 0) if i not in (a, b)], a, b)
    last = permuted(x, order)
    n, m = last.shape[-2:]
    offset = static_int(offset, "offset")
    row = np.arange(max(0, -offset), max(0, -offset, min(n, m - offset)))
    places = row * m + row + offset
    src = in_dtype(src, x.dtype)
    wanted = (*last.shape[:-2], len(places))
    require(src.shape == wanted, f"the diagonal has shape {list(wanted)}, not {list(src.shape)}")
    flat = F.reshape(last, shape=(*last.shape[:-2], n * m))
    flat = F.scatter_update(flat, constant(places, tensor(int64, places.shape)), src, axis=-1)
    back = [0] * x.ndim
    for i, axis in enumerate(order):
        back[axis] = i - x.ndim
    return permuted(F.reshape(flat, shape=last.shape), tuple(back))


@composite("fill_diagonal")
def fill_diagonal(x, fill_value, wrap=False):
    """x with one number on the diagonal; with `wrap` that of a tall matrix begins again after a row without it.

    More than two dimensions must have one size.
    """
    x = _known(as_tensor(x), "fill_diagonal")
    require(x.ndim >= 2, f"fill_diagonal needs at least two dimensions, not {x.ndim}")
    require(x.ndim == 2 or len(set(x.shape)) == 1, f"{list(x.shape)} has no diagonal: its sizes differ")
    mask = np.zeros(x.shape, bool)
    np.fill_diagonal(mask, True, wrap)
    return call.masked_fill(x, constant(mask, tensor(bool_, mask.shape)), fill_value)


# ------------------------------------------------------------------------------------------------ sizes
@composite("resize")
def resize(x, *new_shape):
    """The elements in row-major order under another shape: the first ones, or with zeros after the last one."""
    x, shape = _known(as_tensor(x), "resize"), as_shape(new_shape)
    size, wanted = dim_product(x.shape), dim_product(shape)
    flat = F.reshape(x, shape=(size,))
    if wanted < size:
        flat = F.slice(flat, axes=(-1,), starts=(0,), stops=(wanted,), steps=(1,))
    elif wanted > size:
        flat = F.pad(flat, before=(0,), after=(wanted - size,), value=0)
    return F.reshape(flat, shape=shape)


@composite("sum_to_size")
def sum_to_size(x, *size):
    """The sums that have a shape from which broadcasting would lead back to that of x."""
    x, shape = as_tensor(x), as_shape(size, "size")
    aligned = x.shape[x.ndim - len(shape) :]
    fits = len(shape) <= x.ndim and all(d in (1, e) for d, e in zip(shape, aligned, strict=True))
    require(fits, f"{list(x.shape)} cannot be summed to {list(shape)}")
    return call.cast(sum_to(cast(x, int64) if x.dtype.is_int or x.dtype.is_bool else x, shape), x.dtype)


# ------------------------------------------------------------------------------------------------ different elements
@composite("unique_with_pad")
def unique_with_pad(x, pad_num):
    """`unique` of a vector, padded with `pad_num` to its size, and the position of each element in it."""
    x = as_tensor(x)
    require(x.ndim == 1, f"unique_with_pad takes a vector, not a tensor of {x.ndim} dimensions")
    values, positions = call.unique(x)
    rest = x.shape[0] - values.shape[0]
    if x.__class__ is Value:
        return F.concat(values, broadcast_to(in_dtype(pad_num, x.dtype), (rest,)), axis=-1), positions
    return call.pad(values, (0, rest), "constant", in_dtype(pad_num, x.dtype)), positions


@composite("unique", internal=True)
def unique_elements(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements (or slices along `dim`), sorted; on demand inverse and counts (int64).

    Slices along a dimension in eager code only.
    """
    x = as_tensor(x)
    if x.__class__ is Value and dim is None:
        return _sorted_elements(x, return_inverse, return_counts)
    axis = -1 if dim is None else normal_axis(dim, x.ndim, "dim")
    source = call.reshape(x, (-1,)) if dim is None else x
    values = known_elements(source, "unique", "sort the elements and compare neighbours")
    _, first, inverse, counts = np.unique(values, True, True, True, axis=axis)
    out = [F.gather(source, constant(first, tensor(int64, first.shape)), axis=axis)]
    if return_inverse:
        inverse = inverse.reshape(x.shape if dim is None else -1)
        out.append(constant(inverse, tensor(int64, inverse.shape)))
    if return_counts:
        out.append(constant(counts, tensor(int64, counts.shape)))
    return tuple(out) if len(out) > 1 else out[0]


def _sorted_elements(x, return_inverse, return_counts):
    """The same where only run time knows the elements."""
    found, positions = call.unique(x)
    order = F.argsort(F.stop_gradient(found), axis=-1)
    out = [F.gather(found, order, axis=-1)]
    if return_inverse or return_counts:
        n = found.shape[0]
        rank = constant(0, tensor(int64, (n,)))
        rank = F.scatter_update(rank, order, F.iota(start=0, step=1, size=n, dtype=int64), axis=-1)
        inverse = F.gather(rank, cast(positions, int64), axis=-1)
        ones = constant(1, tensor(int64, (dim_product(x.shape),)))
        counts = F.scatter_add(
            constant(0, tensor(int64, (n,))), F.reshape(inverse, shape=ones.shape), ones, axis=-1
        )
        out += [inverse] * return_inverse + [counts] * return_counts
    return tuple(out) if len(out) > 1 else out[0]
