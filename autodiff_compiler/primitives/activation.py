"""Activation functions, as composites of elementwise primitives: compiled code fuses them.

Integers become float32; formulas of several steps compute 16-bit floats in float32 and round once.  At a kink the
derivative is that of one side, as relu's 0 at 0 is: of the outer side of relu6, hardsigmoid and hardswish, of the inner
one of the shrinking functions, of the left one of leaky_relu, prelu, elu, selu.
Only hardtanh halves the cotangent at its bounds: it is a maximum and a minimum, which do.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..ir.primitive import F, Primitive, call, composite
from .family import FloatFunction, broadcast_to, cast, float_binary, normal_axis, promoted, promoted_dtype
from .normalization import wide
from .requirements import require, static_number
from .samples import real


def _float(x):
    return promoted(x, floating=True)[0]


def _rounded_once(function):
    """The function of a Tensor x (and others) whose 16-bit floats are computed in float32."""

    @functools.wraps(function)
    def public(x, *args, **kwargs):
        x, dtype = wide(x)
        return cast(function(x, *args, **kwargs), dtype)

    return public


def limited(x, low, high):
    """`x` clamped between two numbers; its derivative is 0 at and beyond them, nan stays."""
    return F.clamp(x, low=low, high=high, edge=0)


# ------------------------------------------------------------------------------------------------ smooth
class Gated(Primitive):
    """x * sigmoid(y), in one operation less."""

    internal = True
    infer = float_binary
    scalar = lambda k, x, y: k.divide(x, k.add(k.exp(k.negative(y)), 1))
    decomposed = lambda c, x, y: x * F.sigmoid(y)

    def vjp(c, g, x, y):
        share = F.sigmoid(y)
        return (g * share if c.needs.x else None), (g * (c.out * (1 - share)) if c.needs.y else None)

    samples = real(-3, 3, operands=2)
    ties = [(([2.0, 2.0], [800.0, -800.0]), {}, ([1.0, 0.0], [0.0, 0.0]))]


@composite("gelu")
@_rounded_once
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
    # beyond 30 it is 0 or 1 in every dtype, and the cube would overflow
    z = limited(x, -30, 30)
    cubic = call.add(call.mul(call.mul(z, z), 0.044715), 1)
    return F.gated(x, call.mul(call.mul(z, cubic), 2 * math.sqrt(2 / math.pi)))


@composite("silu", "swish")
@_rounded_once
def silu(x):
    """x * sigmoid(x), also called swish."""
    x = _float(x)
    return F.gated(x, x)


@composite()
@_rounded_once
def fast_gelu(x):
    """x * sigmoid(1.702 x), a rough gelu."""
    x = _float(x)
    return F.gated(x, call.mul(x, 1.702))


@composite("mish")
@_rounded_once
def mish(x):
    """x * tanh(softplus(x))."""
    x = _float(x)
    return call.mul(x, call.tanh(call.softplus(x)))


@composite("logsigmoid")
@_rounded_once
def logsigmoid(x):
    """log(sigmoid(x)), without overflow."""
    return call.neg(call.softplus(call.neg(_float(x))))


@composite("softsign")
@_rounded_once
def softsign(x):
    """x / (1 + abs(x))."""
    x = _float(x)
    return call.div(x, call.add(call.abs(x), 1))


#: (x - tanh(x)) / x near 0, in powers of x^2 from the highest on, by the ninth convergent of Lambert's fraction
#: tanh(x) = x / (1 + x^2 / (3 + x^2 / (5 + ...))).
_SHRINK_ABOVE = (44, 12870, 810810, 11486475)
_SHRINK_BELOW = (45, 13860, 945945, 16216200)
_SHRINK_LAST = 34459425


class Tanhshrink(FloatFunction):
    """x - tanh(x), which does not cancel near 0."""

    def numpy(x):
        size = np.absolute(x)
        s = np.square(np.minimum(size, 1))
        above = s * _SHRINK_ABOVE[0]
        below = s * _SHRINK_BELOW[0]
        for a, b in zip(_SHRINK_ABOVE[1:], _SHRINK_BELOW[1:], strict=True):
            above += a
            above *= s
            below += b
            below *= s
        below += _SHRINK_LAST
        above /= below
        above *= x
        far = x - np.tanh(x)
        # The choice is bitwise: `np.where` branches at every element.
        bits = (size < 1).astype(f"i{x.itemsize}")
        bits *= above.view(bits.dtype) ^ far.view(bits.dtype)
        bits ^= far.view(bits.dtype)
        return bits.view(x.dtype)

    def decomposed(c, x):
        size = F.abs(x)
        bounded = F.minimum(size, 1)
        s = bounded * bounded
        above = s * _SHRINK_ABOVE[0]
        below = s * _SHRINK_BELOW[0]
        for a, b in zip(_SHRINK_ABOVE[1:], _SHRINK_BELOW[1:], strict=True):
            above = (above + a) * s
            below = (below + b) * s
        return F.select(F.less(size, 1), above / (below + _SHRINK_LAST) * x, x - F.tanh(x))

    widen = True
    methods = ("tanhshrink",)

    def vjp(c, g, x):
        slope = F.tanh(x)
        return g * (slope * slope)

    samples = real(-3, 3)
    ties = [(([0.0, 800.0],), {}, ([0.0, 1.0],))]


@composite("softmin")
def softmin(x, axis=-1):
    """softmax(-x) along an axis."""
    return call.softmax(call.neg(_float(x)), axis)


@composite("glu")
@_rounded_once
def glu(x, axis=-1):
    """The first half of an axis times the sigmoid of the second."""
    a, b = _halves(_float(x), axis, "glu")
    return F.gated(a, b)


@composite("swiglu")
@_rounded_once
def swiglu(x, axis=-1):
    """silu of the first half of an axis times the second."""
    a, b = _halves(_float(x), axis, "swiglu")
    return call.mul(silu(a), b)


def _halves(x, axis, name):
    axis = normal_axis(axis, x.ndim)
    size = x.shape[axis]
    require(size % 2 == 0, f"{name} needs an axis of even size: axis {axis} of {list(x.shape)}")
    bounds = ((0, size // 2), (size // 2, size))
    return [F.slice(x, axes=(axis,), starts=(low,), stops=(high,), steps=(1,)) for low, high in bounds]


# ------------------------------------------------------------------------------------------- exponential below zero
def _exponential(x, alpha, scale):
    """x where it is positive, else alpha * (exp(x / scale) - 1)."""
    below = F.clamp(x, low=-math.inf, high=0)  # so that exp does not overflow, and either part is 0 beside the other
    below = call.expm1(below if scale == 1 else call.div(below, scale))
    return F.relu(x) + (below if alpha == 1 else call.mul(below, alpha))


@composite("elu")
@_rounded_once
def elu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x) - 1); its derivative at 0 is alpha."""
    return _exponential(_float(x), alpha, 1)


@composite("celu")
@_rounded_once
def celu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x / alpha) - 1): smooth for every alpha but 0."""
    if alpha == 0:
        raise ValueError("alpha of celu must not be 0")
    return _exponential(_float(x), alpha, alpha)


@composite("selu")
@_rounded_once
def selu(x):
    """elu with the two constants for which activations keep mean 0 and variance 1; at 0 the left derivative.

    Klambauer et al., "Self-normalizing neural networks" (2017).
    """
    return call.mul(_exponential(_float(x), 1.6732632423543772, 1), 1.0507009873554805)


# ------------------------------------------------------------------------------------------------ piecewise linear
@composite("leaky_relu")
def leaky_relu(x, alpha=0.2):
    """x where it is positive, else alpha * x; its derivative at 0 is alpha, so that of alpha 0 is the one of relu."""
    x = _float(x)
    return call.where(F.greater(x, 0), x, call.mul(x, alpha))


@composite("prelu")
def prelu(x, weight):
    """x where it is positive, else weight * x; one weight per channel (axis 1), or one for all.

    Its derivatives at 0 are the weight (for x) and 0 (for the weight).
    """
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
    """x between 0 and 6; its derivative at both is 0."""
    return limited(_float(x), 0, 6)


@composite("hardtanh")
def hardtanh(x, min_val=-1.0, max_val=1.0):
    """x between two bounds; at a bound the cotangent is halved, as by maximum and minimum."""
    min_val, max_val = static_number(min_val, "min_val"), static_number(max_val, "max_val")
    if not min_val < max_val:
        raise ValueError(f"hardtanh needs min_val < max_val, not {min_val} and {max_val}")
    return F.clamp(_float(x), low=min_val, high=max_val, edge=0.5)


@composite("hardsigmoid")
@_rounded_once
def hardsigmoid(x):
    """(x + 3) / 6 between 0 and 1; its derivative at -3 and 3 is 0."""
    return call.div(limited(call.add(_float(x), 3), 0, 6), 6)


@composite("hardswish")
@_rounded_once
def hardswish(x):
    """x * hardsigmoid(x); its derivative at -3 is 0, at 3 it is 1."""
    x = _float(x)
    return call.mul(x, hardsigmoid(x))


@composite("hardshrink")
def hardshrink(x, lambd=0.5):
    """x, but 0 from -lambd to lambd; its derivative at both is 0."""
    x = _float(x)
    return F.select(F.less_equal(call.abs(x), static_number(lambd, "lambd")), 0, x)


@composite("softshrink", "soft_shrink")
def softshrink(x, lambd=0.5):
    """x moved by lambd towards 0; 0 from -lambd to lambd, and so is its derivative."""
    lambd = static_number(lambd, "lambd")
    if lambd < 0:
        raise ValueError(f"lambd of softshrink must not be negative: {lambd}")
    x = _float(x)
    return call.sub(x, call.clamp(x, -lambd, lambd))


@composite()
def threshold(x, thr, value):
    """x where it is greater than `thr`, else `value`; its derivative at `thr` is 0."""
    return call.where(call.less_equal(x, thr), value, x)
