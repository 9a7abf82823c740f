"""The truth of abstract values, and `not`, `and` and `or` of it."""

from __future__ import annotations

from typing import Any

from ...ir.core import Value
from ...ir.primitive import F
from ...runtime.tensor import no_truth
from .base import variable_of
from .interpreter import ValueContext
from .values import Weak

__all__ = ["both", "either", "negate", "truth", "truth_of_one"]


def truth(lw: ValueContext, x: Any) -> Any:
    """The truth value of x: a Python bool, or a bool[] Value if it is known only at run time."""
    return variable_of(lw.outside.met(x)).truth(lw)


def truth_of_one(value: Value) -> Value:
    """The truth of the element of a Tensor or array that has one."""
    count = 1
    for d in value.shape:
        count = count * d if isinstance(d, int) else 0
    if count != 1:
        raise no_truth(value.shape)
    value = value if value.shape == () else F.reshape(value, shape=())
    return value if value.dtype.is_bool else F.not_equal(value, 0)


def negate(x: Any) -> Any:
    """``not`` of a truth value."""
    if isinstance(x, Value):
        return Weak(F.logical_not(x), bool)
    return Weak(F.logical_not(x.value), bool) if type(x) is Weak else not x


def _value(x: Any) -> Any:
    return x.value if type(x) is Weak else x


def both(lw: ValueContext, a: Any, b: Any) -> Any:
    """``a and b`` of truth values that are both evaluated."""
    a, b = _value(a), _value(b)
    if isinstance(a, Value) and isinstance(b, Value):
        return Weak(F.logical_and(a, b), bool)
    dynamic, static = (a, b) if isinstance(a, Value) else (b, a)
    if isinstance(dynamic, Value):
        return Weak(dynamic, bool) if static else False
    return a and b


def either(lw: ValueContext, a: Any, b: Any) -> Any:
    """``a or b`` of truth values that are both evaluated."""
    a, b = _value(a), _value(b)
    if isinstance(a, Value) and isinstance(b, Value):
        return Weak(F.logical_or(a, b), bool)
    dynamic, static = (a, b) if isinstance(a, Value) else (b, a)
    if isinstance(dynamic, Value):
        return True if static else Weak(dynamic, bool)
    return a or b
