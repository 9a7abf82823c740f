"""Networks train on the device as they do on the CPU: compiled in the three modes, and eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from tests.ascend.on_device import MODES, array, ascend

STEPS = 4


class Mlp(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(6, 16, activation="relu"), nn.Dense(16, 3)

    def construct(self, x: Any) -> Any:
        return self.second(self.first(x))


class LeNet(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(1, 4, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(4, 8, 3, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Flatten(), nn.Dense(8 * 2 * 2, 16, activation="relu"), nn.Dense(16, 3),
        )  # fmt: skip

    def construct(self, x: Any) -> Any:
        return self.layers(x)


class Recurrent(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.last = nn.LSTM(5, 7, batch_first=True), nn.Dense(7, 3)

    def construct(self, x: Any) -> Any:
        found, _ = self.lstm(x)
        return self.last(found[:, -1])


NETWORKS = {
    "mlp": (Mlp, (8, 6), lambda p: nn.Momentum(p, 0.1, 0.9)),
    "lenet": (LeNet, (4, 1, 16, 16), lambda p: nn.SGD(p, 0.05)),
    "lstm": (Recurrent, (4, 6, 5), lambda p: nn.Adam(p, 0.01)),
}


def losses(name: str, compiled: bool) -> tuple[list[float], dict[str, Any]]:
    """The loss of every step, and the Parameters in the end."""
    make, shape, optimizer_of = NETWORKS[name]
    ms.set_seed(3)
    network = make()
    optimizer = optimizer_of(network.trainable_params())
    criterion = nn.CrossEntropyLoss()

    def forward(x: Any, labels: Any) -> Any:
        return criterion(network(x), labels)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x: Any, labels: Any) -> Any:
        loss, gradients = gradient(x, labels)
        optimizer(gradients)
        return loss

    run = ms.jit(step) if compiled else step
    labels = np.arange(shape[0], dtype=np.int32) % 3
    found = [run(Tensor(array(*shape)), Tensor(labels)).item() for _ in range(STEPS)]
    return found, {p.name: p.asnumpy().copy() for p in network.get_parameters()}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return {name: losses(name, compiled=True) for name in NETWORKS}


@pytest.mark.some(5)
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mode", [*MODES, "eager"])
def test_losses_and_parameters_are_those_of_the_cpu(name: str, mode: str, device: Any, expected: Any) -> None:
    wanted, parameters = expected[name]
    with ascend(ascend_mode="per_call" if mode == "eager" else mode):
        found, own = losses(name, compiled=mode != "eager")
    np.testing.assert_allclose(found, wanted, rtol=2e-4)
    assert wanted[-1] < wanted[0]
    for key, value in parameters.items():
        np.testing.assert_allclose(own[key], value, rtol=2e-3, atol=2e-5, err_msg=key)


def test_a_network_in_graph_mode_trains_with_its_wrapper(device: Any) -> None:
    def trained() -> list[float]:
        ms.set_seed(3)
        network = Mlp()
        train = nn.TrainOneStepCell(
            nn.WithLossCell(network, nn.MSELoss()), nn.SGD(network.trainable_params(), 0.1)
        ).set_train()
        return [train(Tensor(array(8, 6)), Tensor(array(8, 3, seed=1))).item() for _ in range(3)]

    wanted = trained()
    with ascend(mode=ms.GRAPH_MODE):
        np.testing.assert_allclose(trained(), wanted, rtol=1e-4)


def test_second_derivatives(device: Any) -> None:
    def f(x: Any) -> Any:
        return (ops.tanh(x) * x * x).sum()

    def slope(x: Any) -> Any:
        return (ms.grad(f)(x) ** 2).sum()

    x = array(5)
    wanted = ms.grad(slope)(Tensor(x)).asnumpy()
    with ascend():
        for g in (ms.grad(slope), ms.jit(ms.grad(slope))):
            np.testing.assert_allclose(g(Tensor(x)).asnumpy(), wanted, rtol=1e-4)
