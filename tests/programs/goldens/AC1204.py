import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

def scale(x, factor, shift=0.0):
#2> def scale(x, factor, shift=0.0)
    return x * factor + shift


@jit
def f(x):
    return scale(x, shfit=1.0)
#1> scale(x, shfit=1.0)


def fails():
    f(x)
