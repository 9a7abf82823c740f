"""Sliding windows over the last dimensions, and their transpose, which adds overlapping windows up.

`unfold` and `fold` are these two with MindSpore's layout of images.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import StaticValueError
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import F, Ints, Primitive, composite
from ..ir.types import Shape, TensorType, tensor
from .family import as_tensor, is_tensor
from .flops import per_operand
from .requirements import require, require_dtype
from .samples import B2, F2, M23
from .window import per_dimension, window_counts


def _counts(sizes, kernel, stride, dilation):
    """How many windows fit in each dimension."""
    require(all(v > 0 for v in (*stride, *dilation)), "stride and dilation must be positive")
    return window_counts(sizes, kernel, stride, (0,) * 2 * len(kernel), dilation)


def _tap_views(x, kernel, stride, dilation, windows):
    """For every tap of the window, on the device: the view of `x` that it reads, and where `windows` holds that."""
    n, lead = len(kernel), x.ndim - len(kernel)
    for place in np.ndindex(*kernel):
        met, part = x, windows
        for i, at in enumerate(place):
            met = met.sliced(lead + i, at * dilation[i], windows.shape[lead + n + i], stride[i])
            part = part.sliced(lead + i, at, 1)
        yield met, part.squeezed(range(lead, lead + n))


class Windows(Primitive):
    """All windows over the last n dimensions: result [..., place in the window (n), window (n)]."""

    internal = True

    def infer(x: TensorType, *, kernel: Ints, stride: Ints, dilation: Ints):
        n = len(kernel)
        require(n <= x.ndim, f"windows over {n} dimensions do not exist in {x}")
        counts = _counts(x.shape[x.ndim - n :], kernel, stride, dilation)
        return tensor(x.dtype, (*x.shape[: x.ndim - n], *kernel, *counts))

    def numpy(x, *, kernel, stride, dilation):
        n = len(kernel)
        lead, steps = x.ndim - n, x.strides[x.ndim - n :]
        axes = zip(x.shape[lead:], kernel, stride, dilation, strict=True)
        shape = (*x.shape[:lead], *kernel, *[(size - d * (k - 1) - 1) // s + 1 for size, k, s, d in axes])
        within = [step * d for step, d in zip(steps, dilation, strict=True)]
        between = [step * s for step, s in zip(steps, stride, strict=True)]
        strides = (*x.strides[:lead], *within, *between)
        view = np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
        return view.copy()  # the windows overlap: what writes into the result must not change its neighbours

    def aclnn(c, x):
        for place, part in _tap_views(x, c.kernel, c.stride, c.dilation, c.out):
            c.copy(part, place)

    def vjp(c, g, x):
        sizes = x.shape[x.ndim - len(c.kernel) :]
        return F.sum_windows(g, sizes=sizes, kernel=c.kernel, stride=c.stride, dilation=c.dilation)

    def samples(rng):
        yield rng(2, 4, 3), {"kernel": (2, 2), "stride": (1, 1), "dilation": (1, 1)}
        yield rng(7), {"kernel": (2,), "stride": (2,), "dilation": (3,)}

    errors = [
        ((M23,), {"kernel": (3, 3), "stride": (1, 1), "dilation": (1, 1)}, "does not fit"),
        ((F2,), {"kernel": (1, 1), "stride": (1, 1), "dilation": (1, 1)}, "do not exist"),
        ((F2,), {"kernel": (1,), "stride": (0,), "dilation": (1,)}, "must be positive"),
    ]


class SumWindows(Primitive):
    """The sum of windows laid over the last n dimensions of sizes `sizes`: the transpose of `windows`."""

    internal = True

    def infer(x: TensorType, *, sizes: Shape, kernel: Ints, stride: Ints, dilation: Ints):
        require_dtype(not x.dtype.is_bool, f"not defined for bools: {x}", hint="cast it to a number first")
        counts = _counts(sizes, kernel, stride, dilation)
        lead = x.ndim - 2 * len(kernel)
        fits = lead >= 0 and x.shape[lead:] == (*kernel, *counts)
        require(fits, f"{x} does not hold the windows {list(kernel)} x {list(counts)} over sizes {list(sizes)}")
        return tensor(x.dtype, (*x.shape[:lead], *sizes))

    flops = per_operand

    def numpy(x, *, sizes, kernel, stride, dilation):
        lead = x.ndim - 2 * len(kernel)
        counts = x.shape[lead + len(kernel) :]
        out = np.zeros((*x.shape[:lead], *sizes), x.dtype)
        for place in np.ndindex(*kernel):
            at = [slice(p * d, p * d + n * t, t) for p, d, n, t in zip(place, dilation, counts, stride, strict=True)]
            out[(..., *at)] += x[(slice(None),) * lead + place]
        return out

    widen = True

    def aclnn(c, x):
        out = c.full(c.out.shape, c.wide(x.dtype), 0)
        x = c.cast(x, out.dtype)
        for place, part in _tap_views(out, c.kernel, c.stride, c.dilation, x):
            c.op("InplaceAdd", place, part, 1)
        c.give(c.cast(out, c.out.dtype))

    def vjp(c, g, x):
        return F.windows(g, kernel=c.kernel, stride=c.stride, dilation=c.dilation)

    def samples(rng):
        yield rng(2, 2, 2, 3, 2), {"sizes": (4, 3), "kernel": (2, 2), "stride": (1, 1), "dilation": (1, 1)}
        yield rng(2, 2), {"sizes": (7,), "kernel": (2,), "stride": (2,), "dilation": (3,)}

    errors = [
        ((F2,), {"sizes": (2,), "kernel": (1,), "stride": (1,), "dilation": (1,)}, "does not hold"),
        ((B2,), {"sizes": (2,), "kernel": (1,), "stride": (1,), "dilation": (1,)}, "not defined for bools"),
    ]


# ------------------------------------------------------------------------------------------------ images
@composite("unfold")
def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images [N, C, H, W] as columns [N, C * kernel places, windows]."""
    x = as_tensor(x)
    require(x.ndim == 4, f"unfold takes images [N, C, H, W], not {x.ndim} dimensions")
    kernel, padding = per_dimension(kernel_size, 2, "kernel_size"), per_dimension(padding, 2, "padding", 0)
    if any(padding):
        x = F.pad(x, before=(0, 0, *padding), after=(0, 0, *padding))
    stride, dilation = per_dimension(stride, 2, "stride"), per_dimension(dilation, 2, "dilation")
    counts = _counts(x.shape[2:], kernel, stride, dilation)
    out = F.windows(x, kernel=kernel, stride=stride, dilation=dilation)
    n, c = x.shape[:2]
    return F.reshape(out, shape=(n, c * math.prod(kernel), math.prod(counts)))


@composite("fold")
def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Images [N, C, H, W] as the sum of their windows, given as columns [N, C * kernel places, windows]."""
    x, kernel = as_tensor(x), per_dimension(kernel_size, 2, "kernel_size")
    places = math.prod(kernel)
    fits = x.ndim == 3 and x.shape[1] % places == 0
    require(fits, f"fold takes columns [N, C * {places}, windows], not shape {list(x.shape)}")
    shape = (x.shape[0], x.shape[1] // places, places, x.shape[2])
    return col2im(F.reshape(x, shape=shape), output_size, kernel, dilation, padding, stride)


@composite("col2im")
def col2im(x, output_size, kernel_size, dilation=1, padding_value=0, stride=1):
    """Images [N, C, H, W] as the sum of their windows, given as [N, C, kernel places, windows]."""
    x, kernel = as_tensor(x), per_dimension(kernel_size, 2, "kernel_size")
    stride, dilation = per_dimension(stride, 2, "stride"), per_dimension(dilation, 2, "dilation")
    padding = per_dimension(padding_value, 2, "padding", 0)
    if output_size.__class__ is Value:
        known = current().known(output_size)
        if known is None:
            raise StaticValueError(
                "`output_size` must be constant, but its value is known only at run time",
                hint="give it as a tuple of numbers",
            ).about(output_size)
        output_size = tuple(known.tolist())
    sizes = np.asarray(output_size).tolist() if is_tensor(output_size) else output_size
    sizes = per_dimension(sizes, 2, "output_size")
    wide = tuple([s + 2 * p for s, p in zip(sizes, padding, strict=True)])
    counts = _counts(wide, kernel, stride, dilation)
    fits = x.ndim == 4 and x.shape[2:] == (math.prod(kernel), math.prod(counts))
    require(fits, f"{list(x.shape)} does not hold the {math.prod(counts)} windows over {list(sizes)}")
    out = F.reshape(x, shape=(*x.shape[:2], *kernel, *counts))
    out = F.sum_windows(out, sizes=wide, kernel=kernel, stride=stride, dilation=dilation)
    if not any(padding):
        return out
    stops = [p + s for p, s in zip(padding, sizes, strict=True)]
    return F.slice(out, axes=(-2, -1), starts=padding, stops=stops, steps=(1, 1))
