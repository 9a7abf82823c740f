"""Networks of several layers, trained for some steps: parameters and statistics are the same in both modes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.common.initializer import Normal

RNG = np.random.default_rng(11)


class LeNet(nn.Cell):
    """Convolutions with normalization, pooling, dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, pad_mode="valid")
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, 3, has_bias=True)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc = nn.SequentialCell(nn.Dense(24, 8, activation="relu"), nn.Dense(8, 3))

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.norm(self.conv1(x))))
        return self.fc(self.flatten(self.pool(self.relu(self.conv2(x)))))


class Characters(nn.Cell):
    """An embedding, an LSTM, and the classes of the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4, embedding_table=Normal(1.0))
        self.lstm, self.head = nn.LSTM(4, 5, batch_first=True), nn.Dense(5, 3)

    def construct(self, ids: Any) -> Any:
        out, _ = self.lstm(self.embedding(ids))
        return self.head(out[:, -1])


class Encoder(nn.Cell):
    """A transformer layer over rows, then their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 2)
        self.head = nn.Dense(4, 3)

    def construct(self, x: Any) -> Any:
        return self.head(self.layers(x).mean(1))


NETWORKS: dict[str, tuple[Callable[[], nn.Cell], Any]] = {
    "LeNet": (LeNet, RNG.standard_normal((6, 1, 10, 10)).astype(np.float32)),
    "characters": (Characters, RNG.integers(0, 7, (6, 12))),
    "encoder": (Encoder, RNG.standard_normal((6, 3, 4)).astype(np.float32)),
}


def trained(net: nn.Cell, x: Tensor, labels: Tensor, compiled: bool) -> tuple[list[float], dict[str, Any]]:
    loss = nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    forward = ms.value_and_grad(lambda a, b: loss(net(a), b), None, net.trainable_params())

    def step(a: Tensor, b: Tensor) -> Tensor:
        value, grads = forward(a, b)
        optimizer(grads)
        return value

    run = ms.jit(step) if compiled else step
    losses = [run(x, labels).item() for _ in range(15)]
    return losses, {p.name: p.asnumpy() for p in net.get_parameters()}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_learns_the_same_in_both_modes(name: str) -> None:
    make, values = NETWORKS[name]
    np.random.seed(2)
    net = make().set_train()
    x, labels = Tensor(values), Tensor(np.array([0, 1, 2, 0, 1, 2]))
    other = copy.deepcopy(net)
    losses, parameters = trained(net, x, labels, False)
    also_losses, also_parameters = trained(other, x, labels, True)
    assert losses[-1] < losses[0] - 0.05
    np.testing.assert_allclose(also_losses, losses, rtol=1e-3)
    for key, value in parameters.items():
        np.testing.assert_allclose(also_parameters[key], value, rtol=1e-3, atol=1e-4, err_msg=key)


def test_the_training_flag_is_seen_at_the_next_call(mode: str) -> None:
    net = nn.SequentialCell(nn.BatchNorm1d(2), nn.Dropout(p=0.5))
    x = Tensor([[1.0, 2.0], [3.0, 6.0]])
    before = net(x).asnumpy()
    np.testing.assert_allclose(before, x.asnumpy() / np.sqrt(1 + 1e-5), rtol=1e-6)
    net.set_train()
    net(x)
    moved = net[0].moving_mean.asnumpy()
    np.testing.assert_allclose(moved, [0.2, 0.4], rtol=1e-5)
    net.set_train(False)
    np.testing.assert_array_equal(net(x).asnumpy(), net(x).asnumpy())
    np.testing.assert_array_equal(net[0].moving_mean.asnumpy(), moved)


def test_one_normalization_used_twice_moves_twice(mode: str) -> None:
    class Twice(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(1, momentum=0.5)

        def construct(self, x: Any) -> Any:
            return self.norm(x) + self.norm(x + 4)

    net = Twice().set_train()
    net(Tensor([[1.0], [3.0]]))
    assert net.norm.moving_mean.item() == pytest.approx(0.5 * (0.5 * 2) + 0.5 * 6)


def test_a_normalization_in_a_loop_and_in_a_branch(mode: str) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(1, momentum=0.5)

        def construct(self, x: Any, n: Any) -> Any:
            while n > 0:
                if x.sum() > 0:
                    x = self.norm(x)
                x = x + 1
                n = n - 1
            return x

    net = Net().set_train()
    net(Tensor([[1.0], [3.0]]), Tensor(2))
    assert net.norm.moving_mean.item() == pytest.approx(0.5 * (0.5 * 2) + 0.5 * 1, rel=1e-4)
    before = net.norm.moving_mean.item()
    net(Tensor([[-3.0], [-4.0]]), Tensor(2))
    assert net.norm.moving_mean.item() == before


def test_names_in_a_network_and_a_frozen_part() -> None:
    net = LeNet()
    assert [p.name for p in net.get_parameters()] == [
        "conv1.weight",
        "norm.moving_mean",
        "norm.moving_variance",
        "norm.gamma",
        "norm.beta",
        "conv2.weight",
        "conv2.bias",
        "fc.0.weight",
        "fc.0.bias",
        "fc.1.weight",
        "fc.1.bias",
    ]
    assert len(net.trainable_params()) == 9
    net.norm.gamma.requires_grad = False
    assert len(net.trainable_params()) == 8


def test_initialized_by_the_class_of_a_layer() -> None:
    net = LeNet()
    for _, cell in net.cells_and_names():
        if isinstance(cell, nn.Conv2d):
            cell.weight.set_data(ops.ones_like(cell.weight))
        elif isinstance(cell, nn.BatchNorm2d | nn.GroupNorm):
            cell.beta.set_data(ops.ones_like(cell.beta))
    assert net.conv2.weight.asnumpy().min() == 1
    assert net.norm.beta.asnumpy().min() == 1
