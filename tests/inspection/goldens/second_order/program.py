"""The derivative of a derivative: %d2_x is that of the second order."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x):
    h = ops.sin(x) * x
    return (h * h).sum()


def slope(x):
    return ms.grad(f)(x).sum()


ARGUMENTS = [np.array([0.5, -1.0, 2.0], np.float32)]


def lowered():
    return ms.jit(ms.grad(slope)).lower(*map(ms.Tensor, ARGUMENTS))
