"""`mint`: its names of arguments, and what differs from `ops` in meaning, against NumPy, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, mint, nn, ops
from autodiff_compiler.mint import linalg, special
from autodiff_compiler.mint.nn import functional as F

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]], np.float32)
Y = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]], np.float32)
I = np.array([[1, 7, 3], [0, 2, 5]], np.int32)
INDEX = np.array([[0, 2], [1, 1]])
V = np.array([3.0, 1.0, 2.0], np.float32)
IMAGES = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
SOFT = np.exp(X) / np.exp(X).sum(1, keepdims=True)
SORTED = np.sort(X, 0)[::-1]
ADDED = X.copy()
np.add.at(ADDED, (np.array([[0, 0], [1, 1]]), INDEX), Y[:, :2])
PLACED = X.copy()
PLACED[[[0, 0], [1, 1]], [[0, 2], [1, 0]]] = Y[:, :2]
x, y, i, index, v, images = map(Tensor, (X, Y, I, INDEX, V, IMAGES))

CASES: list[tuple[Any, Any]] = [
    (lambda x: mint.add(x, y, alpha=2), X + 2 * Y),
    (lambda x: mint.sub(x, y, alpha=3), X - 3 * Y),
    (lambda x: mint.addcdiv(x, y, y, value=2), X + 2),
    (lambda x: mint.sum(x, 1, True), X.sum(1, keepdims=True)),
    (lambda x: mint.mean(x, dim=(0, 1)), X.mean()),
    (lambda x: mint.mean(i, dtype=ms.float32), np.float32(3.0)),
    (lambda x: mint.prod(x, 1), X.prod(1)),
    (lambda x: mint.max(x), np.float32(3.0)),
    (lambda x: mint.max(x, 1), (X.max(1), X.argmax(1))),
    (lambda x: mint.max(x, y), np.maximum(X, Y)),
    (lambda x: mint.min(x, dim=0, keepdim=True), (X.min(0, keepdims=True), X.argmin(0)[None])),
    (lambda x: mint.amax(x, ()), np.float32(3.0)),
    (lambda x: mint.amin(x, 1, True), X.min(1, keepdims=True)),
    (lambda x: mint.argmin(x), np.array(1)),
    (lambda x: mint.median(x), np.float32(0.25)),  # the lower of the two in the middle
    (lambda x: mint.median(x, 1), (np.float32([0.5, 0.25]), np.array([0, 1]))),
    (lambda x: mint.var(x, 1), X.var(1, ddof=1)),
    (lambda x: mint.std(x, 0, correction=0), X.std(0)),
    (lambda x: mint.std_mean(x, 1), (X.std(1, ddof=1), X.mean(1))),
    (lambda x: mint.norm(x), np.float32(np.sqrt((X**2).sum()))),
    (lambda x: mint.norm(x, 1, 1), np.abs(X).sum(1)),
    (lambda x: mint.count_nonzero(i, 1), np.array([3, 2])),
    (lambda x: mint.cumsum(i, 1), I.astype(np.int64).cumsum(1)),
    (lambda x: mint.cummax(v, 0), (np.float32([3, 3, 3]), np.array([0, 0, 0]))),
    (lambda x: mint.softmax(x, 1), SOFT),
    (lambda x: mint.sort(x, dim=0, descending=True)[0], SORTED),
    (lambda x: mint.argsort(v), np.array([1, 2, 0])),
    (lambda x: mint.topk(v, 2), (np.float32([3, 2]), np.array([0, 2]))),
    (lambda x: mint.cat((x, y), dim=1), np.concatenate((X, Y), 1)),
    (lambda x: mint.stack([x, y], -1), np.stack((X, Y), -1)),
    (lambda x: mint.split(x, (1, 2), dim=1), (X[:, :1], X[:, 1:])),
    (lambda x: mint.chunk(x, 2, 1), (X[:, :2], X[:, 2:])),
    (lambda x: mint.transpose(images, 1, 3), IMAGES.swapaxes(1, 3)),
    (lambda x: mint.permute(x, (1, 0)), X.T),
    (lambda x: mint.squeeze(images, (0, 1)), IMAGES[0]),  # dimension 1 has two elements and stays
    (lambda x: mint.flatten(images, 1, 2), IMAGES.reshape(1, 8, 4)),
    (lambda x: mint.repeat_interleave(x, 2, 1), X.repeat(2, 1)),
    (lambda x: mint.meshgrid(v, v), tuple(np.meshgrid(V, V, indexing="ij"))),
    (lambda x: mint.diag(v, 1), np.diag(V, 1)),
    (lambda x: mint.diag(x), np.diag(X)),
    (lambda x: mint.diff(x, 1, 0), np.diff(X, axis=0)),
    (lambda x: mint.gather(x, 1, index), np.take_along_axis(X, INDEX, 1)),
    (lambda x: mint.index_select(x, 1, index[0]), X[:, [0, 2]]),
    (lambda x: mint.index_add(x, 1, index[0], y[:, :2], alpha=2), X + 2 * np.insert(Y[:, :2], 1, 0, 1)),
    (lambda x: mint.narrow(x, 1, 1, 2), X[:, 1:]),
    (lambda x: mint.select(x, 0, -1), X[1]),
    (lambda x: mint.scatter(x, 1, Tensor([[0, 2], [1, 0]]), y[:, :2]), PLACED),
    (lambda x: mint.scatter_add(x, 1, index, y[:, :2]), ADDED),
    (lambda x: mint.where(x > 0, x, 0.0), np.where(X > 0, X, 0)),
    (lambda x: mint.zeros((2, 3)), np.zeros((2, 3), np.float32)),
    (lambda x: special.round(x), np.round(X)),
    (lambda x: linalg.vector_norm(x, 1, 1), np.abs(X).sum(1)),
    (lambda x: linalg.inv(x[:, :2]), np.linalg.inv(X[:, :2])),
    (lambda x: F.linear(x, y, v[:2]), X @ Y.T + V[:2]),
    (lambda x: F.softmax(x), SOFT),
    (lambda x: F.log_softmax(x, -1), np.log(SOFT)),
    (lambda x: F.normalize(x), X / np.sqrt((X**2).sum(1, keepdims=True))),
    (lambda x: F.leaky_relu(x), np.where(X < 0, 0.01 * X, X)),
    (lambda x: F.elu(x, 2.0), np.where(X < 0, 2 * np.expm1(X), X)),
    (lambda x: F.avg_pool2d(images, 2), IMAGES.reshape(1, 2, 2, 2, 2, 2).mean((3, 5))),
    (lambda x: F.max_pool2d(images, 2), IMAGES.reshape(1, 2, 2, 2, 2, 2).max((3, 5))),
    (lambda x: F.one_hot(index, 4), np.eye(4, dtype=np.int64)[INDEX]),
    (lambda x: F.pad(x, (1, 0), value=3.0), np.pad(X, ((0, 0), (1, 0)), constant_values=3)),
    (lambda x: F.conv2d(images, ops.ones((1, 2, 2, 2)), padding=1)[:, :, 1:4, 1:4],
     sum(IMAGES[:, :, a : a + 3, b : b + 3] for a in (0, 1) for b in (0, 1)).sum(1, keepdims=True)),
    (lambda x: F.nll_loss(x, index[0] // 2), np.float32(-(X[0, 0] + X[1, 1]) / 2)),
    (lambda x: F.binary_cross_entropy_with_logits(x, x * 0, reduction="sum"), np.log1p(np.exp(X)).sum()),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_against_numpy(number: int) -> None:
    function, expected = CASES[number]
    for run in (function, ms.jit(function)):
        found = run(x)
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        for a, b in zip(*((found, expected) if isinstance(expected, tuple) else ((found,), (expected,))), strict=True):
            assert a.shape == b.shape
            assert a.asnumpy().dtype == b.dtype
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-5, atol=1e-6)


def test_the_other_names_are_those_of_ops() -> None:
    assert mint.matmul is ops.matmul
    assert mint.nn.Linear is nn.Linear
    for name in (*mint.__all__, *F.__all__, *linalg.__all__, *special.__all__):
        assert any(hasattr(module, name) for module in (mint, F, linalg, special))
    with pytest.raises(AttributeError, match=r"`ops.lu_unpack` does it"):
        mint.lu_unpack
    with pytest.raises(AttributeError, match="use `softmax`"):
        mint.sofmax


def test_random_numbers_have_their_range_and_repeat() -> None:
    assert mint.rand(2, 3).shape == (2, 3)
    drawn = mint.randint(2, 5, (200,))
    assert (drawn.dtype, drawn.min().item(), drawn.max().item()) == (ms.int64, 2, 4)
    assert sorted(mint.randperm(5).tolist()) == [0, 1, 2, 3, 4]
    g = ms.Generator()
    first = mint.randn(3, generator=g.manual_seed(7)).tolist()
    assert mint.randn(3, generator=g.manual_seed(7)).tolist() == first != mint.randn(3, generator=g).tolist()


# ------------------------------------------------------------------------------------------------ drawing, state
SIZE = 3
DRAWN = {
    "rand": lambda x: mint.rand(2, 3),
    "rand of a dtype": lambda x: mint.rand((2, 3), dtype=ms.float64),
    "rand_like": lambda x: mint.rand_like(x),
    "randn": lambda x: mint.randn(SIZE, SIZE) + x[0],
    "randn_like": lambda x: mint.randn_like(x),
    "randint": lambda x: mint.randint(9, (4,)),
    "randint from": lambda x: mint.randint(3, 9, (4,)),
    "randint_like": lambda x: mint.randint_like(x, 9),
    "randperm": lambda x: mint.randperm(12),
    "dropout": lambda x: mint.nn.functional.dropout(x),
}


@pytest.mark.parametrize("name", DRAWN)
def test_compiled_code_draws_what_eager_code_draws(name):
    """The same seed gives the same numbers, and others at the next call."""
    x, drawn = Tensor(np.ones(30, np.float32)), []
    for f in (DRAWN[name], ms.jit(DRAWN[name])):
        ms.set_seed(5)
        drawn.append([f(x), f(x)])
    eager, compiled = drawn
    for a, b in zip(eager, compiled, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    assert compiled[0].tolist() != compiled[1].tolist()


def test_randn_in_compiled_code_draws_from_a_generator():
    first, second = ms.Generator(), ms.Generator()
    compiled = ms.jit(lambda: mint.randn(5, generator=first))
    for generator in (first, second):
        generator.manual_seed(3)
    assert [compiled().tolist() for _ in range(2)] == [mint.randn(5, generator=second).tolist() for _ in range(2)]


def test_batch_norm_in_compiled_code_moves_the_running_values():
    x = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 4.0]], np.float32)
    mean, variance = (
        ms.Parameter(v, name=n) for n, v in (("m", np.zeros(2, np.float32)), ("v", np.ones(2, np.float32)))
    )

    @ms.jit
    def f(x):
        return mint.nn.functional.batch_norm(x, mean, variance, training=True)

    found = f(Tensor(x))
    np.testing.assert_allclose(found.asnumpy(), (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), rtol=1e-5)
    np.testing.assert_allclose(mean.asnumpy(), 0.1 * x.mean(0), rtol=1e-6)
    np.testing.assert_allclose(variance.asnumpy(), 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-6)
