"""The effects of a piece of the program, found by compiling it; and calls of the user's code while compiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...depth import at_home
from ...ir.primitive import Effect, trace
from ...ir.walk import ops_of
from .interpreter import ValueContext


@dataclass(frozen=True)
class Part:
    """A piece of the program that was compiled in the present place, with its effects."""

    value: Any
    #: whether it changes or prints anything
    changes: bool
    #: whether it reads anything that is known only at run time
    reads: bool


def compiled(ctx: ValueContext, make: Callable[[], Any]) -> Part:
    """Compiles a piece of the program, what `make` does, and finds its effects."""
    block, before = trace.builder.block, len(trace.builder.block.ops)
    with ctx.effects.region() as region:
        value = make()
    emitted = block.ops[before:]
    ops = [*emitted, *[op for outer in emitted for b in outer.blocks for op in ops_of(b)]]
    inputs = {*ctx.program.entry.body.args, *ctx.program.captured}
    changes = bool(region.saved) or any(op.defn.effect >= Effect.WRITE for op in ops)
    return Part(value, changes, any(op.defn.effect >= Effect.READ or inputs & {*op.operands} for op in ops))


def run_now(fn: Callable[[], Any]) -> Any:
    """Runs the user's code eagerly while compiling, in the thread that called."""
    builder, trace.builder = trace.builder, None
    try:
        return at_home(fn)
    finally:
        trace.builder = builder
