"""The regularised incomplete gamma functions, with derivatives by both operands, at every order.

With T drawn from the gamma distribution of shape a, P(a, x) is the probability that T <= x (NIST Digital Library of
Mathematical Functions 8.2.4).  Its derivatives by a need H_n(a, x) = E[log(T)^n; T <= x], of which P is H_0.
Differentiating under the integral gives dH_n/da = H_(n+1) - digamma(a) H_n, so that the family is closed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import float64
from ..ir.primitive import F, Primitive
from ..ir.types import TensorType
from .family import cast, float_binary, stretching
from .requirements import require
from .samples import D2, F2, F3, I2

_ERRORS: list[Any] = [
    ((I2, I2), {}, "not defined for int32"),
    ((F2, D2), {}, "dtypes differ"),
    ((F2, F3), {}, "shapes differ"),
]


def _shape_and_bound(a: TensorType, x: TensorType):
    return float_binary(a, x)


def density(a, x):
    """The density of the gamma distribution of shape a, the derivative of P(a, x) by x."""
    return F.exp(F.xlogy(a - 1, x) - x - F.lgamma(a))


def igamma_by_shape(a, x):
    """The derivative of P(a, x) by a."""
    # Where P is near 1, hardly anything remains of the difference: not even of float32 numbers.
    a64, x64 = cast(a, float64), cast(x, float64)
    return cast(F.gamma_log_moment(a64, x64, n=1) - F.digamma(a64) * F.igamma(a64, x64), a.dtype)


class Igamma(Primitive):
    """Regularised lower incomplete gamma function P(a, x); nan for negative operands."""

    infer = _shape_and_bound

    flops = 300

    def numpy(a, x):
        from scipy import special

        return special.gammainc(a, x)

    widen = True
    call = stretching("igamma")
    methods = ("igamma",)

    def vjp(c, g, a, x):
        return (g * igamma_by_shape(a, x) if c.needs.a else None), (g * density(a, x) if c.needs.x else None)

    def samples(rng):
        yield rng(2, 2, low=0.5, high=4), rng(2, 2, low=0.5, high=5)
        yield rng(low=30, high=31), rng(low=28, high=33)
        yield rng(0, 2), rng(0, 2)

    errors = _ERRORS


class Igammac(Primitive):
    """Regularised upper incomplete gamma function 1 - P(a, x), with full relative precision where it is small."""

    infer = _shape_and_bound

    flops = 300

    def numpy(a, x):
        from scipy import special

        return special.gammaincc(a, x)

    widen = True
    call = stretching("igammac")
    methods = ("igammac",)

    def vjp(c, g, a, x):
        by_shape = -(g * igamma_by_shape(a, x)) if c.needs.a else None
        return by_shape, (-(g * density(a, x)) if c.needs.x else None)

    def samples(rng):
        yield rng(2, 2, low=0.5, high=4), rng(2, 2, low=0.5, high=5)
        yield rng(0, 2), rng(0, 2)

    errors = _ERRORS


def _log_moment(a, x, n):
    """H_n(a, x) for positive floats.

    In w = log(t) the integrand is w^n exp(a w - e^w) / gamma(a), whose exponential is concave in w.  It is integrated
    where it exceeds e^-45 of its maximum, in two parts: far to the left of w = 0 it is nearly exp(a w) and may be wide.
    """
    from scipy import special

    at = np.log(np.minimum(a, x))  # the maximum up to log(x)
    share = np.exp(at) / a
    left, right = 45 / a + 1, np.minimum(np.sqrt(90 / a), np.log(2 + 90 / a))
    for _ in range(8):  # Newton's method for convex functions, from beyond their roots
        left = left - (left - share * -np.expm1(-left) - 45 / a) / (1 - share * np.exp(-left) + 1e-300)
        right = right - (np.expm1(right) - right - 45 / a) / np.expm1(right)
    start, stop = at - left, np.minimum(np.log(x), np.log(a) + right)
    middle = np.maximum(start, np.minimum(stop, 0) - 40)
    nodes, weights = np.polynomial.legendre.leggauss(96)
    total = np.zeros(np.shape(a))
    for low, high in ((start, middle), (middle, stop)):
        half = (high - low) / 2
        for node, weight in zip(nodes, weights, strict=True):
            w = low + half * (1 + node)
            total = total + weight * half * w**n * np.exp(a * w - np.exp(w) - special.gammaln(a))
    return total


class GammaLogMoment(Primitive):
    """E[log(T)^n; T <= x] for T of the gamma distribution of shape a: 0 at x = 0, nan outside of a > 0, x >= 0."""

    internal = True

    def infer(a: TensorType, x: TensorType, *, n: int):
        require(n >= 1, f"a moment of order {n}: the order starts at 1")
        return float_binary(a, x)

    flops = 600

    def numpy(a, x, *, n):
        inside = (a > 0) & (x > 0) & (a < np.inf)
        shape = np.where(inside, a, 1).astype(np.float64)
        found = _log_moment(shape, np.where(inside, x, 1).astype(np.float64), n)
        return np.where(inside, found, np.where((a > 0) & (x == 0), 0, np.nan)).astype(a.dtype)

    widen = True

    def vjp(c, g, a, x):
        by_shape = None
        if c.needs.a:
            by_shape = g * (F.gamma_log_moment(a, x, n=c.n + 1) - F.digamma(a) * c.out)
        if not c.needs.x:
            return by_shape, None
        # log(x)^n times the density: 0 at x = 0 for a > 1, as its limit
        powers = density(a, x)
        for _ in range(c.n):
            powers = F.xlogy(powers, x)
        return by_shape, g * powers

    def samples(rng):
        yield rng(2, low=0.5, high=4), rng(2, low=0.5, high=5), {"n": 1}
        yield rng(low=0.5, high=4), rng(low=0.5, high=5), {"n": 2}

    errors = [((I2, I2), {"n": 1}, "not defined for int32"), ((F2, F2), {"n": 0}, "starts at 1")]
