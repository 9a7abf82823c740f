"""Cells made of a list of Cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .cell import Cell

__all__ = ["CellList", "SequentialCell"]


class _Numbered(Cell):
    """Cells in order, each an attribute: its number, or the key of a dict it was given by."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(args) == 1 and isinstance(args[0], dict):
            for name, cell in args[0].items():
                self.insert_child_to_cell(name, cell)
        else:
            self.extend(args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args)

    @property
    def cell_list(self) -> tuple[Cell, ...]:
        """The Cells in order; one that stands twice is listed twice."""
        return tuple([v for v in self.__dict__.values() if isinstance(v, Cell)])

    def _renumber(self, cells: Iterable[Cell]) -> None:
        cells = [_checked(c) for c in cells]
        for name in [k for k, v in self.__dict__.items() if isinstance(v, Cell)]:
            delattr(self, name)
        for i, cell in enumerate(cells):
            setattr(self, str(i), cell)

    def append(self, cell: Cell) -> _Numbered:
        """Adds a Cell at the end, and returns this Cell."""
        setattr(self, str(len(self)), _checked(cell))
        return self

    def extend(self, cells: Iterable[Cell]) -> _Numbered:
        """Adds Cells at the end, and returns this Cell; TypeError if one is none."""
        for cell in [_checked(c) for c in cells]:
            self.append(cell)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Puts a Cell before the one at `index`; the later ones get new numbers and names."""
        cells = list(self.cell_list)
        cells.insert(index, cell)
        self._renumber(cells)

    def __len__(self) -> int:
        return len(self.cell_list)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cell_list)

    def __bool__(self) -> bool:
        return len(self) != 0

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):  # a list of the same Cells, which keep their names
            return type(self)(*self.cell_list[index], auto_prefix=False)
        return self.cell_list[index]

    def __setitem__(self, index: int, cell: Cell) -> None:
        names = [k for k, v in self.__dict__.items() if isinstance(v, Cell)]
        setattr(self, names[index], _checked(cell))

    def __delitem__(self, index: int | slice) -> None:
        cells = list(self.cell_list)
        del cells[index]
        self._renumber(cells)


def _checked(cell: Any) -> Cell:
    if not isinstance(cell, Cell):
        raise TypeError(f"only Cells can stand in a list of Cells, not a {type(cell).__name__}")
    return cell


class CellList(_Numbered):
    """A list of Cells whose Parameters are found: ``CellList([a, b])`` or ``CellList(a, b)``.

    >>> len(CellList([Cell(), Cell()]))
    2
    """

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellList computes nothing: call the Cells in it")


class SequentialCell(_Numbered):
    """Cells applied one after the other: ``SequentialCell(a, b)``, a list of them, or a dict by name.

    >>> from autodiff_compiler import Tensor, nn
    >>> nn.SequentialCell(nn.ReLU(), nn.Flatten())(Tensor([[[-1.0, 2.0]]])).tolist()
    [[0.0, 2.0]]
    """

    def construct(self, x: Any) -> Any:
        for cell in self.cell_list:
            x = cell(x)
        return x
