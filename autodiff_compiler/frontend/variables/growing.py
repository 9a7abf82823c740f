"""A list from outside that compiled code appends to, and does not look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import InternalCompilerError
from .values import LocalList


class GrowingList(LocalList):
    """The elements appended to a list from outside, whose other elements are not known while compiling.

    A read of the list, or another change of it, calls `on_read`, which restarts the compilation.
    """

    __slots__ = ("on_read",)
    stacks = False

    def describe(self) -> str:
        return "list"  # how long it is is not known

    def begin(self, on_read: Callable[[], Any]) -> None:
        """Sets what is to be called."""
        self.on_read = on_read

    def fill(self, saved: Any) -> None:
        list.__setitem__(self, slice(None), saved)

    def _new(self, held: Any) -> LocalList:
        raise InternalCompilerError(f"what is read is not known: {self.on_read()}")

    def __iadd__(self, items: Any) -> GrowingList:  # type: ignore[misc]  # there is no other `__add__`
        list.extend(self, items)
        return self


def _reading(self: GrowingList, *args: Any, **kwargs: Any) -> Any:
    raise InternalCompilerError(f"what is read is not known: {self.on_read()}")


for _name in (
    *("__len__", "__iter__", "__getitem__", "__contains__", "__reversed__", "__add__", "__mul__", "__rmul__"),
    *("__imul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__setitem__", "__delitem__"),
    *("copy", "count", "index", "insert", "pop", "remove", "clear", "sort", "reverse"),
):
    setattr(GrowingList, _name, _reading)
GrowingList.__name__ = "list"
