import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    return x * 2j
#> 2j


def fails():
    f(x)
