"""Short ways for calls with ndarrays, and into code that returns ndarrays."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE, SHORT, A, long, native, short, warm

pytestmark = NEEDS_MACHINE_CODE
__all__ = ["native"]


def array(*numbers, dtype=np.float32):
    return np.array(numbers, dtype)


X, Y = array(1, 2, 3), array(4, 5, 6)


def test_arguments_that_are_arrays():
    f = ms.jit(lambda x, y: ops.mul(x, y) + x)
    expected = f(X, Y)
    warm(f, X, Y)
    found = short(f, X, Y)
    assert type(found) is type(expected)
    assert found.tolist() == expected.tolist() == [5, 12, 21]


def test_results_that_are_arrays():
    f = ms.jit(lambda x: (x.asnumpy() * 2, x + 1))
    expected, _ = f(A)
    warm(f, A)
    found, more = short(f, A)
    assert type(found) is type(expected) is np.ndarray
    assert (found.tolist(), more.tolist()) == ([2, 4, 6], [2, 3, 4])
    found[0] = 9
    assert found.flags.owndata or not SHORT
    assert short(f, A)[0].tolist() == [2, 4, 6]


def test_an_array_that_is_returned_twice():
    def f(x):
        y = x.asnumpy() * 2
        return y, y, Tensor(y)

    g = ms.jit(f)
    for _ in range(15):
        one, other, tensor = g(A)
        one[0] = 9
        assert (other is one, tensor.tolist()) == (g(A)[0] is g(A)[1], [2, 4, 6])


def test_arrays_and_tensors_together():
    f = ms.jit(lambda x, y: (x * y, y))
    warm(f, A, Y)
    product, other = f(A, Y)
    assert product.tolist() == [4, 10, 18]
    assert np.asarray(other).tolist() == [4, 5, 6]
    g = ms.jit(lambda x, y: x * y)
    warm(g, A, Y)
    assert short(g, A, Y).tolist() == [4, 10, 18]
    assert long(g, A, Tensor(Y)).tolist() == [4, 10, 18]
    assert long(g, X, Y).tolist() == [4, 10, 18]
    warm(g, X, Tensor(Y))
    assert short(g, X, Tensor(Y)).tolist() == [4, 10, 18]


class Mine(np.ndarray):
    pass


@pytest.mark.parametrize(
    "other",
    [array(1, 2), array(1, 2, 3, dtype=np.float64), np.arange(6, dtype=np.float32)[::2], X.astype(">f4"), X.view(Mine)],
    ids=["shape", "dtype", "strides", "bytes", "class"],
)
def test_other_arrays_go_the_long_way(other):
    f = ms.jit(lambda x: x * 2)
    warm(f, X)
    expected = np.asarray(other) * 2
    assert np.asarray(long(f, other)).tolist() == expected.tolist()
    short(f, X)


def test_arrays_of_which_one_is_a_view_of_another():
    f = ms.jit(lambda x, y: x + y)
    both = np.arange(6, dtype=np.float32)
    warm(f, X, Y)
    assert np.asarray(short(f, both[:3], both[2:5])).tolist() == [2, 4, 6]
    assert np.asarray(short(f, X, X)).tolist() == [2, 4, 6]


def test_an_array_that_is_changed_is_read_anew():
    f = ms.jit(lambda x: x * 2)
    x = array(1, 2, 3)
    warm(f, x)
    x[1] = 7
    assert np.asarray(short(f, x)).tolist() == [2, 14, 6]


def test_many_arrays():
    f = ms.jit(lambda *xs: sum(xs[1:], xs[0]))
    given = [X * i for i in range(12)]
    warm(f, *given)
    assert np.asarray(short(f, *given)).tolist() == [66, 132, 198]
    given[7] = given[7].astype(np.float64)
    assert np.asarray(long(f, *given)).tolist() == [66, 132, 198]
