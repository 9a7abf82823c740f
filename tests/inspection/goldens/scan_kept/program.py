"""A long `for`, which is kept as a loop: what the derivative needs of every trip is collected, or computed again."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x, w):
    h = x
    for i in range(20):
        u = ops.tanh(h * w)
        h = h + 0.1 * u * u
    return h.sum()


ARGUMENTS = [np.array([0.5, 0.25], np.float32), np.array([1.25, -1.5], np.float32)]


def lowered():
    return ms.jit(ms.grad(f, (0, 1))).lower(*map(ms.Tensor, ARGUMENTS))
