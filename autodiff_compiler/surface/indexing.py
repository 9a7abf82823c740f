"""Reading and writing at places, sorting and searching."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("take(input, index)", mint="take", doc="The elements of the flat tensor at the given positions."),
    Row("gather_elements(input, dim: int, index)", doc="""
    Elements of `input` by position along one dimension: for `dim` 0, ``result[i, j] = input[index[i, j], j]``.

    >>> ops.gather_elements(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]
    """),
    Row("gather_d(x, dim: int, index)", op="GatherD", calls="call.gather_elements(x, dim, index)",
        doc="The older name of `gather_elements`."),
    Row("gather_nd(input_x, indices)", op="GatherNd", doc="""
    The elements (or slices) at the indices in the last dimension of `indices`.

    >>> ops.gather_nd(Tensor([[1, 2], [3, 4]]), Tensor([[0, 1], [1, 0]])).tolist()
    [2, 3]
    """),
    Row("index_select(input, axis: int, index)", mint="index_select(input, dim: int, index)", doc="""
    The slices along an axis at the positions in `index`, of one dimension.

    >>> ops.index_select(Tensor([[1, 2], [3, 4]]), 1, Tensor([1])).tolist()
    [[2], [4]]
    """),
    Row("narrow(input, axis: int, start, length: int)", mint="narrow(input, dim: int, start: int, length: int)",
        doc="`length` elements along an axis from `start` on, which may be known only at run time."),
    Row("slice(input_x, begin, size: Sequence[int])", op="Slice", doc="""
    `size` elements of every dimension from `begin` on, which may be known only at run time; -1 takes the rest.

    >>> ops.slice(Tensor([[1, 2, 3], [4, 5, 6]]), (0, 1), (-1, 2)).tolist()
    [[2, 3], [5, 6]]
    """),
    Row("strided_slice(input_x, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], begin_mask=0, "
        "end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)", doc="""
    ``input_x[begin:end:strides]`` for the first dimensions; bit i of a mask changes the meaning of entry i.

    Begin and end masks leave the bound open, the ellipsis mask stands for `...`, the new-axis mask for None, and the
    shrink-axis mask takes the one element at `begin`.
    """),
    Row("masked_select(input, mask)", op="MaskedSelect", mint="masked_select",
        doc="The elements where the mask holds, in one dimension."),
    Row("nonzero(input, *, as_tuple=False)", op="NonZero",
        calls="call.nonzero(input, as_tuple)", mint="nonzero", doc="""
    The indices (int64) of the nonzero elements, as rows or as a vector per dimension.

    >>> ops.nonzero(Tensor([0.0, 2.0, 3.0])).tolist()
    [[1], [2]]
    """),
    Row("argwhere(input)", calls="call.nonzero(input)",
        doc="The indices (int64) of the nonzero elements, as rows."),
    Row("unique_consecutive(input, return_inverse=False, return_counts=False, dim: int | None = None)",
        mint="unique_consecutive", doc="""
    The elements (or slices along `dim`) without repetitions of the one before.

    On demand also the position of every element among them and how often each was repeated.
    """),
    Row("argsort(input, axis=-1, descending=False)",
        doc="The positions (int32) that sort the elements along an axis; equal elements keep their order, nan is "
        "greatest."),
    Row("msort(input)", doc="The elements sorted along the first axis."),
    Row("bucketize(input, boundaries, *, right=False)", calls="call.bucketize(input, boundaries, right)",
        doc="The bucket (int32) of each element between ascending boundaries; with `right` a boundary is in the "
        "next one."),
    Row("bincount(input, weights=None, minlength=0)", mint="bincount", doc="""
    How often (float32) each of the numbers 0, 1, ... occurs, or the sum of its weights.

    There are `minlength` results, or as many as the greatest number asks for.  In compiled code there are `minlength`;
    a greater number raises IndexError then.

    >>> ops.bincount(Tensor([0, 1, 1, 3])).tolist()
    [1.0, 2.0, 0.0, 1.0]
    """),
    Row("tensor_scatter_update(input_x, indices, updates)", op="TensorScatterUpdate", doc="""
    The tensor with the elements (or slices) at the indices in the last dimension of `indices` replaced.

    >>> ops.tensor_scatter_update(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([7, 8])).tolist()
    [7, 2, 8]
    """),
    Row("tensor_scatter_add(input_x, indices, updates)", op="TensorScatterAdd",
        doc="The tensor with `updates` added at the indices in the last dimension of `indices`; repeated positions "
        "add up."),
    Row("tensor_scatter_sub(input_x, indices, updates)", op="TensorScatterSub",
        doc="The tensor with `updates` subtracted at the indices in the last dimension of `indices`."),
    Row("tensor_scatter_mul(input_x, indices, updates)", op="TensorScatterMul",
        doc="The tensor multiplied by `updates` at the indices in the last dimension of `indices`."),
    Row("tensor_scatter_div(input_x, indices, updates)", op="TensorScatterDiv",
        doc="The tensor divided by `updates` at the indices in the last dimension of `indices`; floats only."),
    Row("tensor_scatter_max(input_x, indices, updates)", op="TensorScatterMax",
        doc="The greater of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."),
    Row("tensor_scatter_min(input_x, indices, updates)", op="TensorScatterMin",
        doc="The smaller of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."),
    Row("scatter_nd(indices, updates, shape)", op="ScatterNd", doc="""
    Zeros of a shape with `updates` added at the indices in the last dimension of `indices`.

    >>> ops.scatter_nd(Tensor([[1], [3], [1]]), Tensor([1.0, 2.0, 5.0]), (4,)).tolist()
    [0.0, 6.0, 0.0, 2.0]
    """),
    Row("scatter(input, axis: int, index, src)", mint="scatter(input, dim: int, index, src)", doc="""
    The tensor with elements replaced by those of `src` (or one number) at the positions in `index` along an axis.

    >>> ops.scatter(Tensor([[1, 2], [3, 4]]), 1, Tensor([[1], [0]]), Tensor([[8], [9]])).tolist()
    [[1, 8], [9, 4]]
    """),
    Row("tensor_scatter_elements(input_x, indices, updates, axis=0, reduction='none')",
        doc='The tensor with elements replaced by `updates`, or with reduction "add" raised by them, along an axis.'),
    Row("index_add(x, indices, y, axis: int, use_lock=True, check_index_bound=True)",
        calls="call.index_add(x, indices, y, axis)", doc="""
    The tensor with the slices of `y` added at the positions in `indices` along an axis.

    `use_lock` and `check_index_bound` have no effect: additions do not race, and indices are always checked.
    """),
    Row("index_fill(x, axis: int, index, value)", op="IndexFill",
        doc="The tensor with the slices at the positions in `index` along an axis filled with one value."),
    Row("select_scatter(input, src, axis: int, index)",
        doc="The tensor with the slice at one position along an axis replaced by `src`."),
    Row("slice_scatter(input, src, axis=0, start: int | None = None, end: int | None = None, step=1)",
        doc="The tensor with the slice start:end:step along an axis replaced by `src`."),
    Row("inplace_update(x, v, indices)",
        doc="The tensor with the rows at the given positions replaced by those of `v`: a new tensor, despite the "
        "name."),
    Row("unsorted_segment_sum(input_x, segment_ids, num_segments: int)", op="UnsortedSegmentSum", doc="""
    Sums of the rows with one segment id, 0 where there is none; rows with negative ids do not count.

    >>> ops.unsorted_segment_sum(Tensor([1, 2, 3]), Tensor([1, 0, 1]), 2).tolist()
    [2, 4]
    """),
    Row("unsorted_segment_prod(x, segment_ids, num_segments: int)", op="UnsortedSegmentProd",
        doc="Products of the rows with one segment id, 1 where there is none; rows with negative ids do not count."),
    Row("unsorted_segment_max(x, segment_ids, num_segments: int)", op="UnsortedSegmentMax",
        doc="Greatest of the rows with one segment id, the dtype's least number where there is none."),
    Row("unsorted_segment_min(x, segment_ids, num_segments: int)", op="UnsortedSegmentMin",
        doc="Smallest of the rows with one segment id, the dtype's greatest number where there is none."),
)
