"""The gradient of a Cell with `set_grad()` right after a call is the gradient of that call: nothing happens twice."""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

pytest_plugins = ["autodiff_compiler.testing.fixtures"]

X = np.random.RandomState(0).randn(6, 3).astype(np.float32)


class Counting(nn.Cell):
    """Has running means, random numbers and a count of its calls."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(3), nn.Dropout(p=0.5)
        self.calls = Parameter(Tensor(0.0), name="calls", requires_grad=False)

    def construct(self, x):
        ops.assign_add(self.calls, Tensor(1.0))
        return (self.drop(self.norm(x)) * self.calls).sum()


class Step(nn.Cell):
    """Calls a network, does something, and differentiates it."""

    def __init__(self, net, between):
        super().__init__()
        self.net, self.between = net, between
        self.weights = ms.ParameterTuple(net.trainable_params())
        self.grad = ops.GradOperation(get_by_list=True)
        self.steps = Parameter(Tensor(0.0), name="steps", requires_grad=False)

    def construct(self, x):
        loss = self.net(x)
        y = self.between(self, x)
        return loss, self.grad(self.net, self.weights)(y)


def nothing(step, x):
    return x


def count_steps(step, x):
    ops.assign_add(step.steps, Tensor(1.0))
    return x


def copy_input(step, x):
    return x * 1.0


def change_network(step, x):
    ops.assign_add(step.net.calls, Tensor(1.0))
    return x


def call_again(step, x):
    step.net(x)
    return x


def made(between, set_grad=True):
    ms.set_seed(3)
    net = Counting().set_train()
    net.set_grad(set_grad)
    return net, Step(net, between)


@pytest.mark.parametrize("between", [nothing, count_steps])
def test_the_network_runs_once(both_modes, between):
    net, step = made(between)
    for i in (1, 2):
        step(Tensor(X))
        assert net.calls.item() == i
    mean = X.mean(0)
    np.testing.assert_allclose(net.norm.moving_mean.asnumpy(), (1 - 0.9**2) * mean, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("between", "calls"),
    [(copy_input, 2), (change_network, 3), (call_again, 2)],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_it_runs_again_where_the_call_would_be_another(both_modes, between, calls):
    net, step = made(between)
    step(Tensor(X))
    assert net.calls.item() == calls


def test_without_set_grad_it_runs_twice(both_modes):
    net, step = made(nothing, set_grad=False)
    step(Tensor(X))
    assert net.calls.item() == 2


def test_the_random_numbers_of_the_gradient_are_those_of_the_loss(both_modes):
    _, step = made(nothing)
    loss, grads = step(Tensor(X))
    # gamma is 1 and beta 0, in which the loss is linear; an element that is kept counts twice
    np.testing.assert_allclose(loss.item(), float(grads[0].asnumpy().sum()), rtol=1e-4, atol=1e-4)
    assert np.isin(grads[1].asnumpy() / 2, np.arange(7)).all()


@pytest.mark.parametrize("between", [nothing, count_steps, copy_input, change_network, call_again])
@pytest.mark.parametrize("set_grad", [True, False])
def test_compiled_code_does_what_eager_code_does(between, set_grad):
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net, step = made(between, set_grad)
        results = [step(Tensor(X)) for _ in range(2)]
        tensors = [*(t for loss, grads in results for t in (loss, *grads)), *net.get_parameters()]
        found.append([t.asnumpy() for t in tensors])
    ms.set_context(mode=ms.PYNATIVE_MODE)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_set_grad_after_the_first_compilation_is_noticed():
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net, step = made(nothing, set_grad=False)
        step(Tensor(X))
        net.set_grad()
        step(Tensor(X))
        assert net.calls.item() == 3
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
