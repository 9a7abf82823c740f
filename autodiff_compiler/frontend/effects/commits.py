"""What was written to arguments, attributes and containers is noted where the program may stop with an exception.

States are noted by the pass that lifts them, in the same way (see `runtime.commits`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import CompileError
from ...ir.core import Block, Op
from ...ir.definition import Definition
from ...ir.primitive import Effect, F
from ...ir.walk import late_ops, ops_of
from ...runtime.commits import Commit
from ..guards.objects import UNBOUND
from ..variables.structure import parts
from ..variables.values import AttributeVar, is_unbound, usable
from .attributes import to_write
from .effects import EffectContext
from .outside_containers import Standing, held_in
from .results import structures

__all__ = ["CommitsOfStatements", "Site", "commit_before", "commit_before_backward", "emit_commit", "pending"]

_CHECKS = frozenset({"check_exponent", "check_index", "check_solved"})


@dataclass(frozen=True)
class Site:
    """What one place notes: inputs with the numbers of the values they hold; the rest is as in `Lowered`."""

    writes: list[tuple[int, int]]
    attributes: list[tuple[Any, str, Any]]
    containers: list[tuple[Standing, bool, Any]]


def pending(ctx: EffectContext) -> bool:
    """Whether an argument, an attribute or a container was written on the way to the present place.

    A backward block runs after the forward pass, whose end has noted all of them.
    """
    if ctx.effects.in_backward:
        return False
    return any(map(_written, ctx.effects.attributes.slots.values())) or bool(
        ctx.effects.inputs.written() or ctx.effects.containers.pending()
    )


def emit_commit(ctx: EffectContext, lasting: bool = False, raising: bool = False) -> None:
    """Notes what was written, and what that holds by now, for the next op or (`lasting`) all.

    What it holds may be unclear, as it was given a value on some paths only.  That is an error at the end of the call,
    unless it gets another value; before an exception of the user's (`raising`), where the call may end, it is one now.
    """
    if not pending(ctx):
        return
    slots = [s for s in ctx.effects.attributes.slots.values() if _written(s) and (raising or not _unclear(s.held))]
    for slot in slots:
        if raising:
            ctx.effects.attributes.read(slot)
        slot.noted = True
    opened = [x for x in ctx.effects.containers.pending() if raising or x.local.broken is None]
    for x in opened:
        usable(x.local)
        x.noted = True
    templates, values = structures(ctx, [*map(to_write, slots), *map(ctx.effects.containers.to_write, opened)])
    attributes = [(s.owner, s.name, t) for s, t in zip(slots, templates, strict=False)]
    containers = [(x.place, x.grows, t) for x, t in zip(opened, templates[len(slots) :], strict=True)]
    written = ctx.effects.inputs.written()
    writes = [(i, len(values) + n) for n, (i, _) in enumerate(written)]
    name = f"commit{len(ctx.program.module.callables)}"
    commit = ctx.program.module.callables[name] = Commit(ctx.program.module.states, lasting=lasting)
    ctx.effects.sites[commit] = Site(writes, attributes, containers)
    F.host_call(*values, *(value for _, value in written), fn=name, types=())


def commit_before_backward(ctx: EffectContext, forward: Block) -> None:
    """Notes the same where a forward pass ends or its linear map is called, if backward blocks may stop the program."""
    if pending(ctx) and any(op.defn.effect is Effect.IO for op in _backward_ops(forward)):
        emit_commit(ctx, lasting=True)


def _backward_ops(forward: Block) -> Iterator[Op]:
    for op in ops_of(forward):
        yield from late_ops(op)
        for region, block in zip(op.defn.regions, op.blocks, strict=True):
            if region == "bwd":
                yield from ops_of(block)


def commit_before(ctx: EffectContext, op: type[Definition]) -> None:
    """Notes the same before a check that a function of the package makes."""
    if op.name in _CHECKS:
        emit_commit(ctx)


class CommitsOfStatements:
    """Called after each statement of a program in which any op may stop: notes the same, if something new was written.

    Nothing but the order of the program decides where the checks of `check_nonfinite` stand, so the notes last.
    """

    def __init__(self, ctx: EffectContext) -> None:
        self._lw = ctx
        self._noted: list[Any] = []

    def __call__(self) -> None:
        ctx = self._lw
        if ctx.effects.in_backward:
            return
        held = [s.held for s in ctx.effects.attributes.slots.values() if _written(s)] + [
            value for _, value in ctx.effects.inputs.written()
        ]
        held += [part for x in ctx.effects.containers.pending() for part in (x, *parts(held_in(x.local)))]
        if held and not (len(held) == len(self._noted) and all(map(operator.is_, held, self._noted))):
            self._noted = held
            emit_commit(ctx, lasting=True)


def _written(slot: AttributeVar) -> bool:
    return slot.held is not slot.entry or slot.noted


def _unclear(held: Any) -> bool:
    return isinstance(held, CompileError) or (held is not UNBOUND and is_unbound(held))
