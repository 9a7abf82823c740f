"""Inlines all calls, so that one plan of loops and memory covers the program."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from ....ir.build import Builder
from ....ir.core import Block, Function, Module, Op, Value
from ....ir.walk import Cloner, callee_of, callees, count_ops, ops_of
from ....ir.walk import inline as copied
from ..codegen.lanes import NotNativeError

__all__ = ["without_calls"]

#: The most ops of a function with its calls inlined.
_MOST = 20_000


def without_calls(module: Module) -> Module:
    """The module as one function; NotNativeError where functions are recursive, or too large once inlined."""
    if not any(op.defn.name == "call" for op in ops_of(module.entry.body)):
        return module
    graph = {f.name: list(dict.fromkeys(callees(f))) for f in module}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        raise NotNativeError("functions that call themselves") from None
    made = module.like()
    sizes: dict[str, int] = {}
    for name in order:
        function = module.functions[name]
        called = [callee for op in ops_of(function.body) if (callee := callee_of(op)) is not None]
        sizes[name] = count_ops(function) + sum(sizes[callee] for callee in called)
        if sizes[name] > _MOST:
            raise NotNativeError(f"calls of more than {_MOST} ops")
        made.add(_written_out(function, made))
    new = module.like()
    new.add(made.functions[module.entry.name])
    return new


def _written_out(function: Function, made: Module) -> Function:
    body = Block.like(function.args)
    cloner = _Inline(Builder(body, module=made), dict(zip(function.args, body.args, strict=True)))
    cloner.made = made
    body.outs = cloner.clone_ops(function.body)
    return Function(function.name, body, function.loc)


class _Inline(Cloner):
    """Copies a function and inlines its callees, which have no calls any more."""

    made: Module

    def nested(self, builder: Builder) -> _Inline:
        inner = type(self)(builder, self.mapping, self.relocate)
        inner.made = self.made
        return inner

    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        callee = callee_of(op)
        if callee is None:
            return super().clone_structured(op, operands)
        return copied(self.builder, self.made.functions[callee].body, operands, caller=op.loc)
