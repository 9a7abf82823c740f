"""Interpolation: resizing of grids, and sampling them at any coordinates.

Resizing takes one axis after the other: positions and weights depend on sizes only, so they are constants.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from ..dtypes import int64
from ..ir.primitive import F, call, composite
from ..ir.types import dim_product, tensor
from .activation import limited
from .family import as_tensor, broadcast_to, cast, constant, promoted_dtype
from .normalization import wide
from .pooling import adaptive_avg_pooling, flattened
from .requirements import known_sizes, require, require_dtype, static_int

#: Modes by number of spatial dimensions: those that interpolate linearly have one name for each.
_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
#: The parameter of the cubic convolution kernel; Keys, "Cubic convolution interpolation" (1981), has -0.5.
_CUBIC = -0.75


# ------------------------------------------------------------------------------------------------ resizing
def _sizes(x, size, scale_factor, n):
    """The new spatial size, and the scale per dimension where one was given."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate needs either `size` or `scale_factor`")
    refused = f"{list(x.shape[2:])} cannot be resized: every size must be known, and not 0"
    old = known_sizes(x.shape[2:], refused)
    require(min(old) > 0, refused)
    given = scale_factor if size is None else size
    given = tuple(given) if isinstance(given, tuple | list) else (given,) * n
    if len(given) != n:
        raise ValueError(f"interpolate of {n} spatial dimensions needs one number or {n}, not {list(given)}")
    if size is not None:
        new, scales = tuple([static_int(d, "size") for d in given]), (None,) * n
    else:
        scales = tuple([float(s) for s in given])
        new = tuple([math.floor(d * s) for d, s in zip(old, scales, strict=True)])
    if min(new) < 1:
        raise ValueError(f"interpolate from {list(old)} to {list(new)}: every size must be positive")
    return old, new, scales


def _source_coordinates(old, new, scale, align_corners):
    """Coordinates of the new elements on the old axis; the first edges coincide, or (aligned) the first centres."""
    at = np.arange(new)
    if align_corners:
        return at * ((old - 1) / (new - 1)) if new > 1 else np.zeros(1)
    return (at + 0.5) * (old / new if scale is None else 1 / scale) - 0.5


def _nearest(old, new, scale, exact):
    at = np.arange(new)
    if scale is not None:
        index = np.floor((at + (0.5 if exact else 0.0)) / scale).astype(np.int64)
    else:
        index = (2 * at + exact) * old // (2 * new)
    return np.minimum(index, old - 1)


def cubic_weights(t, combine):
    """The weights of the elements at -1, 0, 1, 2 for t in [0, 1]; `combine(t, c)` evaluates the polynomial c at t."""
    a = _CUBIC
    return [
        combine(t, (a, -2 * a, a, 0)),
        combine(t, (a + 2, -a - 3, 0, 1)),
        combine(t, (-a - 2, 2 * a + 3, -a, 0)),
        combine(t, (-a, a, 0, 0)),
    ]


def _resampled(x, axis, positions, weights):
    """The sum of the elements at every row of positions, each times its weight."""
    total = None
    for position, weight in zip(positions, weights, strict=True):
        part = F.gather(x, constant(position, tensor(int64, position.shape)), axis=axis)
        weight = weight.astype(x.dtype.numpy).reshape(-1, *(1,) * (-1 - axis))
        part = call.mul(part, constant(weight, tensor(x.dtype, weight.shape)))
        total = part if total is None else total + part
    return total


def _linear_axis(x, axis, source):
    old = x.shape[axis]
    source = np.maximum(source, 0)
    low = np.minimum(np.floor(source).astype(np.int64), old - 1)
    t = source - low
    return _resampled(x, axis, (low, np.minimum(low + 1, old - 1)), (1 - t, t))


def _cubic_axis(x, axis, source):
    low = np.floor(source).astype(np.int64)
    positions = [np.clip(low + k, 0, x.shape[axis] - 1) for k in (-1, 0, 1, 2)]
    return _resampled(x, axis, positions, cubic_weights(source - low, lambda t, c: np.polyval(c, t)))


def _nearest_axis(x, axis, index):
    old, new = x.shape[axis], len(index)
    if new % old == 0 and np.array_equal(index, np.repeat(np.arange(old), new // old)):
        return F.repeat_elements(x, count=new // old, axis=axis)  # its derivative is a sum, not a scatter
    return F.gather(x, constant(index, tensor(int64, index.shape)), axis=axis)


@composite()
def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """x [batch, channels, ...] resized to `size`, or by `scale_factor`, over its spatial dimensions.

    Modes: "nearest", "nearest-exact" and "area" for 1 to 3 of them, "linear", "bilinear", "trilinear" for exactly 1, 2
    and 3, "bicubic" for 2.  With `align_corners` the centres of the corner elements coincide, otherwise their outer
    edges.  `recompute_scale_factor` takes the scale from the sizes, after rounding.
    """
    x = as_tensor(x)
    n = x.ndim - 2
    require(1 <= n <= 3, f"interpolate takes [batch, channels, ...] of 3 to 5 dimensions, not {list(x.shape)}")
    old, new, scales = _sizes(x, size, scale_factor, n)
    if recompute_scale_factor:
        scales = (None,) * n
    smooth = mode in (_LINEAR[n], "bicubic" if n == 2 else None)
    if align_corners is not None and not smooth:
        raise ValueError(f"align_corners has no meaning in mode {mode!r} of {n} spatial dimensions")
    if mode in ("nearest", "nearest-exact"):
        for i in range(n):
            x = _nearest_axis(x, i - n, _nearest(old[i], new[i], scales[i], mode == "nearest-exact"))
        return x
    if mode == "area":
        return adaptive_avg_pooling(x, new, n)
    if not smooth:
        raise ValueError(f"interpolate has no mode {mode!r} for {n} spatial dimensions")
    require_dtype(x.dtype.is_float, f"interpolate in mode {mode!r} is not defined for {x.dtype.name}")
    x, dtype = wide(x)
    along = _cubic_axis if mode == "bicubic" else _linear_axis
    for i in range(n):
        x = along(x, i - n, _source_coordinates(old[i], new[i], scales[i], bool(align_corners)))
    return cast(x, dtype)


# ------------------------------------------------------------------------------------------------ sampling
def _reflected(c, size, align_corners):
    """Coordinates reflected at the outer edges (aligned: at the outer centres) until they lie between them."""
    low, span = (0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return call.mul(c, 0)
    c = call.abs(call.sub(c, low))
    turns = call.floor(call.div(c, span))
    rest = call.sub(c, call.mul(turns, span))
    back = call.equal(call.mod(turns, 2), 1)
    return call.add(call.where(back, call.sub(span, rest), rest), low)


def _padded_coordinates(c, size, padding_mode, align_corners):
    """Coordinates clamped or reflected onto the grid, as `padding_mode` says."""
    if padding_mode == "zeros":
        return c
    if padding_mode == "reflection":
        c = _reflected(c, size, align_corners)
    return limited(c, 0, size - 1)


def _axis_samples(c, size, mode, padding_mode, align_corners):
    """(position, weight) pairs along one axis for coordinates c; positions are integers, perhaps outside."""
    if mode == "nearest":
        return [(call.round(_padded_coordinates(c, size, padding_mode, align_corners)), None)]
    if mode == "bilinear":
        c = _padded_coordinates(c, size, padding_mode, align_corners)
        low = call.floor(c)
        t = call.sub(c, low)
        return [(low, call.sub(1, t)), (call.add(low, 1), t)]
    low = call.floor(c)
    weights = cubic_weights(call.sub(c, low), _polynomial)
    positions = [_padded_coordinates(call.add(low, k), size, padding_mode, align_corners) for k in (-1, 0, 1, 2)]
    return list(zip(positions, weights, strict=True))


def _polynomial(t, coefficients):
    first, second, *rest = coefficients
    line = call.add(call.mul(t, first), second)
    return functools.reduce(lambda total, c: call.add(call.mul(total, t), c), rest, line)


@composite()
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """x [batch, channels, ...] sampled at the coordinates in `grid` [batch, ..., n], n being 2 or 3 spatial dimensions.

    Coordinates are listed from the last dimension to the first; -1 and 1 are the edges of the grid, or with
    `align_corners` the centres of its outer elements.  Outside lie zeros, the border, or the reflection of the grid; a
    coordinate that is nan gives 0.  Modes: "bilinear", "nearest", for 2 dimensions "bicubic".
    """
    x, grid = promoted_dtype(x, grid)
    n = x.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and n != 2):
        raise ValueError(f"grid_sample has no mode {mode!r} for {n} spatial dimensions")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"padding_mode must be 'zeros', 'border' or 'reflection', not {padding_mode!r}")
    fits = n in (2, 3) and grid.ndim == x.ndim and grid.shape[0] == x.shape[0] and grid.shape[-1] == n
    require(fits, f"grid_sample of {list(x.shape)} does not take a grid of shape {list(grid.shape)}")
    refused = f"a grid of {list(x.shape[2:])} cannot be sampled"
    sizes = known_sizes(x.shape[2:], refused)
    require(min(sizes) > 0, refused)
    (x, dtype), (grid, _) = wide(x), wide(grid)
    axes = []
    for i, size in enumerate(sizes):
        c = F.squeeze(F.slice(grid, axes=(-1,), starts=(n - 1 - i,), stops=(n - i,), steps=(1,)), axes=(-1,))
        c = call.mul(call.add(c, 1), (size - 1 if align_corners else size) / 2)
        c = c if align_corners else call.sub(c, 0.5)
        axes.append(_axis_samples(c, size, mode, padding_mode, bool(align_corners)))
    return cast(sampled(x, axes), dtype)


def sampled(x, axes):
    """The weighted sum over taps of elements of x [batch, channels, ...]: [batch, channels, *shape of a position].

    `axes` holds (position, weight) pairs of shape [batch, ...] for every spatial dimension; positions are integers, and
    zeros lie outside.
    """
    batch, channels, sizes = x.shape[0], x.shape[1], x.shape[2:]
    shape, size = axes[0][0][0].shape, dim_product(sizes)
    rows = F.transpose(flattened(x, len(sizes)), axes=(-3, -1, -2))  # the channels of an element are read together
    rows = F.reshape(rows, shape=(dim_product((batch, size)), channels))
    first = F.reshape(F.iota(start=0, step=size, size=batch, dtype=int64), shape=(batch, *(1,) * (len(shape) - 1)))
    first, total = broadcast_to(first, shape), None
    for taps in itertools.product(*axes):
        part = _weighted_rows(rows, first, sizes, [t[0] for t in taps], [t[1] for t in taps if t[1] is not None])
        total = part if total is None else total + part
    total = F.transpose(F.reshape(total, shape=(batch, dim_product(shape[1:]), channels)), axes=(-3, -1, -2))
    return F.reshape(total, shape=(batch, channels, *shape[1:]))


def _weighted_rows(rows, first, sizes, positions, weights):
    """The rows at integer positions, offset by `first`, times the product of the weights; 0 outside of the grid."""
    bounds = [(F.greater_equal(p, 0), F.less_equal(p, size - 1)) for p, size in zip(positions, sizes, strict=True)]
    met, index = functools.reduce(F.logical_and, itertools.chain(*bounds)), None
    for position, size in zip(positions, sizes, strict=True):
        position = F.cast(F.select(met, position, 0), dtype=int64)
        index = position if index is None else index * size + position
    count = dim_product(index.shape)
    part = F.gather(rows, F.reshape(index + first, shape=(count,)), axis=-2)

    def per_channel(v):
        return broadcast_to(F.reshape(v, shape=(count, 1)), part.shape)

    if weights:
        part = part * per_channel(functools.reduce(call.mul, weights))
    return F.select(per_channel(met), part, 0)


@composite()
def affine_grid(theta, size, align_corners=False):
    """Coordinates for `grid_sample`: a grid of `size` (batch, channels, ...) mapped by theta [batch, n, n + 1]."""
    theta = as_tensor(theta, "theta")
    sizes = tuple([static_int(d, "size") for d in size])[2:]
    n = len(sizes)
    fits = n in (2, 3) and theta.ndim == 3 and theta.shape[1:] == (n, n + 1) and theta.shape[0] == size[0]
    require(fits, f"theta of shape {list(theta.shape)} does not fit a grid of size {list(size)}")
    axes = [np.linspace(-1, 1, d) if d > 1 else np.zeros(1) for d in sizes]
    if not align_corners:
        axes = [axis * ((d - 1) / d) for axis, d in zip(axes, sizes, strict=True)]
    places = [p.reshape(-1) for p in reversed(np.meshgrid(*axes, indexing="ij"))]
    base = np.stack([*places, np.ones(math.prod(sizes))], -1).astype(theta.dtype.numpy)
    mapped = call.matmul(constant(base, tensor(theta.dtype, base.shape)), call.swapaxes(theta, -1, -2))
    return F.reshape(mapped, shape=(theta.shape[0], *sizes, n))
