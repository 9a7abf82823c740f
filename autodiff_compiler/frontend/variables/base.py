"""Kinds of values: for each a class that says what can be done with a value of that kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Protocol, TypeVar

from ...errors import UnsupportedSyntaxError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.types import TensorType
from .arithmetic import SLOT
from .interpreter import ValueContext
from .leaves import Leaf
from .values import describe, usable

__all__ = ["Results", "Variable", "kind", "variable_of"]


class Results(Protocol):
    """What makes the structure of what leaves a call (see `effects.results`): one method for each kind of leaf."""

    def tensor(self, x: Any) -> Any: ...
    def parameter(self, x: Any) -> Any: ...
    def number(self, x: Any) -> Any: ...
    def array(self, x: Any) -> Any: ...
    def constant_array(self, x: Any) -> Any: ...
    def known(self, x: Any) -> Any:
        """What is known while compiling, and containers that nobody can change."""


class Variable:
    """A value of compiled code, seen as what can be done with it.  A kind refuses the verbs that it does not define.

    Of two operands the one of higher `precedence` says what an operator means, the left one of equals; where the left
    one `goes_first`, always that.
    """

    __slots__ = ("value",)
    precedence: ClassVar[float] = 0
    goes_first: ClassVar[bool] = False
    #: whether it stands for an object that compiled code made, of which no other class need be noticed
    made_here: ClassVar[bool] = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def unary(self, lw: ValueContext, op: str) -> Any:
        """``-x``, ``+x`` or ``~x``; `op` is the syntax tree's name of the operator."""
        raise self._refused(op)

    def binary(self, lw: ValueContext, op: str, other: Any) -> Any:
        """``x op other``."""
        raise _refused_together(op, self.value, other)

    def reflected(self, lw: ValueContext, op: str, other: Any) -> Any:
        """``other op x``."""
        raise _refused_together(op, other, self.value)

    def compare(self, lw: ValueContext, op: str, other: Any) -> Any:
        """``x op other`` of a comparison."""
        raise _refused_together(op, self.value, other)

    def compared(self, lw: ValueContext, op: str, other: Any) -> Any:
        """``other op x`` of a comparison."""
        raise _refused_together(op, other, self.value)

    def truth(self, lw: ValueContext) -> Any:
        """The truth value: a Python bool, or a bool[] Value if it is known only at run time."""
        raise self._refused("truth")

    def getattr(self, lw: ValueContext, name: str) -> Any:
        """``x.name``."""
        raise self._refused(f".{name}")

    def getitem(self, lw: ValueContext, index: Any) -> Any:
        """``x[index]``."""
        raise self._refused("a subscript")

    def setattr(self, lw: ValueContext, name: str, value: Any) -> None:
        """``x.name = value``."""
        raise AttributeError(f"'{self.python_class().__name__}' object has no attribute '{name}'")

    def setitem(self, lw: ValueContext, index: Any, value: Any) -> None:
        """``x[index] = value``."""
        raise TypeError(f"'{self.python_class().__name__}' object does not support item assignment")

    def length(self, lw: ValueContext) -> Any:
        """``len(x)``."""
        raise TypeError(f"object of type '{self.python_class().__name__}' has no len()")

    def absolute(self, lw: ValueContext) -> Any:
        """``abs(x)``."""
        raise self._refused("abs()")

    def number(self, lw: ValueContext, kind: type, *more: Any) -> Any:
        """``bool(x)``, ``int(x)`` or ``float(x)``; `more` is the base of an int."""
        raise self._refused(f"{kind.__name__}()")

    def python_class(self) -> type:
        """The class of what the value stands for."""
        return type(self.value)

    def iterate(self, lw: ValueContext) -> Iterable[Any]:
        """The elements, where their number is known while compiling."""
        raise TypeError(f"'{self.python_class().__name__}' object is not iterable")

    def live(self, lw: ValueContext) -> Iterator[Any]:
        """The elements, one after the other, as Python's iterators see them where the value changes meanwhile."""
        usable(self.value)
        return iter(self.iterate(lw))

    def call(self, lw: ValueContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """``x(*args, **kwargs)``."""
        raise TypeError(f"'{self.python_class().__name__}' object is not callable")

    def result(self, out: Results) -> Any:
        """What stands for it in the structure that a call returns or writes back."""
        return out.known(self.value)

    def leaf(self) -> Leaf | None:
        """What is known of it, if a block's parameter can stand for it."""
        return None

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        """It as a Value of a type that it fits, at the end of a builder's block."""
        raise self._refused("a Value")

    def name_value(self, name: str) -> None:
        """Gives its Value the name by which the user calls it, if it has none yet."""

    def _refused(self, what: str) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(f"{what} of {describe(self.value)} is not supported", code="AC1103")


def _refused_together(op: str, a: Any, b: Any) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"{SLOT.get(op, op)} of {describe(a)} and {describe(b)} is not supported", code="AC1103"
    )


_KINDS: dict[type, type[Variable]] = {}
_V = TypeVar("_V", bound=type[Variable])


def kind(*classes: type) -> Callable[[_V], _V]:
    """Registers what is done with values of these classes, and of the user's that inherit from them."""

    def register(variable: _V) -> _V:
        _KINDS.update(dict.fromkeys(classes, variable))
        return variable

    return register


def variable_of(x: Any) -> Variable:
    """A value as what can be done with it."""
    found = _KINDS.get(type(x))
    if found is None:
        found = next(_KINDS[cls] for cls in type(x).__mro__ if cls in _KINDS)
    return found(x)
