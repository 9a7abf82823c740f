"""Batches for `Model`, of datasets and of any other iterable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..dataset.rows import lasts_once
from ..errors import kind_of
from ..nn.arguments import flag, integer, positive
from ..runtime.tensor import Tensor

__all__ = ["DatasetHelper"]


class DatasetHelper:
    """The batches of a dataset: each iteration is an epoch, and gives a tuple of Tensors for each batch.

    A dataset has MindSpore's `create_tuple_iterator`, or is anything that can be iterated over and gives batches: a
    tuple or list of columns, a dict of columns (their order counts, not their names), or a single column.  A column is
    a Tensor or what `Tensor` takes; texts stay texts.

    `epoch_num` is how many epochs are wanted.  `dataset_sink_mode` and `sink_size` say for other devices how batches
    get there; here they change nothing.

    TypeError: a dataset that cannot be iterated over.  ValueError: a dataset without batches, or, for several epochs,
    an iterator that cannot begin again (a generator; an `__iter__` of the user's may).

    >>> import numpy as np
    >>> for x, y in DatasetHelper([(np.ones(2), 1), {"data": [3.0], "label": 2}], dataset_sink_mode=False):
    ...     print(x, y)
    [1. 1.] 1
    [3.] 2
    """

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1) -> None:
        flag("dataset_sink_mode", dataset_sink_mode)
        if integer("sink_size", sink_size) < -1 or sink_size == 0:
            raise ValueError(f"`sink_size` must be -1 or positive, not {sink_size}")
        epochs = positive("epoch_num", epoch_num)
        self._dataset = dataset
        self.size = size_of(dataset)
        if self.size == 0:
            raise ValueError("the dataset has no batches")
        create = getattr(dataset, "create_tuple_iterator", None)
        if create is not None:
            self._source = create(num_epochs=epochs)
        elif not isinstance(dataset, Iterable) and not hasattr(dataset, "__getitem__"):
            raise TypeError(f"a dataset gives batches when it is iterated over, {kind_of(dataset)} does not")
        elif epochs > 1 and lasts_once(dataset):
            raise ValueError(
                f"{kind_of(dataset)} is spent after one epoch, and {epochs} are wanted: use a list, or an "
                "object whose `__iter__` begins again"
            )
        else:
            self._source = dataset

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._source:
            yield _columns(batch)

    def epoch_done(self) -> None:
        """Calls `reset` of the dataset, if it has one, after an epoch."""
        if self._source is not self._dataset and hasattr(self._dataset, "reset"):
            self._dataset.reset()


def size_of(dataset: Any) -> int | None:
    """The number of batches of an epoch, or None if the dataset does not know it."""
    if hasattr(dataset, "get_dataset_size"):
        size = dataset.get_dataset_size()
        return size if isinstance(size, int) and size >= 0 else None
    try:
        return len(dataset)
    except TypeError:
        return None


def _columns(batch: Any) -> tuple[Any, ...]:
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    return tuple([_tensors(column) for column in batch]) if isinstance(batch, tuple | list) else (_tensors(batch),)


def _tensors(column: Any) -> Any:
    """A column with Tensors for arrays and numbers."""
    if (
        column is None
        or isinstance(column, Tensor | str)
        or (isinstance(column, np.ndarray) and column.dtype.kind in "SU")
    ):
        return column
    if isinstance(column, tuple):
        return tuple([_tensors(part) for part in column])
    if isinstance(column, dict):
        return {name: _tensors(part) for name, part in column.items()}
    return Tensor(column)
