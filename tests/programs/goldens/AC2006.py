import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit(dynamic=False)
def f(x):
    return x * 2


def fails():
    for n in range(1, 60):
        f(ops.ones((n,)))
#> f
