"""Names outside of compiled functions that they assign (`global`, `nonlocal`), as attributes of objects.

So what is known of attributes that compiled code writes is known of such names, too (`effects.attributes`).
"""

from __future__ import annotations

import types
import weakref
from typing import Any

from .outside import Key


class OuterNames:
    """The names of one namespace.  There is one object for each, as long as somebody holds it."""

    def key(self, name: str) -> Key:
        """By which reads of that name are guarded."""
        raise NotImplementedError

    def called(self, name: str) -> str:
        """What messages call it."""
        raise NotImplementedError


class _GlobalNames(OuterNames):
    """The global names of a module: they are the attributes of this object."""

    def __init__(self, space: dict[str, Any]) -> None:
        self.__dict__ = space

    def key(self, name: str) -> Key:
        return "global", id(self.__dict__), name

    def called(self, name: str) -> str:
        return f"global {name}"


class _ClosureName(OuterNames):
    """A variable of a function that has been called outside; a class derived from it has the one attribute."""

    cell: types.CellType

    def key(self, name: str) -> Key:
        return "cell", id(self.cell)

    def called(self, name: str) -> str:
        return f"closure {name}"


def is_outer(owner: Any) -> bool:
    """Whether the attributes of an object are names outside of compiled functions."""
    return isinstance(owner, OuterNames)


def called(owner: Any, name: str) -> str:
    """What messages call an attribute that compiled code writes, or such a name."""
    return owner.called(name) if is_outer(owner) else f"attribute '{name}' of {type(owner).__name__}"


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


def outer_names(namespace: Any, name: str) -> OuterNames:
    """The object for the globals of a module, or for the cell of a closure that holds `name`."""
    found = _known.get(id(namespace))
    if found is None:
        if isinstance(namespace, dict):
            found = _GlobalNames(namespace)
        else:
            members = {"cell": namespace, name: _attribute_of(namespace)}
            found = type("ClosureName", (_ClosureName,), members)()
        _known[id(namespace)] = found
    return found
