"""MindSpore's functional names of special functions, rounding, running sums, norms and statistics.

As everything in `ops` they promote and broadcast as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor, is_tensor, promoted

# fmt: off
__all__ = [
    "CumProd", "CumSum", "acos", "acosh", "addcdiv", "addcmul", "aminmax", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_left_shift", "bitwise_not",
    "bitwise_right_shift", "cbrt", "ceil", "clamp", "clip", "cosh", "count_nonzero", "cummax", "cummin", "cumprod",
    "cumsum", "deg2rad", "diff", "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "fix", "floor", "floormod",
    "fmax", "fmin", "fmod", "frac", "gammaln", "heaviside", "hypot", "is_complex", "is_floating_point", "isclose",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "lerp", "lgamma", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2", "logcumsumexp", "logit", "logsumexp", "matrix_norm", "median", "mod", "mvlgamma", "nan_to_num",
    "nanmean", "nanmedian", "nansum", "norm", "polygamma", "positive", "prod", "rad2deg", "reciprocal", "reduce_prod",
    "round", "rsqrt", "sgn", "signbit", "sinh", "softplus", "std", "std_mean", "tan", "trunc", "truncate_div",
    "truncate_mod", "var", "var_mean", "vector_norm", "xlogy",
]
# fmt: on

_Function = Callable[..., Any]


def _unary(name: str) -> _Function:
    """The function of one operand that applies the primitive `name`."""
    public = getattr(call, name)

    def function(input: Any) -> Any:
        return public(input)

    return _named(function, name)


def _binary(name: str) -> _Function:
    """The function of two operands that applies the primitive `name` to their common dtype and shape."""
    public = getattr(call, name)

    def function(input: Any, other: Any) -> Any:
        return public(input, other)

    return _named(function, name)


def _named(function: _Function, name: str) -> _Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(call, name).__doc__
    return function
