"""Functions of single elements: arithmetic, powers, exponentials, rounding, angles.

Tensors are promoted to their higher dtype.  A Python number counts as a Tensor of int32 or float32, so that
``add(x, 1.0)`` of float16 is float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtypes import float16, float32, float64, int64
from ..ir.primitive import call
from ..primitives.family import cast, require_dtype, static_int
from .operands import apply_binary, apply_unary, converted, given_tensor, operand, operands, together

# fmt: off
__all__ = [
    "abs",
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "cbrt",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "divmod",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmod",
    "gcd",
    "heaviside",
    "hypot",
    "lcm",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "positive",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]
# fmt: on

_Function = Callable[..., Any]


def _named(function: _Function, name: str, doc: str) -> _Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _unary(name: str, ours: str, doc: str) -> _Function:
    def function(x: Any, dtype: Any = None) -> Any:
        return apply_unary(ours, x, dtype)

    return _named(function, name, doc)


def _binary(name: str, ours: str, doc: str) -> _Function:
    def function(x1: Any, x2: Any, dtype: Any = None) -> Any:
        return apply_binary(ours, x1, x2, dtype)

    return _named(function, name, doc)


# ------------------------------------------------------------------------------------------------ arithmetic
add = _binary(
    "add",
    "add",
    """Sums, element by element.

    >>> from autodiff_compiler import numpy as np
    >>> np.add(np.array([1, 2]), 0.5).tolist()
    [1.5, 2.5]
    """,
)
subtract = _binary("subtract", "sub", "Differences, element by element.")
multiply = _binary("multiply", "mul", "Products, element by element; of bools whether both hold.")
floor_divide = _binary("floor_divide", "floordiv", "The greatest whole number not above the quotient.")
remainder = _binary("remainder", "mod", "What a floor division leaves; it has the sign of the divisor.")
mod = remainder
fmod = _binary("fmod", "fmod", "What a division cut off towards 0 leaves; it has the sign of the dividend.")
gcd = _binary("gcd", "gcd", "Greatest common divisors of whole numbers.")
lcm = _binary("lcm", "lcm", "Least common multiples of whole numbers.")
hypot = _binary("hypot", "hypot", "Lengths of the hypotenuses over two legs.")


def divide(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Quotients, element by element; integers become float32 first.

    >>> from autodiff_compiler import numpy as np
    >>> np.divide(np.array([1, 3]), 2).tolist()
    [0.5, 1.5]
    """
    return apply_binary("div", x1, x2, dtype)


true_divide = divide


def power(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """The first operand to the power of the second; integers keep their dtype.

    >>> from autodiff_compiler import numpy as np
    >>> np.power(np.array([2, 3]), 2).tolist()
    [4, 9]
    """
    return apply_binary("pow", x1, x2, dtype)


def float_power(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """`power` in float32 at least."""
    x, y = together(x1, x2)
    narrow = x.dtype is not float64
    return converted(call.pow(cast(x, float32), cast(y, float32)) if narrow else call.pow(x, y), dtype)


def divmod(x1: Any, x2: Any, dtype: Any = None) -> tuple[Any, Any]:
    """`floor_divide` and `remainder` at once.

    >>> from autodiff_compiler import numpy as np
    >>> [x.tolist() for x in np.divmod(np.array([1, 2, 7]), 3)]
    [[0, 0, 2], [1, 2, 1]]
    """
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


def _extreme(name: str) -> _Function:
    def function(x1: Any, x2: Any, dtype: Any = None) -> Any:
        x, y = operands(x1, x2)
        if dtype is None and (x.ndim == 0) is not (y.ndim == 0):
            dtype = y.dtype if x.ndim == 0 else x.dtype
        return converted(getattr(call, name)(x, y), dtype)

    return function


maximum = _named(
    _extreme("maximum"),
    "maximum",
    """The greater elements, nan where there is one; a single number takes the dtype of the other operand.

    >>> from autodiff_compiler import numpy as np
    >>> np.maximum(np.array([1, 5]), 3).tolist()
    [3, 5]
    """,
)
minimum = _named(
    _extreme("minimum"),
    "minimum",
    "The lesser elements, nan where there is one; a single number takes the dtype of the other operand.",
)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Any:
    """Elements below `xmin` and above `xmax` replaced by these; ValueError if both are None.

    >>> from autodiff_compiler import numpy as np
    >>> np.clip(np.array([1, 5, 9]), 3, 7).tolist()
    [3, 5, 7]
    """
    if xmin is None and xmax is None:
        raise ValueError("clip needs `xmin` or `xmax`")
    x = operand(x) if xmin is None else maximum(x, xmin, dtype)
    return x if xmax is None else minimum(x, xmax, dtype)


def _signed(x: Any, what: str) -> Any:
    require_dtype(not x.dtype.is_bool, f"{what} is not defined for bools", hint="cast it to a number first")
    return x


def copysign(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """The magnitudes of the first operand, and its dtype, with the signs of the second."""
    x, y = (_signed(x, "copysign") for x in operands(x1, x2))
    return converted(cast(call.copysign(x, y), x.dtype), dtype)


def heaviside(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """0 for negative elements of `x1`, 1 for positive ones, `x2` at 0.

    >>> from autodiff_compiler import numpy as np
    >>> np.heaviside(np.array([-1.5, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    x, y = together(x1, x2)
    # By `where`, so that it takes integers and bools, too.
    steps = call.where(call.greater(x, 0), call.ones_like(x), call.where(call.less(x, 0), call.zeros_like(x), y))
    known = call.where(call.not_equal(x, x), x, steps)
    return converted(known, dtype)


# ------------------------------------------------------------------------------------------------ signs
def absolute(x: Any, dtype: Any = None) -> Any:
    """Magnitudes, of every dtype.

    >>> from autodiff_compiler import numpy as np
    >>> np.absolute(np.array([-1, 2])).tolist()
    [1, 2]
    """
    x = operand(x)
    return converted(x if x.dtype.is_bool else call.abs(x), dtype)


abs = fabs = absolute
negative = _named(lambda a, dtype=None: apply_unary("neg", a, dtype), "negative", "The elements with the other sign.")


def positive(a: Any, dtype: Any = None) -> Any:
    """The elements as they are; DTypeError for bools."""
    return converted(_signed(given_tensor(a, "a"), "positive"), dtype)


def sign(x: Any, dtype: Any = None) -> Any:
    """-1, 0 or 1, of integers as float32; DTypeError for bools.

    >>> from autodiff_compiler import numpy as np
    >>> np.sign(np.array([-2.5, 0.0])).tolist()
    [-1.0, 0.0]
    """
    x = _signed(operand(x), "sign")
    return converted(call.sign(x if x.dtype.is_float else cast(x, float32)), dtype)


# ------------------------------------------------------------------------------------------------ exponentials
exp = _unary("exp", "exp", "e to the power of the elements.")
expm1 = _unary("expm1", "expm1", "``exp(x) - 1``, accurate near 0.")
log = _unary("log", "log", "Natural logarithms.")
log2 = _unary("log2", "log2", "Logarithms to the base 2.")
log10 = _unary("log10", "log10", "Logarithms to the base 10.")
log1p = _unary("log1p", "log1p", "``log(1 + x)``, accurate near 0.")
logaddexp = _binary("logaddexp", "logaddexp", "``log(exp(x1) + exp(x2))`` without overflow.")
logaddexp2 = _binary("logaddexp2", "logaddexp2", "``log2(2**x1 + 2**x2)`` without overflow.")
sqrt = _unary("sqrt", "sqrt", "Square roots, nan for negative elements.")
square = _unary("square", "square", "The elements times themselves.")


def exp2(x: Any, dtype: Any = None) -> Any:
    """2 to the power of the elements; integers keep their dtype."""
    x = operand(x)
    return converted(call.exp2(x) if x.dtype.is_float else call.pow(2, x), dtype)


def cbrt(x: Any, dtype: Any = None) -> Any:
    """Cube roots, in float32 at least.

    >>> from autodiff_compiler import numpy as np
    >>> np.cbrt(np.array([-8.0, 0.0])).tolist()
    [-2.0, 0.0]
    """
    x = operand(x)
    return converted(call.cbrt(cast(x, float32) if x.dtype is not float64 else x), dtype)


def reciprocal(x: Any, dtype: Any = None) -> Any:
    """``1 / x``; integers keep their dtype, so that the quotient is truncated (bools become int64)."""
    x = operand(x)
    if x.dtype.is_float:
        return apply_unary("reciprocal", x, dtype)
    return converted(cast(call.div(1, x), int64 if x.dtype.is_bool else x.dtype), dtype)


# ------------------------------------------------------------------------------------------------ rounding
floor = _unary("floor", "floor", "The greatest whole numbers not above the elements.")


def _in_float32(x: Any, but: Any) -> Any:
    return x if x.dtype in but else cast(x, float32)


def ceil(x: Any, dtype: Any = None) -> Any:
    """The least integers not below the elements, in float32 or float64."""
    return converted(call.ceil(_in_float32(operand(x), (float64,))), dtype)


def fix(x: Any) -> Any:
    """The elements without their fractions; integers become float32.

    >>> from autodiff_compiler import numpy as np
    >>> np.fix(np.array([2.1, -2.9])).tolist()
    [2.0, -2.0]
    """
    return call.trunc(_in_float32(given_tensor(x), (float16, float64)))


def trunc(x: Any, dtype: Any = None) -> Any:
    """The elements without their fractions; integers become float32."""
    return converted(fix(operand(x)), dtype)


rint = _unary("rint", "round", "The nearest whole numbers; halves go to the even one.")


def around(a: Any, decimals: int = 0) -> Any:
    """The elements rounded to `decimals` digits, halves to the even one; ValueError if it is negative.

    >>> from autodiff_compiler import numpy as np
    >>> np.around(np.array([-1.3, 2.5, 3.5])).tolist()
    [-1.0, 2.0, 4.0]
    """
    if static_int(decimals, "decimals") < 0:
        raise ValueError(f"`decimals` must not be negative, but is {decimals}")
    a = operand(a, "a")
    if decimals == 0 or not a.dtype.is_float:
        return call.round(a)
    return call.div(call.round(call.mul(a, 10**decimals)), 10**decimals)


round = around


# ------------------------------------------------------------------------------------------------ angles
def _angle(name: str, ours: str, doc: str) -> _Function:
    def function(x: Any, dtype: Any = None) -> Any:
        return converted(getattr(call, ours)(_as_angle(x)), dtype)

    return _named(function, name, doc)


def _as_angle(x: Any, parameter: str = "x") -> Any:
    """A Tensor of floats: bools and integers of 8 bits become float16, longer ones float32."""
    x = given_tensor(x, parameter)
    return x if x.dtype.is_float else cast(x, float16 if x.dtype.bits <= 8 else float32)


sin = _angle("sin", "sin", "Sines of angles in radians.")
cos = _angle("cos", "cos", "Cosines of angles in radians.")
tan = _angle("tan", "tan", "Tangents of angles in radians.")
sinh = _angle("sinh", "sinh", "Hyperbolic sines.")
cosh = _angle("cosh", "cosh", "Hyperbolic cosines.")
tanh = _angle("tanh", "tanh", "Hyperbolic tangents.")
arcsin = _angle("arcsin", "asin", "Angles of given sines, nan beyond -1 ... 1.")
arctan = _angle("arctan", "atan", "Angles of given tangents.")
arcsinh = _angle("arcsinh", "asinh", "Inverse hyperbolic sines.")
arccosh = _angle("arccosh", "acosh", "Inverse hyperbolic cosines, nan below 1.")
arctanh = _angle("arctanh", "atanh", "Inverse hyperbolic tangents, nan beyond -1 ... 1.")


def arccos(input: Any, dtype: Any = None) -> Any:
    """Angles of given cosines, nan beyond -1 ... 1."""
    return converted(call.acos(_as_angle(input, "input")), dtype)


def arctan2(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Angles of the points (x2, x1), from -pi to pi."""
    return converted(call.atan2(_as_angle(x1, "x1"), _as_angle(x2, "x2")), dtype)


def deg2rad(x: Any, dtype: Any = None) -> Any:
    """Degrees as radians.

    >>> from autodiff_compiler import numpy as np
    >>> print(np.deg2rad(np.array([180.0])))
    [3.1415927]
    """
    return converted(call.mul(_floats(x), math.pi / 180), dtype)


def rad2deg(x: Any, dtype: Any = None) -> Any:
    """Radians as degrees."""
    return converted(call.mul(_floats(x), 180 / math.pi), dtype)


def _floats(x: Any) -> Any:
    return x if given_tensor(x).dtype.is_float else cast(x, float32)


def radians(x: Any, dtype: Any = None) -> Any:
    """Degrees as radians."""
    return deg2rad(x, dtype)
