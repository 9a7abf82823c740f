"""Activations against their formulas in NumPy and SciPy, derivatives, kinks and extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError

X = np.linspace(-4.1, 4.3, 12).reshape(3, 4)  # no kink among them


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1))


def expit_half(x):
    return x[..., :2] * special.expit(x[..., 2:])


CASES = [
    (ops.gelu, lambda x: x * stats.norm.cdf(x)),
    (lambda x: ops.gelu(x, "tanh"), lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    (ops.silu, lambda x: x * special.expit(x)),
    (ops.fast_gelu, lambda x: x * special.expit(1.702 * x)),
    (ops.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    (ops.logsigmoid, lambda x: np.log(special.expit(x))),
    (ops.softsign, lambda x: x / (1 + np.abs(x))),
    (ops.tanhshrink, lambda x: x - np.tanh(x)),
    (ops.elu, elu),
    (lambda x: ops.elu(x, 0.5), lambda x: elu(x, 0.5)),
    (lambda x: ops.celu(x, 2.0), lambda x: np.maximum(x, 0) + np.minimum(0, 2 * (np.exp(x / 2) - 1))),
    (ops.selu, lambda x: 1.0507009873554804934 * elu(x, 1.6732632423543772848)),
    (ops.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x)),
    (lambda x: ops.leaky_relu(x, 1.5), lambda x: np.where(x > 0, x, 1.5 * x)),
    (ops.relu6, lambda x: np.clip(x, 0, 6)),
    (lambda x: ops.hardtanh(x, -2, 1.5), lambda x: np.clip(x, -2, 1.5)),
    (ops.hardsigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    (ops.hardswish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (lambda x: ops.hardshrink(x, 0.9), lambda x: np.where(np.abs(x) > 0.9, x, 0)),
    (lambda x: ops.softshrink(x, 0.9), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.9, 0)),
    (lambda x: ops.threshold(x, 0.3, -7.0), lambda x: np.where(x > 0.3, x, -7)),
    (ops.glu, expit_half),
    (ops.swiglu, lambda x: x[..., :2] * special.expit(x[..., :2]) * x[..., 2:]),
    (lambda x: ops.softmin(x, 0), lambda x: special.softmax(-x, 0)),
]


@pytest.mark.parametrize(("fn", "reference"), CASES)
def test_the_formula(modes, derivatives, fn, reference):
    np.testing.assert_allclose(modes(fn, X)[0], reference(X), rtol=1e-12, atol=1e-14)
    derivatives(fn, X)
    for dtype, eps in ((np.float32, 1e-5), (np.float16, 1e-2)):
        (got,) = modes(fn, X.astype(dtype))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, reference(X.astype(dtype).astype(float)), rtol=eps, atol=eps / 10)


def test_integers_become_float32(modes):
    (got,) = modes(ops.silu, np.array([-1, 0, 2], np.int32))
    assert got.dtype == np.float32
    assert modes(ops.relu6, np.array([-1, 9]))[0].tolist() == [0.0, 6.0]


def test_prelu(modes, derivatives):
    x, w = np.linspace(-2.0, 1.7, 24).reshape(2, 3, 4), np.array([0.1, 0.2, -0.5])
    np.testing.assert_allclose(modes(ops.prelu, x, w)[0], np.where(x > 0, x, w[:, None] * x))
    np.testing.assert_allclose(modes(ops.prelu, x[0, 0], w[:1])[0], np.where(x[0, 0] > 0, x[0, 0], 0.1 * x[0, 0]))
    derivatives(ops.prelu, x, w)
    derivatives(ops.prelu, x, w[:1])
    with pytest.raises(ShapeError, match="3 channels needs one weight or 3, not 2"):
        ops.prelu(Tensor(x), Tensor(w[:2]))


KINKS = [
    # function, place, derivative there
    (ops.leaky_relu, 0.0, 0.2), (ops.elu, 0.0, 1.0), (lambda x: ops.elu(x, 0.5), 0.0, 0.5),
    (lambda x: ops.celu(x, 2.0), 0.0, 1.0), (ops.relu6, 0.0, 0.0), (ops.relu6, 6.0, 0.0), (ops.hardtanh, 1.0, 0.5),
    (ops.hardsigmoid, -3.0, 0.0), (ops.hardsigmoid, 3.0, 0.0), (ops.hardswish, -3.0, 0.0), (ops.hardswish, 3.0, 1.0),
    (ops.hardshrink, 0.5, 0.0), (ops.softshrink, -0.5, 0.0), (ops.softshrink, 0.5, 0.0), (ops.softsign, 0.0, 1.0),
    (lambda x: ops.threshold(x, 1.0, 5.0), 1.0, 0.0), (lambda x: ops.prelu(x, Tensor([0.25])), 0.0, 0.25),
    (lambda x: ops.leaky_relu(x, 0), 0.0, 0.0), (ops.hardtanh, -1.0, 0.5), (ops.hardshrink, -0.5, 0.0),
    (ops.selu, 0.0, 1.7580993408473766), (ops.relu, 0.0, 0.0), (ops.abs, 0.0, 0.0), (ops.sign, 0.0, 0.0),
    (lambda x: ops.maximum(x, 0), 0.0, 0.5), (lambda x: ops.minimum(x, 0), 0.0, 0.5),
    (lambda x: ops.fmax(x, 0), 0.0, 0.5), (lambda x: ops.clip_by_value(x, -1, 1), -1.0, 0.5),
    (lambda x: ops.clip_by_value(x, -1, 1), 1.0, 0.5), (lambda x: ops.clamp(x, -1, 1), -1.0, 1.0),
    (lambda x: ops.clamp(x, -1, 1), 1.0, 1.0), (lambda x: ops.clamp(x, max=Tensor([1.0])), 1.0, 1.0),
    (lambda x: ops.l1_loss(x, 0), 0.0, 0.0), (lambda x: ops.smooth_l1_loss(x, 0, 0.0), 0.0, 0.0),
    (lambda x: ops.smooth_l1_loss(x, 0, 0.5), 0.5, 1.0), (lambda x: ops.huber_loss(x, 0, delta=2.0), -2.0, -2.0),
    (lambda x: ops.hinge_embedding_loss(x, -1), 1.0, 0.0), (lambda x: ops.margin_ranking_loss(x, 0, 1, 1.0), 1.0, 0.0),
    (lambda x: ops.heaviside(x, 0.5), 0.0, 0.0), (lambda x: ops.norm(x), 0.0, 0.0),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*gradient is zero")  # of heaviside it is
@pytest.mark.parametrize(("fn", "place", "slope"), KINKS)
def test_derivatives_at_kinks(fn, place, slope):
    grad = ac.grad(lambda x: fn(x).sum())
    for run in (grad, ac.jit(grad)):
        assert run(Tensor([place])).tolist() == [pytest.approx(slope, rel=1e-6)]


def test_values_and_derivatives_stay_finite_far_out():
    x = Tensor([-1e4, -100.0, 100.0, 1e4])
    for fn in (ops.gelu, ops.silu, ops.mish, ops.elu, ops.selu, ops.celu, ops.logsigmoid, ops.hardswish, ops.softsign):
        assert np.isfinite(fn(x).asnumpy()).all()
        assert np.isfinite(ac.grad(lambda x: fn(x).sum())(x).asnumpy()).all()
    tail = ops.gelu(Tensor(np.array([-12.0]))).item()  # no cancellation: -12 * cdf(-12)
    assert tail == pytest.approx(-12 * stats.norm.sf(12.0), rel=1e-12)


def test_nan_stays():
    nan = Tensor([math.nan])
    for fn, _ in CASES[:21]:
        assert np.isnan(fn(nan).asnumpy()).all()


def test_what_is_refused():
    x = Tensor([1.0, 2.0, 3.0])
    for fn, error, text in [
        (lambda: ops.gelu(x, "erf"), ValueError, "'none' or 'tanh'"),
        (lambda: ops.glu(x), ShapeError, "even size"),
        (lambda: ops.celu(x, 0.0), ValueError, "must not be 0"),
        (lambda: ops.hardtanh(x, 1, 1), ValueError, "min_val < max_val"),
        (lambda: ops.softshrink(x, -1.0), ValueError, "must not be negative"),
        (lambda: ops.prelu(x, Tensor([[0.1]])), ShapeError, "one dimension"),
    ]:
        with pytest.raises(error, match=text):
            fn()
