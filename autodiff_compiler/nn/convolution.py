"""Convolutions and their transposes as Cells."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..common.initializer import HeUniform, Uniform, initializer
from ..dtypes import dtype_of
from ..ir.primitive import call
from ..locks import remembered
from ..runtime.parameter import Parameter
from . import channels
from .arguments import choice, padding, sizes
from .layer import Layer

_PAD_MODES = ("same", "valid", "pad")


#: Parameters of constructors.
_CHANNELS = "in_channels: positive, out_channels: positive, kernel_size, stride=1, pad_mode: str = 'same', padding=0"
_WEIGHTS = "has_bias: flag = False, weight_init=None, bias_init=None"
_WINDOWS = f"{_CHANNELS}, dilation=1, group: positive = 1, {_WEIGHTS}"
#: What their `repr` shows.
_SHOWN = (
    "input_channels=in_channels, output_channels=out_channels, kernel_size, stride, pad_mode, padding, dilation, "
    "group, has_bias, weight_init, bias_init"
)


class _Convolution(Layer):
    """The base of convolutions: arguments, weight and bias."""

    weight: Any
    bias: Any
    _dimensions = 2
    _transposed: bool = False
    _formats: tuple[str, ...] = ("NCHW",)
    data_format = "NCHW"

    def _make(
        self,
        kernel_size: Any,
        stride: Any,
        pad_mode: Any,
        padding: Any,
        dilation: Any,
        weight_init: Any,
        bias_init: Any,
        dtype: Any,
        output_padding: Any = 0,
    ) -> None:
        for name, count in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if count % self.group:
                raise ValueError(f"`{name}` must be a multiple of `group`, but {count} is none of {self.group}")
        choice("data_format", self.data_format, self._formats)
        self._place_windows(kernel_size, stride, pad_mode, padding, dilation)
        if self._transposed:
            self._set_output_padding(output_padding)
        self.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.bias_init = bias_init
        shape = self._weight_shape()
        self.weight = Parameter(initializer(self.weight_init, shape, dtype_of(dtype)), name="weight")
        self.bias = None
        if self.has_bias:
            if bias_init is None:
                self.bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            self.bias = Parameter(initializer(self.bias_init, (self.out_channels,), dtype_of(dtype)), name="bias")

    def _place_windows(self, kernel_size: Any, stride: Any, pad_mode: Any, pad: Any, dilation: Any) -> None:
        n = self._dimensions
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride = self._sizes("stride", stride)
        self.dilation = self._sizes("dilation", dilation)
        self.pad_mode = choice("pad_mode", pad_mode.lower() if isinstance(pad_mode, str) else pad_mode, _PAD_MODES)
        self.padding = padding(self.pad_mode, pad, n)

    def _set_output_padding(self, output_padding: Any) -> None:
        self.output_padding = sizes("output_padding", output_padding, self._dimensions, 0)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise ValueError(f"output_padding={output_padding!r} has no meaning without pad_mode='pad'")

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        return sizes(name, value, self._dimensions)

    def _weight_shape(self) -> tuple[int, ...]:
        if self._transposed:
            return self.in_channels, self.out_channels // self.group, *self.kernel_size
        if self.data_format == "NHWC":
            return self.out_channels, *self.kernel_size, self.in_channels // self.group
        return self.out_channels, self.in_channels // self.group, *self.kernel_size


class _OneDimensional(_Convolution):
    _dimensions = 1
    _formats = ("NCL",)
    data_format = "NCL"

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        # MindSpore 2.10: the weight of one dimension has a second one of size 1.
        return 1, *sizes(name, value, 1)


class Conv1d(_OneDimensional, parameters=f"{_WINDOWS}, dtype=float32", shown=_SHOWN):
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


class Conv2d(
    _Convolution,
    parameters=f"{_WINDOWS}, data_format: str = 'NCHW', dtype=float32",
    shown=f"{_SHOWN}, format=data_format",
):
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


class Conv3d(_Convolution, parameters=f"{_WINDOWS}, data_format: str = 'NCDHW', dtype=float32", shown=_SHOWN):
    """Convolution of [batch, channels, depth, height, width] with a weight [out_channels, in_channels / group, ...].

    Arguments, initial values and errors are those of `Conv2d`; `padding` is one int, or six (two per dimension).

    >>> from autodiff_compiler import ops
    >>> Conv3d(1, 2, 3, pad_mode="valid")(ops.ones((1, 1, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _dimensions = 3
    _formats = ("NCDHW",)

    def construct(self, x: Any) -> Any:
        where = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        return ops.conv3d(x, self.weight, self.bias, *where)


# ------------------------------------------------------------------------------------------------ transposes
class Conv1dTranspose(_OneDimensional, parameters=f"{_WINDOWS}, dtype=float32", shown=_SHOWN):
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


class Conv2dTranspose(
    _TransposeWithOutputPadding,
    parameters=f"{_CHANNELS}, output_padding=0, dilation=1, group: positive = 1, {_WEIGHTS}, dtype=float32",
    shown=_SHOWN,
):
    """The transpose of a `Conv2d` in its input; its weight is [in_channels, out_channels / group, h, w].

    Sizes of the result by `pad_mode`: "same" the input's times the stride; "valid" as many as all windows cover, but
    not fewer than with "same"; "pad" as many as they cover, less the `padding`, and `output_padding` more.
    Arguments, initial values and errors are those of `Conv2d`.

    >>> from autodiff_compiler import ops
    >>> Conv2dTranspose(1, 1, 2, stride=2, pad_mode="pad", weight_init="ones")(ops.ones((1, 1, 1, 1))).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """


class Conv3dTranspose(
    _TransposeWithOutputPadding,
    parameters=f"{_CHANNELS}, dilation=1, group: positive = 1, output_padding=0, {_WEIGHTS}, "
    "data_format: str = 'NCDHW', dtype=float32",
    shown=_SHOWN,
):
    """The transpose of a `Conv3d` in its input; its weight is [in_channels, out_channels / group, d, h, w].

    See `Conv2dTranspose`.
    """

    _dimensions = 3
    _formats = ("NCDHW",)
