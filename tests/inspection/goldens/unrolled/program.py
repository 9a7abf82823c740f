"""A short `for`, which is unrolled; what is known while compiling (the list of factors) leaves constants behind."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops

FACTORS = [0.5, 1.5, 2.0]


def f(x):
    s = x
    for factor in FACTORS:
        s = ops.sin(s * factor) + x
    return s.sum()


ARGUMENTS = [np.array([0.5, -1.0], np.float32)]


def lowered():
    return ms.jit(ms.grad(f)).lower(*map(ms.Tensor, ARGUMENTS))
