"""Inlining of small or single-use functions, and of users' overrides of derivatives once none is wanted any more.

`custom_vjp` becomes its forward block, `grad_map` and `stop_gradient` their operand, a gradient source zero.  All of
that waits for the last `grad`, which needs the overrides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from ..errors import RecursionDepthError
from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.walk import Cloner, callees, count_ops
from ..ir.walk import inline as copy_into
from .manager import has_grad, module_pass

#: A function of at most this many ops goes in the place of every call; below it a call costs more than it saves.
SMALL = 16


@module_pass("inline")
def inline(module: Module) -> Module:
    """The module without calls of functions that are small or called once, and without overrides of derivatives.

    A call that still binds states stays.  Raises RecursionDepthError where functions call each other in a circle.
    """
    order = callees_first(module)
    final = not has_grad(module)
    calls = Counter(callee for function in module for callee in callees(function))
    made = module.like()
    made.derived = final
    for name in order:
        made.add(_Inliner.function(module.functions[name], made, calls, final))
    reached = {callee for function in made for callee in callees(function)}
    new = made.like()
    for name in module.functions:
        if name == module.entry.name or name in reached:
            new.add(made.functions[name])
    return new


def callees_first(module: Module) -> list[str]:
    """The names of all functions, each after those it calls; RecursionDepthError where there is no such order."""
    graph = {f.name: list(dict.fromkeys(callees(f))) for f in module}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = " -> ".join(f"@{name}" for name in error.args[1])
        raise RecursionDepthError(
            f"functions call each other in a circle: {circle}",
            loc=module.functions[error.args[1][0]].loc,
            hint="write the recursion as a loop",
        ) from None


class _Inliner(Cloner):
    """Copies a function whose callees are already in their final form."""

    module: Module
    calls: dict[str, int]
    final: bool

    @classmethod
    def function(cls, function: Function, module: Module, calls: dict[str, int], final: bool) -> Function:
        body = Block.like(function.args)
        cloner = cls(Builder(body, module=module), dict(zip(function.args, body.args, strict=True)))
        cloner.module, cloner.calls, cloner.final = module, calls, final
        cloner.builder.ret(*cloner.clone_ops(function.body))
        return Function(function.name, body, function.loc)

    def nested(self, builder: Builder) -> _Inliner:
        inner = type(self)(builder, self.mapping, self.relocate)
        inner.module, inner.calls, inner.final = self.module, self.calls, self.final
        return inner

    def clone_op(self, op: Op) -> None:
        if self.final and op.defn.name == "stop_gradient":
            (x,) = op.operands
            self.mapping[op.results[0]] = self.mapping.get(x, x)
        elif self.final and op.defn.name in ("gradient_source", "missing_cotangent", "no_cotangent"):
            self.mapping[op.results[0]] = self.builder.const(0, op.results[0].type)  # type: ignore[arg-type]
        else:
            super().clone_op(op)

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        name = op.defn.name
        if name == "call" and not op.attr("states"):
            callee = self.module.functions[op.attr("fn").removeprefix("@")]
            if self.calls[callee.name] == 1 or count_ops(callee) <= SMALL:
                return copy_into(self.builder, callee.body, operands, caller=op.loc)
        if self.final and name == "custom_vjp":
            fwd = op.blocks[0]
            self.mapping.update(zip(fwd.args, operands, strict=True))
            return self.clone_ops(fwd)
        if self.final and name == "grad_map":
            return operands
        return super().clone_structured(op, operands)
