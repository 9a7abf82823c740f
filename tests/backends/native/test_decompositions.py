"""Ops that are written as others: powers by known exponents, one-hot rows, sums behind axes of size 1."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.primitives import F
from tests.backends.native.against_numpy import ulps
from tests.backends.native.sampled import module_for, native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 2.5])
def test_powers_by_known_exponents(exponent: float) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(3000) * 10.0 ** rng.integers(-12, 12, 3000)).astype(np.float32)
    x = np.concatenate([x, np.array(SPECIAL, np.float32)])
    module = module_for(lambda v: F.pow(v, exponent), x)
    with np.errstate(all="ignore"):
        # A number for each element: of one exponent NumPy takes a root, which of -inf is nan.
        narrow = np.power(x.astype(float), np.full(x.shape, exponent)).astype(np.float32)
    (got,) = native(module)(x)
    assert ulps(got, narrow) <= 2
    zero = narrow == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(narrow[zero]))


def test_one_hot_of_indices_that_no_short_integer_has() -> None:
    index = np.array([1, 2**32 + 1, -1, -(2**32) + 1, 4, 0])
    (got,) = native(module_for(lambda i: F.one_hot(i, depth=4, axis=-1, dtype="int32"), index))(index)
    assert got.tolist() == [[0, 1, 0, 0], [0] * 4, [0] * 4, [0] * 4, [0] * 4, [1, 0, 0, 0]]


@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_behind_axes_of_size_1_are_those_of_rows(keepdims: bool) -> None:
    x = np.full((3, 70000, 1, 1), 0.1, np.float32)
    module = module_for(lambda v: [getattr(F, n)(v, axes=(-3,), keepdims=keepdims) for n in ("sum", "max")], x)
    total, greatest = native(module)(x)
    assert total.shape == greatest.shape == ((3, 1, 1, 1) if keepdims else (3, 1, 1))
    # One after the other, in float32, they would be 1e-3 off.
    np.testing.assert_allclose(total, 70000 * np.float64(np.float32(0.1)), rtol=2e-6)
    assert (greatest == np.float32(0.1)).all()
