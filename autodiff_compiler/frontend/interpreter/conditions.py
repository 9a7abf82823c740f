"""Conditions: the truth of an expression where nothing but its truth is asked for."""

from __future__ import annotations

from typing import Any

import gast

from ...errors import CompileError, StaticValueError
from ..report.reasons import Decision
from ..syntax import jumps
from ..variables.truth_values import negate, truth
from ..variables.values import SymScalar
from .context import StatementContext, statement
from .control import branch


def condition_of(ctx: StatementContext, node: Any) -> Any:
    """The truth value of an expression, see `truth`; operands of `and` and `or` need not have a common type."""
    if isinstance(node, gast.BoolOp):
        return _operand(ctx, node, 0, is_and=isinstance(node.op, gast.And))
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return truth(ctx, negate(condition_of(ctx, node.operand)))
    return truth_at(ctx, node, ctx.expr(node))


def truth_at(ctx: StatementContext, node: Any, value: Any) -> Any:
    """The truth value of what an expression gave; an error names the place of the expression."""
    try:
        return truth(ctx, value)
    except CompileError as error:
        error.at(ctx.place(node).of_user())
        raise


def kept(ctx: StatementContext, test: Any) -> bool:
    """What a condition of a comprehension says."""
    condition = condition_of(ctx, test)
    if not isinstance(condition, bool):
        raise StaticValueError(
            "how many elements a comprehension has must be known at compile time, this condition is not",
            code="AC1303",
            loc=ctx.place(test),
            hint="append them to a list in a `for` statement, or keep all and mask them with `ops.where`",
        ).about(condition)
    return condition


def _operand(ctx: StatementContext, node: Any, i: int, *, is_and: bool) -> Any:
    """The truth of the operands of an `and` or `or` from number `i` on."""
    condition = condition_of(ctx, node.values[i])
    if i + 1 == len(node.values):
        return condition

    def rest() -> Any:
        return as_number(_operand(ctx, node, i + 1, is_and=is_and))

    return truth(ctx, short_circuit(ctx, condition, not is_and, rest, node, is_and=is_and))


def short_circuit(ctx: StatementContext, condition: Any, left: Any, right: Any, node: Any, *, is_and: bool) -> Any:
    """``left and right()`` or ``left or right()``; `condition` is the truth value of `left`."""
    if isinstance(condition, bool):
        return right() if condition == is_and else left
    arms = (right, lambda: left) if is_and else (lambda: left, right)
    return branch(ctx, condition, *arms, node=node, name=f"the value of '{'and' if is_and else 'or'}'")


def as_number(condition: Any) -> Any:
    """A truth value as the Python bool that it is, known now or at run time."""
    return condition if isinstance(condition, bool) else SymScalar(condition, bool)


def note_branch(ctx: StatementContext, node: Any, condition: Any) -> None:
    """Notes what becomes of an `if` or a conditional expression, by the truth value of its condition."""
    if any(isinstance(part, gast.Name) and "#" in part.id for part in gast.walk(node.test)):
        return  # a flag that stands for a `break`, `continue` or `return`, and no branch of the user's
    loc = ctx.frame.tree.loc(node, ctx.frame.caller)
    if isinstance(condition, bool):
        way = Decision(loc, "if", "one branch only", f"its condition is known while compiling: {condition}")
    else:
        way = Decision(loc, "if", "both branches", "its condition is known only at run time", condition)
    ctx.report.reasons.decisions.append(way)


@statement("If")
def _if(ctx: StatementContext, node: Any) -> None:
    condition = condition_of(ctx, node.test)
    note_branch(ctx, node, condition)
    if isinstance(condition, bool):
        ctx.block(node.body if condition else node.orelse)
        return
    ctx.place(node)
    branch(
        ctx,
        condition,
        lambda: ctx.block(node.body),
        lambda: ctx.block(node.orelse),
        node=node,
        other_returned=jumps.asks_return(node.test),
    )
