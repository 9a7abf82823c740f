"""Transforms of images for `Dataset.map`, in plain NumPy; each can also be called by itself.

An image is an array [height, width, channels] or [height, width].  RuntimeError for other shapes.
"""

from __future__ import annotations

import enum
import functools
import math
from typing import Any

import numpy as np

from ..dtypes import dtype_of
from ..errors import kind_of
from ..nn.arguments import flag, integer, number
from .config import Draws
from .transforms import Transform, share

__all__ = [
    "HWC2CHW",
    "Border",
    "CenterCrop",
    "Crop",
    "HorizontalFlip",
    "Inter",
    "Invert",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Rescale",
    "Resize",
    "ToTensor",
    "ToType",
    "VerticalFlip",
]


class Border(enum.StrEnum):
    """Modes of padding: one value, the edge repeated, or mirrored without and with the edge."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class Inter(enum.IntEnum):
    """Modes of interpolation for `Resize`."""

    NEAREST = 0
    BILINEAR = 2
    LINEAR = 2


class _Image(Transform):
    """A transform of images."""

    def checked(self, x: np.ndarray) -> np.ndarray:
        """The array, if it is an image."""
        if x.ndim not in (2, 3):
            raise RuntimeError(f"{type(self).__name__} takes an image [H, W, C] or [H, W], not the shape {x.shape}")
        return x


def _pair(name: str, value: Any, least: int) -> tuple[int, int]:
    """Height and width; one int is both."""
    both = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2:
        raise ValueError(f"`{name}` must be one int or two, not {value!r}")
    return integer(name, both[0], least), integer(name, both[1], least)


class Rescale(Transform):
    """``x * rescale + shift`` in float32, of any shape.

    >>> Rescale(1 / 255, 0.0)([0, 255])
    array([0., 1.], dtype=float32)
    """

    def __init__(self, rescale: float, shift: float) -> None:
        self._scale, self._shift = float(number("rescale", rescale)), float(number("shift", shift))

    def of(self, x: np.ndarray) -> np.ndarray:
        made = x.astype(np.float32)
        made *= np.float32(self._scale)
        made += np.float32(self._shift)
        return made


class Normalize(_Image):
    """``(x - mean) / std`` of each channel, in float32; the channels are last, or with ``is_hwc=False`` first.

    One mean and std are for all channels.  ValueError: means that are not from 0 to 255, stds not above 0 and up to
    255.

    >>> Normalize([1.0], [2.0])([[1.0, 5.0]])
    array([[0., 2.]], dtype=float32)
    """

    def __init__(self, mean: Any, std: Any, is_hwc: bool = True) -> None:
        self._mean, self._std = (
            np.array([float(number(n, v)) for v in vs]) for n, vs in (("mean", mean), ("std", std))
        )
        self._last = flag("is_hwc", is_hwc)
        if len(self._mean) != len(self._std) or not len(self._mean):
            raise ValueError(f"there are {len(self._mean)} means, but {len(self._std)} stds")
        if ((self._mean < 0) | (self._mean > 255)).any() or ((self._std <= 0) | (self._std > 255)).any():
            raise ValueError("`mean` must be from 0 to 255, `std` above 0 and at most 255")

    def of(self, x: np.ndarray) -> np.ndarray:
        channels = self.checked(x).shape[-1 if self._last else 0] if x.ndim == 3 else 1
        if len(self._mean) not in (1, channels):
            raise RuntimeError(f"Normalize has {len(self._mean)} means for {channels} channels")
        mean, std = self._mean.astype(np.float32), self._std.astype(np.float32)
        if len(mean) == 1:
            mean, std = mean.reshape(()), std.reshape(())
        elif x.ndim == 3 and not self._last:
            mean, std = mean[:, None, None], std[:, None, None]
        made = x.astype(np.float32)
        made -= mean
        made /= std
        return made


class HWC2CHW(_Image):
    """[height, width, channels] to [channels, height, width]; [height, width] stays.

    >>> import numpy as np
    >>> HWC2CHW()(np.zeros((4, 5, 3))).shape
    (3, 4, 5)
    """

    def of(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.checked(x).transpose(2, 0, 1)) if x.ndim == 3 else self.checked(x)


class ToTensor(_Image):
    """An image over 255 as [channels, height, width] in `output_type`.

    >>> import numpy as np
    >>> ToTensor()(np.full((1, 2), 255, np.uint8))
    array([[[1., 1.]]], dtype=float32)
    """

    def __init__(self, output_type: Any = np.float32) -> None:
        self._dtype = np.dtype(dtype_of(np.dtype(output_type) if output_type is float else output_type).numpy)

    def of(self, x: np.ndarray) -> np.ndarray:
        x = self.checked(x)[..., None] if x.ndim == 2 else self.checked(x)
        scaled = x.astype(np.float32) * np.float32(1 / 255)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)).astype(self._dtype)


class ToType(Transform):
    """To another dtype, ours or NumPy's.

    >>> ToType("float32")([1])
    array([1.], dtype=float32)
    """

    def __init__(self, data_type: Any) -> None:
        self._dtype = np.dtype(dtype_of(data_type).numpy)

    def of(self, x: np.ndarray) -> np.ndarray:
        return x.astype(self._dtype)


class Invert(_Image):
    """255 less the image.

    >>> import numpy as np
    >>> Invert()(np.array([[0, 55]], np.uint8))
    array([[255, 200]], dtype=uint8)
    """

    def of(self, x: np.ndarray) -> np.ndarray:
        return (255 - self.checked(x)).astype(x.dtype)


class HorizontalFlip(_Image):
    """Left and right exchanged.

    >>> HorizontalFlip()([[1, 2, 3]])
    array([[3, 2, 1]])
    """

    def of(self, x: np.ndarray) -> np.ndarray:
        return self.checked(x)[:, ::-1].copy()


class VerticalFlip(_Image):
    """Top and bottom exchanged.

    >>> VerticalFlip()([[1, 2], [3, 4]])
    array([[3, 4],
           [1, 2]])
    """

    def of(self, x: np.ndarray) -> np.ndarray:
        return self.checked(x)[::-1].copy()


class _RandomImageTransform(_Image):
    """A transform with a probability; all images of a call share the draw."""

    _transform: type[_Image]

    def __init__(self, prob: float = 0.5) -> None:
        self._prob = share("prob", prob)
        self._draws = Draws()
        self._flip = self._transform()

    def __call__(self, *values: Any) -> Any:
        self._now = self._draws().random() < self._prob
        return super().__call__(*values)

    def of(self, x: np.ndarray) -> Any:
        return self._flip.of(x) if self._now else self.checked(x)


class RandomHorizontalFlip(_RandomImageTransform):
    """Left and right exchanged, with probability `prob`.

    >>> RandomHorizontalFlip(1.0)([[1, 2, 3]])
    array([[3, 2, 1]])
    """

    _transform = HorizontalFlip


class RandomVerticalFlip(_RandomImageTransform):
    """Top and bottom exchanged, with probability `prob`.

    >>> RandomVerticalFlip(0.0)([[1], [2]]).tolist()
    [[1], [2]]
    """

    _transform = VerticalFlip


class Crop(_Image):
    """The part of `size` (height and width, or one int for both) whose corner is `coordinates`: row and column.

    >>> Crop((0, 1), (1, 2))([[1, 2, 3], [4, 5, 6]])
    array([[2, 3]])
    """

    def __init__(self, coordinates: Any, size: Any) -> None:
        self._corner, self._size = _pair("coordinates", coordinates, 0), _pair("size", size, 1)

    def of(self, x: np.ndarray) -> np.ndarray:
        (top, left), (height, width) = self._corner, self._size
        if top + height > self.checked(x).shape[0] or left + width > x.shape[1]:
            raise RuntimeError(f"Crop takes {self._size} at {self._corner}, and the image has shape {x.shape}")
        return x[top : top + height, left : left + width].copy()


class CenterCrop(_Image):
    """The middle part of `size` (height and width, or one int for both); smaller images get zeros around them.

    >>> CenterCrop((1, 2))([[1, 2, 3, 4]])
    array([[2, 3]])
    """

    def __init__(self, size: Any) -> None:
        self._size = _pair("size", size, 1)

    def of(self, x: np.ndarray) -> np.ndarray:
        missing = [max(m - n, 0) for m, n in zip(self._size, self.checked(x).shape, strict=False)]
        x = np.pad(x, [(m // 2, m - m // 2) for m in missing] + [(0, 0)] * (x.ndim - 2))
        top, left = ((n - m) // 2 for m, n in zip(self._size, x.shape, strict=False))
        return Crop((top, left), self._size).of(x)


class Pad(_Image):
    """Pixels around an image.

    `padding` is one int; or two, left and right, top and bottom; or left, top, right, bottom.  `fill_value` is a
    number, or one for each of three channels.

    >>> Pad((1, 0), fill_value=9)([[1, 2]])
    array([[9, 1, 2, 9]])
    """

    def __init__(self, padding: Any, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT) -> None:
        given = tuple(padding) if isinstance(padding, tuple | list) else (padding,)
        if len(given) not in (1, 2, 4):
            raise ValueError(f"`padding` must be one int, two or four, not {padding!r}")
        sides = tuple(integer("padding", n, 0) for n in given)
        self._left, self._top, self._right, self._bottom = sides * (4 // len(sides))
        if not isinstance(padding_mode, Border):
            raise TypeError(f"`padding_mode` must be a Border, not {kind_of(padding_mode)}")
        self._mode = padding_mode
        values = tuple(fill_value) if isinstance(fill_value, tuple | list) else (fill_value,)
        self._values = [number("fill_value", v) for v in values]
        if len(values) not in (1, 3):
            raise ValueError(f"`fill_value` must be one number or three, not {fill_value!r}")

    def of(self, x: np.ndarray) -> np.ndarray:
        sides = [(self._top, self._bottom), (self._left, self._right), (0, 0)][: self.checked(x).ndim]
        if self._mode != Border.CONSTANT:
            return np.pad(x, sides, self._mode.value)  # type: ignore[call-overload]
        if len(self._values) == 1:
            return np.pad(x, sides, constant_values=self._values[0])
        if x.ndim != 3 or x.shape[2] != 3:
            raise RuntimeError(f"Pad has three values to fill with, and the image has shape {x.shape}")
        channels = [np.pad(x[..., i], sides[:2], constant_values=v) for i, v in enumerate(self._values)]
        return np.stack(channels, axis=-1)


class RandomCrop(_Image):
    """A part of `size` (height and width, or one int for both) at a random position, after `padding` as in `Pad`.

    With `pad_if_needed`, images that are too small get pixels on both sides.  RuntimeError: an image is too small.

    >>> RandomCrop(2)([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self._size = _pair("size", size, 1)
        self._around = Pad(0 if padding is None else padding, fill_value, padding_mode)
        self._padded = padding is not None
        self._needed = flag("pad_if_needed", pad_if_needed)
        self._fill = (fill_value, padding_mode)
        self._draws = Draws()

    def of(self, x: np.ndarray) -> np.ndarray:
        x = self._around.of(x) if self._padded else self.checked(x)
        if self._needed:
            height, width = (max(m - n, 0) for m, n in zip(self._size, x.shape, strict=False))
            x = Pad((width, height), *self._fill).of(x)
        height, width = (n - m for m, n in zip(self._size, x.shape, strict=False))
        if height < 0 or width < 0:
            raise RuntimeError(f"RandomCrop takes {self._size}, and the image has shape {x.shape}")
        numbers = self._draws()
        return Crop((int(numbers.integers(height + 1)), int(numbers.integers(width + 1))), self._size).of(x)


class RandomErasing(_Image):
    """With probability `prob`, a rectangle of an image [channels, height, width] gets another value.

    `scale` are the least and the largest share of the area, `ratio` those of height by width.  `value` is a number, one
    for each channel, or "random": normally distributed.  A rectangle that does not fit is drawn again, `max_attempts`
    times; then the image stays as it is.  `inplace` is accepted: what `map` gives is changed nowhere else anyway.

    >>> import numpy as np
    >>> RandomErasing(1.0, scale=(0.25, 0.25), ratio=(1, 1), value=7)(np.zeros((1, 4, 4))).sum().item()
    28.0
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: Any = (0.02, 0.33),
        ratio: Any = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ) -> None:
        self._prob, self._draws = share("prob", prob), Draws()
        self._scale, self._ratio = (self._ends(n, v) for n, v in (("scale", scale), ("ratio", ratio)))
        if value != "random":
            for v in value if isinstance(value, tuple | list) else (value,):
                number("value", v)
        self._value, self._attempts = value, integer("max_attempts", max_attempts, 1)
        flag("inplace", inplace)

    @staticmethod
    def _ends(name: str, given: Any) -> tuple[float, float]:
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise TypeError(f"`{name}` must be two numbers, not {given!r}")
        low, high = (float(number(name, v)) for v in given)
        if not 0 <= low <= high:
            raise ValueError(f"`{name}` must be two numbers from 0 on, the smaller one first, not {given!r}")
        return low, high

    def of(self, x: np.ndarray) -> np.ndarray:
        if x.ndim != 3:
            raise RuntimeError(f"RandomErasing takes an image [C, H, W], not the shape {x.shape}")
        numbers = self._draws()
        if numbers.random() >= self._prob:
            return x
        for _ in range(self._attempts):
            area = numbers.uniform(*self._scale) * x[0].size
            ratio = np.exp(numbers.uniform(*np.log(np.maximum(self._ratio, 1e-12))))
            height, width = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if 0 < height <= x.shape[1] and 0 < width <= x.shape[2]:
                return self._erased(x, numbers, height, width)
        return x

    def _erased(self, x: np.ndarray, numbers: np.random.Generator, height: int, width: int) -> np.ndarray:
        top, left = numbers.integers(x.shape[1] - height + 1), numbers.integers(x.shape[2] - width + 1)
        if self._value == "random":
            value = numbers.normal(size=(x.shape[0], height, width))
        else:
            value = np.reshape(self._value, (-1, 1, 1))
            if len(value) not in (1, x.shape[0]):
                raise RuntimeError(f"RandomErasing has {len(value)} values for {x.shape[0]} channels")
        x = x.copy()
        x[:, top : top + height, left : left + width] = value
        return x


class Resize(_Image):
    """Another height and width; one int is the length of the shorter side, and the sides keep their ratio.

    Pixels are squares, their values in the middle; `interpolation` is Inter.BILINEAR between the four nearest, as
    OpenCV does it (also when an image gets smaller), or Inter.NEAREST.  Ints are rounded, in MindSpore sometimes the
    other way.

    >>> Resize((1, 4))([[0.0, 1.0]])
    array([[0.  , 0.25, 0.75, 1.  ]])
    """

    def __init__(self, size: Any, interpolation: Inter = Inter.LINEAR) -> None:
        self._size = integer("size", size, 1) if isinstance(size, int) else _pair("size", size, 1)
        if not isinstance(interpolation, Inter):
            raise TypeError(f"`interpolation` must be an Inter, not {kind_of(interpolation)}")
        self._nearest = interpolation == Inter.NEAREST

    def of(self, x: np.ndarray) -> np.ndarray:
        size = self._size
        if isinstance(size, int):
            height, width = self.checked(x).shape[:2]
            shorter = min(height, width)
            size = (int(size * height / shorter), int(size * width / shorter))
        self.checked(x)
        if self._nearest:
            rows, columns = (np.arange(m) * n // m for m, n in zip(size, x.shape, strict=False))
            return x[rows][:, columns]
        made = x.astype(np.float64)
        for axis, length in enumerate(size):
            made = _interpolated(made, axis, length)
        return (np.rint(made) if x.dtype.kind in "iu" else made).astype(x.dtype)


def _interpolated(x: np.ndarray, axis: int, length: int) -> np.ndarray:
    """Linear interpolation at the centres of `length` equal parts of an axis."""
    before, after = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    low, high, weight = _neighbours(x.shape[axis], length, after)
    # Long rows: NumPy is slow where the last dimension is short, as channels are.
    made = x.take(low, axis).reshape(before, length * after)
    made *= 1 - weight
    made += x.take(high, axis).reshape(before, length * after) * weight
    return made.reshape(*x.shape[:axis], length, *x.shape[axis + 1 :])


@functools.lru_cache(maxsize=64)
def _neighbours(n: int, length: int, after: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of `length` points along an axis of n, the indices of its two neighbours and the weight of the second.

    The weight is repeated for each of the `after` elements of a slice.
    """
    place = np.clip((np.arange(length) + 0.5) * (n / length) - 0.5, 0, n - 1)
    low = np.floor(place).astype(int)
    return low, np.minimum(low + 1, n - 1), (place - low).repeat(after)
