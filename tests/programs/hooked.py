"""What the tests of hooks share: small networks around one Cell that takes hooks."""

from __future__ import annotations

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn


def one(value):
    return Tensor([float(value)])


class Around(nn.Cell):
    """A ReLU between a sum and the outside: ``relu(x + y)``."""

    def __init__(self, inner=None):
        super().__init__()
        self.inner = nn.ReLU() if inner is None else inner

    def construct(self, x, y):
        return self.inner(x + y)


class Tripled(nn.Cell):
    """``3 * inner(2 * x)``"""

    def __init__(self, inner=None):
        super().__init__()
        self.inner = nn.ReLU() if inner is None else inner

    def construct(self, x):
        return self.inner(x * 2) * 3


def gradients(net, *values):
    return [g.tolist() for g in ms.GradOperation(get_all=True)(net)(*map(one, values))]
