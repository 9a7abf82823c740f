"""A `while` over data: it is kept, and its derivative runs the trips backwards."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x, w):
    h = x
    while h.sum() < 10.0:
        h = h * w + ops.sqrt(h)
    return h.sum()


ARGUMENTS = [np.array([0.5, 0.25], np.float32), np.array([1.25, 1.5], np.float32)]


def lowered():
    return ms.jit(ms.grad(f, (0, 1))).lower(*map(ms.Tensor, ARGUMENTS))
