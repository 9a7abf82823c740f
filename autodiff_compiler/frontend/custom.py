"""Users' derivative rules in compiled code: a call with a `bprop` (`custom_vjp`), edits of cotangents (`grad_map`).

The rule is compiled into a block that runs in the backward pass.  What it reads of attributes is what the forward pass
left there; what it changes of the caller's objects is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import BpropError, SideEffectError
from ..ir.core import Block, Value
from ..ir.primitive import REGISTRY, F, trace
from ..ir.types import TensorType
from ..ir.walk import inline
from ..runtime.rules import NOT_GIVEN, check_shape, entries, not_given, of_leaves
from .calls import call
from .derivatives import Traced, traced_call
from .exceptions import raising_in_block
from .inputs import Again
from .lowering import Diverged, Lowering
from .values import ArrayVar, StateVar, TensorVar, Weak, describe, elements, flatten, is_dynamic, map_leaves

__all__ = ["OfVariables", "call_with_rule", "cotangent_block", "edited", "is_variable"]

#: What gives the cotangents of a block's operands, given the block's arguments: abstract values, None, NOT_GIVEN.
Rule = Callable[[Sequence[Value]], list[Any]]


def call_with_rule(
    lw: Lowering,
    fn: Any,
    args: Sequence[Any],
    names: Sequence[str],
    rule: Any,
    what: str,
    refusal: BpropError | None = None,
) -> Any:
    """``fn(*args)``, whose derivatives are those that ``rule(*args, out, dout)`` gives.

    `names` and `what` are for error messages.  With `refusal` the rule cannot be called: that is raised where a
    derivative is asked for.
    """
    given = list(args)
    variables = [x for x in flatten(given) if is_variable(x)]
    traced = traced_call(lw, OfVariables(fn, given), variables, {}, range(len(variables)), None)
    if lw.scouting:
        return traced.finish(lw, inline(trace.builder, traced.block, traced.operands))
    inputs, outs = ([v.type for v in part] for part in (traced.operands, traced.block.outs))

    def found(values: Sequence[Value]) -> list[Any]:
        if refusal is not None:
            return [refusal] * len(inputs)
        n, m = len(inputs), len(outs)
        again = _with_variables(given, [TensorVar(v) for v in values[:n]])
        out, dout = (_as_returned(traced, values[i : i + m]) for i in (n, n + m))
        entry_of = entries(what, call(lw, rule, [*again, out, dout], {}), names)
        pairs = zip(again, entry_of, strict=True)
        leaves = [leaf for x, entry in pairs for leaf in of_leaves(what, x, entry, elements, is_variable)]
        return [not_given(what, names) if entry is NOT_GIVEN else entry for _, entry in leaves]

    hints = [*(v.name for v in traced.operands), *[None] * (2 * len(outs))]
    block, bare = cotangent_block(lw, [*inputs, *outs, *outs], hints, inputs, found, what, "AC1704")
    op = trace.builder.emit_op(REGISTRY["custom_vjp"], tuple(traced.operands), (), (traced.block, block))
    lw.bare_numbers.update((op, i) for i in bare)
    return traced.finish(lw, op.results)


def edited(lw: Lowering, x: Any, rule: Callable[[Any], Any], what: str, code: str) -> Any:
    """The same Tensor anew, whose cotangent passes through ``rule(cotangent)``, a rule on abstract values."""
    value = lw.unwrap(x)
    if lw.scouting or not value.dtype.is_float:
        return TensorVar(value)

    def found(values: Sequence[Value]) -> list[Any]:
        entry = rule(TensorVar(values[0]))
        if entry is None:
            raise BpropError(f"{what} returns None", code=code, hint="return the gradient that is to go on")
        return [entry]

    block, bare = cotangent_block(lw, [value.type], [value.name], [value.type], found, what, code)
    op = trace.builder.emit_op(REGISTRY["grad_map"], (value,), (), (block,))
    lw.bare_numbers.update((op, i) for i in bare)
    return TensorVar(op.results[0])


# ---------------------------------------------------------------------------------------------------- the block
def cotangent_block(
    lw: Lowering,
    types: Sequence[Any],
    hints: Sequence[str | None] | None,
    wanted: Sequence[Any],
    found: Rule,
    what: str,
    code: str,
) -> tuple[Block, list[int]]:
    """The block that gives a cotangent of each type in `wanted`, and which of these are Python numbers."""
    builder = trace.builder.nested(types, [None] * len(types) if hints is None else hints)
    bare: list[int] = []
    with lw.region() as region, lw.backward(), builder:
        try:
            with raising_in_block(lw, builder):
                given = found(builder.block.args)
                outs = [_cotangent(lw, t, g, what, code) for t, g in zip(wanted, given, strict=True)]
                bare = [i for i, g in enumerate(given) if _is_number(g)]
        except Diverged:
            outs = [F.undef(type=t) for t in wanted]
        except Exception:
            if lw.known.finals is None and lw.read_backward:  # perhaps it took an attribute for what it is not any more
                raise Again(replace(lw.known, scouting=True)) from None
            raise
        if lw.restore(region):
            raise SideEffectError(
                f"{what} changes a list, dict, Tensor or attribute from outside",
                code="AC1606",
                hint="return what it computes",
            )
    return builder.ret(*outs), bare


def _cotangent(lw: Lowering, wanted: TensorType, g: Any, what: str, code: str) -> Value:
    """An entry of what a rule returned, as a cotangent of this type."""
    if isinstance(g, BpropError):
        return F.missing_cotangent(type=wanted, code=g.code, text=g.message, hint=g.hint or "")
    if g is None:
        return trace.builder.const(0, wanted)
    if isinstance(g, bool | int | float):
        return trace.builder.const(g, wanted)
    if not is_dynamic(g):
        raise BpropError(
            f"{what} returns a {describe(g)} as a gradient", code=code, hint="return Tensors, numbers or None"
        )
    value: Value = g.value if type(g) is Weak else lw.unwrap(g)
    if type(g) is not Weak:
        check_shape(what, code, wanted.shape, value.shape)
    value = value if value.dtype is wanted.dtype else F.cast(value, dtype=wanted.dtype)
    return value if value.shape == wanted.shape else F.broadcast_to(value, shape=wanted.shape)


def _is_number(g: Any) -> bool:
    return isinstance(g, bool | int | float) or type(g) is Weak


# ---------------------------------------------------------------------------------------------------- arguments
def is_variable(x: Any) -> bool:
    return type(x) in (TensorVar, StateVar)


def _with_variables(given: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
    """The arguments with other Tensors in the place of theirs."""
    found = iter(variables)
    return [map_leaves(lambda x: next(found) if is_variable(x) else x, a) for a in given]


class OfVariables:
    """The call as a function of the Tensors in its arguments; what it returns are Tensors of its own.

    The last of the arguments given have the names `keywords`.
    """

    def __init__(self, fn: Any, given: Sequence[Any], keywords: Sequence[str] = ()) -> None:
        self.fn, self._given, self._keywords = fn, given, keywords

    def __graph_call__(self, lw: Lowering, args: list[Any], kwargs: dict[str, Any]) -> Any:
        made: dict[int, Any] = {}

        def own(x: Any) -> Any:
            if not is_variable(x):
                return x
            if id(x) not in made:
                made[id(x)] = TensorVar(lw.unwrap(x))
            return made[id(x)]

        again = _with_variables(self._given, args)
        n = len(again) - len(self._keywords)
        return map_leaves(own, call(lw, self.fn, again[:n], dict(zip(self._keywords, again[n:], strict=True))))


def _as_returned(traced: Traced, values: Sequence[Value]) -> Any:
    """What the call returned, with these Values in the place of its dynamic leaves."""
    found = iter(values)
    made: dict[int, Any] = {}

    def leaf(x: Any) -> Any:
        if not is_dynamic(x):
            return x
        value = next(found)
        if id(x) not in made:
            made[id(x)] = type(x)(value, x.kind) if type(x) in (Weak, ArrayVar) else TensorVar(value)
        return made[id(x)]

    return map_leaves(leaf, traced.result)
