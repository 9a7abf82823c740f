import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    return [v for v in (x, x * 2) if v[0] > 0]
#> v[0] > 0


def fails():
    f(x)
