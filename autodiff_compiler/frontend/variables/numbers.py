"""Python numbers that are known only at run time: what can be done with them."""

from __future__ import annotations

from typing import Any

from ...errors import MissingAttributeError
from ...ir.build import Builder, current
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.types import TensorType
from ...runtime.mutable import NUMBER_DTYPE
from .arithmetic import checked_int, joined_number, kind_of_number, lifted_number, number_binary
from .base import Results, Variable, kind
from .comparison import compare_known
from .interpreter import ValueContext
from .leaves import Leaf, NumberLeaf
from .values import Weak, describe

_COMPARE = {
    "Eq": "equal",
    "NotEq": "not_equal",
    "Lt": "less",
    "LtE": "less_equal",
    "Gt": "greater",
    "GtE": "greater_equal",
}


@kind(Weak)
class NumberVariable(Variable):
    """A Python number known only at run time."""

    __slots__ = ()
    precedence = 2

    def unary(self, lw: ValueContext, op: str) -> Any:
        kind = int if self.value.kind is bool else self.value.kind
        value = lifted_number(self.value, kind, current())
        if op == "Invert":
            return Weak(F.sub(F.neg(value), 1), int)
        return Weak(F.neg(value), kind) if op == "USub" else Weak(value, kind)

    def binary(self, lw: ValueContext, op: str, other: Any) -> Any:
        if kind_of_number(other):
            return number_binary(lw, op, self.value, other)
        return super().binary(lw, op, other)

    def reflected(self, lw: ValueContext, op: str, other: Any) -> Any:
        if kind_of_number(other):
            return number_binary(lw, op, other, self.value)
        return super().reflected(lw, op, other)

    def compare(self, lw: ValueContext, op: str, other: Any) -> Any:
        return _compare(lw, op, self.value, other)

    def compared(self, lw: ValueContext, op: str, other: Any) -> Any:
        return _compare(lw, op, other, self.value)

    def truth(self, lw: ValueContext) -> Any:
        return self.value.value if self.value.kind is bool else F.not_equal(self.value.value, 0)

    def getattr(self, lw: ValueContext, name: str) -> Any:
        if self.value.kind is float and name == "real":
            return self.value
        raise MissingAttributeError(f"'{name}' of a {describe(self.value)} is not available in compiled code")

    def getitem(self, lw: ValueContext, index: Any) -> Any:
        raise TypeError(f"'{self.value.kind.__name__}' object is not subscriptable")

    def absolute(self, lw: ValueContext) -> Any:
        return Weak(F.abs(self.value.value), self.value.kind)

    def number(self, lw: ValueContext, kind: type, *more: Any) -> Any:
        x = self.value
        if x.kind is kind:
            return x
        if kind is int and x.kind is float:
            return checked_int(lw, x.value)
        return Weak(self.truth(lw) if kind is bool else F.cast(x.value, dtype=NUMBER_DTYPE[kind]), kind)

    def python_class(self) -> type:
        kind: type = self.value.kind
        return kind

    def result(self, out: Results) -> Any:
        return out.number(self.value)

    def leaf(self) -> Leaf | None:
        return NumberLeaf.of(self.value.kind)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        with builder:
            value: Value = F.cast(self.value.value, dtype=type.dtype)
        return value

    def name_value(self, name: str) -> None:
        self.value.value.name = self.value.value.name or name


def _compare(lw: ValueContext, op: str, a: Any, b: Any) -> Any:
    ka, kb = kind_of_number(a), kind_of_number(b)
    if ka is None or kb is None:
        return compare_known(lw, op, a, b)
    kind = joined_number(ka, kb) or max((ka, kb), key=(bool, int, float).index)
    x, y = (lifted_number(v, kind, current()) for v in (a, b))
    return Weak(getattr(F, _COMPARE[op])(x, y), bool)
