"""Pooling as Cells: over windows, adaptive, over random regions, and unpooling."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..ir.primitive import call
from . import channels
from .arguments import choice, flag, integer, number, padding, positive, sizes
from .cell import Cell

# fmt: off
__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]
# fmt: on


class _Pool(Cell):
    """Windows over the last dimensions of [batch, channels, ...] or [channels, ...]."""

    _dimensions = 2

    def _set_windows(self, kernel_size: Any, stride: Any, mode: Any, pad: Any, only_with_pad: dict[str, Any]) -> None:
        n = self._dimensions
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

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _ChannelsLast(_Pool):
    data_format = "NCHW"

    def _set_format(self, data_format: Any) -> None:
        self.data_format = choice("data_format", data_format, ("NCHW", "NHWC"))


# ------------------------------------------------------------------------------------------------ windows
class _MaxPool(_ChannelsLast):
    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.dilation = sizes("dilation", dilation, self._dimensions)
        self.return_indices = flag("return_indices", return_indices)
        self.ceil_mode = flag("ceil_mode", ceil_mode)
        given = {"dilation": dilation} if max(self.dilation) > 1 else {}
        given |= {"return_indices": True} if return_indices else {}
        given |= {"ceil_mode": True} if ceil_mode else {}
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


class MaxPool1d(_MaxPool):
    """The greatest element of every window over the last dimension; see `MaxPool2d`."""

    _dimensions = 1


class MaxPool2d(_MaxPool):
    """The greatest element of every window over [..., height, width].

    `pad_mode`: "valid" (windows that lie inside), "same" (as many windows as elements, divided by the stride), or
    "pad", for which `padding` elements that are never the greatest lie around; `dilation`, `return_indices` (also the
    positions) and `ceil_mode` (also windows that only partly lie inside) belong to "pad".  ValueError: given otherwise.

    >>> from autodiff_compiler import Tensor
    >>> MaxPool2d(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()
    [[[[3.0]]]]
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode)
        self._set_format(data_format)


class MaxPool3d(_MaxPool):
    """The greatest element of every window over the last 3 dimensions; see `MaxPool2d`."""

    _dimensions = 3


class _AvgPool(_ChannelsLast):
    #: Whether zeros that "same" puts around count as elements also without `ceil_mode`.
    _same_counts_zeros = False

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.ceil_mode = flag("ceil_mode", ceil_mode)
        self.count_include_pad = flag("count_include_pad", count_include_pad)
        self.divisor_override = divisor_override
        if divisor_override is not None:
            positive("divisor_override", divisor_override)
        self._set_windows(kernel_size, stride, pad_mode, padding, {})

    def construct(self, x: Any) -> Any:
        y = call.avg_pooling(
            channels.first(x, self.data_format),
            self.kernel_size,
            self.stride,
            self.pad_mode.lower(),
            self.padding,
            self.ceil_mode,
            self.count_include_pad and (self.pad_mode == "PAD" or self._same_counts_zeros or self.ceil_mode),
            self.divisor_override,
            self._dimensions,
        )
        return channels.last(y, self.data_format)


class AvgPool1d(_AvgPool):
    """The mean of every window over the last dimension; see `AvgPool2d`."""

    _dimensions = 1

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """The mean of every window over [..., height, width].

    `pad_mode` as for `MaxPool2d`; with "pad" padding counts as zeros, or not at all without `count_include_pad`.
    `ceil_mode` adds windows that only partly lie inside, and `divisor_override` replaces the number of elements, in all
    modes.  As MindSpore computes it, "same" pads with what does not count, but with zeros if there is a `ceil_mode`.
    TypeError, ValueError: arguments that are none of these.

    >>> from autodiff_compiler import Tensor
    >>> AvgPool2d(2)(Tensor([[[[1.0, 2.0], [3.0, 0.0]]]])).tolist()
    [[[[1.5]]]]
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override)
        self._set_format(data_format)


class AvgPool3d(_AvgPool):
    """The mean of every window over the last 3 dimensions; see `AvgPool2d`.

    Unlike there the zeros that "same" puts around count always, if `count_include_pad` does not say otherwise.
    """

    _dimensions, _same_counts_zeros = 3, True


class _LPPool(Cell):
    _dimensions = 2

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = number("norm_type", norm_type)
        self.kernel_size, self.stride = kernel_size, stride
        sizes("kernel_size", kernel_size, self._dimensions)
        if stride is not None:
            sizes("stride", stride, self._dimensions)
        self.ceil_mode = flag("ceil_mode", ceil_mode)


class LPPool1d(_LPPool):
    """The `norm_type`-th root of the sum of powers in every window of [..., channels, length].

    >>> from autodiff_compiler import Tensor
    >>> LPPool1d(2, 2)(Tensor([[3.0, 4.0]])).tolist()
    [[5.0]]
    """

    _dimensions = 1

    def construct(self, x: Any) -> Any:
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """The `norm_type`-th root of the sum of powers in every window of [..., channels, height, width]."""

    def construct(self, x: Any) -> Any:
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


# ------------------------------------------------------------------------------------------------ adaptive
class _AdaptivePool(Cell):
    _dimensions = 2

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        given = output_size if isinstance(output_size, tuple | list) else (output_size,)
        if len(given) not in (1, self._dimensions):
            raise ValueError(f"`output_size` must be one size or {self._dimensions}, not {output_size}")
        for size in given:
            if size is not None:
                integer("output_size", size, 1)
        self.output_size = given[0] if len(given) == 1 else tuple(given)


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of `output_size` nearly equal parts of the last dimension."""

    _dimensions = 1

    def construct(self, x: Any) -> Any:
        return ops.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Means of nearly equal parts of [..., height, width]; `output_size` is one size or two, None keeps one.

    >>> from autodiff_compiler import Tensor
    >>> AdaptiveAvgPool2d((1, None))(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
    [[[[2.0, 3.0]]]]
    """

    def construct(self, x: Any) -> Any:
        return ops.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePool):
    """Means of nearly equal parts of the last 3 dimensions; `output_size` is one size or three, None keeps one."""

    _dimensions = 3

    def construct(self, x: Any) -> Any:
        return ops.adaptive_avg_pool3d(x, self.output_size)


class AdaptiveMaxPool1d(_AdaptivePool):
    """Greatest elements of `output_size` nearly equal parts of the last dimension."""

    _dimensions = 1

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool1d(x, self.output_size)


class AdaptiveMaxPool2d(_AdaptivePool):
    """Greatest elements of nearly equal parts of [..., height, width], with `return_indices` also their positions."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = flag("return_indices", return_indices)

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool2d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptivePool):
    """Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their positions."""

    _dimensions = 3

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = flag("return_indices", return_indices)

    def construct(self, x: Any) -> Any:
        return ops.adaptive_max_pool3d(x, self.output_size, self.return_indices)


# ------------------------------------------------------------------------------------------------ random regions
class _FractionalMaxPool(Cell):
    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__} needs either `output_size` or `output_ratio`")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices, self._random_samples = flag("return_indices", return_indices), _random_samples


class FractionalMaxPool2d(_FractionalMaxPool):
    """The greatest elements of regions of random place; see `ops.fractional_max_pool2d`."""

    def construct(self, x: Any) -> Any:
        return ops.fractional_max_pool2d(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool3d(_FractionalMaxPool):
    """The greatest elements of regions of random place; see `ops.fractional_max_pool3d`."""

    def construct(self, x: Any) -> Any:
        return ops.fractional_max_pool3d(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


# ------------------------------------------------------------------------------------------------ the way back
class _MaxUnpool(Cell):
    _dimensions = 2

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        sizes("kernel_size", kernel_size, self._dimensions)
        sizes("padding", padding, self._dimensions, 0)
        if stride is not None:
            sizes("stride", stride, self._dimensions)


class MaxUnpool1d(_MaxUnpool):
    """Zeros with the elements of x where a `MaxPool1d` found them (`indices`).

    >>> from autodiff_compiler import Tensor
    >>> MaxUnpool1d(2)(Tensor([[5.0, 7.0]]), Tensor([[1, 2]])).tolist()
    [[0.0, 5.0, 7.0, 0.0]]
    """

    _dimensions = 1

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return ops.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Zeros with the elements of x where a `MaxPool2d` found them (`indices`)."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return ops.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Zeros with the elements of x where a `MaxPool3d` found them (`indices`)."""

    _dimensions = 3

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return ops.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)
