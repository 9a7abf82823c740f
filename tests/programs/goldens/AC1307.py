import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    return ms.vmap(lambda v: v[v > 1.5])(x.reshape(1, 3))
#> ms.vmap(lambda v: v[v > 1.5])(x.reshape(1, 3))


def fails():
    f(x)
