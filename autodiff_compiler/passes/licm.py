"""Loop-invariant code motion: ops whose operands do not change from trip to trip move in front of the loop.

Only pure ops without blocks move.  They cannot fail, so a loop that makes no trip does not begin to: an index out of
bounds, say, is found by an op with an effect, which stays, and with it all that depends on it.  An op inside an `if`
stays there, unless the loop lies in the `if` with it, and so does one that reads what may be `undef`: only the
conditions around it tell whether there is a value.

Views move before derivatives are taken, and out of an `if` in a loop as well: the reverse loop then adds to the view
that its trips read, `x[:, 0]` for `x[i, 0]`, and not to all of `x`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.primitive import Effect
from ..ir.sizes import Symbol
from ..ir.undefined import undefined_values
from ..ir.walk import SIZES, Cloner, ops_of, symbols_in
from .manager import module_pass

_LOOPS = ("while", "scan")
#: Ops that show elements of their operand, none of them twice.
_VIEWS = frozenset({"expand_dims", "reshape", "slice", "squeeze", "transpose"})


@module_pass("licm")
def licm(module: Module) -> Module:
    """The module with loop-invariant ops in front of their loops."""
    return _moved(module, _Mover)


@module_pass("views")
def views(module: Module) -> Module:
    """The module with loop-invariant views in front of their loops."""
    loops = any(op.defn.name in _LOOPS for function in module for op in ops_of(function.body))
    return _moved(module, _ViewMover) if loops else module


def _moved(module: Module, kind: type[_Mover]) -> Module:
    new, undefined = module.like(), undefined_values(module)
    for function in module:
        body = Block.like(function.args)
        mover = kind(Builder(body, module=new), dict(zip(function.args, body.args, strict=True)))
        mover.undefined = undefined
        body.outs = mover.clone_ops(function.body)
        new.add(Function(function.name, body, function.loc))
    return new


class _Mover(Cloner):
    """Copies ops into the outermost loop's surroundings that still see their operands.

    `around` are the builders of the blocks around this one, from the function inwards, up to this one; `free` is how
    many of them, counted from the inside, an op may leave: those of ops of `left` in a row, a loop's the outermost.
    What reads one of `undefined` leaves none.
    """

    #: ops out of whose blocks others move
    left: tuple[str, ...] = _LOOPS
    around: tuple[Builder, ...]
    free: int
    undefined: set[Value]

    def __init__(self, builder: Builder, mapping: dict[Value, Value] | None = None, relocate: object = None) -> None:
        super().__init__(builder, mapping)
        self.around, self.free = (builder,), 0

    def clone_block(self, block: Block) -> Block:
        builder = self.inner_builder(block)
        inner = type(self)(builder, self.mapping)
        inner.around, inner.undefined = (*self.around, builder), self.undefined
        parent = block.parent.defn.name if block.parent is not None else ""
        if parent in self.left and self.free:
            inner.free = self.free + 1
        else:  # an `if` around the outermost loop is not left
            inner.free = int(parent in _LOOPS)
        return builder.ret(*inner.clone_ops(block))

    def moves(self, op: Op) -> bool:
        return op.defn.infer_blocks is None and op.defn.effect is Effect.PURE

    def clone_op(self, op: Op) -> None:
        if not (self.free and self.moves(op) and self.undefined.isdisjoint(op.operands)):
            super().clone_op(op)
            return
        sizes = list(symbols_in(op))
        if SIZES in self.mapping and sizes:
            super().clone_op(op)  # they have other names in the copy
            return
        target = self._target([self.mapping.get(x, x) for x in op.operands], sizes)
        inside, self.builder, loc = self.builder, target, target.loc
        with target:
            super().clone_op(op)
        self.builder, target.loc = inside, loc

    def _target(self, operands: list[Value], sizes: Sequence[Symbol]) -> Builder:
        """The outermost builder an op may move to: the innermost block that one of its operands lies in, at most.

        Nor does it leave a block that binds one of its `sizes`.
        """
        blocks = {x.block for x in operands}
        last = len(self.around) - 1
        for i in range(last, last - self.free, -1):
            if self.around[i].block in blocks or any(s in self.around[i].bound for s in sizes):
                return self.around[i]
        return self.around[last - self.free]


class _ViewMover(_Mover):
    """Moves views only, and also out of what may not run."""

    left = (*_LOOPS, "if")

    def moves(self, op: Op) -> bool:
        return op.defn.name in _VIEWS
