"""Control flow in machine code: the same results, output and exceptions as the NumPy backend's programs."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import redirect_stdout

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.backends.native.backend import NativeBackend
from autodiff_compiler.backends.native.lanes import NotNativeError
from autodiff_compiler.backends.native.machine import why_not
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.ir.text import parse_module

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

RNG = np.random.default_rng(5)


def optimised(f, *xs):
    return ms.jit(f).lower(*map(ms.Tensor, xs))._compiled.program.stages.opt


def both(module):
    return NativeBackend(NumpyBackend()).native(module), NumpyBackend().compile(module)


def ulps(a, b):
    """How many numbers lie between two arrays, at most."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    if a.dtype.kind != "f":
        return 0 if np.array_equal(a, b) else np.inf
    if not a.size:
        return 0
    scale = np.spacing(np.maximum(np.abs(b), np.finfo(b.dtype).tiny))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(same, 0, np.abs(a - b) / scale)))


def same(f, *xs, within=0, calls=2):
    """Runs a program on both backends, several times natively: frames and their room are used again."""
    native, reference = both(optimised(f, *xs))
    expected = reference(*xs)
    for _ in range(calls):
        found = native(*xs)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert ulps(a, b) <= within, (a, b)
    return native


def f64(*shape):
    return RNG.standard_normal(shape)


X = np.array([0.5, -1.0, 2.0, 3.0])
ONE = np.array(1.5)


# ------------------------------------------------------------------------------------------------ programs
def halving(x):
    n = 0
    while x > 1.0:
        x = x * 0.75
        n = n + 1
    return x, x * 0 + n


def vectors(x, s):
    while s < 10.0:
        s = s * 1.5
        x = x * 0.5 + s
    return x, s


def chosen(x, s):
    if s > 1.0:
        y, z = x * 2, s
    else:
        y, z = x, s * 3
    return y, z, y + z


def early(x, s):
    total = x * 0
    for i in range(20):
        s = s * 1.25
        if s > 30.0:
            break
        if s < 2.0:
            continue
        total = total + x * s
        if s > 20.0:
            return total * 2
    return total


def swapped(x, y, s):
    while s < 10.0:
        x, y = y, x
        s = s + 1.0
    return x, y


def rotated(x, y, z, s):
    while s < 7.0:
        x, y, z = y, z, x * 0.5
        s = s + 1.0
    return x, y, z


def views(x, s):
    while s < 6.0:
        x = x[::-1]
        s = s + 1.0
    return x


def loops_in_loops(x, s):
    for i in range(4):
        y = x
        t = s
        while t < 9.0:
            t = t * 2.0
            for j in range(i):
                y = y * 0.5 + j
        x = x + y
    return x


def filled(x, s):
    out = ops.zeros((7,), ms.float64)
    for i in range(7):
        if s > 1.0:
            out[i] = x[i % 4] * i
        s = s * 0.9
    return out


def old_and_new(x, s):
    """The version of a trip is read after the next one was made."""
    kept = x
    while s < 9.0:
        new = x * 0.5 + 1.0
        kept = kept + x * new
        x = new
        s = s + 1.0
    return x, kept


PROGRAMS = {
    "scalars": (halving, ONE * 8),
    "no trip": (halving, ONE / 2),
    "vectors": (vectors, X, ONE),
    "vectors, no trip": (vectors, X, ONE * 20),
    "then": (chosen, X, ONE),
    "else": (chosen, X, ONE / 2),
    "early": (early, X, ONE),
    "early, other": (early, X, ONE * 18),
    "swap": (swapped, X, X * 2, ONE),
    "swap, odd": (swapped, X, X * 2, ONE + 1),
    "rotation": (rotated, X, X * 2, X + 1, ONE),
    "views": (views, X, ONE),
    "nested": (loops_in_loops, X, ONE),
    "filled": (filled, X, ONE * 2),
    "old and new": (old_and_new, X, ONE),
    "large": (vectors, f64(3, 1000), ONE),
    "empty": (vectors, f64(3, 0), ONE),
    "single": (vectors, f64(1), ONE),
    "f32": (vectors, X.astype(np.float32), ONE.astype(np.float32)),
    "f16": (vectors, X.astype(np.float16), ONE.astype(np.float16)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_arithmetic_is_the_same_bit_by_bit(name):
    same(*PROGRAMS[name])


def total(f):
    def whole(*xs):
        found = f(*xs)
        parts = found if isinstance(found, tuple) else (found,)
        return sum([(p * p).sum() for p in parts])

    return whole


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("f16", "empty")])
def test_derivatives(name):
    f, *xs = PROGRAMS[name]
    whole, wrt = total(f), tuple(range(len(xs)))

    def derivative(*xs):
        return ms.value_and_grad(whole, wrt)(*xs)

    same(derivative, *xs, within=40 if name == "large" else 16)


def test_derivatives_of_derivatives():
    def f(x, s):
        def inner(x):
            y = x
            for i in range(3):
                y = ops.sin(y) * s if i % 2 else y * y
            return y.sum()

        return ms.grad(lambda x: (ms.grad(inner)(x) * x).sum())(x)

    same(f, X, ONE, within=16)


def test_rows_of_tensors():
    def f(xs, h):
        def run(xs, h):
            for x in xs:
                h = h * 0.5 + x
            return (h * h).sum()

        return ms.value_and_grad(run, (0, 1))(xs, h)

    same(f, f64(12, 3, 2), f64(3, 2), within=4)


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
    native = both(parse_module(text))[0]
    for n in (10**15, 2**62, 2**63 - 1):
        assert native(np.array(5))[0] == 10
        with pytest.raises(MemoryError):
            native(np.array(n))
    assert native(np.array(100))[0] == 4950


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
    native = both(optimised(f, x, n))[0]

    def peak():
        for _ in range(40):
            native(x, n)
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


# ------------------------------------------------------------------------------------------------ IR
NESTED = """
func @f(%n: i64[], %x: f64[4]) -> (f64[], i64[]) {
  %zero: i64[] = const {value=0}
  %c9: f64[4], %m: seq<i64[]>, %rs: seq<seq<f64[4]>> = scan %n (%c = %x) OUTER body (%i) {
    %d9: f64[4], %r: seq<f64[4]> = scan %i (%d = %c) INNER body (%j) {
      %e: f64[4] = neg %d
      yield %e ; %d
    }
    yield %d9 ; %i, %r
  }
  %both: seq<seq<f64[4]>> = seq_add %rs, %rs
  %s0: f64[] = const {value=0.0}
  %s: f64[] = scan %n (%acc = %s0 ; %row = %both, %len = %m) {reverse=True} body (%k) {
    %t: f64[] = scan %len (%a = %acc ; %el = %row) body (%l) {
      %w: f64[] = cast %l {dtype=f64}
      %q: f64[] = sum %el {axes=[-1]}
      %h: f64[] = mul %a, %w
      %b: f64[] = add %h, %q
      yield %b
    }
    yield %t
  }
  %count: i64[] = seq_len %both
  return %s, %count
}
"""


@pytest.mark.parametrize("outer", ["", "{reverse=True}"])
@pytest.mark.parametrize("inner", ["", "{reverse=True}"])
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5, 60])
def test_sequences_of_sequences(outer, inner, n):
    native, reference = both(parse_module(NESTED.replace("OUTER", outer).replace("INNER", inner)))
    x = np.array([0.5, 1.0, 2.0, 4.0])
    for _ in range(2):
        for a, b in zip(native(np.array(n), x), reference(np.array(n), x), strict=True):
            np.testing.assert_array_equal(a, b)


MERGED = """
func @f(%p: bool[], %x: f64[5,3], %y: f64[3], %n: i64[]) -> (f64[3], i64[]) {
  %xs: seq<f64[3]> = to_seq %x
  %s: seq<f64[3]> = if %p then {
    yield %xs
  } else {
    %r: seq<f64[3]> = scan %n () body (%i) {
      %w: f64[] = cast %i {dtype=f64}
      %v: f64[3] = broadcast_to %w {shape=[3]}
      %u: f64[3] = add %v, %y
      yield ; %u
    }
    yield %r
  }
  %k: i64[] = seq_len %s
  %z: f64[3] = const {value=0.0}
  %o: f64[3] = scan %k (%a = %z ; %e = %s) body (%j) {
    %a2: f64[3] = add %a, %e
    yield %a2
  }
  return %o, %k
}
"""


@pytest.mark.parametrize("p", [True, False])
def test_arms_with_sequences_of_their_own(p):
    native, reference = both(parse_module(MERGED))
    args = np.array(p), f64(5, 3), f64(3), np.array(7)
    for a, b in zip(native(*args), reference(*args), strict=True):
        np.testing.assert_array_equal(a, b)


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
    native, reference = both(parse_module(MOVED))
    x = f64(300)
    for _ in range(2):
        for a, b in zip(native(np.array(n), x), reference(np.array(n), x), strict=True):
            np.testing.assert_array_equal(a, b)


# ------------------------------------------------------------------------------------------------ effects
def talking(x, s):
    print("start", x)
    i = 0
    while s < 40.0:
        s = s * 2.0
        if s > 20.0:
            print("large", s, i)
        else:
            print(f"small {s:.3f}")
        if s > 30.0 and i > 3:
            raise ValueError(f"{s} after {i}")
        i = i + 1
    print("end", x * s)
    return x * s


def run(program, *xs):
    """What a program returns or raises, and prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            found = [np.asarray(a).tolist() for a in program(*xs)]
        except Exception as error:
            notes = [n for n in getattr(error, "__notes__", ()) if "compiled code" in n]
            found = type(error), str(error), notes
    return found, out.getvalue()


@pytest.mark.parametrize("s", [1.5, 0.9, 50.0])
def test_output_and_exceptions_keep_their_order(s):
    native, reference = both(optimised(talking, X, np.array(s)))
    assert run(native, X, np.array(s)) == run(reference, X, np.array(s))


def test_an_index_that_is_out_of_bounds():
    def f(x, i):
        print("before")
        y = x[i]
        print("after", y)
        return y

    native, reference = both(optimised(f, X, np.array(2)))
    for i in (0, 3, -4, 4, -5):
        assert run(native, X, np.array(i)) == run(reference, X, np.array(i))


def test_python_functions_get_arrays_of_their_own():
    seen = []

    def look(x):
        seen.append(x)
        return x

    def f(x):
        for _ in range(3):
            x = ops.py_call(look, x, out=ms.TensorSpec((4,), ms.float64)) + 1.0 if hasattr(ops, "py_call") else x + 1.0
        return x

    native, reference = both(optimised(f, X))
    np.testing.assert_array_equal(native(X)[0], reference(X)[0])
    for k, x in enumerate(seen[:3]):
        np.testing.assert_array_equal(np.asarray(x), X + k)


# ------------------------------------------------------------------------------------------------ time
def test_threads_share_a_program():
    native, _ = both(optimised(*PROGRAMS["large"]))
    xs = [(f64(3, 1000), np.array(1.0 + k)) for k in range(4)]
    expected = [native(*x) for x in xs]
    wrong = []

    def work(k):
        for _ in range(200):
            for a, b in zip(native(*xs[k]), expected[k], strict=True):
                if not np.array_equal(a, b):
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


ENDLESS = """
import numpy as np, threading, sys, time
import autodiff_compiler as ms
from autodiff_compiler.backends.native.backend import NativeBackend
from autodiff_compiler.backends.numpy import NumpyBackend
def f(x):
    while x > 0.0:
        x = x * 1.0 + 0.0
    return x
x = np.array(1.0)
module = ms.jit(f).lower(ms.Tensor(x))._compiled.program.stages.opt
program = NativeBackend(NumpyBackend()).native(module)
print("ready", flush=True)
try:
    program(x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_a_loop_can_be_interrupted(tmp_path):
    path = tmp_path / "endless.py"
    path.write_text(ENDLESS)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True, env=env) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            started = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=20)[0] == "interrupted\n"
            assert time.monotonic() - started < 5
        finally:
            child.kill()


def test_other_threads_run_during_a_loop():
    def f(x, n):
        i = n * 0
        while i < n:
            x = x * 0.999999 + 0.1
            i = i + 1
        return x

    native, _ = both(optimised(f, ONE, np.array(10)))
    times, done = [], threading.Event()

    def watch():
        while not done.is_set():
            times.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    native(ONE, np.array(100_000_000))
    done.set()
    thread.join()
    assert len(times) > 5


# ------------------------------------------------------------------------------------------------ in and out
PASSED = """
func @f(%n: i64[], %y: f64[3], %old: seq<f64[3]>, %pairs: seq<(bool[], f32[2])>) -> (
    seq<f64[3]>, i64[], seq<f64[3]>, seq<(bool[], f32[2])>, seq<f64[]>) {
  %s: f64[3], %r: seq<f64[3]>, %t: seq<f64[]> = scan %n (%c = %y) body (%i) {
    %w: f64[] = cast %i {dtype=f64}
    %v: f64[3] = broadcast_to %w {shape=[3]}
    %u: f64[3] = add %c, %v
    yield %u ; %c, %w
  }
  %both: seq<f64[3]> = seq_add %old, %old
  %k: i64[] = seq_len %old
  return %r, %k, %both, %pairs, %t
}
"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_sequences_enter_and_leave_as_arrays(n):
    native, reference = both(parse_module(PASSED))
    pairs = np.arange(n) % 2 == 0, f64(n, 2).astype(np.float32)
    args = np.array(n), f64(3), f64(n, 3), pairs
    for _ in range(2):
        for a, b in zip(native(*args), reference(*args), strict=True):
            for x, y in zip(*[p if isinstance(p, tuple) else (p,) for p in (a, b)], strict=True):
                np.testing.assert_array_equal(x, y, strict=True)


def test_sequences_of_sequences_do_not_leave():
    text = "func @f(%x: seq<seq<f64[]>>) -> (seq<seq<f64[]>>) {\n  return %x\n}\n"
    with pytest.raises(NotNativeError, match="seq"):
        NativeBackend(NumpyBackend()).native(parse_module(text))


# ------------------------------------------------------------------------------------------------ calls
CALLS = """
func @f(%x: f64[3], %n: i64[]) -> (f64[3]) {
  %a: f64[3] = call %x, %n {fn="@g"}
  %b: f64[3] = call %a, %n {fn="@g"}
  return %b
}
func @g(%x: f64[3], %n: i64[]) -> (f64[3]) {
  %y: f64[3] = scan %n (%c = %x) body (%i) {
    %d: f64[3] = call %c {fn="@h"}
    yield %d
  }
  return %y
}
func @h(%x: f64[3]) -> (f64[3]) {
  %d: f64[3] = add %x, %x
  return %d
}
"""


@pytest.mark.parametrize("n", [0, 3])
def test_functions_are_written_where_they_are_called(n):
    native, reference = both(parse_module(CALLS))
    x = f64(3)
    np.testing.assert_array_equal(native(x, np.array(n))[0], reference(x, np.array(n))[0])


def test_functions_that_call_themselves_are_left_to_the_fallback():
    module = parse_module(CALLS.replace("add %x, %x", 'call %x {fn="@h"}'))
    with pytest.raises(NotNativeError, match="themselves"):
        NativeBackend(NumpyBackend()).native(module)
