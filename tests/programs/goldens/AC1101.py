import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Net(nn.Cell):
    def construct(self, x, y):
        try:
#> try
            return x / y
        except ZeroDivisionError:
            return x


net = Net()


@jit
def train_step(x, y):
    loss = net(x, y)
    return loss


def fails():
    train_step(x, x)
