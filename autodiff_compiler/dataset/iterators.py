"""Iterators over the rows of a dataset, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..errors import users_frames
from ..nn.arguments import flag, integer
from ..runtime.tensor import Tensor
from .rows import Row, Run, places

__all__ = ["DictIterator", "TupleIterator"]


class HasRows(Protocol):
    """The protocol of datasets that iterators use."""

    columns: list[str]

    def rows(self, run: Run) -> Iterator[Row]:
        """The rows of one epoch."""
        ...

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        ...


class _Epochs:
    """Each `for` over it, or each row of StopIteration, is an epoch."""

    def __init__(self, dataset: HasRows, num_epochs: int, output_numpy: bool, do_copy: bool) -> None:
        if integer("num_epochs", num_epochs) != -1 and num_epochs < 1:
            raise ValueError(f"`num_epochs` must be -1 (without end) or positive, not {num_epochs}")
        self._numpy = flag("output_numpy", output_numpy)
        flag("do_copy", do_copy)
        self.dataset = dataset
        self._left = num_epochs
        self._run = Run()
        self._rows: Iterator[Row] | None = None

    def __iter__(self) -> Any:
        return self

    def stop(self) -> None:
        """Gives up the epoch that has begun, and those to come."""
        self._rows, self._left = None, 0

    release = stop

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return self.dataset.get_col_names()

    def _next(self) -> Row:
        if self._rows is None:
            if self._left == 0:
                raise RuntimeError(
                    "all epochs that were asked for are over: give `num_epochs` when creating the iterator"
                )
            self._rows = self.dataset.rows(self._run)
        try:
            return next(self._rows)
        except StopIteration:
            self._rows = None
            self._left -= self._left > 0
            raise

    def _out(self, value: np.ndarray) -> Any:
        """The user's value for a cell of a row: texts stay arrays, as no Tensor holds them."""
        return value if self._numpy or value.dtype.kind in "US" else Tensor(value)


class DictIterator(_Epochs):
    """Rows as dicts from column names to values."""

    @users_frames
    def __next__(self) -> dict[str, Any]:
        return {name: self._out(value) for name, value in zip(self.dataset.columns, self._next(), strict=True)}


class TupleIterator(_Epochs):
    """Rows as lists of values, of some columns or of all."""

    def __init__(self, dataset: HasRows, columns: Any, num_epochs: int, output_numpy: bool, do_copy: bool) -> None:
        super().__init__(dataset, num_epochs, output_numpy, do_copy)
        wanted = dataset.columns if columns is None else columns
        self._places = places(dataset.columns, wanted, "create_tuple_iterator")

    @users_frames
    def __next__(self) -> list[Any]:
        row = self._next()
        return [self._out(row[i]) for i in self._places]
