"""Gradient accumulation: a network that gets its batch in parts."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ..arguments import positive
from ..cell import Cell

__all__ = ["GradAccumulationCell", "MicroBatchInterleaved"]


class _MicroBatched(Cell):
    """The sum of what the network returns for equal parts of its inputs along the first dimension."""

    def __init__(self, network: Any, parts: int) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise TypeError(f"`network` must be a Cell, not a {type(network).__name__}")
        self.network, self._parts = network, parts

    def construct(self, *inputs: Any) -> Any:
        for x in inputs:
            if x.ndim == 0 or x.shape[0] % self._parts:
                raise ShapeError(f"a batch of shape {list(x.shape)} cannot be divided into {self._parts} equal parts")
        found = None
        for i in range(self._parts):
            part = [x[i * (x.shape[0] // self._parts) : (i + 1) * (x.shape[0] // self._parts)] for x in inputs]
            y = self.network(*part)
            found = y if i == 0 else found + y
        return found


class GradAccumulationCell(_MicroBatched):
    """The sum of a network's losses for `micro_size` equal parts of the batch, whose gradients add up.

    TypeError, ValueError: no Cell, no count.  ShapeError: a batch that cannot be divided.

    >>> from autodiff_compiler import Tensor, nn
    >>> GradAccumulationCell(nn.ReLU(), 2)(Tensor([[1.0], [-5.0], [2.0], [3.0]])).tolist()
    [[3.0], [3.0]]
    """

    def __init__(self, network: Any, micro_size: int) -> None:
        self.micro_size = positive("micro_size", micro_size)
        super().__init__(network, micro_size)


class MicroBatchInterleaved(_MicroBatched):
    """The sum of what a network returns for `interleave_num` equal parts of the batch, as in `GradAccumulationCell`.

    MindSpore computes the parts so that one is sent between devices while another is computed; here they come in turn.

    >>> from autodiff_compiler import Tensor, nn
    >>> MicroBatchInterleaved(nn.ReLU())(Tensor([1.0, -1.0])).tolist()
    [1.0]
    """

    def __init__(self, network: Any, interleave_num: int = 2) -> None:
        self.interleave_num = positive("interleave_num", interleave_num)
        super().__init__(network, interleave_num)
