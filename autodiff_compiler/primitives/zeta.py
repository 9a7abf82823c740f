"""The Hurwitz zeta function and its derivatives of every order by both operands.

Formulas: NIST Digital Library of Mathematical Functions, 25.11.5 (Euler-Maclaurin) and 25.11.17.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.primitive import F, Primitive
from ..ir.types import TensorType
from .family import float_binary, stretching
from .requirements import require
from .samples import D2, F2, F3, I2


def _by_exponent(x, q, n):
    """The n-th derivative of zeta(x, q) by x, for x > 1 and q > 0.

    Terms of the sum are x -> y^-x, times a polynomial p in what Euler-Maclaurin says of the rest.  By Leibniz' rule the
    n-th derivative of p(x) y^-x is y^-x times the sum of binomial(n, i) p^(i)(x) log(1 / y)^(n - i).
    """
    from scipy import special

    total = 0 * x
    for k in range(15):
        total = total + np.log(1 / (q + k)) ** n * (q + k) ** -x
    y = q + 15
    down = np.log(1 / y)
    # y^(1 - x) / (x - 1): the i-th derivative of 1 / (x - 1) is (-1)^i i! / (x - 1)^(i + 1)
    rest = down**n / 2
    for i in range(n + 1):
        rest = rest + y * math.comb(n, i) * math.factorial(i) * (-1) ** i / (x - 1) ** (i + 1) * down ** (n - i)
    bernoulli = special.bernoulli(20)
    for j in range(1, 11):
        rising = np.polynomial.Polynomial.fromroots([-i for i in range(2 * j - 1)])
        for i in range(min(n, 2 * j - 1) + 1):
            share = math.comb(n, i) * rising.deriv(i)(x) * down ** (n - i)
            rest = rest + bernoulli[2 * j] / math.factorial(2 * j) * share * y ** (1 - 2 * j)
    return total + rest * y**-x


class Zeta(Primitive):
    """Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ..., or its n-th derivative by x.

    Infinite at x = 1, nan below.  The derivatives by x hold for q > 0.
    """

    def infer(x: TensorType, q: TensorType, *, n: int = 0):
        require(n >= 0, f"a derivative of order {n}: the order starts at 0")
        return float_binary(x, q)

    flops = 200

    def numpy(x, q, *, n):
        from scipy import special

        if n == 0:
            return special.zeta(x, q)
        inside = (x > 1) & (q > 0)
        found = _by_exponent(np.where(inside, x, 2).astype(np.float64), np.where(inside, q, 1).astype(np.float64), n)
        return np.where(inside, found, np.nan).astype(x.dtype)

    widen = True
    call = stretching("zeta")

    def vjp(c, g, x, q):
        by_exponent = g * F.zeta(x, q, n=c.n + 1) if c.needs.x else None
        if not c.needs.q:
            return by_exponent, None
        # -x zeta(x + 1, q), differentiated n times by x
        by_start = -(x * F.zeta(x + 1, q, n=c.n))
        if c.n:
            by_start = by_start - F.zeta(x + 1, q, n=c.n - 1) * c.n
        return by_exponent, g * by_start

    def samples(rng):
        yield rng(2, low=1.5, high=4), rng(2, low=0.5, high=3)
        yield rng(low=1.5, high=4), rng(low=0.5, high=3), {"n": 1}
        yield rng(0, 2), rng(0, 2)

    errors = [
        ((I2, I2), {}, "not defined for int32"), ((F2, D2), {}, "dtypes differ"), ((F2, F3), {}, "shapes differ"),
        ((F2, F2), {"n": -1}, "starts at 0"),
    ]  # fmt: skip
