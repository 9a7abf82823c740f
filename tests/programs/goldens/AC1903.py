import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 0.0, 3.0], np.float32))


@jit(check_nonfinite=True)
def f(x):
    y = ops.log(x); return y * 3
#> ops.log(x)


def fails():
    f(x)
