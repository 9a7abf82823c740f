"""How rewrites are declared: by the primitive they apply to, in order, each with the rewrite as its docstring.

Every rule keeps values bit for bit (NaN, infinities and the sign of zero included), dtypes, errors and effects.  It
keeps derivatives too, since it may run before they are taken; there only the sign of a zero may change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ...ir.build import Builder, Rules
from ...ir.core import Op, Value
from ...ir.primitive import REGISTRY
from ...ir.types import TensorType

Rule = TypeVar("Rule", bound=Callable[..., Any])

#: ``rule(builder, op, *operands)``: what replaces a pure op without blocks or None.
RULES: Rules = {}
#: ``rule(sweep, op, operands)``: the results that replace an op with blocks, or None.
STRUCTURED: Rules = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Declares a rewrite of ops without blocks; it looks only at operands, which are in final form."""
    return _declared(RULES, names)


def structured(*names: str) -> Callable[[Rule], Rule]:
    """Declares a rewrite of ops that own blocks; it sees the old blocks and copies what it keeps."""
    return _declared(STRUCTURED, names)


def _declared(table: Rules, names: tuple[str, ...]) -> Callable[[Rule], Rule]:
    def register(fn: Rule) -> Rule:
        for name in names:
            table.setdefault(name, []).append(fn)
        return fn

    return register


def is_exactly(x: Value, number: float) -> bool:
    """Whether every element is this number, told apart from the zero of the other sign."""
    value = x.constant
    if value is None or value != number:
        return False
    return value != 0 or not isinstance(value, float) or math.copysign(1.0, value) == math.copysign(1.0, number)


def emit(b: Builder, name: str, *operands: Value, **attrs: Any) -> Any:
    """Applies a primitive in the builder that asked for the rule, whichever is entered."""
    defn = REGISTRY[name]
    return b.emit(defn, operands, defn.attrs_of(attrs))


def inactive(x: Value) -> bool:
    """Whether no gradient can be asked of the bool `x`: it is no argument."""
    return type(x.owner) is Op


def same(b: Builder, x: Value) -> Value:
    """`x` in the place of a result that equals it.

    A gradient may be asked of a bool argument through a later cast to a number, but not through other ops on it: there
    the argument itself would bring a gradient that the program does not have.
    """
    if isinstance(x.type, TensorType) and x.dtype.is_bool and not inactive(x):
        stopped: Value = emit(b, "stop_gradient", x)
        return stopped
    return x
