"""Distances between the surfaces of segmented objects in two images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import choice, flag, number
from .base import Array, Metric, rearrange_inputs

__all__ = ["HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]


class _Surfaces(Metric):
    """The surfaces of the elements of one label in the last two images, of predictions and of labels."""

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        self.distance_metric = choice("distance_metric", distance_metric, ("euclidean", "chessboard", "taxicab"))
        self.clear()

    def clear(self) -> None:
        self._edges: tuple[Array, Array] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        from scipy.ndimage import binary_erosion

        if len(inputs) != 3:
            raise ValueError(f"{type(self).__name__} takes predictions, labels and a label, not {len(inputs)} inputs")
        predicted, y = self._pair(inputs[:2])
        label = inputs[2]
        if isinstance(label, bool) or not isinstance(label, int | float):
            raise ValueError(f"the label must be a number, not a {type(label).__name__}")
        if predicted.size == 0 or predicted.shape != y.shape:
            raise ValueError(f"labels {list(y.shape)} must have the shape of predictions {list(predicted.shape)}")
        if label not in predicted and label not in y:
            raise ValueError(f"the label {label} is in none of the images")
        bodies = [v if v.dtype == bool else v == label for v in (predicted, y)]
        predicted, y = [body & ~binary_erosion(body) for body in bodies]
        self._edges = predicted, y

    def _distances(self, back: bool = False) -> Array:
        """How far each element of the first surface is from the second, or with `back` the other way round."""
        from scipy.ndimage import distance_transform_cdt, distance_transform_edt

        self._known(self._edges is not None)
        assert self._edges is not None
        here, there = self._edges[::-1] if back else self._edges
        if not there.any():
            return np.full(int(here.sum()), np.inf)
        if self.distance_metric == "euclidean":
            far = distance_transform_edt(~there)
        else:
            far = distance_transform_cdt(~there, metric=self.distance_metric)
        found: Array = far[here]
        return found


class HausdorffDistance(_Surfaces):
    """The greatest distance from the surface of a label to that in the other image.

    `update` takes predictions, labels and the label.  `percentile` takes that one of the distances instead of the
    greatest; `directed` only the distances of the predictions' surface.  `crop` changes nothing.  inf: a surface that
    is only in one of the images.

    >>> metric = HausdorffDistance()
    >>> metric.update([[1, 0, 0]], [[0, 0, 1]], 1)
    >>> float(metric.eval())
    2.0
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        if percentile is not None and not 0 <= number("percentile", percentile) <= 100:
            raise ValueError(f"`percentile` must be from 0 to 100, not {percentile}")
        self.percentile = percentile
        self.directed, self.crop = flag("directed", directed), flag("crop", crop)
        super().__init__(distance_metric)

    def eval(self) -> Any:
        found = [self._greatest(self._distances())]
        if not self.directed:
            found.append(self._greatest(self._distances(back=True)))
        return max(found)

    def _greatest(self, distances: Array) -> Any:
        if distances.size == 0:
            return np.inf
        return np.percentile(distances, self.percentile) if self.percentile else distances.max()


class _MeanOfSurfaces(_Surfaces):
    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        self.symmetric = flag("symmetric", symmetric)
        super().__init__(distance_metric)

    def _means(self, power: int) -> Any:
        """The mean of a power of the distances; with `symmetric` the mean of those of both directions."""
        sides = [self._distances()] + ([self._distances(back=True)] if self.symmetric else [])
        return np.mean([np.mean(d.astype(float) ** power) if d.size else np.inf for d in sides])


class MeanSurfaceDistance(_MeanOfSurfaces):
    """The mean distance from the predictions' surface of a label to the labels', or of both with `symmetric`.

    >>> metric = MeanSurfaceDistance()
    >>> metric.update([[1, 1, 0]], [[0, 0, 1]], 1)
    >>> float(metric.eval())
    1.5
    """

    def eval(self) -> Any:
        return self._means(1)


class RootMeanSquareDistance(_MeanOfSurfaces):
    """The root of the mean squared distance from the predictions' surface of a label, or of both with `symmetric`.

    >>> metric = RootMeanSquareDistance()
    >>> metric.update([[1, 0, 0]], [[0, 0, 1]], 1)
    >>> float(metric.eval())
    2.0
    """

    def eval(self) -> Any:
        return np.sqrt(self._means(2))
