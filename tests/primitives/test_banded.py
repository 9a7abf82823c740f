"""Diagonals of matrices against their definition, element by element, and examples computed by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import linalg

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError

ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
X = np.arange(1.0, 25).reshape(2, 3, 4)


def diagonals(matrix, low, high, padding, align):
    """The diagonals of one matrix as rows, the uppermost first."""
    found = [np.diagonal(matrix, d).tolist() for d in range(high, low - 1, -1)]
    width = max(map(len, found))
    rows = []
    for d, numbers in zip(range(high, low - 1, -1), found, strict=True):
        above, below = align.split("_")
        right = "RIGHT" in (above, below) if d == 0 else (above if d > 0 else below) == "RIGHT"
        fill = [padding] * (width - len(numbers))
        rows.append(fill + numbers if right else numbers + fill)
    return np.array(rows)


RANGES = [(0, 0), (1, 1), (-2, -2), (-1, 1), (0, 2), (1, 3), (-2, -1), (-2, 3)]


@pytest.mark.some(2)
@pytest.mark.parametrize(("k", "align"), list(itertools.product(RANGES, ALIGNMENTS)))
def test_diagonals_out_and_in(modes, k, align):
    parts = np.stack([diagonals(m, *k, 9.0, align) for m in X])
    parts = parts[:, 0] if k[0] == k[1] else parts
    arg = k[0] if k[0] == k[1] else k
    np.testing.assert_array_equal(modes(lambda x: ops.matrix_diag_part(x, arg, 9, align), X)[0], parts)
    kept = np.triu(np.tril(np.ones((3, 4)), k[1]), k[0])
    put = modes(lambda p: ops.matrix_diag(p, arg, 3, 4, -1, align), parts)[0]
    np.testing.assert_array_equal(put, np.where(kept, X, -1))
    changed = modes(lambda x, p: ops.matrix_set_diag(x, p, arg, align), -X, parts)[0]
    np.testing.assert_array_equal(changed, np.where(kept, X, -X))


def test_sizes_that_are_left_open():
    pair = Tensor([1, 2])
    assert ops.matrix_diag(pair, -1).shape == (3, 3)
    assert ops.matrix_diag(pair, -1, 3, padding_value=9).tolist() == [[9, 9], [1, 9], [9, 2]]
    assert ops.matrix_diag(pair, 1, -1, 4).tolist() == [[0, 1, 0, 0], [0, 0, 2, 0]]
    assert ops.matrix_diag(Tensor([[0, 8, 9], [1, 2, 3], [4, 5, 0]]), Tensor([-1, 1])).tolist() == [
        [1, 8, 0], [4, 2, 9], [0, 5, 3],
    ]  # fmt: skip


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (1, 0), (-1, 1), (1, -1), (-1, -1), (5, 5)])
def test_bands(modes, lower, upper):
    rows, cols = np.indices((3, 4))
    kept = ((lower < 0) | (rows - cols <= lower)) & ((upper < 0) | (cols - rows <= upper))
    np.testing.assert_array_equal(modes(lambda x: ops.matrix_band_part(x, lower, upper), X)[0], np.where(kept, X, 0))


def test_blocks(modes):
    blocks = (np.ones((2, 1)), np.array([2.0, 3.0]), np.array(4.0), np.zeros((0, 2)), np.full((1, 2), 5.0))
    np.testing.assert_array_equal(modes(ops.block_diag, *blocks)[0], linalg.block_diag(*blocks))
    assert ops.block_diag(Tensor([1]), Tensor([2.5])).tolist() == [[1, 0], [0, 2.5]]


def test_vander(modes, derivatives):
    x = np.array([0.0, 1.0, -2.0, 3.0])
    for n in (None, 0, 1, 2, 5):
        np.testing.assert_array_equal(modes(lambda x, n=n: ops.vander(x, n), x)[0], np.vander(x, n))
    derivatives(lambda x: ops.vander(x, 4), [0.0, 0.5, -1.0])
    assert ops.vander(Tensor([2, 3])).dtype is ac.int64


def test_vander_of_many_columns():
    """One running product, not as many products written out."""
    n, x = 2**12, np.array([0.0, 0.5, -0.25])
    columns = lambda x: ops.vander(x, n)
    assert len(str(ac.jit(columns).lower(Tensor(x)).ir("front")).splitlines()) < 30
    second = ac.grad(lambda x: ac.grad(lambda x: columns(x).sum())(x).sum())
    for run in (lambda f: f, ac.jit):
        assert run(columns)(Tensor(x)).shape == (3, n)
        np.testing.assert_array_equal(run(columns)(Tensor(x)).numpy(), np.vander(x, n))
        # the sum of all powers is 1 / (1 - x), so nearly that of these
        np.testing.assert_allclose(run(ac.grad(lambda x: columns(x).sum()))(Tensor(x)).numpy(), (1 - x) ** -2, 1e-12)
        np.testing.assert_allclose(run(second)(Tensor(x)).numpy(), 2 * (1 - x) ** -3, 1e-12)


def test_cond(modes, derivatives):
    a = np.array([[[3.0, 1.0], [0.5, -2.0]], [[1.0, 0.2], [0.3, 2.0]]])
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        np.testing.assert_allclose(modes(lambda a, p=p: ops.cond(a, p), a)[0], np.linalg.cond(a, p), rtol=1e-12)
    np.testing.assert_allclose(ops.cond(Tensor(X)).asnumpy(), np.linalg.cond(X), rtol=1e-9)
    for p in (None, "fro", 1):
        derivatives(lambda a, p=p: ops.cond(a, p), a)


def test_derivatives(derivatives):
    derivatives(lambda x: ops.matrix_diag_part(x * x, (-1, 1), 0), X[0] / 10)
    derivatives(lambda d: ops.matrix_diag(d * d, (0, 1)), [[0.5, -1.0], [2.0, 0.7]])
    derivatives(lambda x, d: ops.matrix_set_diag(x * x, d * d, 1), X[0] / 10, [0.5, -1.0, 2.0])
    derivatives(lambda x: ops.matrix_band_part(x * x, 0, 1), X[0] / 10)
    derivatives(lambda x, y: ops.block_diag(x * y[0], y * y), [[0.5]], [1.0, 2.0])


def test_errors():
    square = Tensor(np.eye(3))
    with pytest.raises(ShapeError, match="no diagonals 3 to 3"):
        ops.matrix_diag_part(square, 3, 0)
    with pytest.raises(ShapeError, match="does not hold the diagonals"):
        ops.matrix_set_diag(square, Tensor([1.0, 2.0]))
    with pytest.raises(ShapeError, match="lies above"):
        ops.matrix_diag(square, (1, 0))
    with pytest.raises(ValueError, match="align must be"):
        ops.matrix_diag_part(square, (0, 1), 0, "LEFT")
    with pytest.raises(ShapeError, match="only matrices"):
        ops.matrix_band_part(Tensor([1.0]), 0, 0)
    with pytest.raises(ShapeError, match="numbers, vectors and matrices"):
        ops.block_diag(Tensor(X))
    with pytest.raises(ShapeError, match="takes a vector"):
        ops.vander(square)
