import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x, n):
    return ops.stack([x, x * 2, x * 3][1:int(n)])
#> [x, x * 2, x * 3][1:int(n)]


def fails():
    f(x, Tensor(2))
