"""Normalization over batches, layers, groups and instances, as composites: compiled code fuses them.

Statistics of 16-bit floats are computed in float32, and the variance from differences to the mean, so that it neither
overflows nor cancels.
"""

from __future__ import annotations

from ..dtypes import float32
from ..ir.primitive import F, call, composite
from ..ir.types import dim_product, known_same, same_dim, same_shape
from .family import as_shape, as_tensor, broadcast_to, cast, promoted
from .reduce import mean
from .requirements import require, static_int


def wide(x):
    """A float operand (integers become float32), 16-bit ones as float32; and the dtype that the result should have."""
    (x,) = promoted(x, floating=True)
    return (cast(x, float32) if x.dtype.bits == 16 else x), x.dtype


@composite(internal=True)
def moments(x, axes):
    """Mean and (biased) variance over axes, which stay with size 1."""
    center = mean(x, axes, keepdims=True)
    return center, _variance(call.sub(x, center), axes)


def _variance(difference, axes):
    return mean(call.mul(difference, difference), axes, keepdims=True)


def _scaled(x, center, variance, eps):
    return call.mul(call.sub(x, center), call.rsqrt(call.add(variance, eps)))


@composite(internal=True)
def standardize(x, axes, eps=1e-5):
    """x minus its mean, divided by the root of its variance + eps, over axes; x is a float tensor."""
    difference = call.sub(x, mean(x, axes, keepdims=True))
    return call.mul(difference, call.rsqrt(call.add(_variance(difference, axes), eps)))


def _affine(x, weight, bias, shape):
    """x * weight + bias, both of them given `shape`."""
    if weight is not None:
        x = call.mul(x, _parameter(weight, shape, "weight"))
    return x if bias is None else call.add(x, _parameter(bias, shape, "bias"))


def _parameter(p, shape, name):
    p = as_tensor(p, name)
    fits = same_dim(dim_product(p.shape), dim_product(shape))
    message = f"`{name}` of shape {list(p.shape)} does not fit {list(shape)}"
    require(fits, message, between=(dim_product(p.shape), dim_product(shape)))
    return p if known_same(p.shape, shape) else F.reshape(p, shape=shape)


def _per_channel(x):
    return (x.shape[1], *(1,) * (x.ndim - 2))


@composite()
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """x standardized over its last dimensions, which are `normalized_shape`; times weight plus bias of that shape."""
    x, dtype = wide(x)
    shape = as_shape((normalized_shape,))
    n = len(shape)
    fits = 0 < n <= x.ndim and same_shape(x.shape[x.ndim - n :], shape)
    message = f"a tensor of shape {list(x.shape)} does not end with normalized_shape {list(shape)}"
    require(fits, message, between=(x.shape[-n:], shape))
    return cast(_affine(standardize(x, tuple(range(-n, 0)), eps), weight, bias, shape), dtype)


@composite()
def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    """x [batch, channels, ...] standardized over groups of neighbouring channels; weight and bias per channel."""
    x, dtype = wide(x)
    groups = static_int(num_groups, "num_groups")
    require(x.ndim >= 2, f"group_norm takes [batch, channels, ...], not {list(x.shape)}")
    fits = groups > 0 and x.shape[1] % groups == 0
    require(fits, f"{x.shape[1]} channels cannot be divided into {groups} groups")
    apart = F.reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    out = F.reshape(standardize(apart, tuple(range(2 - apart.ndim, 0)), eps), shape=x.shape)
    return cast(_affine(out, weight, bias, _per_channel(x)), dtype)


@composite()
def instance_norm(x, weight=None, bias=None, eps=1e-5):
    """x [batch, channels, ...] standardized for every sample and channel; weight and bias per channel."""
    x, dtype = wide(x)
    require(x.ndim >= 3, f"instance_norm takes [batch, channels, ...] of at least 3 dimensions, not {list(x.shape)}")
    out = standardize(x, tuple(range(2 - x.ndim, 0)), eps)
    return cast(_affine(out, weight, bias, _per_channel(x)), dtype)


@composite()
def batch_norm(x, center, variance, weight=None, bias=None, eps=1e-5):
    """x [batch, channels, ...] normalized by a mean and a variance per channel; weight and bias per channel.

    In training these are `batch_moments`; otherwise the moving averages.
    """
    x, dtype = wide(x)
    require(x.ndim >= 2, f"batch_norm takes [batch, channels, ...], not {list(x.shape)}")
    shape = _per_channel(x)
    center, variance = _parameter(center, shape, "mean"), _parameter(variance, shape, "variance")
    return cast(_affine(_scaled(x, center, variance, eps), weight, bias, shape), dtype)


@composite(internal=True)
def batch_moments(x):
    """Mean and biased variance of every channel of x [batch, channels, ...], and how many elements a channel has.

    Of 16-bit floats they are float32.
    """
    x, _ = wide(x)
    require(x.ndim >= 2, f"batch_norm takes [batch, channels, ...], not {list(x.shape)}")
    center, variance = moments(x, (0, *range(2, x.ndim)))
    number = dim_product((x.shape[0], *x.shape[2:]))
    flat = (x.shape[1],)
    return F.reshape(center, shape=flat), F.reshape(variance, shape=flat), number


@composite()
def rms_norm(x, gamma, eps=1e-6):
    """x divided by the root of the mean of its squares over the last dimensions, those of gamma; times gamma.

    Returns that and the reciprocal of the root, in which these dimensions have size 1.
    """
    x, dtype = wide(x)
    gamma = as_tensor(gamma, "gamma")
    n = gamma.ndim
    fits = 0 < n <= x.ndim and same_shape(x.shape[x.ndim - n :], gamma.shape)
    require(fits, f"a tensor of shape {list(x.shape)} does not end with the shape of gamma {list(gamma.shape)}")
    factor = call.rsqrt(call.add(_variance(x, tuple(range(-n, 0))), eps))
    return cast(call.mul(call.mul(x, factor), broadcast_to(gamma, x.shape)), dtype), factor


@composite(internal=True)
def local_response_norm(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    """x / (bias + alpha * sum of squares over neighbouring channels) ** beta, for x [batch, channels, ...].

    The neighbours are the `depth_radius` channels on either side.  Krizhevsky et al., "ImageNet classification with
    deep convolutional neural networks" (2012).
    """
    x, dtype = wide(x)
    require(x.ndim >= 2, f"lrn takes [batch, channels, ...], not {list(x.shape)}")
    radius = static_int(depth_radius, "depth_radius")
    squares = F.reshape(call.mul(x, x), shape=(x.shape[0], x.shape[1], dim_product(x.shape[2:])))
    total = F.window_sum(squares, kernel=(2 * radius + 1, 1), stride=(1, 1), padding=(radius, radius, 0, 0))
    total = F.reshape(total, shape=x.shape)
    return cast(call.div(x, call.pow(call.add(call.mul(total, alpha), bias), beta)), dtype)
