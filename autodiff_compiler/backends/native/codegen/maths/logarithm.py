"""log, log1p, log2, log10, logaddexp.

x = 2**n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).  In f32 log(1 + f) is a polynomial in f, in f64 one in the square of
s = f / (2 + f), of which log(1 + f) = 2 arctanh(s).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .exponential import exp

#: Powers of two that make denormal arguments normal, and great ones of log1p small.
_DENORMAL = {True: 25, False: 54}
_GREAT = {True: 64, False: 512}


def split(v: Vectors, x: Reg) -> tuple[Reg, Reg]:
    """n as an integer with the bias added, and 2**-n x within [sqrt(1/2), sqrt(2)), of a normal x > 0."""
    least = v.pattern(math.sqrt(0.5))
    raised = v.iop("sub", v.bits_of(x), least - (v.bias << v.fraction))
    within = v.iop("add", v.iop("and", raised, (1 << v.fraction) - 1), least)
    return v.iop("lshr", raised, v.fraction), v.of_bits(within)


def parts(v: Vectors, x: Reg) -> tuple[Reg, Reg]:
    """n as a float, and f, of any positive x."""
    tiny = v.compare("olt", x, 2.0 ** (1 - v.bias))
    shift = _DENORMAL[v.single]
    i, m = split(v, v.select(tiny, v.mul(x, 2.0**shift), x))
    n = v.of_small(i, v.bias)
    return v.select(tiny, v.sub(n, float(shift)), n), v.sub(m, 1.0)


def _tail(v: Vectors, f: Reg, square: Reg) -> Reg:
    """log(1 + f) - f + f**2/2, given f**2."""
    if v.single:
        return v.mul(v.mul(f, square), v.polynomial(f, c.LOG1P[True]))
    s = v.div(f, v.add(f, 2.0))
    z = v.mul(s, s)
    return v.mul(s, v.fma(square, 0.5, v.mul(z, v.polynomial(z, c.LOG[False]))))


def _total(v: Vectors, n: Reg, f: Reg, rest: Reg | None = None) -> Reg:
    """n log(2) + log(1 + f) + rest."""
    high, low = c.LN2[v.single]
    square = v.mul(f, f)
    small = v.mul(n, low) if rest is None else v.fma(n, low, rest)
    small = v.add(_tail(v, f, square), small)
    return v.fma(n, high, v.add(f, v.fma(square, -0.5, small)))


def _special(v: Vectors, x: Reg, pole: float, result: Reg) -> Reg:
    """`result` but at the pole (-inf), below it (NaN) and at infinity."""
    result = v.select(v.compare("oeq", x, math.inf), x, result)
    result = v.select(v.compare("ult", x, pole), math.nan, result)
    return v.select(v.compare("oeq", x, pole), -math.inf, result)


def _usual_or_not(v: Vectors, x: Reg, of_parts: Callable[[Reg, Reg], Reg]) -> Reg:
    """A function of n and f; a rarely taken branch handles arguments that are not positive, normal and finite."""
    least = v.pattern(2.0 ** (1 - v.bias))
    unusual = v.icompare("uge", v.iop("sub", v.bits_of(x), least), v.pattern(math.inf) - least)
    i, m = split(v, x)
    usual = of_parts(v.of_small(i, v.bias), v.sub(m, 1.0))

    def general() -> list[Reg]:
        return [_special(v, x, 0.0, of_parts(*parts(v, x)))]

    return v.text.branch(v.any_lane(unusual), general, lambda: [usual], rare=True)[0]


def log(v: Vectors, x: Reg) -> Reg:
    return _usual_or_not(v, x, lambda n, f: _total(v, n, f))


def log1p(v: Vectors, x: Reg) -> Reg:
    """f comes from x itself, not from the rounded 1 + x."""
    shift = _GREAT[v.single]
    usual = v.both(v.compare("ogt", x, -1.0), v.compare("olt", x, 2.0**shift))
    result = _log1p(v, x, v.number(1.0), v.number(0.0))

    def unusual() -> list[Reg]:
        great = v.compare("ogt", x, 2.0**shift)
        less, one = v.select(great, v.mul(x, 2.0**-shift), x), v.select(great, 0.0, 1.0)
        return [_special(v, x, -1.0, _log1p(v, less, one, v.select(great, float(shift), 0.0)))]

    return v.text.branch(v.any_lane(v.invert(usual)), unusual, lambda: [result], rare=True)[0]


def _log1p(v: Vectors, x: Reg, one: Reg, more: Reg) -> Reg:
    """log(one + x) + more * log(2)."""
    i, _ = split(v, v.add(x, one))
    n = v.add(v.of_small(i, v.bias), more)
    back = v.of_bits(v.iop("shl", v.iop("sub", 2 * v.bias, i), v.fraction))
    start = v.fma(one, back, -1.0)
    f = v.fma(x, back, start)
    rest = v.fma(x, back, v.sub(start, f))
    return v.copysign(_total(v, n, f, rest), x)


def _pair(v: Vectors, f: Reg) -> tuple[Reg, Reg]:
    """log(1 + f) as a sum of a float and a small one."""
    square = v.mul(f, f)
    high = v.fma(square, -0.5, f)
    lost = v.fma(square, -0.5, v.sub(f, high))
    low = v.fma(v.fma(f, f, v.neg(square)), -0.5, lost)
    return high, v.add(low, _tail(v, f, square))


def _other_base(v: Vectors, n: Reg, f: Reg, factor: tuple[float, ...], whole: tuple[float, ...]) -> Reg:
    """log(1 + f) * factor + n * whole."""
    high, low = _pair(v, f)
    product = v.mul(high, factor[0])
    rest = v.fma(high, factor[0], v.neg(product))
    rest = v.fma(high, factor[1], v.fma(low, factor[0], rest))
    start = v.mul(n, whole[0])
    if whole[1]:
        rest = v.fma(n, whole[1], rest)
    total = v.add(start, product)
    return v.add(total, v.add(v.add(v.sub(start, total), product), rest))


def log2(v: Vectors, x: Reg) -> Reg:
    return _usual_or_not(v, x, lambda n, f: _other_base(v, n, f, c.LOG2E[v.single], (1.0, 0.0)))


def log10(v: Vectors, x: Reg) -> Reg:
    factor, whole = c.LOG10E[v.single], c.LOG10_2[v.single]
    return _usual_or_not(v, x, lambda n, f: _other_base(v, n, f, factor, whole))


def log_of_pair(v: Vectors, x: Reg, rest: Reg, more: Reg | float = 0.0) -> Reg:
    """log(x + rest) + more * log(2) of a normal x > 0 and a rest of a few of its last bits."""
    i, m = split(v, x)
    f = v.sub(m, 1.0)
    # rest * 2**-n / (1 + f), two bits of the quotient are enough
    back = v.of_bits(v.iop("shl", v.iop("sub", 2 * v.bias, i), v.fraction))
    small = v.mul(v.mul(rest, back), v.fma(f, v.sub(f, 1.0), 1.0))
    return _total(v, v.add(v.of_small(i, v.bias), more), f, small)


def log_wide(v: Vectors, x: Reg) -> Reg:
    """log(x) in f64 with a relative error below 2**-36, for results in f32; of a normal x > 0."""
    i, m = split(v, x)
    f = v.sub(m, 1.0)
    s = v.div(f, v.add(f, 2.0))
    z = v.mul(s, s)
    return v.fma(v.of_small(i, v.bias), math.log(2), v.mul(s, v.fma(z, v.polynomial(z, c.LOG_WIDE), 2.0)))


def logaddexp(v: Vectors, x: Reg, y: Reg) -> Reg:
    """log(exp(x) + exp(y)): the greater, and log1p(exp(-d)) of the difference."""
    if v.single:
        return v.narrow(logaddexp(v.wider(), v.widen(x), v.widen(y)))
    great = v.maximum(x, y)
    least = log1p(v, exp(v, v.neg(v.abs(v.sub(x, y)))))
    return v.add(great, v.select(v.compare("oeq", x, y), math.log(2), least))
