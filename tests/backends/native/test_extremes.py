"""Where extremes stand: rows of one block and of many, columns, nan, equal elements, elements with gaps."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.primitives import F
from tests.backends.native.sampled import module_for, native, vectors_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.int8, np.uint8, bool]
SHAPES = [(65,), (100,), (4096,), (4097,), (9001,), (3, 5000), (5, 1, 70), (67, 2), (20, 130), (2, 97, 13), (70, 1, 3)]


@pytest.fixture(params=[64, 32], ids=lambda n: f"{n} bytes", autouse=True)
def vectors(request):
    with vectors_of(request.param):
        yield request.param


def _build(x):
    return [
        getattr(F, name)(x, axis=axis, keepdims=axis % 2 == 0)
        for name in ("argmax", "argmin")
        for axis in range(-len(x.shape), 0)
    ]


def _expected(x):
    return [
        np.asarray(f(x, axis=axis, keepdims=axis % 2 == 0))
        for f in (np.argmax, np.argmin)
        for axis in range(-x.ndim, 0)
    ]


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_the_places_are_those_of_numpy(dtype) -> None:
    rng = np.random.default_rng(3)
    for shape in SHAPES:
        program = native(module_for(_build, np.zeros(shape, dtype)))
        assert "call_host" not in program.source
        for most in (2, 120):  # with and without many equal elements
            x = rng.integers(0, most, shape).astype(dtype)
            for nans in (0, 1, 3) if x.dtype.kind in "fV" else (0,):
                x.reshape(-1)[rng.integers(0, x.size, nans)] = float("nan") if nans else 0
                for got, wanted in zip(program(x), _expected(x), strict=True):
                    np.testing.assert_array_equal(got, wanted, err_msg=f"{shape} {nans}")


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 0.0])
def test_rows_of_one_number(number) -> None:
    x = np.full((3, 9000), number, np.float32)
    for got, wanted in zip(native(module_for(_build, x))(x), _expected(x), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_the_last_block_of_a_row_and_zeros_of_both_signs() -> None:
    x = np.zeros((3, 8200), np.float32)
    x[0, 8199], x[1, 4096], x[2, ::2] = 1, 1, -0.0
    assert native(module_for(lambda v: F.argmax(v, axis=-1), x))(x)[0].tolist() == [8199, 4096, 0]


def test_elements_with_gaps_and_backwards() -> None:
    x = np.random.default_rng(1).permutation(300 * 70).reshape(300, 70).astype(np.float32)

    def build(v):
        backwards = F.slice(v, axes=(-1,), starts=(69,), stops=(-1,), steps=(-2,))
        return [*_build(F.transpose(v, axes=(-1, -2))), *_build(backwards)]

    for got, wanted in zip(native(module_for(build, x))(x), _expected(x.T) + _expected(x[:, ::-2]), strict=True):
        np.testing.assert_array_equal(got, wanted)
