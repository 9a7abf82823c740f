"""Bessel, incomplete gamma and zeta functions, and parts of numbers, against SciPy, NumPy and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.primitives.incomplete_gamma import GammaLogMoment
from autodiff_compiler.primitives.zeta import Zeta

POSITIVE = np.array([0.1, 0.7, 1.0, 2.5, 9.0, 60.0])
BOTH_SIGNS = np.array([-7.0, -1.0, -0.0, 0.0, 0.3, 4.0, 60.0])


# ------------------------------------------------------------------------------------------------ Bessel functions
@pytest.mark.parametrize(
    ("name", "expected", "at"),
    [
        ("bessel_j0", special.j0, BOTH_SIGNS), ("bessel_j1", special.j1, BOTH_SIGNS),
        ("bessel_i0", special.i0, BOTH_SIGNS), ("bessel_i1", special.i1, BOTH_SIGNS), ("i0", np.i0, BOTH_SIGNS),
        ("bessel_i0e", special.i0e, BOTH_SIGNS), ("bessel_i1e", special.i1e, BOTH_SIGNS),
        ("bessel_k0", special.k0, POSITIVE), ("bessel_k1", special.k1, POSITIVE),
        ("bessel_k0e", special.k0e, POSITIVE), ("bessel_k1e", special.k1e, POSITIVE),
        ("bessel_y0", special.y0, POSITIVE), ("bessel_y1", special.y1, POSITIVE), ("sinc", np.sinc, BOTH_SIGNS),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values(modes, name, expected, at, dtype):
    (found,) = modes(getattr(ops, name), at.astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, expected(at.astype(dtype)), rtol=1e-13 if dtype == np.float64 else 2e-6, atol=2e-7
    )


@pytest.mark.parametrize(
    ("name", "slope"),
    [
        ("bessel_j0", lambda x: -special.j1(x)), ("bessel_j1", lambda x: special.jvp(1, x)),
        ("bessel_i0", special.i1), ("bessel_i1", lambda x: special.ivp(1, x)),
        ("bessel_i0e", lambda x: special.i1e(x) - special.i0e(x)), ("bessel_k0", lambda x: -special.k1(x)),
        ("bessel_k1", lambda x: special.kvp(1, x)), ("bessel_k0e", lambda x: special.k0e(x) - special.k1e(x)),
        ("bessel_y0", lambda x: -special.y1(x)), ("bessel_y1", lambda x: special.yvp(1, x)),
        ("sinc", lambda x: np.cos(np.pi * x) / x - np.sin(np.pi * x) / (np.pi * x * x)),
    ],
)  # fmt: skip
def test_slopes_are_those_of_the_handbook(modes, name, slope):
    at = POSITIVE[:5]
    (found,) = modes(ac.grad(lambda x: getattr(ops, name)(x).sum()), at)
    np.testing.assert_allclose(found, slope(at), rtol=1e-11, atol=1e-14)


def test_derivatives_at_zero_are_those_of_the_series():
    """j1 = x/2 - x^3/16 + ..., i0 = 1 + x^2/4 + ..., sinc = 1 - (pi x)^2/6 + ..., of order 1, 2 and 3."""

    def derivative(f, order):
        for _ in range(order):
            f = ac.grad(f)
        return f(Tensor(0.0, ac.float64)).item()

    assert [derivative(ops.bessel_j1, n) for n in (1, 2, 3)] == pytest.approx([1 / 2, 0, -3 / 8])
    assert [derivative(ops.bessel_i0, n) for n in (1, 2, 3)] == pytest.approx([0, 1 / 2, 0])
    assert [derivative(ops.sinc, n) for n in (1, 2)] == pytest.approx([0, -(math.pi**2) / 3])


def test_methods_and_integers():
    assert Tensor([0, 2]).i0().tolist() == pytest.approx(special.i0([0, 2]).tolist(), rel=1e-6)
    assert Tensor([0.0, 1.0, 0.5]).sinc().tolist() == pytest.approx([1, 0, 2 / math.pi], abs=1e-7)
    assert ops.bessel_j0(Tensor([1])).dtype is ac.float32


# ------------------------------------------------------------------------------------------------ gamma and zeta
SHAPES = np.array([0.05, 0.5, 1.0, 3.0, 40.0, 2000.0])
BOUNDS = np.array([0.01, 2.0, 0.7, 5.0, 39.0, 2040.0])


def test_incomplete_gamma_functions(modes):
    np.testing.assert_allclose(modes(ops.igamma, SHAPES, BOUNDS)[0], special.gammainc(SHAPES, BOUNDS), rtol=1e-13)
    np.testing.assert_allclose(modes(ops.igammac, SHAPES, BOUNDS)[0], special.gammaincc(SHAPES, BOUNDS), rtol=1e-13)
    np.testing.assert_allclose(Tensor(2.0).igammac(Tensor([0, 1])).asnumpy(), [1, 2 / math.e], rtol=1e-6)


def test_the_moments_that_derivatives_by_the_shape_need_agree_with_quadrature():
    for a, x in [(0.05, 0.01), (0.5, 2.0), (1.0, 0.7), (3.0, 5.0), (40.0, 39.0)]:
        for n in (1, 2, 3):

            def integrand(w, a=a, n=n):  # in w = log(t), from far to the left where t^a vanishes
                return w**n * math.exp(a * w - math.exp(w) - math.lgamma(a))

            points = [math.log(x) - d for d in (60 / min(a, 1), 30, 10, 3, 1, 0)]
            parts = [integrate.quad(integrand, *p, epsabs=1e-11, epsrel=1e-9) for p in itertools.pairwise(points)]
            found = GammaLogMoment.numpy(np.float64(a), np.float64(x), n=n)
            assert float(found) == pytest.approx(sum(p[0] for p in parts), rel=1e-8)


def test_derivatives_of_the_incomplete_gamma_function_by_its_shape():
    def slope(a, x):  # of order 4 in the step
        p, h = special.gammainc, a * 1e-3
        return (8 * (p(a + h, x) - p(a - h, x)) - (p(a + 2 * h, x) - p(a - 2 * h, x))) / (12 * h)

    shapes, bounds = Tensor(SHAPES), Tensor(BOUNDS)
    found = ac.grad(lambda a: ops.igamma(a, bounds).sum())(shapes).asnumpy()
    np.testing.assert_allclose(found, slope(SHAPES, BOUNDS), rtol=1e-6)
    opposite = ac.grad(lambda a: ops.igammac(a, bounds).sum())(shapes).asnumpy()
    np.testing.assert_array_equal(opposite, -found)
    narrow = ac.grad(lambda a: ops.igamma(a, 15.0))(Tensor(3.0))
    assert narrow.item() == pytest.approx(slope(3.0, 15.0), rel=1e-5)
    # P(1, x) = 1 - exp(-x), and at x = 0 nothing depends on the shape
    np.testing.assert_allclose(ac.grad(lambda x: ops.igamma(1.0, x))(Tensor(2.0)).item(), math.exp(-2), rtol=1e-6)
    assert ac.grad(lambda a: ops.igamma(a, Tensor(0.0)))(Tensor(2.0)).item() == 0


def test_zeta(modes):
    x, q = np.array([1.5, 2.0, 2.0, 4.0, 30.0]), np.array([0.5, 1.0, 3.0, 10.0, 2.0])
    np.testing.assert_allclose(modes(ops.zeta, x, q)[0], special.zeta(x, q), rtol=1e-14)
    assert ops.zeta(Tensor(2.0), 1.0).item() == pytest.approx(math.pi**2 / 6)


def test_derivatives_of_zeta():
    # zeta'(2) = zeta(2) (gamma + log(2 pi) - 12 log A) with Glaisher's constant A (DLMF 25.6.15)
    known = math.pi**2 / 6 * (np.euler_gamma + math.log(2 * math.pi) - 12 * 0.2487544770337843)
    assert float(Zeta.numpy(np.float64(2), np.float64(1), n=1)) == pytest.approx(known, rel=1e-13)
    by_x, by_q = ac.grad(ops.zeta, (0, 1))(Tensor(2.0, ac.float64), Tensor(1.0, ac.float64))
    assert by_x.item() == pytest.approx(known, rel=1e-13)
    assert by_q.item() == pytest.approx(-2 * special.zeta(3), rel=1e-13)
    # the second derivative at 0 < q is the sum of log(k + q)^2 (k + q)^-x
    direct = sum(math.log(k + 0.5) ** 2 * (k + 0.5) ** -8.0 for k in range(2000))
    assert float(Zeta.numpy(np.float64(8), np.float64(0.5), n=2)) == pytest.approx(direct, rel=1e-13)


# ------------------------------------------------------------------------------------------------ parts of numbers
SIGNED = np.array([3.0, -2.0, 0.0, -0.0, math.inf, math.nan])


def test_copysign(modes, derivatives):
    signs = np.array([-1.0, 0.0, -0.0, 5.0, -2.0, -1.0])
    np.testing.assert_array_equal(modes(ops.copysign, SIGNED, signs)[0], np.copysign(SIGNED, signs))
    (found,) = modes(lambda x: ops.copysign(x, -0.0), np.array([1, -2, 0]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(np.signbit(found), True)
    by_x, by_sign = ac.grad(lambda x, y: x.copysign(y).sum(), (0, 1))(
        Tensor([2.0, -2.0, 0.0]), Tensor([-1.0, -1.0, 1.0])
    )
    assert by_x.tolist() == [-1, 1, 0]
    assert by_sign.tolist() == [0, 0, 0]
    derivatives(lambda x: ops.copysign(x, Tensor([-1.0, 1.0])), [0.5, -0.7])


def test_nextafter(modes):
    to = np.array([9.0, -9.0, 1.0, -1.0, 0.0, 1.0])
    for dtype in (np.float64, np.float32, np.float16):
        x, y = SIGNED.astype(dtype), to.astype(dtype)
        np.testing.assert_array_equal(modes(ops.nextafter, x, y)[0], np.nextafter(x, y))
    assert Tensor(1.0).nextafter(Tensor(2.0)).item() == 1 + 2**-23


def test_ldexp_and_float_power(modes, derivatives):
    x, n = np.array([1.0, -3.0, 0.7]), np.array([4, -2, 0], np.int32)
    np.testing.assert_array_equal(modes(ops.ldexp, x, n)[0], np.ldexp(x, n))
    np.testing.assert_array_equal(modes(lambda x: ops.ldexp(x, 3), np.array([1, 3]))[0], np.float32([8, 24]))
    derivatives(lambda x, n: ops.ldexp(x, n), [1.0, -3.0], [0.5, 1.5])
    (found,) = modes(ops.float_power, np.array([1, 2, 3]), np.array([-1, 2, 40]))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.float_power([1, 2, 3], [-1, 2, 40]))


def test_xdivy(modes):
    x, y = np.array([0.0, 0.0, 1.0, 3.0, 0.0]), np.array([0.0, 2.0, 0.0, -4.0, math.nan])
    np.testing.assert_array_equal(modes(ops.xdivy, x, y)[0], [0, 0, math.inf, -0.75, math.nan])
    by_x, by_y = ac.grad(lambda x, y: x.xdivy(y).sum(), (0, 1))(Tensor([0.0, 0.0, 3.0]), Tensor([0.0, 2.0, 4.0]))
    assert by_x.tolist() == [0, 0.5, 0.25]
    assert by_y.tolist() == [0, 0, -3 / 16]


def test_whole_numbers(modes):
    x, y = np.array([12, -18, 0, 0, 7], np.int32), np.array([18, 12, 5, 0, -1], np.int32)
    np.testing.assert_array_equal(modes(ops.gcd, x, y)[0], [6, 6, 5, 0, 1])
    np.testing.assert_array_equal(modes(ops.lcm, x, y)[0], [36, 36, 0, 0, 7])
    assert Tensor([12]).gcd(Tensor([8], ac.int32)).dtype is ac.int64
    (found,) = modes(ops.population_count, np.array([0, 5, -1, -32768], np.int16))
    assert found.dtype == np.uint8
    assert found.tolist() == [0, 2, 16, 1]
    np.testing.assert_array_equal(modes(ops.invert, x)[0], ~x)
    with pytest.raises(DTypeError, match="not defined for float32"):
        ops.gcd(Tensor([1.0]), 2)


def test_complex_parts_of_real_numbers(modes):
    np.testing.assert_array_equal(modes(ops.real, SIGNED)[0], SIGNED)
    np.testing.assert_array_equal(modes(ops.conj, SIGNED)[0], SIGNED)
    np.testing.assert_array_equal(modes(ops.imag, SIGNED)[0], np.zeros(6))
    np.testing.assert_array_equal(modes(ops.isreal, SIGNED)[0], np.ones(6, bool))
    assert ac.grad(lambda x: (ops.real(x) * x.conj()).sum())(Tensor([3.0])).tolist() == [6]


def test_inv_and_eps(modes):
    np.testing.assert_array_equal(modes(ops.inv, np.array([2.0, -4.0]))[0], [0.5, -0.25])
    for dtype in (np.float16, np.float32, np.float64):
        np.testing.assert_array_equal(modes(ops.eps, np.ones(2, dtype))[0], np.full(2, np.finfo(dtype).eps))
    assert ops.eps(Tensor([1.0], ac.bfloat16)).item() == 2**-7
    with pytest.raises(DTypeError, match="defined for floats"):
        ops.eps(Tensor([1]))
