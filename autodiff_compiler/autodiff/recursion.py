"""Rules of labelled `custom_vjp` ops: values that a search found, whose rules may use the function they belong to.

`again` becomes a copy of the op that it stands for.

A derivative copies the backward block of a `custom_vjp`.  Of a recursive one each copy holds the op anew, with its
rule, so the next derivative finds one, too; what no derivative asks for is never copied.
"""

from __future__ import annotations

from typing import Any

from ..ir.build import Builder
from ..ir.core import Block, Op, Value
from ..ir.definition import Effect
from ..ir.walk import Cloner, free_values, ops_of

#: Effects of ops that refuse values.
_CHECKS = frozenset({"assert", "check_exponent", "check_index", "check_solved", "raise", "without_overflow"})


def backward_of(op: Op, builder: Builder) -> Block:
    """The block of the derivative rule of a user's op, to be copied: with that op in the place of every `again`."""
    block = op.blocks[-1]
    label = op.attr("label") if op.defn.name == "custom_vjp" else ""
    if not label or not any(_is_again(inner, label) for inner in ops_of(block)):
        return block
    copy = builder.nested_like(block.args)
    unrolled = _Unrolled(copy, op, dict(zip(block.args, copy.block.args, strict=True)))
    return copy.ret(*unrolled.clone_ops(block))


def _is_again(op: Op, label: str) -> bool:
    return op.defn.name == "again" and op.attr("label") == label


class _Unrolled(Cloner):
    """Copies ops, with a copy of `target` for each `again` of its label."""

    def __init__(self, builder: Builder, target: Op, mapping: dict[Any, Any]) -> None:
        super().__init__(builder, mapping)
        self.target = target

    def nested(self, builder: Builder) -> _Unrolled:
        return _Unrolled(builder, self.target, self.mapping)

    def clone_op(self, op: Op) -> None:
        target = self.target
        if not _is_again(op, target.attr("label")):
            inner = op.defn.name == "custom_vjp" and op.attr("label") == target.attr("label")
            (Cloner(self.builder, self.mapping).clone_op if inner else super().clone_op)(op)
            return
        self.builder.loc = op.loc
        operands = [self._mapped(x) for x in op.operands]
        blocks = [Cloner(self.builder, {}).clone_block(block) for block in target.blocks]
        self.map_results(op, self.builder.emit_op(target.defn, operands, target.attrs, blocks).results)

    def _mapped(self, x: Value) -> Value:
        found: Value = self.mapping.get(x, x)
        return found


def drop_checks(block: Block) -> None:
    """Drops from a transposed rule what nothing needs but the checks inside it, where it depends on the arguments.

    These stand for the cotangent of a rule of which only the transpose runs: there is no search for it, and nothing to
    check.
    """
    needed = set(block.outs)
    for op in reversed(block.ops):
        if not needed.isdisjoint(op.results):
            needed.update(_mentioned(op))
    fictional = set(block.args)
    kept = []
    for op in block.ops:
        depends = not fictional.isdisjoint(_mentioned(op))
        if depends:
            fictional.update(op.results)
        if not (depends and needed.isdisjoint(op.results) and _only_checks(op)):
            kept.append(op)
    block.ops = kept


def _mentioned(op: Op) -> list[Value]:
    return [*op.operands, *(x for inner in op.blocks for x in free_values(inner))]


def _only_checks(op: Op) -> bool:
    inside = (op, *(each for block in op.blocks for each in ops_of(block)))
    return all(each.defn.effect <= Effect.READ or each.defn.name in _CHECKS for each in inside)
