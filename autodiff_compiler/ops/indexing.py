"""MindSpore's functional names for gathering, scattering, sorting and searching.

Nothing is written in place.  An index outside of the tensor raises IndexError; negative ones count from the end.
Results whose size depends on the data exist in eager code only: DynamicShapeError in compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.primitive import call

# fmt: off
__all__ = [
    "argsort", "argwhere", "bincount", "bucketize", "gather_d", "gather_elements", "gather_nd", "index_add",
    "index_fill", "index_select", "inplace_add", "inplace_sub", "inplace_update", "masked_select", "msort", "narrow",
    "nonzero", "scatter", "scatter_nd", "searchsorted", "select_scatter", "slice", "slice_scatter", "sort",
    "strided_slice", "take", "tensor_scatter_add", "tensor_scatter_div", "tensor_scatter_elements",
    "tensor_scatter_max", "tensor_scatter_min", "tensor_scatter_mul", "tensor_scatter_sub", "tensor_scatter_update",
    "top_k", "topk", "unique", "unique_consecutive", "unique_with_pad", "unsorted_segment_max", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sum",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ reading
def take(input: Any, index: Any) -> Any:
    """The elements of the flat tensor at the given positions."""
    return call.take(input, index)


def gather_elements(input: Any, dim: int, index: Any) -> Any:
    """Elements of `input` by position along one dimension: for `dim` 0, ``result[i, j] = input[index[i, j], j]``.

    >>> from autodiff_compiler import Tensor
    >>> gather_elements(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]
    """
    return call.gather_elements(input, dim, index)


def gather_d(x: Any, dim: int, index: Any) -> Any:
    """The older name of `gather_elements`."""
    return call.gather_elements(x, dim, index)


def gather_nd(input_x: Any, indices: Any) -> Any:
    """The elements (or slices) at the indices in the last dimension of `indices`.

    >>> from autodiff_compiler import Tensor
    >>> gather_nd(Tensor([[1, 2], [3, 4]]), Tensor([[0, 1], [1, 0]])).tolist()
    [2, 3]
    """
    return call.gather_nd(input_x, indices)


def index_select(input: Any, axis: int, index: Any) -> Any:
    """The slices along an axis at the positions in `index`, of one dimension.

    >>> from autodiff_compiler import Tensor
    >>> index_select(Tensor([[1, 2], [3, 4]]), 1, Tensor([1])).tolist()
    [[2], [4]]
    """
    return call.index_select(input, axis, index)


def narrow(input: Any, axis: int, start: Any, length: int) -> Any:
    """`length` elements along an axis from `start` on, which may be known only at run time."""
    return call.narrow(input, axis, start, length)


def slice(input_x: Any, begin: Any, size: Sequence[int]) -> Any:
    """`size` elements of every dimension from `begin` on, which may be known only at run time; -1 takes the rest.

    >>> from autodiff_compiler import Tensor
    >>> slice(Tensor([[1, 2, 3], [4, 5, 6]]), (0, 1), (-1, 2)).tolist()
    [[2, 3], [5, 6]]
    """
    return call.slice(input_x, begin, size)


def strided_slice(
    input_x: Any,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """``input_x[begin:end:strides]`` for the first dimensions; bit i of a mask changes the meaning of entry i.

    Begin and end masks leave the bound open, the ellipsis mask stands for `...`, the new-axis mask for None, and the
    shrink-axis mask takes the one element at `begin`.
    """
    return call.strided_slice(
        input_x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )


def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the mask holds, in one dimension; eager code only."""
    return call.masked_select(input, mask)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices (int64) of the nonzero elements, as rows or as a vector per dimension; eager code only.

    >>> from autodiff_compiler import Tensor
    >>> nonzero(Tensor([0.0, 2.0, 3.0])).tolist()
    [[1], [2]]
    """
    return call.nonzero(input, as_tuple)


def argwhere(input: Any) -> Any:
    """The indices (int64) of the nonzero elements, as rows; eager code only."""
    return call.nonzero(input)


def unique(input: Any) -> tuple[Any, Any]:
    """The distinct elements as they first appear, and the position of each element among them; eager code only.

    >>> from autodiff_compiler import Tensor
    >>> [x.tolist() for x in unique(Tensor([3, 1, 3]))]
    [[3, 1], [0, 1, 0]]
    """
    values, positions = call.unique(input)
    return values, positions


def unique_with_pad(x: Any, pad_num: Any) -> tuple[Any, Any]:
    """`unique` of a vector, padded with `pad_num` to its size; and the position of each element in it.

    Eager code only.
    """
    values, positions = call.unique_with_pad(x, pad_num)
    return values, positions


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) without repetitions of the one before; eager code only.

    On demand also the position of every element among them and how often each was repeated.
    """
    return call.unique_consecutive(input, return_inverse, return_counts, dim)


# ------------------------------------------------------------------------------------------------ order
def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Any, Any]:
    """The elements sorted along an axis, and their positions (int32); equal elements keep their order, nan is greatest.

    >>> from autodiff_compiler import Tensor
    >>> [x.tolist() for x in sort(Tensor([2, 1, 3]))]
    [[1, 2, 3], [1, 0, 2]]
    """
    values, order = call.sort(input_x, axis, descending)
    return values, order


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Any:
    """The positions (int32) that sort the elements along an axis; equal elements keep their order, nan is greatest."""
    return call.argsort(input, axis, descending)


def msort(input: Any) -> Any:
    """The elements sorted along the first axis."""
    return call.msort(input)


def topk(input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Any, Any]:
    """The k greatest (or smallest) elements along a dimension, sorted, and their positions (int32).

    >>> from autodiff_compiler import Tensor
    >>> [t.tolist() for t in topk(Tensor([1.0, 4.0, 3.0]), 2)]
    [[4.0, 3.0], [1, 2]]
    """
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


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Any:
    """The bucket (int32) of each element between ascending boundaries; with `right` a boundary is in the next one."""
    return call.bucketize(input, boundaries, right)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often (float32) each of the numbers 0, 1, ... occurs, or the sum of its weights.

    There are `minlength` results, or as many as the greatest number asks for.  In compiled code there are `minlength`;
    a greater number raises IndexError then.

    >>> from autodiff_compiler import Tensor
    >>> bincount(Tensor([0, 1, 1, 3])).tolist()
    [1.0, 2.0, 0.0, 1.0]
    """
    return call.bincount(input, weights, minlength)


# ------------------------------------------------------------------------------------------------ writing at places
def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Any:
    """The tensor with the elements (or slices) at the indices in the last dimension of `indices` replaced.

    >>> from autodiff_compiler import Tensor
    >>> tensor_scatter_update(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([7, 8])).tolist()
    [7, 2, 8]
    """
    return call.tensor_scatter_update(input_x, indices, updates)


def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """The tensor with `updates` added at the indices in the last dimension of `indices`; repeated positions add up."""
    return call.tensor_scatter_add(input_x, indices, updates)


def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Any:
    """The tensor with `updates` subtracted at the indices in the last dimension of `indices`."""
    return call.tensor_scatter_sub(input_x, indices, updates)


def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Any:
    """The tensor multiplied by `updates` at the indices in the last dimension of `indices`."""
    return call.tensor_scatter_mul(input_x, indices, updates)


def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Any:
    """The tensor divided by `updates` at the indices in the last dimension of `indices`; floats only."""
    return call.tensor_scatter_div(input_x, indices, updates)


def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Any:
    """The greater of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."""
    return call.tensor_scatter_max(input_x, indices, updates)


def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Any:
    """The smaller of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."""
    return call.tensor_scatter_min(input_x, indices, updates)


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    """Zeros of a shape with `updates` added at the indices in the last dimension of `indices`.

    >>> from autodiff_compiler import Tensor
    >>> scatter_nd(Tensor([[1], [3], [1]]), Tensor([1.0, 2.0, 5.0]), (4,)).tolist()
    [0.0, 6.0, 0.0, 2.0]
    """
    return call.scatter_nd(indices, updates, shape)


# ------------------------------------------------------------------------------------------------ writing along an axis
def scatter(input: Any, axis: int, index: Any, src: Any) -> Any:
    """The tensor with elements replaced by those of `src` (or one number) at the positions in `index` along an axis.

    >>> from autodiff_compiler import Tensor
    >>> scatter(Tensor([[1, 2], [3, 4]]), 1, Tensor([[1], [0]]), Tensor([[8], [9]])).tolist()
    [[1, 8], [9, 4]]
    """
    return call.scatter(input, axis, index, src)


def tensor_scatter_elements(input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Any:
    """The tensor with elements replaced by `updates`, or with reduction "add" raised by them, along an axis."""
    return call.tensor_scatter_elements(input_x, indices, updates, axis, reduction)


def index_add(x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> Any:
    """The tensor with the slices of `y` added at the positions in `indices` along an axis.

    `use_lock` and `check_index_bound` have no effect: additions do not race, and indices are always checked.
    """
    return call.index_add(x, indices, y, axis)


def index_fill(x: Any, axis: int, index: Any, value: Any) -> Any:
    """The tensor with the slices at the positions in `index` along an axis filled with one value."""
    return call.index_fill(x, axis, index, value)


def select_scatter(input: Any, src: Any, axis: int, index: Any) -> Any:
    """The tensor with the slice at one position along an axis replaced by `src`."""
    return call.select_scatter(input, src, axis, index)


def slice_scatter(
    input: Any, src: Any, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """The tensor with the slice start:end:step along an axis replaced by `src`."""
    return call.slice_scatter(input, src, axis, start, end, step)


def inplace_update(x: Any, v: Any, indices: Any) -> Any:
    """The tensor with the rows at the given positions replaced by those of `v`: a new tensor, despite the name."""
    return call.inplace_update(x, v, indices)


def inplace_add(x: Any, v: Any, indices: Any) -> Any:
    """The tensor with `v` added to the rows at the given positions: a new tensor, despite the name."""
    return call.scatter_add(x, _rows(indices), v)


def inplace_sub(x: Any, v: Any, indices: Any) -> Any:
    """The tensor with `v` subtracted from the rows at the given positions: a new tensor, despite the name."""
    return call.scatter_add(x, _rows(indices), call.neg(v))


def _rows(indices: Any) -> Any:
    return [indices] if isinstance(indices, int) else indices


# ------------------------------------------------------------------------------------------------ by segments
def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: int) -> Any:
    """Sums of the rows with one segment id, 0 where there is none; rows with negative ids do not count.

    >>> from autodiff_compiler import Tensor
    >>> unsorted_segment_sum(Tensor([1, 2, 3]), Tensor([1, 0, 1]), 2).tolist()
    [2, 4]
    """
    return call.unsorted_segment_sum(input_x, segment_ids, num_segments)


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: int) -> Any:
    """Products of the rows with one segment id, 1 where there is none; rows with negative ids do not count."""
    return call.unsorted_segment_prod(x, segment_ids, num_segments)


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: int) -> Any:
    """Greatest of the rows with one segment id, the dtype's least number where there is none."""
    return call.unsorted_segment_max(x, segment_ids, num_segments)


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: int) -> Any:
    """Smallest of the rows with one segment id, the dtype's greatest number where there is none."""
    return call.unsorted_segment_min(x, segment_ids, num_segments)
