"""Segment reductions, the classes `Segment...`: over neighbouring rows of equal id; the last id tells their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.primitive import call
from ..primitives.data_sized import known_elements
from ..primitives.family import as_tensor
from ..runtime.tensor import Tensor
from .operation import constant, operation

__all__ = ["sparse_segment_mean"]

_HINT = "use unsorted_segment_sum and the like, which take the number of segments"


def _sizes(segment_ids: Any, what: str) -> Any:
    """How many rows each segment has; ValueError for numbers that decrease."""
    ids = known_elements(as_tensor(segment_ids, "segment_ids"), what, _HINT)
    if ids.ndim != 1 or (np.diff(ids) < 0).any() or (ids < 0).any():
        raise ValueError(f"segment_ids of {what} must be one row of numbers from 0 on that never decrease, not {ids}")
    return np.bincount(ids)


def _reduction(kind: str) -> Callable[[Any, Any], Any]:
    reduce = getattr(call, "unsorted_segment_" + ("sum" if kind == "mean" else kind))

    def run(input_x: Any, segment_ids: Any) -> Any:
        sizes = _sizes(segment_ids, f"Segment{kind.capitalize()}")
        found = reduce(input_x, segment_ids, len(sizes))
        column = sizes.reshape(-1, *[1] * (found.ndim - 1))
        if kind == "mean":
            return call.div(found, call.cast(Tensor(np.maximum(column, 1)), found.dtype))
        return call.where(Tensor(column > 0), found, 0) if kind in ("max", "min") else found

    return run


def sparse_segment_mean(x: Any, indices: Any, segment_ids: Any) -> Any:
    """Means of the rows of `x` at `indices` that share a number in `segment_ids`; 0 for a number without rows.

    The numbers never decrease, and the last says how many means there are: not in compiled code (DynamicShapeError).

    >>> sparse_segment_mean(Tensor([[1.0], [3.0], [5.0]]), Tensor([2, 0, 1]), Tensor([0, 2, 2])).tolist()
    [[5.0], [0.0], [2.0]]
    """
    return _reduction("mean")(call.gather(x, indices, 0), segment_ids)


_KINDS = {
    "max": "greatest rows",
    "mean": "means of rows",
    "min": "smallest rows",
    "prod": "products of rows",
    "sum": "sums of rows",
}
for _kind, _what in _KINDS.items():
    _name = f"Segment{_kind.capitalize()}"
    _doc = f"``{_name}()(x, segment_ids)``: {_what} by segment; ids never decrease.  Eager code only."
    globals()[_name] = operation(_name, constant(_reduction(_kind)), __name__, _doc)
    __all__.append(_name)
