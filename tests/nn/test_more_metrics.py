"""Metrics of curves, sentences, surfaces, similarity and sensitivity against their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn

RNG = np.random.default_rng(29)


# ------------------------------------------------------------------------------------------------ curves
def test_rates_at_every_threshold() -> None:
    scores, y = np.round(RNG.random(40), 1), RNG.integers(0, 3, 40)
    metric = nn.ROC(pos_label=2)
    for part in np.array_split(np.arange(40), 3):
        metric.update(Tensor(scores[part]), y[part])
    fpr, tpr, thresholds = metric.eval()
    assert thresholds[0] > scores.max()
    np.testing.assert_allclose(thresholds[1:], np.unique(scores)[::-1])
    for f, t, least in zip(fpr, tpr, thresholds, strict=True):
        assert t == pytest.approx(((scores >= least) & (y == 2)).sum() / (y == 2).sum())
        assert f == pytest.approx(((scores >= least) & (y != 2)).sum() / (y != 2).sum())


def test_the_area_is_the_chance_of_a_right_order() -> None:
    """A. Hanley and B. McNeil: a positive sample is before a negative one with this chance, equal ones count half."""
    scores, y = np.round(RNG.random(60), 1), RNG.integers(0, 2, 60)
    metric = nn.ROC()
    metric.update(scores, y)
    pairs = scores[y == 1][:, None] - scores[y == 0]
    fpr, tpr, _ = metric.eval()
    assert nn.auc(fpr, tpr) == pytest.approx(((pairs > 0) + (pairs == 0) / 2).mean())
    assert nn.auc(fpr[::-1], tpr[::-1]) == pytest.approx(nn.auc(fpr, tpr))
    shuffled = RNG.permutation(fpr.size)
    assert nn.auc(fpr[shuffled], tpr[shuffled], reorder=True) == pytest.approx(nn.auc(fpr, tpr))


def test_several_classes_are_as_many_curves() -> None:
    scores, y = RNG.random((30, 3)), RNG.integers(0, 3, 30)
    metric = nn.ROC(class_num=3)
    metric.update(scores, y)
    for c, found in enumerate(zip(*metric.eval(), strict=True)):
        alone = nn.ROC(pos_label=c)
        alone.update(scores[:, c], y)
        for a, b in zip(found, alone.eval(), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("metric", "inputs", "message"),
    [
        (nn.ROC(), ([0.1, 0.2], [1, 1]), "no negative"),
        (nn.ROC(), ([0.1, 0.2], [0, 0]), "no positive"),
        (nn.ROC(2), ([0.1, 0.2], [0, 1]), "one decision"),
        (nn.ROC(3), ([[0.1, 0.2]], [1]), "for 2 classes"),
        (nn.ROC(2, 1), ([[0.1, 0.2]], [1]), "`pos_label`"),
        (nn.ROC(), ([0.1, 0.2], [[0], [1]]), "do not fit"),
    ],
)
def test_what_is_no_curve(metric: Any, inputs: Any, message: str) -> None:
    def told() -> Any:
        metric.update(*[np.array(x) for x in inputs])
        return metric.eval()

    with pytest.raises(ValueError, match=message):
        told()


def test_what_has_no_area() -> None:
    with pytest.raises(TypeError, match="ndarrays"):
        nn.auc([0.0, 1.0], [0.0, 1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="up and down"):
        nn.auc(np.array([0.0, 1.0, 0.5]), np.ones(3))
    with pytest.raises(ValueError, match="two points"):
        nn.auc(np.ones(1), np.ones(1))


# ------------------------------------------------------------------------------------------------ sentences
def test_bleu_by_hand() -> None:
    metric = nn.BleuScore(n_gram=2)
    metric.update(["the cat the cat on the mat".split()], [["the cat is on the mat".split(), "a cat on a mat".split()]])
    # Words: the (2 of 3), cat (1 of 2), on, mat; pairs: "the cat" (1 of 2), "cat on", "on the", "the mat".
    assert metric.eval() == pytest.approx(math.sqrt(5 / 7 * 4 / 6))
    metric.update([["on"]], [[["on", "it", "now"]]])  # 8 words against 6 + 3
    assert metric.eval() == pytest.approx(math.exp(1 - 9 / 8) * math.sqrt(6 / 8 * 4 / 6))
    smooth = nn.BleuScore(n_gram=2, smooth=True)
    smooth.update([["a", "b"]], [[["a", "b"]]])
    assert smooth.eval() == pytest.approx(1.0)
    metric.clear()
    metric.update([["x"]], [[["y"]]])
    assert metric.eval() == 0.0


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="from 1 to 4"):
        nn.BleuScore(5)
    with pytest.raises(ValueError, match="references for 2"):
        nn.BleuScore().update([["a"]], [[["a"]], [["b"]]])


# ------------------------------------------------------------------------------------------------ similarity
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cosines(reduction: str) -> None:
    x = RNG.normal(size=(4, 3))
    metric = nn.CosineSimilarity(reduction=reduction)
    metric.update(Tensor(x))
    wanted = np.array([[0.0 if i == j else a @ b / math.hypot(*a) / math.hypot(*b) for j, b in enumerate(x)]
                       for i, a in enumerate(x)])  # fmt: skip
    np.testing.assert_allclose(metric.eval(), wanted if reduction == "none" else getattr(wanted, reduction)(1))
    dots = nn.CosineSimilarity("dot", zero_diagonal=False)
    dots.update(x)
    np.testing.assert_allclose(dots.eval(), x @ x.T)


# ------------------------------------------------------------------------------------------------ surfaces
def surface(body: Any) -> Any:
    """Places of a body with a neighbour, along an axis, outside of it."""
    inside = np.pad(body, 1)
    whole = np.ones(body.shape, bool)
    for axis in range(body.ndim):
        for step in (-1, 1):
            whole &= np.roll(inside, step, axis)[(slice(1, -1),) * body.ndim]
    return np.argwhere(body & ~whole)


WAYS = {
    "euclidean": lambda d: np.sqrt((d**2).sum(-1)),
    "chessboard": lambda d: abs(d).max(-1),
    "taxicab": lambda d: abs(d).sum(-1),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_distances_of_surfaces(way: str) -> None:
    x, y = RNG.integers(0, 3, (7, 8)), RNG.integers(0, 3, (7, 8))
    x[1:6, 1:6] = 1
    a, b = surface(x == 1), surface(y == 1)
    far = WAYS[way]((a[:, None] - b[None]).astype(float))
    there, back = far.min(1), far.min(0)

    def found(metric: Any) -> Any:
        metric.update(Tensor(x), y, 1)
        return metric.eval()

    assert found(nn.HausdorffDistance(way)) == pytest.approx(max(there.max(), back.max()))
    assert found(nn.HausdorffDistance(way, directed=True)) == pytest.approx(there.max())
    wanted = max(np.percentile(there, 60), np.percentile(back, 60))
    assert found(nn.HausdorffDistance(way, 60.0)) == pytest.approx(wanted)
    assert found(nn.MeanSurfaceDistance(distance_metric=way)) == pytest.approx(there.mean())
    assert found(nn.MeanSurfaceDistance(True, way)) == pytest.approx((there.mean() + back.mean()) / 2)
    assert found(nn.RootMeanSquareDistance(False, way)) == pytest.approx(math.sqrt((there**2).mean()))
    both = ((there**2).mean() + (back**2).mean()) / 2
    assert found(nn.RootMeanSquareDistance(True, way)) == pytest.approx(math.sqrt(both))


def test_a_body_that_is_in_one_image_only() -> None:
    for metric in (nn.HausdorffDistance(), nn.MeanSurfaceDistance(), nn.RootMeanSquareDistance(True)):
        with pytest.raises(RuntimeError, match="update"):
            metric.eval()
        metric.update([[1, 0]], [[0, 0]], 1)
        assert metric.eval() == math.inf
        with pytest.raises(ValueError, match="none of the images"):
            metric.update([[1, 0]], [[0, 0]], 5)
        with pytest.raises(ValueError, match="shape"):
            metric.update([[1, 0]], [[0]], 1)


# ------------------------------------------------------------------------------------------------ counts
TP, FP, TN, FN = 3.0, 1.0, 4.0, 2.0
TPR, TNR, PPV, NPV = TP / 5, TN / 5, TP / 4, TN / 6
NUMBERS = {
    "sensitivity": TPR, "specificity": TNR, "precision": PPV, "negative predictive value": NPV, "miss_rate": 1 - TPR,
    "fall out": 1 - TNR, "FDR": 1 - PPV, "false omission rate": 1 - NPV, "threat_score": 3 / 6, "accuracy": 0.7,
    "prevalence_threshold": (math.sqrt(TPR * (1 - TNR)) + TNR - 1) / (TPR + TNR - 1), "ba": (TPR + TNR) / 2,
    "f1 score": 2 * PPV * TPR / (PPV + TPR), "mcc": (3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6),
    "fm": math.sqrt(PPV * TPR), "informedness": TPR + TNR - 1, "markedness": PPV + NPV - 1,
}  # fmt: skip
X = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
Y = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1, 1])


@pytest.mark.parametrize("name", list(NUMBERS))
def test_numbers_made_of_counts(name: str) -> None:
    metric = nn.ConfusionMatrixMetric(metric_name=name)
    for part in np.array_split(np.arange(10), 2):
        metric.update(X[part].reshape(-1, 1), Tensor(Y[part].reshape(-1, 1)))
    np.testing.assert_allclose(metric.eval(), [NUMBERS[name]])


@pytest.mark.parametrize("decrease", ["mean", "sum"])
def test_numbers_of_every_sample_first(decrease: str) -> None:
    x, y = RNG.integers(0, 2, (3, 2, 6)), RNG.integers(0, 2, (3, 2, 6))
    y[0, 1] = 0  # nothing is positive: this channel of the sample has no rate
    metric = nn.ConfusionMatrixMetric(metric_name="recall", calculation_method=True, decrease=decrease)
    metric.update(x, y)
    rates = [[(a * b).sum() / b.sum() for a, b in zip(p, q, strict=True) if b.sum()] for p, q in zip(x, y, strict=True)]
    wanted = np.mean([np.mean(r) for r in rates]) if decrease == "mean" else sum(map(sum, rates))
    assert metric.eval() == pytest.approx(wanted)


def test_the_first_channel_is_the_background() -> None:
    metric = nn.ConfusionMatrixMetric(skip_channel=False, metric_name="accuracy")
    metric.update(np.array([[0, 1], [0, 1]]), np.array([[1, 1], [1, 0]]))
    assert metric.eval().tolist() == [0.5]
    with pytest.raises(NotImplementedError, match="speed"):
        nn.ConfusionMatrixMetric(metric_name="speed")


# ------------------------------------------------------------------------------------------------ sensitivity
class Weighted(nn.Cell):
    """Scores [N, 2]: the sum of weighted pixels, and its double."""

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.weights = Tensor(weights)

    def construct(self, x: Any) -> Any:
        y = (x * self.weights).sum((1, 2))
        return _pair(y)


def _pair(y: Any) -> Any:
    return y.reshape((-1, 1)) * Tensor(np.array([[1.0, 2.0]]))


@pytest.mark.parametrize("n_batch", [1, 5, 128])
@pytest.mark.parametrize("box", [None, [1, 3, -1, -1]])
def test_a_linear_network_loses_what_is_covered(n_batch: int, box: Any) -> None:
    weights, image = RNG.random((4, 5)), RNG.random((1, 4, 5))
    metric = nn.OcclusionSensitivity(pad_val=0.0, margin=2, n_batch=n_batch, b_box=box)
    metric.update(Weighted(weights), image, np.array(1))
    lost = 2 * weights * image[0]
    wanted = np.array([[lost[max(0, i - 2) : i + 2, max(0, j - 2) : j + 2].sum() for j in range(5)] for i in range(4)])
    np.testing.assert_allclose(metric.eval(), wanted if box is None else wanted[1:4])


def test_a_box_beyond_the_image() -> None:
    metric = nn.OcclusionSensitivity(b_box=[0, 9])
    with pytest.raises(ValueError, match="not within"):
        metric.update(nn.Identity(), np.ones((1, 3)), np.array(0))
    with pytest.raises(RuntimeError, match="one image"):
        metric.update(nn.Identity(), np.ones((2, 3)), np.array(0))
