import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x, n):
    m = n + 1
    return x.reshape(3, 1).sum(axis=m)
#> x.reshape(3, 1).sum(axis=m)


def fails():
    f(x, ms.mutable(0))
