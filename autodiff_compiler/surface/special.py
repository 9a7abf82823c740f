"""Bessel, incomplete gamma and zeta functions, signs and exponents."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("i0(input)", calls="call.bessel_i0(input)"),
    Row("sinc(input)", mint="sinc"),
    Row("inv(x)", calls="call.reciprocal(x)"),
    Row("invert(x)"),
    Row("population_count(input_x)"),
    Row("real(input)", also="conj"),
    Row("imag(input)"),
    Row("isreal(input)"),
    Row("igamma(input, other)"),
    Row("igammac(input, other)"),
    Row("zeta(input, other)"),
    Row("gcd(input, other)", mint="gcd"),
    Row("lcm(input, other)"),
    Row("nextafter(input, other)"),
    Row("copysign(x, other)", doc="""
    |x| with the sign of `other`, which counts also for zeros.

    >>> ops.copysign(Tensor([1.0, -2.0]), -0.0).tolist()
    [-1.0, -2.0]
    """),
    Row("ldexp(x, other)", doc="""
    x * 2 ** other.

    >>> ops.ldexp(Tensor([1.0, 3.0]), Tensor([3, -1])).tolist()
    [8.0, 1.5]
    """),
    Row("float_power(input, exponent)", also="float_power_ext", mint="float_power", doc="""
    `input` to the power of `exponent` in float64.

    >>> ops.float_power(Tensor([1, 2]), -2).tolist()
    [1.0, 0.25]
    """),
    Row("xdivy(x, y)", doc="""
    x / y, and 0 where x is 0 whatever y (nan aside).

    >>> ops.xdivy(Tensor([0.0, 1.0]), Tensor([0.0, 4.0])).tolist()
    [0.0, 0.25]
    """),
    Row("bessel_i0(x)"),
    Row("bessel_i0e(x)"),
    Row("bessel_i1(x)"),
    Row("bessel_i1e(x)"),
    Row("bessel_j0(x)"),
    Row("bessel_j1(x)"),
    Row("bessel_k0(x)"),
    Row("bessel_k0e(x)"),
    Row("bessel_k1(x)"),
    Row("bessel_k1e(x)"),
    Row("bessel_y0(x)"),
    Row("bessel_y1(x)"),
)
