"""What operands and arguments must be, and the errors of those that are not: shapes, dtypes, constants."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError, StaticValueError, shown_as
from ..ir.abstract import Abstract
from ..ir.core import Unknown, UnknownValueError, Value
from ..ir.primitive import trace
from ..ir.sizes import Size, deciding, number_of


@shown_as("number")
class SymScalar(Unknown, Abstract):
    """A Python number that is known only at run time: a 0-d Value and the Python type it stands for.

    With Tensors it is weak, as a Python number is: it never raises the Tensor's precision.
    """

    __slots__ = ("kind", "value")
    is_dynamic = outlives_call = True

    def __init__(self, value: Value, kind: type) -> None:
        self.value, self.kind = value, kind

    def __repr__(self) -> str:
        return f"<run-time {self.kind.__name__}>"

    @property
    def python_class(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"{self.kind.__name__} known at run time"


def require(
    condition: bool, message: str, hint: str | None = None, *, between: tuple[Any, Any] | None = None
) -> None:
    """Refuses operands whose shapes do not fit; `between`: the two sizes, or shapes, that had to be equal."""
    if not condition:
        error = ShapeError(message, hint=hint)
        error.between = between
        raise error


def require_dtype(condition: bool, message: str, hint: str | None = None) -> None:
    """Refuses operands whose element types do not fit."""
    if not condition:
        raise DTypeError(message, hint=hint or "convert the operand with astype")


def not_static(parameter: str) -> StaticValueError:
    """The error of an argument that compiled code must know, where only run time does."""
    return StaticValueError(
        f"`{parameter}` must be a constant, but its value is known only at run time",
        hint="pass it as a Python number, or take it from a shape",
    )


def naming_parameter(error: UnknownValueError, function: Callable[..., Any], args: Any, kwargs: Any) -> Exception:
    """The error with the parameter of `function` through which the unknown value came, if it is one of them."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return error
    for parameter, x in given.items():
        if any(v is error.value for v in (x if isinstance(x, tuple | list) else (x,))):
            return not_static(parameter).about(error.value)
    return error


def static_int(x: Any, parameter: str) -> int:
    """An argument that must be a constant, as an int; StaticValueError where it is known only at run time."""
    if x.__class__ is Value or x.__class__ is SymScalar:
        raise not_static(parameter).about(x)
    if isinstance(x, bool):
        raise TypeError(f"`{parameter}` must be an int, not a bool")
    try:
        return operator.index(x)
    except TypeError:
        raise TypeError(f"`{parameter}` must be an int, not {with_article(type(x))}") from None


def with_article(kind: type) -> str:
    """The name of a class as a message says it."""
    return "None" if kind is type(None) else f"a{'n' * (kind.__name__[0] in 'aeiou')} {kind.__name__}"


def known_array(x: Any, parameter: str) -> np.ndarray[Any, Any]:
    """The elements of an argument that compiled code must know; StaticValueError where only run time does."""
    if x.__class__ is not Value:
        return np.asarray(x)
    known = trace.builder.known(x)
    if known is None:
        raise not_static(parameter).about(x)
    found: np.ndarray[Any, Any] = known
    return found


def known_size(size: Size, otherwise: str, instead: str = "") -> int:
    """A size that must be known: a symbolic one is that of the call that is compiled for; else it is refused.

    `instead`: what would take any size, in words.
    """
    require(size.__class__ is int or deciding.by is not None, otherwise)
    return number_of(size, instead)


def known_sizes(sizes: Iterable[Size], otherwise: str, instead: str = "") -> tuple[int, ...]:
    """Sizes each of which must be known; see `known_size`."""
    return tuple([known_size(size, otherwise, instead) for size in sizes])


def static_number(x: Any, parameter: str) -> Any:
    """An argument that compiled code must know, as it is; StaticValueError where only run time does."""
    if x.__class__ is Value or x.__class__ is SymScalar:
        raise not_static(parameter).about(x)
    return x
