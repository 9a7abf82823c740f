"""``optimize=0`` leaves out the passes that only make programs better, and changes no result."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.frontend.lower import lower
from autodiff_compiler.frontend.lowering import TensorArgument
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
