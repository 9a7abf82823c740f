import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

last = ms.Parameter(x, name="last")


@jit
def f(x):
    global last
    last = x * 2
#> last = x * 2
    return x


def fails():
    f(x)
