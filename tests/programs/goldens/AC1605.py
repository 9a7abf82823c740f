import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

w = ms.Parameter(x, name="w")


@jit
def f(x):
    w.set_data(x)
#> w.set_data
    return w * 2


def fails():
    f(x)
