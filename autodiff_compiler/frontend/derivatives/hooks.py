"""Hooks of Cells in compiled code: the hooks of `runtime.hooks`, compiled where they run.

Backward hooks stand at two places of the program: where gradients leave the Cell (its inputs) and where they arrive
(its results).  The op at the results hands what arrives to the one at the inputs as the cotangent of zeros that went
the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.core import Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.walk import unpack
from ...runtime.hooks import Registered, after_backward, backward_what, hooked
from ..variables.calls import call
from ..variables.values import TensorVar
from .callbacks import run_hook
from .context import DerivativeContext
from .custom import OfVariables, cotangent_block, for_derivatives, variables_of
from .traced import traced_call

__all__ = ["call_with_hooks"]


def call_with_hooks(ctx: DerivativeContext, cell: Any, run: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The call of a Cell that has hooks; `run` calls it without."""

    def ask(hook: Registered, *given: Any) -> Any:
        return run_hook(ctx, hook.fn, given, f"{hook.what} of {type(cell).__name__}")

    def watched(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if ctx.effects.scouting or not (hooks["backward_pre"] or hooks["backward"]):
            return call(ctx, run, list(args), kwargs)
        return _observed(ctx, cell, hooks, ask, run, args, kwargs)

    hooks = cell._hooks.groups
    return hooked(cell, hooks, tuple(args), kwargs, ask, watched)


def _observed(
    ctx: DerivativeContext, cell: Any, hooks: Any, ask: Any, run: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The call between the op where its gradients leave and the one where they arrive."""
    given = [*args, *kwargs.values()]
    variables = variables_of(given)
    called = OfVariables(run, given, list(kwargs))
    traced = traced_call(ctx, called, variables, {}, range(len(variables)), None, backward=False)
    tensors = traced.chosen
    of_tensors: list[Any] = [traced.outs[i].type for i in tensors]
    carried = [i for i in tensors if not traced.outs[i].dtype.is_bool]
    types = [traced.outs[i].type for i in carried]

    def for_each(grads: Sequence[Any]) -> tuple[Any, ...]:
        """One for every Tensor: zeros for those that carry no derivative."""
        numbers = iter(grads)
        return tuple(
            [next(numbers) if not t.dtype.is_bool else TensorVar(trace.builder.const(0, t)) for t in of_tensors]
        )

    def leaving(grads: tuple[Any, ...], first: tuple[Any, ...]) -> tuple[Any, ...]:
        return after_backward(cell, hooks["backward"], grads, ask, for_each(first))

    def arriving(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        after = after_backward(cell, hooks["backward_pre"], for_each(grads), ask)
        return tuple([g for g, t in zip(after, of_tensors, strict=True) if not t.dtype.is_bool])

    behind, before = (backward_what(cell, hooks[group]) for group in ("backward", "backward_pre"))
    entered, links = _entry(ctx, traced.operands, types, leaving, behind)
    results = list(unpack(trace.builder, traced.block, entered))
    passed = _exit(ctx, [results[i] for i in carried], links, arriving, before) if carried else ()
    for i, value in zip(carried, passed, strict=True):
        results[i] = value
    return traced.finish(ctx, results)


def _entry(
    ctx: DerivativeContext, operands: Sequence[Value], types: Sequence[Any], leaving: Callable[..., Any], what: str
) -> tuple[Sequence[Value], Sequence[Value]]:
    """The operands, whose gradients leave through the hooks, and zeros of these types: their cotangents arrived.

    It depends on a variable of every derivative, so the hooks run even if the Cell's inputs are constants.
    """
    source = F.gradient_source()
    n, m = len(operands), len(types)
    inputs = [*(v.type for v in operands), source.type]
    outs = [*inputs[:n], *types]
    forward = trace.builder.nested(inputs, [*(v.name for v in operands), None])
    with forward:
        block = forward.ret(*forward.block.args[:n], *(forward.const(0, t) for t in types))

    def found(values: Sequence[Value]) -> list[Any]:
        grads = [TensorVar(v) for v in values[len(inputs) + n + m :]]
        return [*leaving(tuple(grads[:n]), tuple(grads[n:])), None]

    later = for_derivatives(ctx, found, inputs, what, "AC1707")
    back, _ = cotangent_block(ctx, [*inputs, *outs, *outs], None, inputs, later, what)
    results = trace.builder.emit_op(REGISTRY["custom_vjp"], (*operands, source), (), (block, back)).results
    return results[:n], results[n:]


def _exit(
    ctx: DerivativeContext, values: Sequence[Value], links: Sequence[Value], arriving: Callable[..., Any], what: str
) -> Sequence[Value]:
    """The results, whose gradients, once they passed the hooks, go on to what made them and to the links."""
    m = len(values)
    types: list[Any] = [v.type for v in values]
    forward = trace.builder.nested([*types, *types], [None] * (2 * m))
    with forward:
        block = forward.ret(*forward.block.args[:m])

    def found(given: Sequence[Value]) -> list[Any]:
        after = arriving(tuple([TensorVar(v) for v in given[3 * m :]]))
        return [*after, *after]

    later = for_derivatives(ctx, found, [*types, *types], what, "AC1707")
    back, _ = cotangent_block(ctx, types * 4, None, [*types, *types], later, what)
    return trace.builder.emit_op(REGISTRY["custom_vjp"], (*values, *links), (), (block, back)).results
