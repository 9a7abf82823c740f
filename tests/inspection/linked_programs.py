"""Programs of which it is known by hand which ops each line makes."""

from __future__ import annotations

from autodiff_compiler import nn, ops


def scaled(z):
    return z * 0.5


def net(x, w):
    hidden = ops.matmul(x, w)
    active = ops.tanh(hidden)
    half = scaled(active)
    return half.sum()


def reused(x):
    y = ops.exp(x)
    a = ops.sin(y)
    b = y * 3.0
    return (a + b).sum()


def looped(x, n):
    while n > 0:
        x = ops.cos(x)
        n = n - 1
    return x.sum()


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 3)

    def construct(self, x):
        return ops.relu(self.dense(x))


class TwoLayers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(4, 8)
        self.second = nn.Dense(8, 3)

    def construct(self, x):
        x = self.first(x)
        x = ops.tanh(x)
        return self.second(x)


def line_of(text: str) -> int:
    """The number of the only line of this file with this text."""
    with open(__file__, encoding="utf-8") as file:
        (number,) = [i for i, line in enumerate(file, 1) if text in line and "line_of" not in line]
    return number
