"""Cosine similarity of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import choice, flag
from .base import Array, Metric, rearrange_inputs

__all__ = ["CosineSimilarity"]


class CosineSimilarity(Metric):
    """The cosines between all pairs of the rows of the last matrix given, or with `similarity` "dot" their products.

    With `zero_diagonal` that of a row with itself is 0.  `reduction` "mean" or "sum" is over the columns.

    >>> metric = CosineSimilarity()
    >>> metric.update([[1.0, 0.0], [3.0, 4.0]])
    >>> metric.eval().tolist()
    [[0.0, 0.6], [0.6, 0.0]]
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        super().__init__()
        self.similarity = choice("similarity", similarity, ("dot", "cosine"))
        self.reduction = choice("reduction", reduction, ("none", "sum", "mean"))
        self.zero_diagonal = flag("zero_diagonal", zero_diagonal)
        self.clear()

    def clear(self) -> None:
        self._rows: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"CosineSimilarity takes one matrix, not {len(inputs)} inputs")
        rows = self._convert_data(inputs[0])
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._rows = rows

    def eval(self) -> Array:
        self._known(self._rows is not None)
        assert self._rows is not None
        found: Array = self._rows @ self._rows.T
        if self.zero_diagonal:
            np.fill_diagonal(found, 0)
        if self.reduction == "none":
            return found
        reduced: Array = found.mean(-1) if self.reduction == "mean" else found.sum(-1)
        return reduced
