"""Functions that may raise and write states take the short way, too; an exception leaves all as it was."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE, native, of, short, warm

pytestmark = NEEDS_MACHINE_CODE
__all__ = ["native"]


def positions(*numbers):
    return Tensor(np.array(numbers, np.int32))


def picking():
    """A function that picks elements, then halves what it picks from."""
    w = Parameter(np.array([1.0, 2.0, 4.0], np.float32), name="w")

    @ms.jit
    def pick(y):
        found = ops.gather(w * 1.0, y, 0)
        ops.assign(w, w * 0.5)
        return found

    return pick, w


def test_a_position_that_does_not_exist():
    pick, w = picking()
    warm(pick, positions(0, 2))
    before, data = w.asnumpy().copy(), w._data
    assert short(pick, positions(0, 2)).tolist() == [before[0], before[2]]
    np.testing.assert_array_equal(w.asnumpy(), before / 2)
    for _ in range(3):
        with pytest.raises(IndexError, match="3"):
            short(pick, positions(0, 3))
        np.testing.assert_array_equal(w.asnumpy(), before / 2)
    assert short(pick, positions(1, -1)).tolist() == [before[1] / 2, before[2] / 2]
    np.testing.assert_array_equal(w.asnumpy(), before / 4)
    assert w._data is data


def test_an_exception_whose_making_calls_the_function_again():
    w = Parameter(np.array([1.0, 1.0], np.float32), name="w")
    inner = []

    class TooLargeError(Exception):
        def __init__(self, text):
            super().__init__(text)
            if not inner:
                inner.append(None)
                inner.append(step(of(0.5, 0.5)).tolist())

    @ms.jit
    def step(x):
        if x.sum() > 10:
            raise TooLargeError("too large")
        y = (x * w).sum()
        ops.assign(w, w + x)
        return y

    warm(step, of(0, 0))
    with pytest.raises(TooLargeError):
        step(of(9, 9))
    assert inner == [None, 1.0]
    assert w.tolist() == [1.5, 1.5]
    assert short(step, of(1, 0)).tolist() == 1.5
    assert w.tolist() == [2.5, 1.5]


def test_a_step_of_a_classifier():
    """The loss checks its labels, and the optimizer writes the weights."""
    net = nn.Dense(3, 2)
    optimizer, loss = nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.CrossEntropyLoss()
    with_gradients = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        value, gradients = with_gradients(x, y)
        optimizer(gradients)
        return value

    x, y = Tensor(np.eye(3, dtype=np.float32)), positions(0, 1, 1)
    warm(step, x, y)
    weight = net.weight.asnumpy().astype(np.float64)
    logits = weight.T + net.bias.asnumpy()
    expected = np.log(np.exp(logits).sum(1)) - logits[np.arange(3), [0, 1, 1]]
    np.testing.assert_allclose(short(step, x, y).asnumpy(), expected.mean(), rtol=1e-5)
    assert not np.array_equal(net.weight.asnumpy(), weight)
    states = [p.asnumpy().copy() for p in (net.weight, net.bias, *optimizer.moments)]
    with pytest.raises(IndexError):
        step(x, positions(0, 1, 2))
    for before, now in zip(states, (net.weight, net.bias, *optimizer.moments), strict=True):
        np.testing.assert_array_equal(now.asnumpy(), before)
