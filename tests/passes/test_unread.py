"""Sorting without the order, where nobody reads it."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

MIXED = np.array([[0.0, -0.0, 2.0, np.nan, -0.0, 0.0, -np.inf], [3.0, 1.0, 2.0, 2.0, -5.0, np.inf, 0.5]], np.float32)


def rank(v):
    return np.isnan(v), 0 if np.isnan(v) else v


def names(fn, *args):
    return [op.defn.name for op in ms.jit(fn).lower(*args)._call.compiled.program.stages.opt.entry.body.ops]


def test_the_order_is_dropped_where_it_is_not_read():
    assert names(lambda x: ops.sort(x)[0], Tensor(MIXED)) == ["msort"]
    assert "sort" in names(lambda x: ops.sort(x), Tensor(MIXED))
    assert "sort" in names(lambda x: ops.sort(x)[1], Tensor(MIXED))


def test_inside_of_a_loop_too():
    def f(x):
        while x.sum() < 10.0:
            x = ops.sort(x)[0] + 1.0
        return x

    x = Tensor([3.0, 1.0, 2.0])
    assert "msort" in ms.jit(f).lower(x).ir("opt")
    assert ms.jit(f)(x).tolist() == [3.0, 4.0, 5.0]


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("descending", [False, True])
def test_values_are_those_of_numpy_and_zeros_keep_their_signs(backend, dtype, axis, descending):
    x = (np.nan_to_num(MIXED, nan=7, posinf=9, neginf=0) if dtype in (np.int32, np.uint8, np.bool_) else MIXED).astype(
        dtype
    )
    found = ms.jit(lambda x: ops.sort(x, axis, descending)[0], backend=backend)(Tensor(x)).asnumpy()
    # a stable sort by the definition, element by element: nan is the greatest
    rows = np.moveaxis(x, axis, -1)
    expected = [sorted(row.tolist(), key=rank) for row in rows]
    if descending:  # stable: equal elements as they stand
        expected = [sorted(row.tolist()[::-1], key=rank)[::-1] for row in rows]
    expected = np.moveaxis(np.array(expected, dtype), -1, axis)
    np.testing.assert_array_equal(found, expected)
    if np.issubdtype(dtype, np.floating):
        finite = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(expected[finite]))


def test_the_derivative_goes_back_along_the_order():
    weights = Tensor([1.0, 2.0, 3.0])
    f = ms.jit(ms.grad(lambda x: (ops.sort(x, descending=True)[0] * weights).sum()))
    assert f(Tensor([3.0, 1.0, 2.0])).tolist() == [1.0, 3.0, 2.0]
    g = ms.jit(ms.grad(lambda x: (ops.msort(x) * weights).sum()))
    assert g(Tensor([3.0, 1.0, 2.0])).tolist() == [3.0, 1.0, 2.0]
