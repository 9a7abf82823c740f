"""Operations on sizes that only a call knows: polynomials while they can be, run-time ints from then on."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.sizes import Dim, Size, deciding, depends_on_data, is_at_most, largest, linear_in, smallest
from ...ir.types import TensorType
from .arithmetic import BINARY, COMPARISON, kind_of_number, lifted_number, number_binary
from .base import Results, Variable, kind, variable_of
from .interpreter import ValueContext
from .leaves import Leaf, NumberLeaf
from .values import SymScalar, is_dynamic, is_size

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


@kind(Dim)
class SizeVariable(Variable):
    """A size of an argument, or what integer arithmetic makes of some.

    Comparisons with ints are answered by the call that is compiled for, and are guards; beside other things it is an
    int known only at run time.
    """

    precedence = 1

    def _number(self) -> SymScalar:
        return SymScalar(F.size_value(size=self.value), int)

    def _at_run_time(self) -> Variable:
        return variable_of(self._number())

    def unary(self, ctx: ValueContext, op: str) -> Any:
        return -self.value if op == "USub" else self.value if op == "UAdd" else -self.value - 1

    def binary(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        if _is_whole(a) and _is_whole(b) and op in ("Add", "Sub", "Mult", "FloorDiv", "Mod", "Pow"):
            if op in ("FloorDiv", "Mod") and is_undecided(b, 1):
                return number_binary(ctx, op, a, b)
            if op in ("FloorDiv", "Mod") and not b > 0:
                BINARY[op](1, int(b))  # raises what Python raises
            elif op != "Pow" or (not is_size(b) and 0 <= b <= _MOST_POWER):
                return BINARY[op](a, b)
        return number_binary(ctx, op, a, b)

    def compare(self, ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
        of_data = _is_whole(a) and _is_whole(b) and depends_on_data(a - b)
        if of_data and op in COMPARISON and (known := _known(op, a, b)) is not None:
            return known
        if _is_whole(a) and _is_whole(b) and not deciding.later and not of_data:
            return _COMPARED[op](a, b)
        if op in COMPARISON and all(kind_of_number(x) for x in (a, b)):
            return variable_of(self._number()).compare(ctx, op, *(_as_number(x) for x in (a, b)))
        return _COMPARED[op](*(1 if is_size(x) else x for x in (a, b)))  # what Python says of an int

    def beside_tensor(self, ctx: ValueContext) -> Any:
        return self._number()

    def to_operand(self, ctx: ValueContext) -> Any:
        return self._number().value

    def shown(self, ctx: ValueContext, fn: Any) -> Any:
        return self._at_run_time().shown(ctx, fn)

    def formatted(self, ctx: ValueContext, spec: Any) -> Any:
        return self._at_run_time().formatted(ctx, spec)

    def of_array(self, array: Any, tensors: bool) -> Any:
        return array.item()

    def to_array(self, ctx: ValueContext, copies: bool = True) -> Any:
        return self._at_run_time().to_array(ctx, copies)

    def sample(self) -> Any:
        return 1

    def truth(self, ctx: ValueContext) -> Any:
        if depends_on_data(self.value):
            known = _known("NotEq", self.value, 0)
            return self._at_run_time().truth(ctx) if known is None else known
        return self._at_run_time().truth(ctx) if deciding.later else bool(self.value)

    def getattr(self, ctx: ValueContext, name: str) -> Any:
        return getattr(operator.index(self.value), name)

    def getitem(self, ctx: ValueContext, index: Any) -> Any:
        raise TypeError("'int' object is not subscriptable")

    def absolute(self, ctx: ValueContext) -> Any:
        if is_undecided(self.value, 0):
            return self._at_run_time().absolute(ctx)
        return self.value if self.value >= 0 else -self.value

    def number(self, ctx: ValueContext, kind: type, *more: Any) -> Any:
        if kind is int and not more:
            return self.value
        return self.truth(ctx) if kind is bool else self._at_run_time().number(ctx, kind, *more)

    def index(self, ctx: ValueContext) -> Any:
        return self.value

    def rounded(self, ctx: ValueContext, digits: Any) -> Any:
        return self.value if digits is None else self._at_run_time().rounded(ctx, digits)

    def result(self, out: Results) -> Any:
        return out.size(self.value, self._number().value)

    def leaf(self) -> Leaf | None:
        return NumberLeaf.of(int)

    def lifted(self, type: TensorType, builder: Builder) -> Value:
        with builder:
            return F.cast(lifted_number(self.value, int, builder), dtype=type.dtype)


def is_undecided(size: Any, least: Any) -> bool:
    """Whether only data tell if a size is at least as large as another one."""
    return depends_on_data(size - least) and is_at_most(least, size) is None


def bound_of_sizes(name: str, sizes: Sequence[Any]) -> Size | None:
    """``max`` or ``min`` of a size that only a call knows and numbers; None for anything else."""
    choose = largest if name == "max" else smallest
    open_sizes = [x for x in sizes if is_size(x)]
    known = all(is_size(x) or type(x) is int for x in sizes)
    if len(open_sizes) != 1 or not known or linear_in(open_sizes[0]) is None or depends_on_data(open_sizes[0]):
        return None
    return reduce(choose, sizes)


def _known(op: str, a: Any, b: Any) -> bool | None:
    """What a comparison of sizes is for all data; None where that differs, or is not seen."""
    at_most, at_least = is_at_most(a, b), is_at_most(b, a)
    if op in ("LtE", "Gt"):
        return at_most if at_most is None or op == "LtE" else not at_most
    if op in ("GtE", "Lt"):
        return at_least if at_least is None or op == "GtE" else not at_least
    if at_most and at_least:
        return op == "Eq"
    return op == "NotEq" if False in (at_most, at_least) else None


#: To what power a size is a size again.
_MOST_POWER = 4


def _is_whole(x: Any) -> bool:
    return kind_of_number(x) in (bool, int) and not is_dynamic(x)


def _as_number(x: Any) -> Any:
    return SymScalar(F.size_value(size=x), int) if is_size(x) else x
