"""MindSpore's place of `Parameter` and `ParameterTuple`."""

from ..runtime.parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
