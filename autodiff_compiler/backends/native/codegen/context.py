"""Where machine code finds objects of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

__all__ = ["Context"]


class Context:
    """The pointers in a module's `@context`, by names that mean the same in every process.

    The entry knows the names of what it needs itself; what others there are, their owner fills in.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._places = {name: i for i, name in enumerate(names)}

    @property
    def names(self) -> list[str]:
        """What the context holds, in order."""
        return list(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def place(self, name: str) -> str:
        """Where the pointer of that name is found, as LLVM writes it; a new place for a new name.

        >>> context = Context(["none"]); context.place("ndarray"), context.names
        ('getelementptr (i8, ptr @context, i64 8)', ['none', 'ndarray'])
        """
        return f"getelementptr (i8, ptr @context, i64 {8 * self.number(name)})"

    def number(self, name: str) -> int:
        """The number of that place."""
        return self._places.setdefault(name, len(self._places))

    def pointers(self, others: Mapping[str, int], pointer: Callable[[str], int]) -> list[int]:
        """The contents in this process: of names that are not among `others`, what `pointer` says."""
        return [others[name] if name in others else pointer(name) for name in self._places]
