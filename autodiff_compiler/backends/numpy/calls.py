"""Lowers calls: of host functions, of functions of the module."""

from __future__ import annotations

import ast

from ...errors import InternalCompilerError
from ...ir.core import Op
from ...ir.types import TensorType
from ...runtime.commits import Commit
from ...runtime.host import checked_results
from .lower import LOWERINGS, Lowering
from .syntax import Var, assign, call, constant, store, tuple_expr


def host_call(low: Lowering, op: Op) -> None:
    fn = low.module.callables.get(op.attr("fn").removeprefix("@"))
    if isinstance(fn, Commit) and not fn.lasting:
        low.commits.append(op)
        return
    made = call(low.host(op.attr("fn")), *(low.array(v) for v in op.operands))
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
    """A function of the module.  It never overwrites its arguments and may return them: see `Lowering.link`."""
    callee = op.attr("fn").removeprefix("@")
    arguments = [low.tree(x) for x in op.operands]
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


LOWERINGS.update({"host_call": host_call, "call": call_})
