"""`jit` of a layer's own method: ``jit(net.construct)``, alone or put in the place of `construct`.

Each layer has to give what the same layer gives eagerly: values, gradients, and what its Parameters hold at the end.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops


def t(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


LAYERS: dict[str, tuple[Callable[[], nn.Cell], Callable[[], tuple[Tensor, ...]]]] = {
    "Dense": (lambda: nn.Dense(2, 3, activation="relu"), lambda: (t(4, 2),)),
    "SequentialCell": (lambda: nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 1)), lambda: (t(4, 2),)),
    "Conv2d": (lambda: nn.Conv2d(1, 2, 3, has_bias=True), lambda: (t(1, 1, 5, 5),)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), lambda: (t(4, 3),)),
    "BatchNorm2d, training": (lambda: nn.BatchNorm2d(3).set_train(), lambda: (t(4, 3, 2, 2),)),
    "LayerNorm": (lambda: nn.LayerNorm((3,)), lambda: (t(4, 3),)),
    "Embedding": (lambda: nn.Embedding(5, 3), lambda: (Tensor([1, 2]),)),
    "LSTM": (lambda: nn.LSTM(3, 4, batch_first=True), lambda: (t(2, 5, 3),)),
    "GRUCell": (lambda: nn.GRUCell(3, 4), lambda: (t(2, 3), t(2, 4))),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, dropout=0.0), lambda: (t(3, 2, 4),)),
    "PReLU": (lambda: nn.PReLU(), lambda: (t(3, 2),)),
    "WithLossCell": (lambda: nn.WithLossCell(nn.Dense(2, 1), nn.MSELoss()), lambda: (t(4, 2), t(4, 1))),
}
WAYS = ["alone", "in its place", "of the call", "by the class"]


def compiled(net: Any, way: str) -> Callable[..., Any]:
    if way == "alone":
        return ms.jit(net.construct)
    if way == "in its place":
        net.construct = ms.jit(net.construct)
        return net
    if way == "of the call":
        return ms.jit(net.__call__)
    function = ms.jit(type(net).construct)
    return lambda *args: function(net, *args)


def tensors(x: Any) -> list[Tensor]:
    if isinstance(x, Tensor):
        return [x]
    return [] if x is None else [leaf for part in x for leaf in tensors(part)]


def arrays(x: Any) -> list[np.ndarray]:
    return [part.asnumpy().copy() for part in tensors(x)]


def total(run: Callable[..., Any], *args: Tensor) -> Tensor:
    return sum([ops.sin(part).sum() for part in tensors(run(*args))], Tensor(0.0))


def assert_close(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.some(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer: str, way: str, mode: str) -> None:
    make, inputs = LAYERS[layer]
    net, args = make(), inputs()
    plain = copy.deepcopy(net)
    run = compiled(net, way)
    assert_close(arrays(run(*args)), arrays(plain.construct(*args)))
    assert_close(arrays(net.get_parameters()), arrays(plain.get_parameters()))
    gradients = ms.grad(lambda *a: total(run, *a), None, net.trainable_params())(*args)
    wanted = ms.grad(lambda *a: total(plain.construct, *a), None, plain.trainable_params())(*args)
    assert_close(arrays(gradients), arrays(wanted))
    assert_close(arrays(net.get_parameters()), arrays(plain.get_parameters()))


OPTIMIZERS: dict[str, Callable[[Any], nn.Optimizer]] = {
    "SGD": lambda p: nn.SGD(p, 0.01),
    "Momentum": lambda p: nn.Momentum(p, 0.01, 0.9),
    "Adam": lambda p: nn.Adam(p, 0.01),
    "RMSProp": lambda p: nn.RMSProp(p, 0.01),
    "Lamb": lambda p: nn.Lamb(p, 0.01),
    "with a schedule": lambda p: nn.SGD(p, nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5)),
}


@pytest.mark.some(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", ["step", "optimizer"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training(optimizer: str, part: str, way: str, mode: str) -> None:
    def trained(way: str | None) -> list[np.ndarray]:
        net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        update = OPTIMIZERS[optimizer](net.trainable_params())
        step: Any = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), update).set_train()
        x, y = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2)), Tensor(np.ones((4, 1), np.float32))
        gradient = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, update.parameters)
        if way is not None and part == "step":
            run = compiled(step, way)
        elif way is not None:
            apply = compiled(update, way)
        losses = []
        for _ in range(3):
            if part == "step":
                losses.append((step.construct if way is None else run)(x, y))
            else:
                loss, gradients = gradient(x, y)
                (update.construct if way is None else apply)(gradients)
                losses.append(loss)
        return [*arrays(losses), *arrays(step.get_parameters())]

    assert_close(trained(way), trained(None))


def test_hooks_belong_to_the_call(mode: str) -> None:
    net, x = nn.ReLU(), Tensor([-1.0, 2.0])
    net.register_forward_hook(lambda cell, inputs, output: output * 10)
    assert net.construct(x).tolist() == ms.jit(net.construct)(x).tolist() == [0.0, 2.0]
    assert net(x).tolist() == ms.jit(net.__call__)(x).tolist() == ms.jit(lambda x: net.__call__(x))(x).tolist()
    assert net(x).tolist() == [0.0, 20.0]


def test_subclasses_call_the_construct_of_their_base(mode: str) -> None:
    class Twice(nn.Dense):
        def construct(self, x: Any) -> Any:
            return nn.Dense.construct(self, x) + super().construct(x)

    net = Twice(2, 1, weight_init="ones", bias_init="ones")
    for run in (net, ms.jit(net.construct), ms.jit(lambda x: net(x))):
        assert run(Tensor([[1.0, 2.0]])).tolist() == [[8.0]]
        net.weight.set_data(Tensor([[2.0, 2.0]]))  # is read at each call
        assert run(Tensor([[1.0, 2.0]])).tolist() == [[14.0]]
        net.weight.set_data(Tensor([[1.0, 1.0]]))
