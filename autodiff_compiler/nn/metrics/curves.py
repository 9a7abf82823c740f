"""ROC curves, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import integer, positive
from .base import Array, Metric, rearrange_inputs

__all__ = ["ROC", "auc"]


class ROC(Metric):
    """The receiver operating characteristic: rates of false and of true positives, and the thresholds they belong to.

    Scores and classes of one shape are a decision for the class `pos_label` (1 if not given) against all others; scores
    [N, C, ...] with classes [N, ...] are `class_num` decisions, and the results are lists.  The first threshold is
    beyond all scores.  ValueError: shapes that do not fit, or a decision of which one side has no samples.

    >>> metric = ROC()
    >>> metric.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> fpr, tpr, thresholds = metric.eval()
    >>> fpr.tolist(), tpr.tolist(), thresholds.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0], [1.8, 0.8, 0.4, 0.35, 0.1])
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        self.class_num = None if class_num is None else positive("class_num", class_num)
        self.pos_label = None if pos_label is None else integer("pos_label", pos_label)
        self.clear()

    def clear(self) -> None:
        self._seen: list[tuple[Array, Array]] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, y = self._pair(inputs)
        if scores.shape == y.shape:
            if self.class_num not in (None, 1):
                raise ValueError(f"scores {list(scores.shape)} are one decision, `class_num` is {self.class_num}")
            scores = scores.reshape(-1, 1)
        elif scores.ndim == y.ndim + 1 and (scores.shape[0], *scores.shape[2:]) == y.shape:
            if self.pos_label is not None:
                raise ValueError("`pos_label` is for one decision: leave it out for scores of several classes")
            if self.class_num != scores.shape[1]:
                raise ValueError(f"scores for {scores.shape[1]} classes, but `class_num` is {self.class_num}")
            scores = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
        else:
            raise ValueError(f"labels {list(y.shape)} do not fit predictions {list(scores.shape)}")
        self._seen.append((scores, y.reshape(-1)))

    def eval(self) -> tuple[Any, Any, Any]:
        self._known(len(self._seen))
        scores, y = (np.concatenate(parts) for parts in zip(*self._seen, strict=True))
        if self.class_num in (None, 1):
            return _curve(scores[:, 0], y == (1 if self.pos_label is None else self.pos_label))
        fpr, tpr, thresholds = zip(*[_curve(scores[:, c], y == c) for c in range(scores.shape[1])], strict=True)
        return list(fpr), list(tpr), list(thresholds)


def _curve(scores: Array, positives: Array) -> tuple[Array, Array, Array]:
    order = np.argsort(-scores, kind="stable")
    scores, true = scores[order], np.cumsum(positives[order])
    last = np.append(np.flatnonzero(np.diff(scores)), scores.size - 1)  # of each run of equal scores
    false = last + 1 - true[last]
    for count, side in ((true[-1], "positive"), (false[-1], "negative")):
        if count == 0:
            raise ValueError(f"there are no {side} samples, whose rate is asked for")
    thresholds = np.concatenate([scores[:1] + 1, scores[last]])
    return np.append(0, false) / false[-1], np.append(0, true[last]) / true[-1], thresholds


def auc(x: Array, y: Array, reorder: bool = False) -> float:
    """The area under a curve of points by the trapezoidal rule; `reorder` sorts the points by x first.

    TypeError: no arrays.  ValueError: arrays of other shapes than [N], fewer than two points, x that goes both ways.

    >>> auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0]))
    0.75
    """
    for values in (x, y):
        if not isinstance(values, np.ndarray):
            raise TypeError(f"auc() takes ndarrays, not a {type(values).__name__}")
        if values.ndim != 1 and (values.ndim != 2 or values.shape[1] != 1):
            raise ValueError(f"auc() takes arrays of one dimension, not of shape {list(values.shape)}")
    x, y = x.reshape(-1), y.reshape(-1)
    if x.size != y.size or x.size < 2:
        raise ValueError(f"auc() takes at least two points, not {x.size} x and {y.size} y")
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueError("x goes up and down: sort the points, or let `reorder` do it")
    area = float((steps * (y[1:] + y[:-1]) / 2).sum())
    return -area if (steps < 0).any() else area
