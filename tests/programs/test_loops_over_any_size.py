"""Loops over sizes that only a call knows whose first trip settles the types; NumPy's arrays of sizes of data."""

from __future__ import annotations

import numpy
import numpy as np
import pytest

from autodiff_compiler import Tensor, grad, jit, ops, value_and_grad


def _from_zero(x):
    total = 0
    for row in x:
        total = total + row * row
    return total


def _from_nothing(x):
    last = None
    for i in range(len(x)):
        last = x[i] * 2 if last is None else last * 0.5 + x[i] ** 2
    return last


def _of_pairs(x):
    total = 0
    for a, b in zip(x, x[::-1], strict=True):
        total = total + a * b
    return total


def _nested(x):
    total = 0
    for row in x:
        inner = 0
        for i in range(x.shape[0]):
            inner = inner + row * x[i].sum()
        total = total + inner**2
    return total


def _ends_early(x):
    total = 0
    for row in x:
        total = total + row
        if total.sum() > 3:
            break
    return total


def _collects(x):
    h, rows = None, []
    for row in x:
        h = row if h is None else h * 0.5 + row
        rows.append(h)
    return ops.stack(rows)


def _rows(n):
    return Tensor(np.random.default_rng(n).normal(size=(n, 2)))


@pytest.mark.parametrize("fn", [_from_zero, _from_nothing, _of_pairs, _nested, _ends_early, _collects])
def test_the_first_trip_settles_the_types_at_any_size(fn):
    """Values and gradients are those of eager mode, by two programs; the gradient's also by differences."""
    compiled, derivative = jit(fn), jit(value_and_grad(lambda x: ops.sin(fn(x)).sum()))
    for n in (3, 4, 1, 2, 7, 30):
        x = _rows(n)
        np.testing.assert_allclose(compiled(x).asnumpy(), fn(x).asnumpy(), rtol=1e-12)
        value, gradient = derivative(x)
        np.testing.assert_allclose(value.item(), ops.sin(fn(x)).sum().item(), rtol=1e-12)
        np.testing.assert_allclose(gradient.asnumpy(), grad(lambda x: ops.sin(fn(x)).sum())(x).asnumpy(), rtol=1e-9)
    assert compiled.cache_info()["compiles"] == derivative.cache_info()["compiles"] == 2
    x, way = _rows(4), np.zeros((4, 2))
    way[1, 0] = 1e-6
    up, down = (ops.sin(fn(Tensor(x.asnumpy() + sign * way))).sum().item() for sign in (1, -1))
    np.testing.assert_allclose(derivative(x)[1].asnumpy()[1, 0], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


def test_a_loop_without_trips_leaves_what_was_there():
    compiled = jit(_from_zero)
    for n in (3, 4, 0, 5, 0):
        found, wanted = compiled(_rows(n)), _from_zero(_rows(n))
        assert (found == 0) if n == 0 else np.allclose(found.asnumpy(), wanted.asnumpy())


@pytest.mark.parametrize(
    "fn",
    [
        lambda k: numpy.zeros(k),
        lambda k: numpy.ones((k, 2), dtype=numpy.float32),
        lambda k: numpy.full((k,), 2.5),
        lambda k: numpy.arange(k),
        lambda k: numpy.arange(1, k + 2),
        lambda k: numpy.eye(k),
        lambda k: ops.arange(k).asnumpy(),
    ],
)
def test_arrays_of_a_size_in_a_tensor(fn):
    compiled = jit(lambda k: Tensor(fn(k)))
    for n in (0, 1, 3, 8):
        found, wanted = compiled(Tensor(n)).asnumpy(), fn(n)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
    assert compiled.cache_info()["compiles"] == 1


def test_a_range_takes_numbers_in_tensors():
    assert ops.arange(Tensor(3)).tolist() == [0, 1, 2]
    assert ops.arange(Tensor(1.0), Tensor(2.5), Tensor(0.5)).tolist() == [1.0, 1.5, 2.0]
    with pytest.raises(TypeError, match=r"`end` of arange must be a number"):
        ops.arange(Tensor([3]))
