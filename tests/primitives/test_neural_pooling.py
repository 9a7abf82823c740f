"""Pooling against its definition, window by window; ties, padding, ceilings and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.primitive import call

RNG = np.random.default_rng(11)


def windows(x, kernel, stride, padding, dilation=(1, 1), ceil_mode=False):
    """Over the last 2 dimensions: per window its place, the positions inside of x, and how many lie in the padding."""
    counts = []
    for size, k, s, p, d in zip(x.shape[-2:], kernel, stride, padding, dilation, strict=True):
        room = size + 2 * p - d * (k - 1) - 1
        count = (math.ceil if ceil_mode else math.floor)(room / s) + 1
        counts.append(count - (ceil_mode and (count - 1) * s >= size + p))
    for place in np.ndindex(*counts):
        inside, padded = [], 0
        for tap in np.ndindex(*kernel):
            at = [p * s - q + t * d for p, s, q, t, d in zip(place, stride, padding, tap, dilation, strict=True)]
            if all(0 <= a < size for a, size in zip(at, x.shape[-2:], strict=True)):
                inside.append(tuple(at))
            else:  # elements that only the ceiling reaches are none
                padded += all(a < size + q for a, size, q in zip(at, x.shape[-2:], padding, strict=True))
        yield tuple(counts), place, inside, padded


GEOMETRIES = [
    ((2, 3), (2, 3), (0, 0), (1, 1), False),
    ((3, 2), (2, 1), (1, 1), (1, 1), False),
    ((2, 2), (1, 2), (0, 1), (2, 1), False),
    ((3, 3), (2, 2), (1, 0), (1, 1), True),
    ((2, 2), (3, 3), (1, 1), (1, 1), True),
]


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "ceil_mode"), GEOMETRIES)
def test_max_pooling(modes, kernel, stride, padding, dilation, ceil_mode):
    x = RNG.integers(0, 4, (2, 6, 5)).astype(float)  # with many ties
    got, index = modes(lambda x: ops.max_pool2d(x, kernel, stride, padding, dilation, True, ceil_mode), x)
    gradient = np.zeros_like(x)
    for counts, place, inside, _ in windows(x, kernel, stride, padding, dilation, ceil_mode):
        assert got.shape == (2, *counts)
        for c in range(2):
            values = [x[(c, *at)] for at in inside]
            first = inside[int(np.argmax(values))]
            assert got[(c, *place)] == max(values)
            assert index[(c, *place)] == first[0] * 5 + first[1]
            gradient[(c, *first)] += 1
    grad = ac.grad(lambda x: ops.max_pool2d(x, kernel, stride, padding, dilation, False, ceil_mode).sum())
    np.testing.assert_array_equal(grad(Tensor(x)).asnumpy(), gradient)
    np.testing.assert_array_equal(ac.jit(grad)(Tensor(x)).asnumpy(), gradient)


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "ceil_mode"), GEOMETRIES)
@pytest.mark.parametrize("include", [True, False])
def test_avg_pooling(modes, kernel, stride, padding, dilation, ceil_mode, include):
    x = RNG.normal(size=(2, 6, 5))
    (got,) = modes(lambda x: ops.avg_pool2d(x, kernel, stride, padding, ceil_mode, include), x)
    (summed,) = modes(lambda x: ops.avg_pool2d(x, kernel, stride, padding, ceil_mode, include, 1), x)
    for counts, place, inside, padded in windows(x, kernel, stride, padding, (1, 1), ceil_mode):
        assert got.shape == (2, *counts)
        total = sum(x[(slice(None), *at)] for at in inside)
        np.testing.assert_allclose(got[(slice(None), *place)], total / (len(inside) + include * padded), atol=1e-14)
        np.testing.assert_allclose(summed[(slice(None), *place)], total, atol=1e-14)


def test_windows_lie_side_by_side_by_default(modes):
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    np.testing.assert_array_equal(modes(lambda x: ops.max_pool2d(x, (3, 2)), x)[0], [[[[9, 11]], [[21, 23]]]])
    np.testing.assert_array_equal(modes(lambda x: ops.max_pool3d(x, (2, 3, 4)), x)[0], [[[[23]]]])
    np.testing.assert_array_equal(modes(lambda x: ops.avg_pool3d(x, (2, 3, 4), 1), x)[0], [[[[11.5]]]])
    np.testing.assert_array_equal(modes(lambda x: ops.avg_pool1d(x, 4), x)[0][0, 0], [[1.5], [5.5], [9.5]])
    assert modes(lambda x: call.max_pooling(x, 2, 2, "same"), x)[0].shape == (1, 2, 2, 2)


def test_integers_nan_and_infinity(modes):
    np.testing.assert_array_equal(modes(lambda x: ops.max_pool2d(x, 2), np.array([[[1, 5], [-3, 2]]]))[0], [[[5]]])
    x = np.array([[[np.nan, 1.0, 2.0], [3.0, 4.0, -np.inf]]])
    got, index = modes(lambda x: ops.max_pool2d(x, (2, 1), return_indices=True), x)
    np.testing.assert_array_equal(got, [[[np.nan, 4.0, 2.0]]])
    np.testing.assert_array_equal(index, [[[0, 4, 2]]])
    low = np.full((1, 3, 3), -np.inf)  # padding is never the greatest
    got, index = modes(lambda x: ops.max_pool2d(x, 3, 1, 1, return_indices=True), low)
    np.testing.assert_array_equal(got, low)
    np.testing.assert_array_equal(index, [[[0, 0, 1], [0, 0, 1], [3, 3, 4]]])


@pytest.mark.parametrize("output", [(2, 3), (3, 2), (5, 1), (7, 9)])
def test_adaptive_pooling(modes, output):
    x = RNG.integers(0, 5, (2, 6, 5)).astype(float)
    (mean,) = modes(lambda x: ops.adaptive_avg_pool2d(x, output), x)
    top, index = modes(lambda x: ops.adaptive_max_pool2d(x, output, True), x)
    for place in np.ndindex(*output):
        part = tuple(slice(p * s // n, -(-(p + 1) * s // n)) for p, s, n in zip(place, (6, 5), output, strict=True))
        for c in range(2):
            region = x[(c, *part)]
            row, column = np.unravel_index(np.argmax(region), region.shape)
            assert mean[(c, *place)] == pytest.approx(region.mean(), rel=1e-14)
            assert top[(c, *place)] == region.max()
            assert index[(c, *place)] == (part[0].start + row) * 5 + part[1].start + column


def test_adaptive_pooling_of_large_tensors():
    """Compiled code frees its large arrays, but not the constants that it shows under other names."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 8, 64, 64))
    ends = [(i * 64 // 7, -(-(i + 1) * 64 // 7)) for i in range(7)]
    for pool, reduce in ((ops.adaptive_max_pool2d, np.max), (ops.adaptive_avg_pool2d, np.mean)):
        compiled = ac.jit(lambda x, pool=pool: pool(x, 7))
        expected = [[reduce(x[..., a:b, c:d], (-2, -1)) for c, d in ends] for a, b in ends]
        for _ in range(2):
            np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), np.moveaxis(expected, (0, 1), (2, 3)))


def test_adaptive_pooling_of_other_dimensions(modes):
    x = RNG.normal(size=(2, 4, 6, 4))
    np.testing.assert_allclose(modes(lambda x: ops.adaptive_avg_pool1d(x, 2), x)[0], x.reshape(2, 4, 6, 2, 2).mean(-1))
    np.testing.assert_allclose(modes(lambda x: ops.adaptive_max_pool1d(x, 2), x)[0], x.reshape(2, 4, 6, 2, 2).max(-1))
    (got,) = modes(lambda x: ops.adaptive_avg_pool3d(x, (None, 3, 1)), x)
    np.testing.assert_allclose(got[..., 0], x.reshape(2, 4, 3, 2, 4).mean((-1, -2)))
    assert modes(lambda x: ops.adaptive_max_pool3d(x, 3), x)[0].shape == (2, 3, 3, 3)
    x[0, 0, 0, 0] = np.nan  # poisons its own part only
    assert np.isnan(modes(lambda x: ops.adaptive_avg_pool1d(x, 3), x)[0]).sum() == 1


def test_derivatives(derivatives):
    x = RNG.permutation(60).reshape(2, 6, 5) / 10
    derivatives(lambda x: ops.max_pool2d(x * x, 3, 2, 1), x)
    derivatives(lambda x: ops.avg_pool2d(x * x, 3, 2, 1, True, False), x)
    derivatives(lambda x: ops.adaptive_avg_pool2d(x * x, (4, 2)), x)
    derivatives(lambda x: ops.adaptive_max_pool2d(x * x, (4, 2)), x)


def test_16_bit_sums_do_not_saturate():
    x = np.full((1, 64, 64), 3.0, np.float16)
    assert ops.avg_pool2d(Tensor(x), 64, 64, divisor_override=1024).item() == 12.0


@pytest.mark.parametrize(
    ("fn", "error", "text"),
    [
        (lambda x: ops.max_pool2d(x, 2, 1, 2), ShapeError, "meets no element"),
        (lambda x: ops.max_pool2d(x, 7), ShapeError, "does not fit into"),
        (lambda x: ops.max_pool2d(x, (2, 2, 2)), ShapeError, "`kernel_size` must be one int or 2"),
        (lambda x: ops.avg_pool2d(x, 0), ValueError, "`kernel_size` must not be less than 1"),
        (lambda x: ops.max_pool3d(x[0], 1), ShapeError, "has no 3 to pool"),
        (lambda x: ops.adaptive_avg_pool2d(x, (2, 2, 2)), ShapeError, "must be one size or 2"),
    ],
)
def test_what_is_refused(fn, error, text):
    with pytest.raises(error, match=text):
        fn(Tensor(np.zeros((1, 6, 5))))
