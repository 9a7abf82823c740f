import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


@jit
def f(x):
    return Pair(x, x * 2).b
#> Pair(x, x * 2)


def fails():
    f(x)
