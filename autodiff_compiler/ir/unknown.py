"""A number that only run time knows: Python code that asks for it gets StaticValueError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import StaticValueError, shown_as


@shown_as("StaticValueError")
class UnknownValueError(StaticValueError):
    """Python asked for the number that a value known only at run time will be; `value` is what it asked."""

    def __init__(self, message: str, value: Any = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.value = self.subject = value


def _refusal(wanted: str) -> Callable[..., Any]:
    def refuse(self: Any, *others: Any) -> Any:
        raise UnknownValueError(f"{wanted} is needed while compiling, but known only at run time", self)

    return refuse


class Unknown:
    """Stands for a number that only run time knows: every question of Python's for it is refused.

    Without these methods a truth test would silently be true, and equality to a number or a text silently false.
    """

    __slots__ = ()

    __bool__ = _refusal("a truth value")
    __len__ = __iter__ = __contains__ = _refusal("the content of a Tensor")
    __int__ = __index__ = __float__ = __complex__ = _refusal("a number")
    __round__ = __trunc__ = __floor__ = __ceil__ = _refusal("a number")
    __lt__ = __le__ = __gt__ = __ge__ = _refusal("a comparison")
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refusal("a number")
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = _refusal("a number")
    __rshift__ = __rrshift__ = __invert__ = __neg__ = __divmod__ = __rdivmod__ = _refusal("a number")
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = __abs__ = _refusal("a number")
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bool | int | float | str):
            raise UnknownValueError("a comparison is needed while compiling, but known only at run time", self)
        return self is other
