"""MindSpore's functional names for gathering, scattering, sorting and searching.

Nothing is written in place.  An index outside of the tensor raises IndexError; negative ones count from the end.
The sizes of some results depend on the data: in compiled code, too.
"""

from __future__ import annotations

from typing import Any, Never

from ..ir.primitive import call
from ..keywords import answering, refuse_unknown

__all__ = ["inplace_add", "inplace_sub", "searchsorted", "sort", "top_k", "topk", "unique", "unique_with_pad"]


# ------------------------------------------------------------------------------------------------ reading


def unique(input: Any) -> tuple[Any, Any]:
    """The distinct elements as they first appear, and the position of each element among them.

    >>> from autodiff_compiler import Tensor
    >>> [x.tolist() for x in unique(Tensor([3, 1, 3]))]
    [[3, 1], [0, 1, 0]]
    """
    values, positions = call.unique(input)
    return values, positions


def unique_with_pad(x: Any, pad_num: Any) -> tuple[Any, Any]:
    """`unique` of a vector, padded with `pad_num` to its size; and the position of each element in it."""
    values, positions = call.unique_with_pad(x, pad_num)
    return values, positions


# ------------------------------------------------------------------------------------------------ order
@answering
def sort(input_x: Any, axis: int = -1, descending: bool = False, **unknown: Never) -> tuple[Any, Any]:
    """The elements sorted along an axis, and their positions (int32); equal elements keep their order, nan is greatest.

    >>> from autodiff_compiler import Tensor
    >>> [x.tolist() for x in sort(Tensor([2, 1, 3]))]
    [[1, 2, 3], [1, 0, 2]]
    """
    if unknown:
        refuse_unknown(sort, unknown)
    values, order = call.sort(input_x, axis, descending)
    return values, order


@answering
def topk(
    input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True, **unknown: Never
) -> tuple[Any, Any]:
    """The k greatest (or smallest) elements along a dimension, sorted, and their positions (int32).

    >>> from autodiff_compiler import Tensor
    >>> [t.tolist() for t in topk(Tensor([1.0, 4.0, 3.0]), 2)]
    [[4.0, 3.0], [1, 2]]
    """
    if unknown:
        refuse_unknown(topk, unknown)
    values, order = call.topk(input, k, dim, largest, sorted)
    return values, order


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Any, Any]:
    """The k greatest elements along the last dimension, sorted, and their positions (int32)."""
    return topk(input_x, k, sorted=sorted)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Where (int64) values belong in ascending sequences along the last dimension; `right`: after equal elements.

    >>> from autodiff_compiler import Tensor
    >>> searchsorted(Tensor([1, 3, 5]), Tensor([0, 3, 6])).tolist()
    [0, 1, 3]
    """
    if right and side == "left":
        raise ValueError("right=True and side='left' contradict each other")
    found = call.searchsorted(sorted_sequence, values, "right" if right else side or "left", sorter)
    return call.cast(found, "int32") if out_int32 else found


# ------------------------------------------------------------------------------------------------ writing along an axis


def inplace_add(x: Any, v: Any, indices: Any) -> Any:
    """The tensor with `v` added to the rows at the given positions: a new tensor, despite the name."""
    return call.scatter_add(x, _rows(indices), v)


def inplace_sub(x: Any, v: Any, indices: Any) -> Any:
    """The tensor with `v` subtracted from the rows at the given positions: a new tensor, despite the name."""
    return call.scatter_add(x, _rows(indices), call.neg(v))


def _rows(indices: Any) -> Any:
    return [indices] if isinstance(indices, int) else indices
