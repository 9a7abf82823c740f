import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
y, pull = ms.vjp(ops.sin, x)


@jit
def f(v):
    return pull(v)
#> pull(v)


def fails():
    f(y)
