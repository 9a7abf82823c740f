"""Arithmetic of elements written over other ops; signs, exponents and last digits of floats."""

from __future__ import annotations

import math

from ..dtypes import bool_, float64
from ..ir.primitive import F, call, composite
from .elementwise import ExtremePair, winners_share
from .family import FloatPair, as_tensor, in_dtype, promoted, promoted_dtype
from .requirements import require_dtype
from .samples import real as pairs


@composite("positive")
def positive(x):
    """The same tensor; DTypeError for bools."""
    x = as_tensor(x)
    require_dtype(not x.dtype.is_bool, "positive is not defined for bools")
    return x


@composite("deg2rad")
def deg2rad(x):
    """Degrees as radians."""
    return call.mul(x, math.pi / 180)


@composite("rad2deg")
def rad2deg(x):
    """Radians as degrees."""
    return call.mul(x, 180 / math.pi)


@composite("angle")
def angle(x):
    """0 for numbers from 0 on, pi for negative ones; nan stays.  Its derivative is 0."""
    (x,) = promoted(x, floating=True)
    x = call.stop_gradient(as_tensor(x))
    return call.where(call.isnan(x), x, call.where(call.less(x, 0), math.pi, call.zeros_like(x)))


def _known_share(loses, x, y, g):
    """The cotangent of x: none if it loses or alone is nan, half at a tie or if both are nan, else all of it."""
    tie = F.equal(x, y)
    if x.dtype.is_float:
        nan = F.isnan(x)
        loses = F.logical_or(loses, F.logical_and(nan, F.equal(y, y)))
        tie = F.logical_or(tie, F.logical_and(nan, F.isnan(y)))
    return winners_share(loses, tie, g)


class Fmax(ExtremePair):
    """The greater of two elements, a number if only one of them is one; at a tie the cotangent is halved."""

    scalar = lambda k, x, y: k.fmax(x, y)
    methods = ("fmax",)

    def decomposed(c, x, y):
        return F.select(F.logical_or(F.greater_equal(x, y), F.not_equal(y, y)), x, y)

    def vjp(c, g, x, y):
        gx = _known_share(F.less(x, y), x, y, g) if c.needs.x else None
        return gx, (_known_share(F.less(y, x), y, x, g) if c.needs.y else None)

    ties = [
        (
            ([1.0, 2.0, 0.0, math.nan, 1.0, math.nan], [1.0, 1.0, 3.0, 1.0, math.nan, math.nan]), {},
            ([0.5, 1.0, 0.0, 0.0, 1.0, 0.5], [0.5, 0.0, 1.0, 1.0, 0.0, 0.5]),
        )
    ]  # fmt: skip


class Fmin(ExtremePair):
    """The smaller of two elements, a number if only one of them is one; at a tie the cotangent is halved."""

    scalar = lambda k, x, y: k.fmin(x, y)
    methods = ("fmin",)

    def decomposed(c, x, y):
        return F.select(F.logical_or(F.less_equal(x, y), F.not_equal(y, y)), x, y)

    def vjp(c, g, x, y):
        gx = _known_share(F.less(y, x), x, y, g) if c.needs.x else None
        return gx, (_known_share(F.less(x, y), y, x, g) if c.needs.y else None)

    ties = [
        (
            ([1.0, 2.0, 0.0, math.nan, 1.0, math.nan], [1.0, 1.0, 3.0, 1.0, math.nan, math.nan]), {},
            ([0.5, 0.0, 1.0, 0.0, 1.0, 0.5], [0.5, 1.0, 0.0, 1.0, 0.0, 0.5]),
        )
    ]  # fmt: skip


@composite("heaviside")
def heaviside(x, values):
    """0 below 0, 1 above, `values` at 0; nan stays.  Its derivative for x is 0."""
    x, at_zero = promoted_dtype(x, values)
    x = call.stop_gradient(x)
    step = call.where(call.isnan(x), x, call.cast(call.greater(x, 0), x.dtype))
    return call.where(call.equal(x, 0), at_zero, step)


@composite("addcmul")
def addcmul(x, tensor1, tensor2, value=1):
    """x + value * tensor1 * tensor2."""
    return _with_multiple(call.mul, x, tensor1, tensor2, value)


@composite("addcdiv")
def addcdiv(x, tensor1, tensor2, value=1):
    """x + value * tensor1 / tensor2."""
    return _with_multiple(call.div, x, tensor1, tensor2, value)


def _with_multiple(op, x, a, b, value):
    once = type(value) is int and value == 1
    x, a, b, value = promoted_dtype(x, a, b, value)
    return call.add(x, op(a, b) if once else call.mul(op(a, b), value))


@composite("approximate_equal")
def approximate_equal(x, y, tolerance=1e-05):
    """Whether elements differ by less than the tolerance."""
    return call.less(call.abs(call.sub(x, y)), tolerance)


@composite("allclose")
def allclose(x, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are as close as `isclose` asks: a bool tensor without dimensions."""
    return call.all(call.isclose(x, other, rtol, atol, equal_nan))


class Nextafter(FloatPair):
    """The float that follows x on the way to y; x itself where they are equal.  Derivatives: 1, 0."""

    scalar = lambda k, x, y: k.nextafter(x, y)
    methods = ("nextafter",)

    def vjp(c, g, x, y):
        return g, None

    samples = pairs(operands=2)


@composite("copysign")
def copysign(x, y):
    """|x| with the sign of y, which counts also for zeros; the derivative at x = 0 is 0, for y always."""
    x, y = promoted_dtype(x, y, floating=True)
    size = call.abs(x)
    return call.where(call.signbit(call.stop_gradient(y)), call.neg(size), size)


@composite("ldexp")
def ldexp(x, exponent):
    """x times 2 to the power of the exponent."""
    x, exponent = promoted_dtype(x, exponent, floating=True)
    return call.mul(x, call.exp2(exponent))


@composite("float_power")
def float_power(x, exponent):
    """x to the power of the exponent, computed in float64."""
    return call.pow(in_dtype(x, float64), in_dtype(exponent, float64))


# ------------------------------------------------------------------------------------------------ real numbers
@composite("real", "conj")
def real(x):
    """The same numbers: they are all real."""
    return as_tensor(x)


@composite("imag")
def imag(x):
    """Zeros: all numbers are real."""
    return call.zeros_like(x)


@composite("isreal")
def isreal(x):
    """Whether the imaginary part is 0: always."""
    return call.ones_like(x, bool_)
