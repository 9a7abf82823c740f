"""Reductions and running ones against NumPy and SciPy: axes, dtypes, empty and 0-d tensors, zeros, nan, overflow."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import special

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.dtypes import bfloat16
from autodiff_compiler.errors import ShapeError
from tests.agreement import assert_same, bits

INF, NAN = math.inf, math.nan
X = np.random.default_rng(0).uniform(-2, 2, (2, 3, 4))


def both(fn, *arrays):
    """The results of a function in eager mode, after checking that compiled code gives the same bits and dtypes."""
    tensors = [Tensor(np.asarray(a)) for a in arrays]
    found, compiled = fn(*tensors), ms.jit(fn)(*tensors)
    for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, compiled)], strict=True):
        assert x.dtype is y.dtype
        assert_same(y.asnumpy(), x.asnumpy())
    return tuple(x.asnumpy() for x in found) if isinstance(found, tuple) else found.asnumpy()


def slope(fn, *arrays):
    """The derivative of the sum of fn for its first argument, after checking that compiled code has the same."""
    tensors = [Tensor(np.asarray(a)) for a in arrays]
    found = ms.grad(fn)(*tensors).asnumpy()
    compiled = ms.jit(ms.grad(fn))(*tensors).asnumpy()
    rtol = 1e-12 if bits() or found.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(compiled, found, rtol=rtol, atol=1e-14)
    return found


# ------------------------------------------------------------------------------------------------ over axes
AXES = [None, 0, -1, (0, 2), (-1, -2), (0, 1, 2), ()]
REDUCTIONS = {
    "prod": np.prod, "logsumexp": special.logsumexp, "var": np.var, "std": np.std, "nansum": np.nansum,
    "nanmean": np.nanmean, "sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min, "any": np.any, "all": np.all,
}  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keep", [False, True])
def test_every_choice_of_axes(name, keep):
    for axis in AXES:
        expected = REDUCTIONS[name](X, axis=None if axis == () else axis, keepdims=keep)  # MindSpore: none means all
        got = both(lambda x: getattr(ops, name)(x, axis, keep) if name not in ("var", "std")
                   else getattr(ops, name)(x, axis, 0, keep), X)  # fmt: skip
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["prod", "sum", "mean", "logsumexp", "var", "std", "amax"])
def test_an_axis_that_does_not_exist_or_is_named_twice(name):
    with pytest.raises(ShapeError, match="does not exist"):
        getattr(ops, name)(Tensor(X), 3)
    with pytest.raises(ShapeError, match="twice"):
        getattr(ops, name)(Tensor(X), (0, -3))


def test_scalars():
    for name in ("prod", "sum", "mean", "logsumexp", "var", "std", "norm"):
        fn = (lambda x: ops.logsumexp(x, None)) if name == "logsumexp" else getattr(ops, name)
        expected = {"var": 0.0, "std": 0.0}.get(name, 1.5)
        assert both(fn, np.array(1.5)) == expected
        assert slope(fn, np.array(1.5)) == (0.0 if name in ("var", "std") else 1.0)


def test_nothing_to_reduce():
    empty = np.zeros((0, 3))
    np.testing.assert_array_equal(both(lambda x: ops.prod(x, 0), empty), np.ones(3))
    np.testing.assert_array_equal(both(lambda x: ops.logsumexp(x, 0), empty), np.full(3, -INF))
    np.testing.assert_array_equal(both(lambda x: ops.norm(x, dim=0), empty), np.zeros(3))
    np.testing.assert_array_equal(both(lambda x: ops.nansum(x, 0), empty), np.zeros(3))
    for fn in (lambda x: ops.mean(x, 0), lambda x: ops.var(x, 0), lambda x: ops.nanmean(x, 0)):
        assert np.isnan(both(fn, empty)).all()
    for fn in (lambda x: ops.logsumexp(x, 0), lambda x: ops.prod(x, 0), lambda x: ops.norm(x, dim=0)):
        assert slope(fn, empty).shape == (0, 3)
    for fn in (lambda x: ops.median(x, 0), lambda x: ops.amax(x, 0)):
        with pytest.raises(ShapeError, match="empty"):
            fn(Tensor(empty))


def test_smallest_and_greatest_together():
    low, high = both(lambda x: ops.aminmax(x, axis=1, keepdims=True), X)
    np.testing.assert_array_equal(low, X.min(1, keepdims=True))
    np.testing.assert_array_equal(high, X.max(1, keepdims=True))


# ------------------------------------------------------------------------------------------------ dtypes
def test_integers_and_bools():
    for dtype in (np.int8, np.int32, np.bool_):
        x = np.array([1, 0, 1]).astype(dtype)
        assert both(ops.prod, x).dtype == np.int64
        assert both(ops.nansum, x).dtype == np.int64
        for fn in (ops.var, ops.std, ops.norm, ops.nanmean, lambda x: ops.logsumexp(x, 0)):
            assert both(fn, x).dtype == np.float32
    assert both(lambda x: ops.prod(x, dtype=ms.int8), np.array([100, 2])).item() == np.int8(-56)  # wraps, as NumPy's
    assert both(ops.reduce_prod, np.array([3, 4], np.int32)).dtype == np.int32
    assert both(lambda x: ops.cumsum(x, 0), np.array([100, 100], np.int8)).tolist() == [100, -56]
    np.testing.assert_array_equal(both(lambda x: ops.cumsum(x, 0), np.array([True, True])), [1, 2])
    assert both(ops.count_nonzero, np.array([0.0, 2.0, NAN])).item() == 2


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), bfloat16.numpy], ids=["f16", "bf16"])
def test_narrow_floats_accumulate_in_float32(dtype):
    x = np.linspace(200, 300, 1000).astype(dtype)  # their sum and squares do not fit in float16
    wide = x.astype(np.float64)
    cases = {
        ops.mean: wide.mean(), ops.var: wide.var(), ops.std: wide.std(), ops.norm: np.sqrt((wide**2).sum()),
        ops.nanmean: wide.mean(), (lambda x: ops.logsumexp(x, 0)): special.logsumexp(wide),
        (lambda x: ops.norm(x, 3)): (wide**3).sum() ** (1 / 3),
    }  # fmt: skip
    for fn, expected in cases.items():
        got = both(fn, x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=2.0**-8)
    ones = np.ones(3000, dtype)
    np.testing.assert_array_equal(both(lambda x: ops.cumsum(x, 0), ones).astype(np.float64),
                                  np.arange(1, 3001).astype(dtype).astype(np.float64))  # fmt: skip


# ------------------------------------------------------------------------------------------------ norms
V = np.array([[3.0, -4.0, 0.0], [1.0, 2.0, -2.0]])


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, 2.5, 0.5, -1, INF, -INF])
def test_vector_norms(order):
    with np.errstate(divide="ignore"):
        expected = {axis: np.linalg.norm(V, order, axis) for axis in (0, 1, -1)}
        of_row = np.linalg.norm(V[0], order)
    for axis, norms in expected.items():
        np.testing.assert_allclose(both(lambda x: ops.norm(x, order, axis), V), norms, rtol=1e-14)
        if order is not None:
            np.testing.assert_allclose(both(lambda x: ops.vector_norm(x, order, axis), V), norms, rtol=1e-14)
    np.testing.assert_allclose(both(lambda x: ops.norm(x, order), V[0]), of_row, rtol=1e-14)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, INF, -INF])
def test_matrix_norms(order):
    for axis in ((0, 1), (1, 0), (2, 0), (-2, -1)):
        for keep in (False, True):
            expected = np.linalg.norm(X, order, axis, keep)
            got = both(lambda x: ops.norm(x, order, axis, keep), X)
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=1e-14)
    np.testing.assert_allclose(both(lambda x: ops.norm(x, order), V), np.linalg.norm(V, order), rtol=1e-14)
    np.testing.assert_allclose(both(lambda x: ops.matrix_norm(x, order), X), np.linalg.norm(X, order, (1, 2)))


def test_what_is_no_norm():
    with pytest.raises(ValueError, match="order of a vector norm"):
        ops.norm(Tensor(V), "fro", 0)
    with pytest.raises(ValueError, match="order of a matrix norm"):
        ops.norm(Tensor(V), 3, (0, 1))
    with pytest.raises(ShapeError, match="needs `dim`"):
        ops.norm(Tensor(X), 1)
    with pytest.raises(ShapeError, match="twice"):
        ops.norm(Tensor(X), "fro", (0, 0))


def test_norms_of_zero_have_the_slope_zero():
    for order in (None, 1, 2, 3, 1.5, INF):
        np.testing.assert_array_equal(slope(lambda x: ops.norm(x, order), np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(slope(lambda x: ops.norm(x, dim=1), np.array([[0.0, 0.0], [3.0, 4.0]])),
                               [[0.0, 0.0], [0.6, 0.8]])  # fmt: skip
    np.testing.assert_allclose(slope(lambda x: ops.norm(x, 3), np.array([0.0, 2.0])), [0.0, 1.0])
    np.testing.assert_array_equal(slope(ops.std, np.full(3, 1.5)), np.zeros(3))


# ------------------------------------------------------------------------------------------------ variance
@pytest.mark.parametrize("ddof", [0, 1, 3, 4])
def test_variance_with_fewer_degrees_of_freedom(ddof):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # as many as elements or more: NumPy warns
        expected = np.var(X, 1, ddof=ddof), np.std(X, 1, ddof=ddof)
    np.testing.assert_allclose(both(lambda x: ops.var(x, 1, ddof), X), expected[0], rtol=1e-13)
    np.testing.assert_allclose(both(lambda x: ops.std(x, 1, ddof), X), expected[1], rtol=1e-13)


def test_variance_and_mean_together():
    got = both(lambda x: (*ops.var_mean(x, 0, 1, True), *ops.std_mean(x, 0, 1), x.var(0), x.std(1, keepdims=True)), X)
    expected = (X.var(0, ddof=1, keepdims=True), X.mean(0, keepdims=True), X.std(0, ddof=1), X.mean(0), X.var(0),
                X.std(1, keepdims=True))  # fmt: skip
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_slopes_of_variance_and_deviation_by_their_formulas():
    x = X[0, 0]
    np.testing.assert_allclose(slope(ops.var, x), 2 * (x - x.mean()) / 4, rtol=1e-12)
    np.testing.assert_allclose(slope(lambda x: ops.std(x, ddof=1), x), (x - x.mean()) / (3 * x.std(ddof=1)), rtol=1e-12)
    tensor = Tensor(x)
    curvature = ms.grad(lambda x: (ms.grad(ops.var)(x) * Tensor([1.0, 0.0, 0.0, 0.0], ms.float64)).sum())(tensor)
    np.testing.assert_allclose(curvature.asnumpy(), np.array([0.375, -0.125, -0.125, -0.125]), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ logarithms of sums
def test_logsumexp_far_from_one():
    x = np.array([[1000.0, 1000.0], [-1000.0, -INF], [-INF, -INF], [INF, 0.0]])
    np.testing.assert_allclose(both(lambda x: ops.logsumexp(x, 1), x),
                               [1000.0 + math.log(2.0), -1000.0, -INF, INF])  # fmt: skip
    np.testing.assert_array_equal(slope(lambda x: ops.logsumexp(x, 1), x[:3]), [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]])
    shares = slope(lambda x: ops.logsumexp(x, (0, 1)), np.float32([[900.0, 901.0], [902.0, 0.0]]))
    np.testing.assert_allclose(shares, special.softmax(np.array([[900.0, 901.0], [902.0, 0.0]])), rtol=3e-7)
    assert np.isnan(both(lambda x: ops.logsumexp(x, 0), np.array([NAN, 1.0])))


# ------------------------------------------------------------------------------------------------ medians
def test_median():
    for axis in (0, 1, -1):
        values, index = both(lambda x: ops.median(x, axis), X)
        ordered = np.sort(X, axis=axis)
        lower = np.take(ordered, (X.shape[axis] - 1) // 2, axis)
        np.testing.assert_array_equal(values, lower)
        np.testing.assert_array_equal(np.take_along_axis(X, np.expand_dims(index, axis), axis).squeeze(axis), lower)
    values, index = both(lambda x: x.median(1, True), X)
    assert values.shape == index.shape == (2, 1, 4)
    ints = np.array([[4, 1, 1], [2, 5, 2]], np.int8)
    values, index = both(ops.median, ints)
    assert (values.dtype, values.tolist(), index.tolist()) == (np.int8, [1, 2], [1, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.float16, bfloat16.numpy], ids=["f64", "f16", "bf16"])
def test_median_and_nan(dtype):
    x = np.array([[3.0, NAN, 1.0, 2.0], [NAN] * 4, [0.0, 2.0, -INF, INF]]).astype(dtype)
    values, index = both(ops.median, x)
    np.testing.assert_array_equal(values.astype(np.float64), [NAN, NAN, 0.0])
    assert index.tolist() == [1, 0, 0]
    values, index = both(ops.nanmedian, x)
    np.testing.assert_array_equal(values.astype(np.float64), [2.0, NAN, 0.0])
    assert index.tolist() == [3, 0, 0]


def test_the_lower_middle_gets_the_whole_cotangent():
    np.testing.assert_array_equal(slope(lambda x: ops.median(x)[0], np.array([4.0, 1.0, 3.0, 2.0])), [0, 0, 0, 1])
    np.testing.assert_array_equal(slope(lambda x: ops.nanmedian(x)[0], np.array([NAN, 1.0, 3.0])), [0, 1, 0])


def test_nan_is_passed_over():
    x = np.array([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(both(lambda x: ops.nansum(x, 1), x), [4.0, 0.0])
    np.testing.assert_array_equal(both(lambda x: ops.nanmean(x, 1), x), [2.0, NAN])
    np.testing.assert_array_equal(slope(lambda x: ops.nansum(x, 1), x), [[1, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(slope(ops.nanmean, x), [[0.5, 0, 0.5], [0, 0, 0]])


# ------------------------------------------------------------------------------------------------ running
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_sums_and_products(axis):
    np.testing.assert_array_equal(both(lambda x: ops.cumsum(x, axis), X), np.cumsum(X, axis))
    np.testing.assert_array_equal(both(lambda x: ops.cumprod(x, axis), X), np.cumprod(X, axis))
    np.testing.assert_allclose(both(lambda x: ops.logcumsumexp(x, axis), X), np.log(np.cumsum(np.exp(X), axis)))
    back = np.flip(np.cumsum(np.flip(X, axis), axis), axis)
    np.testing.assert_array_equal(both(lambda x: ops.CumSum(reverse=True)(x, axis), X), back)
    np.testing.assert_allclose(both(lambda x: ops.CumSum(True, True)(x, axis), X), back - X, atol=1e-15)
    products = np.flip(np.cumprod(np.flip(X, axis), axis), axis)
    np.testing.assert_allclose(both(lambda x: ops.CumProd(True, True)(x, axis), X), products / X, rtol=1e-13)
    np.testing.assert_array_equal(both(lambda x: ops.diff(x, 1, axis), X), np.diff(X, 1, axis))


def test_running_extremes():
    x = np.array([[2.0, 3.0, 1.0, 3.0], [1.0, NAN, 5.0, NAN], [0.0, -1.0, -1.0, 4.0]])
    values, index = both(lambda x: ops.cummax(x, 1), x)
    np.testing.assert_array_equal(values, np.maximum.accumulate(x, 1))
    assert index.tolist() == [[0, 1, 1, 3], [0, 1, 1, 3], [0, 0, 0, 3]]  # the last of several
    values, index = both(lambda x: x.cummin(1), x)
    np.testing.assert_array_equal(values, np.minimum.accumulate(x, 1))
    assert index.tolist() == [[0, 0, 2, 2], [0, 1, 1, 3], [0, 1, 2, 2]]
    np.testing.assert_array_equal(slope(lambda x: ops.cummax(x, 0)[0], np.array([1.0, 3.0, 3.0, 2.0])), [1, 1, 2, 0])
    assert [a.tolist() for a in both(lambda x: ops.cummax(x, 0), np.array([True, False]))] == [[True, True], [0, 0]]


def test_running_along_what_is_no_axis():
    for name in ("cumsum", "cumprod", "cummax", "logcumsumexp"):
        with pytest.raises(ShapeError, match="does not exist"):
            getattr(ops, name)(Tensor(X), 3)
    for fn in (ops.cumsum, ops.cumprod, ops.logcumsumexp, lambda x, axis: ops.cummin(x, axis)[0]):
        assert slope(lambda x: fn(x, 1), X[:, :0]).shape == (2, 0, 4)


def test_products_with_zeros_have_the_right_slopes_and_curvatures():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    np.testing.assert_array_equal(slope(ops.prod, x[:3]), [0.0, 6.0, 0.0])
    np.testing.assert_array_equal(slope(ops.prod, x), np.zeros(4))

    def hessian(fn, x):
        rows = []
        for i in range(len(x)):
            unit = Tensor(np.eye(len(x))[i])
            rows.append(ms.grad(lambda x: (ms.grad(fn)(x) * unit).sum())(Tensor(x)).asnumpy())
        return np.array(rows)

    expected = np.zeros((4, 4))
    expected[1, 3] = expected[3, 1] = 6.0
    np.testing.assert_array_equal(hessian(ops.prod, x), expected)
    of_last = hessian(lambda x: ops.cumprod(x, 0)[3], x)
    np.testing.assert_array_equal(of_last, expected)


def test_a_running_logarithm_of_sums_far_from_one():
    x = np.array([-1000.0, 1000.0, 0.0, 1000.0])
    np.testing.assert_allclose(both(lambda x: ops.logcumsumexp(x, 0), x), np.logaddexp.accumulate(x))
    np.testing.assert_allclose(slope(lambda x: ops.logcumsumexp(x, 0), x), [1.0, 2.5, 0.0, 0.5], atol=1e-300)


def test_differences():
    x = np.array([1, 4, 9, 16])
    for n in (0, 1, 2, 5):
        np.testing.assert_array_equal(both(lambda x: ops.diff(x, n), x), np.diff(x, n))
    extended = both(lambda x: ops.diff(x, prepend=Tensor([0]), append=Tensor([25])), x)
    np.testing.assert_array_equal(extended, [1, 3, 5, 7, 9])
    np.testing.assert_array_equal(both(ops.diff, np.array([True, True, False])), [False, True])
    np.testing.assert_array_equal(slope(ops.diff, np.array([1.0, 2.0, 3.0])), [-1.0, 0.0, 1.0])
    with pytest.raises(ShapeError, match="n >= 0"):
        ops.diff(Tensor(x), -1)
