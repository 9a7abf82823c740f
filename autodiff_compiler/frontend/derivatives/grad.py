"""Derivatives inside compiled code: the differentiated function becomes the block of a `grad` or `linearize` op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...autodiff.activity import active_values, differentiable
from ...errors import NOTHING_RETURNED, GradientError, GradientWarning
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F, trace
from ...ir.types import Type, has_erased_sizes, same_shape, tensor
from ...ir.walk import ops_of
from ..effects.after_forward import check_names
from ..effects.commits import commit_before_backward
from ..variables.arithmetic import kind_of_number
from ..variables.base import variable_of
from ..variables.structure import flatten
from ..variables.values import StateVar, TensorVar, describe
from .context import DerivativeContext
from .custom import in_type
from .tensor_hooks import after_variable_hooks
from .traced import Traced, _dynamic, emit_derivative, named, refuse_unknown_ranks, traced_call

#: What stands for cotangents that are ones.
ONES = object()


def differentiate(
    ctx: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int],
    weights: Sequence[Any] = (), select: Any = None, sens: Any = None,
) -> tuple[Any, list[Any], list[Any]]:  # fmt: skip
    """``fn(*args, **kwargs)`` and its derivatives by the arguments at `positions` and the Parameters `weights`.

    ``select(result)`` picks the part of the result that is differentiated (default: all of it); `sens` gives its
    cotangents (default: ones).  Returns the result, the gradients by position and the gradients of `weights`.
    """
    traced = traced_call(ctx, fn, args, kwargs, positions, select)
    if not _dynamic(traced.selected):
        place = ctx.report.called_from if ctx.here is None else ctx.here
        ctx.report.warnings.append((GradientWarning(NOTHING_RETURNED), place and place.of_user()))
    of_weights = _of_weights(ctx, weights)
    carrying = traced.carrying(of_weights)
    if any(has_erased_sizes(traced.outs[i].type) for i in carrying):
        return _pulled_back(ctx, linear_of(ctx, traced, weights), [args[p] for p in positions], weights, sens)
    seeds, seed_values = _seeds(ctx, traced, of_weights, select, sens)
    states = tuple([w.name for w in of_weights])
    attrs = (tuple(range(len(positions))), seeds, states, False, ())
    op = emit_derivative(ctx, "grad", (*traced.operands, *seed_values), attrs, (traced.block,))
    n, k = traced.count, len(positions)
    bare = _bare_numbers(ctx, traced, positions)
    grads = [_as_number(v) if i in bare else TensorVar(v) for i, v in enumerate(op.results[n:])]
    grads = _hooked(ctx, traced, [*(args[p] for p in positions), *_of_weights(ctx, weights)], grads)
    return traced.finish(ctx, named(op.results[:n])), grads[:k], grads[k:]


def _pulled_back(
    ctx: DerivativeContext, linear: Linear, wrt: Sequence[Any], weights: Sequence[Any], sens: Any
) -> tuple[Any, list[Any], list[Any]]:
    """The same where cotangents have sizes of data, which are known once the function has run."""
    linear.variables = [*wrt, *_of_weights(ctx, weights)]
    grads = linear.pull(ctx, ONES if sens is None else sens)
    return linear.result, grads[: len(wrt)], grads[len(wrt) :]


def _of_weights(ctx: DerivativeContext, weights: Sequence[Any]) -> list[StateVar]:
    """The states of Parameters, some of which the function may not use: those have gradients of zeros."""
    return [ctx.outside.state(w) for w in weights]


def _hooked(ctx: DerivativeContext, traced: Traced, variables: Sequence[Any], grads: Sequence[TensorVar]) -> list[Any]:
    """The gradients by variables after the hooks of these."""
    ctx.effects.hooks.backward_has_run()  # the backward pass has run
    ctx.effects.host_ran.backward_has_run()
    check_names(ctx)
    return after_variable_hooks(ctx, variables, traced.block, [traced.outs[i] for i in traced.chosen], grads)


def _bare_numbers(ctx: DerivativeContext, traced: Traced, positions: Sequence[Any]) -> set[int]:
    """The positions whose gradient is the very Python number that a user's rule gave, and is handed out as a number.

    These are the arguments with one use, the op with the rule.
    """
    found: set[int] = set()
    if not ctx.derivatives.bare_numbers:
        return found
    block = traced.block
    uses = [(op, i) for op in ops_of(block) for i, x in enumerate(op.operands) if x in block.args[: len(positions)]]
    yielded = {x for inner in (block, *(b for op in ops_of(block) for b in op.blocks)) for x in inner.outs}
    active = active_values(block, block.args[: len(positions)], [traced.outs[i] for i in traced.chosen])
    for k, arg in enumerate(block.args[: len(positions)]):
        own = [(op, i) for op, i in uses if op.operands[i] is arg]
        if len(own) == 1 and arg not in yielded and own[0] in ctx.derivatives.bare_numbers and arg in active:
            op = own[0][0]
            if op.parent is block and any(r in active for r in op.results):
                found.add(k)
    return found


def _as_number(value: Value) -> TensorVar:
    """A gradient whose elements are all one number, as a 0-d Tensor; one without elements stays as it is."""
    if 0 in value.shape or not value.shape:
        return TensorVar(value)
    axes = tuple(range(-value.ndim, 0))
    first = F.slice(value, axes=axes, starts=(0,) * value.ndim, stops=(1,) * value.ndim, steps=(1,) * value.ndim)
    return TensorVar(F.reshape(first, shape=()))


def push_forward(
    ctx: DerivativeContext,
    fn: Any,
    args: Sequence[Any],
    positions: Sequence[int],
    tangents: Sequence[Any],
    select: Any = None,
) -> tuple[Any, Any]:
    """``fn(*args)`` and the tangent of (the selected part of) its result, given those of some arguments."""
    traced = traced_call(ctx, fn, args, {}, positions, select)
    given = [ctx.unwrap(t) for t in tangents]
    for x, t in zip(traced.operands, given, strict=True):
        if t.type is not x.type:
            raise GradientError(f"the tangent of an argument {x.type} is {t.type}")
    carrying = traced.carrying()
    attrs = (tuple(range(len(positions))), tuple(carrying), (), True, ())
    op = emit_derivative(ctx, "grad", (*traced.operands, *given), attrs, (traced.block,))
    n = traced.count
    results = named(op.results[:n])
    by_out = _by_out(traced, results, carrying, op.results[n:])
    return traced.finish(ctx, results), traced.part(by_out)


def _by_out(
    traced: Traced, results: Sequence[Value], carrying: Sequence[int], found: Sequence[Value]
) -> dict[int, TensorVar]:
    """Values for the outs that may have a derivative, and zeros for the others, by the number of the out."""
    zeros = {i: trace.builder.const(0, results[i].type) for i in traced.chosen if i not in carrying}
    given = {i: _in_sizes(v, results[i].type) for i, v in zip(carrying, found, strict=True)}
    return {i: TensorVar(v) for i, v in (given | zeros).items()}


def _in_sizes(x: Value, type_: Type) -> Value:
    """A derivative in the type of what it is of, inside or outside of the block that knows its sizes."""
    return x if x.type is type_ else F.with_sizes(x, type=type_)


# ------------------------------------------------------------------------------------------------ linear maps
@dataclass
class Linear:
    """A call that has run, and the links to its linear maps: of cotangents backward and of tangents forward.

    It is an object of compile time.  Its maps may be called wherever the call's own values are in sight.
    """

    traced: Traced
    #: what the call returned
    result: Any
    #: numbers of its outs that may have a derivative
    carrying: list[int]
    link: Value
    #: its outs, where they are used
    results: Sequence[Value] = ()
    forward: Value | None = None
    #: the inputs and weights, if their hooks are to see what `pull` gives
    variables: list[Any] | None = None

    def pull(self, ctx: DerivativeContext, sens: Any) -> list[TensorVar]:
        """The cotangents of the inputs, and of the weights asked for, given one for every output Tensor."""
        outs, chosen = self.traced.outs, self.traced.chosen
        if sens is not ONES:
            refuse_unknown_ranks(ctx, self.traced.selected, "its cotangent, given here, has one shape")
        seeds = []
        given = [1] * len(chosen) if sens is ONES else _given(ctx, sens, len(chosen))
        for i, s in zip(chosen, given, strict=True):
            if i in self.carrying:  # as in eager code, outputs that carry no derivative take any cotangent
                seed = _seed(0 if s is None else s, self.results[i].type)
                seeds.append(_in_sizes(seed, outs[i].type))
        bare = _bare_numbers(ctx, self.traced, self.traced.operands)
        found = self.pulled(ctx, self.link, seeds)
        grads = [_as_number(v) if i in bare else TensorVar(v) for i, v in enumerate(found)]
        return grads if self.variables is None else _hooked(ctx, self.traced, self.variables, grads)

    def push(self, ctx: DerivativeContext, tangents: Sequence[Any]) -> Any:
        """The tangent of the result, given those of the inputs."""
        link = self.forward_link(ctx)
        given = [ctx.unwrap(t) for t in tangents]
        for x, t in zip(self.traced.operands, given, strict=True):
            if type(t) is not Value or t.type is not x.type:
                raise GradientError(f"the tangent of an argument {x.type} is {t.type if type(t) is Value else t!r}")
        found = self.pulled(ctx, link, [t for t in given if differentiable(t.type)])
        return self.traced.part(_by_out(self.traced, self.results, self.carrying, found))

    def forward_link(self, ctx: DerivativeContext) -> Value:
        """The link whose backward pass is the map of tangents.

        The map of cotangents is linear: at any point, its own map of cotangents is its transpose.
        """
        if self.forward is None:
            types = [self.traced.outs[i].type for i in self.carrying]
            builder = trace.builder.nested(types)
            with builder:
                found = emit_derivative(ctx, "pull", (self.link, *builder.block.args), (), ()).results
            seeds = [j for j, v in enumerate(found) if differentiable(v.type)]
            zeros = [
                _in_sizes(trace.builder.const(0, self.results[i].type), t)
                for i, t in zip(self.carrying, types, strict=True)
            ]
            attrs = (tuple(range(len(types))), tuple(seeds), ())
            self.forward = emit_derivative(ctx, "linearize", zeros, attrs, (builder.ret(*found),)).results[-1]
        return self.forward

    @staticmethod
    def pulled(ctx: DerivativeContext, link: Value, seeds: Sequence[Value]) -> Sequence[Value]:
        scope: Builder | None = trace.builder
        while scope is not None and scope.block is not link.block:
            scope = scope.parent
        if scope is None:
            raise GradientError(
                "a pullback or linear map is called outside of the branch, loop or differentiated function of its run",
                code="AC1710",
                hint="call it there, or make it before",
            )
        assert link.op is not None
        commit_before_backward(ctx, link.op.blocks[0])
        return emit_derivative(ctx, "pull", (link, *seeds), (), ()).results


def linearise(
    ctx: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int],
    weights: Sequence[Any] = (), select: Any = None, hooks: bool = False,
) -> Linear:  # fmt: skip
    """Runs ``fn(*args, **kwargs)`` once, for derivatives at that point by the Tensors at `positions` and `weights`.

    With `hooks` what its pullback gives passes the hooks of these.
    """
    linear = linear_of(ctx, traced_call(ctx, fn, args, kwargs, positions, select), weights)
    if hooks:
        linear.variables = [*(args[p] for p in positions), *_of_weights(ctx, weights)]
    return linear


def linear_of(ctx: DerivativeContext, traced: Traced, weights: Sequence[Any] = ()) -> Linear:
    """Puts a traced call in its place."""
    of_weights = _of_weights(ctx, weights)
    carrying = traced.carrying(of_weights)
    attrs = (tuple(range(len(traced.operands))), tuple(carrying), tuple([w.name for w in of_weights]))
    *results, link = emit_derivative(ctx, "linearize", traced.operands, attrs, (traced.block,)).results
    results = named(results)
    return Linear(traced, traced.finish(ctx, results), carrying, link, results)


def _seeds(
    ctx: DerivativeContext, traced: Traced, weights: Sequence[StateVar], select: Any, sens: Any
) -> tuple[tuple[int, ...] | None, list[Value]]:
    """Which results are seeded and with what: given cotangents, or ones for every result that may have a derivative."""
    outs, chosen = traced.outs, traced.chosen
    if sens is None and select is None and traced.count == len(outs):
        return None, []
    carrying = traced.carrying(weights)
    if sens is None:
        return tuple(carrying), [trace.builder.const(1, outs[p].type) for p in carrying]
    refuse_unknown_ranks(ctx, traced.selected, "its cotangent, given here, has one shape")
    given = _given(ctx, sens, len(chosen))
    # As in eager code, outputs that carry no derivative take any cotangent.
    seeded = [(p, s) for p, s in zip(chosen, given, strict=True) if s is not None and p in carrying]
    return tuple([p for p, _ in seeded]), [_seed(s, outs[p].type) for p, s in seeded]


def _given(ctx: DerivativeContext, sens: Any, count: int) -> list[Any]:
    """The cotangents given for a number of outputs."""
    given = [variable_of(s).to_operand(ctx) for s in flatten(sens)]
    if len(given) != count:
        raise GradientError(f"there are {count} output tensors, but {len(given)} cotangents")
    return given


def _seed(given: Any, type_: Any) -> Value:
    """A cotangent in the type of its output; a number stands for all elements."""
    if isinstance(given, np.generic):
        given = given.item()
    if kind_of_number(given):
        return trace.builder.const(given, type_)
    if type(given) is not Value:
        raise GradientError(f"the cotangent of an output must be a Tensor, not {describe(given)}")
    if not same_shape(given.shape, type_.shape):
        raise GradientError(f"the output has shape {list(type_.shape)}, but its cotangent has {list(given.shape)}")
    return in_type(_in_sizes(given, tensor(given.dtype, type_.shape)), type_)
