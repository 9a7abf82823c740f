"""`functional_call`: networks as functions of their weights, in both modes, against networks that hold the weights."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, functional_call, nn, tree

X = np.random.default_rng(0).normal(size=(4, 2))


@pytest.fixture(params=["eager", "compiled"])
def how(request):
    return ms.jit if request.param == "compiled" else lambda f: f


def network(build, seed=1):
    ms.set_seed(seed)
    net = build()
    return net, {name: Tensor(2 * p.asnumpy()) for name, p in net.parameters_dict().items()}


def same(found, expected):
    for name, x in expected.items():
        np.testing.assert_allclose(found[name].asnumpy(), x.asnumpy(), rtol=2e-5, atol=1e-6, err_msg=name)


BUILDS = {
    "dense": lambda: nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1)),
    "one layer twice": lambda: nn.SequentialCell(*[nn.Dense(2, 2)] * 2),
    "computed again": lambda: recomputed(nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1))),
    "LSTM": lambda: nn.LSTM(2, 3),
    "normalised": lambda: nn.SequentialCell(nn.Dense(2, 3), nn.LayerNorm((3,))),
}


def recomputed(net):
    net.recompute()
    return net


def total(y):
    y = y[0] if isinstance(y, tuple) else y
    return (y * y).sum() + y.sum()


@pytest.mark.parametrize("name", BUILDS)
def test_the_call_and_its_gradients_are_those_of_a_network_with_these_weights(how, name):
    net, weights = network(BUILDS[name])
    x = Tensor(X.astype(np.float32)[:, None] if name == "LSTM" else X.astype(np.float32))
    value, found = how(ms.value_and_grad(lambda w, x: total(functional_call(net, w, x))))(weights, x)
    for n, p in net.parameters_dict().items():
        assert p.tolist() == (weights[n].asnumpy() / 2).tolist()  # the network's own are what they were
        p.set_data(weights[n])
    trained = net.trainable_params()
    there, by_weights = ms.value_and_grad(lambda x: total(net(x)), None, trained)(x)
    np.testing.assert_allclose(value.asnumpy(), there.asnumpy(), rtol=2e-5)
    same(found, {p.name: g for p, g in zip(trained, by_weights, strict=True)})


def test_weights_that_are_not_named_are_the_networks_own(how):
    net, weights = network(lambda: nn.Dense(2, 1))
    x = Tensor(X.astype(np.float32))
    found = how(lambda b, x: functional_call(net, {"bias": b}, x))(weights["bias"], x)
    expected = X.astype(np.float32) @ net.weight.asnumpy().T + weights["bias"].asnumpy()
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_step_of_gradient_descent_is_differentiated(how):
    """w' = w - r f'(w) for f = (w x)^2: the derivative of f(w') is 2 w x^2 (1 - 2 r x^2)^2."""
    net = nn.Dense(1, 1, has_bias=False)

    def loss(w, x):
        return (functional_call(net, w, x) ** 2).sum()

    def adapted(w, x):
        stepped = tree.map(lambda p, g: p - 0.1 * g, w, ms.grad(loss)(w, x))
        return loss(stepped, x)

    found = how(ms.grad(adapted))({"weight": Tensor([[3.0]])}, Tensor([[2.0]]))
    np.testing.assert_allclose(found["weight"].asnumpy(), [[2 * 3 * 4 * (1 - 2 * 0.1 * 4) ** 2]], rtol=1e-5)


def test_gradients_of_each_example_and_several_networks_at_once(how):
    net = nn.Dense(2, 1, has_bias=False)
    x = Tensor(X.astype(np.float32))

    def square(w, x):
        return (functional_call(net, w, x) ** 2).sum()

    w = np.array([[1.0, -2.0]], np.float32)
    each = how(ms.vmap(ms.grad(square), (None, 0)))({"weight": Tensor(w)}, x)
    np.testing.assert_allclose(each["weight"].asnumpy()[:, 0], 2 * (X @ w.T) * X, rtol=1e-4, atol=1e-5)
    both = how(ms.vmap(square, (0, None)))({"weight": Tensor(np.stack([w, 2 * w]))}, x)
    np.testing.assert_allclose(both.asnumpy(), [((X @ w.T) ** 2).sum(), 4 * ((X @ w.T) ** 2).sum()], rtol=1e-4)


class Scaled(nn.Cell):
    """x * w, with ten times its derivative for its own, and a count of calls."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0]), name="w")
        self.calls = 0

    def construct(self, x):
        self.calls = self.calls + 1
        return (x * self.w).sum()

    def bprop(self, x, out, dout):
        return (10 * dout * self.w,)


def test_a_derivative_of_the_users_reads_the_same_weights(how):
    net = Scaled()
    found = how(lambda w, x: ms.grad(lambda x: functional_call(net, {"w": w}, x))(x))(
        Tensor([5.0, 7.0]), Tensor([1.0, 1.0])
    )
    assert found.tolist() == [50.0, 70.0]
    assert net.calls == 1
    assert net.w.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("weights", "error", "text"),
    [
        ({"weigth": Tensor([[1.0, 2.0]])}, ValueError, "no Parameter 'weigth'; use `weight`"),
        ({"weight": Tensor([1.0])}, ValueError, r"has the shape \[1, 2\], what takes its place \[1\]"),
        ({"weight": 3.0}, TypeError, "must be a Tensor, not a float"),
    ],
)
def test_what_does_not_fit_is_refused(how, weights, error, text):
    net = nn.Dense(2, 1)
    with pytest.raises(error, match=text):
        how(lambda w, x: functional_call(net, w, x))(weights, Tensor([[1.0, 2.0]]))


def test_only_cells_are_called(how):
    with pytest.raises(TypeError, match="calls a Cell"):
        how(lambda x: functional_call(ms.ops.tanh, {}, x))(Tensor([1.0]))


def test_weights_have_names(how):
    net = nn.Dense(2, 1)
    with pytest.raises(TypeError, match=r"Tensors by name, as `net.parameters_dict\(\)` has them, not a list"):
        how(lambda x: functional_call(net, [x], x))(Tensor([[1.0, 2.0]]))
