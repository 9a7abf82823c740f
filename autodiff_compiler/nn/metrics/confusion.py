"""The confusion matrix, and metrics computed from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import choice, flag, number, positive
from .base import Array, Metric, rearrange_inputs

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


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

    def eval(self) -> Array:
        self._known(self._seen)
        axis = {"target": 1, "prediction": 0, "all": None}
        if self.normalize == "no_norm":
            return self._matrix.copy()
        sums = self._matrix.sum(axis[self.normalize], keepdims=True)
        found: Array = self._matrix / np.where(sums == 0, 1, sums)
        return found


_NAN = float("nan")


def _ratio(part: Any, whole: Any) -> Array:
    """part / whole, nan where the whole is 0."""
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    found: Array = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, _NAN), where=whole != 0)
    return found


def _rates(tp: Array, fp: Array, tn: Array, fn: Array) -> tuple[Array, Array, Array, Array]:
    """Sensitivity, specificity, and the predictive values of positives and negatives."""
    return _ratio(tp, tp + fn), _ratio(tn, tn + fp), _ratio(tp, tp + fp), _ratio(tn, tn + fn)


def _prevalence_threshold(tp: Array, fp: Array, tn: Array, fn: Array) -> Array:
    tpr, tnr, _, _ = _rates(tp, fp, tn, fn)
    return _ratio(np.sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1)


def _matthews(tp: Array, fp: Array, tn: Array, fn: Array) -> Array:
    return _ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


#: Metrics of the counts of true and false positives and negatives, by name.
_NUMBERS: dict[str, Any] = {
    "tpr": lambda tp, fp, tn, fn: _ratio(tp, tp + fn),
    "tnr": lambda tp, fp, tn, fn: _ratio(tn, tn + fp),
    "ppv": lambda tp, fp, tn, fn: _ratio(tp, tp + fp),
    "npv": lambda tp, fp, tn, fn: _ratio(tn, tn + fn),
    "fnr": lambda tp, fp, tn, fn: _ratio(fn, tp + fn),
    "fpr": lambda tp, fp, tn, fn: _ratio(fp, tn + fp),
    "fdr": lambda tp, fp, tn, fn: _ratio(fp, tp + fp),
    "for": lambda tp, fp, tn, fn: _ratio(fn, tn + fn),
    "pt": _prevalence_threshold,
    "ts": lambda tp, fp, tn, fn: _ratio(tp, tp + fn + fp),
    "acc": lambda tp, fp, tn, fn: _ratio(tp + tn, tp + fp + tn + fn),
    "ba": lambda *counts: (_rates(*counts)[0] + _rates(*counts)[1]) / 2,
    "f1": lambda tp, fp, tn, fn: _ratio(2 * tp, 2 * tp + fn + fp),
    "mcc": _matthews,
    "fm": lambda *counts: np.sqrt(_rates(*counts)[0] * _rates(*counts)[2]),
    "bm": lambda *counts: _rates(*counts)[0] + _rates(*counts)[1] - 1,
    "mk": lambda *counts: _rates(*counts)[2] + _rates(*counts)[3] - 1,
}

#: Their other names.
_NAMES = {name: name for name in _NUMBERS} | {
    other: name
    for name, others in {
        "tpr": "sensitivity recall hit_rate true_positive_rate",
        "tnr": "specificity selectivity true_negative_rate",
        "ppv": "precision positive_predictive_value",
        "npv": "negative_predictive_value",
        "fnr": "miss_rate false_negative_rate",
        "fpr": "fall_out false_positive_rate",
        "fdr": "false_discovery_rate",
        "for": "false_omission_rate",
        "pt": "prevalence_threshold",
        "ts": "threat_score critical_success_index csi",
        "acc": "accuracy",
        "ba": "balanced_accuracy",
        "f1": "f1_score",
        "mcc": "matthews_correlation_coefficient",
        "fm": "fowlkes_mallows_index",
        "bm": "informedness bookmaker_informedness",
        "mk": "markedness deltap",
    }.items()
    for other in others.split()
}


class ConfusionMatrixMetric(Metric):
    """A metric of the counts of true and false positives and negatives, like "sensitivity" or "f1 score".

    `update` takes predictions and labels of zeros and ones, [N, C, ...]; without `skip_channel` the first of several
    channels is left out.  The number is made of the sums of the counts over all batches, an array of one element; with
    `calculation_method` of the counts of every sample and channel first.  Then `decrease` ("mean", "sum", or only over
    "_batch" or "_channel", or "none") reduces these, without those that are nan, and the value is their mean over the
    batches, weighted with how many there were.

    NotImplementedError: an unknown `metric_name`.

    >>> metric = ConfusionMatrixMetric(metric_name="tpr")
    >>> metric.update([[1, 0], [0, 1]], [[1, 1], [0, 0]])
    >>> metric.eval().tolist()
    [0.5]
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        self.skip_channel = flag("skip_channel", skip_channel)
        self.calculation_method = flag("calculation_method", calculation_method)
        if not isinstance(metric_name, str):
            raise TypeError(f"`metric_name` must be a string, not a {type(metric_name).__name__}")
        name = metric_name.replace(" ", "_").lower()
        if name not in _NAMES:
            raise NotImplementedError(f"there is no number {metric_name!r}; known are {', '.join(_NAMES)}")
        self.metric_name, self._number = metric_name, _NUMBERS[_NAMES[name]]
        ways = tuple(f"{way}{over}" for way in ("mean", "sum") for over in ("", "_batch", "_channel"))
        self.decrease = choice("decrease", decrease, ("none", *ways))
        self.clear()

    def clear(self) -> None:
        self._counts: Any = np.zeros(4)
        self._sum: Any = 0.0
        self._known_numbers: Any = 0.0
        self._seen = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, y = self._pair(inputs)
        if predicted.shape != y.shape or y.ndim < 2:
            raise ValueError(f"predictions {list(predicted.shape)} and labels {list(y.shape)} must be [N, C, ...]")
        if not np.isin(y, (0, 1)).all():
            raise ValueError("labels must be 0 or 1")
        if not self.skip_channel and y.shape[1] > 1:
            predicted, y = predicted[:, 1:], y[:, 1:]
        predicted, y = (v.reshape(*v.shape[:2], -1).astype(float) for v in (predicted, y))
        both = predicted + y
        positive_places = y.sum(2)
        tp, tn = (both == 2).sum(2).astype(float), (both == 0).sum(2).astype(float)
        counts = tp, y.shape[2] - positive_places - tn, tn, positive_places - tp
        self._seen = True
        if not self.calculation_method or inputs[0].ndim == 2:
            self._counts = self._counts + np.array([count.sum() for count in counts])
            return
        found, known = _reduced(self._number(*counts), self.decrease)
        self._sum, self._known_numbers = self._sum + found * known, self._known_numbers + known

    def eval(self) -> Any:
        self._known(self._seen)
        if np.any(self._known_numbers):
            return self._sum / self._known_numbers
        return self._number(*self._counts.reshape(4, 1))


def _reduced(found: Array, decrease: str) -> tuple[Any, Any]:
    """Numbers [N, C] reduced, and how many there are, without those that are nan."""
    known = (~np.isnan(found)).astype(float)
    found = np.where(known > 0, found, 0.0)
    way, _, over = decrease.partition("_")
    if way == "none":
        return found, known
    for axis in ({"": (1, 0), "channel": (1,), "batch": (0,)})[over]:
        total, counted = found.sum(axis), known.sum(axis)
        found, known = (total, counted) if way == "sum" else (np.where(counted > 0, _ratio(total, counted), 0), counted)
        if way == "mean" and over == "":
            known = (known > 0).astype(float) if axis else known
    return found, known
