"""Forward mode transposes users' rules, which must be zero where their cotangents are: a constant is refused."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

U, D = np.array([-1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])


def with_rule(rule, u, d):
    @ops.custom_vjp
    def twice(a):
        return a * 2

    @twice.defbwd
    def back(a, out, dout):
        return rule(a, dout)

    return ms.jvp(lambda a: twice(a), u, d)[1]


def in_place(a, g):
    b = a * 1
    b[0] = g[0]
    return b


def grown(a, g):
    for _ in range(3):
        g = g + 1.0
    return g


def grown_while(a, g):
    while (a * a).sum() < 0:
        g = g + 1.0
    return g


AFFINE = {
    "where": lambda a, g: ops.where(a > 0, g, 7.0),
    "masked_fill": lambda a, g: ops.masked_fill(g, a < 0, 7.0),
    "concat": lambda a, g: ops.concat([g[:1], a[1:]]),
    "concat_ones": lambda a, g: ops.concat([g[:1], ops.ones(2, ms.float64)]),
    "stack": lambda a, g: ops.stack([g[0], a[1], g[2]]),
    "in_place": in_place,
    "pad": lambda a, g: ops.pad(g[1:], (1, 0), value=7.0),
    "arm": lambda a, g: g if a.sum() > 100 else a,
    "loop": grown,
    "while": grown_while,
    "divided": lambda a, g: a / (1 + g * g),
}
FORMS = {"eager": lambda f: f, "graph": ms.jit, "kept": ms.jit(unroll_limit=1)}


def pairs(names, without):
    return [(name, form) for name in names for form in FORMS if (name, form) != without]


# Eagerly the `while` makes no trip, and a rule that was not bent is taken.
@pytest.mark.parametrize(("name", "form"), pairs(AFFINE, without=("while", "eager")))
def test_what_adds_a_constant_is_refused(name, form):
    run = FORMS[form](lambda u, d: with_rule(AFFINE[name], u, d))
    with pytest.raises(ms.BpropError) as caught:
        run(Tensor(U), Tensor(D))
    assert caught.value.code == "AC1705"


def scaled(a, g):
    for i in range(3):
        g = g * a[i]
    return g


def summed(a, g):
    total = ops.zeros_like(g)
    for _ in range(3):
        total = total + g * a
    return total


def first_written(a, g):
    b = ops.zeros_like(a)
    b[0] = g[0]
    return b


WEIGHTS = Tensor(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0], [3.0, 0.0, 1.0]]))
#: What a rule makes of a cotangent, and the same as a matrix, of which the tangent sees the transpose.
LINEAR = {
    "where": (lambda a, g: ops.where(a > 0, g, 0.0), np.diag([0.0, 1, 1])),
    "where_scaled": (lambda a, g: ops.where(a > 0, g, g * a), np.diag([-1.0, 1, 1])),
    "masked_fill": (lambda a, g: ops.masked_fill(g, a < 0, 0.0), np.diag([0.0, 1, 1])),
    "divided": (lambda a, g: g / a, np.diag(1 / U)),
    "concat": (
        lambda a, g: ops.concat([g[2:], ops.zeros_like(a)[:1], g[:1] * 3]),
        np.array([[0, 0, 1], [0, 0, 0], [3.0, 0, 0]]),
    ),
    "matmul": (lambda a, g: WEIGHTS @ g, WEIGHTS.asnumpy()),
    "pad": (lambda a, g: ops.pad(g[1:], (1, 0)), np.diag([0.0, 1, 1])),
    "loop": (scaled, np.eye(3) * U.prod()),
    "loop_sum": (summed, np.diag(3 * U)),
    "first_written": (first_written, np.diag([1.0, 0, 0])),
    "arm": (lambda a, g: g if a.sum() > 100 else a * g, np.diag(U)),
    "sums": (lambda a, g: ops.flip(ops.cumsum(g, 0), (0,)), np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 0]])),
}  # fmt: skip


# A kept loop that multiplies its carry reads it again on its way back, and is refused for that.
@pytest.mark.parametrize(("name", "form"), pairs(LINEAR, without=("loop", "kept")))
def test_what_is_linear_is_transposed(name, form):
    rule, matrix = LINEAR[name]
    found = FORMS[form](lambda u, d: with_rule(rule, u, d))(Tensor(U), Tensor(D))
    np.testing.assert_allclose(found.asnumpy(), matrix.T @ D, rtol=1e-14)
