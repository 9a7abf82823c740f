"""Rows long and costly enough for several vectors at a time: every length, dtype and stride gives what NumPy gives."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.jit.machine import machine, why_not
from tests.backends.native.against_numpy import optimised
from tests.backends.native.sampled import native, vectors_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no native code here: {why_not()}")
RNG = np.random.default_rng(11)
WIDTHS = (32, 64)


def costly(x, y):
    z = ops.tanh(x) * ops.exp(-y * y) + ops.cos(x - y)
    return z, ops.where(z > 0, z, x)


def by_numpy(x, y):
    z = np.tanh(x) * np.exp(-y * y) + np.cos(x - y)
    return z, np.where(z > 0, z, x)


@pytest.mark.some(4)
@pytest.mark.parametrize("nbytes", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("length", [63, 64, 127, 128, 129, 131, 255, 1000, 1055])
def test_every_length(length, dtype, nbytes):
    x, y = RNG.uniform(-3, 3, (2, length)).astype(dtype)
    with vectors_of(nbytes):
        program = native(optimised(costly, x, y))
        got = program(x, y)
        register = machine().vector_bytes // max(4, dtype().itemsize)
    found = {int(n) for n in re.findall(r"call <(\d+) x (?:float|double)> @llvm\.fma", program.source)}
    together = 4 if length >= 64 * register else 2 if length >= 8 * register else 1
    assert max(found) == together * register
    for a, b in zip(got, by_numpy(x, y), strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("nbytes", WIDTHS)
def test_columns_rows_and_single_numbers(nbytes):
    """Operands with other strides than the result: a transposed one, one number for each row, one for each column."""
    x, row, column = RNG.uniform(-2, 2, (200, 7)), RNG.uniform(-2, 2, 200), RNG.uniform(-2, 2, (7, 1))

    def f(x, row, column):
        return ops.exp(ops.sin(x.T) * row) + ops.tanh(column * row) * ops.exp(row)

    with vectors_of(nbytes):
        (got,) = native(optimised(f, x, row, column))(x, row, column)
    want = np.exp(np.sin(x.T) * row) + np.tanh(column * row) * np.exp(row)
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("nbytes", WIDTHS)
@pytest.mark.parametrize("length", [128, 200, 5000])
def test_sums_and_extremes(length, nbytes):
    x = RNG.uniform(-2, 2, (3, length)).astype(np.float32)

    def f(x):
        y = ops.exp(x) * ops.sin(x) - ops.tanh(x)
        return y.sum(1), ops.amax(y, 1), y.sum(), y.sum(0)

    with vectors_of(nbytes):
        got = native(optimised(f, x))(x)
    y = np.exp(x.astype(np.float64)) * np.sin(x.astype(np.float64)) - np.tanh(x.astype(np.float64))
    for a, b in zip(got, (y.sum(1), y.max(1), y.sum(), y.sum(0)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


# ------------------------------------------------------------------------------------------------ 16 bits, f64 between
#: Functions whose result takes its sign from an operand.
SIGNED = {
    "tanh": ops.tanh, "sinh": ops.sinh, "asinh": ops.asinh, "atanh": lambda s: ops.atanh(s / 9999.0), "atan": ops.atan,
    "atan2": lambda s: ops.atan2(s, s + 1.5), "erf": ops.erf, "cbrt": lambda s: ops.abs(s) ** 0.5 * ops.sign(s),
    "log1p": lambda s: ops.log1p(s / 9999.0), "fmod": lambda s: ops.fmod(s, s * 0.0 + 3.0), "mod": lambda s: s % 3.0,
    "pow": lambda s: s**3.0, "power": lambda s: (s / 64.0) ** (s * 0.0 + 3.0),
}  # fmt: skip


def sums(x, p):
    return x.sum(), ops.sum(x * p, 0, True), ops.tanh(x.sum())


def means(x, p):
    return x.mean(), p - ops.mean(x, 0, True), ops.tanh(ops.mean(p, 0, True) - x.mean())


def products(x, p):
    near = 1.0 + x * 0.001
    return near.prod(), p * ops.prod(near, 0, True), ops.tanh(near.prod() - 1.0)


def spread(x, p):
    b = x + ops.tanh(ops.sum(p, 0, True))
    return b, p / (1.5 + ops.mean(x, 0, True)) + b / (1.5 + b.sum()), ops.where(p > ops.sum(b, 0, True), b, p)


def in_a_loop(x, p):
    q = p
    for _ in range(9):
        b = x + ops.tanh(ops.sum(p, 0, True))
        q = p / (1.5 + ops.mean(q, 0, True)) + b / (1.5 + ops.abs(b.sum()))
    return q


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("length", [100, 4096, 4097, 9000])
@pytest.mark.parametrize("f", [sums, means, products, spread, in_a_loop])
def test_16_bits_are_reduced_as_numpy_does(f, length, dtype):
    """Machine code sums in f64: the sum becomes f32, and that 16 bits, in one kernel with what is computed of it.

    The numbers are whole eighths whose sums f32 holds exactly, so that every sum has but one right result.
    """
    x, p = (Tensor((RNG.integers(0, 9, length) / 8).astype(dtype)) for _ in range(2))
    eps = float(ml_dtypes.finfo(dtype).eps)
    got, want = (ms.jit(f, backend=b, unroll_max=1)(x, p) for b in ("native", "numpy"))
    for a, b in zip(*(leaves if isinstance(leaves, tuple) else (leaves,) for leaves in (got, want)), strict=True):
        a, b = (np.asarray(v.asnumpy(), np.float64) for v in (a, b))
        np.testing.assert_allclose(a, b, rtol=2 * eps, atol=2 * eps)
    if f is sums:
        exact = x.asnumpy().astype(np.float64).sum()
        assert got[0].asnumpy() == np.float64(exact).astype(dtype)


@pytest.mark.some(4)
@pytest.mark.parametrize("length", [10, 4097])
@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_the_sign_of_a_sum_of_16_bits(dtype, name, length):
    """A single number, rounded to 16 bits by way of f32, gives its sign to a result that is rounded as well."""

    def f(x, p):
        return x + SIGNED[name](ops.sum(p, 0, True))

    for sign in (-1.0, 1.0):
        p = np.zeros(length)
        p[:5] = 0.5 * sign
        x, p = (Tensor(v.astype(dtype)) for v in (np.zeros(length), p))
        got, want = (ms.jit(f, backend=b)(x, p).asnumpy().astype(np.float64) for b in ("native", "numpy"))
        np.testing.assert_allclose(got, want, rtol=2 * float(ml_dtypes.finfo(dtype).eps))
        assert (got[0] < 0) == (sign < 0 and name != "mod")
