"""Layers that rearrange, resize or compare images."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..dtypes import float32, float64
from ..errors import ShapeError
from ..ir.primitive import call
from ..primitives.convolution import same_padding
from ..runtime.tensor import Tensor
from .arguments import choice, number, positive
from .cell import Cell


class Unfold(Cell):
    """Windows over images [N, C, H, W] as [N, kernel rows * kernel columns * C, rows, columns].

    `ksizes`, `strides` and `rates` (the dilation) are lists [1, rows, columns, 1]; `padding` is "valid" or "same".

    >>> from autodiff_compiler import ops
    >>> Unfold([1, 2, 2, 1], [1, 2, 2, 1], [1, 2, 2, 1])(ops.ones((2, 3, 6, 6))).shape
    (2, 12, 2, 2)
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        self.ksizes, self.strides, self.rates = (
            self._inner(name, value) for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates))
        )
        self.padding = choice("padding", padding.lower() if isinstance(padding, str) else padding, ("valid", "same"))

    @staticmethod
    def _inner(name: str, value: Any) -> tuple[int, int]:
        if not isinstance(value, tuple | list):
            raise TypeError(f"`{name}` must be a tuple or a list, not a {type(value).__name__}")
        if len(value) != 4 or value[0] != 1 or value[3] != 1:
            raise ValueError(f"`{name}` must be [1, rows, columns, 1], not {list(value)}")
        return positive(name, value[1]), positive(name, value[2])

    def construct(self, x: Any) -> Any:
        if self.padding == "same":
            top, bottom, left, right = same_padding(x.shape[2:], self.ksizes, self.strides, self.rates)
            x = ops.pad(x, (left, right, top, bottom))
        batch, channels, height, width = x.shape
        rows, columns = [
            (size - rate * (k - 1) - 1) // stride + 1
            for size, k, stride, rate in zip((height, width), self.ksizes, self.strides, self.rates, strict=True)
        ]
        places = self.ksizes[0] * self.ksizes[1]
        found = call.unfold(x, self.ksizes, self.rates, 0, self.strides)
        found = ops.reshape(found, (batch, channels, places, rows, columns))
        return ops.reshape(ops.permute(found, (0, 2, 1, 3, 4)), (batch, places * channels, rows, columns))


class CentralCrop(Cell):
    """The central part of images [C, H, W] or [N, C, H, W], `central_fraction` (0 to 1) of each of their sides.

    >>> from autodiff_compiler import ops
    >>> CentralCrop(0.5)(ops.ones((3, 4, 8))).shape
    (3, 2, 4)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        if not 0 < number("central_fraction", central_fraction) <= 1:
            raise ValueError(f"`central_fraction` must be more than 0 and at most 1, not {central_fraction}")
        self.central_fraction = central_fraction

    def construct(self, image: Any) -> Any:
        if image.ndim not in (3, 4):
            raise ShapeError(f"CentralCrop takes images [C, H, W] or [N, C, H, W], not {list(image.shape)}")
        height, width = image.shape[-2:]
        top, left = [int((size - size * self.central_fraction) / 2) for size in (height, width)]
        return image[..., top : height - top, left : width - left]


class ImageGradients(Cell):
    """Differences to the next row and to the next column of images [N, C, H, W]; 0 in the last ones.

    >>> from autodiff_compiler import Tensor
    >>> down, right = ImageGradients()(Tensor([[[[1, 2], [3, 5]]]]))
    >>> down.tolist(), right.tolist()
    ([[[[2, 3], [0, 0]]]], [[[[1, 0], [2, 0]]]])
    """

    def construct(self, images: Any) -> Any:
        if images.ndim != 4:
            raise ShapeError(f"ImageGradients takes images [N, C, H, W], not {list(images.shape)}")
        down = ops.pad(images[:, :, 1:, :] - images[:, :, :-1, :], (0, 0, 0, 1))
        return down, ops.pad(images[:, :, :, 1:] - images[:, :, :, :-1], (0, 1))


def _same_images(name: str, a: Any, b: Any) -> None:
    if a.ndim != 4 or a.shape != b.shape:
        raise ShapeError(f"{name} compares images [N, C, H, W], not {list(a.shape)} and {list(b.shape)}")


class PSNR(Cell):
    """Peak signal-to-noise ratio of two batches of images, [N]; `max_val` is the greatest value of a pixel.

    >>> from autodiff_compiler import ops
    >>> PSNR()(ops.ones((1, 1, 2, 2)), ops.ones((1, 1, 2, 2)) * 0.9).shape
    (1,)
    """

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        if number("max_val", max_val) <= 0:
            raise ValueError(f"`max_val` must be greater than 0, not {max_val}")
        self.max_val = max_val

    def construct(self, img1: Any, img2: Any) -> Any:
        _same_images("PSNR", img1, img2)
        return 10 * ops.log10(self.max_val**2 / ops.mean(ops.square(img1 - img2), (1, 2, 3)))


class SSIM(Cell):
    """Structural similarity of two batches of images, [N], in float32: the mean over channels and Gaussian windows.

    Z. Wang and others, Image quality assessment (2004).

    >>> from autodiff_compiler import ops
    >>> SSIM(filter_size=3)(ops.ones((1, 1, 4, 4)), ops.ones((1, 1, 4, 4))).tolist()
    [1.0]
    """

    def __init__(
        self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
    ) -> None:
        super().__init__()
        self.max_val, self.filter_size = number("max_val", max_val), positive("filter_size", filter_size)
        self.filter_sigma, self.k1, self.k2 = number("filter_sigma", filter_sigma), number("k1", k1), number("k2", k2)
        for name in ("max_val", "filter_sigma", "k1", "k2"):
            if getattr(self, name) <= 0:
                raise ValueError(f"`{name}` must be greater than 0, not {getattr(self, name)}")
        bell = np.exp(-(((np.arange(filter_size) - (filter_size - 1) / 2) / filter_sigma) ** 2) / 2)
        window = np.outer(bell, bell) / bell.sum() ** 2
        self._window: Any = Tensor(window[None, None].astype(np.float32))

    def construct(self, img1: Any, img2: Any) -> Any:
        _same_images("SSIM", img1, img2)
        light, contrast = self._compared(img1, img2)
        return ops.mean(light * contrast, (1, 2, 3))

    def _compared(self, img1: Any, img2: Any) -> tuple[Any, Any]:
        """The luminance similarity, and the contrast and structure similarity, of every window."""
        if img1.dtype not in (float32, float64):
            img1, img2 = img1.astype(float32), img2.astype(float32)
        a, b = self._smoothed(img1), self._smoothed(img2)
        c1, c2 = (self.k1 * self.max_val) ** 2, (self.k2 * self.max_val) ** 2
        light = (2 * a * b + c1) / (a * a + b * b + c1)
        covariance = self._smoothed(img1 * img2) - a * b
        variances = self._smoothed(img1 * img1 + img2 * img2) - a * a - b * b
        return light, (2 * covariance + c2) / (variances + c2)

    def _smoothed(self, images: Any) -> Any:
        """The Gaussian mean over the windows of every channel."""
        batch, channels, height, width = images.shape
        alone = ops.reshape(images, (batch * channels, 1, height, width))
        found = ops.conv2d(alone, self._window.astype(images.dtype))
        return ops.reshape(found, (batch, channels, *found.shape[2:]))


class MSSSIM(SSIM):
    """Structural similarity of two batches of images in several sizes, each half of that before, [N].

    It is the product over the sizes of the contrast and structure similarity (in the last size with that of luminance),
    clipped at 0 and raised to the power of its factor; the mean over the channels.  Z. Wang, E. Simoncelli and A.
    Bovik, Multiscale structural similarity (2003).

    >>> from autodiff_compiler import ops
    >>> MSSSIM(power_factors=(0.5, 0.5), filter_size=2)(ops.ones((1, 1, 4, 4)), ops.ones((1, 1, 4, 4))).tolist()
    [1.0]
    """

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: tuple[float, ...] | list[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        if not isinstance(power_factors, tuple | list):
            raise TypeError(f"`power_factors` must be a tuple or list, not a {type(power_factors).__name__}")
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        self.power_factors = tuple(number("power_factors", factor) for factor in power_factors)

    def construct(self, img1: Any, img2: Any) -> Any:
        _same_images("MSSSIM", img1, img2)
        if img1.dtype not in (float32, float64):
            img1, img2 = img1.astype(float32), img2.astype(float32)
        found: Any = 1.0
        for i, factor in enumerate(self.power_factors):
            light, contrast = self._compared(img1, img2)
            last = i == len(self.power_factors) - 1
            found = found * ops.relu(ops.mean(light * contrast if last else contrast, (2, 3))) ** factor
            if not last:
                img1, img2 = ops.avg_pool2d(img1, 2, 2), ops.avg_pool2d(img2, 2, 2)
        return ops.mean(found, 1)
