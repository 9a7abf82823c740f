"""Copies across: elements that follow each other along one axis are written along another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit import shared
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.primitives import F
from tests.backends.native.sampled import assert_like_numpy, module_for, vectors_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

SHAPES = [(40, 70), (16, 16), (33, 17), (5, 300), (300, 4), (3, 20, 37), (6, 1, 90, 7), (2, 9, 8, 24)]


@pytest.fixture(params=[64, 32], ids=lambda n: f"{n} bytes", autouse=True)
def vectors(request):
    with vectors_of(request.param):
        yield request.param


def _numbers(shape, dtype):
    return np.random.default_rng(len(shape)).integers(0, 200, shape).astype(dtype)


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int64, bool])
def test_every_order_of_axes(dtype) -> None:
    for shape in SHAPES:
        x = _numbers(shape, dtype)
        orders = [p for p in itertools.permutations(range(-len(shape), 0)) if p != tuple(range(-len(shape), 0))]
        module = module_for(lambda v, orders=orders: [F.transpose(v, axes=p) for p in orders[:7]], x)
        program = assert_like_numpy(module, [x], f"transposes of {shape}", exact=True)
        assert "call_host" not in program.source


def test_squares_are_turned_in_registers(vectors) -> None:
    x, lanes = _numbers((40, 70), np.float32), vectors // 4
    module = module_for(lambda v: F.transpose(v, axes=(-1, -2)), x)
    called = f"transpose {lanes} x {lanes} of 4 bytes"
    assert called in assert_like_numpy(module, [x], "transpose", exact=True).source
    assert "shufflevector" in shared.text(called)


def test_backwards_and_with_gaps() -> None:
    x = _numbers((40, 66), np.float32)

    def build(v):
        backwards = F.slice(v, axes=(-2, -1), starts=(39, 65), stops=(-1, -1), steps=(-1, -1))
        gaps = F.slice(v, axes=(-2,), starts=(1,), stops=(40,), steps=(3,))
        return [F.transpose(part, axes=(-1, -2)) for part in (backwards, gaps)]

    assert_like_numpy(module_for(build, x), [x], "views", exact=True)


def test_what_is_read_across_is_copied_first_where_there_is_much_of_it() -> None:
    x, y = _numbers((90, 120), np.float32), _numbers((120, 90), np.float32)

    def build(v, w):
        turned = F.transpose(v, axes=(-1, -2)) * 2.0 + w
        return [turned, F.sum(turned, axes=(-1,))]

    program = assert_like_numpy(module_for(build, x, y), [x, y], "sum of a transposed")
    assert "share: transpose" in program.source


@pytest.mark.parametrize(
    ("axes", "shape"), [((-2, -1, -3), (35, 6)), ((-1, -3, -2), (7, 30)), ((-1, -3, -2), (7, 3, 2, 5))]
)
def test_other_shapes_of_transposed_elements(axes, shape) -> None:
    """Axes that are neighbours in memory are one, and one axis is several: nothing is copied but the result."""
    x = _numbers((6, 5, 7), np.float32)
    shape = shape if len(shape) > 2 or axes[0] != -2 else (35, 6)
    module = module_for(lambda v: F.reshape(F.transpose(v, axes=axes), shape=shape) * 3.0, x)
    program = assert_like_numpy(module, [x], "reshape", exact=True)
    assert program.source.count("define internal void @k") <= 1
