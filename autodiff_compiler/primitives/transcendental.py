"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions of every element, and their inverses.

All take floats (`call` turns integers into float32 first).  Derivatives are written so that they neither overflow nor
cancel before the function itself does.
"""

from __future__ import annotations

import math

from ..ir.primitive import F, call, composite
from .family import FloatFunction, FloatPair, promoted
from .samples import real

_LN2, _LN10 = math.log(2.0), math.log(10.0)


# ------------------------------------------------------------------------------------------------ exponentials
class Expm1(FloatFunction):
    """exp(x) - 1 for every element, exact near 0."""

    scalar = lambda k, x: k.expm1(x)
    flops = 25
    aclnn = "Expm1"
    methods = ("expm1",)
    python = math.expm1

    def vjp(c, g, x):
        return g * F.exp(x)  # out + 1 would cancel for large negative x

    samples = real()


class Exp2(FloatFunction):
    """2 to the power of every element."""

    scalar = lambda k, x: k.exp2(x)
    flops = 20
    aclnn = "Exp2"
    methods = ("exp2",)
    python = math.exp2

    def vjp(c, g, x):
        return g * (c.out * _LN2)

    samples = real()


class Log1p(FloatFunction):
    """log(1 + x) for every element, exact near 0: -inf at -1, nan below."""

    scalar = lambda k, x: k.log1p(x)
    flops = 35
    aclnn = "Log1p"
    methods = ("log1p",)
    python = math.log1p

    def vjp(c, g, x):
        return g / (x + 1)

    samples = real(-0.6, 3.0)


class Log2(FloatFunction):
    """Logarithm to base 2 of every element: -inf at 0, nan below."""

    scalar = lambda k, x: k.log2(x)
    flops = 30
    aclnn = "Log2"
    methods = ("log2",)
    python = math.log2

    def vjp(c, g, x):
        return g / (x * _LN2)

    samples = real(0.3, 3.0)


class Log10(FloatFunction):
    """Logarithm to base 10 of every element: -inf at 0, nan below."""

    scalar = lambda k, x: k.log10(x)
    flops = 30
    aclnn = "Log10"
    methods = ("log10",)
    python = math.log10

    def vjp(c, g, x):
        return g / (x * _LN10)

    samples = real(0.3, 3.0)


class Logaddexp(FloatPair):
    """log(exp(x) + exp(y)), without overflow."""

    scalar = lambda k, x, y: k.logaddexp(x, y)
    flops = 60

    def decomposed(c, x, y):
        far = F.select(F.equal(x, y), 0, -F.abs(x - y))  # the difference of equal infinities would be nan
        return F.maximum(x, y) + F.log1p(F.exp(far))

    methods = ("logaddexp",)

    def vjp(c, g, x, y):
        # Of two equal infinities the difference is nan: they count as equal numbers do.
        infinite = F.logical_and(F.equal(x, y), F.isinf(x))
        apart = F.select(infinite, 0, x - y)
        return (g * F.sigmoid(apart) if c.needs.x else None), (g * F.sigmoid(-apart) if c.needs.y else None)

    samples = real(-3, 3, operands=2)
    ties = [
        (
            ([0.0, 1000.0, math.inf, -math.inf, -math.inf], [0.0, 0.0, math.inf, -math.inf, 0.0]),
            {},
            ([0.5, 1.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.5, 0.5, 1.0]),
        )
    ]


@composite("logaddexp2")
def logaddexp2(x, y):
    """log2(2**x + 2**y), without overflow."""
    x, y = promoted(x, y, floating=True)
    return call.logaddexp(x * _LN2, y * _LN2) / _LN2  # a Python number stays one: its precision is that of the Tensor


# ------------------------------------------------------------------------------------------------ powers and roots
@composite("square")
def square(x):
    """The square of every element."""
    (x,) = promoted(x)
    return F.mul(x, x)


class Reciprocal(FloatFunction):
    """1 / x for every element: inf at 0."""

    scalar = lambda k, x: k.reciprocal(x)
    aclnn = "Reciprocal"
    methods = ("reciprocal", "inv")

    def vjp(c, g, x):
        return -(g * c.out * c.out)

    samples = real(0.4, 2.0)


class Rsqrt(FloatFunction):
    """1 / sqrt(x) for every element: inf at 0, nan below."""

    scalar = lambda k, x: k.reciprocal(k.sqrt(x))
    aclnn = "Rsqrt"
    methods = ("rsqrt", "rsqrt_")

    def vjp(c, g, x):
        return g * (c.out / (x * -2))

    samples = real(0.4, 3.0)


class Cbrt(FloatFunction):
    """Cube root of every element, real for negative ones too; its derivative at 0 is inf."""

    scalar = lambda k, x: k.cbrt(x)
    flops = 25
    methods = ("cbrt",)
    python = math.cbrt
    total = True

    def decomposed(c, x):
        root = F.pow(F.abs(x), 1 / 3)
        return F.select(F.equal(x, 0), x, F.select(F.less(x, 0), -root, root))

    def vjp(c, g, x):
        return g / (c.out * c.out * 3)

    def samples(rng):
        yield (rng(2, 3, low=0.4, high=3.0),)
        yield (rng(low=-3.0, high=-0.4),)

    ties = [(([0.0, -8.0],), {}, ([math.inf, 1 / 12],))]


class Hypot(FloatPair):
    """sqrt(x*x + y*y), without overflow; at (0, 0), where it has none, all its derivatives count as 0."""

    scalar = lambda k, x, y: k.hypot(x, y)
    flops = 5
    methods = ("hypot",)
    python = math.hypot
    total = True

    def decomposed(c, x, y):
        x, y = F.abs(x), F.abs(y)
        long, short = F.maximum(x, y), F.minimum(x, y)
        ratio = short / F.select(F.equal(long, 0), 1, long)
        infinite = F.logical_or(F.equal(x, math.inf), F.equal(y, math.inf))
        return F.select(infinite, math.inf, long * F.sqrt(ratio * ratio + 1))

    def vjp(c, g, x, y):
        nothing = F.equal(c.out, 0)
        length = F.select(nothing, 1, c.out)
        gx = F.select(nothing, 0, g * (x / length)) if c.needs.x else None
        return gx, (F.select(nothing, 0, g * (y / length)) if c.needs.y else None)

    samples = real(0.3, 2.0, operands=2)
    ties = [(([0.0, 3e300, 0.0], [0.0, 4e300, -2.0]), {}, ([0.0, 0.6, 0.0], [0.0, 0.8, -1.0]))]


# ------------------------------------------------------------------------------------------------ circular functions
class Tan(FloatFunction):
    """Tangent of every element, in radians."""

    scalar = lambda k, x: k.tan(x)
    flops = 30
    aclnn = "Tan"
    methods = ("tan",)
    python = math.tan

    def vjp(c, g, x):
        return g * (c.out * c.out + 1)

    samples = real(-1.2, 1.2)


class Asin(FloatFunction):
    """Inverse sine of every element: nan outside of -1 ... 1, where the derivative is inf."""

    scalar = lambda k, x: k.arcsin(x)
    flops = 25
    aclnn = "Asin"
    methods = ("asin", "arcsin")
    python = math.asin

    def vjp(c, g, x):
        return g * F.rsqrt((1 - x) * (1 + x))  # 1 - x*x would cancel near 1

    samples = real(-0.8, 0.8)
    ties = [(([1.0, -1.0, 0.0],), {}, ([math.inf, math.inf, 1.0],))]


class Acos(FloatFunction):
    """Inverse cosine of every element: nan outside of -1 ... 1, where the derivative is -inf."""

    scalar = lambda k, x: k.arccos(x)
    flops = 25
    aclnn = "Acos"
    methods = ("acos", "arccos")
    python = math.acos

    def vjp(c, g, x):
        return -(g * F.rsqrt((1 - x) * (1 + x)))

    samples = real(-0.8, 0.8)
    ties = [(([1.0, -1.0, 0.0],), {}, ([-math.inf, -math.inf, -1.0],))]


class Atan(FloatFunction):
    """Inverse tangent of every element."""

    scalar = lambda k, x: k.arctan(x)
    flops = 25
    aclnn = "Atan"
    methods = ("atan", "arctan")
    python = math.atan
    total = True

    def vjp(c, g, x):
        return g / (x * x + 1)

    samples = real(-3, 3)
    ties = [(([0.0, math.inf],), {}, ([1.0, 0.0],))]


class Atan2(FloatPair):
    """The angle of the point (y, x), in all four quadrants: the first operand is the ordinate."""

    scalar = lambda k, x, y: k.arctan2(x, y)
    flops = 30
    aclnn = "Atan2"
    methods = ("atan2", "arctan2")
    python = math.atan2
    total = True

    def vjp(c, g, x, y):
        length = F.hypot(x, y)  # x*x + y*y would overflow
        turn = g / length
        return (turn * (y / length) if c.needs.x else None), (-(turn * (x / length)) if c.needs.y else None)

    def samples(rng):
        yield rng(2, 3, low=0.3), rng(2, 3, low=0.3)
        yield rng(low=0.3), rng(low=-2.0, high=-0.3)

    ties = [(([0.0, 2.0], [2.0, 0.0]), {}, ([0.5, 0.0], [0.0, -0.5]))]


# ------------------------------------------------------------------------------------------------ hyperbolic functions
class Sinh(FloatFunction):
    """Hyperbolic sine of every element."""

    scalar = lambda k, x: k.sinh(x)
    flops = 30
    aclnn = "Sinh"
    methods = ("sinh",)
    python = math.sinh

    def vjp(c, g, x):
        return g * F.cosh(x)

    samples = real()


class Cosh(FloatFunction):
    """Hyperbolic cosine of every element."""

    scalar = lambda k, x: k.cosh(x)
    flops = 30
    aclnn = "Cosh"
    methods = ("cosh",)
    python = math.cosh

    def vjp(c, g, x):
        return g * F.sinh(x)

    samples = real()


class Asinh(FloatFunction):
    """Inverse hyperbolic sine of every element."""

    scalar = lambda k, x: k.arcsinh(x)
    flops = 40
    methods = ("asinh", "arcsinh")
    python = math.asinh
    total = True

    def decomposed(c, x):
        size = F.abs(x)
        part = 1 / size  # so that no square of a great number is needed, nor its double
        found = F.log1p(size) + F.log1p(1 / ((part + F.sqrt(part * part + 1)) * (part + 1)))
        return F.select(F.equal(x, 0), x, F.select(F.less(x, 0), -found, found))

    def vjp(c, g, x):
        return g / F.hypot(x, 1)

    samples = real(-3, 3)
    ties = [(([0.0, 1e300],), {}, ([1.0, 1e-300],))]


class Acosh(FloatFunction):
    """Inverse hyperbolic cosine of every element: nan below 1, where the derivative is inf."""

    scalar = lambda k, x: k.arccosh(x)
    flops = 40
    methods = ("acosh", "arccosh")
    python = math.acosh

    def decomposed(c, x):
        above = x - 1
        found = F.log1p(above + F.sqrt(above) * F.sqrt(x + 1))
        return F.select(F.less(x, 1e10), found, F.log(x) + math.log(2))  # the double of a great number may be inf

    def vjp(c, g, x):
        return g / (F.sqrt(x - 1) * F.sqrt(x + 1))  # x*x - 1 would cancel near 1 and overflow

    samples = real(1.5, 3.0)
    ties = [(([1.0, 1e300],), {}, ([math.inf, 1e-300],))]


class Atanh(FloatFunction):
    """Inverse hyperbolic tangent of every element: infinite at -1 and 1, nan outside."""

    scalar = lambda k, x: k.arctanh(x)
    flops = 40
    methods = ("atanh", "arctanh")
    python = math.atanh
    decomposed = lambda c, x: (F.log1p(x) - F.log1p(-x)) * 0.5

    def vjp(c, g, x):
        return g / ((1 - x) * (1 + x))

    samples = real(-0.8, 0.8)
