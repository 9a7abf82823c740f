import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = ms.Parameter(x, name="weight")

    def construct(self, x):
        return x * self.wieght
#> self.wieght


net = jit(Net())


def fails():
    net(x)
