"""MindSpore's functional names for creating, reshaping, flipping, repeating, splitting and padding tensors.

Axes, sizes and counts are Python values; a Tensor there is a StaticValueError in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.build import current
from ..ir.core import Value
from ..ir.primitive import call, distinct
from ..primitives.family import as_tensor
from ..primitives.rearrange import at_least
from ..primitives.requirements import require, static_int
from ..runtime.tensor import Tensor

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "expand_as", "padding", "range", "sequence_mask"]


# ------------------------------------------------------------------------------------------------ repeated


def expand_as(input: Any, other: Any) -> Any:
    """The tensor broadcast to the shape of another."""
    return call.broadcast_to(input, other.shape)


# ------------------------------------------------------------------------------------------------ joined


def _at_least(inputs: Any, ndim: int) -> Any:
    if isinstance(inputs, tuple | list):
        return tuple([distinct(at_least(x, ndim), x) for x in inputs])
    return distinct(at_least(inputs, ndim), inputs)


def atleast_1d(inputs: Any) -> Any:
    """A tensor, or each of several, with at least one dimension."""
    return _at_least(inputs, 1)


def atleast_2d(inputs: Any) -> Any:
    """A tensor, or each of several, with at least two dimensions: vectors are rows."""
    return _at_least(inputs, 2)


def atleast_3d(inputs: Any) -> Any:
    """A tensor, or each of several, with at least three dimensions: a matrix gets a last one."""
    return _at_least(inputs, 3)


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


# ------------------------------------------------------------------------------------------------ creation


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


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Any:
    """A mask: whether each position 0 ... maxlen - 1 lies within each length, along a new last dimension.

    Without `maxlen` it is the greatest length: eager code only.
    """
    return call.sequence_mask(as_tensor(lengths, "lengths"), maxlen)
