"""Pooling as Cells: over windows, adaptive, over random regions, and unpooling."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..ir.primitive import call
from . import channels
from .arguments import choice, integer, padding, positive, sizes
from .layer import Layer


class _Pool(Layer, shown="kernel_size, stride, pad_mode"):
    """Windows over the last dimensions of [batch, channels, ...] or [channels, ...]."""

    _dimensions = 2
    data_format = "NCHW"

    def _set_windows(self, kernel_size: Any, stride: Any, mode: Any, pad: Any, only_with_pad: dict[str, Any]) -> None:
        n = self._dimensions
        choice("data_format", self.data_format, ("NCHW", "NHWC"))
        sizes("kernel_size", kernel_size, n)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        sizes("stride", self.stride, n)
        pad_mode = choice("pad_mode", mode.lower() if isinstance(mode, str) else mode, ("same", "valid", "pad"))
        self.pad_mode = pad_mode.upper()
        self.padding = padding(pad_mode, pad, n)
        if pad_mode != "pad" and only_with_pad:
            given = ", ".join([f"{name}={value!r}" for name, value in only_with_pad.items()])
            raise ValueError(f"{type(self).__name__}: {given} has no meaning with pad_mode={pad_mode!r}: use 'pad'")


# ------------------------------------------------------------------------------------------------ windows
#: Parameters of constructors.
_WINDOWS = "kernel_size=1, stride=1, pad_mode: str = 'valid', padding=0"
_OF_MAX = f"{_WINDOWS}, dilation=1, return_indices: flag = False, ceil_mode: flag = False"
_OF_MEAN = f"{_WINDOWS}, ceil_mode: flag = False, count_include_pad: flag = True"
_OF_MEAN_IN_2 = f"{_OF_MEAN}, divisor_override: int | None = None"


class _MaxPool(_Pool):
    def _make(self, kernel_size: Any, stride: Any, pad_mode: Any, padding: Any, dilation: Any) -> None:
        self.dilation = sizes("dilation", dilation, self._dimensions)
        given = {"dilation": dilation} if max(self.dilation) > 1 else {}
        given |= {"return_indices": True} if self.return_indices else {}
        given |= {"ceil_mode": True} if self.ceil_mode else {}
        self._set_windows(kernel_size, stride, pad_mode, padding, given)

    def construct(self, x: Any) -> Any:
        found = call.max_pooling(
            channels.first(x, self.data_format),
            self.kernel_size,
            self.stride,
            self.pad_mode.lower(),
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
            self._dimensions,
        )
        if self.return_indices:
            return channels.last(found[0], self.data_format), channels.last(found[1], self.data_format)
        return channels.last(found, self.data_format)


class MaxPool1d(_MaxPool, parameters=_OF_MAX):
    """The greatest element of every window over the last dimension; see `MaxPool2d`."""

    _dimensions = 1


class MaxPool2d(_MaxPool, parameters=f"{_OF_MAX}, data_format: str = 'NCHW'"):
    """The greatest element of every window over [..., height, width].

    `pad_mode`: "valid" (windows that lie inside), "same" (as many windows as elements, divided by the stride), or
    "pad", for which `padding` elements that are never the greatest lie around; `dilation`, `return_indices` (also the
    positions) and `ceil_mode` (also windows that only partly lie inside) belong to "pad".  ValueError: given otherwise.

    >>> from autodiff_compiler import Tensor
    >>> MaxPool2d(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()
    [[[[3.0]]]]
    """


class MaxPool3d(_MaxPool, parameters=_OF_MAX):
    """The greatest element of every window over the last 3 dimensions; see `MaxPool2d`."""

    _dimensions = 3


class _AvgPool(_Pool):
    #: Whether zeros that "same" puts around count as elements also without `ceil_mode`.
    _same_counts_zeros = False
    divisor_override: int | None = None

    def _make(self, kernel_size: Any, stride: Any, pad_mode: Any, padding: Any) -> None:
        if self.divisor_override is not None:
            positive("divisor_override", self.divisor_override)
        self._set_windows(kernel_size, stride, pad_mode, padding, {})

    def construct(self, x: Any) -> Any:
        y = call.avg_pooling(
            channels.first(x, self.data_format),
            self.kernel_size,
            self.stride,
            self.pad_mode.lower(),
            self.padding,
            self.ceil_mode,
            # MindSpore 2.10: "same" pads with what does not count, but with zeros that do if there is a `ceil_mode`,
            # and in three dimensions.
            self.count_include_pad and (self.pad_mode == "PAD" or self._same_counts_zeros or self.ceil_mode),
            self.divisor_override,
            self._dimensions,
        )
        return channels.last(y, self.data_format)


class AvgPool1d(_AvgPool, parameters=_OF_MEAN):
    """The mean of every window over the last dimension; see `AvgPool2d`."""

    _dimensions = 1


class AvgPool2d(_AvgPool, parameters=f"{_OF_MEAN_IN_2}, data_format: str = 'NCHW'"):
    """The mean of every window over [..., height, width].

    `pad_mode` as for `MaxPool2d`; with "pad" padding counts as zeros, or not at all without `count_include_pad`.
    `ceil_mode` adds windows that only partly lie inside, and `divisor_override` replaces the number of elements, in all
    modes.  As MindSpore computes it, "same" pads with what does not count, but with zeros if there is a `ceil_mode`.
    TypeError, ValueError: arguments that are none of these.

    >>> from autodiff_compiler import Tensor
    >>> AvgPool2d(2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()
    [[[[1.5]]]]
    """


class AvgPool3d(_AvgPool, parameters=_OF_MEAN_IN_2):
    """The mean of every window over the last 3 dimensions; see `AvgPool2d`.

    Unlike there the zeros that "same" puts around count always, if `count_include_pad` does not say otherwise.
    """

    _dimensions, _same_counts_zeros = 3, True


_OF_POWERS = "norm_type: number, kernel_size, stride=None, ceil_mode: flag = False"


class _LPPool(Layer):
    _dimensions = 2

    def _make(self) -> None:
        sizes("kernel_size", self.kernel_size, self._dimensions)
        if self.stride is not None:
            sizes("stride", self.stride, self._dimensions)


class LPPool1d(_LPPool, parameters=_OF_POWERS):
    """The `norm_type`-th root of the sum of powers in every window of [..., channels, length].

    >>> from autodiff_compiler import Tensor
    >>> LPPool1d(2, 2)(Tensor([[3.0, 4.0]])).tolist()
    [[5.0]]
    """

    _dimensions = 1

    def construct(self, x: Any) -> Any:
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool, parameters=_OF_POWERS):
    """The `norm_type`-th root of the sum of powers in every window of [..., channels, height, width]."""

    def construct(self, x: Any) -> Any:
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


# ------------------------------------------------------------------------------------------------ adaptive
class _AdaptivePool(Layer):
    _dimensions = 2

    def _make(self, output_size: Any) -> None:
        given = output_size if isinstance(output_size, tuple | list) else (output_size,)
        if len(given) not in (1, self._dimensions):
            raise ValueError(f"`output_size` must be one size or {self._dimensions}, not {output_size}")
        for size in given:
            if size is not None:
                integer("output_size", size, 1)
        self.output_size = given[0] if len(given) == 1 else tuple(given)


class AdaptiveAvgPool1d(_AdaptivePool, parameters="output_size"):
    """Means of `output_size` nearly equal parts of the last dimension."""

    _dimensions = 1

    def construct(self, x: Any) -> Any:
        return ops.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePool, parameters="output_size"):
    """Means of nearly equal parts of [..., height, width]; `output_size` is one size or two, None keeps one.

    >>> from autodiff_compiler import Tensor
    >>> AdaptiveAvgPool2d((1, None))(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
    [[[[2.0, 3.0]]]]
    """

    def construct(self, x: Any) -> Any:
        return ops.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePool, parameters="output_size"):
    """Means of nearly equal parts of the last 3 dimensions; `output_size` is one size or three, None keeps one."""

    _dimensions = 3

    def construct(self, x: Any) -> Any:
        return ops.adaptive_avg_pool3d(x, self.output_size)


class AdaptiveMaxPool1d(_AdaptivePool, parameters="output_size"):
    """Greatest elements of `output_size` nearly equal parts of the last dimension."""

    _dimensions = 1

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool1d(x, self.output_size)


class AdaptiveMaxPool2d(_AdaptivePool, parameters="output_size, return_indices: flag = False"):
    """Greatest elements of nearly equal parts of [..., height, width], with `return_indices` also their positions."""

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool2d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptivePool, parameters="output_size, return_indices: flag = False"):
    """Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their positions."""

    _dimensions = 3

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool3d(x, self.output_size, self.return_indices)


# ------------------------------------------------------------------------------------------------ random regions
_OF_REGIONS = "kernel_size, output_size=None, output_ratio=None, return_indices: flag = False, _random_samples=None"


class _FractionalMaxPool(Layer):
    def _make(self) -> None:
        if (self.output_size is None) == (self.output_ratio is None):
            raise ValueError(f"{type(self).__name__} needs either `output_size` or `output_ratio`")


class FractionalMaxPool2d(_FractionalMaxPool, parameters=_OF_REGIONS):
    """The greatest elements of regions of random place; see `ops.fractional_max_pool2d`."""

    def construct(self, x: Any) -> Any:
        return ops.fractional_max_pool2d(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool3d(_FractionalMaxPool, parameters=_OF_REGIONS):
    """The greatest elements of regions of random place; see `ops.fractional_max_pool3d`."""

    def construct(self, x: Any) -> Any:
        return ops.fractional_max_pool3d(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


# ------------------------------------------------------------------------------------------------ the way back
class _MaxUnpool(Layer):
    _dimensions = 2

    def _make(self) -> None:
        sizes("kernel_size", self.kernel_size, self._dimensions)
        sizes("padding", self.padding, self._dimensions, 0)
        if self.stride is not None:
            sizes("stride", self.stride, self._dimensions)


class MaxUnpool1d(_MaxUnpool, parameters="kernel_size, stride=None, padding=0"):
    """Zeros with the elements of x where a `MaxPool1d` found them (`indices`).

    >>> from autodiff_compiler import Tensor
    >>> MaxUnpool1d(2)(Tensor([[5.0, 7.0]]), Tensor([[1, 2]])).tolist()
    [[0.0, 5.0, 7.0, 0.0]]
    """

    _dimensions = 1

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return ops.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool, parameters="kernel_size, stride=None, padding=0"):
    """Zeros with the elements of x where a `MaxPool2d` found them (`indices`)."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return ops.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool, parameters="kernel_size, stride=None, padding=0"):
    """Zeros with the elements of x where a `MaxPool3d` found them (`indices`)."""

    _dimensions = 3

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return ops.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)
