"""The base classes of metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.tensor import Tensor

__all__ = ["Array", "Averaged", "Metric", "is_one_hot", "rearrange_inputs"]

Array = np.ndarray[Any, Any]


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """An `update` that gets its inputs in the order that `set_indexes` has chosen.

    >>> class Difference(Metric):
    ...     def clear(self):
    ...         self.total = 0.0
    ...     @rearrange_inputs
    ...     def update(self, a, b):
    ...         self.total += float(np.sum(self._convert_data(a) - self._convert_data(b)))
    ...     def eval(self):
    ...         return self.total
    >>> metric = Difference().set_indexes([2, 0])
    >>> metric.clear()
    >>> metric.update([1.0], [5.0], [4.0])
    >>> metric.eval()
    3.0
    """

    @functools.wraps(func)
    def update(self: Metric, *inputs: Any) -> Any:
        return func(self, *(inputs if self.indexes is None else [inputs[i] for i in self.indexes]))

    return update


class Metric:
    """Base of metrics: a subclass writes `clear`, `update` (usually with `rearrange_inputs`) and `eval`."""

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """The positions of the inputs of `update` that are used, in this order; None: all."""
        return self._indexes

    def set_indexes(self, indexes: Sequence[int]) -> Metric:
        """Chooses inputs of `update` by position, and returns the metric; ValueError: no list of ints."""
        if not isinstance(indexes, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in indexes):
            raise ValueError(f"`indexes` must be a list of ints, not {indexes!r}")
        self._indexes = indexes
        return self

    def clear(self) -> None:
        """Forgets the batches accumulated so far."""
        raise NotImplementedError(f"{type(self).__name__} has no `clear`")

    def update(self, *inputs: Any) -> None:
        """Accumulates a batch."""
        raise NotImplementedError(f"{type(self).__name__} has no `update`")

    def eval(self) -> Any:
        """The value for all batches since `clear`."""
        raise NotImplementedError(f"{type(self).__name__} has no `eval`")

    def _convert_data(self, data: Any) -> Array:
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, list | np.ndarray):
            return np.asarray(data)
        raise TypeError(f"a metric takes a Tensor, a list or an ndarray, not a {type(data).__name__}")

    def _pair(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        if len(inputs) != 2:
            raise ValueError(f"{type(self).__name__} takes predictions and labels, not {len(inputs)} inputs")
        return self._convert_data(inputs[0]), self._convert_data(inputs[1])

    def _known(self, count: float) -> float:
        if not count:
            raise RuntimeError(f"{type(self).__name__} has seen no samples yet: call `update` first")
        return count


class Averaged(Metric):
    """A metric that is a sum divided by a count; `update` adds to both."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._count = 0.0, 0

    def eval(self) -> float:
        """The sum divided by the count; RuntimeError before the first `update`."""
        return self._sum / self._known(self._count)


def is_one_hot(y: Array) -> bool:
    """Whether labels are ones among zeros, one in each row."""
    return y.ndim > 1 and bool(np.isin(y, (0, 1)).all()) and bool((y.sum(1) == 1).all())
