"""MindSpore's operator classes for arrays: constants are given when the object is made, tensors when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.primitive import call
from ..ir.types import dim_product
from ..primitives.family import as_tensor
from ..primitives.requirements import require
from ..surface.table import public
from . import indexing
from .operation import constant, operation

__all__: list[str] = []


def _operation(name: str, make: Callable[..., Callable[..., Any]], doc: str = "") -> None:
    globals()[name] = operation(name, make, __name__, doc)
    __all__.append(name)


# ------------------------------------------------------------------------------------------------ shapes
_operation(
    "DataFormatDimMap",
    lambda src_format="NHWC", dst_format="NCHW": _places_of_dims(src_format, dst_format),
    '``DataFormatDimMap(src_format="NHWC", dst_format="NCHW")(x)``: dimension numbers of one layout in another.',
)
_operation(
    "DataFormatVecPermute",
    lambda src_format="NHWC", dst_format="NCHW": _reordered(src_format, dst_format),
    '``DataFormatVecPermute(src_format="NHWC", dst_format="NCHW")(x)``: one number per dimension, reordered.',
)
_operation(
    "MoveTo",
    constant(lambda input, to="CPU", blocking=True: _same_device(input, to)),
    '``MoveTo()(x, to="CPU", blocking=True)``: x itself, as there is one device; ValueError for another.',
)
_operation(
    "Pad",
    lambda paddings: lambda x: _padded(x, paddings),
    "``Pad(paddings)(x)``: zeros around x; one (before, after) pair of widths per dimension.",
)
_operation(
    "PadV3",
    lambda mode="constant", paddings_contiguous=True: _pad_of_pairs(mode, paddings_contiguous),
    '``PadV3(mode="constant", paddings_contiguous=True)(x, paddings, value=None)``: see `ops.pad`.',
)
_operation(
    "Split",
    lambda axis=0, output_num=1: lambda x: _equal_parts(x, axis, output_num),
    """``Split(axis=0, output_num=1)(x)``: `output_num` parts along a dimension; ValueError if they are not equal.

    >>> from autodiff_compiler import Tensor, ops
    >>> [part.tolist() for part in ops.Split(0, 2)(Tensor([1, 2, 3, 4]))]
    [[1, 2], [3, 4]]
    """,
)
_operation(
    "SplitV",
    lambda size_splits, split_dim, num_split: lambda x: _parts(x, size_splits, split_dim, num_split),
    "``SplitV(size_splits, split_dim, num_split)(x)``: parts of these sizes along a dimension; one may be -1.",
)
_operation(
    "Unstack",
    lambda axis=0, num=None: lambda x: _slices(x, axis, num),
    "``Unstack(axis=0, num=None)(x)``: the slices along a dimension; ValueError if they are not `num`.",
)


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


# ------------------------------------------------------------------------------------------------ reading
_operation(
    "DiagPart",
    constant(lambda x: _diagonal_of_pairs(x)),
    "``DiagPart()(x)``: the diagonal ``x[i, j, ..., i, j, ...]`` of a tensor of shape [*sizes, *sizes].",
)
_operation(
    "EmbeddingLookup",
    constant(lambda params, indices, offset: _embedding_rows(params, indices, offset)),
    "``EmbeddingLookup()(params, indices, offset)``: rows by index - offset; zeros where that is out of range.",
)
_operation(
    "InvertPermutation",
    constant(lambda x: _inverse_permutation(x)),
    "``InvertPermutation()(x)``: the inverse of a permutation of 0 ... n - 1.",
)
_operation(
    "NthElement",
    lambda reverse=False: lambda x, n: _nth(x, n, reverse),
    "``NthElement(reverse=False)(x, n)``: the n-th smallest (or greatest) element of the last dimension, from 0.",
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
_operation("UnravelIndex", constant(_unraveled))
