"""Operations on Python numbers that are known only at run time."""

from __future__ import annotations

import enum
from typing import Any

from ...errors import MissingAttributeError
from ...ir.build import Builder, current
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.types import TensorType
from ...runtime.mutable import NUMBER_DTYPE
from .arithmetic import COMPARISON, checked_int, joined_number, kind_of_number, lifted_number, number_binary
from .base import Results, Variable, kind
from .comparison import compare_known
from .interpreter import ValueContext
from .leaves import Leaf, NumberLeaf
from .objects import ObjectVariable
from .text import with_spec
from .values import ArrayVar, SymScalar, Text, describe


@kind(SymScalar)
class NumberVariable(Variable):
    """A Python number known only at run time."""

    precedence = 2

    def unary(self, ctx: ValueContext, op: str) -> Any:
        kind = int if self.value.kind is bool else self.value.kind
        value = lifted_number(self.value, kind, current())
        if op == "Invert":
            return SymScalar(F.sub(F.neg(value), 1), int)
        return SymScalar(F.neg(value), kind) if op == "USub" else SymScalar(value, kind)

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if kind_of_number(a) and kind_of_number(b):
            return number_binary(ctx, op, a, b)
        return super().binary(ctx, op, a, b)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        one, other = kind_of_number(a), kind_of_number(b)
        if one is None or other is None:
            return compare_known(ctx, op, a, b)
        kind = joined_number(one, other) or max((one, other), key=(bool, int, float).index)
        x, y = (lifted_number(v, kind, current()) for v in (a, b))
        return SymScalar(getattr(F, COMPARISON[op])(x, y), bool)

    def to_operand(self, ctx: ValueContext) -> Any:
        return self.value.value

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        return Text("{}", (self.value,), ("number",))

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        return with_spec(self.value, "number", spec, self.sample())

    def of_array(self, array: Any, tensors: bool) -> Any:
        return array.item()

    def is_own(self, start: int) -> bool:
        return True

    def around(self, value: Value, locked: str = "") -> Any:
        return SymScalar(value, self.value.kind)

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        return ArrayVar(self.value.value)

    def sample(self) -> Any:
        return self.value.kind(1)

    def truth(self, ctx: ValueContext) -> Any:
        return self.value.value if self.value.kind is bool else F.not_equal(self.value.value, 0)

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        if self.value.kind is float and name == "real":
            return self.value
        raise MissingAttributeError(f"'{name}' of a {describe(self.value)} is not available in compiled code")

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        raise TypeError(f"'{self.value.kind.__name__}' object is not subscriptable")

    def delitem(self, ctx: ValueContext, index: Any) -> None:
        del self.value.kind()[0]  # raises what Python raises

    def absolute(self, ctx: ValueContext) -> Any:
        return SymScalar(F.abs(self.value.value), self.value.kind)

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        x = self.value
        if x.kind is kind:
            return x
        if kind is int and x.kind is float:
            return checked_int(ctx, x.value)
        return SymScalar(self.truth(ctx) if kind is bool else F.cast(x.value, dtype=NUMBER_DTYPE[kind]), kind)

    def index(self, ctx: ValueContext) -> Any:
        return super().index(ctx) if self.value.kind is float else self.number(ctx, int)

    def rounded(self, ctx: ValueContext, digits: Any) -> Any:
        x = self.value
        if digits is None:
            return checked_int(ctx, F.round(x.value)) if x.kind is float else self.number(ctx, int)
        count, x = int(digits.__index__()), x if x.kind is float else self.number(ctx, int)
        return x if x.kind is int and count >= 0 else SymScalar(F.round_digits(x.value, digits=count), x.kind)

    def result(self, out: Results) -> Any:
        return out.number(self.value)

    def leaf(self) -> Leaf | None:
        return NumberLeaf.of(self.value.kind)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        with builder:
            return F.cast(self.value.value, dtype=type.dtype)

    def name_value(self, name: str) -> None:
        self.value.value.name = self.value.value.name or name


@kind(enum.IntEnum)
class IntEnumVariable(ObjectVariable):
    """A member of an enumeration that is an int."""

    def beside_tensor(self, ctx: ValueContext) -> Any:
        return int(self.value)
