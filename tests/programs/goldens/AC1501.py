import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    values = []
    for i in range(2000):
        values.insert(0, x * i)
#> values.insert(0, x * i)
    return values[0]


def fails():
    f(x)
