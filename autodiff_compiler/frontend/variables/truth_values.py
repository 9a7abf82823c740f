"""The truth of abstract values, and `not`, `and` and `or` of it."""

from __future__ import annotations

from typing import Any

from ...ir.core import Value
from ...ir.primitive import F
from ...runtime.tensor import Tensor, no_truth
from .interpreter import ValueContext
from .lookup import tells_of_changes
from .requirements import refuse_text, special
from .values import ArrayVar, LocalObject, StateVar, TensorVar, Weak

__all__ = ["both", "either", "negate", "truth"]


def truth(lw: ValueContext, x: Any) -> Any:
    """The truth value of x: a Python bool, or a bool[] Value if it is known only at run time."""
    x = lw.outside.met(x)
    if type(x) in (TensorVar, StateVar, ArrayVar):
        value = lw.unwrap(x)
        count = 1
        for d in value.shape:
            count = count * d if isinstance(d, int) else 0
        if count != 1:
            raise no_truth(value.shape)
        value = value if value.shape == () else F.reshape(value, shape=())
        return value if value.dtype.is_bool else F.not_equal(value, 0)
    if type(x) is Weak:
        return x.value if x.kind is bool else F.not_equal(x.value, 0)
    if isinstance(x, Tensor):
        return bool(x)
    refuse_text(x, "the truth value")
    result = special(lw, x, "__bool__", "__len__")
    if result is not NotImplemented:
        return truth(lw, result)
    if type(x) is LocalObject:
        return True
    if getattr(type(x), "__graph_state__", None) is not None:
        watched = tells_of_changes(lw, x, "__bool__")
        return lw.outside.property(x, "truth", f"the truth of a {type(x).__name__}", lambda: bool(x), watched=watched)
    return bool(x)


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
