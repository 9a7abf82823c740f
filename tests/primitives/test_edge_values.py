"""Values at the edges: overflow in 16 bits, kinks, sizes, bounds and weights that do not fit; in both modes alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError

MODES = pytest.mark.parametrize("mode", [lambda f: f, ms.jit], ids=["eager", "compiled"])


# ------------------------------------------------------------------------------------------------ 16 bits
@MODES
@pytest.mark.parametrize(
    "pool",
    [
        lambda x: ops.avg_pool2d(x, 55),
        lambda x: ops.avg_pool2d(x, 56),
        lambda x: ops.adaptive_avg_pool2d(x, (1, 3)),
        lambda x: ops.interpolate(x, size=(1, 1), mode="area"),
    ],
)
def test_means_of_windows_do_not_overflow_where_their_sums_do(pool, mode):
    out = mode(pool)(ops.full((1, 1, 56, 56), 30.0, dtype=ms.float16))
    assert out.dtype is ms.float16
    assert set(out.reshape((-1,)).tolist()) == {30.0}


def test_a_covariance_of_16_bit_floats_does_not_overflow():
    x = Tensor(np.tile(np.array([29.0, 31.0], np.float16), (2, 2048)))
    np.testing.assert_allclose(ops.cov(x, correction=0).asnumpy().astype(float), np.ones((2, 2)))


@MODES
@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("gelu", lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
        ("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
        ("silu", lambda x: x / (1 + np.exp(-x))),
        ("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6),
        ("tanhshrink", lambda x: x - np.tanh(x)),
        ("softsign", lambda x: x / (1 + np.abs(x))),
    ],
)
def test_16_bit_activations_are_rounded_once(name, formula, dtype, mode):
    x = Tensor(np.array([-3.0, -1.3, -0.04, 0.3, 2.7])).astype(dtype)
    expected = Tensor(formula(x.astype(ms.float64).asnumpy()).astype(np.float32)).astype(dtype)
    got = mode(lambda a: getattr(ops, name)(a))(x)
    assert got.dtype is dtype
    assert got.tolist() == expected.tolist()


@MODES
def test_tanhshrink_does_not_cancel_near_0(mode):
    x = np.array([1e-6, 1e-3, 0.01, 0.4, 0.999, 1.0, 4.0])
    series = np.where(x < 0.1, x**3 / 3 - 2 * x**5 / 15 + 17 * x**7 / 315 - 62 * x**9 / 2835, x - np.tanh(x))
    shrunk = mode(lambda a: ops.tanhshrink(a))
    np.testing.assert_allclose(shrunk(Tensor(x)).asnumpy(), series, rtol=1e-14)
    np.testing.assert_allclose(shrunk(Tensor(x.astype(np.float32))).asnumpy(), series, rtol=5e-7)


@MODES
@pytest.mark.parametrize(("dtype", "size"), [(np.float16, 257), (np.float32, 2e19), (np.float64, 1e200)])
def test_derivatives_of_gelu_by_tanh_are_finite_for_great_numbers(dtype, size, mode):
    x = Tensor(np.array([size, -size, 40.0, -40.0], dtype))
    slope = ms.grad(lambda a: ops.gelu(a, "tanh").sum())
    assert mode(lambda a: slope(a))(x).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert mode(lambda a: ms.grad(lambda b: slope(b).sum())(a))(x).tolist() == [0.0] * 4


# ------------------------------------------------------------------------------------------------ kinks
@MODES
@pytest.mark.parametrize("order", [0.5, -1, -2, 1.5, 3])
def test_a_vector_norm_has_derivative_0_by_numbers_that_are_0(order, mode):
    slope = mode(lambda a: ms.grad(lambda b: ops.vector_norm(b, order))(a))
    assert slope(Tensor([0.0, 0.0])).tolist() == [0.0, 0.0]
    # One number alone is its own norm, for a negative order 0 beside a 0.
    assert slope(Tensor([0.0, 2.0])).tolist() == pytest.approx([0.0, 1.0 if order > 0 else 0.0])


@MODES
@pytest.mark.parametrize(
    "length", [ops.norm, lambda x: ops.norm(2 * x), lambda x: 2 * ops.norm(x), lambda x: ops.hypot(x[0], x[1])]
)
def test_second_derivatives_of_a_length_at_0_are_0(length, mode):
    assert mode(lambda a: ms.hessian(length)(a))(Tensor([0.0, 0.0])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@MODES
def test_a_triplet_at_distance_0_has_a_finite_gradient(mode):
    slope = ms.grad(lambda a: ops.triplet_margin_loss(a, Tensor([[1.0, 2.0]]), Tensor([[1.0, 2.5]]), eps=0.0))
    # To the positive nothing, away from the negative in the direction of their difference.
    assert mode(lambda a: slope(a))(Tensor([[1.0, 2.0]])).tolist() == [[0.0, 1.0]]


@pytest.mark.filterwarnings("ignore:.*AC2003")
@MODES
def test_powers_of_0_and_extremes_of_two_nans(mode):
    nan = Tensor([math.nan])
    assert mode(lambda a: ms.grad(lambda b: (b**0).sum())(a))(nan).tolist() == [0.0]
    for extreme in (ops.fmax, ops.fmin):
        both = mode(lambda a, f=extreme: ms.grad(lambda b, c: f(b, c).sum(), (0, 1))(a, a * 1))(nan)
        assert [g.tolist() for g in both] == [[0.5], [0.5]]


@MODES
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_second_derivatives_of_a_power_at_exponent_0(dtype, mode):
    """Of x**y: 1/x by both, whatever first, though that be infinite; y (y - 1) x**(y - 2) by x; log(x)**2 by y."""
    info = np.finfo(dtype)
    x = np.array(
        [info.smallest_subnormal, 1 / info.max / 2, -info.smallest_subnormal, math.nan, 0.25, -2.0, 4.0], dtype
    )
    power = lambda a, b: (a**b).sum()
    slopes = [lambda a, b, i=i: ms.grad(power, i)(a, b).sum() for i in (0, 1)]
    second = lambda a, b: tuple(ms.grad(slope, (0, 1))(a, b) for slope in slopes)
    (xx, xy), (yx, yy) = mode(second)(Tensor(x), Tensor(np.zeros_like(x)))
    with np.errstate(all="ignore"):
        inverse, square = np.where(x < 0, np.nan, 1 / x), np.log(x) ** 2  # no derivative by y of negative numbers
    assert np.isinf(inverse[:2]).all()
    np.testing.assert_array_equal(xx.asnumpy(), np.zeros_like(x))
    np.testing.assert_array_equal(xy.asnumpy(), inverse)
    np.testing.assert_allclose(yx.asnumpy(), inverse, rtol=4 * info.eps)
    np.testing.assert_allclose(yy.asnumpy(), square, rtol=8 * info.eps)
    first = mode(lambda a, b: ms.grad(power, (0, 1))(a, b))(Tensor(x), Tensor(np.zeros_like(x)))
    np.testing.assert_array_equal(first[0].asnumpy(), np.zeros_like(x))


@MODES
def test_0_to_the_power_of_0_counts_as_constant(mode):
    """Derivatives of both orders by base and exponent, in all their orders."""
    zero = Tensor([0.0])
    slopes = [lambda a, b, i=i: ms.grad(lambda c, d: (c**d).sum(), i)(a, b).sum() for i in (0, 1)]
    second = mode(lambda a, b: tuple(ms.grad(slope, (0, 1))(a, b) for slope in slopes))
    assert [[g.tolist() for g in pair] for pair in second(zero, zero * 1)] == [[[0.0], [0.0]], [[0.0], [0.0]]]


@MODES
def test_the_second_derivative_of_a_determinant_at_singular_matrices(mode):
    hessian = mode(lambda a: ms.hessian(ops.det)(a))
    expected = np.zeros((2, 2, 2, 2))  # of x00 x11 - x01 x10, everywhere
    expected[0, 0, 1, 1] = expected[1, 1, 0, 0] = 1
    expected[0, 1, 1, 0] = expected[1, 0, 0, 1] = -1
    for x in ([[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]]):
        np.testing.assert_allclose(hessian(Tensor(np.array(x))).asnumpy(), expected, atol=1e-14)
    rank_1 = np.zeros((3, 3))
    rank_1[0, 0] = 5.0
    assert hessian(Tensor(rank_1)).asnumpy()[1, 1, 2, 2] == pytest.approx(5.0)


# ------------------------------------------------------------------------------------------------ sizes and numbers
@MODES
@pytest.mark.parametrize(
    "made",
    [
        lambda x: ops.zeros((2, -1)) + x.sum(),
        lambda x: ops.ones((2, -1)) + x.sum(),
        lambda x: ops.full((2, -1), 3.0) + x.sum(),
        lambda x: ops.full((2, -1), x[0]),
        lambda x: ops.rand(2, -1) + x.sum(),
        lambda x: ops.uniform((2, -1), 0.0, 1.0) + x.sum(),
        lambda x: ops.randperm(-2) + x.sum(),
        lambda x: x.new_zeros((2, -1)),
        lambda x: ops.scatter_nd(Tensor([[0]]), x[:1], (-2,)),
        lambda x: ops.multinomial(x, -2),
        lambda x: ops.sequence_mask(x, -2),
        lambda x: ops.unsorted_segment_sum(x, Tensor([0, 1]), -2),
        lambda x: ops.eye(-2) + x.sum(),
    ],
)
def test_negative_sizes_are_refused(made, mode):
    with pytest.raises(ShapeError) as caught:
        mode(made)(Tensor([1.0, 2.0]))
    assert (caught.value.loc is not None) == (mode is ms.jit)


@MODES
def test_comparisons_with_ints_that_the_dtype_does_not_hold(mode):
    x, y = np.array([-128, 0, 127], np.int8), np.array([0, 255], np.uint8)
    for number in (300, -300, 127, -128):
        got = mode(lambda a, n=number: (a < n, a >= n, n < a, a == n, a != n))(Tensor(x))
        wide = x.astype(int)
        expected = (wide < number, wide >= number, number < wide, wide == number, wide != number)
        assert [g.tolist() for g in got] == [e.tolist() for e in expected]
    assert mode(lambda a: a > -1)(Tensor(y)).tolist() == [True, True]


@MODES
def test_numbers_that_a_dtype_does_not_hold_are_refused(mode):
    with pytest.raises(OverflowError, match="nan does not fit in int64"):
        mode(lambda a: ops.full_like(a, math.nan))(Tensor([1]))
    with pytest.raises(ValueError, match="finite"):
        mode(lambda a: a + ops.arange(0, math.inf))(Tensor([1.0]))
    with pytest.raises(ShapeError, match="at least one dimension"):
        ops.nonzero(Tensor(3))


@MODES
def test_extremes_and_variances_at_their_edges(mode):
    rows, ids = Tensor([-math.inf, 1.0]), Tensor([0, 1])
    least = float(np.finfo(np.float32).min)
    assert mode(lambda a: ops.unsorted_segment_max(a, ids, 3))(rows).tolist() == [-math.inf, 1.0, least]
    assert mode(lambda a: ops.var(a, 0, 0.5))(Tensor([0.0, 3.0])).item() == pytest.approx(4.5 / 1.5)
    assert mode(lambda a: ops.round(a, decimals=400))(Tensor([0.25])).tolist() == [0.25]
    assert mode(lambda a: ops.round(a, decimals=-400))(Tensor([0.25])).tolist() == [0.0]
    assert mode(lambda a: ops.combinations(a, 0))(Tensor([1.0, 2.0])).shape == (1, 0)


# ------------------------------------------------------------------------------------------------ draws
@MODES
def test_uniform_numbers_stay_below_their_bound(mode):
    ms.set_seed(1)
    drawn = mode(lambda low: ops.uniform((200000,), low, 101.0))(Tensor(100.99999, ms.float32)).asnumpy()
    assert drawn.min() >= np.float32(100.99999)
    assert drawn.max() < np.float32(101.0)


@MODES
@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf]])
def test_weights_that_say_nothing_are_refused(weights, mode):
    with pytest.raises(ValueError, match="to draw by"):
        mode(lambda w: ops.multinomial(w, 2))(Tensor(weights))


@MODES
def test_draws_without_replacement_need_as_many_weights(mode):
    with pytest.raises(ValueError, match="2 needed"):
        mode(lambda w: ops.multinomial(w, 2, False))(Tensor([0.0, 1.0, 0.0]))
    with pytest.raises(ValueError, match="mean of a Poisson distribution"):
        mode(lambda m: ops.poisson((2,), m))(Tensor(math.inf))


def test_attributes_of_both_zeros_are_two_attributes() -> None:
    def f(x):
        return 1 / ops.pad(x, (1, 0), value=0.0), 1 / ops.pad(x, (1, 0), value=-0.0)

    for level in (0, 1, 2):
        above, below = ms.jit(f, optimize=level)(ms.Tensor([1.0]))
        assert above.asnumpy()[0] == math.inf
        assert below.asnumpy()[0] == -math.inf
