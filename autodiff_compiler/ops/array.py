"""MindSpore's functional names for creating, reshaping, flipping, repeating, splitting and padding tensors.

Axes, sizes and counts are Python values; a Tensor there is a StaticValueError in compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import dtype_of
from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import call
from ..primitives.family import as_tensor, require, static_int
from ..primitives.rearrange import at_least
from ..runtime.tensor import Tensor

# fmt: off
__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "bartlett_window", "blackman_window", "cartesian_prod", "chunk", "col2im",
    "column_stack", "combinations", "dsplit", "dstack", "expand", "expand_as", "eye", "fill", "fills", "flip", "fliplr",
    "flipud", "fold", "hamming_window", "hann_window", "hsplit", "hstack", "kaiser_window", "linspace", "logspace",
    "meshgrid", "mirror_pad", "moveaxis", "movedim", "numel", "pad", "padding", "range", "ravel", "repeat_elements",
    "repeat_interleave", "reverse", "reverse_sequence", "roll", "rot90", "row_stack", "sequence_mask", "size", "split",
    "swapdims", "t", "tensor_split", "tile", "tril", "tril_indices", "triu", "triu_indices", "type_as", "unbind",
    "unfold", "unstack", "view_as", "vsplit", "vstack",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ other order
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other positions; the others stay in order.

    >>> from autodiff_compiler import ops
    >>> moveaxis(ops.ones((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    return call.moveaxis(x, source, destination)


movedim = moveaxis


def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    return call.swapaxes(input, dim0, dim1)


def t(input: Any) -> Any:
    """A matrix transposed; a tensor of less than two dimensions as it is."""
    return call.t(input)


def flip(input: Any, dims: Any) -> Any:
    """The elements in reverse order along dimensions.

    >>> from autodiff_compiler import Tensor
    >>> flip(Tensor([1, 2, 3]), (0,)).tolist()
    [3, 2, 1]
    """
    return call.flip(input, dims)


def fliplr(input: Any) -> Any:
    """The elements in reverse order along the second dimension."""
    return call.flip(input, 1)


def flipud(input: Any) -> Any:
    """The elements in reverse order along the first dimension."""
    return call.flip(input, 0)


def reverse(x: Any, axis: Any) -> Any:
    """The elements in reverse order along axes."""
    return call.flip(x, axis)


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Any:
    """The first `seq_lengths[b]` elements along `seq_dim` in reverse order, for every index b along `batch_dim`.

    >>> from autodiff_compiler import Tensor
    >>> reverse_sequence(Tensor([[1, 2, 3], [4, 5, 6]]), Tensor([2, 3]), 1).tolist()
    [[2, 1, 3], [6, 5, 4]]
    """
    return call.reverse_sequence(x, seq_lengths, seq_dim, batch_dim)


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along dimensions (of the flat tensor by default); what leaves the end comes back in front.

    >>> from autodiff_compiler import Tensor
    >>> roll(Tensor([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """
    return call.roll(input, shifts, dims)


def rot90(input: Any, k: int, dims: Sequence[int]) -> Any:
    """The plane of two dimensions rotated k times by 90 degrees, from the first towards the second."""
    return call.rot90(input, k, dims)


def ravel(input: Any) -> Any:
    """All elements in row-major order, in one dimension."""
    return call.ravel(input)


def view_as(input: Any, other: Any) -> Any:
    """The same elements under the shape of another tensor."""
    return call.reshape_as(input, other)


def type_as(input: Any, other: Any) -> Any:
    """The same numbers in the dtype of another tensor."""
    return call.type_as(input, other)


def numel(input: Any) -> int:
    """How many elements there are."""
    return int(call.numel(input))


def size(input_x: Any) -> int:
    """How many elements there are."""
    return int(call.numel(input_x))


# ------------------------------------------------------------------------------------------------ repeated
def tile(input: Any, dims: Any) -> Any:
    """The whole tensor repeated `dims[i]` times along dimension i; missing dimensions come first.

    >>> from autodiff_compiler import Tensor
    >>> tile(Tensor([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return call.tile(input, dims)


def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Any:
    """Every element along an axis (of the flat tensor by default) repeated: a number of times, or one for each.

    >>> from autodiff_compiler import Tensor
    >>> repeat_interleave(Tensor([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    """
    return call.repeat_interleave(input, repeats, axis)


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Any:
    """Every element along an axis repeated `rep` times."""
    return call.repeat_interleave(x, rep, axis)


def expand(input_x: Any, size: Any) -> Any:
    """The tensor broadcast to a shape, new dimensions first; -1 keeps a size."""
    return call.broadcast_to(input_x, size)


def expand_as(input: Any, other: Any) -> Any:
    """The tensor broadcast to the shape of another."""
    return call.broadcast_to(input, other.shape)


# ------------------------------------------------------------------------------------------------ parts
def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Neighbouring parts along an axis: of one size (the last may be smaller), or of the sizes in a list.

    >>> from autodiff_compiler import Tensor
    >>> [part.tolist() for part in split(Tensor([1, 2, 3]), 2)]
    [[1, 2], [3]]
    """
    return tuple(call.split(tensor, split_size_or_sections, axis))


def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """At most `chunks` neighbouring parts along an axis, all of one size but the last, which may be smaller."""
    return tuple(call.chunk(input, chunks, axis))


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Neighbouring parts along an axis: a number of them as equal as possible, or cut before the given positions."""
    return tuple(call.tensor_split(input, indices_or_sections, axis))


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the second dimension, of a vector along its only one."""
    return tuple(call.hsplit(input, indices_or_sections))


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the first dimension."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the third dimension."""
    return tensor_split(input, indices_or_sections, 2)


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along a dimension, which disappears."""
    return tuple(call.unbind(input, dim))


def unstack(input_x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, which disappears."""
    return tuple(call.unbind(input_x, axis))


# ------------------------------------------------------------------------------------------------ joined
def hstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined along the second dimension, vectors along their only one."""
    return call.hstack(tensors)


def vstack(inputs: Sequence[Any]) -> Any:
    """Tensors joined along the first dimension; vectors are rows."""
    return call.vstack(inputs)


def row_stack(tensors: Sequence[Any]) -> Any:
    """MindSpore's older name of `vstack`."""
    return call.vstack(tensors)


def dstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined along the third dimension."""
    return call.dstack(tensors)


def column_stack(tensors: Sequence[Any]) -> Any:
    """Vectors as columns, and matrices, side by side."""
    return call.column_stack(tensors)


def _at_least(inputs: Any, ndim: int) -> Any:
    if isinstance(inputs, tuple | list):
        return tuple([at_least(x, ndim) for x in inputs])
    return at_least(inputs, ndim)


def atleast_1d(inputs: Any) -> Any:
    """A tensor, or each of several, with at least one dimension."""
    return _at_least(inputs, 1)


def atleast_2d(inputs: Any) -> Any:
    """A tensor, or each of several, with at least two dimensions: vectors are rows."""
    return _at_least(inputs, 2)


def atleast_3d(inputs: Any) -> Any:
    """A tensor, or each of several, with at least three dimensions: a matrix gets a last one."""
    return _at_least(inputs, 3)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of a grid over vectors, one tensor for each; "xy" exchanges the first two dimensions of "ij".

    >>> from autodiff_compiler import Tensor
    >>> [t.tolist() for t in meshgrid(Tensor([1, 2]), Tensor([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    return tuple(call.meshgrid(*inputs, indexing=indexing))


def cartesian_prod(*inputs: Any) -> Any:
    """All combinations of elements of vectors, one from each, as rows; the last changes fastest."""
    return call.cartesian_prod(*inputs)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a vector, in order, as rows."""
    return call.combinations(input, r, with_replacement)


# ------------------------------------------------------------------------------------------------ borders, triangles
def padding(x: Any, pad_dim_size: int = 8) -> Any:
    """The tensor, whose last dimension has the size 1, with zeros behind up to `pad_dim_size`.

    >>> from autodiff_compiler import Tensor
    >>> padding(Tensor([[5], [6]]), 3).tolist()
    [[5, 0, 0], [6, 0, 0]]
    """
    size = static_int(pad_dim_size, "pad_dim_size")
    require(x.ndim > 0 and x.shape[-1] == 1, f"padding takes a last dimension of size 1, not {list(x.shape)}")
    require(size > 0, f"`pad_dim_size` must be positive, not {size}")
    return call.pad(x, (0, size - 1))


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Any:
    """The tensor with more elements at the borders of its last dimensions.

    `padding` holds two widths for the last dimension, then two for the one before, and so on; negative widths crop
    the tensor.  Modes: "constant" (`value`, 0 by default), "reflect", "symmetric", "replicate", "circular".

    >>> from autodiff_compiler import Tensor
    >>> pad(Tensor([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """
    return call.pad(input_x, padding, mode, value)


def mirror_pad(input_x: Any, paddings: Any, mode: str) -> Any:
    """The tensor mirrored by pairs of widths, one for every dimension from the first on; "REFLECT" or "SYMMETRIC"."""
    return call.mirror_pad(input_x, paddings, mode)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of images [N, C, H, W] as columns [N, C * kernel places, windows].

    >>> from autodiff_compiler import ops
    >>> unfold(ops.ones((1, 2, 4, 4)), 3).shape
    (1, 18, 4)
    """
    return call.unfold(input, kernel_size, dilation, padding, stride)


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images [N, C, H, W] as the sum of their windows, given as columns [N, C * kernel places, windows]."""
    return call.fold(input, output_size, kernel_size, dilation, padding, stride)


def col2im(input_x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any, stride: Any) -> Any:
    """Images [N, C, H, W] as the sum of their windows, given as [N, C, kernel places, windows]."""
    return call.col2im(input_x, output_size, kernel_size, dilation, padding_value, stride)


def tril(input: Any, diagonal: int = 0) -> Any:
    """The elements of matrices on and below a diagonal, zeros above.

    >>> from autodiff_compiler import Tensor
    >>> tril(Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return call.tril(input, diagonal)


def triu(input: Any, diagonal: int = 0) -> Any:
    """The elements of matrices on and above a diagonal, zeros below."""
    return call.triu(input, diagonal)


# ------------------------------------------------------------------------------------------------ creation
def eye(n: int, m: int | None = None, dtype: Any = None) -> Any:
    """A matrix with ones on its main diagonal, float32 by default.

    >>> eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return call.eye(n, m, dtype)


def linspace(start: Any, end: Any, steps: int) -> Any:
    """`steps` numbers from start to end, both included, at equal distances; both may be Tensors.

    >>> linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return call.linspace(start, end, steps)


def logspace(start: Any, end: Any, steps: int, base: Any = 10, *, dtype: Any = None) -> Any:
    """`base` to the powers of `linspace(start, end, steps)`; float32 by default."""
    return call.logspace(start, end, steps, base, dtype)


def number_of(x: Any) -> Any:
    """The number in a Tensor of one element (in compiled code a constant one); everything else as it is."""
    if isinstance(x, Value):
        known = current().known(x)
        return x if known is None or known.size != 1 else known.item()
    return x.item() if isinstance(x, Tensor) and x.size == 1 else x


def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Any:
    """The numbers from start up to before end; ValueError for more than `maxlen` of them.

    `start`, `end` and `step` are numbers, or constant Tensors of one.
    """
    out = call.arange(number_of(start), number_of(end), number_of(step))
    if out.shape[0] > maxlen:
        raise ValueError(f"a range of {out.shape[0]} numbers is longer than maxlen={maxlen}")
    return out


def fill(type: Any, shape: Any, value: Any) -> Any:
    """A tensor of a dtype and shape whose elements all are `value`."""
    return call.full(shape, value, dtype_of(type))


def fills(x: Any, value: Any) -> Any:
    """`value` in the shape and dtype of x."""
    return call.full_like(x, value)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Any:
    """The indices [2, n] on and below a diagonal of a matrix, row by row; int64 by default."""
    return call.tril_indices(row, col, offset, dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Any:
    """The indices [2, n] on and above a diagonal of a matrix, row by row; int64 by default."""
    return call.triu_indices(row, col, offset, dtype)


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Any:
    """A mask: whether each position 0 ... maxlen - 1 lies within each length, along a new last dimension.

    Without `maxlen` it is the greatest length: eager code only.
    """
    return call.sequence_mask(as_tensor(lengths, "lengths"), maxlen)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Any:
    """A triangular window, float32 by default; see NumPy's `bartlett`."""
    return call.signal_window("bartlett", window_length, periodic, dtype)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Any:
    """A Blackman window, float32 by default; see NumPy's `blackman`."""
    return call.signal_window("blackman", window_length, periodic, dtype)


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Any:
    """A Hann window, float32 by default; see NumPy's `hanning`."""
    return call.signal_window("hanning", window_length, periodic, dtype)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Any:
    """alpha - beta cos(2 pi i / n): with these coefficients a Hamming window, float32 by default."""
    return call.cosine_window(window_length, periodic, alpha, beta, dtype)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Any:
    """A Kaiser window, float32 by default; see NumPy's `kaiser`."""
    return call.signal_window("kaiser", window_length, periodic, dtype, beta)
