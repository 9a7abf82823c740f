"""Convolutions and their transposes as Cells."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..common.initializer import HeUniform, Uniform, initializer
from ..dtypes import dtype_of, float32
from ..ir.primitive import call
from ..locks import remembered
from ..runtime.parameter import Parameter
from . import channels
from .arguments import choice, flag, padding, positive, sizes
from .cell import Cell

__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"]

_PAD_MODES = ("same", "valid", "pad")


class _Convolution(Cell):
    """The base of convolutions: arguments, weight and bias."""

    weight: Any
    bias: Any
    _dimensions = 2
    _transposed: bool = False
    _formats: tuple[str, ...] = ("NCHW",)

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
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.in_channels = positive("in_channels", in_channels)
        self.out_channels = positive("out_channels", out_channels)
        self.group = positive("group", group)
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % group:
                raise ValueError(f"`{name}` must be a multiple of `group`, but {count} is none of {group}")
        self.data_format = choice("data_format", data_format, self._formats)
        self.has_bias = flag("has_bias", has_bias)
        self._place_windows(kernel_size, stride, pad_mode, padding, dilation)
        self.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.bias_init = bias_init
        shape = self._weight_shape()
        self.weight = Parameter(initializer(self.weight_init, shape, dtype_of(dtype)), name="weight")
        self.bias = None
        if has_bias:
            if bias_init is None:
                self.bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            self.bias = Parameter(initializer(self.bias_init, (out_channels,), dtype_of(dtype)), name="bias")

    def _place_windows(self, kernel_size: Any, stride: Any, pad_mode: Any, pad: Any, dilation: Any) -> None:
        n = self._dimensions
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride = self._sizes("stride", stride)
        self.dilation = self._sizes("dilation", dilation)
        self.pad_mode = choice("pad_mode", pad_mode.lower() if isinstance(pad_mode, str) else pad_mode, _PAD_MODES)
        self.padding = padding(self.pad_mode, pad, n)

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        return sizes(name, value, self._dimensions)

    def _weight_shape(self) -> tuple[int, ...]:
        if self._transposed:
            return self.in_channels, self.out_channels // self.group, *self.kernel_size
        if self.data_format == "NHWC":
            return self.out_channels, *self.kernel_size, self.in_channels // self.group
        return self.out_channels, self.in_channels // self.group, *self.kernel_size

    def extend_repr(self) -> str:
        said = {
            "input_channels": self.in_channels,
            "output_channels": self.out_channels,
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "pad_mode": self.pad_mode,
            "padding": self.padding,
            "dilation": self.dilation,
            "group": self.group,
            "has_bias": self.has_bias,
            "weight_init": self.weight_init,
            "bias_init": self.bias_init,
        }
        if len(self._formats) > 1:
            said["format"] = self.data_format
        return ", ".join([f"{name}={value}" for name, value in said.items()])


class _OneDimensional(_Convolution):
    """Over one dimension; its weight has a second one of size 1, as in MindSpore, so that checkpoints fit."""

    _dimensions = 1
    _formats = ("NCL",)

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
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            "NCL",
            dtype,
        )

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        return 1, *sizes(name, value, 1)


class Conv1d(_OneDimensional):
    """Convolution of [batch, channels, length] with a weight [out_channels, in_channels / group, 1, kernel_size].

    Arguments, initial values and errors are those of `Conv2d`; `padding` is one int, or two (before and after).

    >>> from autodiff_compiler import ops
    >>> Conv1d(1, 1, 2, pad_mode="valid", weight_init="ones")(ops.ones((1, 1, 4))).tolist()
    [[[2.0, 2.0, 2.0]]]
    """

    def construct(self, x: Any) -> Any:
        weight = ops.squeeze(self.weight, 2)
        stride, dilation = self.stride[1], self.dilation[1]
        return ops.conv1d(x, weight, self.bias, stride, self.pad_mode, self.padding, dilation, self.group)


class Conv2d(_Convolution):
    """Convolution of [batch, channels, height, width] with a weight [out_channels, in_channels / group, h, w].

    `kernel_size`, `stride` and `dilation` are one int or two.  `pad_mode`: "same" (as many windows as elements, divided
    by the stride), "valid" (none reaches over the border), "pad": zeros around, as many as `padding` says; it is one
    int, or four (top, bottom, left, right).  `weight` starts with ``HeUniform(sqrt(5))``, `bias` evenly spread over
    +-1/sqrt(elements of a filter), or as `initializer` fills them with what is given.  With the `data_format` "NHWC"
    channels come last, also in the weight [out_channels, h, w, in_channels / group].

    TypeError, ValueError: arguments that are none of these.

    >>> from autodiff_compiler import ops
    >>> net = Conv2d(1, 2, 3, pad_mode="valid", weight_init="ones", has_bias=True, bias_init=0.5)
    >>> net(ops.ones((1, 1, 3, 3))).tolist()
    [[[[9.5]], [[9.5]]]]
    """

    _formats = ("NCHW", "NHWC")

    @remembered
    def conv2d(self) -> Any:
        """What subclasses with a `construct` of their own call: it takes x and a weight."""
        windows = self.pad_mode, self.padding, self.stride, self.dilation
        return ops.Conv2D(self.out_channels, self.kernel_size, 1, *windows, self.group, self.data_format)

    @remembered
    def bias_add(self) -> Any:
        """The operator that adds a bias to what `conv2d` returned."""
        return ops.BiasAdd(self.data_format)

    def construct(self, x: Any) -> Any:
        where = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        x, weight = (channels.first(v, self.data_format) for v in (x, self.weight))
        return channels.last(ops.conv2d(x, weight, self.bias, *where), self.data_format)


class Conv3d(_Convolution):
    """Convolution of [batch, channels, depth, height, width] with a weight [out_channels, in_channels / group, ...].

    Arguments, initial values and errors are those of `Conv2d`; `padding` is one int, or six (two per dimension).

    >>> from autodiff_compiler import ops
    >>> Conv3d(1, 2, 3, pad_mode="valid")(ops.ones((1, 1, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _dimensions = 3
    _formats = ("NCDHW",)

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
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )

    def construct(self, x: Any) -> Any:
        where = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        return ops.conv3d(x, self.weight, self.bias, *where)


# ------------------------------------------------------------------------------------------------ transposes
class Conv1dTranspose(_OneDimensional):
    """The transpose of a `Conv1d` in its input; its weight is [in_channels, out_channels / group, 1, kernel_size].

    See `Conv2dTranspose`.

    >>> from autodiff_compiler import ops
    >>> Conv1dTranspose(1, 1, 2, stride=2, pad_mode="valid", weight_init="ones")(ops.ones((1, 1, 2))).tolist()
    [[[1.0, 1.0, 1.0, 1.0]]]
    """

    _transposed = True

    def construct(self, x: Any) -> Any:
        weight = ops.squeeze(self.weight, 2)
        stride, dilation = self.stride[1], self.dilation[1]
        return call.transposed_convolution(
            x, weight, self.bias, stride, self.pad_mode, self.padding, 0, dilation, self.group, 1
        )


class _TransposeWithOutputPadding(_Convolution):
    _transposed = True

    def _set_output_padding(self, output_padding: Any) -> None:
        extra = sizes("output_padding", output_padding, self._dimensions, 0)
        if any(extra) and self.pad_mode != "pad":
            raise ValueError(f"output_padding={output_padding!r} has no meaning without pad_mode='pad'")
        self.output_padding = extra

    def construct(self, x: Any) -> Any:
        return call.transposed_convolution(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self.padding,
            self.output_padding,
            self.dilation,
            self.group,
            self._dimensions,
        )


class Conv2dTranspose(_TransposeWithOutputPadding):
    """The transpose of a `Conv2d` in its input; its weight is [in_channels, out_channels / group, h, w].

    Sizes of the result by `pad_mode`: "same" the input's times the stride; "valid" as many as all windows cover, but
    not fewer than with "same"; "pad" as many as they cover, less the `padding`, and `output_padding` more.
    Arguments, initial values and errors are those of `Conv2d`.

    >>> from autodiff_compiler import ops
    >>> Conv2dTranspose(1, 1, 2, stride=2, pad_mode="pad", weight_init="ones")(ops.ones((1, 1, 1, 1))).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            "NCHW",
            dtype,
        )
        self._set_output_padding(output_padding)


class Conv3dTranspose(_TransposeWithOutputPadding):
    """The transpose of a `Conv3d` in its input; its weight is [in_channels, out_channels / group, d, h, w].

    See `Conv2dTranspose`.
    """

    _dimensions = 3
    _formats = ("NCDHW",)

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
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )
        self._set_output_padding(output_padding)
