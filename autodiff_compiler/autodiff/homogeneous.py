"""Whether a user's derivative rule maps zeros to zeros: forward mode cannot transpose one that adds a constant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.core import Block, Op, Value
from .activity import differentiable, holds_floats

#: Ops that are zero as soon as one of these operands is, whatever the others are.
_FACTORS = {
    "mul": (0, 1),
    "mul_no_nan": (0, 1),
    "matmul": (0, 1),
    "product_sum": (0, 1),
    "conv": (0, 1),
    "conv_input": (0, 1),
    "conv_filter": (0, 1),
    "div": (0,),
    "xlogy": (0,),
    "linear_recurrence": (0,),
    "solve": (1,),
    "triangular_solve": (1,),
    "lstsq": (1,),
}


def is_homogeneous(block: Block, shares: Iterable[Value]) -> bool:
    """Whether all shares are known to be zero where the arguments of the block are.

    It is no test of linearity: a function that is not linear may well be zero at zero.
    """
    zeros = _Zeros(block.args)
    zeros.walk(block)
    return all(map(zeros.surely, shares))


class _Zeros:
    """The values of a block that are zero if its arguments are."""

    def __init__(self, known: Iterable[Value]) -> None:
        self.known = set(known)

    def surely(self, x: Value) -> bool:
        if x in self.known or x.is_const(0):
            return True
        op = x.op  # zeros of every example, from around
        return op is not None and op.defn.name == "broadcast_to" and self.surely(op.operands[0])

    def mark(self, values: Sequence[Value], zero: Iterable[bool]) -> None:
        for x, is_zero in zip(values, zero, strict=True):
            (self.known.add if is_zero else self.known.discard)(x)

    def walk(self, block: Block) -> None:
        for op in block.ops:
            name = op.defn.name
            if name == "if":
                for arm in op.blocks:
                    self.walk(arm)
                then, other = op.blocks
                self.mark(
                    op.results, [self.surely(a) and self.surely(b) for a, b in zip(then.outs, other.outs, strict=True)]
                )
            elif name == "while":
                body = op.blocks[1]
                self.loop(body, body.args, op.operands)
                self.mark(op.results[1:], map(self.surely, body.outs))
            elif name == "scan":
                body, carries = op.blocks[0], op.attr("carries")
                self.mark(body.args[1 + carries :], map(self.surely, op.operands[1 + carries :]))
                self.loop(body, body.args[1 : 1 + carries], op.operands[1 : 1 + carries])
                self.mark(op.results, map(self.surely, body.outs))
            else:
                self.mark(op.results, [self.of_zeros(op)] * len(op.results))

    def loop(self, body: Block, carries: Sequence[Value], starts: Sequence[Value]) -> None:
        """Marks the carries that are zero in every trip; a loop without trips returns their starts, zeros too."""
        zero = list(map(self.surely, starts))
        while True:
            self.mark(carries, zero)
            self.walk(body)
            after = [was and self.surely(out) for was, out in zip(zero, body.outs, strict=False)]
            if after == zero:
                return
            zero = after

    def of_zeros(self, op: Op) -> bool:
        """Whether an op gives zero: one of its factors is zero (a product), or all its float operands are."""
        factors = _FACTORS.get(op.defn.name)
        if factors is not None:
            return any(self.surely(op.operands[i]) for i in factors)
        if op.defn.name == "custom_vjp" and op.attr("linear"):
            return all(self.surely(op.operands[i]) for i in op.attr("linear"))
        if op.defn.name == "pad" and op.attr("value") != 0:
            return False
        floats = [x for x in op.operands if holds_floats(x.type)]
        numbers = floats or [x for x in op.operands if differentiable(x.type)]
        return bool(numbers) and all(map(self.surely, numbers))
