"""Metrics over several batches against counting by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn

RNG = np.random.default_rng(13)
SCORES, CLASSES = RNG.random((20, 4)), RNG.integers(0, 4, 20)
PREDICTED = SCORES.argmax(1)


def gathered(metric: Any, *parts: Any, batches: int = 4) -> Any:
    """The metric after all samples, given in batches, alternately as Tensors and as arrays."""
    for k, batch in enumerate(zip(*[np.array_split(p, batches) for p in parts], strict=True)):
        metric.update(*[Tensor(b) if k % 2 else b for b in batch])
    return metric


def counts(k: int) -> tuple[int, int, int]:
    """True positives, predicted and actual samples of a class."""
    return int(((PREDICTED == k) & (CLASSES == k)).sum()), int((PREDICTED == k).sum()), int((CLASSES == k).sum())


@pytest.mark.parametrize("labels", [CLASSES, np.eye(4, dtype=int)[CLASSES]], ids=["classes", "one-hot"])
def test_metrics_of_classes(labels: Any) -> None:
    true, predicted, actual = np.array([counts(k) for k in range(4)]).T
    assert gathered(nn.Accuracy(), SCORES, labels).eval() == pytest.approx((PREDICTED == CLASSES).mean())
    precision, recall = true / predicted, true / actual
    np.testing.assert_allclose(gathered(nn.Precision(), SCORES, labels).eval(), precision)
    np.testing.assert_allclose(gathered(nn.Recall(), SCORES, labels).eval(), recall)
    assert gathered(nn.Recall(), SCORES, labels).eval(True) == pytest.approx(recall.mean())
    np.testing.assert_allclose(gathered(nn.F1(), SCORES, labels).eval(), 2 * true / (predicted + actual))
    with np.errstate(invalid="ignore"):
        wanted = np.nan_to_num(5 * precision * recall / (4 * precision + recall))
    np.testing.assert_allclose(gathered(nn.Fbeta(2.0), SCORES, labels).eval(), wanted)
    best = np.argsort(-SCORES, axis=1)
    for k in (1, 2):
        wanted = np.mean([c in row[:k] for c, row in zip(CLASSES, best, strict=True)])
        assert gathered(nn.TopKCategoricalAccuracy(k), SCORES, labels).eval() == pytest.approx(wanted)
    assert gathered(nn.Top5CategoricalAccuracy(), SCORES, labels).eval() == 1.0


@pytest.mark.parametrize(("normalize", "axis"), [("no_norm", ()), ("target", 1), ("prediction", 0), ("all", None)])
def test_a_confusion_matrix(normalize: str, axis: Any) -> None:
    wanted = np.array([[((CLASSES == i) & (PREDICTED == j)).sum() for j in range(4)] for i in range(4)], float)
    if normalize != "no_norm":
        wanted = wanted / wanted.sum(axis=axis, keepdims=True)
    for given in (SCORES, PREDICTED, PREDICTED.astype(float)):
        np.testing.assert_allclose(gathered(nn.ConfusionMatrix(4, normalize), given, CLASSES).eval(), wanted)


def test_a_threshold_between_two_classes() -> None:
    p, y = RNG.random(12), RNG.integers(0, 2, 12)
    found = gathered(nn.ConfusionMatrix(2, threshold=0.3), p, y).eval()
    assert found[1, 1] == ((p >= 0.3) & (y == 1)).sum()
    assert found[0, 0] == ((p < 0.3) & (y == 0)).sum()


def test_sets_of_labels() -> None:
    x, y = RNG.integers(0, 2, (10, 3)), RNG.integers(0, 2, (10, 3))
    assert gathered(nn.Accuracy("multilabel"), x, y).eval() == pytest.approx((x == y).all(1).mean())
    hits = (x * y).sum(1)
    np.testing.assert_allclose(gathered(nn.Precision("multilabel"), x, y).eval(), hits / np.maximum(x.sum(1), 1e-300))
    np.testing.assert_allclose(gathered(nn.Recall("multilabel"), x, y).eval(), hits / np.maximum(y.sum(1), 1e-300))


def test_metrics_of_numbers() -> None:
    x, y = RNG.random((8, 2)), RNG.random((8, 2))
    assert gathered(nn.MAE(), x, y).eval() == pytest.approx(abs(x - y).sum() / 8)
    assert gathered(nn.MSE(), x, y).eval() == pytest.approx(((x - y) ** 2).sum() / 8)
    one = nn.Dice(0.0)
    one.update(x, y)
    assert one.eval() == pytest.approx(2 * (x * y).sum() / ((x * x).sum() + (y * y).sum()) / 8)
    loss = nn.Loss()
    loss.update(Tensor(1.0))
    loss.update(np.array([2.0, 4.0]))
    assert loss.eval() == 2.0
    p = SCORES / SCORES.sum(1, keepdims=True)
    kept = CLASSES != 1
    wanted = np.exp(-np.log(p[np.arange(20), CLASSES])[kept].mean())
    assert gathered(nn.Perplexity(1), p, CLASSES).eval() == pytest.approx(wanted)


@pytest.mark.parametrize(
    "name", ["F1", "acc", "accuracy", "dice", "loss", "mae", "mse", "perplexity", "precision", "recall"]
)
def test_a_metric_by_name_starts_empty_and_is_cleared(name: str) -> None:
    metric = nn.get_metric_fn(name)
    with pytest.raises(RuntimeError):
        metric.eval()
    if name == "loss":
        metric.update(1.0 * np.ones(2))
    else:
        metric.update(np.array([[0.2, 0.8]]), np.array([[0, 1]]) if name in ("mae", "mse", "dice") else np.array([1]))
    metric.eval()
    metric.clear()
    with pytest.raises(RuntimeError):
        metric.eval()


def test_inputs_are_chosen() -> None:
    metric = nn.MAE().set_indexes([2, 0])
    metric.update([1.0, 2.0], None, [1.5, 2.0])
    assert metric.eval() == 0.25
    assert metric.indexes == [2, 0]


def test_several_metrics() -> None:
    found = nn.get_metrics({"mine": nn.MAE()})
    assert list(found) == ["mine"]
    assert set(nn.get_metrics({"acc", "loss"})) == {"acc", "loss"}
    assert nn.get_metrics(None) == {}


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda: nn.Accuracy("sorting"), ValueError),
        (lambda: nn.Accuracy().update([[0.1, 0.9]], [1], [2]), ValueError),
        (lambda: nn.Accuracy().update([[0.1, 0.9]], [1, 0]), ValueError),
        (lambda: nn.Accuracy().update(3, [1]), TypeError),
        (lambda: nn.Precision().update([[0.1, 0.9]], [2]), ValueError),
        (lambda: nn.Recall("multilabel").update([[0.1, 0.9]], [[1, 0]]), ValueError),
        (lambda: nn.Fbeta(0), ValueError),
        (lambda: nn.TopKCategoricalAccuracy(0), ValueError),
        (lambda: nn.Loss().update(np.ones((2, 2))), ValueError),
        (lambda: nn.MAE().set_indexes((0, 1)), ValueError),
        (lambda: nn.get_metric_fn("beauty"), KeyError),
        (lambda: nn.get_metrics(3), TypeError),
        (lambda: nn.get_metrics({"a": 3}), TypeError),
        (lambda: nn.Metric().eval(), NotImplementedError),
    ],
)
def test_what_is_wrong_is_refused(act: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        act()
