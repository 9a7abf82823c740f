"""erf and erfc."""

from __future__ import annotations

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .exponential import EXP_BOUNDS, exp_parts, exp_terms, expm1_parts
from .scaling import scaled

__all__ = ["erf", "erfc"]

#: Above this erf is 1; by whether the type is f32.
_ERF_HIGH = {True: 4.0, False: 6.0}
#: Above this erfc is 0.
_ERFC_HIGH = {True: 10.3, False: 27.4}
#: What the variable of erfc's polynomials is 0 at.
_MIDDLE = {True: 2.0, False: 3.5}


def _near(v: Vectors, a: Reg, coefficients: tuple[float, ...]) -> Reg:
    """erf(a), abs(a) <= 1."""
    return v.fma(a, v.polynomial(v.mul(a, a), coefficients), a)


def erf(v: Vectors, x: Reg) -> Reg:
    a = v.bounded(v.abs(x), None, _ERF_HIGH[v.single])
    return v.copysign(_erf_single(v, a) if v.single else _erf_double(v, a), x)


def _erf_single(v: Vectors, a: Reg) -> Reg:
    """-expm1(log(erfc(a))), everywhere; the logarithm is the sum of two, since all of its bits count near 0."""
    high, low = c.TWO_OVER_ROOT_PI[True]
    first = v.mul(a, -high)
    lost = v.fma(a, -low, v.fma(a, -high, v.neg(first)))
    q, i = expm1_parts(v, first, v.fma(v.mul(a, a), v.polynomial(a, c.LOG_ERFC_REST[True]), lost))
    power = v.power_of_two(i)
    return v.fma(v.neg(q), power, v.sub(1.0, power))


def _erf_double(v: Vectors, a: Reg) -> Reg:
    """1 - exp(P(a)) from 1 on."""
    p, _, i = exp_parts(v, v.bounded(v.polynomial(a, c.LOG_ERFC[False]), EXP_BOUNDS[False][0] * 0.75, None))
    far = v.fma(v.neg(p), v.power_of_two(i), 1.0)
    return v.select(v.compare("olt", a, 1.0), _near(v, a, c.ERF[False]), far)


def erfc(v: Vectors, x: Reg) -> Reg:
    """1 - erf(x) within +-1/2, else exp(-a**2) (...) / (1 + 2 a) of a = abs(x), or 2 less that."""
    a = v.bounded(v.abs(x), None, _ERFC_HIGH[v.single])
    w, wide, signed = (v.wider(), v.widen(a), v.widen(x)) if v.single else (v, a, x)
    near = w.sub(1.0, _near(w, signed, c.ERF_WIDE if v.single else c.ERF[False]))
    far = _far_single(w, wide) if v.single else _far_double(v, a)
    far = w.select(w.compare("olt", signed, 0.0), w.sub(2.0, far), far)
    result = w.select(w.compare("olt", wide, 0.5), near, far)
    return v.narrow(result) if v.single else result


def _variable(v: Vectors, a: Reg, middle: float) -> tuple[Reg, Reg, Reg]:
    """(a - middle) / (a + middle), 1 + 2 a and its inverse, by one division."""
    above, twice = v.add(a, middle), v.fma(a, 2.0, 1.0)
    inverse = v.div(1.0, v.mul(above, twice))
    return v.mul(v.mul(v.sub(a, middle), twice), inverse), twice, v.mul(above, inverse)


def _far_single(w: Vectors, a: Reg) -> Reg:
    """erfc(a) for a result in f32."""
    q, _, inverse = _variable(w, a, _MIDDLE[True])
    p, _, i = exp_parts(w, w.neg(w.mul(a, a)))
    return w.mul(w.mul(w.polynomial(q, c.ERFC_TO_SINGLE_WIDE), inverse), w.mul(p, w.power_of_two(i)))


def _far_double(v: Vectors, a: Reg) -> Reg:
    """erfc(a) in f64: factor, quotient and exponential as sums of two, since all their errors would meet."""
    q, twice, inverse = _variable(v, a, _MIDDLE[False])
    *others, last = c.ERFC[False]
    slope = v.polynomial(q, others)
    factor = v.fma(slope, q, last)
    factor_rest = v.fma(slope, q, v.sub(last, factor))
    twice_rest = v.fma(a, 2.0, v.sub(1.0, twice))
    quotient = v.mul(factor, inverse)
    left = v.fma(v.neg(quotient), twice_rest, v.add(v.fma(v.neg(quotient), twice, factor), factor_rest))
    quotient_rest = v.mul(left, inverse)
    square = v.mul(a, a)
    r, tail, n, i = exp_terms(v, v.neg(square), v.neg(v.fma(a, a, v.neg(square))))
    p = v.add(v.add(r, tail), 1.0)
    p_rest = v.add(v.add(v.sub(1.0, p), r), tail)
    return scaled(v, v.fma(quotient, p, v.fma(quotient_rest, p, v.mul(quotient, p_rest))), n, i)
