"""`mint`: the functions that call a primitive in a way of their own.

Those that only name the parameters of a function of `ops` otherwise stand in its row.
"""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("amax(input, dim=(), keepdim=False)", "The largest element along dimensions; of all elements for ().",
        "call.amax(input, all_if_none(dim), keepdim)"),
    Row("amin(input, dim=(), keepdim=False)", "The smallest element along dimensions; of all elements for ().",
        "call.amin(input, all_if_none(dim), keepdim)"),
    Row("argmin(input, dim=None, keepdim=False)",
        "The index (int64) of the smallest element along a dimension; without one, in the flat tensor.",
        "call.cast(call.argmin(input, dim, keepdim), int64)"),
    Row("count_nonzero(input, dim=None)", "The number of nonzero elements (int64) over dimensions, or over all.",
        "call.count_nonzero(input, all_if_none(dim), False, int64)"),
    Row("cat(tensors, dim=0)", "Tensors concatenated along a dimension.", "call.concat(tensors, dim)"),
    Row("concat(tensors, dim=0)", "Tensors concatenated along a dimension.", "call.concat(tensors, dim)"),
    Row("clone(input)", "The same elements in a Tensor of its own; gradients pass.", "call.clone(input)"),
    Row("transpose(input, dim0: int, dim1: int)", "Two dimensions exchanged.", "call.swapaxes(input, dim0, dim1)"),
    Row("repeat_interleave(input, repeats, dim=None, *, output_size=None)",
        "Each element of the flat tensor, or each slice along a dimension, repeated.",
        "call.repeat_interleave(input, repeats, dim)"),
    Row("gather(input, dim: int, index)",
        "Elements by position along one dimension: for `dim` 0, ``result[i, j] = input[index[i, j], j]``.",
        "call.gather_elements(input, dim, index)"),
    Row("scatter_add(input, dim: int, index, src)",
        "`input` with the elements of `src` added at the positions in `index` along a dimension.",
        "call.tensor_scatter_elements(input, index, src, dim, 'add')"),
)
