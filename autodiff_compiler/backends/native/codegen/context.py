"""The table of pointers by which machine code reaches objects of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

__all__ = ["Context"]


class Context:
    """The layout of a module's `@context`: pointers, by names that mean the same in every process.

    The entry fills in the names that it needs itself; `pointers` asks for the others.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._places = {name: i for i, name in enumerate(names)}

    @property
    def names(self) -> list[str]:
        """The names, in the order of their pointers."""
        return list(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def place(self, name: str) -> str:
        """The LLVM expression for the address of that name's pointer; a new name is appended.

        >>> context = Context(["none"]); context.place("ndarray"), context.names
        ('getelementptr (i8, ptr @context, i64 8)', ['none', 'ndarray'])
        """
        return f"getelementptr (i8, ptr @context, i64 {8 * self.number(name)})"

    def number(self, name: str) -> int:
        """The index of that name's pointer."""
        return self._places.setdefault(name, len(self._places))

    def pointers(self, others: Mapping[str, int], pointer: Callable[[str], int]) -> list[int]:
        """The pointers of this process: those in `others`, and what `pointer` says of the other names."""
        return [others[name] if name in others else pointer(name) for name in self._places]
