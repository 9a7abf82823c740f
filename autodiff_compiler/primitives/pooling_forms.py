"""Further forms of pooling: by norms, over regions of random place, and from maxima back to where they stood."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import int64
from ..ir.primitive import F, call, composite
from ..ir.types import dim_product, tensor
from .family import as_tensor, cast, constant
from .normalization import wide
from .pooling import flattened, max_pooling, pooling_geometry
from .requirements import known_sizes, require, static_int, static_number
from .update import scatter_elements
from .window import per_dimension


def _space(x, n, what):
    """The sizes of the last n dimensions of [batch, channels, ...] or [channels, ...]."""
    fits = x.ndim in (n + 1, n + 2)
    require(fits, f"{what} takes [batch, channels, ...] or [channels, ...] of {n} more dimensions, not {list(x.shape)}")
    return x.shape[-n:]


# ------------------------------------------------------------------------------------------------ norms
@composite(internal=True)
def lp_pooling(x, p, kernel, stride=None, ceil_mode=False, n=2):
    """The p-th root of the sum of the p-th powers in every window over the last n dimensions; p may be infinite.

    The derivative of a sum that is 0 counts as 0.
    """
    if isinstance(static_number(p, "norm_type"), bool) or not isinstance(p, int | float) or not p > 0:
        raise ValueError(f"norm_type must be a positive number, not {p!r}")
    x, dtype = wide(x)
    _space(x, n, "lp_pool")
    if math.isinf(p):
        return cast(max_pooling(F.abs(x), kernel, stride, ceil_mode=ceil_mode, n=n), dtype)
    kernel, stride, _, padding, _ = pooling_geometry(x, kernel, stride, "pad", 0, 1, ceil_mode, n)
    total = F.window_sum(call.pow(x, p), kernel=kernel, stride=stride, padding=padding)
    nothing = F.equal(total, 0)
    return cast(F.select(nothing, 0, call.pow(F.select(nothing, 1, total), 1 / p)), dtype)


# ------------------------------------------------------------------------------------------------ random regions
@composite(internal=True)
def fractional_max_pooling(x, samples, kernel, output_size, return_indices=False, n=2):
    """The greatest element of every region over the last n dimensions; there are `output_size` regions.

    Regions of the size `kernel` begin at pseudo-random distances, which the `samples` [batch, channels, n] (from 0 to
    1) of every plane decide: B. Graham, Fractional max-pooling (2014).  Of two dimensions the last one uses the first
    sample.  With `return_indices` also the positions in row-major order.
    """
    x, samples = as_tensor(x), as_tensor(samples, "_random_samples")
    sizes = known_sizes(_space(x, n, "fractional_max_pool"), f"regions of {list(x.shape)} need known sizes")
    lead = x.shape[:-n]
    kernel, output = per_dimension(kernel, n, "kernel_size"), per_dimension(output_size, n, "output_size")
    for size, k, count in zip(sizes, kernel, output, strict=True):
        require(k + count - 1 <= size, f"{count} regions of {k} elements do not fit into {size}")
    fits = samples.shape in ((*lead, n), (1, *lead, n))
    require(fits, f"random samples for {list(x.shape)} have shape {[*lead, n]}, not {list(samples.shape)}")
    samples = F.reshape(wide(samples)[0], shape=(*lead, n))
    elements = constant(np.zeros((1, 1), np.int64), tensor(int64, (1, 1)))  # [..., regions, elements of each]
    for i, (size, k, count) in enumerate(zip(sizes, kernel, output, strict=True)):
        which = 1 - i if n == 2 else i
        sample = F.slice(samples, axes=(-1,), starts=(which,), stops=(which + 1,), steps=(1,))
        part = call.add(F.expand_dims(_starts(sample, size, k, count), axes=(-1,)), np.arange(k))
        joined = call.add(F.expand_dims(elements * size, axes=(-3, -1)), F.expand_dims(part, axes=(-4, -2)))
        shape = (*lead, elements.shape[-2] * count, elements.shape[-1] * k)
        elements = F.reshape(joined, shape=shape)
    flat = flattened(x, n)
    listed = F.reshape(elements, shape=(*lead, dim_product(elements.shape[-2:])))
    values = F.reshape(F.take_along_axis(flat, listed, axis=-1), shape=elements.shape)
    first = F.argmax(values, axis=-1, keepdims=True)
    index = F.squeeze(F.take_along_axis(elements, first, axis=-1), axes=(-1,))
    out = F.reshape(F.take_along_axis(flat, index, axis=-1), shape=(*lead, *output))
    return (out, F.reshape(index, shape=(*lead, *output))) if return_indices else out


def _starts(sample, size, kernel, count):
    """Where the regions along one axis begin: the last one with its last elements, the others as the sample says."""
    if count == 1:
        return call.add(call.mul(cast(sample, int64), 0), size - kernel)
    alpha, at = (size - kernel) / (count - 1), np.arange(count)
    begun = call.floor(call.mul(call.add(sample, at.astype(sample.dtype.numpy)), alpha))
    start = cast(call.sub(begun, call.floor(call.mul(sample, alpha))), int64)
    return call.where(at == count - 1, size - kernel, start)


# ------------------------------------------------------------------------------------------------ the way back
@composite(internal=True)
def max_unpooling(x, indices, kernel, stride=None, padding=0, output_size=None, n=2):
    """Zeros with the elements of `x` at the positions `indices` (row-major within the last n dimensions).

    Without `output_size` its sizes are the least that a max pooling of that geometry takes to the sizes of x.
    """
    x, indices = as_tensor(x), as_tensor(indices, "indices")
    sizes = known_sizes(_space(x, n, "max_unpool"), f"max_unpool of {list(x.shape)} needs known sizes")
    lead = x.shape[:-n]
    require(indices.shape == x.shape, f"{list(indices.shape)} positions for {list(x.shape)} elements")
    kernel = per_dimension(kernel, n, "kernel_size")
    stride = kernel if stride is None else per_dimension(stride, n, "stride")
    padding = per_dimension(padding, n, "padding", 0)
    plain = [(d - 1) * s - 2 * p + k for d, s, p, k in zip(sizes, stride, padding, kernel, strict=True)]
    wanted = plain if output_size is None or output_size == () else _unpooled(output_size, plain, stride, lead, n)
    zeros = constant(0, tensor(x.dtype, (*lead, math.prod(wanted))))
    out = scatter_elements(zeros, -1, flattened(indices, n), flattened(x, n))
    return F.reshape(out, shape=(*lead, *wanted))


def _unpooled(output_size, plain, stride, lead, n):
    given = output_size if isinstance(output_size, tuple | list) else (output_size,)
    given = [static_int(d, "output_size") for d in given]
    require(len(given) == n or given[:-n] == list(lead), f"`output_size` {given} does not fit {list(lead)}")
    wanted = given[-n:]
    for d, least, s in zip(wanted, plain, stride, strict=True):
        if not least - s < d < least + s:
            raise ValueError(f"`output_size` {given}: {d} is not between {least - s} and {least + s}")
    return wanted
