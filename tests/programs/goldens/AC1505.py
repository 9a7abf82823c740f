import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

def even(x, n):
    return odd(x, n - 1)
#> odd(x, n - 1)


def odd(x, n):
    return even(x, n - 1)


@jit
def f(x):
    return even(x, 0)


def fails():
    f(x)
