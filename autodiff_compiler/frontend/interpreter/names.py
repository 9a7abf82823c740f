"""Names: what they stand for, and their assignment in the function that they belong to, or outside."""

from __future__ import annotations

import operator
from typing import Any

from ...errors import SideEffectError
from ...ir.abstract import abstract
from ..effects.after_forward import note_name
from ..guards.objects import UNBOUND
from ..guards.outer_names import OuterNames, closure_name, global_names
from ..variables.frames import Frame
from .context import StatementContext


def read_name(ctx: StatementContext, frame: Frame, name: str, node: Any) -> Any:
    """The value of a name: a local one, one of an enclosing compiled function, or one of the world outside."""
    holder = frame.holder(name)
    if holder is not None:
        place = ctx.place(node)
        value = holder.local(name, place)
        ctx.effects.snapshots.note_read(value, place)
        if holder is not frame:
            note_name(ctx, holder, name, value)
        return value
    bindings = frame.bindings
    names = ctx.effects.known.outer_names.get(id(_namespace(frame, name)))
    slot = None if names is None else ctx.effects.attributes.held_by(names, name)
    if slot is not None:
        ctx.place(node)
        held = ctx.effects.attributes.read(slot)
        if held is not UNBOUND:
            return held
        raise NameError(f"name '{name}' is not defined")
    kind, value = bindings.lookup_global(name) if frame.is_global(name) else bindings.lookup(name)
    if kind == "builtin":
        ctx.outside.builtin(name, bindings.globals, bindings.builtins)
        return value
    if kind == "closure":
        cell = bindings.cells[name]
        what, quick = f"closure {name}", (operator.attrgetter("cell_contents"), cell)
        return ctx.outside.read(value, ("cell", id(cell)), what, lambda: cell.cell_contents, quick=quick)
    space = bindings.globals
    key, what = ("global", id(space), name), f"global {name}"
    return ctx.outside.read(value, key, what, lambda: space[name], quick=(space.__getitem__, name))


def _cell(frame: Frame, name: str) -> Any:
    """The cell of a closure that holds a name outside of compiled code; None if it is a global one."""
    return None if frame.is_global(name) else frame.bindings.cells.get(name)


def _namespace(frame: Frame, name: str) -> Any:
    """What holds a name outside of compiled code."""
    cell = _cell(frame, name)
    return frame.bindings.globals if cell is None else cell


def _names_to_write(ctx: StatementContext, name: str) -> OuterNames:
    """The namespace outside in which a name is going to be assigned."""
    cell, space = _cell(ctx.frame, name), ctx.frame.bindings.globals
    if ctx.effects.in_backward:
        raise _assigned_backward(name, "AC1601" if cell is None else "AC1603")
    names = global_names(space) if cell is None else closure_name(cell, name)
    return ctx.effects.known.outer_names.setdefault(id(space if cell is None else cell), names)


def _assigned_backward(name: str, code: str) -> SideEffectError:
    return SideEffectError(
        f"'{name}' cannot be assigned by code of the backward pass",
        code=code,
        hint="keep the value in an attribute of an object, or in a list from outside",
    )


def bind(ctx: StatementContext, name: str, value: Any) -> None:
    """Gives a name a value."""
    frame: Frame | None = ctx.frame
    assert frame is not None
    if name in frame.prepared.global_names or name in frame.prepared.nonlocal_names:
        frame = frame.holder(name)
        if frame is None:
            ctx.effects.attributes.write(_names_to_write(ctx, name), name, value)
            return
    variable = frame.env.get(name)
    if variable is None or not abstract(variable).is_variable:
        frame.env[name] = value
        return
    if ctx.effects.in_backward and frame.serial < ctx.effects.backward_since:
        raise _assigned_backward(name, "AC1603")
    ctx.effects.touch(variable)
    variable.held = value


def unbind(ctx: StatementContext, name: str, node: Any) -> None:
    """``del name``."""
    read_name(ctx, ctx.frame, name, node)
    if ctx.frame.holder(name) is None:
        ctx.effects.attributes.delete(_names_to_write(ctx, name), name)
    elif abstract(ctx.frame.env.get(name)).is_variable or name in ctx.frame.prepared.nonlocal_names:
        bind(ctx, name, UNBOUND)
    else:
        del ctx.frame.env[name]
