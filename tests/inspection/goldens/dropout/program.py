"""Random numbers: they follow from the generator's state, which the program reads and moves on."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x, w):
    h = ops.dropout(x * w, 0.5, training=True)
    return (h * h).sum()


ARGUMENTS = [np.linspace(1, 2, 6, dtype=np.float32), np.linspace(0.5, 2, 6, dtype=np.float32)]


def lowered():
    return ms.jit(ms.value_and_grad(f, (0, 1))).lower(*map(ms.Tensor, ARGUMENTS))
