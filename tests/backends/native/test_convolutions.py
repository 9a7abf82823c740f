"""Convolutions and their derivatives against the NumPy kernels on float64, over many geometries."""

from __future__ import annotations

import random

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.ir.primitive import REGISTRY, kernel_of
from autodiff_compiler.primitives import F
from tests.backends.native.sampled import module_for, native, vectors_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

#: Of the greatest element of the result.
TOLERANCES = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3}


@pytest.fixture(params=[64, 32], ids=lambda n: f"{n} bytes", autouse=True)
def vectors(request):
    with vectors_of(request.param):
        yield request.param


def _three(x, w, g, attrs):
    """The ops of the family with their operands."""
    return [
        ("conv", (x, w), attrs),
        ("conv_input", (g, w), {"size": x.shape[2:], **attrs}),
        ("conv_filter", (x, g), {"kernel": w.shape[2:], **attrs}),
    ]


def _check(x, w, attrs, tolerance, *, native_code=True):
    rng = np.random.default_rng(1)
    wide = kernel_of(REGISTRY["conv"])(x.astype(float), w.astype(float), **attrs)
    g = rng.standard_normal(wide.shape).astype(x.dtype)
    for name, operands, given in _three(x, w, g, attrs):
        expected = kernel_of(REGISTRY[name])(*[v.astype(float) for v in operands], **given)
        program = native(module_for(lambda *vs, name=name, given=given: getattr(F, name)(*vs, **given), *operands))
        assert ("call_host" not in program.source) == native_code
        for _ in range(2):
            (got,) = program(*operands)
            assert got.dtype == x.dtype
            scale = tolerance * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(got, expected, rtol=0, atol=scale, err_msg=f"{name} {x.shape} {w.shape} {attrs}")


def _geometry(draw, n):
    """Attributes, kernel and sizes of a convolution over n dimensions."""
    kernel = [draw.randint(1, 4) for _ in range(n)]
    dilation = [draw.randint(1, 2) for _ in range(n)]
    padding = [draw.randint(0, 3) for _ in range(2 * n)]
    least = [
        max(1, (k - 1) * d + 1 - a - b)
        for k, d, a, b in zip(kernel, dilation, padding[::2], padding[1::2], strict=True)
    ]
    sizes = [low + draw.randint(0, (40, 14, 5)[n - 1]) for low in least]
    stride = tuple(draw.randint(1, 3) for _ in range(n))
    return {"stride": stride, "padding": tuple(padding), "dilation": tuple(dilation)}, kernel, sizes


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_any_geometry(n: int, dtype: str) -> None:
    draw, rng = random.Random(n), np.random.default_rng(n)
    for _ in range(3):
        attrs, kernel, sizes = _geometry(draw, n)
        groups = draw.choice([1, 1, 2, 3])
        batch, channels, filters = draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 13)
        x = rng.standard_normal((batch, channels * groups, *sizes)).astype(dtype)
        w = rng.standard_normal((filters * groups, channels, *kernel)).astype(dtype)
        _check(x, w, {**attrs, "groups": groups}, TOLERANCES[dtype])


def test_more_positions_than_are_summed_at_a_time() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 70, 61)).astype(np.float32)
    w = rng.standard_normal((26, 3, 3, 3)).astype(np.float32)
    _check(x, w, {"stride": (1, 1), "padding": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}, 2e-5)


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(3, 4, 5, 6), (2, 12, 3), (1, 6, 1, 1), (2, 6, 3, 2, 4)])
@pytest.mark.parametrize("groups", [1, 2])
def test_windows_of_one_element_are_products(shape, groups: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    n = len(shape) - 2
    x = rng.standard_normal(shape).astype(dtype)
    w = rng.standard_normal((8, shape[1] // groups, *[1] * n)).astype(dtype)
    attrs = {"stride": (1,) * n, "padding": (0, 0) * n, "dilation": (2,) * n, "groups": groups}
    _check(x, w, attrs, TOLERANCES[dtype])


def test_many_taps_are_left_to_numpy() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 1, 12, 12)), rng.standard_normal((1, 1, 9, 9))
    attrs = {"stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1}
    _check(x, w, attrs, 1e-12, native_code=False)


def test_operands_that_lie_with_gaps() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((9, 8, 3, 4)), rng.standard_normal((2, 3, 3, 5))
    attrs = {"stride": (1, 1), "padding": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}
    turned = (-1, -2, -4, -3)
    module = module_for(lambda a, b: F.conv(F.transpose(a, axes=turned), F.transpose(b, axes=turned), **attrs), x, w)
    expected = kernel_of(REGISTRY["conv"])(x.transpose(turned), w.transpose(turned), **attrs)
    np.testing.assert_allclose(native(module)(x, w)[0], expected, rtol=1e-12, atol=1e-12)


def test_what_no_window_reads_may_be_infinite() -> None:
    """The derivative of the filters is a sum over windows only, though vectors go over what lies between them."""
    x, g = np.ones((2, 1, 4, 7), np.float32), np.ones((2, 1, 2, 3), np.float32)
    x[:, :, :, 6], x[:, :, 3], x[:, :, :, 1::2] = np.inf, np.nan, 2.0
    x[:, :, 3] = np.nan
    attrs = {"stride": (2, 2), "padding": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1, "kernel": (1, 2)}
    (got,) = native(module_for(lambda a, b: F.conv_filter(a, b, **attrs), x, g))(x, g)
    assert got.tolist() == [[[[12.0, 24.0]]]]
