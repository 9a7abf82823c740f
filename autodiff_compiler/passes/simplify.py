"""Rewrites, folds and numbers every op in one forward sweep, then drops what is dead.

An op is emitted anew through a builder that knows the rules (`rules/`), so its operands are in final form when a rule
looks at it; ops with blocks are rewritten by the rules of `rules/control.py` while their blocks are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.build import Builder
from ..ir.core import Block, Function, Module, Op, Value
from ..ir.walk import Cloner
from .dce import dce
from .manager import module_pass
from .rules import RULES, STRUCTURED


@module_pass("simplify")
def simplify(module: Module) -> Module:
    """The same program in fewer ops: equal values bit for bit, equal effects, errors and derivatives."""
    new = module.like()
    for function in module:
        new.add(_swept(function, new))
    return dce(new)


def _swept(function: Function, module: Module) -> Function:
    body = Block.like(function.args)
    builder = Builder(body, module=module, rules=RULES)
    sweep = _Sweep(builder, dict(zip(function.args, body.args, strict=True)))
    builder.ret(*sweep.clone_ops(function.body))
    return Function(function.name, body, function.loc)


class _Sweep(Cloner):
    def clone_structured(self, op: Op, operands: tuple[Value, ...]) -> Sequence[Value]:
        for rewrite in STRUCTURED.get(op.defn.name, ()):
            found: Sequence[Value] | None = rewrite(self, op, operands)
            if found is not None:
                return found
        return super().clone_structured(op, operands)
