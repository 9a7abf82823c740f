"""What loops keep: it grows with the trips, moves, runs out, and is given back."""

from __future__ import annotations

import resource
import tracemalloc

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.ir.text import parse_module
from tests.backends.native.against_numpy import f64, optimised, same, same_results
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


@pytest.mark.parametrize("trips", [0, 1, 15, 16, 17, 1000, 5000])
def test_what_trips_leave_grows_with_them(trips):
    """Residuals of numbers and of arrays, beyond the room of the first chunk."""

    def f(x, y, n):
        def run(x, y):
            i = n * 0
            while i < n:
                x = x * 0.999 + 0.001 / (x * x + 1.0)
                y = y * x - y * y * 0.01
                i = i + 1
            return x + y.sum()

        return ms.value_and_grad(run, (0, 1))(x, y)

    same(f, np.array(0.7), f64(9), np.array(trips), within=64)


def test_too_many_trips_for_the_memory():
    text = """
func @f(%n: i64[]) -> (i64[]) {
  %r: seq<i64[]> = scan %n () body (%i) {
    yield ; %i
  }
  %zero: i64[] = const {value=0}
  %k: i64[] = seq_len %r
  %s: i64[] = scan %k (%a = %zero ; %e = %r) body (%j) {
    %b: i64[] = add %a, %e
    yield %b
  }
  return %s
}
"""
    program = native(parse_module(text))
    for n in (10**15, 2**62, 2**63 - 1):
        assert program(np.array(5))[0] == 10
        with pytest.raises(MemoryError):
            program(np.array(n))
    assert program(np.array(100))[0] == 4950


def test_memory_stays_flat():
    def f(x, n):
        def run(x):
            s = x * 0
            for _ in range(3):
                i = n * 0
                y = x
                while i < n:
                    y = y * 0.999 + 0.001
                    y = y * y
                    i = i + 1
                s = s + y
            return s.sum()

        return ms.value_and_grad(run)(x)

    x, n = f64(100), np.array(300)
    program = native(optimised(f, x, n))

    def peak():
        for _ in range(40):
            program(x, n)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    peak()
    before = peak()
    for _ in range(5):
        after = peak()
    assert after - before < 2000  # KiB


def test_a_loop_around_gives_back_what_its_trips_took():
    """1,000 trips, each with a loop that keeps something for its own derivative."""

    def f(x, n):
        i = n * 0
        while i < n:

            def loss(x):
                y = x
                t = y.sum() * 0
                while t < 10.0:
                    y = y * y * 0.5 + 0.1
                    t = t + 1.0
                return y.sum()

            x = x - 0.01 * ms.grad(loss)(x)
            i = i + 1
        return x

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    same(f, np.full(4000, 0.3), np.array(1000), within=1e6, calls=1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30000


def test_a_loop_gives_back_what_it_took_for_more_trips_than_there_were():
    """Six loops one after the other, each with one trip and room for sixteen: 80 kB are kept of each, not 1.3 MB."""

    def f(x, n):
        for _ in range(6):
            i = n * 0
            while i < n:
                x = ops.sin(x) * x
                i = i + 1
        return x.sum()

    x, n = f64(10_000), np.array(1)
    program = native(optimised(ms.grad(f), x, n))
    tracemalloc.start()
    try:
        program(x, n)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 6 * x.nbytes < most < 6_000_000  # chunks of 1.3 and of 2.6 MB


#: The next version of a carry is written into the record of its trip, and records move when there are many.
MOVED = """
func @f(%n: i64[], %x: f64[300]) -> (f64[300], f64[300], i64[], f64[300]) {
  %zero: i64[] = const {value=0}
  %one: i64[] = const {value=1}
  %ones: f64[300] = const {value=1.0}
  %k: i64[], %i9: i64[], %y: f64[300], %p9: (f64[300], i64[]), %r: seq<f64[300]>, %q: seq<f64[300]> = while
      (%i = %zero, %c = %x, %p = PAIR) cond {
    %p0: bool[] = less %i, %n
    yield %p0
  } body {
    %i2: i64[] = add %i, %one
    %old: f64[300] = tuple_get %p {index=0}
    %t: f64[300] = add %c, %ones
    %u: f64[300] = sub %t, %old
    %pair: (f64[300], i64[]) = tuple_make %t, %i
    yield %i2, %t, %pair ; %t, %u
  }
  %sum: f64[300] = scan %k (%acc = %x ; %e = %r, %g = %q) body (%j) {
    %h: f64[300] = mul %e, %g
    %a2: f64[300] = add %acc, %h
    yield %a2
  }
  %o: f64[300] = tuple_get %p9 {index=0}
  return %y, %sum, %k, %o
}
""".replace("PAIR", "%pair0").replace(
    "  %k: i64[], %i9", "  %pair0: (f64[300], i64[]) = tuple_make %x, %zero\n  %k: i64[], %i9"
)


@pytest.mark.parametrize("n", [0, 1, 16, 17, 40, 700, 5000])
def test_records_that_carries_point_to_may_move(n):
    same_results(parse_module(MOVED), np.array(n), f64(300))
