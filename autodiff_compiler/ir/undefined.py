"""Which values may be `undef` at run time: placeholders that nobody reads but that are passed along."""

from __future__ import annotations

from .core import Module, Op, Value
from .walk import ops_of

__all__ = ["undefined_values"]


def undefined_values(module: Module) -> set[Value]:
    """All values that an `undef` may reach through tuples, branches, carries and calls."""
    found: set[Value] = {
        op.results[0] for function in module for op in ops_of(function.body) if op.defn.name == "undef"
    }
    size = -1
    while found and len(found) != size:
        size = len(found)
        for function in module:
            for op in ops_of(function.body):
                _spread(op, module, found)
    return found


def _spread(op: Op, module: Module, found: set[Value]) -> None:
    """One step of the flow through an op."""
    name = op.defn.name
    pairs: list[tuple[Value, Value]] = []
    if name == "if":
        for block in op.blocks:
            pairs += zip(block.outs, op.results, strict=True)
    elif name == "while":
        cond, body = op.blocks
        for i, init in enumerate(op.operands):
            for source in (init, body.outs[i]):
                pairs += [(source, target) for target in (cond.args[i], body.args[i], op.results[1 + i])]
    elif name == "scan":
        body = op.blocks[0]
        for i in range(op.attr("carries")):
            for source in (op.operands[1 + i], body.outs[i]):
                pairs += [(source, body.args[1 + i]), (source, op.results[i])]
    elif name == "call":
        callee = module.functions[op.attr("fn").removeprefix("@")]
        pairs += zip(op.operands, callee.args, strict=True)
        pairs += zip(callee.outs, op.results, strict=True)
    elif name in ("tuple_make", "tuple_get", "stop_gradient", "to_seq", "from_seq"):
        pairs += [(x, op.results[0]) for x in op.operands]
    found.update(target for source, target in pairs if source in found)
