"""A Cell with a derivative of its own (it doubles the gradient), and a gradient that is scaled on its way."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import nn, ops


class Twice(nn.Cell):
    def construct(self, x):
        return ops.sin(x)

    def bprop(self, x, out, dout):
        return (2.0 * dout * ops.cos(x),)


twice = Twice()
halved = ops.InsertGradientOf(lambda g: 0.5 * g)


def f(x):
    h = halved(x * x)
    return (twice(h) * x).sum()


ARGUMENTS = [np.array([0.5, -1.0, 2.0], np.float32)]


def lowered():
    return ms.jit(ms.grad(f)).lower(*map(ms.Tensor, ARGUMENTS))
