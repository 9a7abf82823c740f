"""Normalization against its formulas in NumPy; running statistics in both modes; embedding and dropout masks."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Parameter, Tensor, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.primitive import call

RNG = np.random.default_rng(13)


def draw(*shape):
    return RNG.normal(size=shape)


def standardized(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


X, W, B = draw(3, 4, 2, 5) * 2 + 1, draw(4), draw(4)
PER_CHANNEL = (slice(None), None, None)


def test_layer_norm(modes, derivatives):
    w, b = draw(2, 5), draw(2, 5)
    (got,) = modes(lambda x, w, b: ops.layer_norm(x, (2, 5), w, b, 1e-3), X, w, b)
    np.testing.assert_allclose(got, standardized(X, (-2, -1), 1e-3) * w + b, rtol=1e-12)
    (got,) = modes(lambda x: ops.layer_norm(x, [5]), X)
    np.testing.assert_allclose(got, standardized(X, -1, 1e-5), rtol=1e-12)
    derivatives(lambda x, w, b: ops.layer_norm(x, (2, 5), w, b), X[0], w, b)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_norm(modes, derivatives, groups):
    (got,) = modes(lambda x, w, b: ops.group_norm(x, groups, w, b), X, W, B)
    apart = standardized(X.reshape(3, groups, -1), -1, 1e-5).reshape(X.shape)
    np.testing.assert_allclose(got, apart * W[PER_CHANNEL] + B[PER_CHANNEL], rtol=1e-12)
    derivatives(lambda x, w: ops.group_norm(x, groups, w), X[:2], W)


def test_instance_norm(modes, derivatives):
    (got,) = modes(lambda x, w, b: call.instance_norm(x, w, b), X, W, B)
    np.testing.assert_allclose(got, standardized(X, (2, 3), 1e-5) * W[PER_CHANNEL] + B[PER_CHANNEL], rtol=1e-12)
    derivatives(lambda x, w: call.instance_norm(x, w), X[:2], W)


def test_rms_norm(modes, derivatives):
    gamma = draw(5)
    got, factor = modes(ops.rms_norm, X, gamma)
    expected = 1 / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(factor, expected, rtol=1e-12)
    np.testing.assert_allclose(got, X * expected * gamma, rtol=1e-12)
    derivatives(lambda x, w: ops.rms_norm(x, w)[0], X[0], gamma)


def test_local_response_norm(modes, derivatives):
    (got,) = modes(lambda x: ops.lrn(x, 1, 2.0, 0.5, 0.75), X)
    squares = np.pad(X * X, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    np.testing.assert_allclose(got, X / (2 + 0.5 * total) ** 0.75, rtol=1e-12)
    derivatives(lambda x: ops.lrn(x, 1), X[:1])


# ------------------------------------------------------------------------------------------------ batches
def test_batch_norm_with_running_statistics(modes, derivatives):
    mean, variance = draw(4), RNG.uniform(0.5, 2, 4)
    expected = (X - mean[PER_CHANNEL]) / np.sqrt(variance[PER_CHANNEL] + 1e-5) * W[PER_CHANNEL] + B[PER_CHANNEL]
    np.testing.assert_allclose(modes(ops.batch_norm, X, mean, variance, W, B)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(  # without spatial dimensions
        modes(ops.batch_norm, X[..., 0, 0], mean, variance, W, B)[0], expected[..., 0, 0], rtol=1e-12
    )
    derivatives(ops.batch_norm, X[:1], mean, variance, W, B)


@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_batch_norm_in_training(run):
    mean, variance = Parameter(Tensor(np.zeros(4)), name="mean"), Parameter(Tensor(np.ones(4)), name="variance")

    @run
    def train(x, w, b):
        return ops.batch_norm(x, mean, variance, w, b, training=True, momentum=0.25)

    axes, seen = (0, 2, 3), X * 2
    expected = standardized(X, axes, 1e-5) * W[PER_CHANNEL] + B[PER_CHANNEL]
    np.testing.assert_allclose(train(Tensor(X), Tensor(W), Tensor(B)).asnumpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(mean.asnumpy(), 0.25 * X.mean(axes), rtol=1e-12)
    np.testing.assert_allclose(variance.asnumpy(), 0.75 + 0.25 * X.var(axes, ddof=1), rtol=1e-12)
    train(Tensor(seen), Tensor(W), Tensor(B))
    np.testing.assert_allclose(mean.asnumpy(), 0.75 * 0.25 * X.mean(axes) + 0.25 * seen.mean(axes), rtol=1e-12)


@pytest.mark.parametrize("run", [lambda f: f, ac.jit], ids=["eager", "compiled"])
def test_batch_norm_in_training_moves_tensors_too(run):
    mean, variance = Tensor(np.zeros(4)), Tensor(np.ones(4))
    train = run(lambda x, m, v, w, b: ops.batch_norm(x, m, v, w, b, training=True, momentum=0.25))
    axes = (0, 2, 3)
    expected = standardized(X, axes, 1e-5) * W[PER_CHANNEL] + B[PER_CHANNEL]
    found = train(Tensor(X), mean, variance, Tensor(W), Tensor(B))
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(mean.asnumpy(), 0.25 * X.mean(axes), rtol=1e-12)
    np.testing.assert_allclose(variance.asnumpy(), 0.75 + 0.25 * X.var(axes, ddof=1), rtol=1e-12)


def test_derivatives_through_batch_statistics(derivatives):
    def normalized(x, w):
        center, variance, _ = call.batch_moments(x)
        return call.batch_norm(x, center, variance, w)

    derivatives(normalized, X[:2], W)


def test_16_bit_floats_are_normalized_in_float32(modes):
    x = (np.arange(4000.0) % 7 + 1000).astype(np.float16).reshape(1, 4, 1000)  # squares overflow, differences do not
    expected = standardized(x.astype(float), -1, 1e-5)
    for fn in (lambda x: ops.layer_norm(x, (1000,)), call.instance_norm, lambda x: ops.group_norm(x, 4)):
        (got,) = modes(fn, x)
        assert got.dtype == np.float16
        np.testing.assert_allclose(got.astype(float), expected, rtol=2e-3, atol=1e-3)


def test_what_is_refused():
    x = Tensor(X)
    for fn, text in [
        (lambda: ops.layer_norm(x, (4, 5)), "does not end with normalized_shape"),
        (lambda: ops.layer_norm(x, 5, Tensor(W)), "`weight` of shape \\[4\\] does not fit \\[5\\]"),
        (lambda: ops.group_norm(x, 3), "4 channels cannot be divided into 3 groups"),
        (lambda: call.instance_norm(x[0, 0]), "at least 3 dimensions"),
        (lambda: ops.batch_norm(x, Tensor(draw(3)), Tensor(W), None, None), "`mean` of shape \\[3\\]"),
        (lambda: ops.rms_norm(x, Tensor(W)), "does not end with the shape of gamma"),
    ]:
        with pytest.raises(ShapeError, match=text):
            fn()
    with pytest.raises(TypeError, match=r"batch_norm in training .* not a float"):
        ops.batch_norm(x, 1.0, 1.0, None, None, training=True)


# ------------------------------------------------------------------------------------------------ embedding, dropout
def test_embedding(modes, derivatives):
    table, rows = draw(5, 3), np.array([[0, 4], [2, 0]], np.int32)
    np.testing.assert_array_equal(modes(ops.embedding, rows, table)[0], table[rows])
    derivatives(lambda w: ops.embedding(Tensor(rows), w * w), table)
    for padding in (0, -5):
        grad = ac.grad(lambda w: ops.embedding(Tensor(rows), w, padding).sum())
        for run in (grad, ac.jit(grad)):
            np.testing.assert_array_equal(run(Tensor(table)).asnumpy()[:, 0], [0, 0, 1, 0, 1])
    with pytest.raises(IndexError, match="out of bounds for size 5"):
        ops.embedding(Tensor([5]), Tensor(table))
    with pytest.raises(ValueError, match="is no row"):
        ops.embedding(Tensor([0]), Tensor(table), 5)
    with pytest.raises(TypeError, match="changes a Parameter"):
        ops.embedding(Tensor([0]), Tensor(table), max_norm=1.0)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_an_embedding_shortens_the_rows_it_reads(p):
    table, rows = draw(5, 3), np.array([4, 2, 4])
    length = np.linalg.norm(table, p, axis=1, keepdims=True)
    most = np.sort(length[[4, 2], 0]).mean()  # between the two
    expected = np.where((length > most) & np.isin(np.arange(5), rows)[:, None], table * most / length, table)
    for wrap in (lambda f: f, ac.jit):
        weight = Parameter(table.copy(), name="weight")

        def total(rows, weight=weight):
            found = ops.embedding(rows, weight, max_norm=most, norm_type=p)
            return (found * found).sum(), found

        loss = ac.value_and_grad(total, None, weights=[weight], has_aux=True)
        ((_, found), gradient) = wrap(loss)(Tensor(rows))
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(found.asnumpy(), expected[rows], rtol=1e-12)
        slope = 2 * expected * np.bincount(rows, minlength=5)[:, None]
        gradient = gradient[0] if isinstance(gradient, tuple | list) else gradient
        np.testing.assert_allclose(gradient.asnumpy(), slope, rtol=1e-12)


def test_an_embedding_divides_gradients_by_the_frequency():
    table, rows = draw(4, 2), np.array([[1, 3], [1, 1]])
    gradient = ac.grad(lambda w: (ops.embedding(Tensor(rows), w, scale_grad_by_freq=True) * 6).sum())
    for run in (gradient, ac.jit(gradient)):
        np.testing.assert_allclose(run(Tensor(table)).asnumpy(), [[0, 0], [6, 6], [0, 0], [6, 6]])
    found = ops.embedding(Tensor(rows), Tensor(table), scale_grad_by_freq=True)
    np.testing.assert_array_equal(found.asnumpy(), table[rows])


def test_a_dropout_mask_keeps_the_mean(modes):
    mask = np.array([True, False, True, True])
    (got,) = modes(lambda x, m: call.masked_dropout(x, m, 0.25), np.array([1.0, np.inf, 3.0, 0.0]), mask)
    np.testing.assert_allclose(got, [4 / 3, 0, 4, 0])
    with pytest.raises(ValueError, match="from 0 to less than 1"):
        call.masked_dropout(Tensor([1.0]), Tensor([True]), 1.0)
