"""Convolution over any number of spatial dimensions, and the two maps that its derivatives are.

`conv(x, w)` is linear in both operands; `conv_input(g, w)` is its transpose in x and `conv_filter(x, g)` that in w.
Each is again linear in both of its operands, and the transposes of the three are the three: so the derivatives of every
order stay inside the family.

The kernels multiply matrices (im2col): the filters by the columns, which hold the elements under every window.  The
columns are made in blocks that fit into the cache.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import float32, float64
from ..ir.primitive import F, Ints, Primitive, composite
from ..ir.sizes import largest, may_be_at_most
from ..ir.types import Shape, TensorType, same_dim, same_shape, tensor
from .family import as_tensor, broadcast_to, promoted_dtype
from .flops import size_of_type
from .index import to_front
from .requirements import known_size, require, require_dtype
from .window import counts_of, padding_pairs, per_dimension, window_counts, window_taps

#: The most elements of columns in one block.
COLUMNS = 1 << 20


# ------------------------------------------------------------------------------------------------ types
def _conv_type(x, w, stride, padding, dilation, groups):
    n = len(stride)
    same = x.dtype is w.dtype and x.dtype.is_float
    require_dtype(same, f"a convolution of {x} with {w}: both must be of one float dtype")
    require(x.ndim == w.ndim == n + 2, f"a convolution over {n} dimensions takes tensors of {n + 2}, not {x} and {w}")
    kernel = all(type(d) is int for d in w.shape[2:])
    require(kernel, f"the sizes of a window must be known, and those of {w} are {list(w.shape[2:])}")
    require(groups > 0 and w.shape[0] % groups == 0, f"{w.shape[0]} filters cannot be divided into {groups} groups")
    channels = w.shape[1] * groups
    require(
        x.shape[1] == channels,
        f"{x} has {x.shape[1]} channels, the filters {w} in {groups} groups take {channels}",
        hint="the layouts are [batch, channels, ...] and [filters, channels / groups, ...]",
        between=(x.shape[1], channels),
    )
    counts = window_counts(x.shape[2:], w.shape[2:], stride, padding, dilation)
    return tensor(x.dtype, (x.shape[0], w.shape[0], *counts))


def _input_type(g, w, size, stride, padding, dilation, groups):
    require(g.ndim == w.ndim == len(size) + 2, f"{g} and {w} do not fit a result of {len(size)} spatial dimensions")
    x = tensor(g.dtype, (g.shape[0], w.shape[1] * groups, *size))
    made = _conv_type(x, w, stride, padding, dilation, groups)
    same = made.dtype is g.dtype and same_shape(made.shape, g.shape)
    require(same, f"{g} is no convolution of {x} with {w}, which is {made}")
    return x


def _filter_type(x, g, kernel, stride, padding, dilation, groups):
    n = len(kernel)
    require(x.ndim == g.ndim == n + 2, f"{x} and {g} do not fit filters of {n} spatial dimensions")
    require(groups > 0 and x.shape[1] % groups == 0, f"{x.shape[1]} channels cannot be divided into {groups} groups")
    w = tensor(x.dtype, (g.shape[1], x.shape[1] // groups, *kernel))
    made = _conv_type(x, w, stride, padding, dilation, groups)
    same = made.dtype is g.dtype and same_dim(made.shape[0], g.shape[0]) and made.shape[1:] == g.shape[1:]
    require(same, f"{g} is no convolution of {x} with {w}, which is {made}")
    return w


def _fold_into_batch(x):
    """The axis of examples (of a `vmap`) merged with the next one: a larger batch, or more filters."""
    return F.reshape(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))


def _fold_into_channels(n, x, had):
    """The axis of examples merged into the channels: one group of channels per example, each with its own filters."""
    x = to_front(x if had else broadcast_to(x, (n, *x.shape)), 1)
    return F.reshape(x, shape=(x.shape[0], n * x.shape[2], *x.shape[3:]))


def _unfold_channels(n, x):
    """The inverse of `_fold_into_channels`."""
    return to_front(F.reshape(x, shape=(x.shape[0], n, x.shape[1] // n, *x.shape[2:])), 1)


# ------------------------------------------------------------------------------------------------ kernels
def conv_blocks(batch, counts, columns):
    """(first sample, samples, first row, rows) of nearly equal blocks of at most `COLUMNS` elements of columns."""
    whole = max(1, columns * math.prod(counts))
    parts = -(-batch // max(1, COLUMNS // whole))
    samples = -(-batch // max(1, parts)) or 1
    rows = max(1, min(counts[0], COLUMNS * counts[0] // whole))
    return [
        (i, min(samples, batch - i), r, min(rows, counts[0] - r))
        for r in range(0, counts[0], rows)
        for i in range(0, batch, samples)
    ]


def block_taps(sizes, counts, kernel, stride, padding, dilation, row, rows):
    """The `window_taps` of `rows` rows of windows from `row` on."""
    padding = (padding[0] - row * stride[0], *padding[1:])
    return window_taps(sizes, (rows, *counts[1:]), kernel, stride, padding, dilation)


def fill_columns(columns, x, taps):
    """Writes the elements of `x` under every window into zeros of shape [samples, channels, taps, *windows]."""
    for k, (windows, elements) in enumerate(taps):
        columns[(slice(None), slice(None), k, *windows)] = x[(slice(None), slice(None), *elements)]


def _conv_flops(x, w, *, stride, padding, dilation, groups):
    counts = counts_of(x.shape[2:], w.shape[2:], stride, padding, dilation)
    return 2 * x.shape[0] * math.prod(counts) * math.prod(w.shape)


def _filter_flops(x, g, *, kernel, groups, **_):
    return 2 * size_of_type(g) * (x.shape[1] // groups) * math.prod(kernel)


class Conv(Primitive):
    """Cross-correlation of ``x`` [batch, channels, ...] with the filters ``w`` [filters, channels / groups, ...]."""

    internal = True

    def infer(x: TensorType, w: TensorType, *, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1):
        return _conv_type(x, w, stride, padding, dilation, groups)

    def aclnn(c, x, w):
        x, padding = c.padded(x, c.padding)
        c.op(
            "Convolution", x, w, None, c.stride, padding, c.dilation, False, (0,) * len(c.stride), c.groups, c.out, 0
        )  # fmt: skip

    def batch(c, n, x, w):
        geometry = {"stride": c.stride, "padding": c.padding, "dilation": c.dilation}
        if c.needs.w:
            if c.groups == 1 and not c.needs.x:
                return _unfold_channels(n, F.conv(x, _fold_into_batch(w), **geometry))
            x = _fold_into_channels(n, x, c.needs.x)
            return _unfold_channels(n, F.conv(x, _fold_into_batch(w), **geometry, groups=n * c.groups))
        flat = F.conv(_fold_into_batch(x), w, **geometry, groups=c.groups)
        return F.reshape(flat, shape=(*x.shape[:2], *flat.shape[1:]))

    flops = _conv_flops
    blas = True

    def numpy(x, w, *, stride, padding, dilation, groups):
        (batch, channels, *sizes), (filters, _, *kernel) = x.shape, w.shape
        counts = counts_of(sizes, kernel, stride, padding, dilation)
        out = np.empty((batch, filters, *counts), x.dtype)
        w = w.reshape(groups, filters // groups, math.prod(w.shape[1:]))
        flat = out.reshape(batch, *w.shape[:2], math.prod(counts))
        if all(k == s == 1 for k, s in zip(kernel, stride, strict=True)) and not any(padding):  # columns are x
            np.matmul(w, x.reshape(batch, groups, *w.shape[2:], flat.shape[3]), out=flat)
            return out
        taps, width, made = math.prod(kernel), math.prod(counts[1:]), ()
        together = batch > 1 and flat.shape[3] <= 32  # products per sample would have too few columns to be fast
        for i, samples, row, rows in conv_blocks(batch, counts, channels * taps):
            if together:
                where = block_taps(sizes, counts, kernel, stride, padding, dilation, row, rows)
                buffer = np.zeros((channels, taps, samples, rows, *counts[1:]), x.dtype)
                fill_columns(np.moveaxis(buffer, 2, 0), x[i : i + samples], where)
                columns = np.matmul(w, buffer.reshape(groups, w.shape[2], samples * rows * width))
                columns = columns.reshape(filters, samples, rows, *counts[1:])
                out[i : i + samples, :, row : row + rows] = columns.swapaxes(0, 1)
                continue
            if made != (row, rows):
                made = row, rows
                where = block_taps(sizes, counts, kernel, stride, padding, dilation, row, rows)
                buffer = np.zeros((min(batch, samples), channels, taps, rows, *counts[1:]), x.dtype)
            fill_columns(buffer[:samples], x[i : i + samples], where)
            columns = buffer[:samples].reshape(samples, groups, w.shape[2], rows * width)
            np.matmul(w, columns, out=flat[i : i + samples, :, :, row * width : (row + rows) * width])
        return out

    widen = True

    def vjp(c, g, x, w):
        geometry = {"stride": c.stride, "padding": c.padding, "dilation": c.dilation, "groups": c.groups}
        gx = F.conv_input(g, w, size=x.shape[2:], **geometry) if c.needs.x else None
        return gx, (F.conv_filter(x, g, kernel=w.shape[2:], **geometry) if c.needs.w else None)

    def samples(rng):
        yield from _conv_samples(rng, lambda x, w, g, attrs: (x, w, attrs))

    errors = [
        (
            (tensor(float32, (1, 2, 5)), tensor(float32, (2, 2, 3))),
            {"stride": (-1,), "padding": (0, 0), "dilation": (1,)},
            "strides and dilations must be at least 1",
        ),
        (
            (tensor(float32, (1, 3, 5)), tensor(float32, (2, 2, 3))),
            {"stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "3 channels, the filters",
        ),
        (
            (tensor(float32, (1, 2, 2)), tensor(float32, (2, 2, 3))),
            {"stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "does not fit into [2]",
        ),
        (
            (tensor(float32, (1, 2, 5)), tensor(float64, (2, 2, 3))),
            {"stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "one float dtype",
        ),
        (
            (tensor(float32, (1, 4, 5)), tensor(float32, (3, 2, 3))),
            {"stride": (1,), "padding": (0, 0), "dilation": (1,), "groups": 2},
            "3 filters cannot be divided into 2",
        ),
        (
            (tensor(float32, (4, 5)), tensor(float32, (3, 2, 3))),
            {"stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "takes tensors of 3",
        ),
    ]


class ConvInput(Primitive):
    """Transpose of `conv` in its first operand: what every filter, times the element of ``g``, adds to an input.

    ``g`` is [batch, filters, ...], ``w`` [filters, channels / groups, ...]; `size` is the spatial size of the result.
    """

    internal = True

    def infer(
        g: TensorType, w: TensorType, *, size: Shape, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1
    ):
        return _input_type(g, w, size, stride, padding, dilation, groups)

    def aclnn(c, g, w):
        before, after = c.padding[::2], c.padding[1::2]
        wide = [n + b + a for n, b, a in zip(c.size, before, after, strict=True)]
        x, nothing = c.temp((*c.out.shape[:2], *wide), c.out.dtype), c.like(w)
        c.op(
            "ConvolutionBackward", g, c.number(0, x).broadcast(x.shape), w, w.shape[:1], c.stride, (0,) * len(wide),
            c.dilation, False, (0,) * len(wide), c.groups, (True, False, False), 0, x, nothing,
            c.temp(w.shape[:1], w.dtype),
        )  # fmt: skip
        for i, (n, b) in enumerate(zip(c.size, before, strict=True)):
            x = x.sliced(i + 2, b, n)
        c.give(x)

    def batch(c, n, g, w):
        geometry = {"size": c.size, "stride": c.stride, "padding": c.padding, "dilation": c.dilation}
        if c.needs.w:
            g = _fold_into_channels(n, g, c.needs.g)
            return _unfold_channels(n, F.conv_input(g, _fold_into_batch(w), **geometry, groups=n * c.groups))
        flat = F.conv_input(_fold_into_batch(g), w, **geometry, groups=c.groups)
        return F.reshape(flat, shape=(*g.shape[:2], *flat.shape[1:]))

    flops = lambda g, w, **_: 2 * size_of_type(g) * math.prod(w.shape[1:])
    blas = True

    def numpy(g, w, *, size, stride, padding, dilation, groups):
        (batch, filters, *counts), kernel, taps = g.shape, w.shape[2:], math.prod(w.shape[2:])
        channels = w.shape[1] * groups
        transposed = w.reshape(groups, filters // groups, -1).swapaxes(1, 2)
        out = np.zeros((batch, channels, *size), g.dtype)
        product = np.multiply if filters == groups else np.matmul  # of a column and a row: many times faster
        made = ()
        for i, samples, row, rows in conv_blocks(batch, counts, channels * taps):
            if made != (row, rows):
                made = row, rows
                where = block_taps(size, counts, kernel, stride, padding, dilation, row, rows)
                shape = (groups, transposed.shape[1], rows * math.prod(counts[1:]))
                buffer = np.empty((min(batch, samples), *shape), g.dtype)
            part = g[i : i + samples, :, row : row + rows].reshape(samples, groups, filters // groups, shape[2])
            columns = product(transposed, part, out=buffer[:samples])
            columns = columns.reshape(samples, channels, taps, rows, *counts[1:])
            target = out[i : i + samples]
            for k, (windows, elements) in enumerate(where):
                target[(slice(None), slice(None), *elements)] += columns[(slice(None), slice(None), k, *windows)]
        return out

    widen = True

    def vjp(c, ct, g, w):
        geometry = {"stride": c.stride, "padding": c.padding, "dilation": c.dilation, "groups": c.groups}
        gg = F.conv(ct, w, **geometry) if c.needs.g else None
        return gg, (F.conv_filter(ct, g, kernel=w.shape[2:], **geometry) if c.needs.w else None)

    def samples(rng):
        yield from _conv_samples(rng, lambda x, w, g, attrs: (g, w, {"size": x.shape[2:], **attrs}))

    errors = [
        (
            (tensor(float32, (1, 2, 4)), tensor(float32, (2, 2, 3))),
            {"size": (5,), "stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "which is f32[1,2,3]",
        ),
        (
            (tensor(float32, (1, 2)), tensor(float32, (2, 2, 3))),
            {"size": (5,), "stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "1 spatial dimensions",
        ),
    ]


class ConvFilter(Primitive):
    """Transpose of `conv` in its second operand: ``x`` under every window times the element of ``g``, summed.

    ``x`` is [batch, channels, ...], ``g`` [batch, filters, ...]; `kernel` is the spatial size of the result.
    """

    internal = True

    def infer(
        x: TensorType, g: TensorType, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1
    ):
        return _filter_type(x, g, kernel, stride, padding, dilation, groups)

    def aclnn(c, x, g):
        if not (x.size and g.size):
            return c.op("InplaceFillScalar", c.out, 0)
        x, padding = c.padded(x, c.padding)
        return c.op(
            "ConvolutionBackward", g, x, c.number(0, x).broadcast(c.out.shape), c.out.shape[:1], c.stride, padding,
            c.dilation, False, (0,) * len(padding), c.groups, (False, True, False), 0, c.like(x), c.out,
            c.temp(c.out.shape[:1], x.dtype),
        )  # fmt: skip

    def batch(c, n, x, g):
        geometry = {"kernel": c.kernel, "stride": c.stride, "padding": c.padding, "dilation": c.dilation}
        x, g = _fold_into_channels(n, x, c.needs.x), _fold_into_channels(n, g, c.needs.g)
        w = F.conv_filter(x, g, **geometry, groups=n * c.groups)
        return F.reshape(w, shape=(n, w.shape[0] // n, *w.shape[1:]))

    flops = _filter_flops
    blas = True

    def numpy(x, g, *, kernel, stride, padding, dilation, groups):
        (batch, channels, *sizes), (_, filters, *counts) = x.shape, g.shape
        taps, made = math.prod(kernel), ()
        out = np.zeros((groups, filters // groups, channels // groups * taps), x.dtype)
        # Whole windows are copied where the elements under one tap are strided far apart.
        long = len(kernel) == 1 and kernel[0] >= 16 and stride[0] > 1 and dilation[0] == 1 and not any(padding)
        for i, samples, row, rows in conv_blocks(batch, counts, channels * taps):
            if long:
                windows = np.lib.stride_tricks.sliding_window_view(x[i : i + samples], taps, 2)[:, :, :: stride[0]]
                windows = windows[:, :, row : row + rows].reshape(samples, groups, -1, rows, taps)
                columns = windows.transpose(1, 0, 3, 2, 4).reshape(groups, samples * rows, -1)
                part = g[i : i + samples, :, row : row + rows].swapaxes(0, 1)
                out += np.matmul(part.reshape(groups, filters // groups, -1), columns)
                continue
            if made != (samples, row, rows):
                made = samples, row, rows
                where = block_taps(sizes, counts, kernel, stride, padding, dilation, row, rows)
                buffer = np.zeros((channels, taps, samples, rows, *counts[1:]), x.dtype)
            fill_columns(np.moveaxis(buffer, 2, 0), x[i : i + samples], where)
            columns = buffer.reshape(groups, out.shape[2], -1)
            part = g[i : i + samples, :, row : row + rows].swapaxes(0, 1)
            out += np.matmul(part.reshape(groups, filters // groups, -1), columns.swapaxes(1, 2))
        return out.reshape(filters, channels // groups, *kernel)

    widen = True

    def vjp(c, ct, x, g):
        geometry = {"stride": c.stride, "padding": c.padding, "dilation": c.dilation, "groups": c.groups}
        gx = F.conv_input(g, ct, size=x.shape[2:], **geometry) if c.needs.x else None
        return gx, (F.conv(x, ct, **geometry) if c.needs.g else None)

    def samples(rng):
        yield from _conv_samples(rng, lambda x, w, g, attrs: (x, g, {"kernel": w.shape[2:], **attrs}))

    errors = [
        (
            (tensor(float32, (1, 2, 5)), tensor(float32, (1, 2, 4))),
            {"kernel": (3,), "stride": (1,), "padding": (0, 0), "dilation": (1,)},
            "which is f32[1,2,3]",
        ),
        (
            (tensor(float32, (1, 3, 5)), tensor(float32, (1, 2, 3))),
            {"kernel": (3,), "stride": (1,), "padding": (0, 0), "dilation": (1,), "groups": 2},
            "3 channels cannot",
        ),
    ]


def _conv_samples(rng, operands):
    """Convolutions that differ in dimensions, stride, padding, dilation, groups; and one without samples."""
    for x, w, g, attrs in (
        ((2, 3, 4, 5), (2, 3, 3, 2), (2, 2, 2, 6), ((2, 1), (1, 1, 2, 0), (1, 1), 1)),
        ((1, 4, 7), (2, 2, 3), (1, 2, 3), ((1,), (0, 0), (2,), 2)),
        ((2, 2, 4), (3, 2, 1), (2, 3, 4), ((1,), (0, 0), (1,), 1)),
        ((1, 1, 3, 3, 2), (2, 1, 2, 2, 2), (1, 2, 2, 2, 1), ((1, 1, 1), (0,) * 6, (1, 1, 1), 1)),
        ((0, 1, 3), (1, 1, 2), (0, 1, 2), ((1,), (0, 0), (1,), 1)),
    ):
        named = dict(zip(("stride", "padding", "dilation", "groups"), attrs, strict=True))
        yield operands(rng(*x), rng(*w), rng(*g), named)


# ------------------------------------------------------------------------------------------------ public forms
def same_padding(sizes, kernel, stride, dilation):
    """The padding for which windows begin at every stride-th element; where it is odd, the end gets more."""
    pairs = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        left = known_size((size - 1) % s, f"how a stride of {s} divides {size} elements must be known")
        total = max(0, d * (k - 1) - left)
        pairs += [total // 2, total - total // 2]
    return tuple(pairs)


def resolved_padding(pad_mode, padding, sizes, kernel, stride, dilation):
    """The padding that `pad_mode` means: "valid" none, "same" as `same_padding`, "pad" as many as `padding` says."""
    n = len(kernel)
    pairs = padding_pairs(padding, n)
    if pad_mode == "pad":
        return pairs
    if any(pairs):
        raise ValueError(f"padding={padding!r} has no meaning with pad_mode={pad_mode!r}: use pad_mode='pad'")
    if pad_mode == "valid":
        return (0,) * 2 * n
    if pad_mode == "same":
        return same_padding(sizes, kernel, stride, dilation)
    raise ValueError(f"pad_mode must be 'valid', 'same' or 'pad', not {pad_mode!r}")


def _operands(x, w, bias, n):
    """The operands of one dtype, and whether the input came without a batch."""
    x, w = as_tensor(x, "input"), as_tensor(w, "weight")
    n = w.ndim - 2 if n is None else n
    single = x.ndim == n + 1
    require(
        n > 0 and w.ndim == n + 2 and x.ndim in (n + 1, n + 2),
        f"a convolution over {n} dimensions takes an input [batch, channels, ...] and a weight of {n + 2} dimensions, "
        f"not {list(x.shape)} and {list(w.shape)}",
    )
    x, w, *bias = promoted_dtype(x, w, *([] if bias is None else [bias]))
    return F.expand_dims(x, axes=(-x.ndim - 1,)) if single else x, w, bias, n, single


def _finished(out, bias, single):
    if bias:
        out = bias_add(out, bias[0])
    return F.squeeze(out, axes=(-out.ndim,)) if single else out


@composite(internal=True)
def convolution(x, w, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1, n=None):
    """Convolution over n spatial dimensions of [batch, channels, ...], or [channels, ...], plus a bias per filter."""
    x, w, bias, n, single = _operands(x, w, bias, n)
    stride, dilation = per_dimension(stride, n, "stride"), per_dimension(dilation, n, "dilation")
    pairs = resolved_padding(pad_mode, padding, x.shape[2:], w.shape[2:], stride, dilation)
    return _finished(F.conv(x, w, stride=stride, padding=pairs, dilation=dilation, groups=groups), bias, single)


@composite(internal=True)
def transposed_convolution(
    x, w, bias=None, stride=1, pad_mode="pad", padding=0, output_padding=0, dilation=1, groups=1, n=None
):
    """The transpose of `convolution` in its input, for filters [channels, channels of the result / groups, ...].

    A convolution of the result with the same arguments has the shape of x.  `output_padding` elements are appended to
    each dimension of it: of the sizes that a strided convolution maps to that of x, it chooses one.
    """
    x, w, bias, n, single = _operands(x, w, bias, n)
    stride, dilation = per_dimension(stride, n, "stride"), per_dimension(dilation, n, "dilation")
    extra = per_dimension(output_padding, n, "output_padding", 0)
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e >= max(s, d):
            raise ValueError(f"output_padding {list(extra)} must be less than the stride or the dilation")
    if pad_mode == "same":
        size = tuple([t * s for t, s in zip(x.shape[2:], stride, strict=True)])
        pairs = resolved_padding(pad_mode, padding, size, w.shape[2:], stride, dilation)
    else:
        pairs = resolved_padding(pad_mode, padding, x.shape[2:], w.shape[2:], stride, dilation)
        size = tuple(
            [
                (t - 1) * s + d * (k - 1) + 1 - pairs[2 * i] - pairs[2 * i + 1] + e
                for i, (t, s, k, d, e) in enumerate(zip(x.shape[2:], stride, w.shape[2:], dilation, extra, strict=True))
            ]
        )
        fits = all(may_be_at_most(1, n) for n in size)
        require(fits, f"the result would have the spatial size {list(size)}: the padding is too large")
        # MindSpore 2.10: a transposed convolution with "valid" gives at least `stride` elements for each of its input.
        if pad_mode == "valid":
            size = tuple([largest(d, t * s) for d, t, s in zip(size, x.shape[2:], stride, strict=True)])
    out = F.conv_input(x, w, size=size, stride=stride, padding=pairs, dilation=dilation, groups=groups)
    return _finished(out, bias, single)


@composite()
def bias_add(x, bias):
    """`x` [batch, channels, ...] plus one number per channel."""
    x, bias = promoted_dtype(x, bias)
    fits = bias.ndim == 1 and x.ndim >= 2 and same_dim(x.shape[1], bias.shape[0])
    message = f"a bias of shape {list(bias.shape)} does not fit the channels (axis 1) of {list(x.shape)}"
    require(fits, message, between=(bias.shape[:1], x.shape[1:2]))
    return x + F.broadcast_to(F.reshape(bias, shape=(bias.shape[0], *(1,) * (x.ndim - 2))), shape=x.shape)
