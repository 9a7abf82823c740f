"""MindSpore's operator classes for arrays: constants are given when the object is made, tensors when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor
from . import array, functional, indexing

__all__: list[str] = []


def operation(name: str, make: Callable[..., Callable[..., Any]], module: str) -> type:
    """A class whose constructor takes the arguments of `make` and whose objects are called as its result."""

    def init(self: Any, *args: Any, **named: Any) -> None:
        self._run = make(*args, **named)

    def apply(self: Any, *operands: Any) -> Any:
        return self._run(*operands)

    make.__qualname__ = name  # what a TypeError about the constants says
    doc = f"`{name}` as an object: constants are given when it is made, tensors when it is called."
    return type(name, (), {"__init__": init, "__call__": apply, "__module__": module, "__doc__": doc})


def _operation(name: str, make: Callable[..., Callable[..., Any]]) -> None:
    globals()[name] = operation(name, make, __name__)
    __all__.append(name)


def _constant(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """The maker of a class without constants."""
    return lambda: function


# ------------------------------------------------------------------------------------------------ shapes
_operation("BroadcastTo", lambda shape: lambda x: call.broadcast_to(x, shape))
_operation("Cast", _constant(lambda x, dtype: call.cast(x, dtype)))
_operation("Concat", lambda axis=0: lambda tensors: call.concat(tensors, axis))
_operation("ExpandDims", _constant(lambda x, axis: call.expand_dims(x, axis)))
_operation("Flatten", _constant(functional.flatten))
_operation("Meshgrid", lambda indexing="xy": lambda inputs: array.meshgrid(*inputs, indexing=indexing))
_operation("MirrorPad", lambda mode="REFLECT": lambda x, paddings: call.mirror_pad(x, paddings, mode))
_operation("Pad", lambda paddings: lambda x: _padded(x, paddings))
_operation("Rank", _constant(functional.rank))
_operation("Reshape", _constant(lambda x, shape: call.reshape(x, shape)))
_operation(
    "ReverseSequence",
    lambda seq_dim, batch_dim=0: lambda x, lengths: call.reverse_sequence(x, lengths, seq_dim, batch_dim),
)
_operation("ReverseV2", lambda axis: lambda x: call.flip(x, axis))
_operation("Roll", lambda shift, axis: lambda x: call.roll(x, shift, axis))
_operation("Shape", _constant(functional.shape))
_operation("Size", _constant(array.size))
_operation("Split", lambda axis=0, output_num=1: lambda x: _equal_parts(x, axis, output_num))
_operation("Squeeze", lambda axis=(): lambda x: call.squeeze(x, None if axis == () else axis))
_operation("Stack", lambda axis=0: lambda tensors: call.stack(tensors, axis))
_operation("Tile", _constant(lambda x, multiples: call.tile(x, multiples)))
_operation("Transpose", _constant(lambda x, order: call.transpose(x, order)))
_operation("Tril", lambda diagonal=0: lambda x: call.tril(x, diagonal))
_operation("Triu", lambda diagonal=0: lambda x: call.triu(x, diagonal))
_operation("Unstack", lambda axis=0, num=None: lambda x: _slices(x, axis, num))


def _padded(x: Any, paddings: Any) -> Any:
    x = as_tensor(x)
    if len(paddings) != x.ndim:
        raise ValueError(f"paddings has {len(paddings)} pairs for a tensor of {x.ndim} dimensions")
    return call.pad(x, [width for before, after in reversed(paddings) for width in (before, after)])


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
_operation("Eye", _constant(lambda n, m, dtype: call.eye(n, m, dtype)))
_operation("Fill", _constant(array.fill))
_operation("LinSpace", _constant(lambda start, stop, num: call.linspace(start, stop, num)))
_operation("OneHot", lambda axis=-1: lambda x, depth, on, off: functional.one_hot(x, depth, on, off, axis))
_operation("Ones", _constant(lambda shape, dtype: call.ones(shape, dtype)))
_operation("OnesLike", _constant(lambda x: call.ones_like(x)))
_operation("Range", lambda maxlen=1000000: lambda start, end, step: array.range(start, end, step, maxlen))
_operation("Zeros", _constant(lambda shape, dtype: call.zeros(shape, dtype)))
_operation("ZerosLike", _constant(lambda x: call.zeros_like(x)))

# ------------------------------------------------------------------------------------------------ reading
_operation("Gather", lambda batch_dims=0: lambda x, index, axis: call.gather(x, index, axis, batch_dims))
_operation("GatherD", _constant(indexing.gather_d))
_operation("GatherNd", _constant(indexing.gather_nd))
_operation("MaskedFill", _constant(lambda x, mask, value: call.masked_fill(x, mask, value)))
_operation("MaskedSelect", _constant(indexing.masked_select))
_operation("NonZero", _constant(indexing.nonzero))
_operation(
    "SearchSorted",
    lambda dtype="int64", right=False: (
        lambda sequence, values: call.cast(indexing.searchsorted(sequence, values, right=right), dtype)
    ),
)
_operation("Select", _constant(lambda condition, x, y: call.where(condition, x, y)))
_operation("Slice", _constant(indexing.slice))
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
_operation("Unique", _constant(indexing.unique))

# ------------------------------------------------------------------------------------------------ writing
_operation(
    "IndexAdd", lambda axis, use_lock=True, check_index_bound=True: lambda x, i, y: call.index_add(x, i, y, axis)
)
_operation("IndexFill", _constant(indexing.index_fill))
_operation("InplaceAdd", lambda indices: lambda x, v: indexing.inplace_add(x, v, indices))
_operation("InplaceSub", lambda indices: lambda x, v: indexing.inplace_sub(x, v, indices))
_operation("InplaceUpdate", lambda indices: lambda x, v: indexing.inplace_update(x, v, indices))
_operation("ScatterNd", _constant(indexing.scatter_nd))
_operation("TensorScatterAdd", _constant(indexing.tensor_scatter_add))
_operation("TensorScatterDiv", _constant(indexing.tensor_scatter_div))
_operation(
    "TensorScatterElements",
    lambda axis=0, reduction="none": lambda x, i, u: indexing.tensor_scatter_elements(x, i, u, axis, reduction),
)
_operation("TensorScatterMax", _constant(indexing.tensor_scatter_max))
_operation("TensorScatterMin", _constant(indexing.tensor_scatter_min))
_operation("TensorScatterMul", _constant(indexing.tensor_scatter_mul))
_operation("TensorScatterSub", _constant(indexing.tensor_scatter_sub))
_operation("TensorScatterUpdate", _constant(indexing.tensor_scatter_update))
_operation("UnsortedSegmentMax", _constant(indexing.unsorted_segment_max))
_operation("UnsortedSegmentMin", _constant(indexing.unsorted_segment_min))
_operation("UnsortedSegmentProd", _constant(indexing.unsorted_segment_prod))
_operation("UnsortedSegmentSum", _constant(indexing.unsorted_segment_sum))
