"""Tensor methods written over other ops, dense layers and clipping, against NumPy and their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedCallError

RNG = np.random.default_rng(13)
X = RNG.normal(size=(3, 4))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("bool", "bool"), ("byte", "uint8"), ("short", "int16"), ("int", "int32"), ("long", "int64"), ("half", "float16"),
     ("float", "float32"), ("double", "float64")],
)  # fmt: skip
def test_conversions(modes, name, dtype):
    x = np.array([0.0, 1.75, 3.0])
    (got,) = modes(lambda x: getattr(x, name)(), x)
    np.testing.assert_array_equal(got, x.astype(dtype))
    assert got.dtype == np.dtype(dtype)
    assert Tensor(x).type("int32").dtype is ac.int32
    assert Tensor(x).type() == "Float64"
    assert Tensor(x).bfloat16().dtype is ac.bfloat16


def test_descriptions():
    def described(x):
        return (
            x.is_floating_point(),
            ops.is_signed(x),
            x.is_complex(),
            ops.is_contiguous(x),
            tuple(x.stride()),
            x.stride(0),
        )

    for run in (described, ac.jit(described)):
        assert run(Tensor(X)) == (True, True, False, True, (4, 1), 4)
        assert run(Tensor(X > 0).astype("uint8")) == (False, False, False, True, (4, 1), 4)
    with pytest.raises(ShapeError):
        Tensor(X).stride(2)


def test_copies_are_tensors_of_their_own():
    x = Tensor([1.0, 2.0])
    for copy in (ops.clone(x), x.contiguous(), x.value(), x.positive()):
        copy[0] = 7
    assert x.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(ac.grad(lambda x: (x.clone() * x.value()).sum())(x).asnumpy(), 2 * x.asnumpy())


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (lambda x: x.ptp(), np.ptp(X)),
        (lambda x: ops.ptp(x, 1, True), np.ptp(X, 1, keepdims=True)),
        (lambda x: x.deg2rad(), np.deg2rad(X)),
        (lambda x: x.rad2deg(), np.rad2deg(X)),
        (lambda x: x.inv(), 1 / X),
        (lambda x: x.adjoint(), X.T),
        (lambda x: ops.angle(x), np.angle(X)),
        (lambda x: x.sgn(), np.sign(X)),
        (lambda x: x.fmax(Tensor([0.0, np.nan, 1, 2])), np.fmax(X, [0.0, np.nan, 1, 2])),
        (lambda x: x.fmin(Tensor([0.0, np.nan, 1, 2])), np.fmin(X, [0.0, np.nan, 1, 2])),
        (lambda x: (x - X[0, 0]).heaviside(Tensor(0.5)), np.heaviside(X - X[0, 0], 0.5)),
        (lambda x: x.addcmul(x, x, 2.0), X + 2 * X * X),
        (lambda x: x.addcdiv(x, x, 2), X + 2),
        (lambda x: x.aminmax(axis=1), (X.min(1), X.max(1))),
        (lambda x: x.argmax_with_value(1), (X.max(1), X.argmax(1))),
        (lambda x: ops.argmin_with_value(x, 0, True), (X.min(0, keepdims=True), X.argmin(0)[None])),
        (lambda x: ops.argmax_with_value(x, None), (X.max(), X.argmax())),
        (lambda x: x.kthvalue(2), (np.sort(X)[:, 1], np.argsort(X)[:, 1])),
        (lambda x: ops.kthvalue(x, 3, 0, True), (np.sort(X, 0)[2:], np.argsort(X, 0)[2:])),
        (lambda x: x.allclose(x + 1e-9), True),
        (lambda x: ops.allclose(x, x + 1e-3), False),
        (lambda x: x.approximate_equal(Tensor(X + [0, 1e-6, 1e-4, 1])), np.array([[1, 1, 0, 0]] * 3, bool)),
        (lambda x: x.resize(2, 3), X.reshape(-1)[:6].reshape(2, 3)),
        (lambda x: ops.resize(x, (2, 7)), np.append(X, [0, 0]).reshape(2, 7)),
        (lambda x: x.sum_to_size(4), X.sum(0)),
        (lambda x: ops.sum_to_size(x, (3, 1)), X.sum(1, keepdims=True)),
        (lambda x: x.index([Tensor([0, 2]), Tensor([1, 3])]), X[[0, 2], [1, 3]]),
    ],
)
def test_against_numpy(modes, method, expected):
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, known in zip(modes(method, X), expected, strict=True):
        np.testing.assert_allclose(got, known, rtol=1e-14, atol=1e-14)
        assert got.shape == np.shape(known)


def test_extremes_among_a_part(modes):
    mask = X > 0
    for name, where in (("amax", -0.25), ("amin", 0.25)):
        reduce = np.max if name == "amax" else np.min
        for axis, keep in ((None, False), (1, True)):
            wanted = reduce(X, axis=axis, keepdims=keep, initial=where, where=mask)
            for run in (lambda x, n=name, **o: getattr(ops, n)(x, **o), lambda x, n=name, **o: getattr(x, n)(**o)):
                got = modes(lambda x, run=run: run(x, axis=axis, keepdims=keep, initial=where, where=Tensor(mask)), X)
                np.testing.assert_array_equal(got[0], wanted)
    value, index = modes(lambda x: ops.max(x, 1, initial=-9, where=Tensor(~mask)), X)
    np.testing.assert_array_equal(value, np.max(X, 1, initial=-9, where=~mask))
    np.testing.assert_array_equal(index, np.where(mask, -9, X).argmax(1))
    assert ops.min(Tensor(X), initial=-5)[0].item() == -5
    np.testing.assert_array_equal(ops.amax(Tensor(np.ones((2, 0))), 1, initial=3.0).asnumpy(), [3, 3])
    with pytest.raises(ValueError, match="`where` needs `initial`"):
        ops.amax(Tensor(X), where=Tensor(mask))


def test_choose(modes):
    index, choices = np.array([[0, 1], [2, 5]]), [X[:2, :2], X[1:, 2:], np.array([7.0, 8.0])]
    got = modes(lambda a, b, c: Tensor(index).choose([a, b, c]), *choices)[0]
    np.testing.assert_array_equal(got, np.choose(index, choices, mode="clip"))
    for mode in ("wrap", "raise"):
        near = np.minimum(index, 2 if mode == "raise" else 9)
        got = ops.choose(Tensor(near), [Tensor(c) for c in choices], mode).asnumpy()
        np.testing.assert_array_equal(got, np.choose(near, choices, mode=mode))
    with pytest.raises(IndexError):
        Tensor(index).choose([Tensor(c) for c in choices], "raise")
    with pytest.raises(DTypeError, match="takes integers"):
        Tensor(X).choose([Tensor(X)])


@pytest.mark.parametrize(
    ("shape", "offset", "dims"), [((3, 4), 1, (0, 1)), ((4, 2, 3), -1, (0, 2)), ((2, 3), 5, (1, 0))]
)
def test_diagonal_scatter(modes, shape, offset, dims):
    x = RNG.normal(size=shape)
    expected = x.copy()
    at = np.arange(x.size).reshape(shape).diagonal(offset, *dims)
    src = RNG.normal(size=at.shape)
    expected.reshape(-1)[at] = src
    got = modes(lambda x, s: x.diagonal_scatter(s, offset, *dims), x, src)[0]
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(ops.diagonal_scatter(Tensor(x), Tensor(src), offset, *dims).asnumpy(), expected)


@pytest.mark.parametrize(("shape", "wrap"), [((5, 2), False), ((5, 2), True), ((2, 3), True), ((2, 2, 2), False)])
def test_fill_diagonal(modes, shape, wrap):
    x = RNG.normal(size=shape)
    expected = x.copy()
    np.fill_diagonal(expected, 9.0, wrap)
    np.testing.assert_array_equal(modes(lambda x: ops.fill_diagonal(x, 9.0, wrap), x)[0], expected)


def test_unique():
    x = np.array([[3, 1, 3], [1, 1, 2]])
    values, inverse, counts = Tensor(x).unique(return_inverse=True, return_counts=True)
    for got, known in zip((values, inverse, counts), np.unique(x, False, True, True), strict=True):
        np.testing.assert_array_equal(got.asnumpy().reshape(known.shape), known)
    assert inverse.shape == x.shape
    np.testing.assert_array_equal(Tensor(x[[0, 1, 0]]).unique(dim=0).asnumpy(), np.unique(x, axis=0))
    padded, places = ops.unique_with_pad(Tensor([2, 1, 2, 5]), -1)
    assert padded.tolist() == [2, 1, 5, -1]
    assert places.tolist() == [0, 1, 0, 2]
    np.testing.assert_array_equal(ac.jit(lambda x: x.unique() * 2)(Tensor(x)).asnumpy(), np.unique(x) * 2)


def test_triangular_solve_is_a_method_of_the_right_sides(modes):
    a, b = RNG.normal(size=(4, 4)) + 5 * np.eye(4), RNG.normal(size=(4, 2))
    x, same = modes(lambda b, a: b.triangular_solve(a), b, a)
    np.testing.assert_allclose(x, np.linalg.solve(np.triu(a), b), rtol=1e-12)
    np.testing.assert_array_equal(same, a)
    x, _ = modes(lambda b, a: b.triangular_solve(a, False, True, True), b, a)
    np.testing.assert_allclose(x, np.linalg.solve((np.tril(a, -1) + np.eye(4)).T, b), rtol=1e-12)


def test_derivatives(derivatives):
    derivatives(lambda x: x.kthvalue(2)[0] * x.ptp(1), X)
    derivatives(lambda x: ops.amax(x * x, 1, initial=0.1, where=Tensor(X > 0)), X)
    derivatives(lambda x, y: Tensor([[0, 1, 1, 0]]).choose([x * x, y * x]), X, X + 1)
    derivatives(lambda x, s: ops.diagonal_scatter(x * x, s * s, 1), X, X[0, :3])
    derivatives(lambda x: (x * x).sum_to_size(1, 4) + x.resize(1, 4), X)


# ------------------------------------------------------------------------------------------------ layers and clipping
def test_dense_and_bidense(modes):
    w, b, y = RNG.normal(size=(5, 4)), RNG.normal(size=5), RNG.normal(size=(3, 2))
    np.testing.assert_allclose(modes(ops.dense, X, w, b)[0], X @ w.T + b, rtol=1e-12)
    np.testing.assert_allclose(modes(ops.dense, X[0], w[0])[0], X[0] @ w[0], rtol=1e-12)
    cube = RNG.normal(size=(5, 4, 2))
    expected = np.stack([[x @ m @ z for m in cube] for x, z in zip(X, y, strict=True)]) + b
    np.testing.assert_allclose(modes(ops.bidense, X, y, cube, b)[0], expected, rtol=1e-12)
    with pytest.raises(ShapeError, match="does not fit"):
        ops.dense(Tensor(X), Tensor(X.T))


@pytest.mark.parametrize(
    ("first", "second", "axes", "equation"),
    [
        ((2, 2, 3), (2, 3, 2), (-1, -2), "bij,bjk->bik"),
        ((2, 2), (2, 3, 2), (1, 2), "bj,bkj->bk"),
        ((6, 2, 3, 4), (6, 5, 4, 8), None, "bijx,bkxl->bijkl"),
        ((2, 3), (2, 3), None, "bi,bi->b"),
        ((2, 3, 4), (2, 5, 4), 2, "bij,bkj->bik"),
    ],
)
def test_batch_dot(modes, first, second, axes, equation):
    x, y = RNG.normal(size=first), RNG.normal(size=second)
    np.testing.assert_allclose(modes(lambda x, y: ops.batch_dot(x, y, axes), x, y)[0], np.einsum(equation, x, y),
                               rtol=1e-12)  # fmt: skip


def test_batch_dot_refuses():
    x = Tensor(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="the first dimension is the batch"):
        ops.batch_dot(x, x, 0)
    with pytest.raises(ShapeError, match="batches differ"):
        ops.batch_dot(x, Tensor(np.ones((3, 3))))


@pytest.mark.parametrize("p", [2.0, 1.0, float("inf")])
def test_clip_by_norm(modes, p):
    y = RNG.normal(size=5)
    norm = np.linalg.norm(np.append(X, y), p)
    for most in (norm / 3, norm * 2):
        scale = min(1, most / (norm + 1e-6))
        a, b = modes(lambda x, y: tuple(ops.clip_by_norm([x, y], most, p)), X, y)
        np.testing.assert_allclose(a, X * scale, rtol=1e-12)
        np.testing.assert_allclose(b, y * scale, rtol=1e-12)
    (alone,) = modes(lambda y: ops.clip_by_norm(y, 0.5, p), y)
    assert np.linalg.norm(alone, p) == pytest.approx(0.5, rel=1e-5)


def test_clip_by_norm_of_what_is_not_finite():
    x = Tensor([np.inf, 1.0])
    assert np.isnan(ops.clip_by_norm(x, 1.0).asnumpy()[0])
    with pytest.raises(RuntimeError, match="the norm of the tensors is inf"):
        ops.clip_by_norm(x, 1.0, error_if_nonfinite=True)
    with pytest.raises(UnsupportedCallError):
        ac.jit(lambda x: ops.clip_by_norm(x, 1.0, error_if_nonfinite=True))(x)


def test_clip_by_global_norm(modes):
    y = RNG.normal(size=5)
    norm = np.linalg.norm(np.append(X, y))
    for most in (norm / 3, norm * 2):
        for got, x in zip(modes(lambda x, y: ops.clip_by_global_norm((x, y), most), X, y), (X, y), strict=True):
            np.testing.assert_allclose(got, x * most / max(most, norm), rtol=1e-12)
    found = modes(lambda x, y, n: ops.clip_by_global_norm((x, y), 2.0, use_norm=n), X, y, np.array(5.0))
    for got, x in zip(found, (X, y), strict=True):
        np.testing.assert_allclose(got, x * 2 / 5, rtol=1e-12)
    with pytest.raises(ShapeError, match="one number"):
        ops.clip_by_global_norm((Tensor(X),), 1.0, use_norm=Tensor([1.0, 2.0]))


def test_rotary_position_embedding(modes):
    x, angle = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(3, 2))
    for mode, pair in ((0, lambda i: (i, i + 2)), (1, lambda i: (2 * i, 2 * i + 1))):
        wide = np.empty((3, 4))
        expected = np.empty_like(x)
        for i in range(2):
            a, b = pair(i)
            wide[:, [a, b]] = angle[:, [i]]
            c, s = np.cos(angle[:, i]), np.sin(angle[:, i])
            expected[..., a] = x[..., a] * c - x[..., b] * s
            expected[..., b] = x[..., b] * c + x[..., a] * s
        (got,) = modes(lambda x, c, s, m=mode: ops.rotary_position_embedding(x, c, s, m), x, np.cos(wide), np.sin(wide))
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_multilabel_margin_loss(modes, reduction):
    target = np.array([[2, 0, -1, 1], [-1, 0, 1, 2], [3, 1, 0, 2]])
    expected = []
    for row, labels in zip(X, target, strict=True):
        named = labels[: list(labels).index(-1) if -1 in labels else 4]
        others = [i for i in range(4) if i not in named]
        expected.append(sum(max(0, 1 - row[j] + row[i]) for j in named for i in others) / 4)
    known = {"none": np.array(expected), "sum": np.sum(expected), "mean": np.mean(expected)}[reduction]
    (got,) = modes(lambda x: ops.multilabel_margin_loss(x, Tensor(target), reduction), X)
    np.testing.assert_allclose(got, known, rtol=1e-12)


def test_hamming_window_of_other_coefficients(modes):
    np.testing.assert_allclose(ops.hamming_window(7, False, dtype="float64").asnumpy(), np.hamming(7), rtol=1e-12)
    np.testing.assert_allclose(ops.hamming_window(6, True, dtype="float64").asnumpy(), np.hamming(7)[:-1], rtol=1e-12)
    halves = ops.hamming_window(8, True, 0.5, 0.5, dtype="float64").asnumpy()
    np.testing.assert_allclose(halves, np.hanning(9)[:-1], atol=1e-15)
    assert ops.hamming_window(1).tolist() == [1.0]


@pytest.mark.parametrize("dtype", [ac.float16, ac.bfloat16])
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ops.lp_pool2d(x, 2, 2),
        lambda x: ops.dense(x, x[0, 0]),
        lambda x: ops.clip_by_norm(x, 1.0),
        lambda x: ops.iou(x[0, 0].abs(), x[0, 0].abs() + 2),
        lambda x: ops.rotary_position_embedding(x, x, x, 1),
        lambda x: ops.orgqr(x, x[..., 0]),
        lambda x: ops.lu_solve(x[0], x[0] * 0.1 + ops.eye(4), Tensor([[1, 2, 3, 4]] * 2)),
        lambda x: ops.multilabel_margin_loss(x[0, 0], Tensor(np.zeros((4, 4), int))),
        lambda x: ops.amax(x, 1, initial=0.5, where=x > 0),
    ],
)
def test_16_bit_floats_are_rounded_only_a_few_times(fn, dtype):
    x = Tensor(RNG.normal(size=(1, 2, 4, 4))).astype(dtype)
    wide, eps = fn(x.astype(ac.float64)).asnumpy(), 2**-7 if dtype is ac.bfloat16 else 2**-10
    for run in (fn, ac.jit(fn)):
        got = run(x)
        assert got.dtype is dtype or got.dtype is ac.float32
        np.testing.assert_allclose(got.asnumpy().astype(float), wide, rtol=4 * eps, atol=8 * eps)
    slope = ac.jit(ac.grad(lambda x: fn(x).sum()))(x)
    assert slope.dtype is dtype
    expected = ac.grad(lambda x: fn(x).sum())(x.astype(ac.float64)).asnumpy()
    np.testing.assert_allclose(
        slope.asnumpy().astype(float), expected, rtol=8 * eps, atol=16 * eps * abs(expected).max()
    )
