"""Operators, attributes and subscripts: the kinds of the values say what they mean."""

from __future__ import annotations

from typing import Any

from ..guards.objects import class_attribute
from .arithmetic import SLOT
from .base import variable_of
from .interpreter import ValueContext
from .requirements import check_bounds, python_method
from .values import class_of, is_dynamic


def unary(ctx: ValueContext, op: str, x: Any) -> Any:
    """``-x``, ``+x``, ``~x`` (``not`` is a matter of truth)."""
    return variable_of(ctx.outside.met(x)).unary(ctx, op)


def attribute(ctx: ValueContext, owner: Any, name: str) -> Any:
    """``owner.name``."""
    return variable_of(ctx.outside.met(owner)).getattr(ctx, name)


def subscript(ctx: ValueContext, owner: Any, index: Any) -> Any:
    """``owner[index]``."""
    check_bounds(owner, index)
    return variable_of(ctx.outside.met(owner)).getitem(ctx, index)


def binary(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """``a op b``; `op` is the syntax tree's name of the operator."""
    a, b = ctx.outside.met(a), ctx.outside.met(b)
    result = _user_binary(ctx, op, a, b)
    if result is not NotImplemented:
        return result
    left, right = variable_of(a), variable_of(b)
    decides = right if right.precedence > left.precedence and not left.goes_first else left
    return decides.binary(ctx, op, a, b)


def _user_binary(ctx: ValueContext, op: str, a: Any, b: Any) -> Any:
    """``a op b`` by the methods of a user's class; NotImplemented if there are none."""
    ways = [(f"__{SLOT[op]}__", (a, b)), (f"__r{SLOT[op]}__", (b, a))]
    if _goes_first(ctx, a, b, ways[1][0]):
        ways.reverse()
    for method, operands in ways:
        function = python_method(ctx, operands[0], method)
        if function is not None:
            result = ctx.call_python(function, list(operands), {})
            if result is not NotImplemented:
                return result
    return NotImplemented


def _goes_first(ctx: ValueContext, a: Any, b: Any, reflected: str) -> bool:
    """Whether the right operand is asked first: one of a subclass with a reflected method of its own."""
    first, second = class_of(a), class_of(b)
    if first is second or not issubclass(second, first) or is_dynamic(a) or is_dynamic(b):
        return False
    return python_method(ctx, b, reflected) is not None and python_method(ctx, a, reflected) is not class_attribute(
        second, reflected
    )
