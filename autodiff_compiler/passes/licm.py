"""Moves what a loop computes anew on every trip, though it never changes, in front of the loop.

Only pure ops without blocks move.  They cannot fail, so a loop that makes no trip does not begin to: what may fail (an
index out of bounds) is checked by an op with an effect, which stays, and with it all that depends on it.  An op inside
an `if` stays there, unless the loop lies in the `if` with it.
"""

from __future__ import annotations

from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Effect
from ..ir.walk import Cloner
from .manager import module_pass

__all__ = ["licm"]


@module_pass("licm")
def licm(module: Module) -> Module:
    """The module with loop-invariant ops in front of their loops."""
    new = module.like()
    for function in module:
        body = Block.like(function.args)
        mover = _Mover(Builder(body, module=new), dict(zip(function.args, body.args, strict=True)))
        body.outs = mover.clone_ops(function.body)
        new.add(Function(function.name, body, function.loc))
    return new


class _Mover(Cloner):
    """Copies ops into the outermost loop's surroundings that still see their operands.

    `around` are the builders of the blocks around this one, from the function inwards, up to this one; `free` is how
    many of them, counted from the inside, an op may leave: loops until the first block that is none.
    """

    around: tuple[Builder, ...]
    free: int

    def __init__(self, builder: Builder, mapping: dict[Value, Value] | None = None, relocate: object = None) -> None:
        super().__init__(builder, mapping)
        self.around, self.free = (builder,), 0

    def clone_block(self, block: Block) -> Block:
        builder = self.builder.nested_like(block.args)
        self.mapping.update(zip(block.args, builder.block.args, strict=True))
        inner = type(self)(builder, self.mapping)
        inner.around = (*self.around, builder)
        inner.free = self.free + 1 if block.parent is not None and block.parent.defn.name in ("while", "scan") else 0
        return builder.ret(*inner.clone_ops(block))

    def clone_op(self, op: Op) -> None:
        defn = op.defn
        if not self.free or defn.infer_blocks is not None or defn.effect is not Effect.PURE:
            super().clone_op(op)
            return
        target = self._target([self.mapping.get(x, x) for x in op.operands])
        inside, self.builder, loc = self.builder, target, target.loc
        with target:
            super().clone_op(op)
        self.builder, target.loc = inside, loc

    def _target(self, operands: list[Value]) -> Builder:
        """The outermost builder an op may move to: the innermost block that one of its operands lies in, at most."""
        blocks = {x.block for x in operands}
        last = len(self.around) - 1
        for i in range(last, last - self.free, -1):
            if self.around[i].block in blocks:
                return self.around[i]
        return self.around[last - self.free]
