import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    act = ops.relu if x[0] > 0 else ops.tanh
#> ops.relu if x[0] > 0 else ops.tanh
    return act(x)


def fails():
    f(x)
