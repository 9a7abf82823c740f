import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, nn, ops

x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))

def kernel(a):
    return a * 2


def kernel_bprop(a, out, dout):
    return (dout * dout,)
#2> dout * dout


@jit
def f(x):
    return ms.py_call(kernel, x, out=x, bprop=kernel_bprop).sum()
#1> ms.py_call(kernel, x, out=x, bprop=kernel_bprop)


def fails():
    jit(lambda x, v: ms.jvp(f, (x,), (v,)))(x, x)
