"""Where a derivative is zero because nothing leads to the result, both modes say so; and only there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, errors, nn, ops
from autodiff_compiler.errors import GradientWarning

X = Tensor([[1.0]])


@pytest.fixture(params=["eager", "graph"], autouse=True)
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE if request.param == "graph" else ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=before)


class Scaled(nn.Cell):
    """Its rule says nothing of its own Parameter."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0]), name="w")

    def construct(self, x):
        return x * self.w

    def bprop(self, x, out, dout):
        return (dout * 2,)


def warned(run):
    errors._warned.clear()  # else it is told once for a line
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = run()
    return result, [w.message.code for w in found if isinstance(w.message, GradientWarning)]


def test_the_weights_of_another_net():
    used, other = nn.Dense(1, 1), nn.Dense(1, 1)
    step = ms.value_and_grad(lambda x: used(x).sum(), None, other.trainable_params())
    (_, gradients), codes = warned(lambda: step(X))
    assert [np.count_nonzero(g.asnumpy()) for g in gradients] == [0, 0]
    assert codes == ["AC2003"]


def test_weights_some_of_which_are_unused_are_fine():
    used, frozen = nn.Dense(1, 1), nn.Dense(1, 1)
    weights = [*frozen.trainable_params(), *used.trainable_params()]
    (_, gradients), codes = warned(lambda: ms.value_and_grad(lambda x: used(x).sum(), None, weights)(X))
    assert [g.asnumpy().ravel().tolist() for g in gradients] == [[0.0], [0.0], [1.0], [1.0]]
    assert codes == []


def test_a_parameter_that_a_bprop_hides():
    cell = Scaled()
    (gradient,), codes = warned(lambda: ms.grad(lambda x: cell(x).sum(), None, [cell.w])(X))
    assert (gradient.tolist(), codes) == ([0.0], ["AC2003"])
    (by_x, (by_w,)), codes = warned(lambda: ms.grad(lambda x: cell(x).sum(), 0, [cell.w])(X))
    assert (by_x.tolist(), by_w.tolist(), codes) == ([[2.0]], [0.0], [])


@pytest.mark.parametrize(
    "fn", [lambda x: Tensor([3.0]), lambda x: ops.stop_gradient(x) * 2], ids=["constant", "stopped"]
)
def test_pullbacks_and_tangents(fn):
    x = Tensor([1.0])
    pulled, codes = warned(lambda: ms.vjp(fn, x)[1](Tensor([1.0]))[0])
    assert (pulled.tolist(), codes) == ([0.0], ["AC2003"])
    (_, tangent), codes = warned(lambda: ms.jvp(fn, x, Tensor([1.0])))
    assert (tangent.tolist(), codes) == ([0.0], ["AC2003"])


def test_one_of_several_inputs_may_be_unused():
    (dx, dy), codes = warned(lambda: ms.grad(lambda x, y: y * 3, (0, 1))(Tensor(1.0), Tensor(2.0)))
    assert (dx.tolist(), dy.tolist(), codes) == (0.0, 3.0, [])


@pytest.mark.parametrize("take", [ms.jacrev, ms.jacfwd, ms.grad], ids=["jacrev", "jacfwd", "grad"])
def test_a_second_derivative_of_something_linear_is_zero_as_it_should_be(take):
    found, codes = warned(lambda: take(ms.grad(lambda x: 2 * x))(Tensor(1.0)))
    assert (found.tolist(), codes) == (0.0, [])


def test_a_step_has_the_derivative_zero():
    found, codes = warned(lambda: ms.grad(lambda x: ops.floor(x).sum())(X))
    assert (found.tolist(), codes) == ([[0.0]], [])


def test_what_a_cell_recorded_ahead():
    used, other = nn.Dense(1, 1), nn.Dense(1, 1)
    used.set_grad()
    used(X)
    (gradient,), codes = warned(lambda: ms.grad(used, None, [other.weight])(X))
    assert (gradient.tolist(), codes) == ([[0.0]], ["AC2003"])


def test_a_program_on_a_tape_that_stops_one_input_only():
    f = ms.jit(lambda x, y: ops.stop_gradient(x) * y)
    (dx, dy), codes = warned(lambda: ms.grad(lambda x, y: f(x, y), (0, 1))(Tensor(5.0), Tensor(2.0)))
    assert (dx.tolist(), dy.tolist(), codes) == (0.0, 5.0, [])


def test_a_program_that_only_stops_is_constant_on_a_tape():
    f = ms.jit(lambda x: (ops.stop_gradient(x) * 2, (x > 0).astype(ms.float32)))
    found, codes = warned(lambda: ms.grad(lambda x: f(x)[0] * x + f(x)[1])(Tensor(3.0)))
    assert (found.tolist(), codes) == (6.0, [])  # the derivative of c * x with c = 2 * 3


def test_a_compiled_gradient_of_something_linear_is_constant_as_it_should_be():
    slope = ms.jit(ms.grad(lambda x: (2 * x).mean()))
    found, codes = warned(lambda: ms.grad(lambda x: slope(x).sum())(X))
    assert (found.tolist(), codes) == ([[0.0]], [])
