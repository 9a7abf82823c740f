"""Distances, histograms, covariances, integrals and rankings against SciPy, NumPy and definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial import distance

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError, StaticValueError

RNG = np.random.default_rng(4)
A, B = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3))
ORDERS = [0.5, 1.0, 2.0, 3.5, math.inf]


# ------------------------------------------------------------------------------------------------ distances
@pytest.mark.parametrize("p", ORDERS)
def test_distances(modes, p):
    kind = {"metric": "chebyshev"} if p == math.inf else {"metric": "minkowski", "p": p}
    np.testing.assert_allclose(
        modes(lambda a, b: ops.cdist(a, b, p), A, B)[0], distance.cdist(A, B, **kind), rtol=1e-12
    )
    np.testing.assert_allclose(modes(lambda a: ops.pdist(a, p), A)[0], distance.pdist(A, **kind), rtol=1e-12)
    expected = distance.cdist(A[:1], B[:1], **kind).item()
    np.testing.assert_allclose(modes(lambda a, b: ops.dist(a, b, p), A[0], B[0])[0], expected, rtol=1e-12)


def test_distances_of_order_zero_count_and_batches_broadcast(modes):
    x = np.array([[0.0, 1.0, 2.0], [0.0, 5.0, 2.0]])
    np.testing.assert_array_equal(modes(lambda x: ops.cdist(x, x, 0), x)[0], [[0, 1], [1, 0]])
    found = modes(ops.cdist, np.stack([A, -A]), B)[0]
    np.testing.assert_allclose(found, [distance.cdist(A, B), distance.cdist(-A, B)], rtol=1e-12)
    assert modes(ops.pdist, np.stack([A, A]))[0].shape == (2, 6)
    assert ops.dist(Tensor(A), Tensor(A[0])).item() == pytest.approx(np.linalg.norm(A - A[0]))
    assert ops.cdist(Tensor([[1]]), Tensor([[3]])).tolist() == [[2]]


@pytest.mark.parametrize("p", ORDERS)
def test_derivatives_of_distances(derivatives, p):
    derivatives(lambda a, b: ops.cdist(a, b, p), A, B)
    derivatives(lambda a: ops.pdist(a, p), A)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, math.inf])
def test_coinciding_points_have_no_derivative_but_zero(p):
    slope = ac.grad(lambda x: ops.cdist(x, Tensor([[1.0, 2.0]]), p).sum())
    assert slope(Tensor([[1.0, 2.0]])).tolist() == [[0, 0]]
    assert np.isfinite(slope(Tensor([[1.0, 4.0]])).asnumpy()).all()


def test_renorm(modes, derivatives):
    x = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(modes(lambda x: ops.renorm(x, 2, 0, 2.5), x)[0], [[1.5, 2], [0.3, 0.4], [0, 0]])
    np.testing.assert_allclose(modes(lambda x: x.renorm(1, 1, 2.2), x)[0], x * [2.2 / 3.3, 0.5], rtol=1e-6)
    np.testing.assert_allclose(modes(lambda x: ops.renorm(x, math.inf, -2, 2.0), x)[0][0], [1.5, 2])
    derivatives(lambda x: ops.renorm(x, 2, 0, 2.5), x[:2])
    assert np.isfinite(ac.grad(lambda x: ops.renorm(x, 2, 0, 2.5).sum())(Tensor(x)).asnumpy()).all()


# ------------------------------------------------------------------------------------------------ samples
WEIGHTS = np.array([0.5, 1.0, 2.0])
COUNTS = np.array([1, 3, 2])


@pytest.mark.parametrize("ddof", [0, 1, 2])
@pytest.mark.parametrize(("counts", "weights"), [(None, None), (COUNTS, None), (None, WEIGHTS), (COUNTS, WEIGHTS)])
def test_covariance(modes, ddof, counts, weights):
    def cov(x):
        return ops.cov(
            x, correction=ddof, fweights=None if counts is None else Tensor(counts),
            aweights=None if weights is None else Tensor(weights),
        )  # fmt: skip

    expected = np.cov(A, ddof=ddof, fweights=counts, aweights=weights)
    np.testing.assert_allclose(modes(cov, A)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(
        modes(cov, A[0])[0], np.cov(A[0], ddof=ddof, fweights=counts, aweights=weights), rtol=1e-12
    )


def test_derivatives_of_covariance(derivatives):
    derivatives(lambda x: ops.cov(x), A)
    derivatives(lambda x, w: ops.cov(x, aweights=w), A, WEIGHTS)


def test_histogram(modes):
    x = np.array([0.0, 0.5, 1.0, 1.0, 3.0, 7.0, -1.0])
    for bins, low, high in [(4, 0.0, 3.0), (1, 0.0, 1.0), (5, 0.0, 0.0)]:
        bounds = (low, high) if low < high else (-1.0, 7.0)
        (found,) = modes(lambda x, b=bins, lo=low, hi=high: ops.histc(x, b, lo, hi), x)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, np.histogram(x, bins, bounds)[0])
    (found,) = modes(lambda x: x.histc(2), np.array([4, 4], np.int32))
    assert found.dtype == np.int32
    assert found.tolist() == [0, 2]  # between 3 and 5
    assert ops.histc(Tensor(np.zeros(0, np.float32)), 3).tolist() == [0, 0, 0]
    for wrong in ((0, 0.0, 1.0), (3, 2.0, 1.0), (3, 0.0, math.inf)):
        with pytest.raises(ValueError, match="a histogram needs"):
            ops.histc(Tensor(x), *wrong)


def test_histograms_of_examples():
    found = ac.vmap(lambda x: ops.histc(x, 2, 0.0, 2.0))(Tensor([[0.5, 0.6], [0.5, 1.5]]))
    assert found.tolist() == [[2, 0], [1, 1]]


# ------------------------------------------------------------------------------------------------ integrals
def test_trapezoids(modes, derivatives):
    x = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(modes(ops.trapz, A)[0], np.trapezoid(A), rtol=1e-13)
    np.testing.assert_allclose(modes(lambda y: ops.trapz(y, dx=0.5, dim=0), A)[0], np.trapezoid(A, dx=0.5, axis=0))
    np.testing.assert_allclose(modes(ops.trapz, A, x)[0], np.trapezoid(A, x), rtol=1e-13)
    points = np.arange(12.0).reshape(4, 3) ** 2
    np.testing.assert_allclose(
        modes(lambda y, x: ops.trapz(y, x, dim=0), A, points)[0], np.trapezoid(A, points, axis=0)
    )
    np.testing.assert_allclose(
        modes(lambda y, x: ops.trapz(y, x, dim=0), A, points[:, 0])[0], np.trapezoid(A, points[:, 0], axis=0)
    )
    assert ops.trapz(Tensor([1, 2, 3])).item() == 4
    assert ops.trapz(Tensor([5.0])).item() == 0
    derivatives(lambda y, x: ops.trapz(y, x), A, x)
    with pytest.raises(ShapeError, match="2 points for 3 values"):
        ops.trapz(Tensor(A), Tensor([0.0, 1.0]))


# ------------------------------------------------------------------------------------------------ sums and ranks
def test_sums_of_tensors(modes):
    np.testing.assert_array_equal(modes(lambda a, b: ops.addn([a, b, a]), A, A + 1)[0], (A + (A + 1)) + A)
    assert ops.accumulate_n((Tensor([1]), Tensor([2]))).tolist() == [3]
    with pytest.raises(ShapeError, match="needs one shape"):
        ops.addn([Tensor([1.0]), Tensor([1.0, 2.0])])
    with pytest.raises(ShapeError, match="at least one"):
        ops.addn([])


def test_in_top_k(modes):
    scores = np.array([[1.0, 3.0, 2.0]] * 6 + [[math.inf, 1.0, 0.0], [2.0, 2.0, 1.0]])
    labels = np.array([1, 2, 0, 3, -1, 0, 0, 1])
    for k, expected in [(1, [1, 0, 0, 0, 0, 0, 0, 1]), (2, [1, 1, 0, 0, 0, 0, 0, 1]), (3, [1, 1, 1, 0, 0, 1, 0, 1])]:
        np.testing.assert_array_equal(
            modes(lambda s, t, k=k: ops.intopk(s, t, k), scores, labels)[0], np.bool_(expected)
        )
    with pytest.raises(StaticValueError):
        ac.jit(lambda s, t, k: ops.intopk(s, t, k))(Tensor(scores), Tensor(labels), Tensor(2))
