"""A branch that only the call decides: the derivative branches the same way."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x):
    if x.sum() > 1.0:
        y = ops.exp(x) * x
    else:
        y = ops.sqrt(x + 3.0)
    return (y * y).sum()


ARGUMENTS = [np.array([0.5, 1.0, -0.25], np.float32)]


def lowered():
    return ms.jit(ms.grad(f)).lower(*map(ms.Tensor, ARGUMENTS))
