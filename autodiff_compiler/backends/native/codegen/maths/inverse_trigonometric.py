"""arcsin, arccos, arctan and arctan2."""

from __future__ import annotations

import math

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c

__all__ = ["arccos", "arcsin", "arctan", "arctan2"]


def _arcsin_parts(v: Vectors, x: Reg) -> tuple[Reg, Reg, Reg, Reg]:
    """abs(x), whether it is above 1/2, and s, t with arcsin(s) = s + t.

    s is abs(x), or sqrt((1 - abs(x)) / 2) above 1/2, where arcsin(abs(x)) = pi/2 - 2 arcsin(s).
    """
    a = v.abs(x)
    great = v.compare("ogt", a, 0.5)
    z = v.select(great, v.fma(a, -0.5, 0.5), v.mul(a, a))
    s = v.select(great, v.sqrt(z), a)
    return a, great, s, v.mul(v.mul(s, z), v.polynomial(z, c.ARCSIN[v.single]))


def arcsin(v: Vectors, x: Reg) -> Reg:
    _, great, s, t = _arcsin_parts(v, x)
    high, low, _ = c.PI_HALF[v.single]
    twice = v.add(s, s)
    start = v.sub(high, twice)
    lost = v.sub(v.sub(high, start), twice)
    far = v.add(start, v.add(lost, v.fma(t, -2.0, low)))
    return v.copysign(v.select(great, far, v.add(s, t)), x)


def arccos(v: Vectors, x: Reg) -> Reg:
    """2 arcsin(s) or pi - 2 arcsin(s) beyond +-1/2, else pi/2 - arcsin(x)."""
    _, great, s, t = _arcsin_parts(v, x)
    negative = v.compare("olt", x, 0.0)
    half, whole = c.PI_HALF[v.single], c.PI_THREE[v.single]
    factor = v.select(great, 2.0, 1.0)
    minus = v.select(
        v.either(v.both(great, negative), v.both(v.invert(great), v.invert(negative))), v.neg(factor), factor
    )
    high = v.select(great, v.select(negative, whole[0], 0.0), half[0])
    low = v.select(great, v.select(negative, whole[1], 0.0), half[1])
    start = v.fma(s, minus, high)
    lost = v.fma(s, minus, v.sub(high, start))
    return v.add(start, v.add(lost, v.fma(t, minus, low)))


def arctan(v: Vectors, x: Reg) -> Reg:
    """t + t**3 P(t**2) with t = abs(x), or pi/2 less that with t = 1 / abs(x)."""
    a = v.abs(x)
    great = v.compare("ogt", a, 1.0)
    t = v.select(great, v.div(1.0, a), a)
    z = v.mul(t, t)
    # what the quotient lost, times about 1 / (1 + z); 0 * inf at infinity
    lost = v.mul(v.fma(v.neg(t), a, 1.0), v.mul(t, v.fma(z, -0.5, 1.0)))
    lost = v.select(v.both(great, v.compare("olt", a, math.inf)), lost, 0.0)
    small = v.fma(v.mul(t, z), v.polynomial(z, c.ARCTAN[v.single]), lost)
    high, low, _ = c.PI_HALF[v.single]
    start = v.sub(high, t)
    rest = v.sub(v.sub(v.sub(high, start), t), v.sub(small, low))
    return v.copysign(v.select(great, v.add(start, rest), v.add(t, small)), x)


def arctan2(v: Vectors, y: Reg, x: Reg) -> Reg:
    """base +- arctan(t), t the smaller of abs(x), abs(y) by the greater, base 0, pi/2 or pi."""
    a, b = v.abs(x), v.abs(y)
    steep = v.compare("ogt", b, a)
    below, above = v.select(steep, b, a), v.select(steep, a, b)
    t = v.select(v.compare("oeq", above, below), 1.0, v.div(above, below))
    t = v.select(v.compare("oeq", below, 0.0), 0.0, t)
    lost = v.div(v.fma(v.neg(t), below, above), below)
    lost = v.select(v.isnan(lost), 0.0, lost)
    z = v.mul(t, t)
    small = v.fma(v.mul(t, z), v.polynomial(z, c.ARCTAN[v.single]), v.mul(lost, v.fma(z, -0.5, 1.0)))
    left = v.icompare("slt", v.bits_of(x), 0)
    half, whole = c.PI_HALF[v.single], c.PI_THREE[v.single]
    high = v.select(steep, half[0], v.select(left, whole[0], 0.0))
    low = v.select(steep, half[1], v.select(left, whole[1], 0.0))
    minus = v.differ(steep, left)
    sign = v.select(minus, -1.0, 1.0)
    start = v.fma(t, sign, high)
    rest = v.fma(t, sign, v.sub(high, start))
    result = v.add(start, v.add(rest, v.fma(small, sign, low)))
    return v.select(v.compare("uno", x, y), v.add(x, y), v.copysign(result, y))
