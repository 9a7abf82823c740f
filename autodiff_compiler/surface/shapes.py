"""Other orders, shapes and parts of Tensors, and Tensors joined."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("reshape(input, shape)", doc="""
    The same elements in row-major order under another shape; one size may be -1.

    >>> ops.reshape(Tensor([[1, 2, 3], [4, 5, 6]]), (3, -1)).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """),
    Row("transpose(input, dims)", doc="""
    The dimensions in the order `dims`.

    >>> ops.transpose(Tensor([[1, 2, 3], [4, 5, 6]]), (1, 0)).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """),
    Row("permute(input, axis)", calls="call.transpose(input, axis)", doc="The dimensions in the order `axis`."),
    Row("swapaxes(input, axis0: int, axis1: int)", mint="swapaxes", doc="Two dimensions exchanged."),
    Row("broadcast_to(input, shape)", mint="broadcast_to(input, shape)", doc="""
    The tensor repeated along new leading dimensions and those of size 1; -1 keeps a size.

    >>> ops.broadcast_to(Tensor([1, 2]), (2, -1)).tolist()
    [[1, 2], [1, 2]]
    """),
    Row("squeeze(input, axis=None)", doc="""
    Dimensions of size 1 removed, all of them by default.

    >>> ops.squeeze(Tensor([[1, 2]])).tolist()
    [1, 2]
    """),
    Row("expand_dims(input_x, axis)", doc="""
    A new dimension of size 1 at `axis` of the result.

    >>> ops.expand_dims(Tensor([1, 2]), 0).tolist()
    [[1, 2]]
    """),
    Row("unsqueeze(input, dim)", calls="call.expand_dims(input, dim)", mint="unsqueeze",
        doc="A new dimension of size 1 at `dim` of the result."),
    Row("concat(tensors: Sequence[Any], axis=0)", also="cat", doc="""
    Tensors joined along an existing dimension.

    >>> ops.concat((Tensor([[1, 2]]), Tensor([[3, 4]])), axis=1).tolist()
    [[1, 2, 3, 4]]
    """),
    Row("stack(tensors: Sequence[Any], axis=0)", mint="stack(tensors, dim=0)", doc="""
    Tensors of one shape joined along a new dimension.

    >>> ops.stack((Tensor([1, 2]), Tensor([3, 4]))).tolist()
    [[1, 2], [3, 4]]
    """),
    Row("gather(input_params, input_indices, axis: int, batch_dims=0)", doc="""
    Slices along an axis at the given positions, whose shape takes the axis' place; IndexError outside.

    The first `batch_dims` dimensions of both run together.

    >>> ops.gather(Tensor([[1, 2], [3, 4], [5, 6]]), Tensor([2, 0]), 0).tolist()
    [[5, 6], [1, 2]]
    """),
    Row("moveaxis(x, source, destination)", also="movedim", doc="""
    Dimensions moved to other positions; the others stay in order.

    >>> from autodiff_compiler import ops
    >>> ops.moveaxis(ops.ones((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """),
    Row("swapdims(input, dim0: int, dim1: int)", calls="call.swapaxes(input, dim0, dim1)",
        doc="Two dimensions exchanged."),
    Row("t(input)", mint="t", doc="A matrix transposed; a tensor of less than two dimensions as it is."),
    Row("flip(input, dims)", mint="flip", doc="""
    The elements in reverse order along dimensions.

    >>> ops.flip(Tensor([1, 2, 3]), (0,)).tolist()
    [3, 2, 1]
    """),
    Row("fliplr(input)", calls="call.flip(input, 1)", doc="The elements in reverse order along the second dimension."),
    Row("flipud(input)", calls="call.flip(input, 0)", doc="The elements in reverse order along the first dimension."),
    Row("reverse(x, axis)", calls="call.flip(x, axis)", doc="The elements in reverse order along axes."),
    Row("reverse_sequence(x, seq_lengths, seq_dim: int, batch_dim=0)", doc="""
    The first `seq_lengths[b]` elements along `seq_dim` in reverse order, for every index b along `batch_dim`.

    >>> ops.reverse_sequence(Tensor([[1, 2, 3], [4, 5, 6]]), Tensor([2, 3]), 1).tolist()
    [[2, 1, 3], [6, 5, 4]]
    """),
    Row("roll(input, shifts, dims=None)", mint="roll", doc="""
    The elements moved along dimensions (of the flat tensor by default); what leaves the end comes back in front.

    >>> ops.roll(Tensor([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """),
    Row("rot90(input, k: int, dims: Sequence[int])",
        doc="The plane of two dimensions rotated k times by 90 degrees, from the first towards the second."),
    Row("ravel(input)", mint="ravel", doc="All elements in row-major order, in one dimension."),
    Row("view_as(input, other)", calls="call.reshape_as(input, other)",
        doc="The same elements under the shape of another tensor."),
    Row("type_as(input, other)", doc="The same numbers in the dtype of another tensor."),
    Row("numel(input) -> int", calls="call.numel(input)", doc="How many elements there are."),
    Row("size(input_x) -> int", op="Size", calls="call.numel(input_x)", doc="How many elements there are."),
    Row("tile(input, dims)", mint="tile", doc="""
    The whole tensor repeated `dims[i]` times along dimension i; missing dimensions come first.

    >>> ops.tile(Tensor([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """),
    Row("repeat_interleave(input, repeats, axis: int | None = None)", doc="""
    Every element along an axis (of the flat tensor by default) repeated: a number of times, or one for each.

    >>> ops.repeat_interleave(Tensor([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    """),
    Row("repeat_elements(x, rep: int, axis=0)", calls="call.repeat_interleave(x, rep, axis)",
        doc="Every element along an axis repeated `rep` times."),
    Row("expand(input_x, size)", calls="call.broadcast_to(input_x, size)",
        doc="The tensor broadcast to a shape, new dimensions first; -1 keeps a size."),
    Row("split(tensor, split_size_or_sections, axis=0) -> tuple[Tensor, ...]",
        calls="tuple(call.split(tensor, split_size_or_sections, axis))",
        mint="split(tensor, split_size_or_sections, dim=0)", doc="""
    Neighbouring parts along an axis: of one size (the last may be smaller), or of the sizes in a list.

    >>> [part.tolist() for part in ops.split(Tensor([1, 2, 3]), 2)]
    [[1, 2], [3]]
    """),
    Row("chunk(input, chunks: int, axis=0) -> tuple[Tensor, ...]", calls="tuple(call.chunk(input, chunks, axis))",
        mint="chunk(input, chunks: int, dim=0)",
        doc="At most `chunks` neighbouring parts along an axis, all of one size but the last, which may be smaller."),
    Row("tensor_split(input, indices_or_sections, axis=0) -> tuple[Tensor, ...]",
        calls="tuple(call.tensor_split(input, indices_or_sections, axis))",
        doc="Neighbouring parts along an axis: a number of them as equal as possible, or cut before the given "
        "positions."),
    Row("vsplit(input, indices_or_sections) -> tuple[Tensor, ...]",
        calls="tuple(call.tensor_split(input, indices_or_sections, 0))",
        doc="`tensor_split` along the first dimension."),
    Row("dsplit(input, indices_or_sections) -> tuple[Tensor, ...]",
        calls="tuple(call.tensor_split(input, indices_or_sections, 2))",
        doc="`tensor_split` along the third dimension."),
    Row("hsplit(input, indices_or_sections) -> tuple[Tensor, ...]",
        calls="tuple(call.hsplit(input, indices_or_sections))",
        doc="`tensor_split` along the second dimension, of a vector along its only one."),
    Row("unbind(input, dim=0) -> tuple[Tensor, ...]", calls="tuple(call.unbind(input, dim))", mint="unbind",
        doc="The slices along a dimension, which disappears."),
    Row("unstack(input_x, axis=0) -> tuple[Tensor, ...]", calls="tuple(call.unbind(input_x, axis))",
        doc="The slices along an axis, which disappears."),
    Row("hstack(tensors: Sequence[Any])", mint="hstack",
        doc="Tensors joined along the second dimension, vectors along their only one."),
    Row("vstack(inputs: Sequence[Any])", doc="Tensors joined along the first dimension; vectors are rows."),
    Row("row_stack(tensors: Sequence[Any])", calls="call.vstack(tensors)", doc="MindSpore's older name of `vstack`."),
    Row("dstack(tensors: Sequence[Any])", mint="dstack", doc="Tensors joined along the third dimension."),
    Row("column_stack(tensors: Sequence[Any])", doc="Vectors as columns, and matrices, side by side."),
    Row("meshgrid(*inputs, indexing='xy') -> tuple[Tensor, ...]",
        calls="tuple(call.meshgrid(*inputs, indexing=indexing))", doc="""
    The coordinates of a grid over vectors, one tensor for each; "xy" exchanges the first two dimensions of "ij".

    >>> [t.tolist() for t in ops.meshgrid(Tensor([1, 2]), Tensor([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """),
    Row("cartesian_prod(*inputs)",
        doc="All combinations of elements of vectors, one from each, as rows; the last changes fastest."),
    Row("combinations(input, r=2, with_replacement=False)",
        doc="All choices of r elements of a vector, in order, as rows."),
    Row("pad(input_x, padding, mode='constant', value=None)", doc="""
    The tensor with more elements at the borders of its last dimensions.

    `padding` holds two widths for the last dimension, then two for the one before, and so on; negative widths crop
    the tensor.  Modes: "constant" (`value`, 0 by default), "reflect", "symmetric", "replicate", "circular".

    >>> ops.pad(Tensor([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """),
    Row("mirror_pad(input_x, paddings, mode: str)",
        doc='The tensor mirrored by pairs of widths, one for every dimension from the first on; "REFLECT" or '
        '"SYMMETRIC".'),
    Row("unfold(input, kernel_size, dilation=1, padding=0, stride=1)", doc="""
    The windows of images [N, C, H, W] as columns [N, C * kernel places, windows].

    >>> from autodiff_compiler import ops
    >>> ops.unfold(ops.ones((1, 2, 4, 4)), 3).shape
    (1, 18, 4)
    """),
    Row("fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)",
        doc="Images [N, C, H, W] as the sum of their windows, given as columns [N, C * kernel places, windows]."),
    Row("col2im(input_x, output_size, kernel_size, dilation, padding_value, stride)",
        doc="Images [N, C, H, W] as the sum of their windows, given as [N, C, kernel places, windows]."),
    Row("tril(input, diagonal=0)", mint="tril", doc="""
    The elements of matrices on and below a diagonal, zeros above.

    >>> ops.tril(Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """),
    Row("triu(input, diagonal=0)", mint="triu", doc="The elements of matrices on and above a diagonal, zeros below."),
    Row("adjoint(x)", calls="call.swapaxes(x, -1, -2)", doc="""
    Matrices with rows and columns exchanged.

    >>> ops.adjoint(Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """),
)
