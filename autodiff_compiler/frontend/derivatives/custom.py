"""Users' derivative rules in compiled code: a call with a `bprop` (`custom_vjp`), edits of cotangents (`grad_map`).

The rule is compiled into a block that runs in the backward pass.  What it reads of attributes is what the forward pass
left there; what it changes of the caller's objects is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ...errors import BpropError, BypassWarning, CompileError, HookError, JoinError, SideEffectError
from ...ir.core import Block, Value
from ...ir.primitive import REGISTRY, F, trace
from ...ir.types import TensorType
from ...ir.walk import inline
from ...runtime.rules import (
    NOT_GIVEN,
    about_rule,
    check_shape,
    entries,
    not_a_gradient,
    not_an_edit,
    not_given,
    of_leaves,
    place_of,
)
from ..effects.exceptions import raising_in_block
from ..effects.inputs import Again
from ..variables.arithmetic import kind_of_number
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.changing import is_aliased
from ..variables.interpreter import Diverged
from ..variables.naming import name_of
from ..variables.structure import elements, form_of, in_order, map_leaves
from ..variables.values import STANDS_FOR_PARAMETER, TensorVar, describe, is_dynamic, is_parameter, is_tensor, usable
from .context import DerivativeContext
from .traced import Traced, named, refuse_open_sizes, refuse_unknown_ranks, traced_call

#: What gives the cotangents of a block's operands, given the block's arguments: abstract values, None, NOT_GIVEN.
Rule = Callable[[Sequence[Value]], list[Any]]


def call_with_rule(
    ctx: DerivativeContext,
    fn: Any,
    args: Sequence[Any],
    names: Sequence[str],
    rule: Any,
    what: str,
    refusal: CompileError | None = None,
    keywords: Sequence[str] = (),
    label: str = "",
    linear: Sequence[int] = (),
    reverse_only: str = "",
) -> Any:
    """``fn(*args)``, whose derivatives are those that ``rule(*args, out, dout)`` gives.

    `names` and `what` are for error messages.  With `refusal` the rule cannot be called: that is raised where a
    derivative is asked for.  `fn` takes the last arguments by these `keywords`.  `label`: what an `again` in the rule
    calls it (`closures`); `linear`: the operands where it is zero if they are; `reverse_only`: what to do instead of
    asking it in forward mode.
    """
    given = list(args)
    variables = variables_of(given)
    called = OfVariables(fn, given, keywords, keeps_parameters=True)
    traced = traced_call(ctx, called, variables, {}, range(len(variables)), None, backward=False)
    if ctx.effects.scouting:
        return traced.finish(ctx, named(inline(trace.builder, traced.block, traced.operands)))
    refuse_unknown_ranks(ctx, traced.result, f"{what.rstrip(',')} takes its cotangent")
    refuse_open_sizes(traced, f"its cotangent, which {what.rstrip(',')} takes")
    _warn_of_bypassed(ctx, traced.block, what)
    inputs: list[Any] = [v.type for v in traced.operands]
    outs = [v.type for v in traced.block.outs]

    def found(values: Sequence[Value]) -> list[Any]:
        if refusal is not None:
            return [refusal] * len(inputs)
        n, m = len(inputs), len(outs)
        again = _with_variables(given, map(TensorVar, values[:n]))
        out, dout = _as_returned(traced, values[n : n + m]), _as_returned(traced, values[n + m :], cotangent=True)
        with _none_on_all_paths():
            returned = call(ctx, rule, [*again, out, dout], {})
        pairs = zip(again, entries(what, returned, names), strict=True)
        leaves = [leaf for x, entry in pairs for leaf in of_leaves(what, x, entry, in_order, is_tensor)]
        return [not_given(what, names) if entry is NOT_GIVEN else entry for _, entry in leaves]

    hints = [*(v.name for v in traced.operands), *[None] * (2 * len(outs))]
    of = [name for name, x in zip(names, given, strict=False) for _ in variables_of(x)]
    later = for_derivatives(ctx, found, inputs, what, "AC1704", rule, of)
    with about_rule(rule):
        block, bare = cotangent_block(ctx, [*inputs, *outs, *outs], hints, inputs, later, what)
    attrs = (label, tuple(linear), reverse_only)
    op = trace.builder.emit_op(REGISTRY["custom_vjp"], tuple(traced.operands), attrs, (traced.block, block))
    ctx.derivatives.bare_numbers.update((op, i) for i in bare)
    returned = len(traced.outs)
    left = [F.stop_gradient(v) for v in op.results[returned:]]  # nothing else of the call carries a derivative
    return traced.finish(ctx, [*op.results[:returned], *left])


@contextmanager
def _none_on_all_paths() -> Iterator[None]:
    """Says what to return instead where a rule has a None on one path and a gradient on the other."""
    try:
        yield
    except JoinError as error:
        if error.code == "AC1404":
            error.hint = "where a rule has no gradient on one path only, return zeros there: `ops.zeros_like(x)`"
        raise


def _warn_of_bypassed(ctx: DerivativeContext, block: Block, what: str) -> None:
    """Warns of hooks and edits in a computation whose derivative is that of a rule: nobody ever calls them."""
    for op in block.ops:
        if op.defn.name in ("grad_map", "gradient_source"):
            text = f"a hook or gradient edit has no effect: {what.rstrip(',')} gives the derivative instead"
            place = op.loc or ctx.here
            ctx.report.warnings.append((BypassWarning(text, loc=place), place and place.of_user()))
            return
        if op.defn.name in ("if", "while", "scan"):  # in the block of a derivative it has an effect
            for inner in op.blocks:
                _warn_of_bypassed(ctx, inner, what)


def edited(ctx: DerivativeContext, x: Any, rule: Callable[[Any], Any], what: str, code: str, user: Any = None) -> Any:
    """The same Tensor anew, whose cotangent passes through ``rule(cotangent)``, a rule on abstract values.

    The rule calls what the user wrote.
    """
    value = ctx.unwrap(x)
    if ctx.effects.scouting or value.dtype.is_bool:
        return TensorVar(value)

    def found(values: Sequence[Value]) -> list[Any]:
        entry = _plain(ctx, rule(TensorVar(values[0])))
        if not (is_dynamic(entry) or kind_of_number(entry)):
            raise not_an_edit(what, code, entry)
        return [entry]

    later = for_derivatives(ctx, found, [value.type], what, code, user)
    with about_rule(user):
        block, bare = cotangent_block(ctx, [value.type], [value.name], [value.type], later, what)
    op = trace.builder.emit_op(REGISTRY["grad_map"], (value,), (), (block,))
    ctx.derivatives.bare_numbers.update((op, i) for i in bare)
    return TensorVar(op.results[0])


def edited_together(
    ctx: DerivativeContext,
    xs: Sequence[Any],
    rule: Callable[[tuple[Any, ...]], Sequence[Any]],
    what: str,
    code: str,
    user: Any,
) -> Any:
    """The same Tensors anew, whose cotangents pass through one rule on abstract values, which calls the user's."""

    def found(args: list[Any]) -> tuple[Any, ...]:
        given = [_plain(ctx, g) for g in rule(args[-1])]
        for x, g in zip(xs, given, strict=True):
            if is_dynamic(g) and not kind_of_number(g):
                check_shape(what, code, ctx.unwrap(x).shape, g.type.shape)
            elif not kind_of_number(g):
                raise not_a_gradient(what, code, g)
        return tuple(given)

    names = [f"x{i}" for i in range(len(xs))]
    with about_rule(user):
        return call_with_rule(ctx, _Native(tuple), [TensorVar(ctx.unwrap(x)) for x in xs], names, _Native(found), what)


class _Native:
    """A function of the list of its abstract arguments, as compiled code calls it."""

    def __init__(self, run: Callable[[list[Any]], Any]) -> None:
        self._run = run

    def __graph_call__(self, ctx: DerivativeContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self._run(args)


# ---------------------------------------------------------------------------------------------------- the block
def for_derivatives(
    ctx: DerivativeContext,
    found: Rule,
    wanted: Sequence[TensorType],
    what: str,
    code: str,
    user: Any = None,
    names: Sequence[str] = (),
) -> Rule:
    """The rule, where what it returns that does not fit is an error for whoever takes a derivative.

    `user` is what the user wrote, whose place the error shows; `names` are what the gradients belong to.
    """

    def fitting(type_: TensorType, g: Any, of: str) -> Any:
        if is_dynamic(g) and not kind_of_number(g):
            check_shape(what, code, type_.shape, g.type.shape, of)
        elif not (g is None or kind_of_number(g) or isinstance(g, CompileError)):
            raise not_a_gradient(what, code, g, of)
        return g

    def later(values: Sequence[Value]) -> list[Any]:
        try:
            given = [_plain(ctx, g) for g in found(values)]
        except (BpropError, HookError) as error:
            return [error.at(place_of(user))] * len(wanted)
        made = []
        for type_, g, of in zip(wanted, given, names or [""] * len(given), strict=True):
            try:
                made.append(fitting(type_, g, of))
            except (BpropError, HookError) as error:
                made.append(error)
        return [g.at(place_of(user)) if isinstance(g, CompileError) else g for g in made]

    return later


def cotangent_block(
    ctx: DerivativeContext,
    types: Sequence[Any],
    hints: Sequence[str | None] | None,
    wanted: Sequence[Any],
    found: Rule,
    what: str,
) -> tuple[Block, list[int]]:
    """The block that gives a cotangent of each type in `wanted`, and which of these are Python numbers."""
    builder = trace.builder.nested(types, [None] * len(types) if hints is None else hints)
    bare: list[int] = []
    with ctx.effects.region() as region, ctx.effects.backward(), builder:
        try:
            with raising_in_block(ctx, builder):
                given = [_plain(ctx, g) for g in found(builder.block.args)]
                outs = [_cotangent(ctx, t, g) for t, g in zip(wanted, given, strict=True)]
                bare = [i for i, g in enumerate(given) if kind_of_number(g)]
        except Diverged:
            outs = [builder.const(0, t) for t in wanted]  # nobody gets to see them
        except Exception:
            if (
                ctx.effects.known.finals is None and ctx.effects.attributes.read_backward
            ):  # perhaps it took an attribute for what it is not any more
                raise Again(replace(ctx.effects.known, scouting=True)) from None
            raise
        changed = [obj for obj, _ in ctx.effects.restore(region).values()]
        if changed:
            raise _changes_outside(ctx, changed[0], what).at(region.first_change)
    return builder.ret(*outs), bare


def _changes_outside(ctx: DerivativeContext, obj: Any, what: str) -> SideEffectError:
    """The error for a rule that changes an object that is older than its call."""
    if obj.label:
        changed = f"assigns {obj.label}"
    else:
        name = name_of(ctx, obj)
        changed = f"changes {f'`{name}`' if name else describe(obj)}, which is not its own"
    return SideEffectError(
        f"{what} {changed}; a compiled rule changes nothing outside of it",
        code="AC1606",
        hint="return what it computes; to record gradients use a hook (`ops.HookBackward`, `register_backward_hook`)",
    )


def _cotangent(ctx: DerivativeContext, wanted: TensorType, g: Any) -> Value:
    """An entry of what a rule returned, as a cotangent of this type."""
    if isinstance(g, CompileError):
        loc, trace.builder.loc = trace.builder.loc, g.loc
        missing: Value = F.missing_cotangent(type=wanted, code=g.code, text=g.message, hint=g.hint or "")
        trace.builder.loc = loc
        return missing
    if g is None:
        return F.no_cotangent(type=wanted)
    if not is_dynamic(g):
        return trace.builder.const(g, wanted)
    return in_type(variable_of(g).to_operand(ctx), wanted)


def in_type(value: Value, wanted: TensorType) -> Value:
    """A gradient in the type of what it belongs to."""
    value = value if value.dtype is wanted.dtype else F.cast(value, dtype=wanted.dtype)
    return value if value.shape == wanted.shape else F.broadcast_to(value, shape=wanted.shape)


def _plain(ctx: DerivativeContext, g: Any) -> Any:
    """An entry with a Tensor or Python number for what NumPy made while compiling."""
    return g if is_dynamic(g) else variable_of(g).beside_tensor(ctx)


# ---------------------------------------------------------------------------------------------------- arguments
def variables_of(x: Any) -> list[Any]:
    """The Tensors and Parameters in a value, place by place, as eager code meets them."""
    if is_tensor(x):
        return [x]
    return [v for item in in_order(x) or () for v in variables_of(item)]


def _with_variables(x: Any, found: Iterator[Any]) -> Any:
    """A copy of a value with other Tensors in the place of its own."""
    items = in_order(usable(x))
    if items is None:
        return next(found) if is_tensor(x) else x
    return form_of(x).rebuilt_in_order(x, [_with_variables(i, found) for i in items])


class OfVariables:
    """The call as a function of the Tensors in its arguments; what it returns are Tensors of its own.

    Lists, dicts and objects among the arguments stay what they are: inside, they hold the Tensors of the function.  The
    last of the arguments given have the names `keywords`.  A Tensor returned twice becomes two.  `keeps_parameters`:
    these are themselves inside, and no variables.
    """

    def __init__(
        self, fn: Any, given: Sequence[Any], keywords: Sequence[str] = (), keeps_parameters: bool = False
    ) -> None:
        self.fn, self._given, self._keywords = fn, tuple(given), keywords
        self._keeps_parameters = keeps_parameters

    def __graph_call__(self, ctx: DerivativeContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = iter(args)

        def inside(x: Any) -> Any:
            box = next(found) if is_tensor(x) else x
            if not is_parameter(x):
                return box
            box.source = STANDS_FOR_PARAMETER
            return x if self._keeps_parameters else box

        again = _exchanged(ctx, self._given, inside, _containers(self._given))
        n = len(again) - len(self._keywords)
        result = call(ctx, self.fn, list(again[:n]), dict(zip(self._keywords, again[n:], strict=True)))
        own = _containers(self._given)
        return _exchanged(ctx, result, lambda x: TensorVar(ctx.unwrap(x)) if is_tensor(x) else x, own)


def _containers(x: Any) -> dict[int, bool]:
    """The ids of the lists, dicts and objects in it that may be changed, with False: they are not yet."""
    found = {id(x): False} if is_aliased(x) else {}
    for item in elements(x) or ():
        found |= _containers(item)
    return found


def _exchanged(ctx: DerivativeContext, x: Any, leaf: Callable[[Any], Any], changed: dict[int, bool]) -> Any:
    """The same structure with other leaves; what has its id in `changed` stays what it is and gets others.

    At the second place of one of these the leaves are asked for again, and not used.
    """
    items = in_order(usable(x))
    if items is None:
        return leaf(x)
    again = [_exchanged(ctx, i, leaf, changed) for i in items]
    if all(a is b for a, b in zip(items, again, strict=True)) or changed.get(id(x)):
        return x
    other = form_of(x).rebuilt_in_order(x, again)
    if id(x) not in changed:
        return other
    changed[id(x)] = True
    ctx.effects.touch(x)
    x.set_content(other.content())
    return x


def _as_returned(traced: Traced, values: Sequence[Value], cotangent: bool = False) -> Any:
    """What the call returned, with these Values in the place of its dynamic leaves; the cotangent of a number is 0."""
    found = iter(values)
    made: dict[int, Any] = {}

    def leaf(x: Any) -> Any:
        if not is_dynamic(x):
            return type(x)(0) if cotangent and kind_of_number(x) else x
        value = next(found)
        if id(x) not in made:
            made[id(x)] = variable_of(x).around(value)
        return made[id(x)]

    return map_leaves(leaf, traced.result)
