"""Arguments of Tensor methods by MindSpore's names, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, special

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

RNG = np.random.default_rng(3)
X, Y = RNG.uniform(0.5, 2, (3, 3)), RNG.uniform(0.5, 2, (3, 3))
I, J = np.array([12, 7, 4]), np.array([18, 2, 3])
ROW, SPD = X[0], X @ X.T + np.eye(3)
FACTOR = np.linalg.cholesky(SPD)
LU, PIVOTS = linalg.lu_factor(SPD)

#: method, Tensor, Tensors by name, other arguments by name, result
CASES = [
    ("addr", X, {"vec1": ROW, "vec2": Y[0]}, {"beta": 2, "alpha": 3}, 2 * X + 3 * np.outer(ROW, Y[0])),
    ("approximate_equal", X, {"other": X + 0.1}, {"tolerance": 0.2}, np.full((3, 3), True)),
    ("astype", X, {}, {"dtype": "int32", "copy": False}, X.astype(np.int32)),
    ("bitwise_left_shift", I, {"other": J}, {}, I << J), ("bitwise_right_shift", I, {"other": J}, {}, I >> J),
    ("bmm", X[None], {"mat2": Y[None]}, {}, (X @ Y)[None]),
    ("cholesky_solve", Y, {"input2": FACTOR}, {"upper": False}, np.linalg.solve(SPD, Y)),
    ("copysign", X, {"other": -Y}, {}, -X), ("cross", X, {"other": Y}, {"dim": 1}, np.cross(X, Y, axis=1)),
    ("cumprod", X, {}, {"dim": 0, "dtype": ms.float64}, X.cumprod(0)), ("equal", I, {"other": J}, {}, I == J),
    ("flip", X, {}, {"dims": (0, 1)}, X[::-1, ::-1]), ("float_power", I, {"other": J}, {}, np.float_power(I, J)),
    ("fmax", X, {"other": Y}, {}, np.fmax(X, Y)), ("fmin", X, {"other": Y}, {}, np.fmin(X, Y)),
    ("ger", ROW, {"vec2": Y[0]}, {}, np.outer(ROW, Y[0])), ("hypot", X, {"other": Y}, {}, np.hypot(X, Y)),
    ("igamma", X, {"other": Y}, {}, special.gammainc(X, Y)), ("igammac", X, {"other": Y}, {}, special.gammaincc(X, Y)),
    ("inner", X, {"other": Y}, {}, np.inner(X, Y)), ("lcm", I, {"other": J}, {}, np.lcm(I, J)),
    ("ldexp", X, {"other": J}, {}, np.ldexp(X, J)), ("lstsq", X, {"A": Y}, {}, np.linalg.lstsq(X, Y, rcond=None)[0]),
    ("lu_solve", Y, {"LU_data": LU, "LU_pivots": PIVOTS.astype(np.int32) + 1}, {}, linalg.lu_solve((LU, PIVOTS), Y)),
    ("multiply", X, {"value": Y}, {}, X * Y), ("nextafter", X, {"other": Y}, {}, np.nextafter(X, Y)),
    ("reverse_sequence", X, {"seq_lengths": np.array([2, 3, 1])}, {"seq_dim": 0, "batch_dim": 1},
     np.array([[X[1, 0], X[2, 1], X[0, 2]], [X[0, 0], X[1, 1], X[1, 2]], [X[2, 0], X[0, 1], X[2, 2]]])),
    ("searchsorted", np.sort(ROW), {"v": ROW}, {"side": "right"}, np.searchsorted(np.sort(ROW), ROW, "right")),
    ("softmax", X, {}, {"axis": 0, "dtype": ms.float64}, special.softmax(X, 0)),
    ("swapdims", X, {}, {"dim0": 0, "dim1": 1}, X.T),
    ("triangular_solve", Y, {"A": FACTOR}, {"upper": False}, linalg.solve_triangular(FACTOR, Y, lower=True)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "tensors", "others", "known"), CASES, ids=[case[0] for case in CASES])
def test_arguments_by_name(name, x, tensors, others, known):
    def f(x, tensors):
        return getattr(x, name)(**tensors, **others)

    given = {key: Tensor(value) for key, value in tensors.items()}
    for run in (f, ms.jit(f)):
        found = run(Tensor(x), given)
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(found.asnumpy(), known, rtol=1e-9)


def test_orthogonal_factors_by_name():
    packed, factors = ops.geqrf(Tensor(X))
    q = packed.orgqr(input2=factors)
    np.testing.assert_allclose((q @ q.T).asnumpy(), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(packed.ormqr(input2=factors, input3=Tensor(Y)).asnumpy(), (q @ Tensor(Y)).asnumpy())


def test_top_k_takes_whether_to_sort_second():
    for run in (lambda x: x.top_k(2, False), ms.jit(lambda x: x.top_k(2, sorted=True))):
        values, places = run(Tensor([3.0, 9.0, 5.0]))
        assert sorted(values.tolist()) == [5.0, 9.0]
        assert sorted(places.tolist()) == [1, 2]


def test_more_of_mindspores_methods():
    x = Tensor(X)
    x.addmm_(Tensor(X), Tensor(Y), beta=2, alpha=3)
    np.testing.assert_allclose(x.asnumpy(), 2 * X + 3 * X @ Y)
    assert (x.storage_offset(), x.get_bytes()) == (0, x.asnumpy().tobytes())
    assert x.data_ptr() == x.asnumpy().ctypes.data
    assert "dltensor" in repr(x.to_dlpack())
