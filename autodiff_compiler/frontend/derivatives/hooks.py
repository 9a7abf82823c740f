"""Hooks of Cells in compiled code: the hooks of `runtime.hooks`, compiled where they run.

Backward hooks stand at two places of the program: where gradients leave the Cell (its inputs) and where they arrive
(its results).  The op at the results hands what arrives to the one at the inputs as the cotangent of zeros that went
the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gast

from ...ir.core import Block, Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.walk import unpack
from ...runtime.hooks import Registered, after_backward, backward_what, hooked
from ..syntax.jumps import RETURN_VALUE
from ..variables.calls import call
from ..variables.frames import Frame
from ..variables.values import TensorVar
from .callbacks import run_hook
from .context import DerivativeContext
from .custom import OfVariables, cotangent_block, for_derivatives, variables_of
from .traced import refuse_open_sizes, refuse_unknown_ranks, traced_call


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
    refuse_unknown_ranks(ctx, traced.result, "a hook takes its gradient")
    refuse_open_sizes(traced, "its gradient, which a hook takes")
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
    n = len(operands)
    inputs = [*(v.type for v in operands), source.type]
    forward = trace.builder.nested(inputs, [*(v.name for v in operands), None])
    with forward:
        block = forward.ret(*forward.block.args[:n], *(forward.const(0, t) for t in types))

    def rule(grads: tuple[Any, ...]) -> list[Any]:
        return [*leaving(grads[:n], grads[n:]), None]

    results = _with_rule(ctx, (*operands, source), block, rule, what)
    return results[:n], results[n:]


def _exit(
    ctx: DerivativeContext, values: Sequence[Value], links: Sequence[Value], arriving: Callable[..., Any], what: str
) -> Sequence[Value]:
    """The results, whose gradients, once they passed the hooks, go on to what made them and to the links."""
    types: list[Any] = [v.type for v in values]
    forward = trace.builder.nested([*types, *types], [None] * (2 * len(types)))
    with forward:
        block = forward.ret(*forward.block.args[: len(types)])
    return _with_rule(ctx, (*values, *links), block, lambda grads: [*arriving(grads)] * 2, what)


def _with_rule(
    ctx: DerivativeContext, operands: Sequence[Value], block: Block, rule: Callable[[tuple[Any, ...]], Any], what: str
) -> Sequence[Value]:
    """The results of a block whose derivative is a rule, of the gradients of its results alone."""
    inputs: list[Any] = [v.type for v in operands]
    outs: list[Any] = [v.type for v in block.outs]

    def found(values: Sequence[Value]) -> list[Any]:
        return list(rule(tuple([TensorVar(v) for v in values[len(inputs) + len(outs) :]])))

    later = for_derivatives(ctx, found, inputs, what, "AC1707")
    back, _ = cotangent_block(ctx, [*inputs, *outs, *outs], None, inputs, later, what)
    return trace.builder.emit_op(REGISTRY["custom_vjp"], operands, ("", (), ""), (block, back)).results


# ------------------------------------------------------------------------------------------ None on one path only
def instead_of_none(a: Any, b: Any, gradients: Sequence[Any]) -> tuple[Any, Any]:
    """What a hook returns on two paths, with the gradients in the place of None."""
    return _filled(a, b, gradients), _filled(b, a, gradients)


def _filled(x: Any, other: Any, gradients: Sequence[Any]) -> Any:
    several = isinstance(other, tuple) and len(other) == len(gradients)
    if x is None and other is not None:
        one = gradients[0] if len(gradients) == 1 and not isinstance(other, tuple) else None
        return tuple(gradients) if several else one
    if several and type(x) is tuple and len(x) == len(gradients):
        return tuple([_filled(p, q, (g,)) for p, q, g in zip(x, other, gradients, strict=True)])
    return x


def place_in_return(frame: Frame, node: Any) -> int | None:
    """Where an expression stands in what the function of a frame returns: -1 if it is all of it; None if nowhere."""
    function = frame.prepared.node
    found = [function.body] if isinstance(function, gast.Lambda) else _returned(function)
    for value in found:
        if value is node:
            return -1
        if isinstance(value, gast.Tuple) and node in value.elts:
            return value.elts.index(node)
    return None


def _returned(function: Any) -> list[Any]:
    found = []
    for statement in gast.walk(function):
        to_return = isinstance(statement, gast.Assign) and getattr(statement.targets[0], "id", None) == RETURN_VALUE
        if isinstance(statement, gast.Return) or to_return:
            found.append(statement.value)
    return found
