"""Functions of single elements that do more than call a primitive; the others are rows of `surface.numpy`.

Tensors are promoted to their higher dtype.  A Python number counts as a Tensor of int32 or float32, so that
``add(x, 1.0)`` of float16 is float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import float16, float32, float64, int64
from ..ir.primitive import call, distinct
from ..primitives.family import cast
from ..primitives.requirements import require_dtype, static_int
from .operands import converted, given_tensor, operand, operands, together


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
    return tuple(converted(each(*operands(x1, x2)), dtype) for each in (call.floordiv, call.mod))


def _extreme(extreme: Callable[..., Any], x1: Any, x2: Any, dtype: Any) -> Any:
    x, y = operands(x1, x2)
    if dtype is None and (x.ndim == 0) is not (y.ndim == 0):
        dtype = y.dtype if x.ndim == 0 else x.dtype
    return converted(extreme(x, y), dtype)


def maximum(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """The greater elements, nan where there is one; a single number takes the dtype of the other operand.

    >>> from autodiff_compiler import numpy as np
    >>> np.maximum(np.array([1, 5]), 3).tolist()
    [3, 5]
    """
    return _extreme(call.maximum, x1, x2, dtype)


def minimum(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """The lesser elements, nan where there is one; a single number takes the dtype of the other operand."""
    return _extreme(call.minimum, x1, x2, dtype)


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


def positive(a: Any, dtype: Any = None) -> Any:
    """The elements as they are; DTypeError for bools."""
    return distinct(converted(_signed(given_tensor(a, "a"), "positive"), dtype), a)


def sign(x: Any, dtype: Any = None) -> Any:
    """-1, 0 or 1, of integers as float32; DTypeError for bools.

    >>> from autodiff_compiler import numpy as np
    >>> np.sign(np.array([-2.5, 0.0])).tolist()
    [-1.0, 0.0]
    """
    x = _signed(operand(x), "sign")
    return converted(call.sign(x if x.dtype.is_float else cast(x, float32)), dtype)


# ------------------------------------------------------------------------------------------------ powers
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
        return converted(call.reciprocal(x), dtype)
    return converted(cast(call.div(1, x), int64 if x.dtype.is_bool else x.dtype), dtype)


# ------------------------------------------------------------------------------------------------ rounding
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
