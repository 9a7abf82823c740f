"""Cells made of several Cells: in a list, in a dict, one after the other."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import kind_of
from ..runtime.static import static_query
from .cell import Cell


class _Container(Cell):
    """Cells by key, each an attribute.

    A container does not know the path of the attribute that holds it.  Cells added later are named by the path in the
    names of the Parameters already in it (none in a container without Parameters), as in MindSpore's checkpoints.
    """

    @property
    def _keyed(self) -> OrderedDict[str, Cell]:
        return OrderedDict((k, v) for k, v in self.__dict__.items() if isinstance(v, Cell))

    def _put(self, key: str, cell: Cell, path: str) -> None:
        if self._auto_prefix:
            # MindSpore 2.10: Cells added later are named by the path in the names of the Parameters already there.
            cell.update_parameters_name(f"{path}{key}.")
        self._set_part(key, cell)


def _shown_path(cells: Mapping[str, Cell]) -> str:
    """The path of a container, ending with a dot: the part of its Parameters' names before the Cell's key.

    It is read from the first Parameter.  If its name has the key more than once, the second Cell decides; with one
    Cell, the last occurrence counts.
    """
    firsts = (next(((key, p.name.split(".")) for p in cell.get_parameters()), None) for key, cell in cells.items())
    known = [first for first in firsts if first is not None][:2]
    path: list[str] = []
    for key, words in known[:1]:
        for i in [i for i, word in enumerate(words) if word == key]:
            path = words[:i]
            if any(other[i : i + 1] == [another] for another, other in known[1:]):
                break
    return "".join([f"{word}." for word in path])


class _Numbered(_Container):
    """Cells in order, each an attribute: its number, or the key of a dict it was given by."""

    #: The keys that do not change when other Cells are inserted or removed.
    _given: frozenset[str] = frozenset()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(args) == 1 and isinstance(args[0], dict):
            for name, cell in args[0].items():
                self.insert_child_to_cell(name, cell)
                self._put(name, cell, "")
            self.__dict__["_given"] = frozenset(args[0])
        else:
            self.extend(args[0] if len(args) == 1 and self._is_several(args[0]) else args)

    @staticmethod
    def _is_several(x: Any) -> bool:
        return isinstance(x, list | tuple)

    @property
    def cell_list(self) -> tuple[Cell, ...]:
        """The Cells in order; one that stands twice is listed twice."""
        return tuple(self._keyed.values())

    def _free(self, number: int) -> str:
        """A number as a key, or the next one that is no key of a dict."""
        return next(key for key in map(str, itertools.count(number)) if key not in self._given)

    def _arrange(self, cells: Iterable[tuple[str, Cell]], path: str) -> None:
        """Puts Cells, with their old keys, in order; those whose number changes are renamed."""
        keyed = [(key if key in self._given else self._free(i), key, cell) for i, (key, cell) in enumerate(cells)]
        for key in self._keyed:
            delattr(self, key)
        for new, key, cell in keyed:
            if new == key:
                self._set_part(key, cell)
            else:
                self._put(new, cell, path)

    def append(self, cell: Cell) -> _Numbered:
        """Adds a Cell at the end, and returns this Cell; TypeError if it is none."""
        return self.extend((cell,))

    def extend(self, cells: Iterable[Cell]) -> _Numbered:
        """Adds Cells at the end, and returns this Cell; TypeError if one is none."""
        if not isinstance(cells, Iterable):
            raise TypeError(f"extend() takes several Cells, not a {type(cells).__name__}")
        path = _shown_path(self._keyed)
        for cell in [_checked(c) for c in cells]:
            self._put(self._free(len(self.cell_list)), cell, path)
        return self

    __iadd__ = extend

    def insert(self, index: int, cell: Cell) -> None:
        """Puts a Cell before the one at `index`; the later ones get new numbers and names."""
        cells = list(self._keyed.items())
        cells.insert(index, ("", _checked(cell)))
        self._arrange(cells, _shown_path(self._keyed))

    def pop(self, index: int = -1) -> Cell:
        """Takes a Cell out, and returns it; IndexError if there is none at `index`."""
        taken = self.cell_list[index]
        del self[index]
        return taken

    def __len__(self) -> int:
        return len(self.cell_list)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cell_list)

    def __bool__(self) -> bool:
        return len(self) != 0

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):  # a container of the same Cells, which keep their names
            part = type(self)(self._part(index), auto_prefix=False)
            part.__dict__["_auto_prefix"] = self._auto_prefix
            return part
        return self.cell_list[index]

    def _part(self, index: slice) -> Any:
        return list(self.cell_list[index])

    def __setitem__(self, index: int, cell: Cell) -> None:
        self._put(list(self._keyed)[index], _checked(cell), _shown_path(self._keyed))

    def __delitem__(self, index: int | slice) -> None:
        cells = list(self._keyed.items())
        del cells[index]
        self._arrange(cells, _shown_path(dict(cells)))


def _checked(cell: Any) -> Cell:
    if not isinstance(cell, Cell):
        raise TypeError(f"only Cells can stand in a container of Cells, not {kind_of(cell)}")
    return cell


class CellList(_Numbered):
    """A list of Cells whose Parameters are found: ``CellList([a, b])`` or ``CellList(a, b)``.

    It is indexed, sliced, looped over and changed like a list; a slice holds the same Cells.  TypeError: what is no
    Cell.  IndexError: no such place.

    >>> from autodiff_compiler import nn
    >>> layers = CellList([nn.Dense(2, 2), nn.ReLU()])
    >>> layers += [nn.Dense(2, 1, has_bias=False)]
    >>> len(layers), [p.name for p in layers.get_parameters()]
    (3, ['0.weight', '0.bias', '2.weight'])
    """

    @staticmethod
    def _is_several(x: Any) -> bool:
        return isinstance(x, list | tuple) or type(x) is CellList  # which has nothing of its own to lose

    def __add__(self, cells: Iterable[Cell]) -> CellList:
        """A list of the Cells of both, which keep their names; TypeError: what is no Cell."""
        return CellList(list(self), auto_prefix=False).extend(cells)  # type: ignore[return-value]

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellList computes nothing: call the Cells in it")


class SequentialCell(_Numbered):
    """Cells applied one after the other: ``SequentialCell(a, b)``, a list of them, or a dict by name.

    TypeError: what is no Cell.

    >>> from autodiff_compiler import Tensor, nn
    >>> nn.SequentialCell(nn.ReLU(), nn.Flatten())(Tensor([[[-1.0, 2.0]]])).tolist()
    [[0.0, 2.0]]
    """

    def _part(self, index: slice) -> Any:
        return OrderedDict(list(self._keyed.items())[index])

    def construct(self, x: Any) -> Any:
        for cell in self.cell_list:
            x = cell(x)
        return x


class CellDict(_Container):
    """Cells by name: ``CellDict({"a": a})``, or pairs ``CellDict([["a", a]])``; used like a dict.

    TypeError: a key that is no string, what is no Cell.  KeyError: no such key; a key that is empty, has a dot, or is
    the name of an attribute.

    >>> from autodiff_compiler import nn
    >>> parts = CellDict({"act": nn.ReLU()})
    >>> parts["out"] = nn.Dense(2, 1, has_bias=False)
    >>> list(parts), [p.name for p in parts.get_parameters()]
    (['act', 'out'], ['out.weight'])
    """

    def __init__(self, *args: Any, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        if len(args) > 1:
            raise TypeError(f"CellDict() takes one mapping, or one list of pairs, not {len(args)} arguments")
        if args:
            self.update(args[0])

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellDict computes nothing: call the Cells in it")

    def update(self, cells: Any) -> None:
        """Sets the Cells of a mapping, or of a list of pairs of a key and a Cell."""
        pairs = cells.items() if isinstance(cells, Mapping | CellDict) else cells
        if not isinstance(pairs, Iterable):
            raise TypeError(f"update() takes a mapping or a list of pairs, not a {type(cells).__name__}")
        for pair in list(pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError("each element must be a pair of a key and a Cell")
            self[pair[0]] = pair[1]

    @static_query
    def keys(self) -> Any:
        """The names, in the order in which they were first set."""
        return self._keyed.keys()

    @static_query
    def values(self) -> Any:
        """The Cells."""
        return self._keyed.values()

    @static_query
    def items(self) -> Any:
        """The names with their Cells."""
        return self._keyed.items()

    def pop(self, key: str) -> Cell:
        """Takes a Cell out, and returns it; KeyError if there is none."""
        taken = self[key]
        delattr(self, key)
        return taken

    def clear(self) -> None:
        """Takes out all Cells."""
        for name in self._keyed:
            delattr(self, name)

    def __len__(self) -> int:
        return len(self._keyed)

    def __bool__(self) -> bool:
        return len(self) != 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._keyed)

    def __contains__(self, key: object) -> bool:
        return key in self._keyed

    def __getitem__(self, key: str) -> Cell:
        return self._keyed[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str):
            raise TypeError(f"a key of a CellDict must be a string, not a {type(key).__name__}")
        if not key or "." in key:
            raise KeyError(f"the key {key!r} is empty or has a dot")
        if key not in self and hasattr(self, key):
            raise KeyError(f"{key!r} cannot be a key: it is an attribute of every CellDict")
        self._put(key, _checked(cell), _shown_path(self._keyed))

    def __delitem__(self, key: str) -> None:
        self.pop(key)
