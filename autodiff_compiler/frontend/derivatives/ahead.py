"""The last calls of Cells: the gradient of one with `set_grad()`, taken right after a call, is that of this very call.

Eager code records the call (`eager.recorded_call`).  Compiled code lowers the Cell again for the gradient, from the
same states: those that the call wrote are put back before, so random numbers are the same and running means move once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.core import Block, Op, Value
from ...ir.primitive import F, trace
from ...ir.walk import ops_of
from ..variables.lookup import attribute_now
from ..variables.structure import flatten
from ..variables.values import TensorVar
from .context import DerivativeContext

__all__ = ["Called", "go_back", "note"]


@dataclass(frozen=True)
class Called:
    """A call of a Cell in compiled code: what it was given, and the ops it became."""

    cell: Any
    given: list[Value]
    block: Block
    start: int
    ops: tuple[Op, ...]


def note(lw: DerivativeContext, cell: Any, args: Sequence[Any], kwargs: dict[str, Any], start: int) -> None:
    """Remembers a call whose ops begin at `start`, unless a derivative goes over it anyway."""
    given = _given(args, kwargs)
    if given and not lw.derivatives.differentiated:
        block = trace.builder.block
        lw.derivatives.called[id(cell)] = Called(cell, given, block, start, tuple(block.ops[start:]))


def go_back(lw: DerivativeContext, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Puts the states back to what they were before the call of `fn` that is about to be differentiated, if any."""
    found = lw.derivatives.called.pop(id(fn), None)
    block = trace.builder.block
    if (
        found is None
        or found.block is not block
        or lw.derivatives.differentiated
        or _given(args, kwargs) != found.given
    ):
        return
    end = found.start + len(found.ops)
    used = {op.attr("state") for op in _of_states(found.ops)}
    changed = {op.attr("state") for op in _of_states(block.ops[end:], "state_write")}
    if tuple(block.ops[found.start : end]) != found.ops or used & changed:
        return
    if not attribute_now(lw, fn, "requires_grad"):
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
    return [x.value for x in leaves] if all(type(x) is TensorVar for x in leaves) else None


def _of_states(ops: Sequence[Op], *names: str) -> Iterator[Op]:
    """The ops that read or write states, those in blocks inside included."""
    inner = (op for outer in ops for b in outer.blocks for op in ops_of(b))
    return (op for part in (ops, inner) for op in part if op.defn.name in (names or ("state_read", "state_write")))
