"""`print` and `raise` as Python statements; host calls are refused."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from ...backends.numpy.kernels import print_call
from ...backends.numpy.syntax import attribute, call
from ...ir.core import Op, Value
from ...runtime.commits import Commit
from .lowering import SPECIAL, Lowering, Writes, unsupported
from .statements import Assign, Do, If, Statement, Var, tree_of

__all__: list[str] = []


def _print(low: Lowering, op: Op) -> None:
    made = print_call(op, low.support, functools.partial(_printed_value, low), methods=True)
    low.body.append(Do(ast.Expr(value=made), low.loc))


def _printed_value(low: Lowering, value: Value, way: str) -> ast.expr:
    tree = low.tree(value)
    if way == "number":
        return call(attribute(tree, "item"))
    return call("repr", tree) if way == "repr" else tree


def _fail(low: Lowering, op: Op, operands: Sequence[Value]) -> None:
    """Writes back what an exception must leave written, and raises it."""
    made = low.module.callables.get(op.attr("exception").removeprefix("@"))
    text = getattr(made, "text", None)
    if text is None:
        raise unsupported(op, "its exception is made by a function")
    error: ast.expr = _Shown(low, operands).visit(ast.parse(text, mode="eval").body)
    if operands and (low.writes or low.lasting):  # its message shows the values before the write-back
        var = Var(None, "error")
        low.body.append(Assign([var], error, low.loc))
        error = tree_of(var)
    low.leave(low.body)
    low.body.append(Do(ast.Raise(exc=error, cause=None), low.loc))


class _Shown(ast.NodeTransformer):
    """Puts what operands are in place of ``operands[n]``."""

    def __init__(self, low: Lowering, operands: Sequence[Value]) -> None:
        self._low, self._operands = low, operands

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        assert ast.unparse(node.value) == "operands"
        return self._low.tree(self._operands[ast.literal_eval(node.slice)])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "str" and _is_text(node.args[0]):
            return node.args[0]
        return node


def _is_text(tree: ast.expr) -> bool:
    """Whether it is ``"...".format(...)``."""
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == "format"


def _raise(low: Lowering, op: Op) -> None:
    _fail(low, op, op.operands)


def _assert(low: Lowering, op: Op) -> None:
    test = ast.UnaryOp(op=ast.Not(), operand=low.tree(op.operands[0]))
    failing: list[Statement] = []
    low.into(failing, lambda: _fail(low, op, op.operands[1:]))
    low.body.append(If(test, failing, [], low.loc))


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


SPECIAL.update({"print": _print, "raise": _raise, "assert": _assert, "host_call": _host_call})
