"""Metrics of predictions: NumPy objects that accumulate batches with `update` and return the value with `eval`."""

from __future__ import annotations

from .base import Metric, rearrange_inputs
from .classes import (
    F1,
    Accuracy,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from .confusion import ConfusionMatrix, ConfusionMatrixMetric
from .curves import ROC, auc
from .means import MAE, MSE, Dice, Loss, Perplexity
from .names import get_metric_fn, get_metrics, names
from .occlusion import OcclusionSensitivity
from .similarity import CosineSimilarity
from .surfaces import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance
from .text import BleuScore

# fmt: off
__all__ = [
    "F1", "MAE", "MSE", "ROC", "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric",
    "CosineSimilarity", "Dice", "Fbeta", "HausdorffDistance", "Loss", "MeanSurfaceDistance", "Metric",
    "OcclusionSensitivity", "Perplexity", "Precision", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc", "get_metric_fn", "get_metrics", "names",
    "rearrange_inputs",
]
# fmt: on
