"""The truth of abstract values, and `not`, `and` and `or` of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.core import Value
from ...ir.primitive import F
from ...runtime.tensor import no_truth
from .base import variable_of
from .interpreter import ValueContext
from .values import SymScalar, is_dynamic


def truth(ctx: ValueContext, x: Any) -> Any:
    """The truth value of x: a Python bool, or a bool[] Value if it is known only at run time."""
    return variable_of(ctx.outside.met(x)).truth(ctx)


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
    x = _plain(x)
    return not x if isinstance(x, bool) else SymScalar(F.logical_not(x), bool)


def as_bool(x: Any) -> Any:
    """A truth value as what the program sees: a bool, known now or only at run time."""
    x = _plain(x)
    return x if isinstance(x, bool) else SymScalar(x, bool)


def both(a: Any, b: Any) -> Any:
    """``a and b`` of truth values that are both evaluated."""
    return _combined(F.logical_and, False, a, b)


def either(a: Any, b: Any) -> Any:
    """``a or b`` of truth values that are both evaluated."""
    return _combined(F.logical_or, True, a, b)


def _combined(op: Callable[[Value, Value], Value], settles: bool, *given: Any) -> Any:
    """What two truth values are together, if one of them settles it and the other says nothing."""
    known: list[bool] = []
    unknown: list[Value] = []
    for x in map(_plain, given):
        (known if isinstance(x, bool) else unknown).append(x)
    if settles in known:
        return settles
    if not unknown:
        return not settles
    return SymScalar(unknown[0] if known else op(*unknown), bool)


def _plain(x: Any) -> Any:
    return x.value if is_dynamic(x) else x
