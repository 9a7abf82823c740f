"""sinh, cosh, tanh and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..emit import Reg
from ..vectors import Vectors
from . import coefficients as c
from .exponential import exp_parts, expm1_half, scaled
from .logarithm import log_of_pair, log_wide
from .pieces import in_pieces
from .tabulated import TANH_PIECES

#: Above this tanh is 1, and sinh and cosh are infinite; by whether the type is f32.
_TANH_HIGH = {True: 10.0, False: 20.0}
#: From here on tanh rounds to 1.
_TANH_ONE = {True: 9.25, False: 19.5}
_SINH_HIGH = {True: 90.0, False: 711.0}
#: Above this arcsinh and arccosh are log(2 x).
_GREAT = 2.0**30


def _half_exp(v: Vectors, a: Reg) -> tuple[Reg, Reg]:
    """exp(a) / 2 and exp(-a) / 2, of a >= 0."""
    half = scaled(v, *exp_parts(v, v.bounded(a, None, _SINH_HIGH[v.single])), -1)
    return half, v.div(0.25, half)


def _odd(v: Vectors, s: Reg, coefficients: Sequence[float]) -> Reg:
    """s + s**3 P(s**2)."""
    z = v.mul(s, s)
    return v.fma(v.mul(s, z), v.polynomial(z, coefficients), s)


def sinh(v: Vectors, x: Reg) -> Reg:
    a = v.abs(x)
    up, down = _half_exp(v, a)
    near = _odd(v, a, c.SINH[v.single])
    return v.copysign(v.select(v.compare("olt", a, 1.0), near, v.sub(up, down)), x)


def cosh(v: Vectors, x: Reg) -> Reg:
    return v.add(*_half_exp(v, v.abs(x)))


def tanh(v: Vectors, x: Reg) -> Reg:
    if v.low_latency:
        return v.copysign(_tanh_low_latency(v, x), x)
    a = v.bounded(v.abs(x), None, _TANH_HIGH[v.single])
    return v.copysign(_tanh_single(v, a) if v.single else _tanh_double(v, a), x)


def _tanh_low_latency(v: Vectors, x: Reg) -> Reg:
    """`in_pieces` between a polynomial near 0 and 1 beyond: branches, since prediction hides the latency of x."""
    a, pieces, one = v.abs(x), TANH_PIECES[v.single], _TANH_ONE[v.single]

    def between() -> list[Reg]:
        return [in_pieces(v, f"tanh_f{v.bits}", x, pieces)]

    def other() -> list[Reg]:
        return [v.select(v.compare("oge", a, one), 1.0, _odd(v, a, c.TANH_NEAR[v.single]))]

    (found,) = v.text.branch(v.both(v.compare("oge", a, pieces.low), v.compare("olt", a, one)), between, other)
    return found


def _tanh_single(v: Vectors, a: Reg) -> Reg:
    """1 - 2 / (exp(2 a) + 1), where that is not small."""
    p, _, i = exp_parts(v, v.add(a, a))
    far = v.sub(1.0, v.div(2.0, v.fma(p, v.power_of_two(i), 1.0)))
    return v.select(v.compare("olt", a, 0.625), _odd(v, a, c.TANH[True]), far)


def _tanh_double(v: Vectors, a: Reg) -> Reg:
    """m / (m + 1) with m = expm1(2 a) / 2; what the steps round away is added to the quotient."""
    total, rest = expm1_half(v, v.add(a, a))
    m = v.add(total, rest)
    m_rest = v.add(v.sub(total, m), rest)
    below = v.add(m, 1.0)
    great, small = v.select(v.compare("ogt", m, 1.0), m, 1.0), v.select(v.compare("olt", m, 1.0), m, 1.0)
    below_rest = v.add(v.add(v.sub(great, below), small), m_rest)
    inverse = v.div(1.0, below)
    q = v.mul(m, inverse)
    left = v.add(v.fma(v.neg(q), below, m), v.fma(v.neg(q), below_rest, m_rest))
    return v.fma(left, inverse, q)


def _root(v: Vectors, a: Reg, plus: float) -> tuple[Reg, Reg]:
    """sqrt(a**2 + plus) as a sum of a float and a small one; plus is 1 or -1, a > 1/2."""
    square = v.mul(a, a)
    square_rest = v.fma(a, a, v.neg(square))
    total = v.add(square, plus)
    above = v.compare("ogt", square, 1.0)
    great, small = v.select(above, square, plus), v.select(above, plus, square)
    rest = v.add(v.add(v.sub(great, total), small), square_rest)
    root = v.sqrt(total)
    return root, v.div(v.add(v.fma(v.neg(root), root, total), rest), v.add(root, root))


def _log_of_sum(v: Vectors, a: Reg, plus: float) -> Reg:
    """log(a + sqrt(a**2 + plus))."""
    root, root_rest = _root(v, a, plus)
    total = v.add(a, root)
    rest = v.add(v.add(v.sub(root, total), a) if plus > 0 else v.add(v.sub(a, total), root), root_rest)
    great = v.compare("ogt", a, _GREAT)
    # half of a: log_of_pair may not be given the greatest numbers
    return log_of_pair(v, v.select(great, v.mul(a, 0.5), total), v.select(great, 0.0, rest), v.select(great, 2.0, 0.0))


def arcsinh(v: Vectors, x: Reg) -> Reg:
    a = v.abs(x)
    if v.single:
        w, wide = v.wider(), v.widen(a)
        far = log_wide(w, w.add(wide, w.sqrt(w.fma(wide, wide, 1.0))))
        near = _odd(w, wide, c.ARCSINH_WIDE)
        result = v.narrow(w.select(w.compare("olt", wide, 0.5), near, far))
    else:
        near = _odd(v, a, c.ARCSINH[False])
        result = v.select(v.compare("olt", a, 0.5), near, _log_of_sum(v, a, 1.0))
    return v.copysign(v.select(v.compare("olt", a, math.inf), result, a), x)


def arccosh(v: Vectors, x: Reg) -> Reg:
    """sqrt(2 t) (1 + t P(t)) with t = x - 1 near 1."""
    w, wide = (v.wider(), v.widen(x)) if v.single else (v, x)
    t = w.sub(wide, 1.0)
    s = w.sqrt(w.add(t, t))
    near = w.fma(w.mul(s, t), w.polynomial(t, c.ARCCOSH_WIDE if v.single else c.ARCCOSH[False]), s)
    if v.single:
        far = log_wide(w, w.add(wide, w.sqrt(w.fma(wide, wide, -1.0))))
    else:
        far = _log_of_sum(v, x, -1.0)
    result = w.select(w.compare("olt", t, 0.5), near, far)
    if v.single:
        result = v.narrow(result)
    result = v.select(v.compare("oeq", x, math.inf), x, result)
    return v.select(v.compare("ult", x, 1.0), math.nan, result)


def arctanh(v: Vectors, x: Reg) -> Reg:
    """log((1 + x) / (1 - x)) / 2 from 1/2 on."""
    a = v.abs(x)
    w, wide = (v.wider(), v.widen(a)) if v.single else (v, a)
    above, below = w.add(wide, 1.0), w.sub(1.0, wide)
    q = w.div(above, below)
    if v.single:
        far = log_wide(w, q)
        near = _odd(w, wide, c.ARCTANH_WIDE)
    else:
        rest = w.add(w.fma(w.neg(q), below, above), w.add(w.sub(1.0, above), wide))
        far = log_of_pair(w, q, w.div(rest, below))
        near = _odd(w, wide, c.ARCTANH[False])
    result = w.select(w.compare("olt", wide, 0.5), near, w.mul(far, 0.5))
    if v.single:
        result = v.narrow(result)
    result = v.select(v.compare("oeq", a, 1.0), math.inf, result)
    return v.select(v.compare("ole", a, 1.0), v.copysign(result, x), math.nan)
