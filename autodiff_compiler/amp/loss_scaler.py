"""Loss scalers: objects that scale a loss, unscale its gradients and adapt the scale, in eager and in compiled code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .. import ops
from ..dtypes import float32, int32
from ..nn.arguments import number, positive
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from ..transforms.classes import jit_class

__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "init_status"]


@jit_class
class LossScaler(ABC):
    """Base of loss scalers: a subclass defines `scale`, `unscale` and `adjust`."""

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """A Tensor, or Tensors in a tuple, list or dict, times the scale."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """The same divided by the scale."""

    @abstractmethod
    def adjust(self, grads_finite: Any) -> Any:
        """Adapts the scale to whether the gradients are finite (a bool Tensor); returns whether it may change."""


class StaticLossScaler(LossScaler):
    """A scale that stays.  Products have the dtype of what is scaled.

    TypeError: `scale_value` is no number.  ValueError: it is below 1.

    >>> scaler = StaticLossScaler(1024)
    >>> scaler.scale(Tensor([1.5])).tolist(), scaler.unscale((Tensor([2048.0]),))[0].tolist()
    ([1536.0], [2.0])
    """

    def __init__(self, scale_value: float) -> None:
        if number("scale_value", scale_value) < 1:
            raise ValueError(f"`scale_value` must be at least 1, not {scale_value}")
        self.scale_value = _state(scale_value, float32, "scale_value")

    def scale(self, inputs: Any) -> Any:
        """A Tensor, or Tensors in a tuple, list or dict, times the scale."""
        return _times(inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """The same divided by the scale."""
        return _times(inputs, 1.0 / self.scale_value)

    def adjust(self, grads_finite: Any) -> Any:
        """Changes nothing, and returns False."""
        return False


class DynamicLossScaler(StaticLossScaler):
    """A scale that grows by `scale_factor` after `scale_window` finite steps, and shrinks by it, to 1, at each other.

    It stays where growing would make it infinite.  TypeError, ValueError: arguments that are no numbers or not
    positive, a scale below 1.

    >>> scaler = DynamicLossScaler(1024, 2, 1)
    >>> scaler.adjust(Tensor(False)), scaler.scale_value.item()
    (True, 512.0)
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__(scale_value)
        self.scale_window = positive("scale_window", scale_window)
        self.scale_factor = positive("scale_factor", scale_factor)
        self.counter = _state(0, int32, "counter")

    def adjust(self, grads_finite: Any) -> Any:
        """Adapts the scale to whether the gradients are finite (a bool Tensor), and returns True."""
        finite = ops.logical_and(grads_finite, True)
        higher = self.scale_value * self.scale_factor
        grows = ops.logical_and(self.counter == self.scale_window - 1, ops.isfinite(higher))
        lower = ops.maximum(self.scale_value / self.scale_factor, 1.0)
        counted = (self.counter + 1) % self.scale_window
        scale = ops.where(finite, ops.where(grows, higher, self.scale_value), lower)
        ops.assign(self.scale_value, scale)
        ops.assign(self.counter, ops.where(finite, counted, 0))
        return True


def _state(value: float, dtype: Any, name: str) -> Any:
    return Parameter(Tensor(value, dtype), name=name, requires_grad=False)


def _times(x: Any, factor: Any) -> Any:
    if isinstance(x, dict):
        return {k: _times(v, factor) for k, v in x.items()}
    if isinstance(x, tuple | list):
        return type(x)([_times(v, factor) for v in x])
    return ops.mul(x, ops.cast(factor, x.dtype))  # not `*`: compiled code runs this function on IR values


def _grad_scale_map(scale_value: Any, inputs: Any) -> Any:
    """Tensors times the scale, for loss scalers of users: MindSpore's example of one imports this name."""
    return _times(inputs, scale_value)


def _grad_unscale_map(scale_value: Any, inputs: Any) -> Any:
    """Tensors divided by the scale."""
    return _times(inputs, 1.0 / scale_value)


def init_status() -> Any:
    """A status for `all_finite`, which needs none here: zeros [8].

    >>> init_status().shape
    (8,)
    """
    return ops.zeros((8,), float32)
