"""Functions whose captured values are arguments, and values that a rule gives a derivative, in compiled code.

Both are what implicit derivatives need (`autodiff_compiler.implicit`): a rule gives cotangents to its operands alone,
so that what a user's function captures has to be among them; and the rule of a linear solve uses a linear solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autodiff.activity import holds_floats
from ...errors import SideEffectError
from ...ir.core import Block, Op, Value
from ...ir.primitive import F, trace
from ...ir.walk import Cloner, free_values, inline, ops_of
from ..variables.structure import map_leaves
from ..variables.values import TensorVar, is_tensor
from .context import DerivativeContext
from .custom import call_with_rule
from .traced import traced_call

#: What a search may not do once per step, where it has no result.  (It may stop, and print.)
_ACTING = frozenset({"host_call", "state_write"})


def native(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function of its abstract arguments, as compiled code calls it."""
    run.__graph_call__ = lambda ctx, args, kwargs: run(*args)  # type: ignore[attr-defined]
    return run


class ClosedFunction:
    """A traced function of Tensors to one Tensor: ``closed(captured, *args)``."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def __graph_call__(self, ctx: DerivativeContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        captured, *given = args
        operands = [ctx.unwrap(x) for x in (*given, *captured)]
        return TensorVar(inline(trace.builder, self._block, operands)[0])


def closed_over(ctx: DerivativeContext, fn: Any, args: Sequence[Any], what: str) -> tuple[ClosedFunction, list[Any]]:
    """The function with the floats that it captures as arguments, Parameters included; and these.

    SideEffectError: it changes something, or draws random numbers, which a search would do once per step.
    """
    traced = traced_call(ctx, fn, args, {}, range(len(args)), None, backward=False)
    acting = next((op for op in ops_of(traced.block) if op.defn.name in _ACTING and not op.results), None)
    if traced.changes or acting is not None:
        raise SideEffectError(
            f"the function of `{what}` changes something outside of it, and runs as often as the search takes",
            loc=acting.loc if acting is not None else ctx.here,
            hint="let it compute its result from its arguments alone, without random numbers or assigned attributes",
        )
    free = [v for v in free_values(traced.block) if holds_floats(v.type) and v.constant is None]
    read = {op.attrs[0]: op.results[0].type for op in ops_of(traced.block) if op.defn.name == "state_read"}
    states = {name: type for name, type in read.items() if holds_floats(type)}
    captured = [*free, *(F.state_read(state=name, type=type) for name, type in states.items())]
    own = traced.block.args
    builder = trace.builder.nested([v.type for v in (*own, *captured)], [v.name for v in (*own, *captured)])
    inside = builder.block.args
    cloner = _WithStates(builder, dict(zip((*own, *free), inside, strict=False)))
    cloner.states = dict(zip(states, inside[len(own) + len(free) :], strict=True))
    block = builder.ret(*cloner.clone_ops(traced.block)[:1])
    return ClosedFunction(block), [TensorVar(v) for v in captured]


class _WithStates(Cloner):
    """Copies ops, with values in the place of what is read of states."""

    states: dict[str, Value]

    def nested(self, builder: Any) -> _WithStates:
        inner = _WithStates(builder, self.mapping, self.relocate)
        inner.states = self.states
        return inner

    def clone_op(self, op: Op) -> None:
        if op.defn.name == "state_read" and op.attrs[0] in self.states:
            self.mapping[op.results[0]] = self.states[op.attrs[0]]
        else:
            super().clone_op(op)


def with_rule(
    ctx: DerivativeContext,
    key: Any,
    value: Any,
    operands: Sequence[Any],
    rule: Callable[..., Any],
    what: str,
    linear: bool = False,
    reverse_only: str = "",
) -> Any:
    """`value`, whose derivative by the operands ``rule(value, *operands, out, dout)`` gives.

    The rule may call this with the same `key`, and operands of the same types, again.  `linear`: the value is linear in
    the first operand; `reverse_only`: what to do instead, where forward mode cannot use the rule.
    """
    derivatives = ctx.derivatives
    label = derivatives.recursive.get(key)
    if label is not None:
        values = [ctx.unwrap(x) for x in (value, *operands)]
        return TensorVar(F.again(*values, label=label, types=(values[0].type,))[0])
    derivatives.labels += 1
    derivatives.recursive[key] = label = f"{what}_{derivatives.labels}"
    names = ["value", *(f"operand {i}" for i in range(len(operands)))]
    first = native(lambda value, *_: value)
    given = [value, *operands]
    try:
        return call_with_rule(
            ctx, first, given, names, native(rule), f"`{what}`",
            label=label, linear=(1,) * linear, reverse_only=reverse_only,
        )  # fmt: skip
    finally:
        del derivatives.recursive[key]


def without_derivative(ctx: DerivativeContext, x: Any) -> Any:
    """A structure whose Tensors carry no derivative."""
    return map_leaves(lambda leaf: TensorVar(F.stop_gradient(ctx.unwrap(leaf))) if is_tensor(leaf) else leaf, x)
