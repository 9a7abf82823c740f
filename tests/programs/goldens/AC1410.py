import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

def dense(x, gewicht):
	return x @ gewicht  # 乘
#> x @ gewicht


@jit
def f(x):
    return dense(x.reshape(1, 3), ops.ones((4, 5)))


def fails():
    f(x)
