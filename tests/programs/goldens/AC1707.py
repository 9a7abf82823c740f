import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))


def scaled(cell, arrived, leaving):
    return leaving[0] * 2, leaving[0] * 3


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()
        self.relu.register_backward_hook(scaled)

    def construct(self, x):
        return self.relu(x).sum()
#> self.relu(x)


def fails():
    jit(ms.grad(Net()))(x)
