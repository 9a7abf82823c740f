"""MindSpore's `mint.linalg`."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..ops import norm

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]


def inv(input: Any) -> Any:
    """The inverse of matrices."""
    return ops.inverse(input)


def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, upper triangular, whose product is A; `mode` is "reduced" or "complete"."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f'`mode` is "reduced" or "complete", not {mode!r}')
    return ops.qr(A, mode)


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors along dimensions, or of the flat tensor."""
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices."""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)
