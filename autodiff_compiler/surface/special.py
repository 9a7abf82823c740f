"""Bessel, incomplete gamma and zeta functions, signs and exponents."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("i0(input)", calls="call.bessel_i0(input)"),
    Row("sinc(input)", op="Sinc", mint="sinc"),
    Row("inv(x)", op="Inv", calls="call.reciprocal(x)"),
    Row("invert(x)", op="Invert"),
    Row("population_count(input_x)", op="PopulationCount"),
    Row("real(input)", op="Conj Real", also="conj"),
    Row("imag(input)", op="Imag"),
    Row("isreal(input)"),
    Row("igamma(input, other)", op="Igamma"),
    Row("igammac(input, other)", op="Igammac"),
    Row("zeta(input, other)", op="Zeta"),
    Row("gcd(input, other)", op="Gcd", mint="gcd"),
    Row("lcm(input, other)", op="Lcm"),
    Row("nextafter(input, other)", op="NextAfter"),
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
    Row("xdivy(x, y)", op="Xdivy", doc="""
    x / y, and 0 where x is 0 whatever y (nan aside).

    >>> ops.xdivy(Tensor([0.0, 1.0]), Tensor([0.0, 4.0])).tolist()
    [0.0, 0.25]
    """),
    Row("bessel_i0(x)", op="BesselI0"),
    Row("bessel_i0e(x)", op="BesselI0e"),
    Row("bessel_i1(x)", op="BesselI1"),
    Row("bessel_i1e(x)", op="BesselI1e"),
    Row("bessel_j0(x)", op="BesselJ0"),
    Row("bessel_j1(x)", op="BesselJ1"),
    Row("bessel_k0(x)", op="BesselK0"),
    Row("bessel_k0e(x)", op="BesselK0e"),
    Row("bessel_k1(x)", op="BesselK1"),
    Row("bessel_k1e(x)", op="BesselK1e"),
    Row("bessel_y0(x)", op="BesselY0"),
    Row("bessel_y1(x)", op="BesselY1"),
)
