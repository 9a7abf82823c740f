"""Kernels with equal code are one function, and only these."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.numpy.backend import NumpyBackend
from autodiff_compiler.primitives import F
from tests.backends.native.against_numpy import optimised
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

N = 40


def kernels(f, *xs) -> int:
    """How many kernels a function has as machine code; its results are those of NumPy."""
    module = optimised(f, *xs)
    program = native(module)
    for found, expected in zip(program(*xs), NumpyBackend().compile(module)(*xs), strict=True):
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    return program.source.count("define internal void @k")


def apart(x, *later):
    """Functions of one another, each of all elements of the one before: none is fused with the next."""
    for f in later:
        x = f(F.transpose(x, axes=(-1, -2)))
        x = F.matmul(x, x)
    return x


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.2, 0.2, (N, N))


def test_equal_layers_share_their_kernels(x):
    one, many = (kernels(lambda x, n=n: apart(x, *[lambda y: F.tanh(y) * 0.5] * n), x) for n in (2, 9))
    assert one == many


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda x: F.maximum(x, 0.0), lambda x: F.maximum(x, -0.0)),
        (lambda x: x * 0.5, lambda x: x * 0.25),
        (lambda x: F.exp(x), lambda x: F.tanh(x)),
        (lambda x: x - x.max(0, keepdims=True), lambda x: x - x.max(1, keepdims=True)),
        (lambda x: x * x + x, lambda x: x + x * 1.0),
    ],
)
def test_loops_that_differ_do_not(f, g, x):
    same = kernels(lambda x: apart(x, f, f), x)
    assert kernels(lambda x: apart(x, f, g), x) > same


def test_products_of_other_layouts_do_not(x):
    left = lambda x: F.matmul(F.matmul(x, x), x)
    mixed = lambda x: F.matmul(F.matmul(F.transpose(x, axes=(-1, -2)), x), x)
    assert kernels(left, x) == 1 < kernels(mixed, x)


def test_code_grows_with_calls_only(tmp_path):
    """Each layer more is some lines of calls: forward, adjoint and update of all layers are the same functions."""

    def lines(n: int) -> int:
        net = nn.SequentialCell([layer for _ in range(n) for layer in (nn.Dense(24, 24), nn.Tanh())])
        adam = nn.Adam(net.trainable_params(), 1e-3)
        both = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, adam.parameters)

        @ms.jit
        def step(x):
            loss, gradients = both(x)
            adam(gradients)
            return loss

        x = Tensor(np.ones((8, 24), np.float32))
        step.lower(x).save(str(tmp_path / "step.ll"))
        return (tmp_path / "step.ll").read_text().count("\n")

    a, b, c = (lines(n) for n in (40, 50, 60))
    assert c - b <= (b - a) * 1.2
    assert c - b < 10 * 150


def test_a_profile_counts_calls_of_a_shared_kernel_apart(x):
    """Each of the two products has a row of its own, though one function computes both."""

    @ms.jit
    def f(x):
        y = ops.matmul(x, x)
        z = ops.matmul(y, y)
        return z

    with ms.profile() as found:
        for _ in range(3):
            f(Tensor(x))
    rows = [row for row in found.by("kernel") if "matmul" in str(row)]
    assert len(rows) == 2


def test_explain_counts_kernels_and_calls(x):
    @ms.jit
    def f(x):
        for _ in range(5):
            x = ops.matmul(ops.tanh(x), x.T)
        return x

    explained = str(f.lower(Tensor(x)).explain())
    calls, functions = map(int, re.search(r"(\d+) calls of (\d+) kernels, as equal ones", explained).groups())
    assert calls == 3 * 5 > functions == 3  # tanh, the transposed copy, the product
