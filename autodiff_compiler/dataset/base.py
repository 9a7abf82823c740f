"""`Dataset`: named columns, lazily computed rows, and the methods that make pipelines."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import kind_of
from ..nn.arguments import flag, positive
from .config import seed_of_a_run
from .iterators import DictIterator, TupleIterator
from .rows import Row, Run
from .split import lengths_of

__all__ = ["Dataset"]


#: The dataset class behind each pipeline method, by the method's name; `batches` and `pipeline` register them.
_MADE: dict[str, Callable[..., Dataset]] = {}


class Dataset:
    """Rows with named columns.  The methods give new datasets, and leave this one as it is.

    Iterating over a dataset is one epoch: each row is a list of Tensors.  A pipeline computes a row when it is asked
    for, in the thread that asks; `num_parallel_workers`, `python_multiprocessing`, `max_rowsize`, `cache`,
    `callbacks=None` and `offload` of MindSpore are accepted, and change nothing.

    An exception in a function of the user becomes a RuntimeError that says at which row of which part it happened; the
    exception itself is its `__cause__`.

    >>> import autodiff_compiler.dataset as ds
    >>> data = ds.NumpySlicesDataset({"x": [1.0, 2.0, 3.0]}, shuffle=False)
    >>> for row in data.map(lambda x: x * 10).batch(2).create_dict_iterator(num_epochs=1, output_numpy=True):
    ...     print(row)
    {'x': array([10., 20.])}
    {'x': array([30.])}
    """

    #: the names of the columns
    columns: list[str]
    #: the datasets whose rows this one uses
    children: tuple[Dataset, ...] = ()
    #: the number of rows, cached where only counting tells it
    _counted: int | None = None

    def __init_subclass__(cls, method: str = "", **kwargs: Any) -> None:
        """`method`: that which makes datasets of this class."""
        super().__init_subclass__(**kwargs)
        if method:
            _MADE[method] = cls

    def rows(self, run: Run) -> Iterator[Row]:
        """The rows of one epoch."""
        raise NotImplementedError

    def size(self) -> int | None:
        """The number of rows of an epoch, or None if only counting tells."""
        raise NotImplementedError

    def endless(self) -> bool:
        """Whether an epoch has no end."""
        return any(child.endless() for child in self.children)

    def label(self) -> str:
        """This part of the pipeline, as messages show it."""
        return type(self).__name__

    def chain(self) -> str:
        """The pipeline up to here, as messages show it."""
        before = " + ".join(child.chain() for child in self.children)
        return f"{before} > {self.label()}" if before else self.label()

    # --- iterating ----------------------------------------------------------------------------------------------------

    def __iter__(self) -> TupleIterator:
        return self.create_tuple_iterator(num_epochs=1)

    def __len__(self) -> int:
        return self.get_dataset_size()

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> DictIterator:
        """An iterator over dicts from the names of columns to Tensors (ndarrays if `output_numpy`).

        Each ``for`` loop over it is one epoch, up to `num_epochs` of them (-1: without end); a RuntimeError follows.
        """
        return DictIterator(self, num_epochs, output_numpy, do_copy)

    def create_tuple_iterator(
        self, columns: Any = None, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> TupleIterator:
        """An iterator over lists of Tensors (or ndarrays) of some columns or all; else as that of dicts."""
        return TupleIterator(self, columns, num_epochs, output_numpy, do_copy)

    def reset(self) -> None:
        """Accepted without effect: here each iterator begins its epochs by itself."""

    # --- what it is like ----------------------------------------------------------------------------------------------

    def get_dataset_size(self) -> int:
        """The number of rows of an epoch.  If only counting tells, the pipeline runs through one (and this is kept)."""
        size = self._counted if self.size() is None else self.size()
        if size is None:
            if self.endless():
                raise RuntimeError(f"{self.chain()} has no end")
            size = self._counted = sum(1 for _ in self.rows(Run(frozen=True)))
        return size

    def get_batch_size(self) -> int:
        """The size of the last `batch` (of several datasets, the last counts); 1: there is none, -1: it varies."""
        return self.children[-1].get_batch_size() if self.children else 1

    def get_repeat_count(self) -> int:
        """The count of the last `repeat` of the pipeline; -1: without end; 1: there is none."""
        return self.children[-1].get_repeat_count() if self.children else 1

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    def output_shapes(self, estimate: bool = False) -> list[list[int]]:
        """The shapes of the first row, a list for each column.

        With `estimate`, all rows are looked at, and None stands where their lengths differ.
        """
        flag("estimate", estimate)
        rows = self.rows(Run(frozen=True))
        first = next(rows, None)
        if first is None:
            raise RuntimeError(f"{self.chain()} has no rows, so no shapes")
        shapes = [list(map(int, value.shape)) for value in first]
        if not estimate:
            return shapes
        for row in rows:
            for i, value in enumerate(row):
                if len(value.shape) != len(shapes[i]):
                    raise RuntimeError(f"column {self.columns[i]!r} has {len(shapes[i])} and {value.ndim} dimensions")
                both = builtins.zip(shapes[i], value.shape, strict=True)
                shapes[i] = [a if a == b else None for a, b in both]  # type: ignore[misc]
        return shapes

    def output_types(self) -> list[Any]:
        """The NumPy dtypes of the first row, one for each column."""
        first = next(self.rows(Run(frozen=True)), None)
        if first is None:
            raise RuntimeError(f"{self.chain()} has no rows, so no types")
        return [value.dtype for value in first]

    # --- pipelines ----------------------------------------------------------------------------------------------------

    def batch(
        self, batch_size: Any, drop_remainder: bool = False, num_parallel_workers: int | None = None, **kwargs: Any
    ) -> Dataset:
        """Rows put together: each column gets a new first dimension.  See `BatchDataset`."""
        return _MADE["batch"](self, batch_size, drop_remainder, num_parallel_workers, **kwargs)

    def padded_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: dict[str, Any] | None = None,
    ) -> Dataset:
        """Rows of different lengths put together, see `PaddedBatchDataset`."""
        workers(num_parallel_workers)
        return _MADE["padded_batch"](self, batch_size, drop_remainder, pad_info)

    def map(
        self,
        operations: Any,
        input_columns: Any = None,
        output_columns: Any = None,
        num_parallel_workers: int | None = None,
        **kwargs: Any,
    ) -> Dataset:
        """Each row through functions.  See `MapDataset`."""
        return _MADE["map"](self, operations, input_columns, output_columns, num_parallel_workers, **kwargs)

    def filter(
        self, predicate: Callable[..., Any], input_columns: Any = None, num_parallel_workers: int | None = None
    ) -> Dataset:
        """The rows for which `predicate` is true; it gets the values of `input_columns` (None: all) as ndarrays."""
        workers(num_parallel_workers)
        return _MADE["filter"](self, predicate, input_columns)

    def shuffle(self, buffer_size: int) -> Dataset:
        """The rows in another order in each epoch: each comes from a buffer of `buffer_size` rows, at random.

        A buffer as large as the dataset makes all orders equally likely.  ValueError: fewer than 2.
        """
        return _MADE["shuffle"](self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """`count` epochs as one; None or -1: without end."""
        return _MADE["repeat"](self, count)

    def take(self, count: int = -1) -> Dataset:
        """The first `count` rows, or all with -1."""
        return _MADE["take"](self, count)

    def skip(self, count: int) -> Dataset:
        """All but the first `count` rows."""
        return _MADE["skip"](self, count)

    def zip(self, datasets: Any) -> Dataset:
        """Rows with the columns of this and of other datasets, as many as the shortest has."""
        if not isinstance(datasets, Dataset | tuple):
            raise TypeError(f"`datasets` must be a dataset or a tuple of them, not {kind_of(datasets)}")
        return _MADE["zip"]((self, *(datasets if isinstance(datasets, tuple) else (datasets,))))

    def concat(self, datasets: Any) -> Dataset:
        """The rows of this, then those of other datasets with the same columns; also ``a + b``."""
        if not isinstance(datasets, Dataset | list):
            raise TypeError(f"`datasets` must be a dataset or a list of them, not {kind_of(datasets)}")
        return _MADE["concat"]([self, *(datasets if isinstance(datasets, list) else [datasets])])

    def __add__(self, other: Any) -> Dataset:
        return self.concat(other)

    def project(self, columns: Any) -> Dataset:
        """These columns only, in this order."""
        return _MADE["project"](self, columns)

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Other names for some columns."""
        return _MADE["rename"](self, input_columns, output_columns)

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """The dataset that a function returns for this one; TypeError if it is none."""
        if not callable(apply_func):
            raise TypeError(f"`apply_func` must be a function, not {kind_of(apply_func)}")
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"`apply_func` must return a dataset, not {kind_of(made)}")
        return made

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """The rows of the datasets that `func` makes of the rows, one behind the other.

        As in MindSpore the datasets are made now: `func` gets the columns of each row once, as ndarrays.  TypeError:
        no function, or one that returns no dataset; also if there are no rows.

        >>> from autodiff_compiler.dataset import NumpySlicesDataset
        >>> two = NumpySlicesDataset([[0, 1], [2, 3]], shuffle=False)
        >>> both = two.flat_map(lambda row: NumpySlicesDataset(row, shuffle=False))
        >>> [row[0].item() for row in both.create_tuple_iterator()]
        [0, 1, 2, 3]
        """
        if not callable(func):
            raise TypeError(f"`func` must be a function, not {kind_of(func)}")
        made = [func(*row) for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        for data in made:
            if not isinstance(data, Dataset):
                raise TypeError(f"`func` must return a dataset, not {kind_of(data)}")
        if not made:
            raise TypeError("`func` makes no dataset: there are no rows")
        return made[0].concat(made[1:]) if len(made) > 1 else made[0]

    def split(self, sizes: Any, randomize: bool = True) -> list[Dataset]:
        """Parts without common rows: `sizes` are numbers of rows, or shares that make up 1 and are rounded.

        The rows of the parts are the same in each epoch, chosen at random if `randomize`, and in the same order.
        TypeError, ValueError, RuntimeError: sizes that do not fit.
        """
        lengths = lengths_of(sizes, self.get_dataset_size())
        flag("randomize", randomize)
        seed = seed_of_a_run()
        starts = itertools.accumulate(lengths, initial=0)
        return [self._part(start, n, seed, randomize) for start, n in builtins.zip(starts, lengths, strict=False)]

    def _part(self, start: int, count: int, seed: int, randomize: bool) -> Dataset:
        """Some of the rows; a source with random access does not compute the others."""
        whole = _MADE["shuffle"](self, max(self.get_dataset_size(), 2)) if randomize else self
        return _MADE["split"](whole, seed).skip(start).take(count)


class Same(Dataset):
    """A dataset with the columns of its one child."""

    def __init__(self, child: Dataset) -> None:
        self.children = (child,)
        self.columns = child.columns

    @property
    def child(self) -> Dataset:
        return self.children[0]

    def size(self) -> int | None:
        return self.child.size()


def workers(num_parallel_workers: Any) -> None:
    """Checks `num_parallel_workers`, which has no effect."""
    if num_parallel_workers is not None:
        positive("num_parallel_workers", num_parallel_workers)


def check_dataset(dataset: Dataset) -> None:
    """TypeError for what is no dataset."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"a dataset is wanted, not {kind_of(dataset)}")
