"""Attributes in code that runs in the backward pass: it sees what the forward pass left in them.

Such a block stands in the middle of the forward pass and is compiled there, so it cannot use the Value at hand.  It
reads a state cell instead, one per Tensor or number in the attribute, which is written where the forward pass ends:
at the end of a differentiated block and at the exit.  The types of the cells are those of the final content, so a
first compilation, which leaves out all backward blocks, looks for these (`Effects.scouting`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InternalCompilerError, SideEffectError
from ...ir.core import StateInfo
from ...ir.primitive import F, trace
from ...ir.types import TensorType, tensor
from ...runtime.mutable import NUMBER_DTYPE
from ...runtime.tensor import Array, Tensor
from ...source import Loc
from ..guards.objects import same_static
from ..variables.arithmetic import lifted_number
from ..variables.frames import Frame
from ..variables.lookup import attribute_now
from ..variables.structure import elements, flatten, map_leaves, outline, parts, plain_copy
from ..variables.values import AttributeVar, SymScalar, TensorVar, is_box, is_broken, is_dynamic, is_tensor
from .effects import EffectContext
from .inputs import Again


@dataclass(frozen=True)
class Leaf:
    """A Tensor (kind None) or a number in the final content of an attribute."""

    stored: TensorType
    kind: type | None


class AttributeCell:
    """A state that is a Tensor or number in an attribute: read when a backward pass begins, written with the attribute.

    It looks like a Tensor to whoever runs a program.
    """

    _node = None
    _held = 0

    def __init__(self, owner: Any, name: str, index: int, leaf: Leaf) -> None:
        self._owner, self._name, self._index, self._leaf = owner, name, index, leaf

    @property
    def _data(self) -> Array:
        found = list(flatten(getattr(self._owner, self._name, None)))
        x = found[self._index] if self._index < len(found) else None
        array = x._data if isinstance(x, Tensor) else np.asarray(0 if x is None else x)
        wanted = self._leaf.stored
        if array.shape != wanted.shape or array.dtype != wanted.dtype.numpy:
            return np.zeros(wanted.shape, wanted.dtype.numpy)  # before the forward pass; nobody reads it
        return array


def types_of(content: Any) -> Any:
    """The structure of a content with types in the place of what is known at run time only."""

    def leaf(x: Any) -> Any:
        if is_dynamic(x):
            return Leaf(x.value.type, None if x.is_tensor else x.kind)
        if type(x) in NUMBER_DTYPE:
            return Leaf(tensor(NUMBER_DTYPE[type(x)], ()), type(x))
        return x

    return map_leaves(leaf, content)


def read_after_forward(ctx: EffectContext, owner: Any, name: str) -> Any:
    """The abstract value of ``owner.name`` for the block that runs backward and is being compiled."""
    key = (id(owner), name)
    if ctx.effects.known.finals is None:
        if ctx.effects.scouting:
            raise InternalCompilerError("a backward block is compiled where only the forward pass is looked at")
        if key in ctx.effects.attributes.slots:
            raise Again(replace(ctx.effects.known, scouting=True))
        ctx.effects.attributes.read_backward.add(key)  # if it is written after all, that is found out then
    if ctx.effects.known.finals is None or key not in ctx.effects.known.finals:
        return attribute_now(ctx, owner, name)
    content = ctx.effects.known.finals[key]
    if key not in ctx.effects.cells:
        leaves = [x for x in flatten(content) if type(x) is Leaf]
        ctx.effects.cell_owners[key] = owner, name
        ctx.effects.cells[key] = [_declare(ctx, owner, name, i, leaf) for i, leaf in enumerate(leaves)]
    names = iter(ctx.effects.cells[key])

    def leaf(x: Any) -> Any:
        if type(x) is not Leaf:
            return x
        value = F.state_read(state=next(names), type=x.stored)
        return TensorVar(value) if x.kind is None else SymScalar(value, x.kind)

    return map_leaves(leaf, content)


def _declare(ctx: EffectContext, owner: Any, name: str, index: int, leaf: Leaf) -> str:
    state = f"{type(owner).__name__}.{name}" + (f".{index}" if index else "")
    while state in ctx.outside.states:
        state += "_"
    ctx.outside.states[state] = AttributeCell(owner, name, index, leaf)
    ctx.program.module.states[state] = StateInfo(state, leaf.stored)
    return state


def flush(ctx: EffectContext) -> None:
    """Writes the cells, where a forward pass ends."""
    finals = ctx.effects.known.finals or {}
    for key, names in ctx.effects.cells.items():
        _write(ctx, ctx.effects.attributes.slot_of(*ctx.effects.cell_owners[key]), finals[key], names)


def check_scouted(ctx: EffectContext) -> None:
    """At the exit of a scouting compilation: compile anew with the types that were found."""
    if ctx.effects.scouting:
        finals = {
            key: types_of(ctx.effects.attributes.read(slot)) for key, slot in ctx.effects.attributes.slots.items()
        }
        raise Again(replace(ctx.effects.known, scouting=False, finals=finals))


def _write(ctx: EffectContext, slot: AttributeVar, wanted: Any, names: list[str]) -> None:
    held = ctx.effects.attributes.read(slot)
    if not _fits(types_of(held), wanted):
        raise SideEffectError(
            f"{slot.label}, which a backward rule reads, has not the same type after every forward pass",
            code="AC1606",
            hint="set it to a value of its final type in __init__",
        )
    leaves = zip(flatten(held), flatten(wanted), strict=True)
    dynamic: Iterator[Any] = iter([(x, leaf) for x, leaf in leaves if type(leaf) is Leaf])
    for state, (x, leaf) in zip(names, dynamic, strict=True):
        value = x.value if is_tensor(x) else lifted_number(x, leaf.kind, trace.builder)
        F.state_write(value, state=state, type=leaf.stored)


def _fits(found: Any, wanted: Any) -> bool:
    pairs = list(zip(flatten(found), flatten(wanted), strict=False))
    same = len(list(flatten(found))) == len(list(flatten(wanted)))
    return same and all(a == b if type(a) is Leaf else same_static(a, b) for a, b in pairs)


# ---------------------------------------------------------------------------------------------------- names
@dataclass(frozen=True, eq=False)
class NameRead:
    """A variable of an enclosing function that code of the backward pass read, and all that it held then."""

    holder: Frame
    name: str
    held: list[Any]
    loc: Loc | None


def note_name(ctx: EffectContext, holder: Frame, name: str, value: Any) -> None:
    """Notes that a function reads a variable of another one that is still being compiled."""
    if ctx.effects.in_backward and holder.serial < ctx.effects.backward_since:
        ctx.effects.late_reads.append(NameRead(holder, name, _held(ctx, value), ctx.here))


def check_names(ctx: EffectContext, frame: Frame | None = None) -> None:
    """Where the function of `frame` ends, or (without) a backward pass has run: checks what backward code has read.

    SideEffectError for a variable that code of the backward pass has read before it got its last value: Python would
    have seen that one.
    """
    if not ctx.effects.late_reads:
        return
    for one in [r for r in ctx.effects.late_reads if frame is None or r.holder is frame]:
        ctx.effects.late_reads.remove(one)
        now = one.holder.now(one.name)
        held = _held(ctx, now)
        if len(held) != len(one.held) or not all(map(same_static, held, one.held)):
            raise SideEffectError(
                f"'{one.name}' changes after a function that runs in the backward pass was compiled with its value",
                code="AC1606",
                loc=one.loc,
                hint="give the new value another name, or hand the value over as the default of a parameter",
            )


def _held(ctx: EffectContext, value: Any) -> list[Any]:
    """All that a value holds now: the keys and elements of containers, and the Values of Tensors."""
    found: list[Any] = []
    for x in parts(value):
        found += [is_broken(x), *outline(x).keys]
        if is_box(x):
            found.append(ctx.effects.inputs.without_hooks(x.value))
        else:
            found.append(plain_copy(x) if elements(x) is None else x)
    return found
