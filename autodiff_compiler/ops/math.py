"""MindSpore's functional names of special functions, rounding, running sums, norms and statistics.

As everything in `ops` they promote and broadcast as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import all_if_none, as_tensor, is_tensor, promoted

__all__ = ["aminmax", "is_complex", "is_floating_point", "reduce_prod", "truncate_div"]

# ------------------------------------------------------------------------------------------------ functions of a number


def is_floating_point(input: Any) -> bool:
    """Whether the elements of a tensor are floats."""
    return bool(input.dtype.is_float)


def is_complex(input: Any) -> bool:
    """False: there are no complex tensors."""
    return False


# ------------------------------------------------------------------------------------------------ of two numbers


def truncate_div(x: Any, y: Any) -> Any:
    """Quotient rounded towards 0; integers keep their dtype."""
    x, y = promoted(x, y)
    if (x if is_tensor(x) else y).dtype.is_float:
        return call.trunc(call.div(x, y))
    # The floor of a quotient of different signs is one less, unless nothing remains.
    exact = call.logical_or(call.equal(call.mod(x, y), 0), call.equal(call.less(x, 0), call.less(y, 0)))
    floor = call.floordiv(x, y)
    return call.where(exact, floor, call.add(floor, 1))


# ------------------------------------------------------------------------------------------------ bounds


# ------------------------------------------------------------------------------------------------ along an axis


# ------------------------------------------------------------------------------------------------ reductions


def reduce_prod(x: Any, axis: Any = ()) -> Any:
    """Product over axes, all for an empty tuple; integers keep their dtype."""
    x = as_tensor(x)
    return call.prod(x, all_if_none(axis), dtype=None if x.dtype.is_bool else x.dtype)


def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """Smallest and greatest element along an axis; ties share the cotangent evenly."""
    lowest, greatest = call.aminmax(input, axis=axis, keepdims=keepdims)
    return lowest, greatest
