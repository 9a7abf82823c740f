"""What was written to arguments, attributes and containers is noted where the program may stop with an exception.

States are noted by the pass that lifts them, in the same way (see `runtime.commits`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import CompileError
from ...ir.core import Block, Op, Value
from ...ir.definition import Definition
from ...ir.primitive import Effect, F
from ...ir.walk import late_ops, ops_of
from ...runtime.commits import Commit
from ..guards.objects import UNBOUND
from ..variables.structure import parts
from ..variables.values import AttributeVar, is_unbound, usable
from .attributes import to_write
from .effects import EffectContext
from .outside_containers import Opened, Standing, held_in
from .results import structures

_CHECKS = frozenset({"check_exponent", "check_index", "check_solved"})


@dataclass
class Site:
    """What is written back, at the exit or before an exception."""

    #: inputs that are written to, and the numbers of the values that they shall hold
    writes: list[tuple[int, int]]
    #: attributes: object, name, and the structure of the value
    attributes: list[tuple[Any, str, Any]]
    #: containers from outside: which, whether they only grow, and the structure of what they hold (of one that grows,
    #: of what is appended)
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
    """Emits a commit: what was written so far is written back if the next op or (`lasting`) any later one raises.

    An attribute or container with another value on each path is left out: that is an error at the end of the call,
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
    _, site, values = structures_left(ctx, slots, opened)
    name = f"commit{len(ctx.program.module.callables)}"
    commit = ctx.program.module.callables[name] = Commit(ctx.program.module.states, lasting=lasting)
    ctx.effects.sites[commit] = site
    F.host_call(*values, fn=name, types=())


def structures_left(
    ctx: EffectContext, slots: list[AttributeVar], opened: list[Opened], *returned: Any
) -> tuple[list[Any], Site, list[Value]]:
    """The structures of what is returned and written back here, and the Values that fill them."""
    containers = ctx.effects.containers
    kept = [*map(to_write, slots), *map(containers.to_write, opened)]
    templates, values = structures(ctx, list(returned), kept)
    n, k = len(returned), len(returned) + len(slots)
    written = ctx.effects.inputs.written()
    site = Site(
        [(i, len(values) + j) for j, (i, _) in enumerate(written)],
        [(s.owner, s.name, t) for s, t in zip(slots, templates[n:k], strict=True)],
        [(x.place, x.grows, t) for x, t in zip(opened, templates[k:], strict=True)],
    )
    return templates[:n], site, [*values, *(value for _, value in written)]


def commit_before_backward(ctx: EffectContext, forward: Block) -> None:
    """Emits a commit where a forward pass ends or its linear map is called, if backward blocks may raise."""
    if pending(ctx) and any(op.defn.effect is Effect.IO for op in _backward_ops(forward)):
        emit_commit(ctx, lasting=True)


def _backward_ops(forward: Block) -> Iterator[Op]:
    for op in ops_of(forward):
        yield from late_ops(op)
        for region, block in zip(op.defn.regions, op.blocks, strict=True):
            if region == "bwd":
                yield from ops_of(block)


def commit_before(ctx: EffectContext, op: type[Definition]) -> None:
    """Emits a commit before a check that a function of the package makes."""
    if op.name in _CHECKS:
        emit_commit(ctx)


class CommitsOfStatements:
    """Called after each statement of a program in which any op may raise: emits a commit if something was written.

    Nothing but the order of the program decides where the checks of `check_nonfinite` stand, so these commits last.
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
