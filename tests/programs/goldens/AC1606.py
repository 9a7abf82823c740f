import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Config:
    def __init__(self):
        self.rate = 0.1

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


config = Config()


@jit
def f(x):
    config.rate = x.sum()
#> config.rate = x.sum()
    return x


def fails():
    f(x)
