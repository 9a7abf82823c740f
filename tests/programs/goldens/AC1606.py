import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Config:
    rate = 0.1


@jit
def f(x):
    Config.rate = x.sum()
#> Config.rate = x.sum()
    return x


def fails():
    f(x)
