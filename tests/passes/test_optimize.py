"""``optimize=0`` leaves out the passes that only make programs better, and changes no result."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.frontend.interpreter.interpreter import TensorArgument
from autodiff_compiler.frontend.lower import lower
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.passes.manager import REWRITES


def slope(x):
    return ms.grad(lambda v: (ms.ops.tanh(v * 1.0 + 0.0) * v).sum())(x)


@pytest.fixture
def level(request):
    before = ms.get_context("optimize")
    ms.set_context(optimize=request.param)
    yield request.param
    ms.set_context(optimize=before)


@pytest.mark.parametrize("level", [0, 1, 2], indirect=True)
def test_which_passes_run(level):
    lowered = lower(slope, [TensorArgument(tensor(ms.float64, (3,)))], {})
    ran = {report.name for report in optimise(lowered.module).reports}
    assert {"lift_state", "expand_grad", "inline"} <= ran
    assert ran & REWRITES == (REWRITES if level else set())


@pytest.mark.parametrize("level", [0, 2], indirect=True)
def test_results(level):
    x = np.array([0.5, -1.0, 2.0])
    expected = np.tanh(x) + x / np.cosh(x) ** 2
    np.testing.assert_allclose(ms.jit(slope)(ms.Tensor(x)).asnumpy(), expected, rtol=1e-14)


# ------------------------------------------------------------------------------------------------ powers
def to_one(x):
    return x**1


def to_one_as_float(x):
    return x**1.0


def to_none(x):
    return x**0


NUMBERS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -3.5, 2.0]


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "bool"])
def test_powers_of_one_and_zero(backend, dtype):
    """The number itself, of its dtype and with its sign, and one; NumPy says what `bool` and integers become."""
    x = np.array(NUMBERS if dtype.startswith("float") else [0, 1, 2, 5], dtype)
    for fn, wanted in ((to_one, x), (to_one_as_float, x), (to_none, np.ones_like(x))):
        if fn is to_one_as_float and not dtype.startswith("float"):
            wanted = wanted.astype(np.float32)
        elif dtype == "bool":
            wanted = wanted.astype(np.int64)
        compiled = ms.jit(fn, backend=backend)
        found = compiled(ms.Tensor(x)).asnumpy()
        assert (found.dtype, found.tobytes()) == (wanted.dtype, wanted.tobytes()), fn
        assert "pow" not in compiled.lower(ms.Tensor(x)).ir("opt").partition("{")[2]


@pytest.mark.filterwarnings("ignore:.*AC2003")
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_gradients_of_powers_of_one_and_zero(backend):
    x = ms.Tensor(np.array(NUMBERS, np.float32))
    for fn, slope in ((to_one, 1.0), (to_one_as_float, 1.0), (to_none, 0.0)):
        derived = ms.jit(ms.grad(fn), backend=backend)
        assert derived(x).tolist() == [slope] * len(NUMBERS)
        assert ms.grad(lambda v, fn=fn: fn(v).sum())(x).tolist() == [slope] * len(NUMBERS)
        assert "pow" not in derived.lower(x).ir("opt").partition("{")[2]
