import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

@jit
def f(x):
    state = {"h": x, "c": (x, x)}
#2> state
    if x[0] > 0:
        state = {"h": x, "c": (x, x, x)}
#1> state
    return state
#3> state


def fails():
    f(x)
