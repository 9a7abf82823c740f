import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

from autodiff_compiler.passes.manager import PASSES


def broken(module):
    for op in module.entry.body.ops:
        if op.defn.name == "tanh":
            {}["no such thing"]
    return module


@jit
def f(x):
    y = x + 1; return ops.tanh(y) * 3
#> ops.tanh(y)


def fails():
    kept, PASSES["dce"] = PASSES["dce"], broken
    try:
        f(x)
    finally:
        PASSES["dce"] = kept
