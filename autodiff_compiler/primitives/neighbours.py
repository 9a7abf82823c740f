"""The sign, exponent and last digit of floats, and the real and imaginary parts of numbers that are all real."""

from __future__ import annotations

from ..dtypes import bool_, float64
from ..ir.primitive import call, composite
from .family import FloatPair, as_tensor, in_dtype, promoted_dtype
from .samples import real as pairs


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
