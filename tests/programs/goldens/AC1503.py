import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x, n=3):
    while n > 0:
#> n > 0
        x = x * 2
    return x


def fails():
    f(x)
