"""erf and erfc."""

from __future__ import annotations

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .exponential import exp, exp_parts, exp_terms, scaled

#: Up to the first erf is a polynomial of its own, from the second on it is 1.
_ERF_NEAR, _ERF_HIGH = 1.0, 6.0
#: Above this erfc is 0.
_ERFC_HIGH = {True: 10.3, False: 27.4}
#: Where the variable of erfc's polynomials is 0.
_MIDDLE = {True: 2.0, False: 3.5}


def _near(v: Vectors, x: Reg, square: Reg, coefficients: tuple[float, ...]) -> Reg:
    """erf(x), abs(x) <= 1."""
    return v.fma(x, v.polynomial(square, coefficients), x)


def erf(v: Vectors, x: Reg) -> Reg:
    """x + x P(x**2) within +-1, else 1 - exp(-x**2) P(abs(x)).

    The derivative's exponential has the same instructions: where both are computed, LLVM keeps one.
    """
    square = v.mul(x, x)
    near = _near(v, x, square, c.ERF[v.single])
    a = v.abs(x)
    rest = v.polynomial(v.sub(v.bounded(a, None, _ERF_HIGH), _ERF_NEAR), c.ERFC_SCALED[v.single])
    far = v.fma(v.neg(exp(v, v.neg(square))), rest, 1.0)
    return v.select(v.compare("olt", a, _ERF_NEAR), near, v.copysign(far, x))


def erfc(v: Vectors, x: Reg) -> Reg:
    """1 - erf(x) within +-1/2, else exp(-a**2) P(a) / (1 + 2 a) with a = abs(x), and 2 less that for negative x."""
    a = v.bounded(v.abs(x), None, _ERFC_HIGH[v.single])
    w, wide, signed = (v.wider(), v.widen(a), v.widen(x)) if v.single else (v, a, x)
    near = w.sub(1.0, _near(w, signed, w.mul(signed, signed), c.ERF_WIDE if v.single else c.ERF[False]))
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
    """erfc(a) in f64: factor, quotient and exponential as sums of two floats, since their errors would add up."""
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
