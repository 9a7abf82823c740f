"""Names outside of compiled functions that they assign (`global`, `nonlocal`), as attributes of objects.

So what is known of attributes that compiled code writes is known of such names, too (`effects.attributes`).  The
classes here have no attributes of their own, which names of the user's could hide.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

from .outside import Key


class OuterNames:
    """The names of one namespace.  There is one object for each, as long as somebody holds it."""

    __namespace__: str


class _GlobalNames(OuterNames):
    """The global names of a module: they are the attributes of this object."""

    __namespace__ = "global"

    def __init__(self, space: dict[str, Any]) -> None:
        self.__dict__ = space


class _ClosureName(OuterNames):
    """A variable of a function that has been called outside; a class derived from it has the one attribute."""

    __namespace__ = "cell"
    __cell__: types.CellType


def _attribute_of(cell: types.CellType) -> property:
    def get(self: Any) -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            raise AttributeError("it has no value") from None

    def put(self: Any, value: Any) -> None:
        cell.cell_contents = value

    def delete(self: Any) -> None:
        del cell.cell_contents

    return property(get, put, delete)


_known: weakref.WeakValueDictionary[int, OuterNames] = weakref.WeakValueDictionary()


def global_names(space: dict[str, Any]) -> OuterNames:
    """The object for the globals of a module."""
    found = _known.get(id(space))
    if found is None:
        found = _known[id(space)] = _GlobalNames(space)
    return found


def closure_name(cell: types.CellType, name: str) -> OuterNames:
    """The object for the cell of a closure that holds the variable `name`."""
    found = _known.get(id(cell))
    if found is None:
        found = type("ClosureName", (_ClosureName,), {"__cell__": cell, name: _attribute_of(cell)})()
        _known[id(cell)] = found
    return found


def is_outer(owner: Any) -> bool:
    """Whether the attributes of an object are names outside of compiled functions."""
    return hasattr(type(owner), "__namespace__")


def key_of(owner: Any, name: str) -> Key:
    """By which reads of an attribute, or of such a name, are guarded."""
    kind = getattr(type(owner), "__namespace__", "attribute")
    if kind == "cell":
        return kind, id(owner.__cell__)
    return kind, id(owner.__dict__ if kind == "global" else owner), name


def called_in_guards(owner: Any, name: str) -> str:
    """What guards call it."""
    kind = key_of(owner, name)[0]
    if kind == "attribute":
        return f"{type(owner).__name__}.{name}"
    return f"closure {name}" if kind == "cell" else f"global {name}"


def called(owner: Any, name: str) -> str:
    """What messages call it."""
    kind = key_of(owner, name)[0]
    if kind == "attribute":
        return f"attribute '{name}' of {type(owner).__name__}"
    return f"the variable '{name}' of the enclosing function" if kind == "cell" else f"the global variable '{name}'"
