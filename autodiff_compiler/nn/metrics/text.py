"""The BLEU score of translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import flag, integer
from .base import Metric, rearrange_inputs

__all__ = ["BleuScore"]


class BleuScore(Metric):
    """The similarity of translations to references: BLEU, K. Papineni and others (2002).

    `update` takes sentences (lists of words) and for each its references (a list of sentences).  The score is the
    geometric mean, over the lengths up to `n_gram`, of the part of the words in a row that stand in a reference too,
    times exp(1 - r / c) for c words against r in the references nearest in length, if c is not greater.  `smooth` adds
    one to both counts of each part.

    >>> metric = BleuScore(n_gram=1)
    >>> metric.update([["a", "pen", "on", "it"]], [[["a", "pen", "in", "it"]]])
    >>> float(metric.eval())
    0.75
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        if not 1 <= integer("n_gram", n_gram) <= 4:
            raise ValueError(f"`n_gram` must be from 1 to 4, not {n_gram}")
        self.n_gram, self.smooth = n_gram, flag("smooth", smooth)
        self.clear()

    def clear(self) -> None:
        self._shared, self._all = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._words, self._wanted = 0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 2:
            raise ValueError(f"BleuScore takes sentences and their references, not {len(inputs)} inputs")
        sentences, references = inputs
        if len(sentences) != len(references):
            raise ValueError(f"{len(sentences)} sentences, but references for {len(references)}")
        for sentence, known in zip(sentences, references, strict=True):
            self._words += len(sentence)
            self._wanted += min((abs(len(sentence) - len(r)), i, len(r)) for i, r in enumerate(known))[2]
            own, best = self._rows(sentence), Counter[tuple[Any, ...]]()
            for reference in known:
                best |= self._rows(reference)
            for counts, found in ((self._all, own), (self._shared, own & best)):
                for row, count in found.items():
                    counts[len(row) - 1] += count

    def _rows(self, words: Sequence[Any]) -> Counter[tuple[Any, ...]]:
        """The counts of the n-grams, up to `n_gram` words, of a sentence."""
        return Counter(tuple(words[i : i + n]) for n in range(1, self.n_gram + 1) for i in range(len(words) - n + 1))

    def eval(self) -> Any:
        self._known(self._words)
        if not self._shared.all():
            return np.array(0.0)
        parts = (self._shared + self.smooth) / (self._all + self.smooth)
        short = 1.0 if self._words > self._wanted else np.exp(1 - self._wanted / self._words)
        return short * np.exp(np.log(parts).mean())
