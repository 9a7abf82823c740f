"""sin, cos, tan and their inverses.

sin and cos are sin(r) up to the sign, |r| <= pi/2; tan is tan(r) or -1 / tan(r), |r| <= pi/4.  r is a sum of two
floats.
"""

from __future__ import annotations

import math

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .reduction import reduced


def _sine(v: Vectors, r: Reg, rest: Reg, odd: Reg) -> Reg:
    """(-1)**odd sin(r + rest)."""
    z = v.mul(r, r)
    cube = v.mul(r, z)
    # the rounding error of r**3: near pi/2 its term is more than half of the result
    lost = v.fma(r, v.fma(r, r, v.neg(z)), v.fma(r, z, v.neg(cube)))
    # The last step of the polynomial is an fma in scalar code, too (Estrin's scheme would round a term of its size).
    *further, first = c.SIN[v.single]
    p = v.fma(v.polynomial(z, further), z, first)
    small = v.fma(lost, p, v.mul(rest, v.fma(z, -0.5, 1.0)))
    result = v.bounded(v.add(r, v.fma(cube, p, small)), -1.0, 1.0)
    return v.of_bits(v.iop("xor", v.bits_of(result), v.iop("shl", odd, v.bits - 1)))


def sin(v: Vectors, x: Reg) -> Reg:
    a = v.abs(x)
    n, i = v.nearest(a, 1 / math.pi)
    result = _sine(v, *reduced(v, a, n, i, c.PI_THREE[v.single], quarters=0, drop=1))
    sign = v.iop("and", v.bits_of(x), -(1 << (v.bits - 1)))
    return v.of_bits(v.iop("xor", v.bits_of(result), sign))


def cos(v: Vectors, x: Reg) -> Reg:
    """sin(x + pi/2): odd multiples of pi/2 are subtracted."""
    a = v.abs(x)
    n, i = v.nearest(v.fma(a, 1 / math.pi, -0.5))
    halves, odd = v.add(n, 0.5), v.iop("add", i, 1)
    return _sine(v, *reduced(v, a, halves, odd, c.PI_THREE[v.single], quarters=1, drop=1))


def tan(v: Vectors, x: Reg) -> Reg:
    a = v.abs(x)
    n, i = v.nearest(a, 2 / math.pi)
    r, rest, i = reduced(v, a, n, i, c.PI_HALF[v.single], quarters=0, drop=2)
    z = v.mul(r, r)
    small = v.fma(v.mul(r, z), v.polynomial(z, c.TAN[v.single]), v.fma(rest, z, rest))
    t = v.add(r, small)
    lost = v.add(v.sub(r, t), small)
    inverse = v.div(-1.0, t)
    better = v.fma(inverse, v.fma(inverse, lost, v.fma(inverse, t, 1.0)), inverse)
    odd = v.icompare("ne", v.iop("and", i, 1), 0)
    result = v.select(odd, better, t)
    sign = v.iop("and", v.bits_of(x), -(1 << (v.bits - 1)))
    return v.of_bits(v.iop("xor", v.bits_of(result), sign))


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
