"""Layers with weights, and the activation functions as Cells."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..common.initializer import HeUniform, Uniform, initializer
from ..dtypes import dtype_of, float32
from ..runtime.parameter import Parameter
from .cell import Cell

__all__ = ["Dense", "Flatten", "Identity", "LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh", "get_activation"]


class Dense(Cell):
    """A fully connected layer: ``activation(x @ weight.T + bias)`` over the last dimension of x.

    `weight` [out_channels, in_channels] and `bias` [out_channels] start evenly spread over +-1/sqrt(in_channels), or as
    `initializer` fills them with what is given.  `activation` is a Cell, a function, or a name ("relu").

    >>> from autodiff_compiler import Tensor
    >>> Dense(2, 1, weight_init=0.5, bias_init="ones")(Tensor([[1.0, 3.0]])).tolist()
    [[3.0]]
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.in_channels = _positive("in_channels", in_channels)
        self.out_channels = _positive("out_channels", out_channels)
        if not isinstance(has_bias, bool):
            raise TypeError(f"`has_bias` must be a bool, not a {type(has_bias).__name__}")
        self.has_bias = has_bias
        dtype = dtype_of(dtype)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, (out_channels, in_channels), dtype), name="weight")
        self.bias = None
        if has_bias:
            bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise TypeError(f"`activation` must be a Cell, a function or a name, not a {type(activation).__name__}")

    def construct(self, x: Any) -> Any:
        y = ops.matmul(x, self.weight.T)
        if self.bias is not None:
            y = y + self.bias
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        return f"input_channels={self.in_channels}, output_channels={self.out_channels}, has_bias={self.has_bias}"


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"`{name}` must be an int, not a {type(value).__name__}")
    if value <= 0:
        raise ValueError(f"`{name}` must be positive, not {value}")
    return value


class Flatten(Cell):
    """The dimensions from `start_dim` to `end_dim` made one: by default all but the first, the batch."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Any) -> Any:
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)

    def extend_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Identity(Cell):
    """Its argument, unchanged."""

    def construct(self, x: Any) -> Any:
        return x


class ReLU(Cell):
    """max(x, 0) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.relu(x)


class Tanh(Cell):
    """Hyperbolic tangent of every element."""

    def construct(self, x: Any) -> Any:
        return ops.tanh(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)) for every element."""

    def construct(self, x: Any) -> Any:
        return ops.sigmoid(x)


class _AlongAxis(Cell):
    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(f"`axis` must be an int, not a {type(axis).__name__}")
        self.axis = axis

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class Softmax(_AlongAxis):
    """exp(x) divided by its sum along an axis."""

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, self.axis)


class LogSoftmax(_AlongAxis):
    """Logarithm of softmax along an axis."""

    def construct(self, x: Any) -> Any:
        return ops.log_softmax(x, self.axis)


_ACTIVATIONS: dict[str, type[Cell]] = {
    "relu": ReLU,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
}


def get_activation(name: str, prim_name: str | None = None) -> Cell | None:
    """A new activation Cell by its name; None for an empty name, KeyError for an unknown one.

    >>> get_activation("relu")
    ReLU()
    """
    if not name:
        return None
    if name not in _ACTIVATIONS:
        raise KeyError(f"there is no activation called {name!r}; known are {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[name]()
