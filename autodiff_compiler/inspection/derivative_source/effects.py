"""`print` and `raise` as Python statements; host calls are refused."""

from __future__ import annotations

import ast
import functools

from ...backends.numpy.kernels import print_call
from ...backends.numpy.syntax import attribute, call
from ...ir.core import Op, Value
from ...runtime.commits import Commit
from .lowering import SPECIAL, Lowering, Writes, unsupported

__all__: list[str] = []


def _print(low: Lowering, op: Op) -> None:
    made = print_call(op, low.support, functools.partial(_printed_value, low), methods=True)
    low.run(ast.Expr(value=made))


def _printed_value(low: Lowering, value: Value, way: str) -> ast.expr:
    tree = low.tree(value)
    if way == "number":
        return call(attribute(tree, "item"))
    return call("repr", tree) if way == "repr" else tree


def _raise(low: Lowering, op: Op) -> None:
    low.fail(op, op.operands)


def _note(low: Lowering, op: Op, commit: Commit) -> None:
    """Notes the write-back for an exception in the next op, or in any later one."""
    targets = low.noted(commit)
    noted: Writes = [(None, op)] if targets is None else [(t, low.tree(op.operands[n])) for t, n in targets]
    if commit.lasting:
        low.lasting = [*low.lasting, *noted]
    else:
        low.writes = [*low.writes, *noted]


def _host_call(low: Lowering, op: Op) -> None:
    fn = low.module.callables.get(op.attr("fn").removeprefix("@"))
    if isinstance(fn, Commit):
        _note(low, op, fn)
        return
    raise unsupported(op, f"it calls the Python function {op.attr('fn').removeprefix('@')}")


SPECIAL.update({"print": _print, "raise": _raise, "host_call": _host_call})
