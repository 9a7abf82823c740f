import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

space = {}
exec("def scaled(x):\n    return x * 2", space)
scaled = space["scaled"]


@jit
def step(x):
    größe = 2; return scaled(x) * größe
#> scaled(x)


def fails():
    step(x)
