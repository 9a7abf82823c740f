"""Metrics by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base import Metric
from .classes import (
    F1,
    Accuracy,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from .confusion import ConfusionMatrix, ConfusionMatrixMetric
from .curves import ROC, auc
from .means import MAE, MSE, Dice, Loss, Perplexity
from .occlusion import OcclusionSensitivity
from .similarity import CosineSimilarity
from .surfaces import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance
from .text import BleuScore

__all__ = ["get_metric_fn", "get_metrics", "names"]

_METRICS: dict[str, Callable[..., Any]] = {
    "F1": F1,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "auc": auc,
    "bleu_score": BleuScore,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "hausdorff_distance": HausdorffDistance,
    "loss": Loss,
    "mae": MAE,
    "mean_surface_distance": MeanSurfaceDistance,
    "mse": MSE,
    "occlusion_sensitivity": OcclusionSensitivity,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "roc": ROC,
    "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}


def names() -> list[str]:
    """The names that `get_metric_fn` knows."""
    return list(_METRICS)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
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
