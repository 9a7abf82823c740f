"""Sources of rows: objects and functions of the user, and arrays."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_of
from ..errors import kind_of
from ..nn.arguments import flag, integer
from ..runtime.tensor import Tensor
from . import pipeline as pipeline  # what the methods of datasets make
from .base import Dataset, workers
from .batches import stacked
from .rows import Row, Run, array_of, lasts_once, names
from .samplers import Part, _SamplerBase, chosen_sampler

__all__ = ["GeneratorDataset", "NumpySlicesDataset", "PaddedDataset"]


class _Mappable(Dataset):
    """A source with random access to its rows."""

    _sampler: _SamplerBase

    def length(self) -> int:
        """The number of rows of the source."""
        raise NotImplementedError

    def row(self, i: int) -> Row:
        """One row of the source."""
        raise NotImplementedError

    def size(self) -> int | None:
        return len(self._sampler.ids(self.length(), Run(frozen=True)))

    def rows(self, run: Run) -> Iterator[Row]:
        for i in self._sampler.ids(self.length(), run):
            yield self.row(i)

    def use_sampler(self, new_sampler: _SamplerBase) -> None:
        """Takes another sampler."""
        if not isinstance(new_sampler, _SamplerBase):
            raise TypeError(f"`new_sampler` must be a sampler, not {kind_of(new_sampler)}")
        self._sampler = new_sampler

    def add_sampler(self, new_sampler: _SamplerBase) -> None:
        """Lets a sampler choose from the rows that the present sampler chooses."""
        if not isinstance(new_sampler, _SamplerBase):
            raise TypeError(f"`new_sampler` must be a sampler, not {kind_of(new_sampler)}")
        new_sampler.add_child(self._sampler)
        self._sampler = new_sampler

    def __getitem__(self, index: int) -> list[Tensor]:
        """A row of the source, whatever the sampler says."""
        n = self.length()
        if not -n <= integer("index", index) < n:
            raise IndexError(f"there is no row {index}: there are {n}")
        return [Tensor(value) for value in self.row(index % n)]

    def _part(self, start: int, count: int, seed: int, randomize: bool) -> Dataset:
        part = copy.copy(self)
        part._sampler = Part(self._sampler, start, count, seed, randomize)
        return part


class GeneratorDataset(_Mappable):
    """Rows that an object of the user gives.

    `source` is one of

    - an object with `__getitem__` and `__len__`: random access, shuffled unless `shuffle=False` or a `sampler` is
      given;
    - an object with `__iter__`, or a function without arguments that returns an iterator (a generator function): the
      rows in their order; each epoch calls it again.  A generator, or another iterator that cannot begin again, lasts
      for one epoch only.

    A row is a tuple or a list with a value for each of `column_names`, or, for one column, the value: a number, a
    bool, a text, an array, a Tensor, nested lists.  Python's ints become int64, its floats float64.

    `column_types` are checked against the rows.  `num_samples` (None, 0: all) is the largest number of rows.
    `sampler`, `shuffle`, `num_shards` and `shard_id` choose and order rows of a source with random access.
    `batch_sampler` gives lists of row numbers, each of which becomes a batch; ``collate_fn(*columns)`` gets the
    columns of a batch as lists of arrays and returns the columns.  There are no worker processes:
    `num_parallel_workers`, `python_multiprocessing` and `max_rowsize` are accepted, and rows are computed in the
    thread that iterates.

    TypeError, ValueError: arguments that do not fit.  RuntimeError, later: the source raises, or gives rows that do not
    fit; the message names the row.

    >>> import autodiff_compiler.dataset as ds
    >>> def squares():
    ...     for i in range(3):
    ...         yield i, float(i * i)
    >>> data = ds.GeneratorDataset(squares, ["n", "square"])
    >>> [[n.item(), square.item()] for n, square in data]
    [[0, 0.0], [1, 1.0], [2, 4.0]]
    """

    def __init__(
        self,
        source: Any,
        column_names: Any = None,
        column_types: Any = None,
        schema: None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: Any = None,
        batch_sampler: Any = None,
        collate_fn: Any = None,
    ) -> None:
        if schema is not None:
            raise ValueError("`schema` is not supported: give `column_names`, and `column_types`")
        if column_names is None:
            raise ValueError("`column_names` is missing")
        workers(num_parallel_workers)
        flag("python_multiprocessing", python_multiprocessing)
        self.columns = names("column_names", column_names)
        self._types = None if column_types is None else [_numpy_type(t) for t in _listed(column_types)]
        if self._types is not None and len(self._types) != len(self.columns):
            raise RuntimeError(f"there are {len(self.columns)} `column_names`, but {len(self._types)} `column_types`")
        self._source = source
        self._random = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not self._random and not callable(source) and not isinstance(source, Iterable):
            raise TypeError(
                f"`source` must be a function, or have `__iter__`, or `__getitem__` and `__len__`: a "
                f"{type(source).__name__} does not"
            )
        self._begun = self._gave = False
        self._batches = batch_sampler
        self._collate = collate_fn
        if batch_sampler is not None or collate_fn is not None:
            self._check_batches(num_samples, shuffle, sampler, num_shards, shard_id)
        elif self._random:
            self._sampler = chosen_sampler(sampler, num_samples, shuffle, num_shards, shard_id)
        else:
            self._check_order(num_samples, shuffle, sampler, num_shards, shard_id)
        self._limit = num_samples or None

    def _check_batches(self, *others: Any) -> None:
        if self._batches is None:
            raise ValueError("`collate_fn` makes the batches of a `batch_sampler`, and there is none")
        if any(other is not None for other in others):
            raise ValueError("`batch_sampler` decides: no `num_samples`, `shuffle`, `sampler` or shards beside it")
        if not isinstance(self._batches, Iterable) or isinstance(self._batches, Iterator):
            raise TypeError(f"`batch_sampler` must be a list of lists of ints, not a {type(self._batches).__name__}")
        if not self._random:
            raise ValueError("`batch_sampler` needs a source with `__getitem__` and `__len__`")
        if self._collate is not None and not callable(self._collate):
            raise TypeError(f"`collate_fn` must be a function, not a {type(self._collate).__name__}")

    def _check_order(self, num_samples: Any, shuffle: Any, sampler: Any, num_shards: Any, shard_id: Any) -> None:
        if num_samples is not None:
            integer("num_samples", num_samples, 0)
        for name, given in (("sampler", sampler), ("num_shards", num_shards), ("shard_id", shard_id)):
            if given is not None:
                raise ValueError(f"`{name}` needs a source with `__getitem__` and `__len__`")
        if shuffle is not None and flag("shuffle", shuffle):
            warnings.warn(
                "`shuffle=True` has no effect on a source without `__getitem__` and `__len__`: use `.shuffle(size)`",
                stacklevel=4,
            )

    def length(self) -> int:
        if not self._random:
            raise TypeError("the rows of this source come in their own order: it has no `__getitem__` and `__len__`")
        return len(self._source)

    def row(self, i: int) -> Row:
        return self._row(self._value(i), i)

    def size(self) -> int | None:
        if self._batches is not None:
            return len(self._batches) if hasattr(self._batches, "__len__") else None
        return super().size() if self._random else None

    def get_batch_size(self) -> int:
        return 1 if self._batches is None else -1

    def rows(self, run: Run) -> Iterator[Row]:
        if self._batches is not None:
            return self._batched()
        return super().rows(run) if self._random else self._in_order()

    def _in_order(self) -> Iterator[Row]:
        source = self._source
        if self._begun and lasts_once(source):
            raise self._used_up()
        self._begun, number = True, 0
        try:
            again = isinstance(source, Iterator) or not callable(source)
            values = iter(source if again else source())
            while number != self._limit:
                row = self._row(next(values), number)
                self._gave = True
                yield row
                number += 1
        except StopIteration:
            if self._gave and not number and isinstance(source, Iterator):
                raise self._used_up() from None
        except _Unfit:
            raise
        except Exception as error:
            raise self._raised(error, number) from error

    def _used_up(self) -> RuntimeError:
        return RuntimeError(
            f"the source, a {type(self._source).__name__}, was used up by an iteration before (an epoch, "
            "`get_dataset_size`, `output_shapes`, ...): pass the function that makes it, or a list, or let its "
            "`__iter__` begin again"
        )

    def _batched(self) -> Iterator[Row]:
        for number, ids in enumerate(self._batches):
            lists = [list(column) for column in zip(*(self.row(int(i)) for i in ids), strict=True)]
            made: Any = lists
            if self._collate is not None:
                try:
                    made = self._collate(*lists)
                except Exception as error:
                    raise RuntimeError(f"`collate_fn`, batch {number}: {type(error).__name__}: {error}") from error
                made = made if isinstance(made, tuple) else (made,)
                if len(made) != len(self.columns):
                    raise RuntimeError(f"`collate_fn` gave {len(made)} columns for {self.columns}")
            where = f"batch {number} of the source"
            yield tuple(_batch(column, name, where) for column, name in zip(made, self.columns, strict=True))

    def _value(self, i: int) -> Any:
        try:
            return self._source[i]
        except Exception as error:
            raise self._raised(error, i) from error

    def _raised(self, error: Exception, number: int) -> RuntimeError:
        name = getattr(self._source, "__name__", type(self._source).__name__)
        return RuntimeError(f"row {number} of the source `{name}`: {type(error).__name__}: {error}")

    def _row(self, value: Any, number: int) -> Row:
        values = value if isinstance(value, tuple | list) else (value,)
        if len(values) != len(self.columns):
            raise _Unfit(
                f"row {number} of the source has {len(values)} values, and there are {len(self.columns)} columns: "
                f"{self.columns}"
            )
        try:
            row = tuple([array_of(v, f"column {c!r}") for v, c in zip(values, self.columns, strict=True)])
        except RuntimeError as error:
            raise _Unfit(f"row {number} of the source: {error}") from None
        for array, name, wanted in zip(row, self.columns, self._types or (), strict=False):
            if array.dtype != wanted:
                raise _Unfit(
                    f"row {number} of the source: column {name!r} is {array.dtype}, and `column_types` says {wanted}"
                )
        return row


class _Unfit(RuntimeError):
    """A row that does not fit its columns."""


_Unfit.__name__ = "RuntimeError"


def _batch(column: Any, name: str, where: str) -> np.ndarray:
    if isinstance(column, list):
        return stacked([array_of(v, f"{where}: column {name!r}") for v in column], name, where)
    return array_of(column, f"{where}: column {name!r}")


def _listed(types: Any) -> Sequence[Any]:
    return types if isinstance(types, list | tuple) else [types]


def _numpy_type(given: Any) -> np.dtype[Any]:
    return np.dtype(dtype_of(given).numpy)


class NumpySlicesDataset(_Mappable):
    """Slices of arrays along their first dimension.

    `data` is an array, a list (one column), a tuple of them (a column each), or a dict from names to them.  The
    columns are called `column_names`, or "column_0", ..., or as in the dict.  The order and choice of rows is as in
    `GeneratorDataset` with a source of random access: shuffled unless `shuffle=False` or a `sampler` is given.

    TypeError: other data.  ValueError: columns of different lengths or without rows, names that do not fit.

    >>> import autodiff_compiler.dataset as ds
    >>> data = ds.NumpySlicesDataset(([[1, 2], [3, 4]], [0.5, 1.5]), ["x", "y"], shuffle=False)
    >>> for x, y in data:
    ...     print(x, y)
    [1 2] 0.5
    [3 4] 1.5
    """

    def __init__(
        self,
        data: Any,
        column_names: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        workers(num_parallel_workers)
        if isinstance(data, dict):
            given, own = list(data.values()), [str(name) for name in data]
        else:
            given = list(data) if isinstance(data, tuple) else [data]
            own = [f"column_{i}" for i in range(len(given))]
        self.columns = own if column_names is None else names("column_names", column_names)
        if len(self.columns) != len(given):
            raise ValueError(f"there are {len(self.columns)} `column_names`, but {len(given)} columns in `data`")
        self._data = [_sliceable(column, name) for column, name in zip(given, self.columns, strict=True)]
        lengths = [len(column) for column in self._data]
        if not lengths or not lengths[0]:
            raise ValueError("`data` is empty")
        if len(set(lengths)) > 1:
            raise ValueError(f"the columns {self.columns} have different lengths: {lengths}")
        self._sampler = chosen_sampler(sampler, num_samples, shuffle, num_shards, shard_id)

    def length(self) -> int:
        return len(self._data[0])

    def row(self, i: int) -> Row:
        pairs = zip(self._data, self.columns, strict=True)
        return tuple([array_of(data[i], f"row {i} of column {name!r}") for data, name in pairs])


def _sliceable(column: Any, name: str) -> Any:
    """A column as an array; as it is where its rows have different lengths."""
    if isinstance(column, Tensor):
        column = column.asnumpy()
    if isinstance(column, str | bytes | dict) or not hasattr(column, "__getitem__"):
        raise TypeError(f"column {name!r} of `data` must be an array or a list, not {kind_of(column)}")
    if isinstance(column, np.ndarray):
        if not column.ndim:
            raise TypeError(f"column {name!r} of `data` must have rows, and is a single number")
        return column
    try:
        array = np.array(column)
    except ValueError:
        return column
    return column if array.dtype == object else array


class PaddedDataset(GeneratorDataset):
    """Rows given as a list of dicts from column names to arrays, in their order; often to pad shards.

    >>> import numpy as np
    >>> import autodiff_compiler.dataset as ds
    >>> [row[0].tolist() for row in ds.PaddedDataset([{"x": np.zeros(2)}, {"x": np.ones(2)}])]
    [[0.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, padded_samples: Any) -> None:
        samples = list(padded_samples)
        if not samples or not all(isinstance(sample, dict) and sample for sample in samples):
            raise TypeError("`padded_samples` must be a list of dicts from column names to values, with one at least")
        columns = list(samples[0])
        for sample in samples:
            if list(sample) != columns:
                raise ValueError(f"the samples have columns {columns} and {list(sample)}")
        super().__init__([tuple(sample.values()) for sample in samples], columns, shuffle=False)
