"""Whole train steps: forward, derivative, clipping and optimizer in one compiled function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda ps: nn.SGD(ps, nn.CosineDecayLR(0.01, 0.1, 5), 0.9, weight_decay=0.01, nesterov=True),
    "Momentum": lambda ps: nn.Momentum(ps, [0.1, 0.05, 0.025], 0.9, weight_decay=0.01),
    "Adam": lambda ps: nn.Adam([{"params": ps[:1], "lr": 0.05}, {"params": ps[1:], "weight_decay": 0.1}], 0.01),
    "AdamWeightDecay": lambda ps: nn.AdamWeightDecay(ps, nn.WarmUpLR(0.1, 3), weight_decay=0.01),
    "AdamW": lambda ps: nn.AdamW(ps, 0.01),
    "AdaMax": lambda ps: nn.AdaMax(ps, 0.01),
    "Adagrad": lambda ps: nn.Adagrad(ps, learning_rate=0.05),
    "Adadelta": lambda ps: nn.Adadelta(ps),
    "ASGD": lambda ps: nn.ASGD(ps, t0=2.0),
    "FTRL": lambda ps: nn.FTRL(ps, l1=0.01),
    "LARS": lambda ps: nn.LARS(nn.Momentum(ps, 0.1, 0.9, weight_decay=0.01)),
    "Lamb": lambda ps: nn.Lamb(ps, 0.01, weight_decay=0.01),
    "Lion": lambda ps: nn.Lion(ps, 0.01),
    "ProximalAdagrad": lambda ps: nn.ProximalAdagrad(ps, l1=0.01),
    "RMSProp": lambda ps: nn.RMSProp(ps, 0.01, momentum=0.5, centered=True),
    "Rprop": lambda ps: nn.Rprop(ps, 0.01),
    "AdaFactor": lambda ps: nn.AdaFactor(ps),
}


def network() -> nn.Cell:
    rng = np.random.RandomState(1)

    def weight(*shape: int) -> Tensor:
        return Tensor(rng.standard_normal(shape).astype(np.float32))

    return nn.SequentialCell(nn.Dense(3, 4, weight(4, 3), "zeros"), nn.Tanh(), nn.Dense(4, 2, weight(2, 4), "zeros"))


def data(step: int) -> tuple[Tensor, Tensor]:
    rng = np.random.RandomState(10 + step)
    return Tensor(rng.standard_normal((5, 3)).astype(np.float32)), Tensor(
        rng.standard_normal((5, 2)).astype(np.float32)
    )


def train(make: Any, compiled: bool) -> tuple[list[float], dict[str, np.ndarray], Any]:
    net = network()
    optimizer = make(net.trainable_params())
    loss = nn.MSELoss()
    derivative = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x, y):
        value, grads = derivative(x, y)
        optimizer(ops.clip_by_global_norm(grads, 0.5))
        return value

    run = ms.jit(step) if compiled else step
    losses = [run(*data(i)).item() for i in range(5)]
    return losses, {p.name: p.asnumpy() for p in optimizer.get_parameters()}, run


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_a_train_step_is_one_compilation_and_computes_what_eager_code_computes(case: str) -> None:
    losses, state, _ = train(OPTIMIZERS[case], compiled=False)
    compiled_losses, compiled_state, run = train(OPTIMIZERS[case], compiled=True)
    assert run.cache_info()["compiles"] == 1
    np.testing.assert_allclose(compiled_losses, losses, rtol=1e-6)
    for name, value in state.items():
        np.testing.assert_allclose(compiled_state[name], value, rtol=1e-5, atol=1e-7, err_msg=name)


def test_gradients_are_clipped_by_value_before_the_step(mode: str) -> None:
    p = Parameter([1.0, 1.0, 1.0], name="p")
    optimizer = nn.SGD([p], 1.0)
    derivative = ms.grad(lambda x: (p * x).sum(), None, optimizer.parameters)

    @ms.jit
    def step(x):
        optimizer(tuple([ops.clip_by_value(g, -0.5, 0.25) for g in derivative(x)]))

    step(Tensor([-4.0, 0.125, 4.0]))
    assert p.tolist() == [1.5, 0.875, 0.75]


class Accumulating(nn.Cell):
    """Adds up the gradients of small batches; every `size` of them make one step."""

    def __init__(self, net, optimizer, size):
        super().__init__(auto_prefix=False)
        self.net, self.optimizer, self.size = net, optimizer, size
        self.sums = optimizer.parameters.clone(prefix="sums", init="zeros")
        self.counter = Parameter(Tensor(0, ms.int32), name="counter", requires_grad=False)
        self.derivative = ms.value_and_grad(net, None, optimizer.parameters)

    def construct(self, x, y):
        loss, grads = self.derivative(x, y)
        for total, g in zip(self.sums, grads, strict=True):
            ops.assign_add(total, g / self.size)
        self.counter += 1
        if self.counter % self.size == 0:
            self.optimizer(tuple(self.sums))
            for total in self.sums:
                ops.assign(total, ops.zeros_like(total))
        return loss


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = network()

    def construct(self, x, y):
        return ((self.net(x) - y) ** 2).mean()


@pytest.mark.parametrize(
    "make", [lambda ps: nn.Adam(ps, 0.1), lambda ps: nn.Momentum(ps, 0.1, 0.9)], ids=["Adam", "Momentum"]
)
def test_small_batches_add_up_to_the_big_one(mode: str, make: Any) -> None:
    small, big = Loss(), Loss()
    accumulating = Accumulating(small, make(small.trainable_params()), 4)
    optimizer = make(big.trainable_params())
    derivative = ms.value_and_grad(big, None, optimizer.parameters)
    for round_ in range(2):
        batches = [data(4 * round_ + i) for i in range(4)]
        for batch in batches:
            accumulating(*batch)
        _, grads = derivative(*[ops.concat(parts) for parts in zip(*batches, strict=True)])
        optimizer(grads)
    assert accumulating.optimizer.global_step.item() == 2
    for a, b in zip(small.trainable_params(), big.trainable_params(), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-6)
