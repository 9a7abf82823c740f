import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    total = x
    while total.sum() < 9:
#1> while total.sum() < 9
        total = total.astype(ms.float64) * 2
#2> total
#3>> total
    return total


def fails():
    f(x)
