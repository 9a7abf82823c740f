"""Numbers among float64 Tensors: they are rounded to float64, never to float32 on the way."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler.ir.primitive import call
from autodiff_compiler.primitives.requirements import SymScalar
from autodiff_compiler.runtime.tensor import Tensor

A, B, C = 0.1, 0.7, 0.3  # none of them is a float32
X = np.array([0.37, 0.21, 0.63])
M = np.arange(9.0).reshape(3, 3) / 7

#: Functions of an array and numbers, and the same in NumPy.
CASES = {
    "addcmul": (lambda x, a, b: ops.addcmul(x, a, b, C), lambda x, a, b: x + C * (a * b)),
    "addcdiv": (lambda x, a, b: ops.addcdiv(x, a, b, C), lambda x, a, b: x + C * (a / b)),
    "addcmul_value": (lambda x, a, b: ops.addcmul(a, b, C, x), lambda x, a, b: a + x * (b * C)),
    "lerp": (lambda x, a, b: ops.lerp(a, b, x), lambda x, a, b: a + x * (b - a)),
    "inner": (lambda x, a, b: ops.inner(a, x), lambda x, a, b: np.inner(a, x)),
    "outer": (lambda x, a, b: ops.outer(x, a), lambda x, a, b: np.outer(x, a)),
    "kron": (lambda x, a, b: ops.kron(a, x), lambda x, a, b: np.kron(a, x)),
    "dot": (lambda x, a, b: call.dot(x, a), lambda x, a, b: np.dot(x, a)),
    "cross": (lambda x, a, b: call.cross(x, a, 0), lambda x, a, b: np.cross(x, np.full(3, a))),
    "einsum": (lambda x, a, b: ops.einsum("i,->i", x, a), lambda x, a, b: x * a),
    "tensordot": (lambda x, a, b: ops.tensordot(x, a, 0), lambda x, a, b: x * a),
    "addmm": (lambda x, a, b: ops.addmm(a, M_AS(x), M_AS(x), beta=b), lambda x, a, b: a * b + M @ M),
    "clamp": (lambda x, a, b: ops.clamp(b, x, call.add(a, x)), lambda x, a, b: np.clip(b, x, a + x)),
    "clip_by_value": (lambda x, a, b: ops.clip_by_value(b, x, call.add(x, a)), lambda x, a, b: np.clip(b, x, x + a)),
    "heaviside": (lambda x, a, b: ops.heaviside(call.sub(x, 0.37), a), lambda x, a, b: np.heaviside(x - 0.37, a)),
    "stack": (lambda x, a, b: ops.stack([call.min(x), a, b]), lambda x, a, b: np.array([0.21, a, b])),
    "linspace": (lambda x, a, b: ops.linspace(call.min(x), b, 3), lambda x, a, b: np.linspace(0.21, b, 3)),
    "full_like": (lambda x, a, b: ops.full_like(x, a), lambda x, a, b: np.full(3, a)),
    "where": (lambda x, a, b: ops.where(call.greater(x, 0.3), a, x), lambda x, a, b: np.where(x > 0.3, a, x)),
    "slice_scatter": (lambda x, a, b: call.slice_scatter(x, a, 0, 1, 3), lambda x, a, b: np.array([0.37, a, a])),
    "select_scatter": (lambda x, a, b: call.select_scatter(x, a, 0, 1), lambda x, a, b: np.array([0.37, a, 0.63])),
    "l1_loss": (lambda x, a, b: ops.l1_loss(x, a), lambda x, a, b: np.mean(np.abs(x - a))),
    "mse_loss": (lambda x, a, b: ops.mse_loss(a, x), lambda x, a, b: np.mean((x - a) ** 2)),
    "huber_loss": (lambda x, a, b: ops.huber_loss(x, a), lambda x, a, b: np.mean((x - a) ** 2) / 2),
    "smooth_l1_loss": (lambda x, a, b: ops.smooth_l1_loss(x, a), lambda x, a, b: (x - a) ** 2 / 2),
    "soft_margin_loss": (lambda x, a, b: ops.soft_margin_loss(x, a), lambda x, a, b: np.mean(np.log1p(np.exp(-a * x)))),
    "margin_ranking_loss": (
        lambda x, a, b: ops.margin_ranking_loss(x, a, b, 1.0), lambda x, a, b: np.mean(np.maximum(0, 1 - b * (x - a)))
    ),
    "binary_cross_entropy": (
        lambda x, a, b: ops.binary_cross_entropy(x, a),
        lambda x, a, b: np.mean(-a * np.log(x) - (1 - a) * np.log(1 - x)),
    ),
    "xdivy": (lambda x, a, b: ops.xdivy(a, x), lambda x, a, b: a / x),
    "dist": (lambda x, a, b: ops.dist(x, a), lambda x, a, b: np.linalg.norm(x - a)),
    "float_power": (lambda x, a, b: ops.float_power(x, a), lambda x, a, b: x**a),
    "ldexp": (lambda x, a, b: ops.ldexp(x, a), lambda x, a, b: x * 2**a),
    "copysign": (lambda x, a, b: ops.copysign(a, x), lambda x, a, b: np.copysign(a, x)),
    "kl_div": (lambda x, a, b: ops.kl_div(x, a), lambda x, a, b: np.mean(a * (np.log(a) - x))),
    "gaussian_nll_loss": (
        lambda x, a, b: ops.gaussian_nll_loss(x, a, b), lambda x, a, b: np.mean((np.log(b) + (x - a) ** 2 / b) / 2)
    ),
}  # fmt: skip


def M_AS(x):
    """The matrix M as what x is: a Tensor, or a constant of the graph that is traced."""
    return call.add(call.mul(call.expand_dims(x, 0), 0), M)


@pytest.mark.parametrize("name", CASES)
def test_numbers_take_the_precision_of_the_tensors(graph, name):
    fn, reference = CASES[name]
    expected = reference(X, A, B)
    eager = fn(Tensor(X), A, B).asnumpy()
    (traced,) = graph.run(lambda x: fn(x, A, B), X)
    held = [np.asarray(v) for v in (A, B)]
    weak = graph.run(lambda x, a, b: fn(x, SymScalar(a, float), SymScalar(b, float)), X, *held)[0]
    for found in (eager, traced, weak):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=4e-15)


def test_a_number_is_found_in_a_sorted_float64_sequence(graph):
    grid = np.array([0.0, 0.1, 0.2])
    assert ops.searchsorted(Tensor(grid), 0.1).item() == 1
    assert ops.searchsorted(Tensor(grid), 0.1, side="right").item() == 2
    (traced,) = graph.run(lambda x: ops.searchsorted(x, 0.1, side="right"), grid)
    assert traced == 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_never_raise_the_precision_of_the_tensors(graph, dtype):
    x = X.astype(dtype)
    for name in ("addcmul", "lerp", "outer", "kron", "einsum", "stack", "l1_loss"):
        fn = CASES[name][0]
        assert fn(Tensor(x), A, B).asnumpy().dtype == dtype
        assert graph.run(lambda x: fn(x, A, B), x)[0].dtype == dtype
