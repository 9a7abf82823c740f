"""exp, exp2, expm1, and the logistic function.

exp(x) = 2**n exp(r) with n the whole number nearest to x / log(2), so that |r| <= log(2) / 2.
"""

from __future__ import annotations

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .scaling import scaled

__all__ = ["EXP_BOUNDS", "exp", "exp2", "exp_parts", "exp_terms", "expm1", "expm1_half", "sigmoid"]

#: Below the first the result is 0, above the second infinity; by whether the type is f32.
EXP_BOUNDS = {True: (-104.0, 89.0), False: (-746.0, 710.0)}
_EXP2_BOUNDS = {True: (-151.0, 129.0), False: (-1076.0, 1025.0)}
#: Below this expm1 is -1.
_EXPM1_LOW = {True: -18.0, False: -38.0}


def exp_parts(v: Vectors, x: Reg) -> tuple[Reg, Reg, Reg]:
    """exp(x) as p * 2**n, and n as an integer; x within the bounds, or NaN."""
    n, i = v.nearest(x, c.LOG2E[v.single][0])
    high, low = c.LN2[v.single]
    r = v.fma(n, -low, v.fma(n, -high, x))
    return v.fma(v.fma(v.polynomial(r, c.EXPM1[v.single]), r, 1.0), r, 1.0), n, i


def exp_terms(v: Vectors, x: Reg, rest: Reg) -> tuple[Reg, Reg, Reg, Reg]:
    """exp(x + rest) as (1 + r + tail) * 2**n, each with fewer bits lost than the one before; x within the bounds.

    These three, and n as an integer.
    """
    n, i = v.nearest(x, c.LOG2E[v.single][0])
    high, low = c.LN2[v.single]
    exact = v.fma(n, -high, x)
    small = v.fma(n, -low, rest)
    r = v.add(exact, small)
    lost = v.add(v.sub(exact, r), small)
    return r, v.fma(v.mul(r, r), v.polynomial(r, c.EXPM1[v.single]), lost), n, i


def exp(v: Vectors, x: Reg) -> Reg:
    return scaled(v, *exp_parts(v, v.bounded(x, *EXP_BOUNDS[v.single])))


def exp2(v: Vectors, x: Reg) -> Reg:
    bounded = v.bounded(x, *_EXP2_BOUNDS[v.single])
    n, i = v.nearest(bounded)
    r = v.sub(bounded, n)
    return scaled(v, v.fma(v.polynomial(r, c.EXP2[v.single]), r, 1.0), n, i)


def expm1_half(v: Vectors, x: Reg) -> tuple[Reg, Reg]:
    """expm1(x) / 2 as a sum of a float and a small one; halved, so that it does not overflow too early.

    x within the bounds, or NaN.  A denormal x may lose its last bit.
    """
    n, i = v.nearest(x, c.LOG2E[v.single][0])
    high, low = c.LN2[v.single]
    exact = v.fma(n, -high, x)
    r = v.fma(n, -low, exact)
    rest = v.fma(n, -low, v.sub(exact, r))
    power = v.power_of_two(v.iop("sub", i, 1))
    least = v.sub(power, 0.5)
    tail = v.fma(v.mul(r, r), v.polynomial(r, c.EXPM1[v.single]), rest)
    total = v.fma(power, r, least)
    lost = v.fma(power, r, v.sub(least, total))
    return total, v.fma(power, tail, lost)


def expm1(v: Vectors, x: Reg) -> Reg:
    total, rest = expm1_half(v, v.bounded(x, _EXPM1_LOW[v.single], EXP_BOUNDS[v.single][1]))
    result = v.mul(v.add(total, rest), 2.0)
    return v.select(v.compare("olt", v.abs(x), 2.0 ** -(v.fraction + 2)), x, result)


def sigmoid(v: Vectors, x: Reg) -> Reg:
    """1 / (1 + exp(-x)): from exp(-abs(x)), which is never great, and accurate where the result is small."""
    e = scaled(v, *exp_parts(v, v.bounded(v.neg(v.abs(x)), EXP_BOUNDS[v.single][0], None)))
    above = v.select(v.compare("olt", x, 0.0), e, 1.0)
    below = v.add(e, 1.0)
    lost = v.add(v.sub(1.0, below), e)
    inverse = v.div(1.0, below)
    q = v.mul(above, inverse)
    left = v.fma(v.neg(q), lost, v.fma(v.neg(q), below, above))
    return v.fma(left, inverse, q)
