import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

import random


@jit
def f(x):
    return x * random.random()
#> random.random()


def fails():
    f(x)
