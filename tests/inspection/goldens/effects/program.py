"""What a program does besides computing: it prints, it may stop, it calls plain Python."""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops


def f(x):
    s = x.sum()
    print("the sum is", s)
    assert s < 100.0, "too large"
    if s < 0.0:
        raise ValueError("negative")
    return ops.sqrt(s) * x


ARGUMENTS = [np.array([1.0, 3.0], np.float32)]


def lowered():
    return ms.jit(f).lower(*map(ms.Tensor, ARGUMENTS))
