"""A module alone, without a caller, written as Python."""

import numpy as np
import pytest

from autodiff_compiler import Parameter, Tensor, jit, nn
from autodiff_compiler.dtypes import float64
from autodiff_compiler.inspection.derivative_source import python_of_module


def test_a_bare_module_returns_what_a_call_would_write_back():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([1.0, 2.0], float64), name="w")

        def construct(self, x, n):
            self.w += x
            x[0] = 3.0
            if n < 0:
                raise ValueError("negative")
            return x // n

    x, n, w = np.array([5.0, 7.0]), np.array(2), np.array([1.0, 2.0])
    module = jit(Net()).lower(Tensor(x), Tensor(n))._call.module("opt")
    assert module.callables  # commits, before what may raise
    source = python_of_module(module)
    found = source.function(x.copy(), n, w.copy())
    assert sorted(np.asarray(v).tolist() for v in found) == [[1.0, 3.0], [3.0, 7.0], [6.0, 9.0]]
    with pytest.raises(ValueError, match="negative"):
        source.function(x.copy(), np.array(-1), w.copy())
