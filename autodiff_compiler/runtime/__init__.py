"""What programs hold at run time: Tensors, Parameters, and the storage they share."""

from __future__ import annotations

from .parameter import Parameter, ParameterTuple
from .tensor import Tensor, wrap

__all__ = ["Parameter", "ParameterTuple", "Tensor", "wrap"]
