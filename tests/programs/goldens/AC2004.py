import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    if x[0] > 0:
        return x
    y = x[0]
    return y.shape[0] * x
#>


def fails():
    f(x)
