"""Dropout as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from .arguments import probability
from .cell import Cell

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


class Dropout(Cell):
    """In training 0 with probability p, else x / (1 - p); otherwise x.

    Without `p` it is 1 - `keep_prob`.  `dtype` changes nothing.  ValueError: p outside of [0, 1).

    >>> from autodiff_compiler import Tensor
    >>> Dropout(p=0.2)(Tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = None) -> None:
        super().__init__()
        self.p = probability("p", 1 - keep_prob if p is None else p)

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        return ops.dropout(x, self.p)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class _ChannelDropout(Cell):
    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = probability("p", p)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """In training whole channels of [batch, channels, n] are 0 with probability p, the others times 1 / (1 - p)."""

    def construct(self, x: Any) -> Any:
        return ops.dropout1d(x, self.p, self.training)


class Dropout2d(_ChannelDropout):
    """In training whole channels of [batch, channels, h, w] are 0 with probability p, the others times 1 / (1 - p)."""

    def construct(self, x: Any) -> Any:
        return ops.dropout2d(x, self.p, self.training)


class Dropout3d(_ChannelDropout):
    """In training whole channels of [batch, channels, d, h, w] are 0 with probability p, others times 1 / (1 - p)."""

    def construct(self, x: Any) -> Any:
        return ops.dropout3d(x, self.p, self.training)
