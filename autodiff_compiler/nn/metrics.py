"""Metrics of predictions: NumPy objects that gather batches with `update` and tell with `eval`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..runtime.tensor import Tensor
from .arguments import choice, flag, integer, number, positive

# fmt: off
__all__ = [
    "F1", "MAE", "MSE", "Accuracy", "ConfusionMatrix", "Dice", "Fbeta", "Loss", "Metric", "Perplexity", "Precision",
    "Recall", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "get_metric_fn",
    "get_metrics", "names", "rearrange_inputs",
]
# fmt: on

_Array = np.ndarray[Any, Any]
_TINY = float(np.finfo(np.float64).tiny)


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """An `update` that gets its inputs in the order that `set_indexes` has chosen.

    >>> class Difference(Metric):
    ...     def clear(self):
    ...         self.total = 0.0
    ...     @rearrange_inputs
    ...     def update(self, a, b):
    ...         self.total += float(np.sum(self._convert_data(a) - self._convert_data(b)))
    ...     def eval(self):
    ...         return self.total
    >>> metric = Difference().set_indexes([2, 0])
    >>> metric.clear()
    >>> metric.update([1.0], [5.0], [4.0])
    >>> metric.eval()
    3.0
    """

    @functools.wraps(func)
    def update(self: Metric, *inputs: Any) -> Any:
        return func(self, *(inputs if self.indexes is None else [inputs[i] for i in self.indexes]))

    return update


class Metric:
    """Base of metrics: a subclass writes `clear`, `update` (usually with `rearrange_inputs`) and `eval`."""

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which inputs of `update` count, in their order; None: all as they come."""
        return self._indexes

    def set_indexes(self, indexes: Sequence[int]) -> Metric:
        """Chooses inputs of `update` by position, and returns the metric; ValueError: no list of ints."""
        if not isinstance(indexes, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in indexes):
            raise ValueError(f"`indexes` must be a list of ints, not {indexes!r}")
        self._indexes = indexes
        return self

    def clear(self) -> None:
        """Forgets what was gathered."""
        raise NotImplementedError(f"{type(self).__name__} has no `clear`")

    def update(self, *inputs: Any) -> None:
        """Gathers a batch."""
        raise NotImplementedError(f"{type(self).__name__} has no `update`")

    def eval(self) -> Any:
        """The value for all that was gathered."""
        raise NotImplementedError(f"{type(self).__name__} has no `eval`")

    def _convert_data(self, data: Any) -> _Array:
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, list | np.ndarray):
            return np.asarray(data)
        raise TypeError(f"a metric takes a Tensor, a list or an ndarray, not a {type(data).__name__}")

    def _pair(self, inputs: tuple[Any, ...]) -> tuple[_Array, _Array]:
        if len(inputs) != 2:
            raise ValueError(f"{type(self).__name__} takes predictions and labels, not {len(inputs)} inputs")
        return self._convert_data(inputs[0]), self._convert_data(inputs[1])

    def _known(self, count: float) -> float:
        if not count:
            raise RuntimeError(f"{type(self).__name__} has seen no samples yet: call `update` first")
        return count


def _is_one_hot(y: _Array) -> bool:
    return y.ndim > 1 and bool(np.isin(y, (0, 1)).all()) and bool((y.sum(1) == 1).all())


# ------------------------------------------------------------------------------------------------ losses
class Loss(Metric):
    """The mean of losses, each a number or a vector.

    >>> loss = Loss()
    >>> loss.update(Tensor(1.0)); loss.update(Tensor(2.0)); loss.eval()
    1.5
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._count = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"Loss takes one input, not {len(inputs)}")
        loss = self._convert_data(inputs[0])
        if loss.ndim > 1:
            raise ValueError(f"a loss must have at most one dimension, not the shape {list(loss.shape)}")
        self._sum += float(loss.mean())
        self._count += 1

    def eval(self) -> float:
        return self._sum / self._known(self._count)


class _Error(Metric):
    _power = 1

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._count = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._pair(inputs)
        self._sum += float((abs(y.reshape(predicted.shape) - predicted) ** self._power).sum())
        self._count += y.shape[0]

    def eval(self) -> float:
        return self._sum / self._known(self._count)


class MAE(_Error):
    """The sum of absolute differences, divided by the number of samples."""


class MSE(_Error):
    """The sum of squared differences, divided by the number of samples."""

    _power = 2


class Perplexity(Metric):
    """exp of the mean of -log p of the labels, given probabilities [..., classes]; `ignore_label` counts not."""

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        self.ignore_label = None if ignore_label is None else integer("ignore_label", ignore_label)
        self.clear()

    def clear(self) -> None:
        self._sum, self._count = 0.0, 0

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
        return float(np.exp(self._sum / self._known(self._count)))


class Dice(Metric):
    """The mean over batches of ``2 * sum(x * y) / (sum(x * x) + sum(y * y) + smooth)``."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = number("smooth", smooth)
        self.clear()

    def clear(self) -> None:
        self._sum, self._count = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        x, y = self._pair(inputs)
        if x.shape != y.shape:
            raise ValueError(f"labels {list(y.shape)} must have the shape of predictions {list(x.shape)}")
        self._sum += float(2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + self.smooth))
        self._count += 1

    def eval(self) -> float:
        return self._sum / self._known(self._count)


# ------------------------------------------------------------------------------------------------ classes
class _OfClasses(Metric):
    """Predictions [N, C, ...] against classes [N, ...] or one-hot codes; or sets of labels as zeros and ones."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        self._type = choice("eval_type", eval_type, ("classification", "multilabel"))
        self.clear()

    def clear(self) -> None:
        self._class_num = 0

    def _checked(self, inputs: tuple[Any, ...]) -> tuple[_Array, _Array]:
        """Predictions, and integer classes or sets of labels."""
        predicted, y = self._pair(inputs)
        if self._type == "multilabel":
            if predicted.shape != y.shape:
                raise ValueError(f"labels {list(y.shape)} must have the shape of predictions {list(predicted.shape)}")
            if not (np.isin(predicted, (0, 1)).all() and np.isin(y, (0, 1)).all()):
                raise ValueError("predictions and labels of the type 'multilabel' must be 0 or 1")
        else:
            if predicted.ndim == y.ndim and _is_one_hot(y):
                y = y.argmax(1)
            if predicted.ndim != y.ndim + 1 or (predicted.shape[0], *predicted.shape[2:]) != y.shape:
                raise ValueError(f"labels {list(y.shape)} do not fit predictions {list(predicted.shape)}")
        if self._class_num not in (0, predicted.shape[1]):
            raise ValueError(f"predictions for {predicted.shape[1]} classes after such for {self._class_num}")
        self._class_num = predicted.shape[1]
        return predicted, y

    def _codes(self, inputs: tuple[Any, ...]) -> tuple[_Array, _Array]:
        """Predictions and labels as zeros and ones: [places, classes], or for sets of labels [classes, places]."""
        predicted, y = self._checked(inputs)
        if self._type == "multilabel":
            return tuple([v.swapaxes(0, 1).reshape(self._class_num, -1) for v in (predicted, y)])  # type: ignore[return-value]
        if y.max() >= self._class_num:
            raise ValueError(f"the label {y.max()} is no class of {self._class_num}")
        each = np.eye(self._class_num)
        return each[predicted.argmax(1).reshape(-1)], each[y.astype(int).reshape(-1)]


class Accuracy(_OfClasses):
    """The part of the samples whose most probable class (or whose set of labels) is right.

    >>> accuracy = Accuracy()
    >>> accuracy.update(Tensor([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]]), Tensor([1, 0, 1]))
    >>> round(accuracy.eval(), 4)
    0.6667
    """

    def clear(self) -> None:
        super().clear()
        self._right, self._count = 0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._checked(inputs)
        if self._type == "classification":
            right = predicted.argmax(1) == y
        else:
            last = predicted.ndim - 1
            right = (predicted.swapaxes(1, last) == y.swapaxes(1, last)).all(-1)
        self._right += int(right.sum())
        self._count += right.size

    def eval(self) -> float:
        return self._right / self._known(self._count)


class _PerClass(_OfClasses):
    """True positives divided by some number, per class; for sets of labels per place."""

    def clear(self) -> None:
        super().clear()
        self._true: Any = 0.0
        self._all: Any = 0.0

    def _divisor(self, predicted: _Array, y: _Array) -> _Array:
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

    >>> precision = Precision()
    >>> precision.update(Tensor([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]]), Tensor([1, 0, 1]))
    >>> precision.eval().tolist()
    [0.5, 1.0]
    """

    def _divisor(self, predicted: _Array, y: _Array) -> _Array:
        found: _Array = predicted.sum(0)
        return found


class Recall(_PerClass):
    """The part of the samples of a class that are predicted as it."""

    def _divisor(self, predicted: _Array, y: _Array) -> _Array:
        found: _Array = y.sum(0)
        return found


class Fbeta(_OfClasses):
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


class TopKCategoricalAccuracy(Metric):
    """The part of the samples whose class is among the k most probable.

    >>> top = TopKCategoricalAccuracy(2)
    >>> top.update(Tensor([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]), Tensor([2, 2]))
    >>> top.eval()
    0.5
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = positive("k", k)
        self.clear()

    def clear(self) -> None:
        self._right, self._count = 0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._pair(inputs)
        if predicted.ndim == y.ndim and _is_one_hot(y):
            y = y.argmax(1)
        if predicted.ndim != 2 or predicted.shape[:1] != y.shape:
            raise ValueError(f"labels {list(y.shape)} do not fit predictions {list(predicted.shape)}")
        best = np.argsort(-predicted, axis=1, kind="stable")[:, : self.k]
        self._right += int((best == y[:, None]).any(1).sum())
        self._count += y.size

    def eval(self) -> float:
        return self._right / self._known(self._count)


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The part of the samples whose most probable class is right."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The part of the samples whose class is among the 5 most probable."""

    def __init__(self) -> None:
        super().__init__(5)


class ConfusionMatrix(Metric):
    """How often samples of a class (rows) are predicted as a class (columns).

    Predictions are probabilities [N, C, ...], classes, or probabilities of the second of two classes, which count by
    `threshold`.  `normalize`: "no_norm", or numbers divided by the sums of "target" (rows), "prediction" (columns) or
    "all".

    >>> matrix = ConfusionMatrix(2)
    >>> matrix.update([1, 0, 1, 0], [1, 0, 0, 1])
    >>> matrix.eval().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        self.num_classes = positive("num_classes", num_classes)
        self.normalize = choice("normalize", normalize, ("no_norm", "target", "prediction", "all"))
        self.threshold = number("threshold", threshold)
        self.clear()

    def clear(self) -> None:
        self._matrix, self._seen = np.zeros((self.num_classes,) * 2), False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._pair(inputs)
        if predicted.ndim == y.ndim + 1:
            predicted = predicted.argmax(1)
        elif predicted.dtype.kind == "f":
            whole = np.isin(predicted, np.arange(self.num_classes)).all()
            predicted = predicted.astype(int) if whole else (predicted >= self.threshold).astype(int)
        if predicted.shape != y.shape:
            raise ValueError(f"labels {list(y.shape)} do not fit predictions {list(predicted.shape)}")
        places = (y.astype(int) * self.num_classes + predicted).reshape(-1)
        self._matrix += np.bincount(places, minlength=self.num_classes**2).reshape(self._matrix.shape)
        self._seen = True

    def eval(self) -> _Array:
        self._known(self._seen)
        axis = {"target": 1, "prediction": 0, "all": None}
        if self.normalize == "no_norm":
            return self._matrix.copy()
        sums = self._matrix.sum(axis[self.normalize], keepdims=True)
        found: _Array = self._matrix / np.where(sums == 0, 1, sums)
        return found


# ------------------------------------------------------------------------------------------------ by name
_METRICS: dict[str, Callable[..., Metric]] = {
    "F1": F1,
    "MAE": MAE,
    "MSE": MSE,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "confusion_matrix": ConfusionMatrix,
    "dice": Dice,
    "loss": Loss,
    "mae": MAE,
    "mse": MSE,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
}


def names() -> list[str]:
    """The names that `get_metric_fn` knows."""
    return list(_METRICS)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Metric:
    """A new metric by its name; KeyError for an unknown one.

    >>> type(get_metric_fn("accuracy", eval_type="multilabel")).__name__
    'Accuracy'
    """
    if name not in _METRICS:
        raise KeyError(f"there is no metric called {name!r}; known are {', '.join(_METRICS)}")
    return _METRICS[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """Metrics by name, of a list or a set of names, or a dict of metrics; TypeError for something else but None."""
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        wrong = [name for name, metric in metrics.items() if not isinstance(metric, Metric)]
        if wrong:
            raise TypeError(f"what is called {wrong[0]!r} is no Metric")
        return dict(metrics)
    if isinstance(metrics, list | set | tuple):
        return {name: get_metric_fn(name) for name in metrics}
    raise TypeError(f"metrics are a dict, a list or a set, not a {type(metrics).__name__}")
