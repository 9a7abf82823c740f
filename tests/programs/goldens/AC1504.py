import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    values = []
    while x.sum() < 9:
#1> while x.sum() < 9
        values.append((x, x.sum()))
        x = x * 2
    return values


def fails():
    f(x)
