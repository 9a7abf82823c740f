"""MindSpore's functional names of Bessel, incomplete gamma and zeta functions, and of signs and exponents."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor, require_dtype
from .forwarding import binary, unary

# fmt: off
__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e",
    "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "conj", "copysign", "eps", "float_power", "gcd", "i0",
    "igamma", "igammac", "imag", "inv", "invert", "isreal", "lcm", "ldexp", "nextafter", "population_count", "real",
    "sinc", "xdivy", "zeta",
]
# fmt: on

# ------------------------------------------------------------------------------------------------ functions of a number
(
    bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1, bessel_k1e,
    bessel_y0, bessel_y1,
) = [
    unary(f"bessel_{kind}", "x")
    for kind in ("i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")
]  # fmt: skip
i0 = unary("bessel_i0")
sinc = unary("sinc")
inv, invert = unary("reciprocal", "x"), unary("invert", "x")
population_count = unary("population_count", "input_x")
real = conj = unary("real")
imag, isreal = unary("imag"), unary("isreal")


def eps(x: Any) -> Any:
    """The distance from 1 to the next float of x's dtype, in x's shape.  DTypeError: no floats.

    >>> from autodiff_compiler import Tensor
    >>> eps(Tensor([3.0, 4.0])).tolist() == [2.0**-23] * 2
    True
    """
    x = as_tensor(x)
    require_dtype(x.dtype.is_float, f"eps is defined for floats, not for {x.dtype.name}")
    return call.full_like(x, {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[x.dtype.short])


# ------------------------------------------------------------------------------------------------ of two numbers
igamma, igammac = binary("igamma"), binary("igammac")
zeta = binary("zeta")
gcd, lcm = binary("gcd"), binary("lcm")
nextafter = binary("nextafter")


def copysign(x: Any, other: Any) -> Any:
    """|x| with the sign of `other`, which counts also for zeros.

    >>> from autodiff_compiler import Tensor
    >>> copysign(Tensor([1.0, -2.0]), -0.0).tolist()
    [-1.0, -2.0]
    """
    return call.copysign(x, other)


def ldexp(x: Any, other: Any) -> Any:
    """x * 2 ** other.

    >>> from autodiff_compiler import Tensor
    >>> ldexp(Tensor([1.0, 3.0]), Tensor([3, -1])).tolist()
    [8.0, 1.5]
    """
    return call.ldexp(x, other)


def float_power(input: Any, exponent: Any) -> Any:
    """`input` to the power of `exponent` in float64.

    >>> from autodiff_compiler import Tensor
    >>> float_power(Tensor([1, 2]), -2).tolist()
    [1.0, 0.25]
    """
    return call.float_power(input, exponent)


def xdivy(x: Any, y: Any) -> Any:
    """x / y, and 0 where x is 0 whatever y (nan aside).

    >>> from autodiff_compiler import Tensor
    >>> xdivy(Tensor([0.0, 1.0]), Tensor([0.0, 4.0])).tolist()
    [0.0, 0.25]
    """
    return call.xdivy(x, y)
