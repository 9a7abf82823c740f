"""Orders of arrays that are great enough for the fast kernels, beside Python's `sorted`."""

import math

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops
from autodiff_compiler.ir.primitive import call


def order_of(row, descending=False):
    """A stable order in which nan is the greatest."""

    def key(i):
        v = row[i]
        level = math.inf if v != v else 0.0
        return (-level, 0 if v != v else -v) if descending else (level, 0 if v != v else v)

    return sorted(range(len(row)), key=key)


def rows(dtype, kind):
    rng = np.random.default_rng(0)
    if kind == "many ties":
        return rng.integers(0, 5, (4, 200)).astype(dtype)
    x = rng.integers(0, 2, (4, 200)) == 0 if dtype == "bool" else rng.uniform(-90, 90, (4, 200)).astype(dtype)
    if kind == "special":
        x[0, ::7], x[1, ::9], x[1, 5::9], x[2, ::5], x[3, ::3] = np.nan, 0.0, -0.0, np.inf, -np.inf
        x[2, 1::17] = -np.float32("nan")  # of the other sign
    return x


CASES = [(d, k) for d in ("float16", "float32", "float64") for k in ("plain", "many ties", "special")] + [
    (d, k) for d in ("int8", "int32", "int64", "uint8", "bool") for k in ("plain", "many ties")
]


@pytest.mark.parametrize(("dtype", "kind"), CASES)
def test_sort_argsort_and_topk_are_stable_with_nan_last(dtype, kind):
    x = rows(dtype, kind)
    for descending in (False, True):
        expected = np.array([order_of(row.tolist(), descending) for row in x])
        values, index = ops.sort(Tensor(x), -1, descending)
        np.testing.assert_array_equal(index.asnumpy(), expected)
        np.testing.assert_array_equal(values.asnumpy(), np.take_along_axis(x, expected, -1))
        np.testing.assert_array_equal(ops.argsort(Tensor(x), -1, descending).asnumpy(), expected)
        for k in (0, 1, 7, 150):
            values, index = call.topk(Tensor(x), k, -1, descending)
            np.testing.assert_array_equal(index.asnumpy(), expected[:, :k])
            np.testing.assert_array_equal(values.asnumpy(), np.take_along_axis(x, expected[:, :k], -1))
    columns = ops.sort(Tensor(np.ascontiguousarray(x.T)), 0)
    np.testing.assert_array_equal(columns[1].asnumpy().T, [order_of(row.tolist()) for row in x])
    np.testing.assert_array_equal(ops.msort(Tensor(np.ascontiguousarray(x.T))).asnumpy(), columns[0].asnumpy())


@pytest.mark.parametrize("step", [1e-9, 1e-4])
def test_float64_numbers_that_differ_in_their_last_bits_only(step):
    x = 1.1 + step * np.random.default_rng(0).integers(0, 300, (3, 300))
    for descending in (False, True):
        expected = [order_of(row.tolist(), descending) for row in x]
        np.testing.assert_array_equal(ops.argsort(Tensor(x), -1, descending).asnumpy(), expected)


def test_integers_far_apart_keep_their_order():
    x = np.tile(np.array([2**62, -(2**62), 5, 2**62, -7], np.int64), 200)
    np.testing.assert_array_equal(ops.argsort(Tensor(x)).asnumpy(), order_of(x.tolist()))
    np.testing.assert_array_equal(ops.sort(Tensor(x), 0, True)[1].asnumpy(), order_of(x.tolist(), True))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_running_extremes_and_their_last_places(dtype):
    x = np.random.default_rng(1).integers(-9, 9, (3, 40)).astype(dtype)
    for fn, better in ((ops.cummax, lambda a, b: a >= b), (ops.cummin, lambda a, b: a <= b)):
        for axis, lanes in ((1, x), (0, x.T)):
            values, index = (t.asnumpy() if axis else t.asnumpy().T for t in fn(Tensor(x), axis))
            for lane, best, places in zip(lanes.tolist(), values.tolist(), index.tolist(), strict=True):
                at = 0
                for i, v in enumerate(lane):
                    at = i if better(v, lane[at]) else at
                    assert (places[i], best[i]) == (at, lane[at])


def test_a_running_extreme_stays_nan():
    values, index = ops.cummax(Tensor([[1.0, math.nan, 3.0], [0.0, 2.0, math.nan]]), 1)
    np.testing.assert_array_equal(values.asnumpy(), [[1.0, math.nan, math.nan], [0.0, 2.0, math.nan]])
    assert index.tolist() == [[0, 1, 1], [0, 1, 2]]
