"""Diagonals and bands of matrices: extracted, set, or kept.

Diagonals are numbered from the main one, upwards positive. Several of them form rows, the uppermost first; where
they are shorter than the row, `align` says on which side they lie in it: "RIGHT_LEFT" puts those above the main one to
the right and those below to the left.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import int64
from ..ir.primitive import F, call, composite
from ..ir.types import tensor
from .family import as_tensor, broadcast_to, constant, in_dtype, promoted_dtype
from .rearrange import at_least
from .requirements import require, require_dtype, static_int

_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def _diagonal_range(k):
    """The lowest and the highest diagonal, given as a number or a pair."""
    k = k.tolist() if hasattr(k, "tolist") and hasattr(k, "asnumpy") else k
    pair = (k, k) if not isinstance(k, tuple | list) else (k[0], k[-1])
    require(not isinstance(k, tuple | list) or len(k) in (1, 2), f"`k` is a diagonal or two of them, not {k}")
    low, high = (static_int(d, "k") for d in pair)
    require(low <= high, f"the lowest diagonal {low} lies above the highest {high}")
    return low, high


def _positions(rows, cols, low, high, width, align):
    """The flat position in the matrix of every element of the rows of diagonals; -1 where a row is padded."""
    if align not in _ALIGNMENTS:
        raise ValueError(f"align must be one of {', '.join(_ALIGNMENTS)}, not {align!r}")
    found = np.full((high - low + 1, width), -1, np.int64)
    for row, d in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(d, 0), cols - max(d, 0))
        side = align.split("_")[0 if d > 0 else 1] if d else "RIGHT" if "RIGHT" in align else "LEFT"
        start = width - length if side == "RIGHT" else 0
        at = np.arange(length)
        found[row, start : start + length] = (at + max(-d, 0)) * cols + at + max(d, 0)
    return found


def _longest(rows, cols, low, high):
    exist = -rows < low and high < cols and rows > 0 and cols > 0
    require(exist, f"a matrix of {rows} x {cols} has no diagonals {low} to {high}")
    return min(rows + min(high, 0), cols - max(low, 0))


def _gathered(x, places, otherwise):
    """The elements along the last axis of x at these positions; `otherwise` where the position is -1."""
    at = constant(np.maximum(places, 0), tensor(int64, places.shape))
    taken = F.gather(x, at, axis=-1)
    if (places >= 0).all():
        return taken
    return call.where(call.greater_equal(constant(places, tensor(int64, places.shape)), 0), taken, otherwise)


def _merged(x, n):
    """The last n axes as one."""
    return F.reshape(x, shape=(*x.shape[: x.ndim - n], int(np.prod(x.shape[x.ndim - n :]))))


def _matrix_of(x, rows, cols, low, high, align, otherwise):
    """The matrix with rows of diagonals put in, over what it holds otherwise."""
    axes = 1 if low == high else 2
    fits = x.ndim >= axes and x.shape[-1] == _longest(rows, cols, low, high)
    fits = fits and (axes == 1 or x.shape[-2] == high - low + 1)
    require(fits, f"{list(x.shape)} does not hold the diagonals {low} to {high} of a matrix of {rows} x {cols}")
    places = _positions(rows, cols, low, high, x.shape[-1], align).ravel()
    source = np.full(rows * cols, -1, np.int64)
    source[places[places >= 0]] = np.flatnonzero(places >= 0)
    return _gathered(_merged(x, axes), source.reshape(rows, cols), otherwise)


@composite()
def matrix_diag_part(x, k=0, padding_value=0, align="RIGHT_LEFT"):
    """The diagonals k, or k[0] to k[1], of matrices; several as rows of one length, filled up with a number."""
    x, (low, high) = as_tensor(x), _diagonal_range(k)
    require(x.ndim >= 2, f"only matrices have diagonals, not {list(x.shape)}")
    rows, cols = x.shape[-2:]
    places = _positions(rows, cols, low, high, _longest(rows, cols, low, high), align)
    return _gathered(_merged(x, 2), places[0] if low == high else places, in_dtype(padding_value, x.dtype))


@composite()
def matrix_diag(x, k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    """Matrices with the given diagonals k, or k[0] to k[1], and a number elsewhere; by default the smallest squares.

    Of two sizes that are -1 both are that of the square, of one alone it is the smallest that holds the diagonals.
    """
    x, (low, high) = as_tensor(x), _diagonal_range(k)
    require(x.ndim >= 1, "a number has no diagonal")
    rows, cols = static_int(num_rows, "num_rows"), static_int(num_cols, "num_cols")
    least = x.shape[-1] - min(high, 0), x.shape[-1] + max(low, 0)
    if rows == -1 and cols == -1:
        rows = cols = max(least)
    rows, cols = (least[0] if rows == -1 else rows), (least[1] if cols == -1 else cols)
    return _matrix_of(x, rows, cols, low, high, align, in_dtype(padding_value, x.dtype))


@composite()
def matrix_set_diag(x, diagonal, k=0, align="RIGHT_LEFT"):
    """Matrices with other numbers in the diagonals k, or k[0] to k[1]."""
    (x, diagonal), (low, high) = promoted_dtype(x, diagonal), _diagonal_range(k)
    require(x.ndim >= 2, f"only matrices have diagonals, not {list(x.shape)}")
    return broadcast_to(_matrix_of(diagonal, *x.shape[-2:], low, high, align, x), x.shape)


@composite()
def matrix_band_part(x, lower, upper):
    """Zeros but for so many diagonals below and above the main one; a negative number keeps all on its side."""
    x, lower, upper = as_tensor(x), static_int(lower, "lower"), static_int(upper, "upper")
    require(x.ndim >= 2, f"only matrices have diagonals, not {list(x.shape)}")
    x = x if lower < 0 else F.triu(x, k=-lower)
    return x if upper < 0 else F.tril(x, k=upper)


@composite()
def block_diag(*inputs):
    """Matrices, vectors as rows and numbers, one after the other along the diagonal of a matrix of zeros."""
    require(len(inputs) > 0, "block_diag needs a tensor")
    blocks = promoted_dtype(*inputs)
    require(all(x.ndim <= 2 for x in blocks), "block_diag takes numbers, vectors and matrices")
    blocks = [at_least(x, 2) for x in blocks]
    width, start, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        require_dtype(not x.dtype.is_bool, "block_diag is not defined for bools")
        count, wide = x.shape
        sides = (call.zeros((count, n), x.dtype) for n in (start, width - start - wide))
        before, after = sides
        rows.append(call.concat([before, x, after], 1))
        start += wide
    return call.concat(rows, 0)
