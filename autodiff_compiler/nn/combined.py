"""Cells made of a layer and what usually goes with it."""

from __future__ import annotations

from typing import Any

from .. import nn, ops
from ..runtime.parameter import Parameter
from .activation import get_activation
from .arguments import flag, integer
from .cell import Cell
from .convolution import Conv2d
from .dense import Dense
from .normalization import BatchNorm1d, BatchNorm2d


def _activation(activation: Any, alpha: float) -> Any:
    if activation == "leakyrelu":
        return nn.LeakyReLU(alpha)
    if isinstance(activation, str):
        return get_activation(activation)
    if activation is not None and not isinstance(activation, Cell):
        raise TypeError(f"`activation` must be a Cell or a name, not a {type(activation).__name__}")
    return activation


class _NormalizedLayer(Cell):
    """A layer, then a normalization with `has_bn`, then an activation."""

    has_bn: bool
    batchnorm: Any
    activation: Any

    def _then(self, normalization: Cell | None, activation: Any, alpha: float, after_fake: bool) -> None:
        """Takes what follows the layer."""
        self.has_bn, self.after_fake = normalization is not None, flag("after_fake", after_fake)
        if normalization is not None:
            self.batchnorm = normalization
        self.activation = _activation(activation, alpha)

    def _finished(self, x: Any) -> Any:
        if self.has_bn:
            x = self.batchnorm(x)
        return x if self.activation is None else self.activation(x)


class Conv2dBnAct(_NormalizedLayer):
    """A `Conv2d`, a `BatchNorm2d` with `has_bn`, and an activation (a Cell or a name; `alpha` is that of "leakyrelu").

    >>> from autodiff_compiler import ops
    >>> Conv2dBnAct(1, 2, 3, has_bn=True, activation="relu")(ops.ones((1, 1, 4, 4))).shape
    (1, 2, 4, 4)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bn: bool = False,
        momentum: float = 0.997,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        windows = kernel_size, stride, pad_mode, padding, dilation, group
        self.conv = Conv2d(in_channels, out_channels, *windows, has_bias, weight_init, bias_init)
        normalization = BatchNorm2d(out_channels, eps, momentum) if flag("has_bn", has_bn) else None
        self._then(normalization, activation, alpha, after_fake)

    def construct(self, x: Any) -> Any:
        return self._finished(self.conv(x))


class DenseBnAct(_NormalizedLayer):
    """A `Dense` layer, a `BatchNorm1d` with `has_bn`, and an activation, as in `Conv2dBnAct`.

    >>> from autodiff_compiler import ops
    >>> DenseBnAct(3, 2, has_bn=True, activation="relu")(ops.ones((4, 3))).shape
    (4, 2)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        has_bn: bool = False,
        momentum: float = 0.9,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        normalization = BatchNorm1d(out_channels, eps, momentum) if flag("has_bn", has_bn) else None
        self._then(normalization, activation, alpha, after_fake)

    def construct(self, x: Any) -> Any:
        return self._finished(self.dense(x))


class TimeDistributed(Cell):
    """A layer (a Cell or a function) applied to every slice along `time_axis`.

    With `reshape_with_axis`, an axis of the input, the slices are one batch along it and the layer is called once.

    >>> from autodiff_compiler import nn, ops
    >>> TimeDistributed(nn.Dense(3, 6), time_axis=1, reshape_with_axis=0)(ops.ones((2, 4, 3))).shape
    (2, 4, 6)
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not callable(layer):
            raise TypeError(f"`layer` must be a Cell or a function, not a {type(layer).__name__}")
        self.layer, self.time_axis = layer, integer("time_axis", time_axis)
        self.reshape_with_axis = None if reshape_with_axis is None else integer("reshape_with_axis", reshape_with_axis)

    def construct(self, x: Any) -> Any:
        time = self.time_axis % x.ndim
        if self.reshape_with_axis is None:
            return ops.stack([self.layer(part) for part in ops.unbind(x, time)], time)
        batch = self.reshape_with_axis % x.ndim
        if batch == time:
            raise ValueError("`time_axis` and `reshape_with_axis` must be different axes")
        at = batch - 1 if batch > time else batch
        moved = ops.moveaxis(x, time, at)
        y = self.layer(ops.reshape(moved, (*moved.shape[:at], -1, *moved.shape[at + 2 :])))
        y = ops.reshape(y, (*y.shape[:at], *moved.shape[at : at + 2], *y.shape[at + 1 :]))
        return ops.moveaxis(y, at, time)


class ParameterUpdate(Cell):
    """Gives a Parameter the value it is called with, and returns that as a Tensor; TypeError if `param` is none.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> weight = Parameter([1.0])
    >>> ParameterUpdate(weight)(Tensor([2.0])).tolist(), weight.tolist()
    ([2.0], [2.0])
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(f"`param` must be a Parameter, not a {type(param).__name__}")
        self._param = param

    def construct(self, x: Any) -> Any:
        return ops.assign(self._param, x).copy()
