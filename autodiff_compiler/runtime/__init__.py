"""Objects of run time: Tensors, Parameters, and their storage."""

from __future__ import annotations

from .parameter import Parameter, ParameterTuple
from .tensor import Tensor, wrap

__all__ = ["Parameter", "ParameterTuple", "Tensor", "wrap"]
