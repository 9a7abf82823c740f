"""Tensor methods in both forms of their arguments (`axis` and `dim`), in both modes, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

RNG = np.random.default_rng(8)
X = RNG.permutation(24).reshape(2, 3, 4) / 8.0 - 1.0
N = np.array([[7, -8, 9], [-3, 0, 5]])
I3 = RNG.integers(0, 3, (2, 3, 4))
ROW = X[0, 0]


def _keep(found, axis):
    return np.expand_dims(found, axis)


#: A call of Tensors X, N and I3, and what NumPy says of it; several results in a tuple.
CASES = {
    # A bare int is a `dim`: extremes and their places.
    "max of a dim": (lambda x, n, i: x.max(1), (X.max(1), X.argmax(1))),
    "max, dim kept": (lambda x, n, i: x.max(dim=-1, keepdim=True), (_keep(X.max(-1), -1), _keep(X.argmax(-1), -1))),
    "max of an axis": (lambda x, n, i: x.max(axis=1), X.max(1)),
    "max of axes": (lambda x, n, i: x.max((0, 2)), X.max((0, 2))),
    "max, keepdims": (lambda x, n, i: x.max(1, keepdims=True), X.max(1, keepdims=True)),
    "min of a dim": (lambda x, n, i: x.min(0, True), (_keep(X.min(0), 0), _keep(X.argmin(0), 0))),
    "min with initial": (lambda x, n, i: x.min(axis=0, initial=-2.0), np.minimum(X.min(0), -2)),
    "sum, keepdim": (lambda x, n, i: x.sum(1, True), X.sum(1, keepdims=True)),
    "sum, dim": (lambda x, n, i: x.sum(dim=(0, 1), keepdim=True), X.sum((0, 1), keepdims=True)),
    "sum, initial": (lambda x, n, i: x.sum(axis=0, initial=3), X.sum(0) + 3),
    "sum of all": (lambda x, n, i: x.sum(()), X.sum()),
    "mean, dim": (lambda x, n, i: x.mean(dim=1, keepdim=True), X.mean(1, keepdims=True)),
    "mean of integers": (lambda x, n, i: n.mean(1), np.trunc(N.mean(1)).astype(int)),
    "mean of integers in a dtype": (lambda x, n, i: n.mean(0, dtype=ms.float64), N.mean(0)),
    "prod, dim": (lambda x, n, i: x.prod(dim=2, keepdim=True), X.prod(2, keepdims=True)),
    "nansum, dim": (lambda x, n, i: x.nansum(dim=0), np.nansum(X, 0)),
    "logsumexp": (lambda x, n, i: x.logsumexp(dim=1, keepdim=True), special.logsumexp(X, 1, keepdims=True)),
    "std, correction": (lambda x, n, i: x.std(1, correction=1), X.std(1, ddof=1)),
    "var, dim": (lambda x, n, i: x.var(dim=1, correction=1, keepdim=True), X.var(1, ddof=1, keepdims=True)),
    "median": (lambda x, n, i: x.median(dim=1, keepdim=True)[0], np.median(X, 1, keepdims=True)),
    "all": (lambda x, n, i: (x > -2).all(dim=1, keepdim=True), np.ones((2, 1, 4), bool)),
    "any": (lambda x, n, i: (x > 1.5).any(dim=1), (X > 1.5).any(1)),
    "argmax": (lambda x, n, i: x.argmax(dim=1, keepdim=True), _keep(X.argmax(1), 1)),
    "argmax of all": (lambda x, n, i: x.argmax(keepdims=True), X.argmax()),
    "argmin": (lambda x, n, i: x.argmin(dim=2), X.argmin(2)),
    "count_nonzero": (lambda x, n, i: n.count_nonzero(axis=1, keep_dims=True), np.array([[3], [2]])),
    "cumsum": (lambda x, n, i: x.cumsum(dim=1), X.cumsum(1)),
    "cumsum of all": (lambda x, n, i: x.cumsum(), X.cumsum()),
    "sort": (lambda x, n, i: x.sort(dim=1, descending=True, stable=True)[0], -np.sort(-X, 1)),
    "argsort": (lambda x, n, i: x.argsort(dim=0, stable=True), X.argsort(0)),
    "chunk": (lambda x, n, i: x.chunk(2, dim=2), (X[..., :2], X[..., 2:])),
    "split": (lambda x, n, i: x.split(split_size=2, dim=1), (X[:, :2], X[:, 2:])),
    "add": (lambda x, n, i: n.add(n, alpha=3), 4 * N),
    "sub": (lambda x, n, i: n.sub(other=1, alpha=2), N - 2),
    "sub, y": (lambda x, n, i: n.sub(y=n), N * 0),
    "div, trunc": (lambda x, n, i: n.div(2, rounding_mode="trunc"), np.trunc(N / 2).astype(int)),
    "div by negatives, trunc": (lambda x, n, i: n.divide(-2, rounding_mode="trunc"), np.trunc(N / -2).astype(int)),
    "div, floor": (lambda x, n, i: n.div(2, rounding_mode="floor"), N // 2),
    "div of floats, trunc": (lambda x, n, i: x.div(0.3, rounding_mode="trunc"), np.trunc(X / 0.3)),
    "remainder": (lambda x, n, i: n.remainder(divisor=4), N % 4),
    "pow": (lambda x, n, i: n.pow(exponent=2), N**2),
    "gather": (lambda x, n, i: x.gather(1, i), np.take_along_axis(X, I3, 1)),
    "gather by name": (lambda x, n, i: x.gather(dim=1, index=i), np.take_along_axis(X, I3, 1)),
    "gather of an axis": (lambda x, n, i: x.gather(input_indices=i[0, 0], axis=1), X[:, I3[0, 0]]),
    "select": (lambda x, n, i: x.select(dim=1, index=2), X[:, 2]),
    "select of a condition": (lambda x, n, i: x.select(condition=x > 0, y=7.0), np.where(X > 0, X, 7)),
    "index_select": (lambda x, n, i: x.index_select(dim=2, index=i[0, 0]), X[:, :, I3[0, 0]]),
    "take": (lambda x, n, i: x.take(indices=i[0], axis=1), X.take(I3[0], 1)),
    "take, far out": (lambda x, n, i: x.take(i * 100), X.take(I3 * 100, mode="clip")),
    "transpose of two dims": (lambda x, n, i: x.transpose(0, 2), X.swapaxes(0, 2)),
    "transpose by name": (lambda x, n, i: x.transpose(dim0=1, dim1=-1), X.swapaxes(1, -1)),
    "transpose of all": (lambda x, n, i: x.transpose(1, 2, 0), X.transpose(1, 2, 0)),
    "permute": (lambda x, n, i: x.permute(dims=(2, 0, 1)), X.transpose(2, 0, 1)),
    "flatten": (lambda x, n, i: x.flatten(1, -1), X.reshape(2, 12)),
    "flatten by columns": (lambda x, n, i: n.flatten("F"), N.flatten("F")),
    "tile": (lambda x, n, i: n.tile(dims=(2, 1)), np.tile(N, (2, 1))),
    "repeat": (lambda x, n, i: n.repeat(repeats=(1, 2)), np.tile(N, (1, 2))),
    "expand_as": (lambda x, n, i: n.expand_as(x=ops.ones((4, 2, 3))), np.broadcast_to(N, (4, 2, 3))),
    "to": (lambda x, n, i: n.to("CPU", ms.float32), N.astype(np.float32)),
    "to another's dtype": (lambda x, n, i: n.to(x), N.astype(float)),
    "bits": (lambda x, n, i: x.view(ms.int32), X.view(np.int32)),
    "bits by name": (lambda x, n, i: n.view(dtype=ms.float64), N.view(np.float64)),
    "add_ext": (lambda x, n, i: ops.add_ext(n, 1, 3), N + 3),
    "sub_ext": (lambda x, n, i: ops.sub_ext(n, n, alpha=3), -2 * N),
    "new_ones": (lambda x, n, i: n.new_ones(size=(2, 2)), np.ones((2, 2), int)),
    "H": (lambda x, n, i: n.H, N.T),
    "logical_xor": (lambda x, n, i: (n > 0).logical_xor(other=n > 6), (N > 0) ^ (N > 6)),
    "matmul": (lambda x, n, i: n.matmul(tensor2=n.T), N @ N.T),
    "choose": (lambda x, n, i: i[0, 0].choose([[5, 6, 7, 8], [0, 0, 0, 0], [1, 2, 3, 4]]),
               I3[0, 0].choose([[5, 6, 7, 8], [0, 0, 0, 0], [1, 2, 3, 4]])),
}  # fmt: skip


@pytest.mark.parametrize(("function", "known"), CASES.values(), ids=CASES)
def test_forms(function, known):
    for run in (function, ms.jit(function)):
        found = run(Tensor(X), Tensor(N), Tensor(I3))
        assert isinstance(found, tuple) is isinstance(known, tuple)
        pairs = zip(found, known, strict=True) if isinstance(known, tuple) else [(found, known)]
        for got, expected in pairs:
            assert got.shape == np.shape(expected)
            assert got.dtype.is_float == (np.asarray(expected).dtype.kind == "f")
            np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.sum(0, dim=1), "multiple values for argument 'axis'"),
        (lambda x: x.argmax(axis=0, dim=1), "multiple values for argument 'axis'"),
        (lambda x: x.max(dim=0, return_indices=True), "beside `dim`"),
        (lambda x: x.mean(along=0), "unexpected keyword argument 'along'"),
        (lambda x: x.take(), "takes `indices` or `index`"),
        (lambda x: x.gather(dim=1), "gather\\(\\) takes dim and index"),
        (lambda x: x.to(1, 2, 3, 4, 5), "to\\(\\) takes"),
        (lambda x: x.div(2, rounding_mode="up"), "rounding_mode must be"),
        (lambda x: x.scatter_(0, x), "takes `src` or `value`"),
        (lambda x: x.H, "only a matrix"),
    ],
)
def test_what_fits_neither_form(function, text):
    for run in (function, ms.jit(function)):
        with pytest.raises((TypeError, ValueError), match=text):
            run(Tensor(X))


def test_another_device():
    with pytest.raises(RuntimeError, match="GPU"):
        Tensor(X).to("GPU")
    assert Tensor(X).device == "CPU"


def test_in_place_forms():
    x = Tensor(N.copy())
    x.add_(Tensor(N), alpha=2)
    x.sub_(other=1)
    x.index_fill_(dim=1, index=Tensor([0]), value=0)
    expected = 3 * N - 1
    expected[:, 0] = 0
    np.testing.assert_array_equal(x.asnumpy(), expected)
    x.div_(Tensor(2), rounding_mode="floor")
    np.testing.assert_array_equal(x.asnumpy(), expected // 2)
    y = Tensor(X.copy())
    y.scatter_(dim=1, index=Tensor(np.zeros((2, 1, 4), int)), value=9.0)
    assert (y.asnumpy()[:, 0] == 9).all()
    np.testing.assert_array_equal(y.asnumpy()[:, 1:], X[:, 1:])


def test_gradients_pass_through_both_forms():
    w = RNG.normal(size=(2, 4))
    expected = np.zeros_like(X)
    np.put_along_axis(expected, _keep(X.argmax(1), 1), _keep(w, 1), 1)  # the first greatest gets it all
    for f in (lambda x: (x.max(dim=1)[0] * Tensor(w)).sum(), lambda x: (x.max(axis=1) * Tensor(w)).sum()):
        for run in (ms.grad(f), ms.jit(ms.grad(f))):
            np.testing.assert_allclose(run(Tensor(X)).asnumpy(), expected)


def test_means_of_large_integers_are_exact():
    big = np.array([10**15, 10**15 + 4, -3])
    assert ops.mean(Tensor(big)).item() == (2 * 10**15 + 1) // 3
    assert ops.reduce_mean(Tensor([1.0, 2.0])).item() == 1.5
    with pytest.raises(ms.ShapeError):
        Tensor(np.zeros((0,), int)).mean()
