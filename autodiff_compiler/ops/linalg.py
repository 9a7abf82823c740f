"""MindSpore's functional names of linear algebra.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.  All functions
of matrices take leading batch dimensions and compute integers as float32, 16-bit floats in float32.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call
from ..primitives.family import as_tensor

__all__ = ["addbmm", "baddbmm", "diag", "geqrf", "lu_unpack", "matrix_solve", "qr", "trace"]


# ------------------------------------------------------------------------------------------------ products


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


def trace(input: Any) -> Any:
    """Sum of the diagonal of a matrix, in its dtype."""
    x = as_tensor(input, "input")
    return call.cast(call.trace(x), x.dtype)


# ------------------------------------------------------------------------------------------------ systems, inverses


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """x with matrix @ x = rhs, or matrix.T @ x = rhs if `adjoint`."""
    return call.solve(call.matrix_transpose(as_tensor(matrix, "matrix")) if adjoint else matrix, rhs)


# ------------------------------------------------------------------------------------------------ decompositions


def qr(input: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """q, r with input = q @ r: orthonormal columns and an upper triangular r; q is square if `mode` is "complete"."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', not {mode!r}")
    return call.qr(input, complete=mode == "complete")


# ------------------------------------------------------------------------------------------------ packed factors


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
