"""Linear algebra against NumPy and SciPy: products, systems, decompositions; what is refused, and how."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

import autodiff_compiler as ac
from autodiff_compiler import Tensor, eager, ops
from autodiff_compiler.dtypes import bfloat16, float16, float32, float64
from autodiff_compiler.errors import NotDifferentiableError, ShapeError, StaticValueError
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block
from autodiff_compiler.ir.primitive import F, call
from autodiff_compiler.ir.sizes import symbol
from autodiff_compiler.ir.types import tensor

RNG = np.random.default_rng(7)


def draw(*shape):
    return RNG.normal(size=shape)


A, B, C, V, W = draw(3, 4), draw(4, 5), draw(5, 2), draw(4), draw(3)
BATCH = draw(2, 3, 4)
SQUARE = draw(2, 3, 3) + 4 * np.eye(3)
SYMMETRIC = draw(2, 3, 3)
SYMMETRIC = SYMMETRIC + SYMMETRIC.swapaxes(-1, -2) + np.diag([0.0, 5.0, 10.0])
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2)


def close(got, expected, rtol=1e-12):
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)


# ------------------------------------------------------------------------------------------------ products
@pytest.mark.parametrize(
    ("fn", "reference", "arrays"),
    [
        (ops.mm, np.matmul, (A, B)),
        (ops.mv, np.matmul, (A, V)),
        (ops.bmm, np.matmul, (BATCH, draw(2, 4, 5))),
        (call.dot, np.dot, (BATCH, draw(2, 4, 5))),
        (call.dot, np.dot, (V, V)),
        (call.dot, np.dot, (A, np.array(2.0))),
        (ops.inner, np.inner, (BATCH, A)),
        (ops.inner, np.inner, (A, np.array(2.0))),
        (ops.outer, np.outer, (A, V)),
        (ops.kron, np.kron, (A, C)),
        (ops.kron, np.kron, (V, BATCH)),
        (ops.kron, np.kron, (A, np.array(3.0))),
        (ops.vecdot, lambda x, y: (x * y).sum(-1), (BATCH, A)),
        (ops.cross, np.cross, (draw(2, 3), draw(3))),
        (lambda x, y: ops.cross(x, y, 0), lambda x, y: np.cross(x, y, axis=0), (draw(3, 3), draw(3, 3))),
        (ops.tensordot, np.tensordot, (BATCH, draw(3, 4, 2))),
        # A small matrix with the middle of an array: the product is made in another order.
        (lambda x, y: ops.tensordot(x, y, ([1], [1])), lambda x, y: np.tensordot(x, y, ([1], [1])),
         (A[:1, :3], BATCH)),
        (lambda x, y: ops.tensor_dot(x, y, 0), lambda x, y: np.tensordot(x, y, 0), (A, V)),
        (lambda x, y: ops.tensordot(x, y, ([0, -1], [2, 1])), lambda x, y: np.tensordot(x, y, ([0, -1], [2, 1])),
         (BATCH, draw(5, 4, 2))),
        (lambda x: ops.matrix_power(x, 5), lambda x: np.linalg.matrix_power(x, 5), (SQUARE,)),
        (lambda x: ops.matrix_power(x, 0), lambda x: np.linalg.matrix_power(x, 0), (SQUARE,)),
        (lambda x: ops.matrix_power(x, -3), lambda x: np.linalg.matrix_power(x, -3), (SQUARE,)),
        (ops.MatMul(True, True), lambda x, y: x.T @ y.T, (A, draw(5, 3))),
        (ops.BatchMatMul(transpose_b=True), lambda x, y: x @ y.swapaxes(-1, -2), (BATCH, BATCH)),
    ],
)  # fmt: skip
def test_products_are_numpys(both, fn, reference, arrays):
    (got,) = both(fn, *arrays)
    expected = reference(*arrays)
    assert got.shape == expected.shape
    close(got, expected)


@pytest.mark.parametrize(
    ("fn", "expected", "arrays"),
    [
        (ops.addmm, lambda x, a, b: 2 * x + 3 * (a @ b), (draw(5), A, B)),
        (ops.addmv, lambda x, a, b: 2 * x + 3 * (a @ b), (W, A, V)),
        (ops.addr, lambda x, a, b: 2 * x + 3 * np.outer(a, b), (A, W, V)),
        (ops.baddbmm, lambda x, a, b: 2 * x + 3 * (a @ b), (draw(2, 3, 5), BATCH, draw(2, 4, 5))),
        (ops.addbmm, lambda x, a, b: 2 * x + 3 * (a @ b).sum(0), (draw(3, 5), BATCH, draw(2, 4, 5))),
    ],
)
def test_scaled_sums_of_products(both, fn, expected, arrays):
    close(both(lambda *xs: fn(*xs, beta=2, alpha=3), *arrays)[0], expected(*arrays))
    x, *factors = arrays
    close(both(fn, *arrays)[0], expected(x, *factors) - x - 2 * (expected(x, *factors) - 2 * x) / 3)


def test_products_of_integers_keep_their_dtype(both):
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for fn in (ops.inner, ops.kron, ops.outer, lambda a, b: ops.einsum("ij,ij->", a, b), lambda a, b: ops.vecdot(a, b)):
        assert both(fn, x, x)[0].dtype == np.int32
    assert both(ops.trace, x)[0].dtype == np.int32
    assert both(call.trace, x)[0].dtype == np.int64  # NumPy's


@pytest.mark.parametrize(
    ("fn", "arrays", "text"),
    [
        (ops.mm, (BATCH, B), "`a` of mm must have 2 dimensions, not 3"),
        (ops.mv, (A, B), "`x` of mv must have 1 dimension, not 2"),
        (ops.bmm, (BATCH, draw(1, 4, 5)), "two batches of matrices of one size"),
        (ops.mm, (A, A), "inner sizes differ: [3,4] @ [3,4]: 4 != 3"),
        (ops.matmul, (A, draw(5)), "inner sizes differ: [3,4] @ [5]: 4 != 5"),
        (ops.matmul, (V, A), "inner sizes differ: [4] @ [3,4]: 4 != 3"),
        (ops.matmul, (V, draw(5)), "inner sizes differ: [4] @ [5]: 4 != 5"),
        (ops.matmul, (BATCH, draw(9)), f"inner sizes differ: [{','.join(map(str, BATCH.shape))}] @ [9]: "),
        (ops.tensordot, (A, B), "tensordot pairs axis 0 with axis 0 of another size: 3 != 4"),
        (lambda a: ops.tensordot(a, a, 3), (A,), "tensordot over 3 axes"),
        (lambda a: ops.tensordot(a, a, ([0, 1], [0])), (A,), "pairs 2 axes with 1"),
        (ops.cross, (B, draw(5)), "axis of size 3"),
        (lambda a: ops.matrix_power(a, 2), (A,), "matrix_power needs square matrices, not a tensor of shape [3, 4]"),
        (ops.inverse, (A,), "inverse needs square matrices, not a tensor of shape [3, 4]"),
        (ops.det, (V,), "det needs matrices, not a tensor of shape [4]"),
        (ops.svd, (V,), "svd needs matrices, not a tensor of shape [4]"),
        (ops.solve, (SQUARE, V), "solve: 3 equations do not fit right sides of 4 elements"),
        (ops.diagonal, (V,), "a tensor of 1 dimension has no diagonal"),
        (lambda a: ops.diagonal(a, 0, 0, 0), (A,), "two axes, not along axis 0 twice"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_in_both_modes(graph, fn, arrays, text):
    for run in (lambda: fn(*map(Tensor, arrays)), lambda: graph.run(fn, *arrays)):
        with pytest.raises(ShapeError) as caught:
            run()
        assert text in caught.value.message


def test_exponents_must_be_constants(graph):
    with pytest.raises(StaticValueError, match="`n` must be a constant"):
        graph.run(lambda x, n: ops.matrix_power(x, n), SQUARE, np.array(2))
    with pytest.raises(ValueError, match="'reduced' or 'complete', not 'raw'"):
        ops.qr(Tensor(A), "raw")


# ------------------------------------------------------------------------------------------------ diagonals
@pytest.mark.parametrize("offset", [-5, -2, 0, 1, 3])
def test_diagonals_are_numpys(both, offset):
    for axes in ((0, 1), (2, 0), (-1, -2)):
        (got,) = both(lambda x: ops.diagonal(x, offset, *axes), BATCH)
        np.testing.assert_array_equal(got, np.diagonal(BATCH, offset, *axes))
        (got,) = both(lambda x: call.trace(x, offset, *axes), BATCH)
        close(got, np.trace(BATCH, offset, *axes))
    np.testing.assert_array_equal(both(lambda x: call.diag(x, offset), V)[0], np.diag(V, offset))
    np.testing.assert_array_equal(both(lambda x: call.diag(x, offset), A)[0], np.diag(A, offset))
    np.testing.assert_array_equal(both(lambda x: ops.diagflat(x, offset), A)[0], np.diagflat(A, offset))


def test_diag_embed_places_the_last_dimension(both):
    (got,) = both(lambda x: ops.diag_embed(x, 1, 0, 2), A)  # [i, k, j] with x[k, i] at j = i + 1
    assert got.shape == (5, 3, 5)
    np.testing.assert_array_equal(np.diagonal(got, 1, 0, 2), A)
    assert np.count_nonzero(got) == A.size
    np.testing.assert_array_equal(both(ops.diag, A)[0].reshape(12, 12), np.diag(A.ravel()))
    np.testing.assert_array_equal(both(ops.diag, np.array([True, True]))[0], np.eye(2, dtype=bool))


# ------------------------------------------------------------------------------------------------ systems
def test_solve_broadcasts_batches_and_takes_vectors(both):
    a, b = SQUARE, draw(3, 2)
    close(both(ops.solve, a, b)[0], np.linalg.solve(a, np.broadcast_to(b, (2, 3, 2))))
    close(both(ops.solve, a[0], W)[0], np.linalg.solve(a[0], W))
    close(both(ops.solve, a, W)[0], np.linalg.solve(a, W))
    many = draw(2, 5, 3, 2)  # one matrix, many right sides
    close(both(ops.solve, a[0], many)[0], np.linalg.solve(a[0], many))
    close(both(lambda x, y: ops.matrix_solve(x, y, adjoint=True), a[0], b)[0], np.linalg.solve(a[0].T, b))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_solve_is_scipys(both, lower, transpose, unit):
    a, b = SQUARE[0].copy(), draw(3, 2)
    expected = scipy.linalg.solve_triangular(a, b, trans=int(transpose), lower=lower, unit_diagonal=unit)
    a[np.triu_indices(3, 1) if lower else np.tril_indices(3, -1)] = np.nan  # must not be read

    def fn(x, y):
        return ops.triangular_solve(x, y, lower, transpose, unit)

    close(both(fn, a, b)[0], expected)
    close(both(fn, np.stack([a, a]), b)[0], np.stack([expected, expected]))
    close(both(fn, a, np.stack([b, b]))[0], np.stack([expected, expected]))
    close(both(fn, a, b[:, 0])[0], expected[:, 0])
    close(both(fn, a.astype(np.float32), b.astype(np.float32))[0], expected, 1e-5)
    assert both(fn, a, b[:, :0])[0].shape == (3, 0)


@pytest.mark.parametrize(
    ("lower", "transpose", "unit"), [(True, False, False), (False, True, False), (True, True, True)]
)
def test_many_small_triangular_systems_are_solved_like_one(lower, transpose, unit):
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-1, 1, (5, 8, 3, 3)) + 3 * np.eye(3), rng.uniform(-1, 1, (5, 8, 3, 2))
    out = ops.triangular_solve(Tensor(a), Tensor(b), lower, transpose, unit).asnumpy()
    for i in np.ndindex(5, 8):
        options = {"trans": int(transpose), "lower": lower, "unit_diagonal": unit}
        np.testing.assert_allclose(out[i], scipy.linalg.solve_triangular(a[i], b[i], **options), rtol=1e-12)
    a[2, 3, 1, 1] = 0
    if unit:
        assert np.isfinite(ops.triangular_solve(Tensor(a), Tensor(b), lower, transpose, unit).asnumpy()).all()
    else:
        with pytest.raises(np.linalg.LinAlgError, match="the matrix is singular"):
            ops.triangular_solve(Tensor(a), Tensor(b), lower, transpose, unit)


def test_cholesky_systems(both):
    factor, b = np.linalg.cholesky(POSITIVE), draw(3, 2)
    close(both(ops.cholesky_solve, b, factor)[0], np.linalg.solve(POSITIVE, np.stack([b, b])), 1e-10)
    upper = factor.swapaxes(-1, -2).copy()
    close(both(lambda x: ops.cholesky_inverse(x, True), upper)[0], np.linalg.inv(POSITIVE), 1e-10)


def test_least_squares_and_pseudo_inverses_are_numpys(both):
    for a in (A, A.T.copy(), np.outer(W, V)):  # wide, tall, of rank 1
        b = draw(a.shape[0], 2)
        close(both(ops.lstsq, a, b)[0], np.linalg.lstsq(a, b)[0])
        close(both(ops.lstsq, a, b[:, 0])[0], np.linalg.lstsq(a, b[:, 0])[0])
        close(both(ops.pinv, a)[0], np.linalg.pinv(a, rtol=1e-12))
    close(both(ops.pinv, BATCH)[0], np.linalg.pinv(BATCH))
    close(both(lambda x: ops.pinv(x, rtol=0.5), BATCH)[0], np.linalg.pinv(BATCH, rtol=0.5))
    s = np.linalg.svd(A, compute_uv=False)
    close(both(lambda x: ops.pinv(x, atol=(s[0] + s[1]) / 2), A)[0], np.linalg.pinv(A, rtol=(s[1] + s[0]) / 2 / s[0]))
    close(both(lambda x: ops.pinv(x, hermitian=True), SYMMETRIC)[0], np.linalg.pinv(SYMMETRIC))


def test_determinants_and_exponentials(both):
    close(both(ops.det, SQUARE)[0], np.linalg.det(SQUARE))
    for got, expected in zip(both(ops.slogdet, -SQUARE), np.linalg.slogdet(-SQUARE), strict=True):
        close(got, expected)
    close(both(ops.logdet, POSITIVE)[0], np.log(np.linalg.det(POSITIVE)))
    assert math.isnan(both(ops.logdet, -np.eye(3))[0])
    assert both(ops.logdet, np.zeros((2, 2)))[0] == -math.inf
    close(both(ops.expm, SQUARE)[0], scipy.linalg.expm(SQUARE))
    close(both(lambda x: F.expm_frechet(x, x), A[:, :3])[0], scipy.linalg.expm_frechet(A[:, :3], A[:, :3])[1])


def test_cofactors_of_singular_matrices(both):
    def minors(x):
        n = len(x)
        keep = [[j for j in range(n) if j != i] for i in range(n)]
        return [[(-1) ** (i + j) * np.linalg.det(x[np.ix_(keep[i], keep[j])]) for j in range(n)] for i in range(n)]

    one_less = SQUARE[0].copy()
    one_less[2] = one_less[0] + one_less[1]
    for x in (one_less, np.outer(W, W), np.zeros((3, 3)), np.diag([1.0, 1e-200, 1.0]), SQUARE[1]):
        close(both(F.cofactor, x)[0], minors(x), 1e-11)


# ------------------------------------------------------------------------------------------------ decompositions
def test_decompositions_are_numpys(both):
    close(both(ops.cholesky, POSITIVE)[0], np.linalg.cholesky(POSITIVE))
    close(both(lambda x: ops.cholesky(x, upper=True), POSITIVE)[0], np.linalg.cholesky(POSITIVE).swapaxes(-1, -2))
    for got, expected in zip(both(ops.eigh, SYMMETRIC), np.linalg.eigh(SYMMETRIC), strict=True):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(both(ops.eigvalsh, SYMMETRIC)[0], np.linalg.eigvalsh(SYMMETRIC))
    for x in (BATCH, BATCH.swapaxes(-1, -2).copy()):
        for full in (False, True):
            s, u, v = both(lambda x: ops.svd(x, full), x)
            for got, expected in zip((u, s, v.swapaxes(-1, -2)), np.linalg.svd(x, full), strict=True):
                np.testing.assert_array_equal(got, expected)
            mode = "complete" if full else "reduced"
            for got, expected in zip(both(lambda x: ops.qr(x, mode), x), np.linalg.qr(x, mode), strict=True):
                np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(both(lambda x: ops.svd(x, compute_uv=False), x)[0], np.linalg.svdvals(x))


def test_methods():
    x, p = Tensor(SQUARE), Tensor(POSITIVE)
    np.testing.assert_array_equal(x.inverse().asnumpy(), np.linalg.inv(SQUARE))
    np.testing.assert_array_equal(p.cholesky().asnumpy(), ops.cholesky(p).asnumpy())
    np.testing.assert_array_equal(Tensor(A).svd()[2].asnumpy(), np.linalg.svd(A, False)[2].T)
    np.testing.assert_array_equal(Tensor(A.T).qr(some=False)[0].asnumpy(), np.linalg.qr(A.T, "complete")[0])
    close(Tensor(A).trace(1).asnumpy(), np.trace(A, 1))
    close(Tensor(B).addmm(Tensor(draw(4, 3)) * 0, Tensor(draw(3, 5)), beta=2).asnumpy(), 2 * B)
    close(x.matrix_power(2).asnumpy(), SQUARE @ SQUARE)
    close(x.slogdet()[1].exp().asnumpy(), np.abs(x.det().asnumpy()))


def test_integers_become_float32_and_narrow_floats_are_computed_in_it(both):
    assert both(ops.inverse, np.array([[2, 0], [0, 4]]))[0].tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert both(ops.det, np.array([[2, 0], [0, 4]]))[0].dtype == np.float32
    assert both(ops.solve, np.array([[2, 0], [0, 4]]), np.array([1.0, 2.0]))[0].dtype == np.float64
    for dtype in (float16, bfloat16):
        x = SYMMETRIC.astype(dtype.numpy)
        for fn in (ops.eigh, ops.svd, ops.qr, ops.slogdet, ops.inverse, ops.expm):
            got = both(fn, x)
            wide = fn(Tensor(x.astype(np.float32)))
            for g, w in zip(got, wide if isinstance(wide, tuple) else (wide,), strict=True):
                assert g.dtype == dtype.numpy
                np.testing.assert_array_equal(g, w.asnumpy().astype(dtype.numpy))


def test_a_leading_symbolic_dimension_passes_through():
    x, b = tensor(float32, (symbol("B"), 3, 3)), tensor(float32, (symbol("B"), 3, 2))
    with Builder(Block([x, b])) as builder:
        x, b = builder.block.args
        w, v = ops.eigh(x)
        s, u, _ = ops.svd(b)
        found = [ops.solve(x, b), ops.inverse(x), ops.det(x), w, v, s, u, ops.diagonal(x, 0, 1, 2), ops.lstsq(b, b)]
        found += [ops.einsum("bij,bjk->bik", x, b), ops.einsum("bij,bij->", b, b), ops.matrix_power(x, 0)]
    shapes = [[3, 2], [3, 3], [], [3], [3, 3], [2], [3, 2], [3], [2, 2], [3, 2], None, [3, 3]]
    for y, shape in zip(found, shapes, strict=True):
        assert list(y.shape) == ([] if shape is None else [symbol("B"), *shape])


# ------------------------------------------------------------------------------------------------ failures
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (ops.inverse, "inverse: the matrix is singular"),
        (lambda x: ops.matrix_power(x, -2), "inverse: the matrix is singular"),
        (lambda x: ops.solve(x, x), "solve: the matrix is singular"),
        (lambda x: ops.triangular_solve(x - 4, x), "triangular_solve: the matrix is singular"),
        (ops.cholesky, "cholesky: the matrix is not positive definite"),
    ],
)
def test_singular_matrices_raise_and_nan_passes(fn, text):
    compiled = ac.jit(fn)
    stacked = np.stack([SQUARE[0, :2, :2], SINGULAR - np.diag([0, 1e-9]) * ("cholesky" in text)])
    for run in (fn, compiled):
        with pytest.raises(np.linalg.LinAlgError, match=text):
            run(Tensor(stacked[1]))
        with pytest.raises(np.linalg.LinAlgError, match=text):
            run(Tensor(stacked))
        assert np.isnan(run(Tensor(np.full((2, 2), np.nan))).asnumpy()).any()


def test_a_refused_matrix_leaves_the_others_of_its_batch():
    x = np.stack([np.eye(2), SINGULAR, 2 * np.eye(2)])
    got = F.inverse(Tensor(x)).asnumpy()
    assert np.isnan(got[1]).all()
    np.testing.assert_array_equal(got[[0, 2]], [np.eye(2), np.eye(2) / 2])
    x[1] = np.nan
    for fn in (ops.eigh, ops.svd, ops.qr):  # NumPy raises for all three
        for y in fn(Tensor(x)):
            assert np.isfinite(y.asnumpy()[[0, 2]]).all()
            assert np.isnan(y.asnumpy()[1]).any()


def test_what_would_fail_is_not_computed_before_a_loop_that_makes_no_trip():
    @ac.jit
    def f(x, n):
        total = x
        while n > 0:
            total = total + ops.inverse(x)
            n = n - 1
        return total

    assert f(Tensor(SINGULAR), Tensor(0)).tolist() == SINGULAR.tolist()
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        f(Tensor(SINGULAR), Tensor(1))


# ------------------------------------------------------------------------------------------------ derivatives
def gradient(fn, x):
    out, pullback = eager.vjp(fn, [Tensor(x)])
    return pullback([Tensor(np.ones(out.shape))])[0].asnumpy()


def slope(fn, x, h=1e-6):
    """Gradient of a function to numbers by central differences over each element."""
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        unit = np.zeros_like(x)
        unit[at] = h
        out[at] = (fn(Tensor(x + unit)).sum().item() - fn(Tensor(x - unit)).sum().item()) / (2 * h)
    return out


COMPOSITES = [
    ("kron", ops.kron, (A, C)),
    ("addbmm", lambda x, a, b: ops.addbmm(x, a, b, alpha=2), (draw(5), BATCH, draw(2, 4, 5))),
    ("tensordot", lambda a, b: ops.tensordot(a, b, ([2, 1], [0, 1])), (BATCH, draw(4, 3, 2))),
    ("einsum of three", lambda *xs: ops.einsum("ij,jk,ik->k", *xs), (A, B, draw(3, 5))),
    ("einsum in place", lambda x, y: ops.einsum("nchw,c->nhw", x, y), (draw(2, 3, 2, 2), W)),
    ("einsum of one layout", lambda x, y: ops.einsum("nchw,nchw->c", x, y), (draw(2, 3, 2, 2), draw(2, 3, 2, 2))),
    ("einsum of a diagonal", lambda x, y: ops.einsum("bii,...b->i...", x, y), (SQUARE, draw(2, 2))),
    ("solve for many", ops.solve, (SQUARE[0], draw(2, 3, 2))),
    ("solve for one", ops.solve, (SQUARE, W)),
    ("triangular_solve", lambda a, b: ops.triangular_solve(a, b, transpose=True), (SQUARE, W)),
    ("cholesky_solve", lambda a, b: ops.cholesky_solve(b, ops.cholesky(a)), (POSITIVE, draw(2, 3, 1))),
    ("cholesky_inverse", lambda a: ops.cholesky_inverse(ops.cholesky(a, True), True), (POSITIVE[0],)),
    ("matrix_power", lambda x: ops.matrix_power(x, -2), (SQUARE,)),
    ("logdet", ops.logdet, (POSITIVE,)),
    ("lstsq", ops.lstsq, (A.T.copy(), V)),
    ("trace", lambda x: call.trace(x, 1, 1, 2), (BATCH,)),
    ("diag_embed", lambda x: ops.diag_embed(x, -1, 0, 1) ** 2, (A,)),
]


@pytest.mark.parametrize(("fn", "arrays"), [c[1:] for c in COMPOSITES], ids=[c[0] for c in COMPOSITES])
def test_derivatives_of_composites(derivatives, fn, arrays):
    derivatives(fn, *arrays)


def test_gauge_invariant_functions_match_closed_forms():
    """Sums over eigenvectors that do not depend on their signs are polynomials of the matrix."""
    x = SYMMETRIC[0]

    def cube(x):  # of the symmetric part, by its eigenvectors
        w, v = call.eigh(x)
        return ops.einsum("ij,j,kj->ik", v, w * w * w, v)

    def product(x):
        s = (x + x.T) * 0.5
        return s @ s @ s

    weight = Tensor(draw(3, 3))
    close(gradient(lambda x: (cube(x) * weight).sum(), x), gradient(lambda x: (product(x) * weight).sum(), x), 1e-10)

    def polar(x):  # u @ s @ vh is x itself
        u, s, vh = call.svd(x)
        return (ops.einsum("ij,j,jk->ik", u, s, vh) * weight[:, :1]).sum()

    for y in (A, A[:, :2].copy()):
        close(gradient(polar, y), np.broadcast_to(weight.asnumpy()[:, :1], y.shape), 1e-10)

    def again(x):
        q, r = call.qr(x)
        return (q @ r * weight[:, :1]).sum()

    for y in (A, A[:, :2].copy()):
        close(gradient(again, y), np.broadcast_to(weight.asnumpy()[:, :1], y.shape), 1e-10)


def test_the_gradient_of_a_symmetric_argument_is_symmetric():
    for fn in (ops.cholesky, ops.eigvalsh, lambda x: ops.eigh(x)[1], lambda x: ops.pinv(x, hermitian=True)):
        g = gradient(lambda x: (fn(x) * fn(x)).sum() + fn(x).sum(), POSITIVE[0])
        close(g, g.T, 1e-13)


def test_repeated_eigenvalues():
    two = np.diag([1.0, 1.0, 3.0])
    np.testing.assert_allclose(gradient(ops.eigvalsh, two), np.eye(3), atol=1e-15)  # the trace
    assert not np.isfinite(gradient(lambda x: ops.eigh(x)[1], two)).all()
    np.testing.assert_allclose(gradient(ops.svdvals, two), np.eye(3), atol=1e-15)


def test_full_factors_refuse_a_derivative_of_their_own_vectors():
    tall = A.T.copy()
    with pytest.raises(NotDifferentiableError, match="only the full factors of svd have"):
        gradient(lambda x: call.svd(x, True)[0], tall)
    with pytest.raises(NotDifferentiableError, match="only the full factors of qr have"):
        gradient(lambda x: call.qr(x, True)[1], tall)
    close(gradient(lambda x: call.svd(x, True)[1], tall), gradient(lambda x: call.svd(x)[1], tall))
    close(gradient(lambda x: call.qr(x, True)[1], A), gradient(lambda x: call.qr(x)[1], A))


def test_derivatives_where_the_rank_is_not_full():
    """det at a singular matrix, and pinv along changes that keep the rank."""
    for x in (SINGULAR, np.zeros((2, 2)), np.outer(W, W)):
        close(gradient(ops.det, x), slope(ops.det, x), 1e-8)

    def of_rank_one(v):
        return ops.pinv(ops.outer(v, v))

    expected = slope(of_rank_one, W)
    close(gradient(lambda v: of_rank_one(v).sum(), W), expected, 1e-6)


def test_slogdet_at_a_singular_matrix():
    sign, logarithm = ops.slogdet(Tensor(np.zeros((2, 2))))
    assert (sign.item(), logarithm.item()) == (0.0, -math.inf)
    assert np.isnan(gradient(lambda x: ops.slogdet(x)[1], SINGULAR)).all()


def test_compiled_gradients_are_those_of_eager_mode():
    def loss(x):
        w, v = ops.eigh(x)
        q, r = ops.qr(x)
        return ops.einsum("ij,jk,ik->", v, q, r) + ops.logdet(x) + (ops.solve(x, w) * ops.cholesky(x).diagonal()).sum()

    x = Tensor(POSITIVE[0])
    got, expected = ac.jit(ac.grad(loss))(x), ac.grad(loss)(x)
    close(got.asnumpy(), expected.asnumpy(), 1e-12)
    close(expected.asnumpy(), slope(loss, POSITIVE[0]), 1e-6)


@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.short)
def test_jacobian_vector_products_match_differences(dtype):
    """Forward mode turns the rules round: they must be linear in the cotangent, op by op."""
    h = 1e-6
    functions = [
        ops.cholesky, ops.inverse, ops.det, ops.logdet, ops.eigvalsh, ops.svdvals, ops.expm, ops.pinv,
        lambda x: ops.eigh(x)[1], lambda x: ops.qr(x)[1], lambda x: ops.svd(x)[1], lambda x: ops.solve(x, x * x),
        lambda x: ops.lstsq(x, x * x), lambda x: ops.triangular_solve(x, x * x), lambda x: ops.matrix_power(x, 3),
    ]  # fmt: skip
    x, u = POSITIVE[0], SYMMETRIC[0]
    for fn in functions:
        _, tangent = ac.jvp(fn, Tensor(x.astype(dtype.numpy)), Tensor(u.astype(dtype.numpy)))
        expected = (fn(Tensor(x + h * u)).asnumpy() - fn(Tensor(x - h * u)).asnumpy()) / (2 * h)
        np.testing.assert_allclose(tangent.asnumpy(), expected, rtol=1e-5 if dtype is float64 else 2e-2, atol=1e-4)
