"""Conditions: the truth of an expression where nothing but its truth is asked for."""

from __future__ import annotations

from typing import Any

import gast

from ...errors import CompileError, StaticValueError
from ..variables.comparison import negate, truth
from ..variables.values import Weak
from .interpreter import Lowering

__all__ = ["condition_of", "kept", "truth_at"]


def condition_of(lw: Lowering, node: Any) -> Any:
    """The truth value of an expression, see `truth`; operands of `and` and `or` need not have a common type."""
    if isinstance(node, gast.BoolOp):
        return _operand(lw, node, 0, is_and=isinstance(node.op, gast.And))
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return truth(lw, negate(condition_of(lw, node.operand)))
    return truth_at(lw, node, lw.expr(node))


def truth_at(lw: Lowering, node: Any, value: Any) -> Any:
    """The truth value of what an expression gave; an error names the place of the expression."""
    try:
        return truth(lw, value)
    except CompileError as error:
        error.at(lw.place(node).of_user())
        raise


def kept(lw: Lowering, test: Any) -> bool:
    """What a condition of a comprehension says."""
    condition = condition_of(lw, test)
    if not isinstance(condition, bool):
        raise StaticValueError(
            "how many elements a comprehension has must be known at compile time, this condition is not",
            code="AC1303",
            loc=lw.place(test),
            hint="keep all elements and mask them with `ops.where`",
        ).about(condition)
    return condition


def _operand(lw: Lowering, node: Any, i: int, *, is_and: bool) -> Any:
    """The truth of the operands of an `and` or `or` from number `i` on."""
    from .control import branch

    condition = condition_of(lw, node.values[i])
    if i + 1 == len(node.values):
        return condition
    if isinstance(condition, bool):
        return _operand(lw, node, i + 1, is_and=is_and) if condition == is_and else condition

    def rest() -> Any:
        found = _operand(lw, node, i + 1, is_and=is_and)
        return found if isinstance(found, bool) else Weak(found, bool)

    arms = (rest, lambda: False) if is_and else (lambda: True, rest)
    return truth(lw, branch(lw, condition, *arms, node=node, name=f"the value of '{'and' if is_and else 'or'}'"))
