"""MindSpore's functional names of linear algebra.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.  All functions
of matrices take leading batch dimensions and compute integers as float32, 16-bit floats in float32.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor

# fmt: off
__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cholesky", "cholesky_inverse",
    "cholesky_solve", "cross", "det", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "eigh",
    "eigvals", "eigvalsh", "einsum", "expm", "geqrf", "ger", "inner", "inverse", "kron", "log_matrix_determinant",
    "logdet", "lstsq", "lu_solve", "lu_unpack", "matrix_determinant", "matrix_exp", "matrix_power", "matrix_solve",
    "mm", "mv", "orgqr", "ormqr", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensor_dot",
    "tensordot", "trace", "triangular_solve", "vecdot",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ products
def mm(input: Any, mat2: Any) -> Any:
    """Product of two matrices; ShapeError for any other number of dimensions."""
    return call.mm(input, mat2)


def mv(mat: Any, vec: Any) -> Any:
    """Product of a matrix and a vector."""
    return call.mv(mat, vec)


def bmm(input_x: Any, mat2: Any) -> Any:
    """Products of the matrices of two batches of equal size; ShapeError for others.

    >>> from autodiff_compiler import Tensor
    >>> bmm(Tensor([[[1.0, 2.0]]]), Tensor([[[3.0], [4.0]]])).tolist()
    [[[11.0]]]
    """
    return call.bmm(input_x, mat2)


def inner(input: Any, other: Any) -> Any:
    """Sum of products over the last dimensions of both; a number scales."""
    return call.inner(input, other)


def outer(input: Any, vec2: Any) -> Any:
    """Products of every element of `input` and every element of `vec2`: a matrix.

    >>> from autodiff_compiler import Tensor
    >>> outer(Tensor([1, 2]), Tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    return call.outer(input, vec2)


ger = outer


def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """Sum over an axis of the products of two tensors, which broadcast."""
    return call.vecdot(x, y, axis)


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """Cross product along a dimension of size 3, by default the first one that has it."""
    return call.cross(input, other, dim)


def kron(input: Any, other: Any) -> Any:
    """Kronecker product: every element of `input` times `other`, as blocks.

    >>> from autodiff_compiler import Tensor
    >>> kron(Tensor([1, 2]), Tensor([1, 10])).tolist()
    [1, 10, 2, 20]
    """
    return call.kron(input, other)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum of products over pairs of dimensions: a number of them, or two lists that are paired in order."""
    return call.tensordot(a, b, axes)


def tensor_dot(x1: Any, x2: Any, axes: Any) -> Any:
    """MindSpore's name of `tensordot`."""
    return call.tensordot(x1, x2, axes)


def einsum(equation: str, *operands: Any) -> Any:
    """Sum of products over named dimensions, as `numpy.einsum`; the order of the products is chosen by cost.

    ValueError for an equation that does not fit the operands, ShapeError for sizes that do not.

    >>> from autodiff_compiler import Tensor
    >>> einsum("ij,j->i", Tensor([[1, 2], [3, 4]]), Tensor([1, 10])).tolist()
    [21, 43]
    """
    return call.einsum(equation, *operands)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (mat1 @ mat2)."""
    return call.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (mat @ vec)."""
    return call.addmv(input, mat, vec, beta=beta, alpha=alpha)


def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * outer(vec1, vec2)."""
    return call.addr(x, vec1, vec2, beta=beta, alpha=alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * bmm(batch1, batch2); of two matrices their product."""
    if as_tensor(batch1).ndim == 2 and as_tensor(batch2).ndim == 2:
        return call.addmm(input, batch1, batch2, beta=beta, alpha=alpha)
    return call.baddbmm(input, batch1, batch2, beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * the sum over the batch of batch1 @ batch2; the rows of one product are its batch."""
    if as_tensor(batch1).ndim == 2 and as_tensor(batch2).ndim == 2:
        return call.add(call.mul(input, beta), call.mul(call.sum(call.matmul(batch1, batch2), 0), alpha))
    return call.addbmm(input, batch1, batch2, beta=beta, alpha=alpha)


# ------------------------------------------------------------------------------------------------ diagonals
def diag(input: Any) -> Any:
    """A tensor of twice the dimensions with `input` where both halves of the index agree, and zeros elsewhere.

    >>> from autodiff_compiler import Tensor
    >>> diag(Tensor([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    x = as_tensor(input, "input")
    return call.reshape(call.diagflat(x), x.shape + x.shape)


def diagflat(input: Any, offset: int = 0) -> Any:
    """All elements of `input` on a diagonal of a matrix of zeros."""
    return call.diagflat(input, offset)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices of zeros, in two new dimensions, with the last dimension of `input` on a diagonal."""
    return call.diag_embed(input, offset, dim1, dim2)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A diagonal of two dimensions, as the last dimension of the result."""
    return call.diagonal(input, offset, dim1, dim2)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The tensor with a diagonal of two dimensions replaced by `src`, which has the shape of that diagonal.

    >>> from autodiff_compiler import Tensor
    >>> diagonal_scatter(Tensor([[1, 2], [3, 4]]), Tensor([8, 9])).tolist()
    [[8, 2], [3, 9]]
    """
    return call.diagonal_scatter(input, src, offset, dim1, dim2)


def trace(input: Any) -> Any:
    """Sum of the diagonal of a matrix, in its dtype."""
    x = as_tensor(input, "input")
    return call.cast(call.trace(x), x.dtype)


# ------------------------------------------------------------------------------------------------ systems, inverses
def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b; a vector b is one right side, batches broadcast.  LinAlgError if a is singular."""
    return call.solve(a, b)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """x with matrix @ x = rhs, or matrix.T @ x = rhs if `adjoint`."""
    return call.solve(call.matrix_transpose(as_tensor(matrix, "matrix")) if adjoint else matrix, rhs)


def triangular_solve(a: Any, b: Any, lower: bool = False, transpose: bool = False, unit: bool = False) -> Any:
    """x with a @ x = b for one triangle of a, the upper by default; with `unit` its diagonal counts as ones."""
    return call.triangular_solve(a, b, lower, transpose, unit)


def lstsq(input: Any, A: Any) -> Any:
    """The x of least norm among those of least |input @ x - A|, by singular values."""
    return call.lstsq(input, A)


def inverse(input: Any) -> Any:
    """The inverse of square matrices; LinAlgError if one is singular."""
    return call.inverse(input)


def pinv(x: Any, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Any:
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as zeros.

    `rtol` is the greater size times the rounding of the dtype, or 0 where `atol` is given.
    """
    return call.pinv(x, atol=atol, rtol=rtol, hermitian=hermitian)


def matrix_power(input: Any, n: int) -> Any:
    """A square matrix times itself, n times; of its inverse for negative n, the identity for 0."""
    return call.matrix_power(input, n)


def expm(input: Any) -> Any:
    """The matrix exponential of square matrices."""
    return call.expm(input)


matrix_exp = expm


# ------------------------------------------------------------------------------------------------ determinants
def det(input: Any) -> Any:
    """Determinants of square matrices; the derivative is defined where they are singular too, its own is not."""
    return call.det(input)


matrix_determinant = det


def slogdet(input: Any) -> tuple[Any, Any]:
    """Signs of determinants and logarithms of their absolute values."""
    return call.slogdet(input)


log_matrix_determinant = slogdet


def logdet(input: Any) -> Any:
    """Logarithms of determinants: nan where one is negative, -inf where it is 0."""
    return call.logdet(input)


# ------------------------------------------------------------------------------------------------ decompositions
def cholesky(input_x: Any, upper: bool = False) -> Any:
    """Lower triangular L with L @ L.T = input_x, or L.T if `upper`; LinAlgError if it is not positive definite.

    Only the symmetric part of `input_x` counts, and so the gradient is symmetric.
    """
    return call.cholesky(input_x, upper)


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """x with a @ x = input, from the Cholesky factor `input2` of a."""
    return call.cholesky_solve(input, input2, upper)


def cholesky_inverse(input_x: Any, upper: bool = False) -> Any:
    """The inverse of a, from its Cholesky factor."""
    return call.cholesky_inverse(input_x, upper)


def eigh(x: Any) -> tuple[Any, Any]:
    """Eigenvalues in ascending order and eigenvectors, in columns, of the symmetric part of x.

    The gradient of eigenvectors, and the second derivative of eigenvalues, is inf or nan where eigenvalues coincide.
    """
    return call.eigh(x)


def eigvalsh(x: Any) -> Any:
    """Eigenvalues of the symmetric part of x, in ascending order."""
    return call.eigvalsh(x)


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """s, u, v with input = u @ diag(s) @ v.T, in MindSpore's order; s alone without `compute_uv`.

    The gradient of singular vectors is inf or nan where singular values coincide; the vectors that only full matrices
    have carry none (NotDifferentiableError).
    """
    return call.decomposed(input, full_matrices, compute_uv)


def svdvals(input: Any) -> Any:
    """Singular values in descending order."""
    return call.svdvals(input)


def qr(input: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """q, r with input = q @ r: orthonormal columns and an upper triangular r; q is square if `mode` is "complete"."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', not {mode!r}")
    return call.qr(input, complete=mode == "complete")


# ------------------------------------------------------------------------------------------------ packed factors
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """x with a @ x = b, from a's LU decomposition: both triangles in one matrix, and row exchanges counted from 1.

    IndexError: a pivot that is no row.  A singular a gives inf or nan.
    """
    return call.lu_solve(b, LU_data, LU_pivots)


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """p, l, u with a = p @ l @ u, from a's LU decomposition and its row exchanges, counted from 1.

    Without `unpack_pivots` l and u, without `unpack_data` p alone.
    """
    p, low, up = call.lu_unpack(LU_data, LU_pivots)
    if unpack_data:
        return (p, low, up) if unpack_pivots else (low, up)
    return p if unpack_pivots else None


def geqrf(input: Any) -> tuple[Any, Any]:
    """Packed QR: r and, below the diagonal, the vectors of the Householder reflections that make q; and their factors.

    NotDifferentiableError for its gradient: `qr` has one.
    """
    packed, factors = call.geqrf(input)
    return packed, factors


def orgqr(input: Any, input2: Any) -> Any:
    """The first columns of q, as many as `input` has, from what `geqrf` packed: reflections and their factors."""
    return call.orgqr(input, input2)


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """q @ other (q.T with `transpose`, or other @ q unless `left`), from what `geqrf` packed."""
    return call.ormqr(input, tau, other, left, transpose)


def eigvals(A: Any) -> Any:
    """Refused with UnsupportedCallError: eigenvalues of a general matrix are complex; see `eigvalsh`."""
    return call.eigvals(A)
