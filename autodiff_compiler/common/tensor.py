"""MindSpore's place of `Tensor`."""

from ..runtime.tensor import Tensor

__all__ = ["Tensor"]
