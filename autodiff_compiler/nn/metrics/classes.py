"""Classification metrics: accuracy, precision, recall, F-scores, top-k accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import choice, flag, number, positive
from .base import Array, Averaged, Metric, is_one_hot, rearrange_inputs

# fmt: off
__all__ = [
    "F1", "Accuracy", "Fbeta", "Precision", "Recall", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
]
# fmt: on

_TINY = float(np.finfo(np.float64).tiny)


class _ClassificationMetric(Metric):
    """Predictions [N, C, ...] against classes [N, ...] or one-hot codes; or sets of labels as zeros and ones."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        self._type = choice("eval_type", eval_type, ("classification", "multilabel"))
        self.clear()

    def clear(self) -> None:
        self._class_num = 0

    def _checked(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        """Predictions, and integer classes or sets of labels."""
        predicted, y = self._pair(inputs)
        if self._type == "multilabel":
            if predicted.shape != y.shape:
                raise ValueError(f"labels {list(y.shape)} must have the shape of predictions {list(predicted.shape)}")
            if not (np.isin(predicted, (0, 1)).all() and np.isin(y, (0, 1)).all()):
                raise ValueError("predictions and labels of the type 'multilabel' must be 0 or 1")
        else:
            if predicted.ndim == y.ndim and is_one_hot(y):
                y = y.argmax(1)
            if predicted.ndim != y.ndim + 1 or (predicted.shape[0], *predicted.shape[2:]) != y.shape:
                raise ValueError(f"labels {list(y.shape)} do not fit predictions {list(predicted.shape)}")
        if self._class_num not in (0, predicted.shape[1]):
            raise ValueError(f"predictions for {predicted.shape[1]} classes after such for {self._class_num}")
        self._class_num = predicted.shape[1]
        return predicted, y

    def _codes(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        """Predictions and labels as zeros and ones: [samples, classes], or for sets of labels [classes, samples]."""
        predicted, y = self._checked(inputs)
        if self._type == "multilabel":
            return tuple([v.swapaxes(0, 1).reshape(self._class_num, -1) for v in (predicted, y)])  # type: ignore[return-value]
        if y.max() >= self._class_num:
            raise ValueError(f"the label {y.max()} is no class of {self._class_num}")
        each = np.eye(self._class_num)
        return each[predicted.argmax(1).reshape(-1)], each[y.astype(int).reshape(-1)]


class Accuracy(_ClassificationMetric, Averaged):
    """The part of the samples whose most probable class (or whose set of labels) is right.

    >>> from autodiff_compiler import Tensor
    >>> accuracy = Accuracy()
    >>> accuracy.update(Tensor([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]]), Tensor([1, 0, 1]))
    >>> round(accuracy.eval(), 4)
    0.6667
    """

    def clear(self) -> None:
        super().clear()
        self._sum, self._count = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._checked(inputs)
        if self._type == "classification":
            right = predicted.argmax(1) == y
        else:
            last = predicted.ndim - 1
            right = (predicted.swapaxes(1, last) == y.swapaxes(1, last)).all(-1)
        self._sum += int(right.sum())
        self._count += right.size


class _PerClass(_ClassificationMetric):
    """True positives divided by some number, per class; for sets of labels per sample."""

    def clear(self) -> None:
        super().clear()
        self._true: Any = 0.0
        self._all: Any = 0.0

    def _divisor(self, predicted: Array, y: Array) -> Array:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._codes(inputs)
        true, total = (predicted * y).sum(0), self._divisor(predicted, y)
        if self._type == "multilabel" and isinstance(self._true, np.ndarray):
            self._true, self._all = np.concatenate([self._true, true]), np.concatenate([self._all, total])
        else:
            self._true, self._all = self._true + true, self._all + total

    def eval(self, average: bool = False) -> Any:
        """A number per class, or with `average` their mean."""
        self._known(self._class_num)
        found = self._true / (self._all + _TINY)
        return found.mean() if flag("average", average) else found


class Precision(_PerClass):
    """The part of the samples predicted as a class that are of it.

    >>> from autodiff_compiler import Tensor
    >>> precision = Precision()
    >>> precision.update(Tensor([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]]), Tensor([1, 0, 1]))
    >>> precision.eval().tolist()
    [0.5, 1.0]
    """

    def _divisor(self, predicted: Array, y: Array) -> Array:
        found: Array = predicted.sum(0)
        return found


class Recall(_PerClass):
    """The part of the samples of a class that are predicted as it."""

    def _divisor(self, predicted: Array, y: Array) -> Array:
        found: Array = y.sum(0)
        return found


class Fbeta(_ClassificationMetric):
    """(1 + beta^2) * precision * recall / (beta^2 * precision + recall) per class."""

    def __init__(self, beta: float) -> None:
        if not number("beta", beta) > 0:
            raise ValueError(f"`beta` must be greater than 0, not {beta}")
        self.beta = beta
        super().__init__()

    def clear(self) -> None:
        super().clear()
        self._true: Any = 0.0
        self._predicted: Any = 0.0
        self._actual: Any = 0.0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._codes(inputs)
        self._true = self._true + (predicted * y).sum(0)
        self._predicted, self._actual = self._predicted + predicted.sum(0), self._actual + y.sum(0)

    def eval(self, average: bool = False) -> Any:
        """A number per class, or with `average` their mean."""
        self._known(self._class_num)
        found = (1 + self.beta**2) * self._true / (self.beta**2 * self._actual + self._predicted + _TINY)
        return found.mean() if flag("average", average) else found


class F1(Fbeta):
    """2 * precision * recall / (precision + recall) per class."""

    def __init__(self) -> None:
        super().__init__(1.0)


class TopKCategoricalAccuracy(Averaged):
    """The part of the samples whose class is among the k most probable.

    >>> from autodiff_compiler import Tensor
    >>> top = TopKCategoricalAccuracy(2)
    >>> top.update(Tensor([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]), Tensor([2, 2]))
    >>> top.eval()
    0.5
    """

    def __init__(self, k: int) -> None:
        self.k = positive("k", k)
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._pair(inputs)
        if predicted.ndim == y.ndim and is_one_hot(y):
            y = y.argmax(1)
        if predicted.ndim != 2 or predicted.shape[:1] != y.shape:
            raise ValueError(f"labels {list(y.shape)} do not fit predictions {list(predicted.shape)}")
        best = np.argsort(-predicted, axis=1, kind="stable")[:, : self.k]
        self._sum += int((best == y[:, None]).any(1).sum())
        self._count += y.size


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The part of the samples whose most probable class is right."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The part of the samples whose class is among the 5 most probable."""

    def __init__(self) -> None:
        super().__init__(5)
