"""Users' derivative rules that return numbers and arrays, and edits that round: the same in both modes."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.testing.modes import MODES, in_mode

X = Tensor([1.0, 2.0])


@pytest.fixture(params=list(MODES), autouse=True)
def mode(request):
    with in_mode(request.param):
        yield


class Seven(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return 7.0


def test_a_number_is_stretched_where_it_meets_another():
    net = Seven()
    assert ms.grad(net)(X).tolist() == 7.0
    assert ms.grad(lambda x: net(x) + net(x))(X).tolist() == [14.0, 14.0]
    assert ms.grad(lambda x: net(x) + x)(X).tolist() == [8.0, 8.0]


def test_a_jacobian_of_a_rule_that_returns_a_number():
    net = Seven()
    assert ms.jacrev(net)(X).tolist() == [[7.0, 7.0], [7.0, 7.0]]


ARRAY = np.array([3.0, 4.0], np.float32)


def test_arrays_count_as_tensors():
    class Ruled(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return (ARRAY,)

    assert ms.grad(Ruled())(X).tolist() == [3.0, 4.0]
    edit = ops.InsertGradientOf(lambda g: ARRAY)
    assert ms.grad(lambda x: edit(x) * 5)(X).tolist() == [3.0, 4.0]


def test_an_edit_that_rounds_is_not_linear():
    rounded = ops.InsertGradientOf(lambda g: ops.cast(g, ms.int32))
    assert ms.grad(lambda x: rounded(x) * 2.5)(X).tolist() == [2.0, 2.0]
    with pytest.raises(ms.BpropError, match="AC1705"):
        ms.jvp(lambda x: rounded(x) * 2.5, X, Tensor([1.0, 1.0]))


def test_methods_that_are_called_by_another_expression():
    def by_name(a):
        method = a.reshape
        return method(5, 5)

    def by_getattr(a):
        return getattr(a, "reshape")(5, 5)

    for f in (by_name, by_getattr):
        with pytest.raises(ms.ShapeError):
            f(X)
        with pytest.raises(ms.ShapeError):
            ms.jit(f)(X)
