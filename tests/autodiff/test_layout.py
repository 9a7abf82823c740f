"""Where cotangents lie in memory, and how those of slices meet: speed that no value may show."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

RNG = np.random.default_rng(5)
X, W = RNG.standard_normal((6, 5), np.float32), RNG.standard_normal((4, 5), np.float32)


def modes(f):
    return (f, ms.jit(f))


def test_the_gradient_of_a_weight_that_is_transposed_for_a_product_is_contiguous():
    """d sum((x @ w.T) * c) / dw = c.T @ x, row by row as the weight itself."""
    c = RNG.standard_normal((6, 4), np.float32)
    for run in modes(ms.grad(lambda w: ((Tensor(X) @ w.T) * Tensor(c)).sum())):
        found = run(Tensor(W))
        assert found.asnumpy().flags.c_contiguous
        np.testing.assert_allclose(found.asnumpy(), c.T @ X, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 2, 0), (2, 0, 1)])
def test_products_of_permuted_batches(axes):
    """The same by finite sums: the cotangent of b is a.T @ c in b's own order of dimensions."""
    b = RNG.standard_normal((3, 3, 3)).astype(np.float64)
    a, c = RNG.standard_normal((3, 2, 3)), RNG.standard_normal((3, 2, 3))
    wanted = np.transpose(np.swapaxes(a, 1, 2) @ c, np.argsort(axes))
    for run in modes(ms.grad(lambda b: (ops.matmul(Tensor(a), ops.transpose(b, axes)) * Tensor(c)).sum())):
        np.testing.assert_allclose(run(Tensor(b)).asnumpy(), wanted, rtol=1e-12)


def apart(x):
    a, b, c = ops.chunk(x, 3, 1)
    return (a * 2.0).sum() + (b * b).sum() - c.sum() * 3.0


def overlapping(x):
    return (x[:, :4] * 2.0).sum() + (x[:, 2:] * x[:, 2:]).sum()


def partly(x):
    return x[:, :2].sum() + (x[1:3, 4:] * 5.0).sum() + (x[::2, 2:4] * x[::2, 2:4]).sum() + x[1::2, 2:4].sum()


def backwards(x):
    return (x[:, 5:2:-1] * 2.0).sum() + (x[:, 2::-1] * x[:, :3]).sum()


def gradient_of(f, x):
    """By central differences: the functions are of degree two, so these are exact but for rounding."""
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = 0.5
        found[i] = f(Tensor(x + step)).item() - f(Tensor(x - step)).item()
    return found


@pytest.mark.parametrize("f", [apart, overlapping, partly, backwards], ids=lambda f: f.__name__)
def test_cotangents_of_slices_meet(f):
    x = RNG.standard_normal((4, 6))
    for run in modes(ms.grad(f)):
        np.testing.assert_allclose(run(Tensor(x)).asnumpy(), gradient_of(f, x), rtol=1e-9, atol=1e-9)


def test_slices_that_lie_apart_are_written_into_one_array():
    program = ms.jit(ms.grad(apart)).lower(Tensor(RNG.standard_normal((64, 48)))).ir()
    assert program.count("slice_update") == 3
    assert program.count(" add ") == 1  # that of the square
