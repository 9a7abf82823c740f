"""power, cbrt, hypot and the reciprocal of the square root."""

from __future__ import annotations

import math

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .exponential import EXP_BOUNDS, exp_terms, scaled
from .logarithm import log_wide, parts


def rsqrt(v: Vectors, x: Reg) -> Reg:
    return v.div(1.0, v.sqrt(x))


def power(v: Vectors, x: Reg, y: Reg) -> Reg:
    """exp(y log(abs(x))) with the sign and the special values of C99's pow."""
    a = v.abs(x)
    # log(1) * inf would be NaN; pow(1, inf) is 1
    times = v.select(v.compare("oeq", a, 1.0), 0.0, y)
    size = _power_single(v, a, times) if v.single else _power_double(v, a, times)
    whole = v.compare("oeq", v.rint(y), y)
    half = v.mul(y, 0.5)
    odd = v.both(whole, v.compare("une", v.rint(half), half))
    result = v.select(odd, v.copysign(size, x), size)
    negative = v.both(v.compare("olt", x, 0.0), v.compare("olt", a, math.inf))
    result = v.select(v.either(v.both(negative, v.invert(whole)), v.compare("uno", x, y)), math.nan, result)
    return v.select(v.either(v.compare("oeq", y, 0.0), v.compare("oeq", x, 1.0)), 1.0, result)


def _special_log(v: Vectors, a: Reg, log: Reg) -> Reg:
    return v.select(v.compare("oeq", a, 0.0), -math.inf, v.select(v.compare("oeq", a, math.inf), a, log))


def _power_single(v: Vectors, a: Reg, y: Reg) -> Reg:
    """In f64, where log and exp need not be exact to the last bits."""
    w, wide = v.wider(), v.widen(a)
    log = _special_log(w, wide, log_wide(w, wide))
    t = w.bounded(w.mul(v.widen(y), log), *EXP_BOUNDS[True])
    n, i = w.nearest(t, c.LOG2E[False][0])
    r = w.fma(n, -math.log(2), t)
    p = w.fma(w.fma(w.polynomial(r, c.EXPM1_WIDE), r, 1.0), r, 1.0)
    return v.narrow(w.mul(p, w.power_of_two(i)))


def _power_double(v: Vectors, a: Reg, y: Reg) -> Reg:
    """With the logarithm, and its product with y, as sums of two floats."""
    high, low = _log_pair(v, a)
    high = _special_log(v, a, high)
    t = v.mul(y, high)
    rest = v.fma(y, low, v.fma(y, high, v.neg(t)))
    rest = v.select(v.compare("olt", v.abs(t), 1024.0), rest, 0.0)
    t = v.bounded(t, -746.0, 710.0)
    r, tail, n, i = exp_terms(v, t, rest)
    return scaled(v, v.add(v.add(r, tail), 1.0), n, i)


def _log_pair(v: Vectors, a: Reg) -> tuple[Reg, Reg]:
    """log(a) as a sum of two floats with a relative error of about 2**-65.

    With s = f / (2 + f) it is n log(2) + s (2 + s**2 (2/3 + s**2 P(s**2))); all but P as sums of two.
    """
    n, f = parts(v, a)
    below = v.add(f, 2.0)
    below_rest = v.sub(f, v.sub(below, 2.0))
    inverse = v.div(1.0, below)
    s = v.mul(f, inverse)
    s_rest = v.mul(v.fma(v.neg(s), below_rest, v.fma(v.neg(s), below, f)), inverse)
    z = v.mul(s, s)
    z_rest = v.fma(v.add(s, s), s_rest, v.fma(s, s, v.neg(z)))
    thirds, thirds_rest = c.TWO_THIRDS[False]
    w = v.mul(z, v.polynomial(z, c.LOG_TAIL[False]))
    k = v.add(w, thirds)
    k_rest = v.add(v.add(v.sub(thirds, k), w), thirds_rest)
    q = v.mul(z, k)
    q_rest = v.add(v.fma(z, k, v.neg(q)), v.fma(z, k_rest, v.mul(z_rest, k)))
    u = v.mul(s, q)
    u_rest = v.add(v.fma(s, q, v.neg(u)), v.fma(s, q_rest, v.mul(s_rest, q)))
    first, second, third = c.LN2_THREE[False]
    start, twice = v.mul(n, first), v.add(s, s)
    total = v.add(start, twice)
    lost = v.add(v.sub(start, total), twice)
    high = v.add(total, u)
    lost = v.add(lost, v.add(v.sub(total, high), u))
    small = v.fma(n, third, v.fma(s_rest, 2.0, u_rest))
    low = v.add(lost, v.fma(n, second, small))
    log = v.add(high, low)
    return log, v.add(v.sub(high, log), low)


def hypot(v: Vectors, x: Reg, y: Reg) -> Reg:
    """sqrt(x**2 + y**2), without overflow on the way; infinity where one is, even beside NaN."""
    a, b = v.abs(x), v.abs(y)
    if v.single:
        w, wide, other = v.wider(), v.widen(a), v.widen(b)
        result = v.narrow(w.sqrt(w.fma(wide, wide, w.mul(other, other))))
    else:
        result = _hypot_double(v, a, b)
    infinite = v.either(v.compare("oeq", a, math.inf), v.compare("oeq", b, math.inf))
    return v.select(infinite, math.inf, result)


def _hypot_double(v: Vectors, a: Reg, b: Reg) -> Reg:
    top = v.maximum(a, b)
    great, tiny = v.compare("ogt", top, 2.0**500), v.compare("olt", top, 2.0**-400)
    factor = v.select(great, 2.0**-600, v.select(tiny, 2.0**600, 1.0))
    back = v.select(great, 2.0**600, v.select(tiny, 2.0**-600, 1.0))
    p, q = v.mul(top, factor), v.mul(v.minimum(a, b), factor)
    pp, qq = v.mul(p, p), v.mul(q, q)
    total = v.add(pp, qq)
    lost = v.add(v.sub(pp, total), qq)
    rest = v.add(lost, v.add(v.fma(p, p, v.neg(pp)), v.fma(q, q, v.neg(qq))))
    root = v.sqrt(total)
    better = v.add(root, v.div(v.add(v.fma(v.neg(root), root, total), rest), v.add(root, root)))
    return v.mul(v.select(v.compare("oeq", top, 0.0), 0.0, better), back)


def cbrt(v: Vectors, x: Reg) -> Reg:
    """m y**2 with m = 2**(-3 k) abs(x) in [1, 8) and y = m**(-1/3) by Newton's method, corrected; no divisions."""
    a = v.abs(x)
    tiny = v.compare("olt", a, 2.0 ** (1 - v.bias))
    shift = 24 if v.single else 54
    bits = v.bits_of(v.select(tiny, v.mul(a, 2.0**shift), a))
    exponent = v.of_small(v.iop("lshr", bits, v.fraction), v.bias)
    fraction = v.iop("and", bits, (1 << v.fraction) - 1)
    one = v.of_bits(v.iop("or", fraction, v.bias << v.fraction))
    k, i = v.nearest(v.sub(exponent, 1.0), 1 / 3)
    j = v.fma(k, -3.0, exponent)
    low, high = v.compare("olt", j, 0.5), v.compare("ogt", j, 1.5)
    m = v.mul(one, v.select(low, 1.0, v.select(high, 4.0, 2.0)))
    guess = v.select(low, 1.0, v.select(high, 0.25 ** (1 / 3), 0.5 ** (1 / 3)))
    y = v.mul(v.polynomial(one, c.CBRT[v.single]), guess)
    e = v.fma(v.neg(v.mul(v.mul(y, y), y)), m, 1.0)
    y = v.fma(v.mul(y, e), v.fma(v.fma(e, 14 / 81, 2 / 9), e, 1 / 3), y)
    square = v.mul(y, y)
    t = v.mul(m, square)
    tt = v.mul(t, t)
    cube = v.mul(tt, t)
    rest = v.fma(v.fma(t, t, v.neg(tt)), t, v.fma(tt, t, v.neg(cube)))
    left = v.sub(v.sub(m, cube), rest)
    t = v.fma(v.mul(left, square), 1 / 3, t)
    i = v.iselect(tiny, v.iop("sub", i, shift // 3), i)
    result = v.mul(t, v.power_of_two(i))
    usual = v.both(v.compare("ogt", a, 0.0), v.compare("olt", a, math.inf))
    return v.select(usual, v.copysign(result, x), x)
