"""The functions of `mint` that have a body; the others are rows of `surface`."""

from __future__ import annotations

import builtins
from typing import Any, Never

from .. import ops
from ..dtypes import float32, int64
from ..keywords import answering, refuse_unknown
from ..ops.state import compiled_from_source

__all__ = [
    "add",
    "allclose",
    "argsort",
    "cummax",
    "cummin",
    "cumsum",
    "diag",
    "flatten",
    "index_add",
    "max",
    "mean",
    "median",
    "meshgrid",
    "min",
    "norm",
    "permute",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "reshape",
    "select",
    "softmax",
    "sort",
    "squeeze",
    "sub",
    "topk",
    "where",
    "zeros",
]


# ------------------------------------------------------------------------------------------------ arithmetic
def add(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """input + alpha * other."""
    return ops.add(input, other if _is_one(alpha) else ops.mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """input - alpha * other."""
    return ops.sub(input, other if _is_one(alpha) else ops.mul(other, alpha))


def _is_one(alpha: Any) -> bool:
    return isinstance(alpha, int | float) and alpha == 1


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether no element differs by more than atol + rtol * |other|."""
    return ops.allclose(input, other, rtol, atol, equal_nan)


# ------------------------------------------------------------------------------------------------ reductions
@answering
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **unknown: Never) -> Any:
    """The mean over dimensions, or over all."""
    if unknown:
        refuse_unknown(mean, unknown)
    return ops.mean(input if dtype is None else ops.cast(input, dtype), dim, keepdim)


@answering
def max(input: Any, dim: Any = None, keepdim: bool = False, **unknown: Never) -> Any:
    """The largest element of all; with a dimension those along it, and their indices; or of two Tensors."""
    if unknown:
        refuse_unknown(max, unknown)
    if _is_tensor(dim):
        return ops.maximum(input, dim)
    return ops.amax(input) if dim is None else ops.max(input, dim, keepdim)


@answering
def min(input: Any, dim: Any = None, keepdim: bool = False, **unknown: Never) -> Any:
    """The smallest element of all; with a dimension those along it, and their indices; or of two Tensors."""
    if unknown:
        refuse_unknown(min, unknown)
    if _is_tensor(dim):
        return ops.minimum(input, dim)
    return ops.amin(input) if dim is None else ops.min(input, dim, keepdim)


def _is_tensor(x: Any) -> bool:
    return not (x is None or isinstance(x, int))


@answering
def median(input: Any, dim: Any = None, keepdim: bool = False, **unknown: Never) -> Any:
    """The lower median of all elements; with a dimension those along it, and their indices."""
    if unknown:
        refuse_unknown(median, unknown)
    if dim is None:
        return ops.median(ops.reshape(input, (-1,)), 0)[0]
    return ops.median(input, dim, keepdim)


@answering
def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **unknown: Never
) -> Any:
    """The p-norm over dimensions, or of the flat tensor."""
    if unknown:
        refuse_unknown(norm, unknown)
    wide = input if dtype is None else ops.cast(input, dtype)
    if isinstance(p, str) and p != "fro":
        return ops.norm(wide, p, dim, keepdim)
    return ops.vector_norm(wide, 2 if p == "fro" else p, dim, keepdim)


@answering
def cumsum(input: Any, dim: int, dtype: Any = None, **unknown: Never) -> Any:
    """The running sum along a dimension."""
    if unknown:
        refuse_unknown(cumsum, unknown)
    if dtype is None and (input.dtype.is_int or input.dtype.is_bool):
        dtype = int64
    return ops.cumsum(input, dim, dtype)


@answering
def cummax(input: Any, dim: int, **unknown: Never) -> Any:
    """The running maximum along a dimension, and its indices."""
    if unknown:
        refuse_unknown(cummax, unknown)
    return _with_int64(ops.cummax(input, dim))


@answering
def cummin(input: Any, dim: int, **unknown: Never) -> Any:
    """The running minimum along a dimension, and its indices."""
    if unknown:
        refuse_unknown(cummin, unknown)
    return _with_int64(ops.cummin(input, dim))


@answering
def softmax(input: Any, dim: int, *, dtype: Any = None, **unknown: Never) -> Any:
    """Exponentials along a dimension, divided by their sum."""
    if unknown:
        refuse_unknown(softmax, unknown)
    return ops.softmax(input, dim, dtype=dtype)


# ------------------------------------------------------------------------------------------------ order
@answering
def sort(input: Any, *, dim: int = -1, descending: bool = False, stable: bool = False, **unknown: Never) -> Any:
    """The elements sorted along a dimension, and their indices; equal elements keep their order."""
    if unknown:
        refuse_unknown(sort, unknown)
    return _with_int64(ops.sort(input, dim, descending))


def _with_int64(found: Any) -> Any:
    elements, indices = found
    return elements, ops.cast(indices, int64)


@answering
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False, **unknown: Never) -> Any:
    """The indices that sort the elements along a dimension."""
    if unknown:
        refuse_unknown(argsort, unknown)
    return ops.cast(ops.argsort(input, dim, descending), int64)


@answering
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, **unknown: Never) -> Any:
    """The k largest (or smallest) elements along a dimension, and their indices."""
    if unknown:
        refuse_unknown(topk, unknown)
    return _with_int64(ops.topk(input, k, dim, largest, sorted))


# ------------------------------------------------------------------------------------------------ shapes
def reshape(input: Any, *shape: Any) -> Any:
    """The elements in another shape."""
    return ops.reshape(input, _one_or_several(shape))


def permute(input: Any, *dims: Any) -> Any:
    """The dimensions in another order."""
    return ops.permute(input, _one_or_several(dims))


def _one_or_several(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 and not isinstance(given[0], int) else given


@answering
def squeeze(input: Any, dim: Any = None, **unknown: Never) -> Any:
    """Without the dimensions of size 1, or without those named that have it."""
    if unknown:
        refuse_unknown(squeeze, unknown)
    if dim is None:
        return ops.squeeze(input)
    dims = [d % input.ndim for d in (dim if isinstance(dim, tuple | list) else (dim,))]
    kept = [n for d, n in enumerate(input.shape) if d not in dims or n != 1]
    return ops.reshape(input, builtins.tuple(kept))


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` merged into one."""
    return ops.flatten(input, start_dim=start_dim, end_dim=end_dim)


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Coordinate grids over vectors; the `indexing` "xy" exchanges the first two dimensions of "ij", the default."""
    return ops.meshgrid(*tensors, indexing=indexing or "ij")


def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with a vector on a diagonal, or a diagonal of a matrix."""
    if input.ndim == 2:
        return ops.diagonal(input, diagonal, 0, 1)
    return ops.diag_embed(input, diagonal)


# ------------------------------------------------------------------------------------------------ picking and placing
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where the condition holds, else of `other`; with a condition alone its nonzero indices."""
    if input is None and other is None:
        return ops.unbind(ops.nonzero(condition), 1)
    return ops.where(condition, input, other)


@answering
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: float = 1, **unknown: Never) -> Any:
    """`input` with alpha * `source` added to the slices along a dimension at the positions in a vector."""
    if unknown:
        refuse_unknown(index_add, unknown)
    return ops.index_add(input, index, source if _is_one(alpha) else ops.mul(source, alpha), dim)


@answering
def select(input: Any, dim: int, index: int, **unknown: Never) -> Any:
    """The slice at one position along a dimension, which disappears."""
    if unknown:
        refuse_unknown(select, unknown)
    return ops.squeeze(ops.narrow(input, dim, index % input.shape[dim], 1), dim)


# ------------------------------------------------------------------------------------------------ new Tensors
def zeros(*size: Any, dtype: Any = None) -> Any:
    """Zeros of a shape, float32 by default."""
    return ops.zeros(_one_or_several(size), dtype or float32)


@compiled_from_source
def rand(*size: Any, generator: Any = None, dtype: Any = None) -> Any:
    """Numbers from 0 to less than 1."""
    return ops.zeros(_one_or_several(size), dtype or float32).uniform_(generator=generator)


@compiled_from_source
def randn(*size: Any, generator: Any = None, dtype: Any = None) -> Any:
    """Numbers of the standard normal distribution."""
    return ops.zeros(_one_or_several(size), dtype or float32).normal_(generator=generator)


@compiled_from_source
def rand_like(input: Any, *, dtype: Any = None) -> Any:
    """`rand` in the shape, and by default the dtype, of a Tensor."""
    return ops.rand_like(input, dtype=dtype)


@compiled_from_source
def randn_like(input: Any, *, dtype: Any = None) -> Any:
    """`randn` in the shape, and by default the dtype, of a Tensor."""
    return ops.randn_like(input, dtype=dtype)


@compiled_from_source
def randint(*args: Any, generator: Any = None, dtype: Any = None) -> Any:
    """Integers from `low` (0 if left out) to less than `high`: ``randint(low, high, size)``; int64."""
    low, high, size = args if len(args) == 3 else (0, *args)
    return ops.zeros(size, dtype or int64).random_(low, high, generator=generator)


@compiled_from_source
def randint_like(input: Any, *args: Any, dtype: Any = None) -> Any:
    """`randint` in the shape, and by default the dtype, of a Tensor: ``randint_like(input, low, high)``."""
    low, high = args if len(args) == 2 else (0, *args)
    return ops.randint_like(input, low, high, dtype=dtype or input.dtype)


@compiled_from_source
def randperm(n: int, *, dtype: Any = int64) -> Any:
    """The numbers 0 ... n - 1 in a random order."""
    return ops.cast(ops.randperm(n), dtype)
