"""The mode that fills memory with NaN and puts guards behind buffers: what it shows, and that nothing is to be seen."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.backends.native.control import collecting
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.native.lower import OPS
from autodiff_compiler.backends.native.memory.poison import Apart
from autodiff_compiler.dtypes import float16, float32, int64
from tests.backends.native.against_numpy import ONE, X, f64, optimised, same
from tests.backends.native.sampled import WITH_SAMPLES, assert_like_numpy, modules_of, native
from tests.backends.native.test_control_flow import PROGRAMS, total

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


@pytest.fixture(autouse=True)
def _poisoned(monkeypatch):
    monkeypatch.setenv("AC_POISON", "1")


# ------------------------------------------------------------------------------------------------ what it shows
def test_writes_behind_buffers_are_errors(monkeypatch):
    """Guards that begin one byte before the end of their buffers are written over."""
    place = Apart.place

    def too_early(self, nbytes):
        found = place(self, nbytes)
        self.guards[-1] = (found + nbytes - 1, self.end)
        return found

    def f(x):
        return x.sum(0) * x

    x = f64(3, 5)
    np.testing.assert_allclose(native(optimised(f, x))(x)[0], x.sum(0) * x)
    monkeypatch.setattr(Apart, "place", too_early)
    with pytest.raises(SystemError, match="wrote beside a buffer"):
        native(optimised(f, x))(x)


def test_results_that_are_not_written_are_nan(monkeypatch):
    monkeypatch.setitem(OPS, "concat", lambda low, op: low.target(op.results[0]))
    module = optimised(lambda x: ops.concat((x, x + 1.0)), X)
    assert np.isnan(native(module)(X)[0]).all()


def test_what_is_kept_for_derivatives_is_nan_before_it_is_written(monkeypatch):
    def f(x, n):
        def run(x):
            i = n * 0
            while i < n:
                x = x * x * 0.5
                i = i + 1
            return x.sum()

        return ms.grad(run)(x)

    x, n = f64(4) * 0.1 + 1.0, np.array(40)
    module = optimised(f, x, n)
    assert np.isfinite(native(module)(x, n)[0]).all()
    monkeypatch.setattr(collecting, "_write_leaves", lambda *args: None)
    assert np.isnan(native(module)(x, n)[0]).all()


def test_it_is_asked_for_each_program(monkeypatch):
    module = optimised(lambda x: x.sum(0) * x, f64(3, 5))
    poisoned = native(module)
    monkeypatch.setenv("AC_POISON", "0")
    plain = native(module)
    assert poisoned.signature.poison
    assert not plain.signature.poison
    assert "guards" in poisoned.source
    assert "guards" not in plain.source
    assert poisoned.data is None  # never kept for another process


# ------------------------------------------------------------------------------------------------ what there is to see
@pytest.mark.some(2)
@pytest.mark.parametrize("name", WITH_SAMPLES[::16])
def test_samples(name):
    """All of them ran as well, by `AC_POISON=1 pytest tests/backends/native`."""
    for what, dtype, module, arrays in modules_of(name, (float32, float16, int64)):
        assert_like_numpy(module, arrays, f"{what} of {name} of {dtype}")


@pytest.mark.parametrize("name", [*PROGRAMS][::3])
def test_control_flow(name):
    f, *xs = PROGRAMS[name]
    same(f, *xs)


@pytest.mark.parametrize("name", ["scalars", "nested", "early", "rotation"])
def test_derivatives_of_control_flow(name):
    f, *xs = PROGRAMS[name]
    whole, wrt = total(f), tuple(range(len(xs)))
    same(lambda *xs: ms.value_and_grad(whole, wrt)(*xs), *xs, within=16)


@pytest.mark.parametrize("shape", [(1,), (7, 3), (5, 17), (33, 65), (2, 3, 31)])
def test_sizes_that_are_no_multiple_of_vectors(shape):
    def f(x, s):
        y = ops.softmax(x * s, -1)
        return y, y.sum(0), ops.cumsum(y, 0), (y.T if y.ndim == 2 else y) * 2.0, x.max(), y[::-1]

    same(f, f64(*shape), ONE, within=16)
    same(f, f64(*shape).astype(np.float32), ONE.astype(np.float32), within=64)


@pytest.mark.some(3)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (9, 17, 33), (31, 2, 65), (70, 70, 70)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_products(sizes, dtype):
    m, k, n = sizes
    a, b = f64(m, k).astype(dtype), f64(k, n).astype(dtype)
    module = optimised(lambda a, b: (a @ b, b.T @ a.T, a.T @ a), a, b)
    assert_like_numpy(module, [a, b], f"products of {sizes}")
