"""`jet` and `derivative` against derivatives known in closed form, and against repeated `grad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import GradientError

X = np.array([[0.3, -1.2], [2.0, 0.7]])


@pytest.fixture(params=["eager", "graph mode", "jit"])
def run(request: Any) -> Any:
    """Calls ``transform(fn, *args)`` in one of the modes."""
    if request.param == "graph mode":
        ms.set_context(mode=ms.GRAPH_MODE)
    try:
        if request.param == "jit":
            yield lambda transform, fn, *args: ms.jit(lambda *args: transform(fn, *args))(*args)
        else:
            yield lambda transform, fn, *args: transform(fn, *args)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_derivative_of_an_elementwise_function(run: Any, order: int) -> None:
    y, found = run(lambda fn, x: ops.derivative(fn, x, order), ops.sin, Tensor(X))
    np.testing.assert_allclose(y.asnumpy(), np.sin(X))
    np.testing.assert_allclose(found.asnumpy(), np.sin(X + order * np.pi / 2), atol=1e-12)


def test_a_jet_is_the_taylor_series_along_the_curve(run: Any) -> None:
    """x = 1 + 2t + t**2 and y = 3 - t: x * y = 3 + 5t + t**2 - t**3."""
    series = (Tensor([[2.0], [2.0], [0.0]]), Tensor([[-1.0], [0.0], [0.0]]))
    (product, last), (of_product, of_last) = run(
        ops.jet, lambda x, y: (x * y, y), (Tensor([1.0]), Tensor([3.0])), series
    )
    assert (product.tolist(), last.tolist()) == ([3.0], [3.0])
    assert of_product.tolist() == [[5.0], [2.0], [-6.0]]
    assert of_last.tolist() == [[-1.0], [0.0], [0.0]]


def test_control_flow_and_gradients(run: Any) -> None:
    def power(x: Any) -> Any:
        y = x
        while y.max() < 5:
            y = y * x
        return y

    x = Tensor([1.5, 2.0])  # the third power
    _, second = run(lambda fn, x: ops.derivative(fn, x, 2), power, x)
    np.testing.assert_allclose(second.asnumpy(), 6 * x.asnumpy())
    slope = ms.grad(lambda x: ops.derivative(power, x, 2)[1].sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), [6.0, 6.0], rtol=1e-6)


def test_the_function_runs_once(capsys: Any) -> None:
    def f(x: Any) -> Any:
        print("run")
        return x * x * x

    ops.derivative(f, Tensor([1.0]), 3)
    assert capsys.readouterr().out == "run\n"


def test_what_does_not_fit_is_refused(run: Any) -> None:
    x = Tensor([1.0, 2.0])
    for series, text in ((x, "series of an input"), ((x, x), "2 series"), (Tensor([[1, 2]]), "floats of one dtype")):
        with pytest.raises(GradientError, match=text):
            run(ops.jet, ops.sin, x, series)
    with pytest.raises(ValueError, match="`order` must be an int of at least 1"):
        run(lambda fn, x: ops.derivative(fn, x, 0), ops.sin, x)


def test_linearize_is_an_op_too() -> None:
    y, push = ops.linearize(ops.sin, Tensor(X))
    np.testing.assert_allclose(push(Tensor(X * 0 + 2)).asnumpy(), 2 * np.cos(X))
    assert y.shape == X.shape
