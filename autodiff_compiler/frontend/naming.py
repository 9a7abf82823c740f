"""What errors call the objects of the user's program: by the names and attributes they are known by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .values import LocalObject

if TYPE_CHECKING:
    from .lowering import Lowering

__all__ = ["name_of"]


def name_of(lw: Lowering, obj: Any, *, local: bool = False) -> str | None:
    """A name for an object in the function being compiled, such as ``items`` or ``self.items``; None if it has none.

    `local`: it can only be a variable, as compiled code made it.
    """
    frame = lw.frame
    names = {k: v for k, v in frame.env.items() if "#" not in k and k != "return"}
    outer = frame.outer
    while outer is not None:
        names |= {k: v for k, v in outer.env.items() if k not in names and "#" not in k}
        outer = outer.outer
    for name, value in names.items():
        if value is obj:
            return name
    if local:
        return None
    for name, value in names.items():
        if hasattr(type(value), "__graph_state__"):
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
