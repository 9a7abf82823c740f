"""Activation functions, as composites of elementwise primitives: compiled code fuses them.

Integers become float32.  At a kink the derivative is the one that relu's 0 at 0 suggests: that of the flatter side of
relu6, hardsigmoid, hardswish and the shrinking functions, and the left one of leaky_relu, prelu, elu, celu, selu.
"""

from __future__ import annotations

import math

from ..ir.primitive import F, call, composite
from .family import broadcast_to, normal_axis, promoted, promoted_dtype, require, static_number


def _float(x):
    return promoted(x, floating=True)[0]


def limited(x, low, high):
    """`x` between two numbers; no derivative at and beyond them, nan stays."""
    return F.select(F.less_equal(x, low), low, F.select(F.greater_equal(x, high), high, x))


# ------------------------------------------------------------------------------------------------ smooth
@composite("gelu")
def gelu(x, approximate="none"):
    """x times the normal distribution function of x, or (``approximate="tanh"``) its approximation by tanh.

    Hendrycks and Gimpel, "Gaussian error linear units" (2016).  By erfc it stays exact where the function vanishes.
    """
    x = _float(x)
    if approximate == "none":
        return call.mul(call.mul(x, 0.5), call.erfc(call.mul(x, -math.sqrt(0.5))))
    if approximate != "tanh":
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    # (1 + tanh(z)) / 2 is sigmoid(2 z), which does not cancel for negative z
    cubic = call.add(call.mul(call.mul(x, x), 0.044715), 1)
    return call.mul(x, call.sigmoid(call.mul(call.mul(x, cubic), 2 * math.sqrt(2 / math.pi))))


@composite("silu", "swish")
def silu(x):
    """x * sigmoid(x), also called swish."""
    x = _float(x)
    return call.mul(x, call.sigmoid(x))


@composite()
def fast_gelu(x):
    """x * sigmoid(1.702 x), a rough gelu."""
    x = _float(x)
    return call.mul(x, call.sigmoid(call.mul(x, 1.702)))


@composite("mish")
def mish(x):
    """x * tanh(softplus(x))."""
    x = _float(x)
    return call.mul(x, call.tanh(call.softplus(x)))


@composite("logsigmoid")
def logsigmoid(x):
    """log(sigmoid(x)), without overflow."""
    return call.neg(call.softplus(call.neg(_float(x))))


@composite("softsign")
def softsign(x):
    """x / (1 + abs(x))."""
    x = _float(x)
    return call.div(x, call.add(call.abs(x), 1))


@composite("tanhshrink")
def tanhshrink(x):
    """x - tanh(x)."""
    x = _float(x)
    return call.sub(x, call.tanh(x))


@composite("softmin")
def softmin(x, axis=-1):
    """softmax(-x) along an axis."""
    return call.softmax(call.neg(_float(x)), axis)


@composite("glu")
def glu(x, axis=-1):
    """The first half of an axis times the sigmoid of the second."""
    a, b = _halves(_float(x), axis, "glu")
    return call.mul(a, call.sigmoid(b))


@composite("swiglu")
def swiglu(x, axis=-1):
    """silu of the first half of an axis times the second."""
    a, b = _halves(_float(x), axis, "swiglu")
    return call.mul(silu(a), b)


def _halves(x, axis, name):
    axis = normal_axis(axis, x.ndim)
    size = x.shape[axis]
    require(type(size) is int and size % 2 == 0, f"{name} needs an axis of even size: axis {axis} of {list(x.shape)}")
    bounds = ((0, size // 2), (size // 2, size))
    return [F.slice(x, axes=(axis,), starts=(low,), stops=(high,), steps=(1,)) for low, high in bounds]


# ------------------------------------------------------------------------------------------- exponential below zero
def _exponential(x, alpha, scale):
    """x where it is positive, else alpha * (exp(x / scale) - 1)."""
    positive = F.greater(x, 0)
    below = F.select(positive, 0, x)  # keeps exp from overflowing on the side that is not taken
    below = call.expm1(below if scale == 1 else call.div(below, scale))
    return F.select(positive, x, below if alpha == 1 else call.mul(below, alpha))


@composite("elu")
def elu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return _exponential(_float(x), alpha, 1)


@composite("celu")
def celu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x / alpha) - 1): smooth for every alpha but 0."""
    if alpha == 0:
        raise ValueError("alpha of celu must not be 0")
    return _exponential(_float(x), alpha, alpha)


@composite("selu")
def selu(x):
    """elu with the two constants for which activations keep mean 0 and variance 1.

    Klambauer et al., "Self-normalizing neural networks" (2017).
    """
    return call.mul(_exponential(_float(x), 1.6732632423543772, 1), 1.0507009873554805)


# ------------------------------------------------------------------------------------------------ piecewise linear
@composite("leaky_relu")
def leaky_relu(x, alpha=0.2):
    """x where it is positive, else alpha * x."""
    x = _float(x)
    return call.where(F.greater(x, 0), x, call.mul(x, alpha))


@composite("prelu")
def prelu(x, weight):
    """x where it is positive, else weight * x; one weight per channel (axis 1), or one for all."""
    x, weight = promoted_dtype(_float(x), _float(weight))
    channels = x.shape[1] if x.ndim > 1 else 1
    require(weight.ndim == 1, f"the weight of prelu must have one dimension, not the shape {list(weight.shape)}")
    fits = weight.shape[0] in (1, channels)
    require(fits, f"prelu of {channels} channels needs one weight or {channels}, not {weight.shape[0]}")
    if x.ndim > 1:
        weight = F.reshape(weight, shape=(weight.shape[0], *(1,) * (x.ndim - 2)))
    return F.select(F.greater(x, 0), x, call.mul(x, broadcast_to(weight, x.shape)))


@composite("relu6")
def relu6(x):
    """x between 0 and 6."""
    return limited(_float(x), 0, 6)


@composite("hardtanh")
def hardtanh(x, min_val=-1.0, max_val=1.0):
    """x between two bounds; at a bound the cotangent is halved, as by maximum and minimum."""
    min_val, max_val = static_number(min_val, "min_val"), static_number(max_val, "max_val")
    if not min_val < max_val:
        raise ValueError(f"hardtanh needs min_val < max_val, not {min_val} and {max_val}")
    return call.minimum(call.maximum(_float(x), min_val), max_val)


@composite("hardsigmoid")
def hardsigmoid(x):
    """(x + 3) / 6 between 0 and 1."""
    return call.div(limited(call.add(_float(x), 3), 0, 6), 6)


@composite("hardswish")
def hardswish(x):
    """x * hardsigmoid(x)."""
    x = _float(x)
    return call.mul(x, hardsigmoid(x))


@composite("hardshrink")
def hardshrink(x, lambd=0.5):
    """x, but 0 from -lambd to lambd."""
    x = _float(x)
    return F.select(F.less_equal(call.abs(x), static_number(lambd, "lambd")), 0, x)


@composite("softshrink", "soft_shrink")
def softshrink(x, lambd=0.5):
    """x moved by lambd towards 0; 0 from -lambd to lambd."""
    lambd = static_number(lambd, "lambd")
    if lambd < 0:
        raise ValueError(f"lambd of softshrink must not be negative: {lambd}")
    x = _float(x)
    return call.sub(x, call.clamp(x, -lambd, lambd))


@composite()
def threshold(x, thr, value):
    """x where it is greater than `thr`, else `value`."""
    return call.where(call.less_equal(x, thr), value, x)
