"""Printing and exceptions, as Python has them; functions of the user's that run as they are cannot be written."""

from __future__ import annotations

import ast
import sys
from typing import Any

from ...backends.numpy.syntax import attribute, call, dotted
from ...ir.core import Op
from ...runtime.commits import Commit
from .lowering import SPECIAL, Lowering, unsupported
from .statements import Do, If

__all__: list[str] = []


def _print(low: Lowering, op: Op) -> None:
    parts = [_part(low, op, p) for p in op.attr("parts")]
    defaults = {"sep": " ", "end": "\n", "flush": False}
    extra: dict[str, Any] = {
        k: ast.Constant(value=op.attr(k)) for k, default in defaults.items() if op.attr(k) != default
    }
    if op.attr("stream") != "stdout":
        low.support.module("sys", sys)
        extra["file"] = dotted(f"sys.{op.attr('stream')}")
    low.body.append(Do(ast.Expr(value=call("print", *parts, **extra)), low.loc))


def _part(low: Lowering, op: Op, part: Any) -> ast.expr:
    if isinstance(part, str):
        return ast.Constant(value=part)
    if isinstance(part, tuple | list):
        form, *arguments = part
        return call(attribute(ast.Constant(value=form), "format"), *(_part(low, op, a) for a in arguments))
    way = op.attr("ways")[part] if op.attr("ways") else "str"
    tree = low.tree(op.operands[part])
    if way == "number":
        return call(attribute(tree, "item"))
    return call("repr", tree) if way == "repr" else tree


def _exception(low: Lowering, op: Op) -> ast.stmt:
    """The raise of an exception whose making can be written; what depends on operands cannot."""
    made = low.module.callables.get(op.attr("exception").removeprefix("@"))
    text = getattr(made, "text", None)
    if text is None:
        raise unsupported(op, "its exception is made by a function")
    return ast.Raise(exc=ast.parse(text, mode="eval").body, cause=None)


def _raise(low: Lowering, op: Op) -> None:
    low.body.append(Do(_exception(low, op), low.loc))


def _assert(low: Lowering, op: Op) -> None:
    test = ast.UnaryOp(op=ast.Not(), operand=low.tree(op.operands[0]))
    low.body.append(If(test, [Do(_exception(low, op), low.loc)], [], low.loc))


def _host_call(low: Lowering, op: Op) -> None:
    fn = low.module.callables.get(op.attr("fn").removeprefix("@"))
    if isinstance(fn, Commit):  # what an exception leaves behind of states: the function's caller sees none of them
        return
    raise unsupported(op, f"it calls the Python function {op.attr('fn').removeprefix('@')}")


SPECIAL.update({"print": _print, "raise": _raise, "assert": _assert, "host_call": _host_call})
