"""Programs of users' of all kinds that tests of artifacts look at: each makes what is compiled, and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


def some(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


@dataclass
class Program:
    """`fn` has `lower`; `parameters` are the states that a call may change."""

    fn: Any
    args: tuple[Any, ...]
    parameters: list[Parameter]


PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Any]) -> Callable[[], Any]:
    def made() -> Program:
        fn, args, *rest = make()
        return Program(fn, args, list(rest[0]) if rest else [])

    PROGRAMS[make.__name__] = made
    return make


# ------------------------------------------------------------------------------------------------ functions
@program
def formula():
    def f(x, y):
        h = ops.tanh(x * y + 0.5)
        return h.sum(axis=0), h - h.mean()

    return ms.jit(f), (some(4, 3), some(4, 3, seed=1))


@program
def branch():
    def f(x):
        if x.sum() > 0:
            y = ops.exp(x)
        else:
            y = x * 2
        return y * y

    return ms.jit(f), (some(5),)


@program
def kept_loop():
    def f(x):
        n = 0
        while (x * x).sum() < 100.0:
            x = x * 1.5 + 0.1
            n = n + 1
        return -x, n

    return ms.jit(f), (some(6),)


@program
def long_for():
    def f(x):
        state, total = x * 0, []
        for i in range(20):
            state = ops.sin(state + x) * (i % 3)
            total.append(state.sum())
        return ops.stack(total)

    return ms.jit(f), (some(7),)


TABLE = np.random.default_rng(5).standard_normal((5, 8)).astype(np.float32)
SCALE = some(8, seed=9)


@program
def from_outside():
    def f(x):
        return ops.matmul(x, Tensor(TABLE)) * SCALE

    return ms.jit(f), (some(3, 5),)


@program
def host_function():
    def largest(a):
        return np.sort(a)[::-1].copy()

    def f(x):
        y = ms.py_call(largest, x * 2, out=ms.TensorSpec("f32[6]"))
        return y + 1

    return ms.jit(f), (some(6),)


@program
def integers_and_masks():
    def f(x, i):
        mask = x > 0
        return ops.where(mask, x, x[i]), mask, i + 1

    return ms.jit(f), (some(4), Tensor(np.array([3, 1, 0, 2])))


# ------------------------------------------------------------------------------------------------ derivatives
@program
def gradient():
    def loss(w, x):
        h = ops.relu(ops.matmul(x, w))
        return (h * h).mean()

    return ms.grad(loss, (0, 1)), (some(5, 4), some(3, 5))


@program
def second_order():
    def f(x):
        return (ops.sin(x) * x * x).sum()

    return ms.grad(lambda x: ms.grad(f)(x).sum()), (some(6),)


@program
def gradient_of_a_loop():
    def f(x):
        while x.sum() < 50.0:
            x = x * x + 1.0
        return x.sum()

    return ms.grad(f), (some(4),)


@program
def jacobian():
    return ms.jacfwd(lambda x: ops.tanh(x) * x.sum()), (some(4),)


@program
def batched():
    return ms.vmap(ms.grad(lambda x: (x * x * x).sum())), (some(3, 4),)


# ------------------------------------------------------------------------------------------------ Cells and training
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(5, 8), nn.Dense(8, 2)
        for i, p in enumerate(self.trainable_params()):
            p.set_data(some(*p.shape, seed=i))

    def construct(self, x):
        return self.second(ops.tanh(self.first(x)))


@program
def cell():
    net = Net()
    return net, (some(3, 5),), net.trainable_params()


@program
def batch_norm():
    net = nn.SequentialCell(nn.Dense(5, 4, weight_init="ones"), nn.BatchNorm1d(4))
    net.set_train()
    return net, (some(6, 5),), net.get_parameters()


@program
def train_step():
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)

    def loss(x, y):
        return ((net(x) - y) ** 2).mean()

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        value, grads = gradient(x, y)
        optimizer(grads)
        return value

    return step, (some(3, 5), some(3, 2)), [*net.trainable_params(), *optimizer.get_parameters()]


@program
def train_one_step_cell():
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    return step, (some(3, 5), some(3, 2)), step.get_parameters()
