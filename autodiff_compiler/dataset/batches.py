"""Stages of pipelines that batch rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import kind_of
from ..nn.arguments import flag, positive
from .base import Dataset, Same, workers
from .calls import Called
from .rows import Row, Run, array_of, places

__all__ = ["BatchDataset", "BatchInfo", "PaddedBatchDataset", "stacked"]


class BatchInfo:
    """The argument of a function of `batch`: the numbers of the epoch and of the batch in it, from 0."""

    def __init__(self, epoch: int, batch: int) -> None:
        self._epoch, self._batch = epoch, batch

    def get_epoch_num(self) -> int:
        """The number of the epoch, from 0."""
        return self._epoch

    def get_batch_num(self) -> int:
        """The number of the batch in its epoch, from 0."""
        return self._batch


class BatchDataset(Same, method="batch"):
    """Rows put together: each column gets a new first dimension.

    `batch_size` is an int, or a function of a `BatchInfo` that gives one.  The last batch may be shorter; it is left
    out with `drop_remainder`.  ``per_batch_map(*columns, info)`` gets each of `input_columns` (None: all) as a list
    of ndarrays, one for each row, and a `BatchInfo`; it returns as many columns as `output_columns` (None:
    `input_columns`) names, each with an entry for every row.

    RuntimeError, later: rows whose shapes or dtypes differ.

    >>> import autodiff_compiler.dataset as ds
    >>> data = ds.NumpySlicesDataset([3, 1, 2, 5], ["x"], shuffle=False)
    >>> [b[0].tolist() for b in data.batch(2, per_batch_map=lambda x, info: (sorted(x),), input_columns=["x"])]
    [[1, 3], [2, 5]]
    """

    def __init__(
        self,
        child: Dataset,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        per_batch_map: Callable[..., Any] | None = None,
        input_columns: Any = None,
        output_columns: Any = None,
        python_multiprocessing: bool = False,
        max_rowsize: Any = None,
    ) -> None:
        super().__init__(child)
        workers(num_parallel_workers)
        flag("python_multiprocessing", python_multiprocessing)
        self._length = batch_size if callable(batch_size) else positive("batch_size", batch_size)
        self._drop = flag("drop_remainder", drop_remainder)
        self._map = None
        if per_batch_map is None:
            if input_columns is not None:
                raise ValueError("`input_columns` of `batch` are for `per_batch_map`, and there is none")
        else:
            self._map = Called(self, child.columns, per_batch_map, input_columns, output_columns, all_columns=True)
            self.columns = self._map.columns

    def label(self) -> str:
        return f"batch({getattr(self._length, '__name__', self._length)})"

    def size(self) -> int | None:
        rows = self.child.size()
        if rows is None or not isinstance(self._length, int):
            return None
        return rows // self._length if self._drop else -(-rows // self._length)

    def get_batch_size(self) -> int:
        return self._length if isinstance(self._length, int) else -1

    def rows(self, run: Run) -> Iterator[Row]:
        epoch = run.begin(self)
        rows = self.child.rows(run)
        for number in itertools.count():
            info = BatchInfo(epoch, number)
            wanted = self._length
            if not isinstance(wanted, int):
                wanted = wanted(info)
                if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
                    raise RuntimeError(f"`batch_size` gave {wanted!r}, and a positive int is wanted")
            chosen = list(itertools.islice(rows, wanted))
            if not chosen or (len(chosen) < wanted and self._drop):
                return
            lists = [list(column) for column in zip(*chosen, strict=True)]
            if self._map is not None:
                lists = self._map(lists, number, "batch", info, convert=_entries)
                if len({len(column) for column in lists}) > 1:
                    lengths = dict(zip(self.columns, map(len, lists), strict=True))
                    raise RuntimeError(
                        f"batch {number} at {self.chain()}: the columns have different lengths, {lengths}"
                    )
            yield self.put_together(lists, number)

    def put_together(self, lists: Sequence[list[np.ndarray]], number: int) -> Row:
        """A batch of lists of arrays, one for each column."""
        where = f"batch {number} at {self.chain()}"
        return tuple(stacked(c, name, where) for c, name in zip(lists, self.columns, strict=True))


def _entries(value: Any, what: str) -> list[np.ndarray]:
    """The result of `per_batch_map` for a column as one array per row."""
    if not isinstance(value, list | tuple | np.ndarray):
        raise RuntimeError(f"{what} must be a list of arrays, not {kind_of(value)}")
    if len(value) == 0:
        raise RuntimeError(f"{what} is empty")
    return [array_of(entry, what) for entry in value]


def stacked(column: Sequence[np.ndarray], name: str, where: str) -> np.ndarray:
    """Arrays of one shape and dtype as one; RuntimeError if they differ."""
    first = column[0]
    for other in column:
        if other.shape != first.shape:
            raise RuntimeError(
                f"{where}: column {name!r} has rows of shapes {first.shape} and {other.shape}, which make no batch; "
                "give them one shape with `map`, or use `padded_batch`"
            )
        if other.dtype != first.dtype and not other.dtype.kind == first.dtype.kind in "US":
            raise RuntimeError(f"{where}: column {name!r} has rows of dtypes {first.dtype} and {other.dtype}")
    return np.stack(column)


class PaddedBatchDataset(BatchDataset, method="padded_batch"):
    """Rows of different lengths put together: shorter ones are filled up at their ends.

    `pad_info` gives ``(shape, value)`` for the columns to fill: a None in the shape, or None for it, is the largest
    length of the batch; None for the value is 0.  None or {} for all: every column, with 0.

    >>> import numpy as np
    >>> import autodiff_compiler.dataset as ds
    >>> data = ds.GeneratorDataset([np.arange(2), np.arange(3)], ["x"], shuffle=False)
    >>> [b[0].tolist() for b in data.padded_batch(2, pad_info={"x": ([None], -1)})]
    [[[0, 1, -1], [0, 1, 2]]]
    """

    def __init__(self, child: Dataset, batch_size: Any, drop_remainder: bool, pad_info: dict[str, Any] | None) -> None:
        super().__init__(child, batch_size, drop_remainder)
        if pad_info is not None and not isinstance(pad_info, dict):
            raise TypeError(f"`pad_info` must be a dict, not {kind_of(pad_info)}")
        pad_info = pad_info or dict.fromkeys(child.columns, (None, None))
        places(child.columns, pad_info, "`pad_info`")
        self._pad = pad_info

    def put_together(self, lists: Sequence[list[np.ndarray]], number: int) -> Row:
        where = f"batch {number} at {self.chain()}"
        filled = []
        for column, name in zip(lists, self.columns, strict=True):
            if name in self._pad:
                shape, value = self._pad[name]
                column = _filled(column, shape, value, f"{where}: column {name!r}")
            filled.append(column)
        return super().put_together(filled, number)


def _filled(column: list[np.ndarray], shape: Any, value: Any, where: str) -> list[np.ndarray]:
    dims = column[0].ndim
    shape = [None] * dims if shape is None else list(shape)
    if any(a.ndim != dims for a in column) or len(shape) != dims:
        raise RuntimeError(
            f"{where} has rows of {sorted({a.ndim for a in column})} dimensions, `pad_info` has {len(shape)}"
        )
    full = [max(a.shape[i] for a in column) if n is None else n for i, n in enumerate(shape)]
    results = []
    for row, a in enumerate(column):
        if any(n > m for n, m in zip(a.shape, full, strict=True)):
            raise RuntimeError(f"{where} has a row of shape {a.shape}, larger than the {tuple(full)} to fill up to")
        ends = [(0, m - n) for n, m in zip(a.shape, full, strict=True)]
        if any(n for _, n in ends):  # a scalar cannot be padded
            try:
                a = np.pad(a, ends, constant_values=value or ("" if a.dtype.kind in "US" else 0))
            except (OverflowError, TypeError, ValueError) as error:
                raise RuntimeError(
                    f"{where}: row {row} of {a.dtype} cannot be filled up with {value!r}: {error}"
                ) from error
        results.append(a)
    return results
