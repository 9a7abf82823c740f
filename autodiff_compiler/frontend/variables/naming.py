"""What errors call the objects of the user's program: by the names and attributes they are known by."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..guards.objects import is_watched
from .frames import Frame
from .interpreter import ValueContext
from .structure import parts
from .values import LocalObject


def made_inside(ctx: ValueContext, x: Any) -> bool:
    """Whether a container is one that a function called while compiling has made, or is held by one."""
    return any(part is x for found in ctx.outside.made for part in parts(found))


def instead_of_changing(ctx: ValueContext, obj: Any, name: str | None) -> str:
    """What to write where a container from outside, known by this name, would be changed."""
    if made_inside(ctx, obj):
        instead = (
            "use a Tensor, whose elements can be assigned" if isinstance(obj, np.ndarray) else "use a list or dict"
        )
        return f"{instead}, or make it outside"
    if name is None:
        return "copy it first (`x = x.copy()`) and change the copy, or return the new value"
    if name in ctx.frame.env:
        return f"copy it first (`{name} = {name}.copy()`) and change the copy, or return the new value"
    new = f"new_{name.rpartition('.')[2]}"  # to assign the name itself would make another variable of it
    return f"change a copy under another name (`{new} = {name}.copy()`), and return that"


def name_of(ctx: ValueContext, obj: Any, *, local: bool = False) -> str | None:
    """A name for an object in the function being compiled, such as ``items`` or ``self.items``; None if it has none.

    `local`: it can only be a variable, as compiled code made it.
    """
    frame: Frame | None = ctx.frame
    if frame is None:  # before the function's code or after it
        return None
    names = {k: v for k, v in frame.names().items() if "#" not in k and k != "return"}
    outer = frame.outer
    while outer is not None:
        names |= {k: v for k, v in outer.names().items() if k not in names and "#" not in k}
        outer = outer.outer
    for name, value in names.items():
        if value is obj:
            return name
    if local:
        return None
    for name, value in names.items():
        if is_watched(type(value)):
            for path, parameter in value.__graph_state__().items():
                if parameter is obj:
                    return f"{name}.{path}"
        attributes = value.slots if type(value) is LocalObject else getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            for attribute, held in attributes.items():
                if held is obj and isinstance(attribute, str):
                    return f"{name}.{attribute}"
    bindings = frame.bindings
    for name, cell in bindings.cells.items():
        try:
            if cell.cell_contents is obj:
                return name
        except ValueError:  # it has no value yet
            continue
    return next((name for name, value in bindings.globals.items() if value is obj), None)
