"""The programs of the self-test: run as a user's, on the device and on the CPU; each gives arrays to compare."""

from __future__ import annotations

from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops


def some(*shape: int, seed: int = 0) -> Any:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def layer(w: Any, x: Any) -> Any:
    return (ops.softmax(ops.tanh(ops.matmul(x, w)), axis=-1) ** 2).sum()


def network() -> list[Any]:
    step = ms.jit(ms.value_and_grad(layer, (0, 1)))
    results = []
    for i in range(6):
        value, grads = step(some(8, 5), some(4, 8, seed=i))
        results += [value.asnumpy(), *[g.asnumpy() for g in grads]]
    return results


# ------------------------------------------------------------------------------------------------ control flow
def repeated(x: Any) -> Any:
    total = x * 0
    while (x * x).sum() < 100.0:
        x = x * 1.5
        total = total + ops.sin(x)
    return total.sum()


def chosen(x: Any) -> Any:
    y = x * 2 if x.sum() > 0 else ops.exp(x)
    return (y * y).sum()


def counted(x: Any) -> Any:
    state = x * 0
    for i in range(12):
        state = ops.tanh(state + x) * (i % 3)
    return state.sum()


def with_gradient(fn: Any) -> list[Any]:
    compiled = (ms.jit(fn), ms.jit(ms.grad(fn)))
    return [f(x).asnumpy() for f in compiled for x in (some(6), some(6) - 1)]


def run_repeated() -> list[Any]:
    return with_gradient(repeated)


def run_chosen() -> list[Any]:
    return with_gradient(chosen)


def run_counted() -> list[Any]:
    return with_gradient(counted)


# ------------------------------------------------------------------------------------------------ training
def training() -> list[Any]:
    """The losses of a small convolutional network."""
    rng = np.random.default_rng(7)
    net = nn.SequentialCell(
        nn.Conv2d(1, 4, 3, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(4 * 4 * 4, 3)
    )
    for p in net.trainable_params():
        p.set_data(Tensor(rng.standard_normal(p.shape).astype(np.float32) / 4))
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    images, labels = some(6, 1, 8, 8), Tensor(np.array([0, 1, 2, 0, 1, 2], np.int32))

    def loss(x: Any, y: Any) -> Any:
        return ops.cross_entropy(net(x), y)

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(x: Any, y: Any) -> Any:
        value, grads = gradient(x, y)
        optimizer(grads)
        return value

    return [step(images, labels).asnumpy() for _ in range(8)]
