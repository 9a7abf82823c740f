"""Slices whose bounds are formulas of sizes that only a call knows: one program, and NumPy's values at each size."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from tests.programs.compare import define

#: Slices of x [n, m], and the slice as NumPy takes it.
SLICES = (
    "x[n:-3:-2]",
    "x[m:-3:-2]",
    "x[m - 4 : n - m : -1]",
    "x[n // 2 :: -1]",
    "x[: n // 2 : -1]",
    "x[-m::-1]",
    "x[::-2, m - 2 :: -3]",
    "x[n - 1 : n - 4 : -1, m : 0 : -1]",
    "x[n - m : m, : m - n]",
    "x[-3::-2]",
    "x[-3:0:-1]",
    "x[m - 3 : n - 4 : -1, ::-1]",
    "x[:0:-1, -2::-1]",
)
CALLS = ((4, 3), (2, 5), (1, 1), (3, 4), (0, 2), (7, 7), (5, 1), (3, 0), (9, 2), (2, 2))


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("taken", SLICES)
def test_assignment(taken, backend):
    f = define(f"def f(x):\n    n, m = x.shape\n    y = x * 1\n    {taken.replace('x', 'y', 1)} = 7.0\n    return y\n")
    compiled = ms.jit(f, dynamic=True, backend=backend)
    for n, m in CALLS:
        x = np.arange(1.0, n * m + 1).reshape(n, m)
        found = compiled(Tensor(x)).asnumpy()
        eval(taken, {"x": x, "n": n, "m": m})[...] = 7.0
        np.testing.assert_array_equal(found, x, f"{n}, {m}")


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("taken", SLICES)
def test_slices(taken, backend):
    f = define(f"def f(x):\n    n, m = x.shape\n    return {taken} * 2\n")
    compiled = ms.jit(f, dynamic=True, backend=backend)
    gradient = ms.jit(ms.grad(lambda x: (f(x) * f(x)).sum()), dynamic=True, backend=backend)
    for n, m in CALLS:
        x = np.arange(1.0, n * m + 1).reshape(n, m)
        expected = eval(taken, {"x": x, "n": n, "m": m})
        np.testing.assert_array_equal(compiled(Tensor(x)).asnumpy(), 2 * expected, f"{n}, {m}")
        marked = np.zeros((n, m))
        eval(taken, {"x": marked, "n": n, "m": m})[...] = 8 * expected
        np.testing.assert_array_equal(gradient(Tensor(x)).asnumpy(), marked, f"{n}, {m}")
