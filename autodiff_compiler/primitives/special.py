"""Special functions: of errors, of gamma, and products with a logarithm that vanish where their factor does.

SciPy computes them; kernels import it themselves, so that importing the package stays light.  Names and formulas of the
derivatives are those of the NIST Digital Library of Mathematical Functions, chapters 5 (gamma) and 7 (error functions).
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.primitive import F, Primitive, call, composite
from ..ir.types import TensorType
from .family import FloatFunction, FloatPair, float_binary, float_unary, is_tensor, promoted, promoted_dtype
from .requirements import known_array, require, static_int, static_number
from .samples import F2, I2, real

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


# ------------------------------------------------------------------------------------------------ error functions
class Erf(FloatFunction):
    """Error function of every element."""

    flops = 40

    def numpy(x):
        from scipy import special

        return special.erf(x)

    aclnn = "Erf"

    widen = True
    methods = ("erf",)
    python = math.erf
    total = True

    def vjp(c, g, x):
        return g * (F.exp(-(x * x)) * _TWO_OVER_ROOT_PI)

    samples = real(-2, 2)


class Erfc(FloatFunction):
    """1 - erf(x) for every element, with full relative precision far to the right."""

    flops = 50

    def numpy(x):
        from scipy import special

        return special.erfc(x)

    aclnn = "Erfc"

    widen = True
    methods = ("erfc",)
    python = math.erfc
    total = True

    def vjp(c, g, x):
        return -(g * (F.exp(-(x * x)) * _TWO_OVER_ROOT_PI))

    samples = real(-2, 2)


class Erfinv(FloatFunction):
    """Inverse of `erf` for every element: infinite at -1 and 1, nan outside."""

    flops = 50

    def numpy(x):
        from scipy import special

        return special.erfinv(x)

    aclnn = "Erfinv"

    widen = True
    methods = ("erfinv", "erfinv_")

    def vjp(c, g, x):
        return g * (F.exp(c.out * c.out) / _TWO_OVER_ROOT_PI)

    samples = real(-0.8, 0.8)


# ------------------------------------------------------------------------------------------------ gamma functions
class Lgamma(FloatFunction):
    """Logarithm of the absolute value of the gamma function of every element: inf at 0, -1, -2, ..."""

    flops = 60

    def numpy(x):
        from scipy import special

        return special.gammaln(x)

    widen = True
    methods = ("lgamma",)
    python = math.lgamma

    def vjp(c, g, x):
        return g * F.digamma(x)

    samples = real(0.5, 3.5)


class Digamma(FloatFunction):
    """Derivative of `lgamma` for every element; it has poles at 0, -1, -2, ..."""

    flops = 60

    def numpy(x):
        from scipy import special

        return special.digamma(x)

    widen = True
    methods = ("digamma",)

    def vjp(c, g, x):
        return g * F.polygamma(x, n=1)

    samples = real(0.5, 3.5)


def _polygamma(n, x):
    n = static_int(known_array(n, "n").item() if is_tensor(n) else n, "n")
    require(n >= 0, f"polygamma needs an order n >= 0, not {n}")
    (x,) = promoted(x, floating=True)
    return F.digamma(x) if n == 0 else F.polygamma(x, n=n)


class Polygamma(Primitive):
    """The n-th derivative of `digamma` for every element, n >= 1; it has poles at 0, -1, -2, ..."""

    def infer(x: TensorType, *, n: int):
        require(n >= 1, f"polygamma of order {n}: the order starts at 1")
        return float_unary(x)

    flops = 100

    def numpy(x, *, n):
        from scipy import special

        # (-1)**(n + 1) n! zeta(n + 1, x), DLMF 5.15.1
        sign = 1 if n % 2 else -1
        return special.zeta(np.asarray(n + 1, x.dtype), x) * (sign * special.factorial(n)).astype(x.dtype)

    widen = True
    call = _polygamma

    def vjp(c, g, x):
        return g * F.polygamma(x, n=c.n + 1)

    def samples(rng):
        yield rng(2, 3, low=0.8, high=3.0), {"n": 1}
        yield rng(low=0.8, high=3.0), {"n": 2}

    errors = [((I2,), {"n": 1}, "not defined for int32"), ((F2,), {"n": 0}, "starts at 1")]


@composite("mvlgamma")
def mvlgamma(x, p):
    """Logarithm of the multivariate gamma function of dimension p (DLMF 35.3.4), for elements above (p - 1) / 2."""
    p = static_int(p, "p")
    require(p >= 1, f"mvlgamma needs a dimension p >= 1, not {p}")
    (x,) = promoted(x, floating=True)
    total = call.lgamma(x)
    for j in range(1, p):
        total = call.add(total, call.lgamma(call.sub(x, j / 2)))
    return call.add(total, p * (p - 1) / 4 * math.log(math.pi))


# ------------------------------------------------------------------------------------------------ with a logarithm
class Xlogy(FloatPair):
    """x * log(y), and 0 where x is 0 whatever y (nan aside).

    At x = 0 and y <= 0, where log(y) is no number, both derivatives are 0.
    """

    scalar = lambda k, x, y: k.multiply(x, k.log(k.where(k.logical_and(k.equal(x, 0), k.equal(y, y)), 1, y)))

    def decomposed(c, x, y):
        return F.select(F.logical_and(F.equal(x, 0), F.equal(y, y)), 0, x * F.log(y))

    methods = ("xlogy",)

    def vjp(c, g, x, y):
        y = F.select(F.logical_and(F.equal(x, 0), F.less_equal(y, 0)), 1, y)
        return (g * F.log(y) if c.needs.x else None), (g * (x / y) if c.needs.y else None)

    samples = real(0.3, 2.0, operands=2)
    ties = [
        (([0.0, 0.0, 0.0, 2.0], [0.0, -1.0, math.e, 0.0]), {}, ([0.0, 0.0, 1.0, -math.inf], [0.0, 0.0, 0.0, math.inf]))
    ]


class MulNoNan(Primitive):
    """x * y, and 0 where y is 0 whatever x."""

    internal = True
    infer = float_binary
    scalar = lambda k, x, y: k.where(k.equal(y, 0), 0, k.multiply(x, y))
    decomposed = lambda c, x, y: F.select(F.equal(y, 0), 0, x * y)
    cost = 2

    def vjp(c, g, x, y):
        return (F.mul_no_nan(g, y) if c.needs.x else None), (g * x if c.needs.y else None)

    samples = real(operands=2)
    ties = [(([math.inf, 2.0], [0.0, 3.0]), {}, ([0.0, 3.0], [math.inf, 2.0]))]


@composite("xdivy")
def xdivy(x, y):
    """x / y, and 0 where x is 0 whatever y (nan aside).  Where both are 0, both derivatives are 0."""
    x, y = promoted_dtype(x, y, floating=True)
    nothing = call.logical_and(call.equal(x, 0), call.equal(y, 0))
    return call.where(nothing, 0, call.div(x, call.where(nothing, 1, y)))


def _softplus(x, beta=1, threshold=20):
    (x,) = promoted(x, floating=True)
    if isinstance(static_number(beta, "beta"), bool) or not isinstance(beta, int | float) or not beta > 0:
        raise ValueError(f"`beta` of softplus must be a positive number, not {beta!r}")
    scaled = x if beta == 1 else call.mul(x, beta)
    smooth = F.softplus(scaled)
    smooth = smooth if beta == 1 else call.div(smooth, beta)
    # Beyond 20 the function is x to the last bit of float32, and nothing needs to be cut.
    return smooth if threshold >= 20 else call.where(call.greater(scaled, threshold), x, smooth)


class Softplus(Primitive):
    """log(1 + exp(x)) for every element, without overflow."""

    infer = float_unary
    scalar = lambda k, x: k.logaddexp(x, 0)
    flops = 60
    call = _softplus
    methods = ("softplus",)
    decomposed = lambda c, x: F.maximum(x, 0) + F.log1p(F.exp(-F.abs(x)))

    def vjp(c, g, x):
        return g * F.sigmoid(x)

    samples = real(-3, 3)
    ties = [(([0.0, 800.0, -800.0],), {}, ([0.5, 1.0, 0.0],))]


@composite("logit")
def logit(x, eps=None):
    """log(x / (1 - x)); with `eps` elements are first brought into eps ... 1 - eps."""
    (x,) = promoted(x, floating=True)
    if eps is not None:
        x = call.clamp(x, eps, 1 - eps)
    return call.sub(call.log(x), call.log1p(call.neg(x)))
