"""Packed factorisations against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import NotDifferentiableError, ShapeError, UnsupportedCallError

RNG = np.random.default_rng(9)
A = RNG.normal(size=(4, 4))
PACKED, PIVOTS = scipy.linalg.lu_factor(A)
ONE_BASED = (PIVOTS + 1).astype(np.int32)


def test_lu_solve(modes):
    b = RNG.normal(size=(3, 4, 2))
    (got,) = modes(lambda b, lu: ops.lu_solve(b, lu, Tensor(ONE_BASED)), b[0], PACKED)
    np.testing.assert_allclose(got, np.linalg.solve(A, b[0]), rtol=1e-10)
    both = np.stack([PACKED, PACKED]), np.stack([ONE_BASED, ONE_BASED])
    got = Tensor(b[:2]).lu_solve(Tensor(both[0]), Tensor(both[1])).asnumpy()
    np.testing.assert_allclose(got, np.linalg.solve(A, b[:2]), rtol=1e-10)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_lu_unpack(modes, shape):
    a = RNG.normal(size=shape)
    lu, pivots, _ = scipy.linalg.lapack.dgetrf(a)
    p, low, up = modes(lambda lu: ops.lu_unpack(lu, Tensor(pivots.astype(np.int64) + 1)), lu)
    expected = scipy.linalg.lu(a)
    for got, known in zip((p, low, up), expected, strict=True):
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-14)
    assert len(ops.lu_unpack(Tensor(lu), Tensor(pivots + 1), unpack_pivots=False)) == 2
    only = ops.lu_unpack(Tensor(lu), Tensor(pivots + 1), unpack_data=False)
    np.testing.assert_array_equal(only.asnumpy(), expected[0])


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 5)])
def test_geqrf(modes, shape):
    a = RNG.normal(size=shape)
    packed, factors = modes(ops.geqrf, a)
    for one, got, tau in zip(a.reshape(-1, *shape[-2:]), packed.reshape(-1, *shape[-2:]),
                             factors.reshape(-1, min(shape[-2:])), strict=True):  # fmt: skip
        known, known_tau, *_ = scipy.linalg.lapack.dgeqrf(one)
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(tau, known_tau, rtol=1e-12, atol=1e-14)


def test_orgqr(modes):
    packed, factors, *_ = scipy.linalg.lapack.dgeqrf(RNG.normal(size=(5, 3)))
    for k in (3, 2, 0):
        known = scipy.linalg.lapack.dorgqr(packed, factors[:k])[0] if k else np.eye(5, 3)
        np.testing.assert_allclose(modes(ops.orgqr, packed, factors[:k])[0], known, rtol=1e-11, atol=1e-14)
    batch = ops.orgqr(Tensor(np.stack([packed, packed])), Tensor(np.stack([factors, factors]))).asnumpy()
    np.testing.assert_allclose(batch[1], scipy.linalg.lapack.dorgqr(packed, factors)[0], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr(modes, left, transpose):
    packed, factors, *_ = scipy.linalg.lapack.dgeqrf(RNG.normal(size=(4, 3)))
    other = RNG.normal(size=(4, 2) if left else (2, 4))
    known = scipy.linalg.lapack.dormqr("L" if left else "R", "T" if transpose else "N", packed, factors, other, 64)[0]
    (got,) = modes(lambda x, t, c: ops.ormqr(x, t, c, left, transpose), packed, factors, other)
    np.testing.assert_allclose(got, known, rtol=1e-11, atol=1e-13)


def test_derivatives(derivatives):
    packed, factors, *_ = scipy.linalg.lapack.dgeqrf(RNG.normal(size=(3, 2)))
    derivatives(lambda b, lu: ops.lu_solve(b, lu, Tensor(ONE_BASED)), RNG.normal(size=(4, 1)), PACKED + np.eye(4))
    derivatives(lambda lu: ops.lu_unpack(lu * lu, Tensor(ONE_BASED))[1], PACKED)
    derivatives(ops.orgqr, packed, factors)
    derivatives(ops.ormqr, packed, factors, RNG.normal(size=(3, 2)))


def test_what_is_refused():
    with pytest.raises(NotDifferentiableError):
        ac.grad(lambda x: ops.geqrf(x)[0].sum())(Tensor(A))
    with pytest.raises(UnsupportedCallError, match="complex"):
        ops.eigvals(Tensor(A))
    with pytest.raises(ShapeError, match="no right sides"):
        ops.lu_solve(Tensor(A[:3]), Tensor(PACKED), Tensor(ONE_BASED))
    with pytest.raises(IndexError):
        ops.lu_solve(Tensor(A), Tensor(PACKED), Tensor(ONE_BASED * 0))
    with pytest.raises(ShapeError, match="factors of reflections"):
        ops.orgqr(Tensor(A), Tensor(np.ones(5)))
