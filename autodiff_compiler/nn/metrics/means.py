"""Means over samples: of losses, of errors, of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import integer, number
from .base import Averaged, rearrange_inputs

__all__ = ["MAE", "MSE", "Dice", "Loss", "Perplexity"]


class Loss(Averaged):
    """The mean of losses, each a number or a vector.

    >>> from autodiff_compiler import Tensor
    >>> loss = Loss()
    >>> loss.update(Tensor(1.0)); loss.update(Tensor(2.0)); loss.eval()
    1.5
    """

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"Loss takes one input, not {len(inputs)}")
        loss = self._convert_data(inputs[0])
        if loss.ndim > 1:
            raise ValueError(f"a loss must have at most one dimension, not the shape {list(loss.shape)}")
        self._sum += float(loss.mean())
        self._count += 1


class _Error(Averaged):
    _power = 1

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._pair(inputs)
        self._sum += float((abs(y.reshape(predicted.shape) - predicted) ** self._power).sum())
        self._count += y.shape[0]


class MAE(_Error):
    """The sum of absolute differences, divided by the number of samples."""


class MSE(_Error):
    """The sum of squared differences, divided by the number of samples."""

    _power = 2


class Perplexity(Averaged):
    """exp of the mean of -log p of the labels, given probabilities [..., classes]; `ignore_label` is left out."""

    def __init__(self, ignore_label: int | None = None) -> None:
        self.ignore_label = None if ignore_label is None else integer("ignore_label", ignore_label)
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, labels = self._pair(inputs)
        if labels.size != predicted.size // predicted.shape[-1]:
            raise RuntimeError(f"labels {list(labels.shape)} do not fit predictions {list(predicted.shape)}")
        labels = labels.reshape(-1).astype(int)
        p = predicted.reshape(labels.size, -1)[np.arange(labels.size), labels]
        if self.ignore_label is not None:
            p = p[labels != self.ignore_label]
        self._sum -= float(np.log(np.maximum(1e-10, p)).sum())
        self._count += p.size

    def eval(self) -> float:
        return float(np.exp(super().eval()))


class Dice(Averaged):
    """The sum over batches of ``2 * sum(x * y) / (sum(x * x) + sum(y * y) + smooth)``, divided by the samples."""

    def __init__(self, smooth: float = 1e-5) -> None:
        self.smooth = number("smooth", smooth)
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        x, y = self._pair(inputs)
        if x.shape != y.shape:
            raise ValueError(f"labels {list(y.shape)} must have the shape of predictions {list(x.shape)}")
        self._sum += float(2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + self.smooth))
        self._count += y.shape[0]
