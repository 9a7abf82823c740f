"""Stages of pipelines that work row by row: map, filter, shuffle, repeat, take, skip, zip, concat, project, rename."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import kind_of
from ..nn.arguments import flag, integer
from . import batches as batches  # with them all methods of datasets have what they make
from .base import Dataset, Same, check_dataset, workers
from .calls import Called, operations_of
from .rows import Row, Run, array_of, distinct, names, places
from .samplers import DistributedSampler, RandomSampler

__all__ = [
    "ConcatDataset",
    "FilterDataset",
    "Frozen",
    "MapDataset",
    "ProjectDataset",
    "RenameDataset",
    "RepeatDataset",
    "ShuffleDataset",
    "SkipDataset",
    "TakeDataset",
    "ZipDataset",
    "zip",
]


def zip(datasets: Any) -> ZipDataset:
    """Rows with the columns of several datasets, as many as the shortest has.

    TypeError: no tuple of datasets.  ValueError: fewer than two.

    >>> import autodiff_compiler.dataset as ds
    >>> a, b = (ds.NumpySlicesDataset(range(3), [name], shuffle=False) for name in "ab")
    >>> ds.zip((a, b)).get_col_names()
    ['a', 'b']
    """
    if not isinstance(datasets, tuple):
        raise TypeError(f"`datasets` must be a tuple of datasets, not {kind_of(datasets)}")
    if len(datasets) < 2:
        raise ValueError(f"`zip` takes two or more datasets, not {len(datasets)}")
    return ZipDataset(datasets)


class MapDataset(Same, method="map"):
    """Each row through functions, or transforms of `dataset.transforms` and `dataset.vision`.

    `operations` is a function or a list of them, each called with what the one before gave; the first gets the values
    of `input_columns` (None: the first column) as ndarrays.  What the last one gives (a tuple for several) becomes
    `output_columns` (None: `input_columns`), which take the place of `input_columns`; `project` orders columns.

    RuntimeError, later: a function raises, or gives other than as many values as there are columns to fill.

    >>> import autodiff_compiler.dataset as ds
    >>> data = ds.NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)
    >>> [list(map(int, row)) for row in data.map(lambda x, y: x * y, ["x", "y"], ["product"])]
    [[3], [8]]
    """

    def __init__(
        self,
        child: Dataset,
        operations: Any,
        input_columns: Any = None,
        output_columns: Any = None,
        num_parallel_workers: int | None = None,
        python_multiprocessing: bool = False,
        cache: None = None,
        callbacks: None = None,
        max_rowsize: Any = None,
        offload: Any = None,
    ) -> None:
        super().__init__(child)
        workers(num_parallel_workers)
        flag("python_multiprocessing", python_multiprocessing)
        if cache is not None or callbacks is not None:
            raise ValueError("`cache` and `callbacks` of `map` are not supported")
        self._call = Called(self, child.columns, operations_of(operations), input_columns, output_columns)
        self.columns = self._call.columns

    def label(self) -> str:
        return f"map({self._call.label()})"

    def rows(self, run: Run) -> Iterator[Row]:
        run.begin(self)
        for number, row in enumerate(self.child.rows(run)):
            yield tuple(self._call(row, number, "row", convert=array_of))


class FilterDataset(Same, method="filter"):
    """The rows for which a predicate is true."""

    def __init__(self, child: Dataset, predicate: Callable[..., Any], input_columns: Any = None) -> None:
        super().__init__(child)
        if not callable(predicate):
            raise TypeError(f"`predicate` must be a function, not {kind_of(predicate)}")
        self._call = Called(self, child.columns, predicate, input_columns, None, all_columns=True)

    def label(self) -> str:
        return f"filter({self._call.label()})"

    def size(self) -> int | None:
        return None

    def rows(self, run: Run) -> Iterator[Row]:
        for number, row in enumerate(self.child.rows(run)):
            kept = self._call.value(row, number, "row")
            try:
                if kept is None:
                    raise TypeError("it returned None")
                kept = bool(kept)
            except (TypeError, ValueError) as error:
                raise RuntimeError(
                    f"row {number} at {self.chain()}: the predicate must say True or False, and gave {kept!r}"
                ) from error
            if kept:
                yield row


class ShuffleDataset(Same, method="shuffle"):
    """The rows through a buffer from which each comes at random."""

    def __init__(self, child: Dataset, buffer_size: int) -> None:
        super().__init__(child)
        self._buffer = integer("buffer_size", buffer_size, 2)

    def label(self) -> str:
        return f"shuffle({self._buffer})"

    def rows(self, run: Run) -> Iterator[Row]:
        numbers = run.numbers(self)
        rows = self.child.rows(run)
        waiting = list(itertools.islice(rows, self._buffer))
        for row in rows:
            i = numbers.integers(len(waiting))
            yield waiting[i]
            waiting[i] = row
        for i in numbers.permutation(len(waiting)):
            yield waiting[i]


class RepeatDataset(Same, method="repeat"):
    """Several epochs as one."""

    def __init__(self, child: Dataset, count: int | None) -> None:
        super().__init__(child)
        self._count = -1 if count is None else integer("count", count)
        if self._count != -1 and self._count < 1:
            raise ValueError(f"`count` must be -1 (without end) or positive, not {count}")

    def label(self) -> str:
        return f"repeat({'' if self._count == -1 else self._count})"

    def size(self) -> int | None:
        """Of a repetition without end, that of the rows which are repeated, as in MindSpore."""
        rows = self.child.size()
        if rows is None and self._count == -1:
            return self.child.get_dataset_size()
        return None if rows is None else rows * builtins.max(self._count, 1)

    def get_repeat_count(self) -> int:
        return self.child.get_repeat_count() if self._count == 1 else self._count

    def endless(self) -> bool:
        return self._count == -1 or self.child.endless()

    def rows(self, run: Run) -> Iterator[Row]:
        for epoch in itertools.count() if self._count == -1 else range(self._count):
            some = False
            for row in self.child.rows(run):
                some = True
                yield row
            if not some and epoch == 0:  # without end it would search for ever
                return


class TakeDataset(Same, method="take"):
    """The first rows."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__(child)
        self._count = integer("count", count)
        if count != -1 and count < 1:
            raise ValueError(f"`count` must be -1 (all) or positive, not {count}")

    def label(self) -> str:
        return f"take({self._count})"

    def endless(self) -> bool:
        return self._count == -1 and self.child.endless()

    def size(self) -> int | None:
        rows = self.child.size()
        return rows if rows is None or self._count == -1 else builtins.min(rows, self._count)

    def rows(self, run: Run) -> Iterator[Row]:
        return itertools.islice(self.child.rows(run), None if self._count == -1 else self._count)


class SkipDataset(Same, method="skip"):
    """All but the first rows."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__(child)
        self._count = integer("count", count, 0)

    def label(self) -> str:
        return f"skip({self._count})"

    def size(self) -> int | None:
        rows = self.child.size()
        return None if rows is None else builtins.max(rows - self._count, 0)

    def rows(self, run: Run) -> Iterator[Row]:
        return itertools.islice(self.child.rows(run), self._count, None)


class Frozen(Same, method="split"):
    """The same rows in the same order whenever it begins: what `split` takes its parts from."""

    def __init__(self, child: Dataset, seed: int) -> None:
        super().__init__(child)
        self._seed = seed

    def label(self) -> str:
        return "split"

    def rows(self, run: Run) -> Iterator[Row]:
        return self.child.rows(Run(self._seed, frozen=True))


class ZipDataset(Dataset, method="zip"):
    """The columns of several datasets side by side."""

    def __init__(self, datasets: tuple[Dataset, ...]) -> None:
        for dataset in datasets:
            check_dataset(dataset)
        self.children = datasets
        self.columns = [name for dataset in datasets for name in dataset.columns]
        distinct(self.columns, "`zip` gets column")

    def label(self) -> str:
        return "zip"

    def endless(self) -> bool:
        return all(child.endless() for child in self.children)

    def size(self) -> int | None:
        sizes = [child.size() for child in self.children]
        return None if None in sizes else builtins.min(n for n in sizes if n is not None)

    def rows(self, run: Run) -> Iterator[Row]:
        for parts in builtins.zip(*(child.rows(run) for child in self.children), strict=False):
            yield tuple(itertools.chain.from_iterable(parts))


class ConcatDataset(Dataset, method="concat"):
    """The rows of several datasets, one after the other; their columns have the same names, dtypes and dimensions."""

    def __init__(self, datasets: list[Dataset]) -> None:
        for dataset in datasets:
            check_dataset(dataset)
        self.children = tuple(datasets)
        self._sampler: DistributedSampler | RandomSampler | None = None
        self.columns = datasets[0].columns
        for other in datasets:
            if other.columns != self.columns:
                raise RuntimeError(f"datasets with columns {self.columns} and {other.columns} make no one dataset")

    def label(self) -> str:
        return "concat"

    def use_sampler(self, new_sampler: DistributedSampler | RandomSampler) -> None:
        """Takes every ``num_shards``-th row only (a DistributedSampler that does not shuffle), or mixes all of them.

        No row comes twice to make shards equally long.  TypeError, ValueError: other samplers.
        """
        if not isinstance(new_sampler, DistributedSampler | RandomSampler):
            raise TypeError(
                f"`concat` takes a DistributedSampler or a RandomSampler, not {kind_of(new_sampler)}; "
                "give others to the datasets before"
            )
        options: tuple[Any, ...] = (new_sampler.num_samples, new_sampler.child_sampler)
        if isinstance(new_sampler, DistributedSampler):
            options += (new_sampler.shuffle, new_sampler.offset > 0)
        else:
            options += (new_sampler.replacement,)
        if any(options):
            raise ValueError("`concat` takes samplers that do not shuffle shards, replace, limit rows, or have a child")
        self._sampler = new_sampler

    def size(self) -> int | None:
        sizes = [child.size() for child in self.children]
        if None in sizes:
            return None
        rows = sum(n for n in sizes if n is not None)
        if not isinstance(self._sampler, DistributedSampler):
            return rows
        return len(range(self._sampler.shard_id, rows, self._sampler.num_shards))

    def rows(self, run: Run) -> Iterator[Row]:
        rows = self._all(run)
        if isinstance(self._sampler, DistributedSampler):
            return itertools.islice(rows, self._sampler.shard_id, None, self._sampler.num_shards)
        return rows if self._sampler is None else self._mixed(rows, run)

    def _mixed(self, rows: Iterator[Row], run: Run) -> Iterator[Row]:
        numbers, listed = run.numbers(self), list(rows)
        for i in numbers.permutation(len(listed)):
            yield listed[i]

    def _all(self, run: Run) -> Iterator[Row]:
        kinds = None
        for child in self.children:
            for number, row in enumerate(child.rows(run)):
                if number == 0:
                    here = [(v.dtype.kind if v.dtype.kind in "US" else v.dtype, v.ndim) for v in row]
                    kinds = kinds or here
                    for name, a, b in builtins.zip(self.columns, kinds, here, strict=True):
                        if a != b:
                            raise RuntimeError(
                                f"{self.chain()}: column {name!r} is {a[0]} with {a[1]} dimensions in one dataset, "
                                f"{b[0]} with {b[1]} in another"
                            )
                yield row


class ProjectDataset(Same, method="project"):
    """Some columns."""

    def __init__(self, child: Dataset, columns: Any) -> None:
        super().__init__(child)
        self.columns = names("columns", columns)
        self._places = places(child.columns, self.columns, "`project`")

    def label(self) -> str:
        return f"project({self.columns})"

    def rows(self, run: Run) -> Iterator[Row]:
        for row in self.child.rows(run):
            yield tuple([row[i] for i in self._places])


class RenameDataset(Same, method="rename"):
    """Other names for columns."""

    def __init__(self, child: Dataset, input_columns: Any, output_columns: Any) -> None:
        super().__init__(child)
        old, new = names("input_columns", input_columns), names("output_columns", output_columns)
        if len(old) != len(new):
            raise ValueError(f"there are {len(old)} `input_columns`, but {len(new)} `output_columns`")
        self.columns = list(child.columns)
        for place, name in builtins.zip(places(child.columns, old, "`rename`"), new, strict=True):
            self.columns[place] = name
        distinct(self.columns, "`rename` gives column")

    def label(self) -> str:
        return "rename"

    def rows(self, run: Run) -> Iterator[Row]:
        return self.child.rows(run)
