import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x, rate):
    return x * rate


def fails():
    for step in range(20):
        f(x, 0.1 * step)
#> f
