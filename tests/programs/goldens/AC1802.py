import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Net(nn.Cell):
    def __call__(self, x):
        return x * 2


net = Net()


@jit
def f(x):
    return net(x)
#> net(x)


def fails():
    f(x)
