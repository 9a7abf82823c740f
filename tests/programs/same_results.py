"""Comparison of compiled code with eager mode: results of any structure, and their derivatives."""

from __future__ import annotations

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from tests.selection import is_one_in

from .compare import OTHERS


def same_results(found, expected):
    """Asserts that two results have one structure and equal Tensors and numbers."""
    assert type(found) is type(expected)
    if isinstance(expected, Tensor):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-10, atol=1e-12)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        same_results([*found.values()], [*expected.values()])
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            same_results(x, y)
    else:
        assert found == expected


def total(result):
    """One number that depends on all Tensors of a result."""
    if isinstance(result, Tensor):
        return (ops.sin(result) * result).sum()
    if isinstance(result, dict):
        return total([*result.values()])
    return sum(total(x) * (i + 1) for i, x in enumerate(result)) if isinstance(result, tuple | list) else 0.0


def agree_with_derivatives(fn, arguments, *, lists=False):
    """Asserts that values, first and second derivatives and tangents of compiled code are those of eager mode.

    Values and gradients are compared in every test; tapes through compiled calls, tangents and second derivatives in
    one of `OTHERS`, and with ``--long``.  `lists`: the result holds lists of a length that only run time knows, which
    compiled code cannot go through.
    """
    compiled = jit(fn)

    def loss(x):
        return total(fn(x))

    def of_compiled(x):
        return total(compiled(x))

    def squared(of):
        return lambda x: (grad(of)(x) ** 2).sum()

    def pushed(x):
        return ms.jvp(fn, x, x * 2 + 1)

    pairs = [(compiled, fn), (jit(grad(fn)), grad(fn)) if lists else (jit(grad(loss)), grad(loss))]
    if is_one_in(OTHERS):
        pairs += [
            (grad(compiled), grad(fn)), (grad(of_compiled), grad(loss)), (jit(pushed), pushed),
            (grad(squared(of_compiled)), grad(squared(loss))),
        ]  # fmt: skip
        if not lists:
            pairs += [(jit(grad(fn)), grad(fn)), (jit(grad(squared(loss))), grad(squared(loss)))]
    for found, expected in pairs:
        for numbers in arguments:
            x = np.array(numbers, np.float64)
            same_results(found(Tensor(x)), expected(Tensor(x)))
