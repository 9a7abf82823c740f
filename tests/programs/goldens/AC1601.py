import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

last = None


@jit
def f(x):
    global last
#2> global last
    last = x * 2
#1> last
    return x


def fails():
    f(x)
