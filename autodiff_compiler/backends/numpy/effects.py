"""Lowers ops with effects: `print`, exceptions, host calls, calls of functions."""

from __future__ import annotations

import ast
import functools

from ...errors import InternalCompilerError
from ...ir.core import Op, Value
from ...ir.types import TensorType
from ...runtime.commits import Commit
from ...runtime.host import checked_results
from ...runtime.text import tensor_repr
from .kernels import print_call
from .lower import LOWERINGS, Lowering
from .program import Branch, Node
from .syntax import Var, assign, attribute, call, constant, load, store, subscript, tuple_expr

__all__: list[str] = []


def array(low: Lowering, value: Value) -> ast.expr:
    """The value for host code: an ndarray even without dimensions."""
    tree = low.value(value)
    operand = low.env[value]
    if isinstance(operand, Var):
        operand.set_foreign()  # they may keep it
    return call("np.asarray", tree) if isinstance(value.type, TensorType) and value.type.shape == () else tree


def host(low: Lowering, name: str) -> ast.expr:
    low.code.uses_callables = True
    return subscript(load("CALLABLES"), constant(name.removeprefix("@")))


def print_(low: Lowering, op: Op) -> None:
    low.run(ast.Expr(value=print_call(op, low.support, functools.partial(_printed_value, low))))


def _printed_value(low: Lowering, value: Value, way: str) -> ast.expr:
    if way == "number":
        return call(attribute(low.value(value), "item"))
    if way == "array":
        return array(low, value)
    if way == "scalar":
        return subscript(array(low, value), tuple_expr([]))
    if way == "repr":
        assert isinstance(value.type, TensorType)
        return call(low.support.include(tensor_repr), array(low, value), constant(str(value.type.dtype)))
    return low.value(value)


def raise_(low: Lowering, op: Op) -> None:
    made = call(host(low, op.attr("exception")), *(array(low, v) for v in op.operands))
    low.run(ast.Raise(exc=made, cause=None))


def assert_(low: Lowering, op: Op) -> None:
    condition, *operands = op.operands
    failed: list[Node] = []
    with low.into(failed):
        made = call(host(low, op.attr("exception")), *(array(low, v) for v in operands))
        low.run(ast.Raise(exc=made, cause=None))
    test = ast.UnaryOp(op=ast.Not(), operand=low.value(condition))
    low.block.append(Branch(test, (failed, []), low.loc))


def host_call(low: Lowering, op: Op) -> None:
    fn = low.code.module.callables.get(op.attr("fn").removeprefix("@"))
    if isinstance(fn, Commit) and not fn.lasting:
        low.commits.append(op)
        return
    made = call(host(low, op.attr("fn")), *(array(low, v) for v in op.operands))
    if not op.results:
        low.run(ast.Expr(value=made))
        return
    targets = [Var(r.type, r.name, foreign=True) for r in op.results]
    for var in targets:
        var.lose_order()
    low.env.update(zip(op.results, targets, strict=True))
    promised = []
    for r in op.results:
        if not isinstance(r.type, TensorType):
            raise InternalCompilerError(f"a host function returns arrays, not {r.type}", loc=op.loc)
        shape, dtype = tuple_expr(low.dims(r.type.shape)), call("np.dtype", low.dtype(r.type.dtype))
        promised.append(tuple_expr([shape, dtype]))
    name = constant(op.attr("fn").removeprefix("@"))
    checked = call(low.support.include(checked_results), name, made, tuple_expr(promised))
    low.run(assign(tuple_expr((store(v) for v in targets), stored=True), checked))


def call_(low: Lowering, op: Op) -> None:
    """A call of a function of the module, which overwrites no arguments but may return them: see `Lowering.link`."""
    callee = op.attr("fn").removeprefix("@")
    arguments = [low.value(x) for x in op.operands]
    targets = [low.target(r) for r in op.results]
    for var in targets:
        var.lose_order()
    low.code.sites.setdefault(callee, []).append([low.env[x] for x in op.operands])
    low.calls.append((callee, targets, [low.env[x] for x in op.operands]))
    tree = call(low.code.names[callee], *arguments)
    if targets:
        low.run(assign(tuple_expr((store(v) for v in targets), stored=True), tree))
    else:
        low.run(ast.Expr(value=tree))


LOWERINGS.update({"print": print_, "raise": raise_, "assert": assert_, "host_call": host_call, "call": call_})
