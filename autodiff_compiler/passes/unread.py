"""Dead results: an op of several results becomes a cheaper one where only the first is read."""

from __future__ import annotations

from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import REGISTRY
from ..ir.walk import Cloner, ops_of
from .manager import module_pass

#: By op: the one that makes only its first result, and takes the same attributes.
_FIRST_ONLY = {"sort": "msort"}


@module_pass("unread")
def unread(module: Module) -> Module:
    """The module with sorted values that nobody wants the order of.  Derivatives need it, so they are taken before."""
    new = module.like()
    for function in module:
        unused = _unused(function)
        new.add(_narrowed(function, new, unused) if unused else function)
    return new


def _unused(function: Function) -> set[Op]:
    """The ops all of whose results but the first are not read."""
    ops = [op for op in ops_of(function.body) if op.defn.name in _FIRST_ONLY]
    if not ops:
        return set()
    read: set[Value] = set(function.outs)
    for op in ops_of(function.body):
        read.update(op.operands, *[block.outs for block in op.blocks])
    return {op for op in ops if read.isdisjoint(op.results[1:])}


def _narrowed(function: Function, module: Module, unused: set[Op]) -> Function:
    body = Block.like(function.args)
    builder = Builder(body, module=module)
    builder.ret(*_Narrower(builder, dict(zip(function.args, body.args, strict=True)), unused).clone_ops(function.body))
    return Function(function.name, body, function.loc)


class _Narrower(Cloner):
    def __init__(self, builder: Builder, mapping: dict[Value, Value], unused: set[Op]) -> None:
        super().__init__(builder, mapping)
        self.unused = unused

    def nested(self, builder: Builder) -> Cloner:
        return _Narrower(builder, self.mapping, self.unused)

    def clone_op(self, op: Op) -> None:
        if op not in self.unused:
            super().clone_op(op)
            return
        self.builder.loc = op.loc
        operands = tuple([self.mapping.get(x, x) for x in op.operands])
        found = self.builder.emit(REGISTRY[_FIRST_ONLY[op.defn.name]], operands, op.attrs)
        self.map_results(op, [found, *op.results[1:]])  # the others stand for themselves: nobody reads them
