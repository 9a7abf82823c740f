"""MindSpore's functional names of diagonals, distances, and statistics of samples."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor, require, rows, static_int

# fmt: off
__all__ = [
    "accumulate_n", "addn", "block_diag", "cdist", "cond", "cov", "dist", "histc", "intopk", "matrix_band_part",
    "matrix_diag", "matrix_diag_part", "matrix_set_diag", "pdist", "renorm", "trapz", "vander",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ diagonals
def matrix_diag(
    x: Any, k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Matrices with the given diagonals k, or k[0] to k[1], and `padding_value` elsewhere.

    Several diagonals are rows of x, the uppermost first; shorter ones lie in them as `align` says.  By default the
    matrices are the smallest square ones.

    >>> from autodiff_compiler import Tensor
    >>> matrix_diag(Tensor([1, 2]), 1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    return call.matrix_diag(x, k, num_rows, num_cols, padding_value, align)


def matrix_diag_part(x: Any, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Any:
    """The diagonals k, or k[0] to k[1], of matrices; several as rows of one length, filled up with `padding_value`.

    >>> from autodiff_compiler import Tensor
    >>> matrix_diag_part(Tensor([[1, 2], [3, 4]]), (0, 1), 9).tolist()
    [[9, 2], [1, 4]]
    """
    return call.matrix_diag_part(x, k, padding_value, align)


def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Matrices with other numbers in the diagonals k, or k[0] to k[1].

    >>> from autodiff_compiler import Tensor
    >>> matrix_set_diag(Tensor([[1, 2], [3, 4]]), Tensor([7, 8])).tolist()
    [[7, 2], [3, 8]]
    """
    return call.matrix_set_diag(x, diagonal, k, align)


def matrix_band_part(x: Any, lower: int, upper: int) -> Any:
    """Zeros but for so many diagonals below and above the main one; a negative number keeps all on its side.

    >>> from autodiff_compiler import Tensor
    >>> matrix_band_part(Tensor([[1, 2], [3, 4]]), 0, -1).tolist()
    [[1, 2], [0, 4]]
    """
    return call.matrix_band_part(x, lower, upper)


def block_diag(*inputs: Any) -> Any:
    """Matrices, vectors as rows and numbers, one after the other along the diagonal of a matrix of zeros.

    >>> from autodiff_compiler import Tensor
    >>> block_diag(Tensor([[1], [2]]), Tensor([3, 4])).tolist()
    [[1, 0, 0], [2, 0, 0], [0, 3, 4]]
    """
    return call.block_diag(*inputs)


def cond(A: Any, p: Any = None) -> Any:
    """Condition numbers of matrices: the norm of order p times that of the inverse, by default the 2-norm.

    >>> from autodiff_compiler import Tensor
    >>> cond(Tensor([[2.0, 0.0], [0.0, -8.0]]), 1).item()
    4.0
    """
    return call.cond(A, p)


def vander(x: Any, N: int | None = None) -> Any:
    """The powers N - 1, ..., 1, 0 of a vector as columns; by default as many as it has elements.

    >>> from autodiff_compiler import Tensor
    >>> vander(Tensor([1, 2, 3])).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    return call.vander(x, N)


# ------------------------------------------------------------------------------------------------ distances
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """Distances [..., n, m] of order p between the points x1 [..., n, d] and x2 [..., m, d]; p is from 0 to inf.

    >>> from autodiff_compiler import Tensor
    >>> cdist(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0], [1.0, 0.0]])).tolist()
    [[5.0, 1.0]]
    """
    return call.cdist(x1, x2, p)


def pdist(input: Any, p: float = 2.0) -> Any:
    """Distances of order p between the points i < j of [..., n, d], in the order (0, 1), (0, 2), ..., (1, 2), ...

    >>> from autodiff_compiler import Tensor
    >>> pdist(Tensor([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 3.0, 2.0]
    """
    return call.pdist(input, p)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The norm of order p of all differences.

    >>> from autodiff_compiler import Tensor
    >>> dist(Tensor([3.0, 4.0]), Tensor([0.0, 0.0])).item()
    5.0
    """
    return call.dist(input, other, p)


def renorm(input: Any, p: float, axis: int, maxnorm: float) -> Any:
    """Slices along an axis whose norm of order p exceeds `maxnorm` scaled down to it.

    >>> from autodiff_compiler import Tensor
    >>> renorm(Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.5).tolist()
    [[1.5, 2.0], [0.0, 1.0]]
    """
    return call.renorm(input, p, axis, maxnorm)


# ------------------------------------------------------------------------------------------------ samples
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariances of the rows of a matrix, whose columns are observations; of a vector its variance.

    `fweights` says how often each observation was made, `aweights` how much it counts.

    >>> from autodiff_compiler import Tensor
    >>> cov(Tensor([[0.0, 2.0], [1.0, -1.0]])).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    return call.cov(input, correction, fweights, aweights)


def histc(input: Any, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Any:
    """How many numbers lie in each of `bins` equal parts of min ... max; by default from the smallest to the greatest.

    >>> from autodiff_compiler import Tensor
    >>> histc(Tensor([1.0, 2.0, 1.0]), 4, 0.0, 3.0).tolist()
    [0.0, 2.0, 1.0, 0.0]
    """
    return call.histc(input, bins, min, max)


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """The integral along a dimension by the trapezoidal rule, between points x or, without them, points `dx` apart.

    >>> from autodiff_compiler import Tensor
    >>> trapz(Tensor([1.0, 2.0, 4.0]), Tensor([0.0, 1.0, 3.0])).item()
    7.5
    """
    return call.trapz(y, x, dx, dim)


def intopk(x1: Any, x2: Any, k: int) -> Any:
    """Whether the class x2 of each row of x1 is among its k greatest: fewer than k are greater.

    False where the class does not exist or its number is not finite.

    >>> from autodiff_compiler import Tensor
    >>> intopk(Tensor([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]]), Tensor([2, 0]), 2).tolist()
    [True, False]
    """
    scores, labels, k = as_tensor(x1, "x1"), as_tensor(x2, "x2"), static_int(k, "k")
    fit = scores.ndim == 2 and labels.shape == scores.shape[:1]
    require(fit, f"intopk takes rows and a class for each, not {list(scores.shape)} and {list(labels.shape)}")
    scores, classes = call.stop_gradient(scores), scores.shape[1]
    exists = call.logical_and(call.greater_equal(labels, 0), call.less(labels, classes))
    own = call.gather_elements(scores, 1, call.expand_dims(call.where(exists, labels, 0), 1))
    above = call.count_nonzero(call.greater(scores, own), 1)
    known = call.logical_and(exists, call.isfinite(call.squeeze(own, 1)))
    return call.logical_and(known, call.less(above, k))


def addn(x: Any) -> Any:
    """The sum of several tensors of one shape.

    >>> from autodiff_compiler import Tensor
    >>> addn([Tensor([1, 2]), Tensor([3, 4]), Tensor([5, 6])]).tolist()
    [9, 12]
    """
    tensors = [as_tensor(t) for t in rows(x)]
    require(len(tensors) > 0, "a sum of tensors needs at least one")
    same = all(t.shape == tensors[0].shape for t in tensors)
    require(same, f"a sum of tensors needs one shape, not {', '.join(str(list(t.shape)) for t in tensors)}")
    total = tensors[0]
    for t in tensors[1:]:
        total = call.add(total, t)
    return total


accumulate_n = addn
