"""MindSpore's operator classes for arrays: constants are given when the object is made, tensors when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.primitive import call
from ..ir.types import dim_product
from ..primitives.family import as_tensor, require
from ..surface.table import public
from . import array, basic, indexing
from .operation import constant, operation

__all__: list[str] = []


def _operation(name: str, make: Callable[..., Callable[..., Any]]) -> None:
    globals()[name] = operation(name, make, __name__)
    __all__.append(name)


# ------------------------------------------------------------------------------------------------ shapes
_operation("BroadcastTo", lambda shape: lambda x: call.broadcast_to(x, shape))
_operation("Cast", constant(lambda x, dtype: call.cast(x, dtype)))
_operation("Concat", lambda axis=0: lambda tensors: call.concat(tensors, axis))
_operation("Expand", constant(lambda x, shape: call.expand(x, shape)))
_operation("ExpandDims", constant(lambda x, axis: call.expand_dims(x, axis)))
_operation("Flatten", constant(basic.flatten))
_operation("IdentityN", constant(lambda x: tuple([call.mul(part, 1) for part in x])))
_operation("DataFormatDimMap", lambda src_format="NHWC", dst_format="NCHW": _places_of_dims(src_format, dst_format))
_operation("DataFormatVecPermute", lambda src_format="NHWC", dst_format="NCHW": _reordered(src_format, dst_format))
_operation("Meshgrid", lambda indexing="xy": lambda inputs: public.meshgrid(*inputs, indexing=indexing))
_operation("MirrorPad", lambda mode="REFLECT": lambda x, paddings: call.mirror_pad(x, paddings, mode))
_operation("MoveTo", constant(lambda input, to="CPU", blocking=True: _same_device(input, to)))
_operation("Pack", lambda axis=0: lambda tensors: call.stack(tensors, axis))
_operation("Pad", lambda paddings: lambda x: _padded(x, paddings))
_operation("PadV3", lambda mode="constant", paddings_contiguous=True: _pad_of_pairs(mode, paddings_contiguous))
_operation("Padding", lambda pad_dim_size=8: lambda x: array.padding(x, pad_dim_size))
_operation("ParallelConcat", constant(lambda values: call.concat(values, 0)))
_operation("Rank", constant(basic.rank))
_operation("Reshape", constant(lambda x, shape: call.reshape(x, shape)))
_operation(
    "ReverseSequence",
    lambda seq_dim, batch_dim=0: lambda x, lengths: call.reverse_sequence(x, lengths, seq_dim, batch_dim),
)
_operation("ReverseV2", lambda axis: lambda x: call.flip(x, axis))
_operation("Roll", lambda shifts, dims=None: lambda x: call.roll(x, shifts, dims))
_operation("Shape", constant(basic.shape))
_operation("Size", constant(public.size))
_operation("Split", lambda axis=0, output_num=1: lambda x: _equal_parts(x, axis, output_num))
_operation("SplitV", lambda size_splits, split_dim, num_split: lambda x: _parts(x, size_splits, split_dim, num_split))
_operation("Squeeze", lambda axis=(): lambda x: call.squeeze(x, None if axis == () else axis))
_operation("Stack", lambda axis=0: lambda tensors: call.stack(tensors, axis))
_operation("Tile", constant(lambda x, multiples: call.tile(x, multiples)))
_operation("Transpose", constant(lambda x, order: call.transpose(x, order)))
_operation("TransposeExtView", constant(lambda x, dim0, dim1: call.swapaxes(x, dim0, dim1)))
_operation("TransposeView", constant(lambda x, order: call.transpose(x, order)))
_operation("Tril", lambda diagonal=0: lambda x: call.tril(x, diagonal))
_operation("Triu", lambda diagonal=0: lambda x: call.triu(x, diagonal))
_operation("Unpack", lambda axis=0: lambda x: _slices(x, axis, None))
_operation("Unstack", lambda axis=0, num=None: lambda x: _slices(x, axis, num))


def _diagonal_of_pairs(x: Any) -> Any:
    """``x[i, j, ..., i, j, ...]``: the diagonal of a tensor of shape [*sizes, *sizes]."""
    x = as_tensor(x)
    sizes = x.shape[: x.ndim // 2]
    require(x.ndim > 0 and x.shape == sizes + sizes, f"DiagPart takes sizes twice over, not {list(x.shape)}")
    total = dim_product(sizes)
    return call.reshape(call.diagonal(call.reshape(x, (total, total))), sizes)


def _order(source: str, target: str) -> list[int]:
    if sorted(source) != sorted(target):
        raise ValueError(f"{source!r} and {target!r} are no orders of the same dimensions")
    return [source.index(dim) for dim in target]


def _places_of_dims(source: str, target: str) -> Callable[..., Any]:
    order = _order(source, target)
    return lambda x: call.cast(call.gather(np.array(order), call.mod(x, len(order)), 0), as_tensor(x).dtype)


def _reordered(source: str, target: str) -> Callable[..., Any]:
    """One number per dimension (or spatial dimension) reordered from one layout to another, such as NCHW to NHWC."""
    order = _order(source, target)
    spatial = _order(*[form.replace("N", "").replace("C", "") for form in (source, target)])

    def run(x: Any) -> Any:
        places = order if as_tensor(x).shape[0] == len(order) else spatial
        return call.gather(x, np.array(places), 0)

    return run


def _unraveled(indices: Any, dims: Any) -> Any:
    """Flat indices as indices of a tensor of these sizes, one in each row."""
    dims = as_tensor(dims)
    steps = call.floordiv(call.flip(call.cumprod(call.flip(dims, 0), 0), 0), dims)
    return call.mod(call.floordiv(call.expand_dims(indices, -1), steps), dims)


def _same_device(x: Any, to: str) -> Any:
    """The same tensor: there is one device."""
    if to.upper() not in ("CPU", "ASCEND"):
        raise ValueError(f"`to` must be 'CPU' or 'Ascend', not {to!r}")
    return x


def _padded(x: Any, paddings: Any) -> Any:
    x = as_tensor(x)
    if len(paddings) != x.ndim:
        raise ValueError(f"paddings has {len(paddings)} pairs for a tensor of {x.ndim} dimensions")
    return call.pad(x, [width for before, after in reversed(paddings) for width in (before, after)])


def _pad_of_pairs(mode: str, contiguous: bool) -> Callable[..., Any]:
    def run(x: Any, paddings: Any, value: Any = None) -> Any:
        widths = list(paddings)
        if not contiguous:  # all that go before, then all that go after
            half = len(widths) // 2
            widths = [w for pair in zip(widths[:half], widths[half:], strict=True) for w in pair]
        return public.pad(x, widths, "replicate" if mode == "edge" else mode, value)

    return run


def _parts(x: Any, sizes: Any, axis: int, count: int) -> Any:
    if len(sizes) != count:
        raise ValueError(f"size_splits has {len(sizes)} sizes, not num_split={count}")
    sizes, whole = list(sizes), as_tensor(x).shape[axis]
    if -1 in sizes:
        sizes[sizes.index(-1)] = whole - sum(sizes) - 1
    return public.split(x, sizes, axis)


def _equal_parts(x: Any, axis: int, count: int) -> Any:
    parts = call.tensor_split(x, count, axis)
    sizes = [part.shape[axis] for part in parts]
    if sizes[0] != sizes[-1]:
        raise ValueError(f"{sum(sizes)} elements of axis {axis} cannot be split into {count} equal parts")
    return parts


def _slices(x: Any, axis: int, count: int | None) -> Any:
    slices = call.unbind(x, axis)
    if count is not None and len(slices) != count:
        raise ValueError(f"axis {axis} has {len(slices)} slices, not num={count}")
    return slices


# ------------------------------------------------------------------------------------------------ creation
_operation("Eye", constant(lambda n, m, dtype: call.eye(n, m, dtype)))
_operation("Fill", constant(public.fill))
_operation("FillDiagonal", lambda fill_value, wrap=False: lambda x: call.fill_diagonal(x, fill_value, wrap))
_operation("FillV2", constant(lambda shape, value: call.full(shape, value, as_tensor(value).dtype)))
_operation("Fills", constant(public.fills))
_operation("LinSpace", constant(lambda start, stop, num: call.linspace(start, stop, num)))
_operation("OneHot", lambda axis=-1: lambda x, depth, on, off: public.one_hot(x, depth, on, off, axis))
_operation("Ones", constant(lambda shape, dtype: call.ones(shape, dtype)))
_operation("OnesLike", constant(lambda x: call.ones_like(x)))
_operation("Range", lambda maxlen=1000000: lambda start, end, step: array.range(start, end, step, maxlen))
_operation(
    "TrilIndices", lambda row, col, offset=0, dtype="int32": lambda: public.tril_indices(row, col, offset, dtype=dtype)
)
_operation(
    "TriuIndices", lambda row, col, offset=0, dtype="int32": lambda: public.triu_indices(row, col, offset, dtype=dtype)
)
_operation("Zeros", constant(lambda shape, dtype: call.zeros(shape, dtype)))
_operation("ZerosLike", constant(lambda x: call.zeros_like(x)))

# ------------------------------------------------------------------------------------------------ reading
_operation("Bucketize", lambda boundaries: lambda x: call.cast(public.bucketize(x, boundaries, right=True), "int32"))
_operation("DiagPart", constant(lambda x: _diagonal_of_pairs(x)))
_operation("EmbeddingLookup", constant(lambda params, indices, offset: _embedding_rows(params, indices, offset)))
_operation("Gather", lambda batch_dims=0: lambda x, index, axis: call.gather(x, index, axis, batch_dims))
_operation("GatherD", constant(public.gather_d))
_operation("GatherNd", constant(public.gather_nd))
_operation("GatherV2", constant(lambda x, index, axis: call.gather(x, index, axis, 0)))
_operation("InvertPermutation", constant(lambda x: _inverse_permutation(x)))
_operation(
    "LowerBound", lambda out_type="int32": lambda x, values: call.cast(indexing.searchsorted(x, values), out_type)
)
_operation("MaskedFill", constant(lambda x, mask, value: call.masked_fill(x, mask, value)))
_operation("MaskedSelect", constant(public.masked_select))
_operation("NonZero", constant(public.nonzero))
_operation(
    "SearchSorted",
    lambda dtype="int64", right=False: (
        lambda sequence, values: call.cast(indexing.searchsorted(sequence, values, right=right), dtype)
    ),
)
_operation("NthElement", lambda reverse=False: lambda x, n: _nth(x, n, reverse))
_operation("Select", constant(lambda condition, x, y: call.where(condition, x, y)))
_operation("Slice", constant(public.slice))
_operation("Sort", lambda axis=-1, descending=False: lambda x: indexing.sort(x, axis, descending))
_operation(
    "StridedSlice",
    lambda begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0: (
        lambda x, begin, end, strides: call.strided_slice(
            x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
        )
    ),
)
_operation("TopK", lambda sorted=True: lambda x, k: indexing.topk(x, k, sorted=sorted))
_operation("Unique", constant(indexing.unique))
_operation(
    "UniqueConsecutive",
    lambda return_inverse=False, return_counts=False, dim=None: (
        lambda x: public.unique_consecutive(x, return_inverse, return_counts, dim)
    ),
)
_operation("UniqueWithPad", constant(indexing.unique_with_pad))
_operation(
    "UpperBound",
    lambda out_type="int32": lambda x, values: call.cast(indexing.searchsorted(x, values, right=True), out_type),
)


def _embedding_rows(params: Any, indices: Any, offset: int) -> Any:
    """Rows of `params` by index - offset; zeros where that is out of range."""
    params = as_tensor(params, "params")
    at = call.sub(indices, offset)
    inside = call.logical_and(call.greater_equal(at, 0), call.less(at, params.shape[0]))
    rows = call.gather(params, call.where(inside, at, call.zeros_like(at)), 0, 0)
    inside = call.reshape(inside, (*inside.shape, *[1] * (params.ndim - 1)))
    return call.where(inside, rows, call.zeros_like(rows))


def _inverse_permutation(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return tuple([list(x).index(i) for i in range(len(x))])
    x = as_tensor(x)
    return call.cast(call.argsort(x), x.dtype)


def _nth(x: Any, n: int, reverse: bool) -> Any:
    """The n-th smallest of the last dimension, or the n-th greatest."""
    values, _ = indexing.sort(x, -1, reverse)
    return call.squeeze(call.narrow(values, -1, n, 1), -1)


# ------------------------------------------------------------------------------------------------ writing
_operation(
    "IndexAdd", lambda axis, use_lock=True, check_index_bound=True: lambda x, i, y: call.index_add(x, i, y, axis)
)
_operation("IndexFill", constant(public.index_fill))
_operation("InplaceAdd", lambda indices: lambda x, v: indexing.inplace_add(x, v, indices))
_operation("InplaceSub", lambda indices: lambda x, v: indexing.inplace_sub(x, v, indices))
_operation("IndexPut", lambda accumulate=0: lambda x1, x2, indices: call.index_put(x1, indices, x2, bool(accumulate)))
_operation("InplaceUpdate", lambda indices: lambda x, v: public.inplace_update(x, v, indices))
_operation("InplaceUpdateV2", constant(lambda x, indices, v: public.inplace_update(x, v, indices)))
_operation("MaskedScatter", constant(lambda x, mask, updates: call.masked_scatter(x, mask, updates)))
_operation("ScatterAddWithAxis", lambda axis=0: lambda x, i, u: public.tensor_scatter_elements(x, i, u, axis, "add"))
_operation("ScatterNd", constant(public.scatter_nd))
_operation("TensorScatterAdd", constant(public.tensor_scatter_add))
_operation("TensorScatterDiv", constant(public.tensor_scatter_div))
_operation(
    "TensorScatterElements",
    lambda axis=0, reduction="none": lambda x, i, u: public.tensor_scatter_elements(x, i, u, axis, reduction),
)
_operation("TensorScatterMax", constant(public.tensor_scatter_max))
_operation("TensorScatterMin", constant(public.tensor_scatter_min))
_operation("TensorScatterMul", constant(public.tensor_scatter_mul))
_operation("TensorScatterSub", constant(public.tensor_scatter_sub))
_operation("TensorScatterUpdate", constant(public.tensor_scatter_update))
_operation("UnsortedSegmentMax", constant(public.unsorted_segment_max))
_operation("UnsortedSegmentMin", constant(public.unsorted_segment_min))
_operation("UnsortedSegmentProd", constant(public.unsorted_segment_prod))
_operation("UnsortedSegmentSum", constant(public.unsorted_segment_sum))
_operation("UnravelIndex", constant(_unraveled))
