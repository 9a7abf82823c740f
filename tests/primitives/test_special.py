"""Functions of elements against NumPy and SciPy, and what no finite difference sees: kinks, overflow, cancellation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.dtypes import bfloat16
from autodiff_compiler.errors import DTypeError, ShapeError
from tests.agreement import assert_same

INF, NAN = math.inf, math.nan


@pytest.fixture
def both():
    """The result of a function in eager mode, after checking that compiled code gives the same bits and dtype."""

    def compute(fn, *arrays):
        tensors = [Tensor(np.asarray(a)) for a in arrays]
        found = fn(*tensors).asnumpy()
        compiled = ms.jit(fn)(*tensors).asnumpy()
        assert compiled.dtype == found.dtype
        assert_same(compiled, found, each=True)
        return found

    return compute


# ------------------------------------------------------------------------------------------------ values
REFERENCE = {
    "expm1": np.expm1, "exp2": np.exp2, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "reciprocal": np.reciprocal, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv,
    "lgamma": special.gammaln, "digamma": special.psi, "softplus": lambda x: np.logaddexp(x, 0),
    "logit": special.logit, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
    "sign": np.sign, "square": np.square, "frac": lambda x: x - np.trunc(x), "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
    "isposinf": np.isposinf, "isneginf": np.isneginf, "nan_to_num": np.nan_to_num,
}  # fmt: skip
POINTS = np.array([0.0, -0.0, 0.3, -0.7, 0.5, 1.0, -1.0, 1.5, -2.5, 3.0, 40.0, INF, -INF, NAN])


@pytest.mark.parametrize("name", REFERENCE)
def test_functions_of_one_operand_agree_with_numpy_and_scipy(both, name):
    function = getattr(ops, name)
    with np.errstate(all="ignore"):
        expected = REFERENCE[name](POINTS)
        np.testing.assert_allclose(both(function, POINTS), expected, rtol=3e-15, atol=1e-300)
        expected = np.asarray(REFERENCE[name](POINTS.astype(np.float32)))
        got = both(function, POINTS.astype(np.float32))
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=5e-7)


@pytest.mark.parametrize("name", ["log1p", "tan", "erf", "lgamma", "softplus", "reciprocal", "atan"])
def test_integers_and_bools_become_float32(both, name):
    for x in (np.array([1, 2, 3], np.int8), np.array([True, True])):
        got = both(getattr(ops, name), x)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, REFERENCE[name](x.astype(np.float32)), rtol=5e-7)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_integers_are_whole_already(both, name):
    x = np.array([-7, 2**62 + 1])
    np.testing.assert_array_equal(both(getattr(ops, name), x), x)


@pytest.mark.parametrize("name", ["erf", "lgamma", "digamma", "erfinv", "erfc"])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), bfloat16.numpy], ids=["f16", "bf16"])
def test_narrow_floats_are_rounded_once(both, name, dtype):
    x = np.linspace(0.1, 0.9, 9).astype(dtype)
    expected = getattr(special, {"lgamma": "gammaln"}.get(name, name))(x.astype(np.float32)).astype(dtype)
    got = both(getattr(ops, name), x)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_polygamma(both, n):
    x = np.array([0.5, 1.0, 3.25, 40.0])
    np.testing.assert_allclose(both(lambda x: ops.polygamma(n, x), x), special.polygamma(n, x), rtol=1e-14)


def test_polygamma_wants_an_order():
    with pytest.raises(ShapeError, match="n >= 0"):
        ops.polygamma(-1, Tensor([1.0]))
    with pytest.raises(TypeError, match="must be an int"):
        ops.polygamma(True, Tensor([1.0]))


def test_multivariate_gamma(both):
    x = np.array([2.5, 7.0])
    np.testing.assert_allclose(both(lambda x: ops.mvlgamma(x, 3), x), special.multigammaln(x, 3), rtol=1e-14)


A = np.array([0.0, 0.0, 0.0, 2.0, -3.0, 5.5, -5.5, INF, -INF, -INF, NAN])
B = np.array([0.0, -1.0, INF, 0.5, 4.0, -2.0, 2.0, INF, -INF, 1.0, 1.0])
PAIRS = {
    "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2,
    "xlogy": special.xlogy, "fmod": np.fmod, "remainder": np.remainder, "fmax": np.fmax, "fmin": np.fmin,
    "floor_divide": np.floor_divide, "heaviside": np.heaviside, "isclose": np.isclose,
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_operands_agree_with_numpy_and_scipy(both, name):
    function = getattr(ops, name)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(both(function, A, B), PAIRS[name](A, B), rtol=1e-15)
        column = A[:, None].astype(np.float32)
        got = both(function, column, B.astype(np.float32))
        expected = PAIRS[name](column, B.astype(np.float32))
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize(("x", "y"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, -5)])
def test_quotients_and_remainders_of_integers(both, x, y):
    x, y = np.array(x, np.int32), np.array(y, np.int32)
    assert both(ops.floor_divide, x, y) == int(x) // int(y)
    assert both(ops.mod, x, y) == int(x) % int(y)
    assert both(ops.truncate_div, x, y) == int(int(x) / int(y))
    assert both(ops.truncate_mod, x, y) == math.fmod(x, y)
    for fn in (ops.floor_divide, ops.mod, ops.truncate_div, ops.truncate_mod):
        assert both(fn, x, y).dtype == np.int32


def test_bits(both):
    x, y = np.array([5, -5, 1], np.int32), np.array([1, 2, 31], np.int32)
    np.testing.assert_array_equal(both(ops.bitwise_not, x), ~x)
    np.testing.assert_array_equal(both(ops.bitwise_left_shift, x, y), x << y)
    np.testing.assert_array_equal(both(ops.bitwise_right_shift, x, y), x >> y)
    np.testing.assert_array_equal(both(lambda x: x.bitwise_not() ^ (x << 2), x), ~x ^ (x << 2))
    np.testing.assert_array_equal(both(ops.bitwise_not, np.array([True, False])), [False, True])
    with pytest.raises(DTypeError, match="not defined for float32"):
        ops.bitwise_left_shift(Tensor([1.0]), 1)


def test_round_to_decimals(both):
    x = np.array([0.5, 1.5, -2.5, 12.345, -1678.0])
    for decimals in (-2, 0, 1, 2):
        np.testing.assert_allclose(
            both(lambda x: ops.round(x, decimals=decimals), x), np.round(x, decimals), rtol=1e-15
        )


def test_what_replaces_numbers_that_are_none(both):
    x = np.array([NAN, INF, -INF, 1.5])
    for dtype in (np.float16, np.float32, np.float64):
        np.testing.assert_array_equal(both(ops.nan_to_num, x.astype(dtype)), np.nan_to_num(x.astype(dtype)))
    import ml_dtypes

    largest = float(ml_dtypes.finfo(bfloat16.numpy).max)
    got = both(ops.nan_to_num, x.astype(bfloat16.numpy)).astype(np.float64)
    np.testing.assert_array_equal(got, [0.0, largest, -largest, 1.5])
    np.testing.assert_array_equal(both(lambda x: ops.nan_to_num(x, 7.0, 8.0, 9.0), x), [7.0, 8.0, 9.0, 1.5])
    assert ms.grad(ops.nan_to_num)(Tensor(x)).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_is_it_a_number_of_integers(both):
    x = np.array([0, -3])
    for name, expected in (("isnan", False), ("isinf", False), ("isfinite", True)):
        np.testing.assert_array_equal(both(getattr(ops, name), x), [expected] * 2)
    np.testing.assert_array_equal(both(ops.signbit, x), [False, True])


def test_close(both):
    x, y = np.array([1.0, INF, NAN, 1.0, INF]), np.array([1.0 + 5e-6, INF, NAN, 1.1, -INF])
    for equal_nan in (False, True):
        got = both(lambda x, y: ops.isclose(x, y, equal_nan=equal_nan), x, y)
        np.testing.assert_array_equal(got, np.isclose(x, y, equal_nan=equal_nan))
    np.testing.assert_array_equal(both(ops.isclose, np.array([1, 2]), np.array([1, 3])), [True, False])


# ------------------------------------------------------------------------------------------------ bounds
def test_clamp(both):
    x = np.array([-3.0, -1.0, 0.0, 1.0, 3.0, NAN])
    np.testing.assert_array_equal(both(lambda x: x.clamp(-1.0, 1.0), x), np.clip(x, -1.0, 1.0))
    np.testing.assert_array_equal(both(lambda x: ops.clip(x, max=0.5), x), np.minimum(x, 0.5))
    np.testing.assert_array_equal(both(lambda x: ops.clamp(x, 2, 1), x), np.clip(x, 2, 1))
    low, high = np.array([[0.0], [-2.0]]), np.full(6, 0.5)
    np.testing.assert_array_equal(both(ops.clamp, x, low, high), np.clip(x, low, high))
    np.testing.assert_array_equal(both(lambda x: x.clip(1, 2), np.array([0, 2, 5], np.int8)), np.int8([1, 2, 2]))
    with pytest.raises(ValueError, match="at least one bound"):
        ops.clamp(Tensor(x))


def test_the_two_ways_to_clip_differ_at_the_bounds():
    x = Tensor([-3.0, -1.0, 0.0, 1.0, 3.0])
    assert ms.grad(lambda x: x.clamp(-1.0, 1.0))(x).tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert ms.grad(lambda x: ops.clip_by_value(x, -1.0, 1.0))(x).tolist() == [0.0, 0.5, 1.0, 0.5, 0.0]
    low, high = ms.grad(lambda x, low, high: ops.clamp(x, low, high), (1, 2))(x, Tensor(-1.0), Tensor(1.0))
    assert (low.item(), high.item()) == (1.0, 1.0)  # one element is below, one above


def test_softplus_with_a_slope_and_a_threshold(both):
    x = np.array([-3.0, 0.0, 0.4, 3.0, 800.0])
    np.testing.assert_allclose(both(lambda x: ops.softplus(x, 2), x), np.logaddexp(2 * x, 0) / 2, rtol=1e-15)
    cut = both(lambda x: ops.softplus(x, 2, 1), x)
    np.testing.assert_allclose(cut, np.where(2 * x > 1, x, np.logaddexp(2 * x, 0) / 2), rtol=1e-15)
    with pytest.raises(ValueError, match="positive number"):
        ops.softplus(Tensor(x), 0)


def test_small_composites(both):
    x, y, w = np.array([1.0, -2.0]), np.array([3.0, 5.0]), np.array([0.25, 4.0])
    np.testing.assert_allclose(both(ops.lerp, x, y, w), x + w * (y - x))
    np.testing.assert_allclose(both(lambda x, y: ops.lerp(x, y, 0.5), x, y), (x + y) / 2)
    np.testing.assert_allclose(both(lambda x, y, w: ops.addcmul(x, y, w, 2), x, y, w), x + 2 * y * w)
    np.testing.assert_allclose(both(lambda x, y, w: ops.addcdiv(x, y, w, 2), x, y, w), x + 2 * y / w)
    np.testing.assert_array_equal(both(ops.positive, x), x)
    assert ops.is_floating_point(Tensor(x))
    assert not ops.is_floating_point(Tensor([1]))
    assert not ops.is_complex(Tensor(x))


def test_other_names_of_the_same_function():
    names = {
        "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
        "arccosh": "acosh", "arctanh": "atanh", "fix": "trunc", "gammaln": "lgamma", "clip": "clamp",
    }  # fmt: skip
    for alias, name in names.items():
        assert getattr(ops, alias) is getattr(ops, name)
    x = Tensor([-0.5, 0.25])
    assert ops.arcsin(x=x).tolist() == ops.asin(input=x).tolist()  # the same with other names of the arguments
    assert ops.floormod(x=x, y=0.4).tolist() == ops.mod(input=x, other=0.4).tolist()
    assert ops.sgn(Tensor([-2.0, 0.0, 3.0])).tolist() == [-1.0, 0.0, 1.0]


# ------------------------------------------------------------------------------------------------ derivatives
def _slopes(fn, *arrays, order=1):
    """The derivative of the sum of fn in eager mode, after checking that compiled code has the same."""
    derived = fn
    for _ in range(order):
        derived = ms.grad(derived)
    tensors = [Tensor(np.asarray(a)) for a in arrays]
    found = derived(*tensors).asnumpy()
    np.testing.assert_allclose(ms.jit(derived)(*tensors).asnumpy(), found, rtol=1e-14)
    return found


def test_derivatives_neither_overflow_nor_cancel():
    np.testing.assert_allclose(_slopes(ops.asinh, np.float32([1e30])), [1e-30], rtol=1e-6)
    np.testing.assert_allclose(_slopes(ops.acosh, np.float32([1e30])), [1e-30], rtol=1e-6)
    np.testing.assert_allclose(_slopes(ops.hypot, np.float32([3e30]), np.float32([4e30])), [0.6], rtol=1e-6)
    np.testing.assert_allclose(_slopes(ops.atan2, np.float32([3e30]), np.float32([4e30])), [1.6e-31], rtol=1e-6)
    np.testing.assert_allclose(_slopes(ops.expm1, [-40.0]), [math.exp(-40.0)], rtol=1e-15)
    near = 1 - 2.0**-40
    np.testing.assert_allclose(_slopes(ops.asin, [near]), [1 / math.sqrt(2.0**-39 - 2.0**-80)], rtol=1e-14)
    np.testing.assert_allclose(_slopes(ops.softplus, [-800.0, 0.0, 800.0]), [0.0, 0.5, 1.0])


def test_second_derivatives_by_their_formulas():
    x = np.array([0.3, -0.6, 0.8])
    np.testing.assert_allclose(_slopes(ops.atan, x, order=2), -2 * x / (1 + x * x) ** 2, rtol=1e-13)
    np.testing.assert_allclose(_slopes(ops.erf, x, order=2), -4 * x * np.exp(-x * x) / math.sqrt(math.pi), rtol=1e-13)
    np.testing.assert_allclose(_slopes(ops.asin, x, order=2), x / (1 - x * x) ** 1.5, rtol=1e-13)
    np.testing.assert_allclose(_slopes(ops.log1p, x, order=2), -1 / (1 + x) ** 2, rtol=1e-13)
    s = special.expit(x)
    np.testing.assert_allclose(_slopes(ops.softplus, x, order=2), s * (1 - s), rtol=1e-13)
    y = np.array([0.7, 2.5])
    np.testing.assert_allclose(_slopes(ops.lgamma, y, order=2), special.polygamma(1, y), rtol=1e-13)
    np.testing.assert_allclose(_slopes(ops.lgamma, y, order=3), special.polygamma(2, y), rtol=1e-13)
    np.testing.assert_allclose(_slopes(ops.rsqrt, y, order=2), 0.75 * y**-2.5, rtol=1e-13)
    np.testing.assert_allclose(_slopes(ops.cbrt, y, order=2), -2 / 9 * y ** (-5 / 3), rtol=1e-13)


def test_entropy_is_differentiable_where_a_probability_is_zero():
    p = np.array([0.0, 0.25, 0.75])
    target = np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(_slopes(lambda q, t: ops.xlogy(t, q), p, target), [0.0, 4.0, 0.0])
    np.testing.assert_allclose(_slopes(lambda t, q: ops.xlogy(t, q), target, np.array([0.5, 2.0, 0.0])),
                               [math.log(0.5), math.log(2.0), 0.0])  # fmt: skip
    # d2/dx dy of x log(y) is 1 / y at x = 0 too
    mixed = _slopes(lambda y, x: ms.grad(ops.xlogy, 0)(x, y), np.array([4.0]), np.array([0.0]))
    np.testing.assert_allclose(mixed, [0.25])


def test_equal_operands_of_logaddexp_have_a_curvature():
    np.testing.assert_allclose(_slopes(ops.logaddexp, [1.0, 1.0], [1.0, 3.0], order=2),
                               special.expit([0.0, -2.0]) * special.expit([0.0, 2.0]), rtol=1e-14)  # fmt: skip


def test_steps_have_no_slope():
    x = np.array([-1.3, 0.2, 2.7])
    for name in ("floor", "ceil", "round", "trunc", "sign"):
        np.testing.assert_array_equal(_slopes(getattr(ops, name), x), 0.0)
    np.testing.assert_array_equal(_slopes(ops.frac, x), 1.0)


# ------------------------------------------------------------------------------------------------ Python numbers
def _of_a_number(x):
    k = float(x)
    whole = math.floor(k) + math.ceil(k) * 10 + math.trunc(-k) * 100
    return whole, math.erf(k), math.lgamma(k), math.isnan(k), math.isfinite(k), 7 // math.floor(k)


def test_functions_of_math_take_numbers_known_at_run_time_and_keep_their_kind():
    x = Tensor(2.5, ms.float64)
    got, expected = ms.jit(_of_a_number)(x), _of_a_number(x)
    assert got == pytest.approx(expected, rel=1e-15)
    assert list(map(type, got)) == list(map(type, expected))


# ------------------------------------------------------------------------------------------------ errors
def test_complex_numbers_are_refused():
    for attempt in (lambda: Tensor([1j]), lambda: Tensor(np.ones(2, np.complex64)), lambda: ops.sin(np.array([1j]))):
        with pytest.raises(TypeError, match="complex"):
            attempt()
    with pytest.raises(DTypeError, match="cannot combine a Tensor with a complex") as caught:
        ops.mul(Tensor([1.0]), 1j)
    assert "real and imaginary" in str(caught.value)
