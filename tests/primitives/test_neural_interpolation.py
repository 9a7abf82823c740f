"""Resizing and sampling against NumPy's and SciPy's interpolation and against the cubic kernel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import ndimage

from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError

RNG = np.random.default_rng(19)


def draw(*shape):
    return RNG.normal(size=shape)


def places(old, new, align, scale=None):
    if align:
        return np.linspace(0, old - 1, new) if new > 1 else np.zeros(1)
    return (np.arange(new) + 0.5) * (old / new if scale is None else 1 / scale) - 0.5


def along(x, axis, at, line):
    """`line(row, at)` of every row of x along an axis."""
    return np.apply_along_axis(line, axis, x, at)


def linear(row, at):
    return np.interp(at, np.arange(len(row)), row)


def keys(row, at):
    """Cubic convolution with the kernel of Keys for a = -0.75; the border repeats."""
    a, out = -0.75, np.zeros(len(at))
    for i in range(-3, len(row) + 3):
        d = np.abs(at - i)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = a * (((d - 5) * d + 8) * d - 4)
        out += row[min(max(i, 0), len(row) - 1)] * np.where(d <= 1, near, np.where(d < 2, far, 0))
    return out


@pytest.mark.parametrize("align", [None, True])
@pytest.mark.parametrize("mode", ["linear", "bilinear", "trilinear", "bicubic"])
def test_resizing_smoothly(modes, mode, align):
    n = {"linear": 1, "trilinear": 3}.get(mode, 2)
    old, line = (5, 4, 3)[:n], keys if mode == "bicubic" else linear
    for new in ((8, 4, 6)[:n], (3, 1, 2)[:n], old):
        x = expected = draw(2, 1, *old)
        for i in range(n):
            expected = along(expected, 2 + i, places(old[i], new[i], align), line)
        (got,) = modes(lambda x: ops.interpolate(x, new, None, mode, align), x)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def test_a_given_scale_is_used_unless_it_is_to_be_recomputed(modes):
    x = draw(1, 1, 5)
    for recompute, scale in ((None, 1.5), (True, None)):
        (got,) = modes(lambda x: ops.interpolate(x, None, 1.5, "linear", None, recompute), x)
        np.testing.assert_allclose(got, along(x, 2, places(5, 7, False, scale), linear), rtol=1e-12)


def test_nearest(modes):
    x = draw(1, 2, 3, 4)
    (got,) = modes(lambda x: ops.interpolate(x, (6, 8)), x)
    np.testing.assert_array_equal(got, x.repeat(2, 2).repeat(2, 3))
    (got,) = modes(lambda x: ops.interpolate(x, (5, 3)), x)
    np.testing.assert_array_equal(got, x[:, :, [0, 0, 1, 1, 2]][..., [0, 1, 2]])
    (got,) = modes(lambda x: ops.interpolate(x, (5, 3), mode="nearest-exact"), x)
    np.testing.assert_array_equal(got, x[:, :, [0, 0, 1, 2, 2]][..., [0, 2, 3]])
    (got,) = modes(lambda x: ops.interpolate(x, scale_factor=(1.0, 0.6)), x)
    np.testing.assert_array_equal(got, x[..., [0, 1]])
    integers = np.arange(4).reshape(1, 1, 4)
    np.testing.assert_array_equal(modes(lambda x: ops.upsample(x, 8), integers)[0], integers.repeat(2, 2))


def test_area_and_isolation_of_nan(modes):
    x = draw(1, 2, 6, 4)
    (got,) = modes(lambda x: ops.interpolate(x, (3, 2), mode="area"), x)
    np.testing.assert_allclose(got, x.reshape(1, 2, 3, 2, 2, 2).mean((3, 5)))
    x[0, 0, 0, 0] = np.nan
    assert np.isnan(modes(lambda x: ops.interpolate(x, (12, 8), mode="bilinear"), x)[0]).sum() == 9


def test_derivatives_of_resizing(derivatives):
    x = draw(1, 2, 3, 4)
    for mode, align in (("bilinear", None), ("bicubic", True), ("area", None), ("nearest", None)):
        derivatives(lambda x: ops.interpolate(x * x, (5, 8), None, mode, align), x)


# ------------------------------------------------------------------------------------------------ sampling
BORDER = {("zeros", True): "grid-constant", ("zeros", False): "grid-constant", ("border", True): "nearest",
          ("border", False): "nearest", ("reflection", True): "mirror", ("reflection", False): "reflect"}  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize(("padding", "align"), list(BORDER))
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("sizes", [(4, 5), (3, 4, 2)])
def test_grid_sample(modes, padding, align, mode, sizes):
    n = len(sizes)
    x, grid = draw(2, 3, *sizes), RNG.uniform(-1.8, 1.8, (2, *(3, 4, 2)[:n], n))
    (got,) = modes(lambda x, g: ops.grid_sample(x, g, mode, padding, align), x, grid)
    for b, c in itertools.product(range(2), range(3)):
        at = [grid[b, ..., n - 1 - i] for i in range(n)]
        at = [(g + 1) / 2 * (s - 1) if align else ((g + 1) * s - 1) / 2 for g, s in zip(at, sizes, strict=True)]
        expected = ndimage.map_coordinates(x[b, c], at, order=mode == "bilinear", mode=BORDER[padding, align])
        np.testing.assert_allclose(got[b, c], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("padding", ["border", "zeros", "reflection"])
def test_grid_sample_bicubic(modes, padding):
    x, grid = draw(1, 2, 4, 5), RNG.uniform(-1.3, 1.3, (1, 3, 2, 2))
    (got,) = modes(lambda x, g: ops.grid_sample(x, g, "bicubic", padding, True), x, grid)
    kind = {"border": "edge", "zeros": "constant", "reflection": "reflect"}[padding]
    wide = np.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)), kind)
    for place in np.ndindex(3, 2):
        column, row = (grid[(0, *place)] + 1) / 2 * (4, 3) + 3
        expected = along(along(wide, 3, np.array([column]), keys), 2, np.array([row]), keys)[0, :, 0, 0]
        np.testing.assert_allclose(got[(0, slice(None), *place)], expected, rtol=1e-10)


@pytest.mark.some(2)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_derivatives_of_sampling(derivatives, mode, padding):
    x, grid = draw(1, 2, 4, 5), RNG.uniform(-1.3, 1.3, (1, 3, 2, 2))
    derivatives(lambda x, g: ops.grid_sample(x, g, mode, padding), x, grid)


def test_places_that_are_no_numbers_or_far_away():
    x = Tensor(np.full((1, 1, 2, 2), np.inf, np.float32))
    grid = Tensor(np.array([[[[np.nan, 0.0], [1e30, 0.0], [-np.inf, 0.0]]]], np.float32))
    assert ops.grid_sample(x, grid).tolist() == [[[[0.0, 0.0, 0.0]]]]
    one = Tensor(np.ones((1, 1, 2, 2), np.float32))
    assert ops.grid_sample(one, grid, padding_mode="border").tolist() == [[[[0.0, 1.0, 1.0]]]]


@pytest.mark.parametrize("align", [True, False])
def test_affine_grid(modes, derivatives, align):
    theta = draw(2, 2, 3)
    (got,) = modes(lambda t: ops.affine_grid(t, (2, 1, 3, 4), align), theta)
    ys, xs = (np.linspace(-1, 1, s) * (1 if align else (s - 1) / s) for s in (3, 4))
    for i, j in np.ndindex(3, 4):
        np.testing.assert_allclose(got[:, i, j], theta @ [xs[j], ys[i], 1], rtol=1e-12, atol=1e-13)
    derivatives(lambda t: ops.affine_grid(t * t, (2, 1, 2, 2), align), theta)
    x = draw(1, 2, 3, 3, 2)
    still = ops.affine_grid(Tensor(np.eye(3, 4)[None]), (1, 2, 3, 3, 2), align)
    np.testing.assert_allclose(ops.grid_sample(Tensor(x), still, align_corners=align).asnumpy(), x, atol=1e-12)


def test_what_is_refused():
    x, grid = Tensor(draw(1, 2, 4, 5)), Tensor(draw(1, 3, 3, 2))
    for fn, error, text in [
        (lambda: ops.interpolate(x), ValueError, "either `size` or `scale_factor`"),
        (lambda: ops.interpolate(x, 3, 2.0), ValueError, "either `size` or `scale_factor`"),
        (lambda: ops.interpolate(x, 3, mode="linear"), ValueError, "no mode 'linear' for 2"),
        (lambda: ops.interpolate(x, 3, align_corners=True), ValueError, "align_corners has no meaning"),
        (lambda: ops.interpolate(x, scale_factor=0.1), ValueError, "must be positive"),
        (lambda: ops.interpolate(x[0, 0], 3), ShapeError, "3 to 5 dimensions"),
        (lambda: ops.grid_sample(x, grid, "cubic"), ValueError, "no mode 'cubic'"),
        (lambda: ops.grid_sample(x, grid, padding_mode="wrap"), ValueError, "padding_mode must be"),
        (lambda: ops.grid_sample(x, grid[..., :1]), ShapeError, "does not take a grid"),
        (lambda: ops.affine_grid(Tensor(draw(1, 2, 2)), (1, 1, 2, 2)), ShapeError, "does not fit a grid"),
    ]:
        with pytest.raises(error, match=text):
            fn()
