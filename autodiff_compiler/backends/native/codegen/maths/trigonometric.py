"""sin, cos and tan.

sin and cos are sin(r) up to the sign, |r| <= pi/2; tan is tan(r) or -1 / tan(r), |r| <= pi/4.  r is a sum of two
floats.
"""

from __future__ import annotations

import math

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .reduction import reduced

__all__ = ["cos", "sin", "tan"]


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
