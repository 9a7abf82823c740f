"""What class patterns of `match` ask."""

from __future__ import annotations

from typing import Any

from ..syntax import patterns
from ..variables import operators
from ..variables.interpreter import ValueContext
from ..variables.kinds import has_attribute, is_instance
from ..variables.rules import intrinsic

#: The classes of which a pattern by position is about the object itself, as Python has them.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def _name_of_part(cls: Any, number: int, count: int) -> str | None:
    """The attribute that a pattern by position is about; None if it is the whole object."""
    names = getattr(cls, "__match_args__", None)
    if names is None and issubclass(cls, _WHOLE):
        names = ("",)
    elif names is not None and type(names) is not tuple:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(names).__name__})")
    known = len(names or ())
    if count > known:
        plural = "" if known == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {known} positional sub-pattern{plural} ({count} given)")
    assert names is not None
    return str(names[number]) or None


@intrinsic(patterns.is_instance)
def _is_instance(ctx: ValueContext, x: Any, cls: Any) -> Any:
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    return is_instance(ctx, x, cls)


@intrinsic(patterns.has_part)
def _has_part(ctx: ValueContext, x: Any, cls: Any, number: int, count: int) -> bool:
    name = _name_of_part(cls, number, count)
    return name is None or has_attribute(ctx, x, name)


@intrinsic(patterns.part)
def _part(ctx: ValueContext, x: Any, cls: Any, number: int, count: int) -> Any:
    name = _name_of_part(cls, number, count)
    return x if name is None else operators.attribute(ctx, x, name)
