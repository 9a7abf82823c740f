"""Gradients over several processes, of which there is one."""

from __future__ import annotations

from typing import Any

from ..arguments import integer
from ..cell import Cell

__all__ = ["DistributedGradReducer"]


class DistributedGradReducer(Cell):
    """The gradients of all processes together.  There is one process, so they are returned as they are.

    ValueError: a `degree` of more than one.

    >>> from autodiff_compiler import Tensor
    >>> DistributedGradReducer([])((Tensor([1.0]),))[0].tolist()
    [1.0]
    """

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: Any = "",
    ) -> None:
        super().__init__(auto_prefix=False)
        self.degree, self.mean = 1 if degree is None else integer("degree", degree, 1), bool(mean)
        if self.degree != 1:
            raise ValueError(f"there is one process, so `degree` must be 1, not {degree}")

    def construct(self, grads: Any) -> Any:
        return grads
