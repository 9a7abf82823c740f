"""Losses against their formulas in NumPy and SciPy, reductions, corners where a logarithm would be infinite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.primitive import call

RNG = np.random.default_rng(17)
X, Y = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
P, T = RNG.uniform(0.1, 0.9, (4, 3)), RNG.uniform(0.1, 0.9, (4, 3))
SIGNS = np.array([[1.0, -1.0, 1.0]] * 4) * np.array([[1.0], [-1.0], [1.0], [-1.0]])
WEIGHT = np.array([0.5, 2.0, 1.0])


def bce(p, t):
    return -t * np.log(p) - (1 - t) * np.log(1 - p)


def huber(d, bound):
    return np.where(np.abs(d) <= bound, d * d / 2, bound * (np.abs(d) - bound / 2))


def cosine(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def triplet(a, p, n, order, swap=False):
    distance = lambda x, y: np.linalg.norm(x - y + 1e-6, order, axis=-1)
    far = np.minimum(distance(a, n), distance(p, n)) if swap else distance(a, n)
    return np.maximum(0, 1 + distance(a, p) - far)


CASES = [
    # loss with a reduction, its elements by NumPy, operands of which the first ones are differentiated, and how many
    (lambda x, y, r: ops.mse_loss(x, y, r), (X - Y) ** 2, (X, Y), 2),
    (lambda x, y, r: ops.l1_loss(x, y, r), np.abs(X - Y), (X, Y), 2),
    (lambda x, y, r: ops.huber_loss(x, y, r, 0.7), huber(X - Y, 0.7), (X, Y), 2),
    (lambda x, y, r: ops.smooth_l1_loss(x, y, 0.7, r), huber(X - Y, 0.7) / 0.7, (X, Y), 2),
    (lambda x, y, r: ops.binary_cross_entropy(x, y, None, r), bce(P, T), (P, T), 2),
    (lambda x, y, w, r: ops.binary_cross_entropy(x, y, w, r), bce(P, T) * WEIGHT, (P, T, WEIGHT), 2),
    (
        lambda x, y, r: ops.binary_cross_entropy_with_logits(x, y, None, None, r),
        bce(special.expit(X), T), (X, T), 2,
    ),
    (
        lambda x, y, w, r: ops.binary_cross_entropy_with_logits(x, y, w, w, r),
        WEIGHT * (-WEIGHT * T * special.log_expit(X) - (1 - T) * special.log_expit(-X)), (X, T, WEIGHT), 2,
    ),
    (lambda x, y, r: ops.kl_div(x, y, r), T * (np.log(T) - X), (X, T), 2),
    (
        lambda x, y, v, r: ops.gaussian_nll_loss(x, y, v, True, 1e-6, r),
        -stats.norm.logpdf(Y, X, np.sqrt(P)), (X, Y, P), 3,
    ),
    (lambda x, y, r: call.poisson_nll_loss(x, y, True, False, 1e-8, r), np.exp(X) - T * X, (X, T), 2),
    (lambda x, y, r: call.poisson_nll_loss(x, y, False, False, 0.5, r), P - T * np.log(P + 0.5), (P, T), 2),
    (lambda x, y, r: ops.soft_margin_loss(x, y, r), np.log1p(np.exp(-SIGNS * X)), (X, SIGNS), 1),
    (
        lambda x, y, r: ops.hinge_embedding_loss(x, y, 0.8, r),
        np.where(SIGNS > 0, X, np.maximum(0, 0.8 - X)), (X, SIGNS), 1,
    ),
    (
        lambda x, y, s, r: ops.margin_ranking_loss(x, y, s, 0.3, r),
        np.maximum(0, 0.3 - SIGNS * (X - Y)), (X, Y, SIGNS), 2,
    ),
    (
        lambda x, y, s, r: ops.cosine_embedding_loss(x, y, s, 0.1, r),
        np.where(SIGNS[:, 0] > 0, 1 - cosine(X, Y), np.maximum(0, cosine(X, Y) - 0.1)), (X, Y, SIGNS[:, 0]), 2,
    ),
    (lambda x, y, z, r: ops.triplet_margin_loss(x, y, z, reduction=r), triplet(X, Y, P, 2), (X, Y, P), 3),
    (
        lambda x, y, z, r: ops.triplet_margin_loss(x, y, z, p=3, swap=True, reduction=r),
        triplet(X, Y, P, 3, True), (X, Y, P), 3,
    ),
    (
        lambda x, y, r: ops.multilabel_soft_margin_loss(x, y, None, r),
        bce(special.expit(X), (SIGNS > 0).astype(float)).mean(-1), (X, (SIGNS > 0).astype(float)), 1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "elements", "operands", "differentiated"), CASES)
def test_the_formula(modes, derivatives, loss, elements, operands, differentiated):
    for reduction, expected in (("none", elements), ("sum", elements.sum()), ("mean", elements.mean())):
        (got,) = modes(lambda *xs: loss(*xs, reduction), *operands)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
    fixed = [Tensor(x) for x in operands[differentiated:]]
    derivatives(lambda *xs: loss(*xs, *fixed, "none"), *operands[:differentiated])
    narrow = [Tensor(x.astype(np.float16)) for x in operands]
    got = loss(*narrow, "mean")
    assert got.dtype is ac.float16
    assert got.item() == pytest.approx(elements.mean(), rel=2e-2)
    with pytest.raises(ValueError, match="reduction must be"):
        loss(*map(Tensor, operands), "average")


def test_losses_broadcast_and_take_numbers(modes):
    np.testing.assert_allclose(modes(ops.mse_loss, X, Y[0])[0], ((X - Y[0]) ** 2).mean())
    np.testing.assert_allclose(modes(lambda x: ops.l1_loss(x, 0.5), X)[0], np.abs(X - 0.5).mean())
    np.testing.assert_allclose(modes(lambda x: ops.smooth_l1_loss(x, 0.5, 0.0), X)[0], np.abs(X - 0.5))


def test_poisson_with_stirlings_formula(modes):
    t = np.array([0.0, 1.0, 3.0, 8.0])
    (got,) = modes(lambda x, t: call.poisson_nll_loss(x, t, full=True, reduction="none"), np.ones(4), t)
    exact = -stats.poisson.logpmf(t, math.e)  # which has log(t!)
    np.testing.assert_allclose(got, exact, atol=0.03)
    np.testing.assert_allclose(got[:2], exact[:2], rtol=1e-14)


# ------------------------------------------------------------------------------------------------ corners
def test_certain_probabilities_have_finite_losses():
    p, t = Tensor([0.0, 0.0, 1.0, 1.0]), Tensor([0.0, 1.0, 0.0, 1.0])
    for dtype in ("float32", "float64", "float16"):
        loss = ops.binary_cross_entropy(p.astype(dtype), t.astype(dtype), reduction="none")
        np.testing.assert_allclose(loss.asnumpy().astype(float), [0, 27.63, 27.63, 0], rtol=1e-3, atol=1e-6)
    grad = ac.grad(lambda p: ops.binary_cross_entropy(p, t, reduction="sum"))
    for run in (grad, ac.jit(grad)):
        np.testing.assert_allclose(run(p).asnumpy(), [1, -1e12, 1e12, -1], rtol=1e-5)


def test_large_logits_do_not_overflow():
    x, t = Tensor([1000.0, -1000.0, 1000.0]), Tensor([1.0, 0.0, 0.0])
    assert ops.binary_cross_entropy_with_logits(x, t, reduction="none").tolist() == [0.0, 0.0, 1000.0]
    grad = ac.grad(lambda x: ops.binary_cross_entropy_with_logits(x, t, reduction="sum"))
    assert grad(x).tolist() == [0.0, 0.0, 1.0]
    huge = Tensor([1e30])
    assert ac.grad(lambda x: ops.huber_loss(x, 0.0))(huge).tolist() == [1.0]


def test_kl_div_of_zero_targets_and_batches():
    logp, t = Tensor([[-1.0, -2.0]]), Tensor([[0.0, 1.0]])
    assert ops.kl_div(logp, t, "none").tolist() == [[0.0, 2.0]]
    assert ops.kl_div(Tensor(X), Tensor(T), "batchmean").item() == pytest.approx((T * (np.log(T) - X)).sum() / 4)


def test_cosine_similarity(modes, derivatives):
    np.testing.assert_allclose(modes(ops.cosine_similarity, X, Y)[0], cosine(X, Y), rtol=1e-12)
    np.testing.assert_allclose(modes(lambda x, y: ops.cosine_similarity(x, y, 0), X, Y)[0], cosine(X.T, Y.T))
    derivatives(ops.cosine_similarity, X, Y)
    zero = Tensor([[0.0, 0.0]])
    assert ops.cosine_similarity(zero, Tensor([[1.0, 0.0]])).tolist() == [0.0]
    grad = ac.grad(lambda x: ops.cosine_similarity(x, Tensor([[1.0, 0.0]])).sum())(zero)
    assert np.isfinite(grad.asnumpy()).all()


# ------------------------------------------------------------------------------------------------ classes
LABELS = np.array([2, 0, -100, 1])
LOGP = special.log_softmax(X, -1)


def smoothed(logp, labels, weight, smoothing):
    """Losses of labels that count, and their weights, by sums over the classes."""
    target = np.eye(3)[labels] * (1 - smoothing) + smoothing / 3
    return -(logp * target * weight).sum(-1), weight[labels]


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_of_labels(modes, derivatives, weight, smoothing):
    counts = LABELS >= 0
    w = np.ones(3) if weight is None else weight
    if smoothing:  # the smoothed part has the weights of all classes, that of the label its own
        one, share = smoothed(LOGP[counts], LABELS[counts], w, 0.0)
        even = -(LOGP[counts] * w).sum(-1) / 3
        losses = (1 - smoothing) * one + smoothing * even
    else:
        losses, share = smoothed(LOGP[counts], LABELS[counts], w, 0.0)
    given = None if weight is None else Tensor(weight)
    for reduction, expected in (("mean", losses.sum() / share.sum()), ("sum", losses.sum())):
        loss = lambda x, y: ops.cross_entropy(x, y, given, -100, reduction, smoothing)
        np.testing.assert_allclose(modes(loss, X, LABELS)[0], expected, rtol=1e-12)
        nll = lambda x, y: ops.nll_loss(x, y, given, -100, reduction, smoothing)
        np.testing.assert_allclose(modes(nll, LOGP, LABELS)[0], expected, rtol=1e-12)
    (each,) = modes(lambda x, y: ops.cross_entropy(x, y, given, -100, "none", smoothing), X, LABELS)
    np.testing.assert_allclose(each[counts], losses, rtol=1e-12)
    assert each[2] == 0
    derivatives(lambda x: ops.cross_entropy(x, Tensor(LABELS), given, label_smoothing=smoothing), X)


def test_cross_entropy_of_probabilities(modes, derivatives):
    target = special.softmax(Y, -1)
    (got,) = modes(ops.cross_entropy, X, target)
    np.testing.assert_allclose(got, -(LOGP * target).sum(-1).mean(), rtol=1e-12)
    (got,) = modes(lambda x, t, w: ops.cross_entropy(x, t, w, label_smoothing=0.2), X, target, WEIGHT)
    np.testing.assert_allclose(got, -(LOGP * (0.8 * target + 0.2 / 3) * WEIGHT).sum(-1).mean(), rtol=1e-12)
    derivatives(ops.cross_entropy, X, target)


def test_classes_stand_in_the_second_dimension(modes):
    x, labels = RNG.normal(size=(2, 3, 4)), RNG.integers(0, 3, (2, 4))
    expected = -np.take_along_axis(special.log_softmax(x, 1), labels[:, None], 1)[:, 0]
    (got,) = modes(lambda x, y: ops.cross_entropy(x, y, reduction="none"), x, labels)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_allclose(modes(ops.cross_entropy, x[0, :, 0], labels[0, 0])[0], expected[0, 0], rtol=1e-12)


def test_ignored_samples_get_no_gradient_even_of_infinite_logits():
    x = Tensor([[1.0, 2.0], [-math.inf, 0.0]])
    grad = ac.grad(lambda x: ops.nll_loss(x, Tensor([1, -100])))(x)
    assert grad.tolist() == [[0.0, -1.0], [0.0, 0.0]]
    assert math.isnan(ops.cross_entropy(x, Tensor([-100, -100])).item())  # a mean of nothing


def test_multi_margin_loss(modes, derivatives):
    labels = np.array([0, 2, 1, 1])
    short = np.maximum(0, 1 - X[np.arange(4), labels][:, None] + X)
    short[np.arange(4), labels] = 0
    np.testing.assert_allclose(modes(ops.multi_margin_loss, X, labels)[0], (short.sum(-1) / 3).mean())
    (got,) = modes(lambda x, y, w: ops.multi_margin_loss(x, y, 2, 1, w, "none"), X, labels, WEIGHT)
    np.testing.assert_allclose(got, WEIGHT[labels] * (short**2).sum(-1) / 3)
    derivatives(lambda x: ops.multi_margin_loss(x, Tensor(labels), 2), X)


def test_what_is_refused():
    x = Tensor(X)
    for fn, error, text in [
        (lambda: ops.cross_entropy(x, Tensor([0, 1, 2, 3])), IndexError, "out of bounds for size 3"),
        (lambda: ops.cross_entropy(x, Tensor([0, 1, -1, 2])), IndexError, "out of bounds"),
        (lambda: ops.cross_entropy(x, Tensor([0, 1])), ShapeError, "do not fit"),
        (lambda: ops.cross_entropy(x, Tensor(X[:2])), ShapeError, "must be that of the logits"),
        (lambda: ops.cross_entropy(x, Tensor([True] * 4)), DTypeError, "integers or probabilities"),
        (lambda: ops.nll_loss(x, Tensor([0.0] * 4)), DTypeError, "labels must be integers"),
        (lambda: ops.cross_entropy(x, Tensor([0] * 4), Tensor([1.0])), ShapeError, "must have the shape \\[3\\]"),
        (lambda: ops.huber_loss(x, x, delta=0), ValueError, "must be positive"),
        (lambda: ops.smooth_l1_loss(x, x, -1.0), ValueError, "must not be negative"),
    ]:
        with pytest.raises(error, match=text):
            fn()
