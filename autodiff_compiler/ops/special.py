"""MindSpore's functional names of Bessel, incomplete gamma and zeta functions, and of signs and exponents."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor, require_dtype
from .forwarding import unary

__all__ = ["eps"]

# ------------------------------------------------------------------------------------------------ functions of a number
(
    bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1, bessel_k1e,
    bessel_y0, bessel_y1,
) = [
    unary(f"bessel_{kind}", "x")
    for kind in ("i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")
]  # fmt: skip


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
