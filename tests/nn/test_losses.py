"""Losses as Cells against their formulas in NumPy, in both modes, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, log_softmax, xlogy

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.testing import assert_modes_equal, gradcheck

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)
A, B = RNG.uniform(-2, 2, (4, 3)), RNG.uniform(-2, 2, (4, 3))
P, Q = RNG.uniform(0.1, 0.9, (4, 3)), RNG.uniform(0.1, 0.9, (4, 3))
SIGNS, CLASSES, WEIGHT = np.array([1, -1, -1, 1]), np.array([0, 2, 1, 2]), np.array([1.0, 0.5, 2.0])
ROWS = np.arange(4)


def distance(x: Array, y: Array) -> Array:
    found: Array = np.sqrt(((x - y) ** 2).sum(-1))
    return found


def cosine(x: Array, y: Array) -> Array:
    found: Array = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    return found


def dice(x: Array, y: Array) -> float:
    return float(1 - 2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + 1e-5))


def huber(d: Array, delta: float) -> Array:
    return np.where(abs(d) <= delta, d * d / 2, delta * (abs(d) - delta / 2))


LOGP = log_softmax(A, 1)
#: The loss, its arguments, and what it is element by element.
ELEMENTWISE: dict[str, tuple[Callable[[str], Any], tuple[Array, ...], Array]] = {
    "MSELoss": (nn.MSELoss, (A, B), (A - B) ** 2),
    "L1Loss": (nn.L1Loss, (A, B), abs(A - B)),
    "MAELoss": (nn.MAELoss, (A, B), abs(A - B)),
    "SmoothL1Loss": (lambda r: nn.SmoothL1Loss(0.5, r), (A, B), huber(A - B, 0.5) / 0.5),
    "HuberLoss": (lambda r: nn.HuberLoss(r, 0.7), (A, B), huber(A - B, 0.7)),
    "BCELoss": (lambda r: nn.BCELoss(None, r), (P, Q), -(xlogy(Q, P) + xlogy(1 - Q, 1 - P))),
    "BCEWithLogitsLoss": (
        lambda r: nn.BCEWithLogitsLoss(r, Tensor(WEIGHT, ms.float64), Tensor(WEIGHT[::-1].copy(), ms.float64)),
        (A, Q),
        WEIGHT * (WEIGHT[::-1] * Q * np.log1p(np.exp(-A)) + (1 - Q) * np.log1p(np.exp(A))),
    ),
    "KLDivLoss": (nn.KLDivLoss, (A, Q), Q * (np.log(Q) - A)),
    "SoftMarginLoss": (nn.SoftMarginLoss, (A, np.sign(B)), np.log1p(np.exp(-A * np.sign(B)))),
    "HingeEmbeddingLoss": (
        lambda r: nn.HingeEmbeddingLoss(0.3, r),
        (A, np.sign(B)),
        np.where(B > 0, A, np.maximum(0, 0.3 - A)),
    ),
    "MarginRankingLoss": (
        lambda r: nn.MarginRankingLoss(0.1, r),
        (A, B, np.sign(P - Q)),
        np.maximum(0, 0.1 - np.sign(P - Q) * (A - B)),
    ),
    "CosineEmbeddingLoss": (
        lambda r: nn.CosineEmbeddingLoss(0.1, r),
        (A, B, SIGNS),
        np.where(SIGNS == 1, 1 - cosine(A, B), np.maximum(0, cosine(A, B) - 0.1)),
    ),
    "GaussianNLLLoss": (lambda r: nn.GaussianNLLLoss(reduction=r), (A, B, P), (np.log(P) + (A - B) ** 2 / P) / 2),
    "PoissonNLLLoss": (lambda r: nn.PoissonNLLLoss(reduction=r), (A, Q), np.exp(A) - Q * A),
    "TripletMarginLoss": (
        lambda r: nn.TripletMarginLoss(eps=0.0, reduction=r, margin=0.5),
        (A, B, P),
        np.maximum(0, 0.5 + distance(A, B) - distance(A, P)),
    ),
    "TripletMarginWithDistanceLoss": (
        lambda r: nn.TripletMarginWithDistanceLoss(swap=True, reduction=r),
        (A, B, P),
        np.maximum(0, 1 + distance(A, B) - np.minimum(distance(A, P), distance(B, P))),
    ),
    "TripletMarginWithDistanceLoss own": (
        lambda r: nn.TripletMarginWithDistanceLoss(lambda x, y: ops.abs(x - y).sum(-1), reduction=r),
        (A, B, P),
        np.maximum(0, 1 + abs(A - B).sum(-1) - abs(A - P).sum(-1)),
    ),
    "MultiLabelSoftMarginLoss": (
        lambda r: nn.MultiLabelSoftMarginLoss(None, r),
        (A, np.round(P)),
        (np.round(P) * np.log1p(np.exp(-A)) + (1 - np.round(P)) * np.log1p(np.exp(A))).mean(1),
    ),
    "MultiMarginLoss": (
        lambda r: nn.MultiMarginLoss(2, 0.5, r),
        (A, CLASSES),
        np.array(
            [
                sum(max(0, 0.5 - a[c] + a[k]) ** 2 for k in range(3) if k != c) / 3
                for a, c in zip(A, CLASSES, strict=True)
            ]
        ),
    ),
    "SoftmaxCrossEntropyWithLogits": (
        lambda r: nn.SoftmaxCrossEntropyWithLogits(True, r),
        (A, CLASSES),
        -LOGP[ROWS, CLASSES],
    ),
    "FocalLoss": (
        lambda r: nn.FocalLoss(Tensor(WEIGHT, ms.float64), 2.0, r),
        (A, CLASSES[:, None]),
        -WEIGHT[CLASSES] * (1 - np.exp(LOGP[ROWS, CLASSES])) ** 2 * LOGP[ROWS, CLASSES],
    ),
}


def given(values: tuple[Array, ...]) -> list[Tensor]:
    return [Tensor(v if v.dtype.kind == "i" else v.astype(np.float64)) for v in values]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_loss_by_its_formula(name: str, reduction: str) -> None:
    make, values, wanted = ELEMENTWISE[name]
    found = assert_modes_equal(make(reduction), *given(values), rtol=1e-9, atol=1e-10)
    reduced = {"none": wanted, "mean": wanted.mean(), "sum": wanted.sum()}[reduction]
    np.testing.assert_allclose(found.asnumpy(), reduced, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_derivatives_of_a_loss(name: str) -> None:
    make, values, _ = ELEMENTWISE[name]
    loss, args = make("mean"), given(values)
    others = args[1:] if name in ("KLDivLoss", "BCELoss") else [a for a in args[1:] if a.dtype == ms.float64]
    fixed = {"SoftMarginLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelSoftMarginLoss"}
    if name in fixed or not others:
        assert gradcheck(lambda x: loss(x, *args[1:]), args[:1])
    else:
        assert gradcheck(loss, args)


def test_classes_with_weights_and_a_class_that_counts_not(mode: str) -> None:
    logits, labels, weight = Tensor(A), Tensor(CLASSES), Tensor(WEIGHT)
    picked, w = -LOGP[ROWS, CLASSES], WEIGHT[CLASSES]
    for loss, x in ((nn.CrossEntropyLoss, logits), (nn.NLLLoss, Tensor(LOGP))):
        np.testing.assert_allclose(loss(weight)(x, labels).asnumpy(), (picked * w).sum() / w.sum(), rtol=1e-6)
        kept = CLASSES != 2
        np.testing.assert_allclose(loss(ignore_index=2)(x, labels).asnumpy(), picked[kept].mean(), rtol=1e-6)
    smooth = 0.9 * picked + 0.1 * -LOGP.mean(1)
    np.testing.assert_allclose(
        nn.CrossEntropyLoss(label_smoothing=0.1)(logits, labels).asnumpy(), smooth.mean(), rtol=1e-6
    )


def test_dice_losses(mode: str) -> None:
    codes = np.eye(3)[CLASSES]
    np.testing.assert_allclose(nn.DiceLoss()(Tensor(P), Tensor(codes)).asnumpy(), dice(P, codes), rtol=1e-6)
    probable = np.exp(LOGP)
    parts = np.array([dice(probable[:, k], codes[:, k]) for k in range(3)])
    loss = nn.MultiClassDiceLoss(Tensor(WEIGHT), ignore_indiex=1)
    np.testing.assert_allclose(loss(Tensor(A), Tensor(codes)).asnumpy(), (parts * WEIGHT)[[0, 2]].sum() / 3, rtol=1e-6)


def test_focal_loss_of_maps_and_of_codes(mode: str) -> None:
    logits, classes = RNG.standard_normal((2, 3, 4)), RNG.integers(0, 3, (2, 4))
    logp = log_softmax(logits, 1)
    codes = np.eye(3)[classes].transpose(0, 2, 1)
    parts = -((1 - np.exp(logp)) ** 2) * logp * codes
    found = nn.FocalLoss(reduction="none")(Tensor(logits), Tensor(classes[:, None]))
    np.testing.assert_allclose(found.asnumpy(), parts.sum(1).mean(1), rtol=1e-6)
    found = nn.FocalLoss(reduction="none")(Tensor(logits), Tensor(codes))
    np.testing.assert_allclose(found.asnumpy(), parts.mean(2), rtol=1e-6)


def test_other_reductions(mode: str) -> None:
    np.testing.assert_allclose(nn.RMSELoss()(Tensor(A), Tensor(B)).asnumpy(), np.sqrt(((A - B) ** 2).mean()))
    wanted = (Q * (np.log(Q) - A)).sum() / 4
    np.testing.assert_allclose(nn.KLDivLoss("batchmean")(Tensor(A), Tensor(Q)).asnumpy(), wanted)
    full = nn.PoissonNLLLoss(log_input=False, full=False, eps=0.0)
    np.testing.assert_allclose(full(Tensor(P), Tensor(Q)).asnumpy(), (P - Q * np.log(P)).mean(), rtol=1e-6)
    assert gammaln(3) == pytest.approx(np.log(2))


def test_ctc_of_one_path(mode: str) -> None:
    """Two steps and one label: the paths are (a, a), (a, blank), (blank, a)."""
    logp = log_softmax(RNG.standard_normal((2, 1, 2)), 2)
    a, blank = np.exp(logp[:, 0, 1]), np.exp(logp[:, 0, 0])
    loss = nn.CTCLoss(reduction="sum")(Tensor(logp), Tensor([[1]]), Tensor([2]), Tensor([1]))
    wanted = -np.log(a[0] * a[1] + a[0] * blank[1] + blank[0] * a[1])
    np.testing.assert_allclose(loss.asnumpy(), wanted, rtol=1e-6)


def test_a_loss_of_ones_own(mode: str) -> None:
    class Cubic(nn.LossBase):
        def construct(self, logits: Any, labels: Any) -> Any:
            return self.get_loss(ops.abs(logits - labels) ** 3, 2.0)

    for reduction, reduce in (("mean", np.mean), ("sum", np.sum), ("none", np.array)):
        wanted = reduce(2 * abs(A - B) ** 3)
        np.testing.assert_allclose(Cubic(reduction)(Tensor(A), Tensor(B)).asnumpy(), wanted, rtol=1e-6)
    half = Cubic()(Tensor(A, ms.float16), Tensor(B, ms.float16))
    assert half.dtype == ms.float16


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.MSELoss("average"), ValueError),
        (lambda: nn.SmoothL1Loss(0.0), ValueError),
        (lambda: nn.GaussianNLLLoss(eps=0.0), ValueError),
        (lambda: nn.BCEWithLogitsLoss(weight=1.0), TypeError),
        (lambda: nn.FocalLoss(weight=[1, 2]), TypeError),
        (lambda: nn.DiceLoss(-1.0), ValueError),
        (lambda: nn.DiceLoss()(Tensor([1.0]), Tensor([1.0, 2.0])), ValueError),
        (lambda: nn.MultiMarginLoss(p=3), ValueError),
        (lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True)(Tensor(A), Tensor(Q)), DTypeError),
    ],
)
def test_wrong_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
