"""Fully connected layers."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..common.initializer import HeUniform, Uniform, initializer
from ..dtypes import dtype_of, float32
from ..locks import remembered
from ..primitives.requirements import require
from ..runtime.parameter import Parameter
from .activation import get_activation
from .cell import Cell
from .layer import Layer


def _check_features(cell: Cell, shape: tuple[Any, ...], features: int, outs: int) -> None:
    if shape[-1:] != (features,):
        layer = type(cell).__name__
        wrong = f"not an input of shape {list(shape)}"
        message = f"{layer}({features}, {outs}) takes {features} features, {wrong}"
        hint = _fitting(layer, shape, features, outs)
        require(False, message, hint, between=(shape[-1:], (features,)))


class Dense(
    Layer,
    parameters="in_channels: positive, out_channels: positive, weight_init=None, bias_init=None, "
    "has_bias: flag = True, activation=None, dtype=float32",
    shown="input_channels=in_channels, output_channels=out_channels, has_bias",
):
    """A fully connected layer: ``activation(x @ weight.T + bias)`` over the last dimension of x.

    `weight` [out_channels, in_channels] and `bias` [out_channels] start evenly spread over +-1/sqrt(in_channels), or as
    `initializer` fills them with what is given.  `activation` is a Cell, a function, or a name ("relu").

    >>> from autodiff_compiler import Tensor
    >>> Dense(2, 1, weight_init=0.5, bias_init="ones")(Tensor([[1.0, 3.0]])).tolist()
    [[3.0]]
    """

    weight: Any
    bias: Any

    def _make(self, weight_init: Any, bias_init: Any, activation: Any, dtype: Any) -> None:
        dtype = dtype_of(dtype)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, (self.out_channels, self.in_channels), dtype), name="weight")
        self.bias = None
        if self.has_bias:
            bias_init = Uniform(1 / math.sqrt(self.in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (self.out_channels,), dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise TypeError(f"`activation` must be a Cell, a function or a name, not a {type(activation).__name__}")

    @remembered
    def matmul(self) -> Any:
        """What subclasses with a `construct` of their own call: it takes two dimensions of x, and the weight."""
        return ops.MatMul(transpose_b=True)

    @remembered
    def bias_add(self) -> Any:
        """The operator that adds a bias to what `matmul` returned."""
        return ops.BiasAdd()

    def construct(self, x: Any) -> Any:
        outs, features = self.weight.shape
        _check_features(self, x.shape, features, outs)
        y = ops.matmul(x, self.weight.T)
        if self.bias is not None:
            y = y + self.bias
        return y if self.activation is None else self.activation(y)


class Linear(Dense, shown="input_features=in_features, output_features=out_features, has_bias"):
    """A `Dense` layer without activation, under the argument names `in_features`, `out_features` and `bias`.

    >>> from autodiff_compiler import Tensor
    >>> Linear(2, 1, bias=False, weight_init=0.5)(Tensor([[1.0, 3.0]])).tolist()
    [[2.0]]
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_features, out_features, weight_init, bias_init, bias, None, float32 if dtype is None else dtype
        )
        self.in_features, self.out_features = in_features, out_features


class BiDense(
    Layer,
    parameters="in1_channels: positive, in2_channels: positive, out_channels: positive, weight_init=None, "
    "bias_init=None, has_bias: flag = True, dtype=float32",
    shown="in1_channels, in2_channels, out_channels, has_bias",
):
    """``x1 @ weight[k] @ x2.T + bias[k]`` for every output channel k, over the last dimensions of two inputs.

    `weight` [out_channels, in1_channels, in2_channels] and `bias` [out_channels] start evenly spread over
    +-1/sqrt(in1_channels).

    >>> from autodiff_compiler import Tensor
    >>> BiDense(1, 1, 1, weight_init=2.0, bias_init="ones")(Tensor([[3.0]]), Tensor([[4.0]])).tolist()
    [[25.0]]
    """

    weight: Any
    bias: Any

    def _make(self, weight_init: Any, bias_init: Any, dtype: Any) -> None:
        spread, dtype = Uniform(1 / math.sqrt(self.in1_channels)), dtype_of(dtype)
        shape = self.out_channels, self.in1_channels, self.in2_channels
        value = initializer(spread if weight_init is None else weight_init, shape, dtype)
        self.weight = Parameter(value, name="weight")
        self.bias = None
        if self.has_bias:
            value = initializer(spread if bias_init is None else bias_init, (self.out_channels,), dtype)
            self.bias = Parameter(value, name="bias")

    def construct(self, input1: Any, input2: Any) -> Any:
        return ops.bidense(input1, input2, self.weight, self.bias)


def _fitting(layer: str, shape: tuple[Any, ...], features: int, outs: int) -> str:
    """The hint of a shape error: how to make the layer and an input of this shape fit."""
    if shape:
        return f"make it `{layer}({shape[-1]}, {outs})`, or bring the features to the end"
    return f"a scalar has no axis of features: give it [..., {features}], one sample as [1, {features}]"
