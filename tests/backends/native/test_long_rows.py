"""Rows long and costly enough for several vectors at a time: every length, dtype and stride gives what NumPy gives."""

from __future__ import annotations

import re

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler.backends.native.machine import why_not
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


@pytest.mark.parametrize("nbytes", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("length", [63, 64, 127, 128, 129, 131, 255, 1000, 1055])
def test_every_length(length, dtype, nbytes):
    x, y = RNG.uniform(-3, 3, (2, length)).astype(dtype)
    with vectors_of(nbytes):
        program = native(optimised(costly, x, y))
        got = program(x, y)
        register = nbytes // max(4, dtype().itemsize)
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
