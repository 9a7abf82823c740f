"""`jit_class`: user classes whose objects compiled code makes, reads and changes."""

from __future__ import annotations

from typing import Any, TypeVar

from ..runtime import epoch

__all__ = ["jit_class"]

C = TypeVar("C", bound=type)


def jit_class(cls: C) -> C:
    """Marks a class whose objects compiled code may make and change; the class itself is returned.

    In compiled code its methods are inlined.  Attributes of objects from outside are read with guards, and what is
    written to them is written back when the call ends; objects made in compiled code may be returned.  Subclasses are
    marked, too.

    TypeError: something else than a class, or a class of Cells, which compiled code understands already.

    >>> @jit_class
    ... class Counter:
    ...     def __init__(self, n):
    ...         self.n = n
    ...
    ...     def add(self, k):
    ...         self.n = self.n + k
    ...         return self
    >>> Counter(1).add(2).n
    3
    """
    if not isinstance(cls, type):
        raise TypeError(f"jit_class marks a class, not a {type(cls).__name__}")
    if getattr(cls, "__graph_state__", None) is not None and not getattr(cls, "__jit_class__", False):
        raise TypeError(f"jit_class is not for Cells such as {cls.__name__}: they need no mark")
    _notice_changes(cls)
    cls.__graph_state__ = _no_parameters  # type: ignore[attr-defined]
    cls.__jit_class__ = True  # type: ignore[attr-defined]
    return cls


def _no_parameters(self: Any) -> dict[str, Any]:
    """As of a Cell: the Parameters that belong to the object."""
    return {}


def _notice_changes(cls: type) -> None:
    """Every change of an attribute from outside moves the epoch, so that guards are checked again."""
    set_before: Any = cls.__setattr__
    delete_before: Any = cls.__delattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        set_before(self, name, value)
        epoch.bump()

    def __delattr__(self: Any, name: str) -> None:
        delete_before(self, name)
        epoch.bump()

    if set_before is not object.__setattr__:  # the class has its own: compiled code must not go around it
        __setattr__.__module__ = cls.__module__
    cls.__setattr__ = __setattr__  # type: ignore[method-assign, assignment]
    cls.__delattr__ = __delattr__  # type: ignore[method-assign, assignment]
