"""Functions of matrices as Cells; the last two dimensions of what they are given are the matrices."""

from __future__ import annotations

from typing import Any

from .. import ops
from .cell import Cell

__all__ = ["MatDet", "MatInverse", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"]


class MatDet(Cell):
    """The determinants of square matrices.

    >>> from autodiff_compiler import Tensor
    >>> MatDet()(Tensor([[4.0, 2.0], [2.0, 5.0]])).item()
    16.0
    """

    def construct(self, a: Any) -> Any:
        return ops.det(a)


class MatInverse(Cell):
    """The inverses of square matrices; LinAlgError if one is singular.

    >>> from autodiff_compiler import Tensor
    >>> MatInverse()(Tensor([[4.0, 0.0], [0.0, 2.0]])).tolist()
    [[0.25, 0.0], [0.0, 0.5]]
    """

    def construct(self, a: Any) -> Any:
        return ops.inverse(a)


class MatrixDiag(Cell):
    """Square matrices with the given diagonals, [..., n] as [..., n, n], and zeros elsewhere.

    >>> from autodiff_compiler import Tensor
    >>> MatrixDiag()(Tensor([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """

    def construct(self, input_x: Any) -> Any:
        return ops.matrix_diag(input_x)


class MatrixDiagPart(Cell):
    """The diagonals of matrices, [..., m, n] as [..., min(m, n)].

    >>> from autodiff_compiler import Tensor
    >>> MatrixDiagPart()(Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).tolist()
    [1.0, 4.0]
    """

    def construct(self, input_x: Any) -> Any:
        return ops.matrix_diag_part(input_x, 0, 0)


class MatrixSetDiag(Cell):
    """Matrices [..., m, n] with other diagonals, [..., min(m, n)].

    >>> from autodiff_compiler import Tensor
    >>> MatrixSetDiag()(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([7.0, 8.0])).tolist()
    [[7.0, 2.0], [3.0, 8.0]]
    """

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        return ops.matrix_set_diag(input_x, diagonal)
