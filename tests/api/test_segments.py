"""Operator classes that reduce neighbouring rows or put dimensions into another order, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

RNG = np.random.default_rng(6)
X, IDS = RNG.normal(size=(5, 3)), np.array([0, 0, 2, 2, 2])
EMPTY = np.zeros(3)


@pytest.mark.parametrize(
    ("name", "reduce", "empty"),
    [
        ("SegmentSum", np.sum, 0.0),
        ("SegmentMean", np.mean, 0.0),
        ("SegmentProd", np.prod, 1.0),
        ("SegmentMax", np.max, 0.0),
        ("SegmentMin", np.min, 0.0),
    ],
)
def test_rows_of_a_segment(name, reduce, empty):
    operation = getattr(ops, name)()
    expected = np.stack([reduce(X[:2], 0), np.full(3, empty), reduce(X[2:], 0)])
    np.testing.assert_allclose(operation(Tensor(X), Tensor(IDS)).asnumpy(), expected)
    with pytest.raises(ValueError, match="never decrease"):
        operation(Tensor(X), Tensor(IDS[::-1].copy()))
    with pytest.raises(ms.DynamicShapeError, match="unsorted_segment_sum"):
        ms.jit(operation)(Tensor(X), Tensor(IDS))


def test_sparse_means_and_their_gradient():
    rows, weights = np.array([4, 1, 1]), RNG.normal(size=(3, 3))
    ids = np.array([0, 2, 2])
    out = ops.sparse_segment_mean(Tensor(X), Tensor(rows), Tensor(ids))
    np.testing.assert_allclose(out.asnumpy(), [X[4], EMPTY, X[1]])
    slope = ms.grad(lambda x: (ops.sparse_segment_mean(x, Tensor(rows), Tensor(ids)) * Tensor(weights)).sum())(
        Tensor(X)
    )
    np.testing.assert_allclose(slope.asnumpy(), [EMPTY, weights[2], EMPTY, EMPTY, weights[0]])


def test_orders_of_dimensions():
    sizes = {"N": 7, "H": 5, "W": 3, "C": 2}
    for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        given, wanted = ([sizes[d] for d in form] for form in (source, target))
        permute, places = ops.DataFormatVecPermute(source, target), ops.DataFormatDimMap(source, target)
        for run in (permute, ms.jit(lambda x, permute=permute: permute(x))):
            assert run(Tensor(given)).tolist() == wanted
        assert permute(Tensor([[5, 5], [3, 3]])).tolist() == [[5, 5], [3, 3]]  # height and width keep their order
        found = places(Tensor([0, 1, 2, 3, -1])).tolist()
        assert [given[i] for i in found] == [*wanted, wanted[-1]]
    with pytest.raises(ValueError, match="same dimensions"):
        ops.DataFormatDimMap("NHWC", "NCHD")


def test_places_in_a_tensor():
    flat, shape = np.array([0, 7, 22, 23]), (2, 3, 4)
    unravel = ops.UnravelIndex()
    for run in (unravel, ms.jit(lambda i, d: unravel(i, d))):
        found = run(Tensor(flat), Tensor(shape)).asnumpy()
        np.testing.assert_array_equal(found, np.stack(np.unravel_index(flat, shape), 1))


def test_three_diagonals():
    above, main, below = RNG.normal(size=(3, 2, 1, 4))
    rhs = RNG.normal(size=(2, 4, 3))
    multiply = ops.TridiagonalMatMul()
    expected = [
        sparse.diags([below[b, 0, 1:], main[b, 0], above[b, 0, :-1]], [-1, 0, 1]).toarray() @ rhs[b] for b in range(2)
    ]
    for run in (multiply, ms.jit(lambda *parts: multiply(*parts))):
        np.testing.assert_allclose(run(*map(Tensor, (above, main, below, rhs))).asnumpy(), expected)
