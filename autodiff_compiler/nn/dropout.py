"""Dropout of elements as a Cell."""

from __future__ import annotations

from typing import Any

from .. import ops
from .arguments import number, probability
from .layer import Layer


class Dropout(Layer, parameters="keep_prob: float = 0.5, p: float | None = None, dtype=None", shown="p"):
    """In training 0 with probability p, else x / (1 - p); otherwise x.

    Without `p` it is 1 - `keep_prob`.  `dtype` changes nothing.  ValueError: p outside of [0, 1).

    >>> from autodiff_compiler import Tensor
    >>> Dropout(p=0.2)(Tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    def _make(self, keep_prob: Any, p: Any, dtype: Any) -> None:
        if p is None and not 0 < number("keep_prob", keep_prob) <= 1:
            raise ValueError(f"keep_prob must be more than 0, and at most 1, not {keep_prob}")
        self.p = probability("p", 1 - keep_prob if p is None else p)

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        return ops.dropout(x, self.p)
