"""Calls of Cells: their `construct`, with hooks, float types and derivatives of the user's.

The gradient of a Cell with `set_grad()`, taken right after a call, is that of this very call.  Eager code records the
call (`eager.recorded_call`).  Compiled code lowers the Cell again for the gradient, from the same states: those that
the call wrote are put back before, so random numbers are the same and running means move once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UnsupportedCallError
from ...ir.core import Block, Op, Value
from ...ir.primitive import F, trace
from ...ir.walk import ops_of
from ...runtime.precision import viewed
from ...runtime.rules import bound, keywords_of
from ..derivatives.custom import call_with_rule
from ..derivatives.hooks import call_with_hooks
from ..guards.objects import is_ours
from ..variables import precision
from ..variables.calls import call
from ..variables.lookup import attribute_now
from ..variables.operators import attribute
from ..variables.structure import flatten
from ..variables.values import is_box
from .context import DerivativeContext


def call_cell(ctx: DerivativeContext, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A Cell's call: its `construct`, remembered for a gradient that may follow."""
    start = len(trace.builder.block.ops)
    result = _run(ctx, viewed(cell), args, kwargs)
    _note(ctx, cell, args, kwargs, start)
    return result


def _run(ctx: DerivativeContext, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if not is_ours(ctx.outside.class_attribute(type(cell), "__call__")):
        raise overrides_call(type(cell).__name__)

    def groups() -> Any:
        return cell._hooks.groups if cell._hooks else None

    what = f"the hooks of {type(cell).__name__}"
    ctx.outside.guard(("hooks", id(cell)), what, groups, groups(), watched=True)
    if cell._hooks:
        return call_with_hooks(ctx, cell, _Constructed(cell), args, kwargs)
    return _constructed(ctx, cell, args, kwargs)


def overrides_call(name: str) -> UnsupportedCallError:
    """The error for a Cell whose call does something else than its `construct`."""
    return UnsupportedCallError(f"{name} overrides __call__", code="AC1802", hint="override `construct`")


class _Constructed:
    """A Cell's call without its hooks."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __graph_call__(self, ctx: DerivativeContext, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return _constructed(ctx, self._cell, args, kwargs)


def _constructed(ctx: DerivativeContext, cell: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    cell, args, kwargs = precision.enter(ctx, cell, args, kwargs)
    construct = attribute(ctx, cell, "construct")
    if ctx.outside.class_attribute(type(cell), "bprop") is None:
        return call(ctx, construct, args, kwargs)
    what = f"the bprop of {type(cell).__name__}"
    values, names, refusal = bound(construct, cell.bprop, what, args, kwargs)
    rule = attribute(ctx, cell, "bprop")
    return call_with_rule(ctx, construct, values, names, rule, what, refusal, keywords_of(construct, names))


# ---------------------------------------------------------------------------------------------- gradients after calls
@dataclass(frozen=True)
class Called:
    """A call of a Cell in compiled code: what it was given, and the ops it became."""

    cell: Any
    given: list[Value]
    block: Block
    start: int
    ops: tuple[Op, ...]


def _note(ctx: DerivativeContext, cell: Any, args: Sequence[Any], kwargs: dict[str, Any], start: int) -> None:
    """Remembers a call whose ops begin at `start`, unless a derivative goes over it anyway."""
    given = _given(args, kwargs)
    if given and not ctx.derivatives.differentiated:
        block = trace.builder.block
        ctx.derivatives.called[id(cell)] = Called(cell, given, block, start, tuple(block.ops[start:]))


def go_back(ctx: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Puts the states back to what they were before the call of `fn` that is about to be differentiated, if any."""
    found = ctx.derivatives.called.pop(id(fn), None)
    block = trace.builder.block
    if (
        found is None
        or found.block is not block
        or ctx.derivatives.differentiated
        or _given(args, kwargs) != found.given
    ):
        return
    end = found.start + len(found.ops)
    used = {op.attr("state") for op in _of_states(found.ops)}
    changed = {op.attr("state") for op in _of_states(block.ops[end:], "state_write")}
    if tuple(block.ops[found.start : end]) != found.ops or used & changed:
        return
    if not attribute_now(ctx, fn, "requires_grad"):
        return
    written = {op.attrs: None for op in _of_states(found.ops, "state_write")}
    before = []
    for state, type_ in written:
        before.append(F.state_read(state=state, type=type_))
        block.ops.insert(found.start, block.ops.pop())
    for (state, type_), value in zip(written, before, strict=True):
        F.state_write(value, state=state, type=type_)


def _given(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Value] | None:
    """The Tensors of a call that takes nothing else; None of another."""
    leaves = list(flatten((*args, *kwargs.values())))
    return [x.value for x in leaves] if all(map(is_box, leaves)) else None


def _of_states(ops: Sequence[Op], *names: str) -> Iterator[Op]:
    """The ops that read or write states, those in blocks inside included."""
    inner = (op for outer in ops for b in outer.blocks for op in ops_of(b))
    return (op for part in (ops, inner) for op in part if op.defn.name in (names or ("state_read", "state_write")))
