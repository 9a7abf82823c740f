"""How much memory generated code takes at its peak, as `tracemalloc` sees NumPy allocate."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import float64
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import F
from tests.backends.programs import LOOP, NESTED, X4, built, compiled


def peak_of(run):
    run()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


#: What tracemalloc may see of arrays that grow, in bytes per byte needed.  While an array is extended, NumPy counts it
#: twice from 2.5 on: its allocator is Python's, whose hook counts the new size before NumPy takes back the old one.
GROWING = 1.25 if np.lib.NumpyVersion(np.__version__) < "2.5.0" else 2.25


@pytest.mark.parametrize("shape", [(), (16,), (200,)], ids=str)
def test_ten_thousand_trips_take_what_they_must(shape):
    """Values collected by a loop whose trip count is not known: at most `GROWING` times their bytes, and 256 KiB."""
    trips, t = 10_000, "f64[" + ",".join(map(str, shape)) + "]"
    program = compiled(LOOP.replace("f32[4]", t).replace("sum %e {axes=[-1]}", "const {value=1.0}"))
    x = np.full(shape, 0.5)
    needed = trips * x.nbytes
    assert peak_of(lambda: program(x, np.array(trips))) <= GROWING * needed + 2**18


def test_nested_loops_take_what_they_must():
    program = compiled(NESTED.replace("OUTER", ""))
    needed = sum(range(300)) * X4.nbytes
    assert peak_of(lambda: program(np.array(300), X4)) <= GROWING * needed + 2**18


def test_a_chain_of_large_ops_needs_few_buffers():
    def build(b, x):
        for _ in range(30):
            x = F.tanh(F.sin(x) + F.exp(x) * 0.5)
        return [x]

    module = built([tensor(float64, (512, 512))], build)
    x = np.zeros((512, 512))
    program = NumpyBackend().compile(module)
    assert peak_of(lambda: program(x)) <= 3.1 * x.nbytes


def test_an_accumulator_is_updated_in_place():
    """Adding to one row per trip must not copy the whole array per trip."""
    text = """
func @f(%n: i64[], %x: f32[1000,256], %u: f32[256]) -> (f32[1000,256]) {
  %y: f32[1000,256] = scan %n (%c = %x) body (%i) {
    %d: f32[1000,256] = scatter_add %c, %i, %u {axis=-2}
    yield %d
  }
  return %y
}"""
    program = compiled(text)
    x, u = np.zeros((1000, 256), np.float32), np.ones(256, np.float32)
    (y,) = program(np.array(900), x, u)
    np.testing.assert_array_equal(y.sum(axis=1), np.where(np.arange(1000) < 900, 256, 0))
    assert not x.any()
    # The argument is not ours: one copy before the loop, one of the result for the caller at most.
    assert peak_of(lambda: program(np.array(900), x, u)) <= 2.1 * x.nbytes
    assert "_scatter_add_into(" in program.source


@pytest.mark.parametrize("needed", ["after", "inside"])
def test_an_accumulator_whose_start_is_needed_too_is_updated_in_place(needed):
    """One copy before the loop of an array of the program that others read, and none of every trip."""
    inside = needed == "inside"
    text = f"""
func @f(%n: i64[], %x: f32[1000,256], %u: f32[256]) -> (f32[1000,256], f32[1000,256]) {{
  %s: f32[1000,256] = sqrt %x
  %y: f32[1000,256] = scan %n (%c = %s) body (%i) {{
    %r: f32[256] = {"gather %s, %i {axis=-2}" if inside else "sqrt %u"}
    %d: f32[1000,256] = scatter_add %c, %i, %r {{axis=-2}}
    yield %d
  }}
  return {"%x" if inside else "%s"}, %y
}}"""
    program = compiled(text)
    x, u = np.full((1000, 256), 9.0, np.float32), np.full(256, 4.0, np.float32)
    start, y = program(np.array(900), x, u)
    np.testing.assert_array_equal(start, x if inside else np.full_like(x, 3.0))
    np.testing.assert_array_equal(y[:900], np.full((900, 256), 6.0 if inside else 5.0))
    np.testing.assert_array_equal(y[900:], np.full((100, 256), 3.0))
    assert "_scatter_add_into(" in program.source
