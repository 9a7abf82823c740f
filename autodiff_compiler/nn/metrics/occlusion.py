"""Occlusion sensitivity: which parts of an image a prediction depends on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...runtime.tensor import Tensor
from ..arguments import integer, number, positive
from ..cell import Cell
from .base import Array, Metric, rearrange_inputs

__all__ = ["OcclusionSensitivity"]


class OcclusionSensitivity(Metric):
    """The score of a label when the surroundings of each position of the image are covered.

    `update` takes a network (a Cell), one image [1, ...] and its label.  A cube of elements from `margin` before to
    less than `margin` after each position is set to `pad_val`; `n_batch` such images are computed at a time. `b_box`
    (first and last position along each dimension, negative for all) restricts the positions.

    >>> from autodiff_compiler import nn
    >>> metric = OcclusionSensitivity(margin=1)
    >>> metric.update(nn.Identity(), np.array([[3.0, 2.0]], np.float32), np.array(0))
    >>> metric.eval().tolist()  # both places are covered by the cube around the second
    [3.0, 3.0]
    """

    def __init__(
        self, pad_val: float = 0.0, margin: int = 2, n_batch: int = 128, b_box: list[int] | None = None
    ) -> None:
        super().__init__()
        self.pad_val, self.margin = number("pad_val", pad_val), integer("margin", margin, 0)
        self.n_batch = positive("n_batch", n_batch)
        if b_box is not None and not isinstance(b_box, list):
            raise TypeError(f"`b_box` must be a list, not a {type(b_box).__name__}")
        self.b_box = b_box
        self.clear()

    def clear(self) -> None:
        self._falls: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 3:
            raise ValueError(f"OcclusionSensitivity takes a network, an image and a label, not {len(inputs)} inputs")
        network, image, label = inputs[0], self._convert_data(inputs[1]), self._convert_data(inputs[2])
        if not isinstance(network, Cell):
            raise TypeError(f"the network must be a Cell, not a {type(network).__name__}")
        if image.shape[0] != 1 or label.size != 1:
            raise RuntimeError(f"one image and one label at a time, not {image.shape[0]} and {label.size}")
        least, sizes = self._box(image.shape[1:])
        scores: list[Array] = []
        covered: list[Array] = []
        places = [tuple(p + q for p, q in zip(place, least, strict=True)) for place in np.ndindex(*sizes)]
        for number_of, part in enumerate(self._covered(image, places), 1):
            covered.append(part)
            if len(covered) == self.n_batch or number_of == len(places):
                found = network(Tensor(np.concatenate(covered))).asnumpy()
                scores.append(found[:, label.item()])
                covered = []
        whole = network(Tensor(image)).asnumpy()[0, label.item()]
        self._falls = np.squeeze(whole - np.concatenate(scores).reshape(sizes))

    def _covered(self, image: Array, places: list[tuple[int, ...]]) -> Iterator[Array]:
        for place in places:
            part = image.copy()
            cube: tuple[Any, ...] = (..., *[slice(max(0, p - self.margin), p + self.margin) for p in place])
            part[cube] = self.pad_val
            yield part

    def _box(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The first position, and the number of positions along each dimension."""
        if self.b_box is None:
            return (0,) * len(shape), shape
        if len(self.b_box) != 2 * len(shape):
            raise ValueError(f"`b_box` needs 2 numbers for each of {len(shape)} dimensions, not {len(self.b_box)}")
        least = tuple(max(0, n) for n in self.b_box[::2])
        most = tuple(size - 1 if n < 0 else n for n, size in zip(self.b_box[1::2], shape, strict=True))
        if any(m >= size or n > m for n, m, size in zip(least, most, shape, strict=True)):
            raise ValueError(f"`b_box` {self.b_box} is not within an image of shape {list(shape)}")
        return least, tuple(m - n + 1 for n, m in zip(least, most, strict=True))

    def eval(self) -> Array:
        self._known(self._falls is not None)
        assert self._falls is not None
        return self._falls
