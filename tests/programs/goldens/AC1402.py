import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    if x[0] > 0:
        y = x * 2
#1> y
    else:
        y = x.sum()
#2> y
    return x.reshape(y.shape)
#3> y.shape


def fails():
    f(x)
