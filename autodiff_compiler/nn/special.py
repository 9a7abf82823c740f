"""Special functions as Cells, element by element."""

from __future__ import annotations

from typing import Any

from .. import ops
from .cell import Cell

__all__ = ["DiGamma", "IGamma", "LBeta", "LGamma"]


class LGamma(Cell):
    """The logarithm of the absolute value of the gamma function.

    >>> from autodiff_compiler import Tensor
    >>> LGamma()(Tensor([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """

    def construct(self, x: Any) -> Any:
        return ops.lgamma(x)


class DiGamma(Cell):
    """The derivative of the logarithm of the gamma function.

    >>> from autodiff_compiler import Tensor
    >>> round(DiGamma()(Tensor(1.0)).item(), 5)  # minus Euler's constant
    -0.57722
    """

    def construct(self, x: Any) -> Any:
        return ops.digamma(x)


class IGamma(Cell):
    """The lower incomplete gamma function of `a` at x, divided by the gamma function; they broadcast.

    >>> from autodiff_compiler import Tensor
    >>> round(IGamma()(Tensor(1.0), Tensor(2.0)).item(), 5)  # 1 - exp(-2)
    0.86466
    """

    def construct(self, a: Any, x: Any) -> Any:
        return ops.igamma(a, x)


class LBeta(Cell):
    """The logarithm of the beta function: ``lgamma(x) + lgamma(y) - lgamma(x + y)``; they broadcast.

    >>> from autodiff_compiler import Tensor
    >>> round(LBeta()(Tensor(2.0), Tensor(3.0)).exp().item(), 5)  # 1 / 12
    0.08333
    """

    def construct(self, x: Any, y: Any) -> Any:
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)
