import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

def kernel(a):
    return a * 2


def kernel_bprop(a, out, dout):
#> def kernel_bprop(a, out, dout):
    return (dout.sum().reshape(1),)


@jit
def f(x):
    return ms.py_call(kernel, x, out=x, bprop=kernel_bprop).sum()


def fails():
    ms.grad(f)(x)
