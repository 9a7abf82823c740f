"""Straight code: values with several uses, one variable with several versions."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def loss(x, w):
    h = x * w
    h = ops.sin(h) + h
    return (h * w).sum()


ARGUMENTS = [np.linspace(-1, 1, 4, dtype=np.float32), np.linspace(0.5, 2, 4, dtype=np.float32)]


def lowered():
    return ms.jit(ms.value_and_grad(loss, (0, 1))).lower(*map(ms.Tensor, ARGUMENTS))
