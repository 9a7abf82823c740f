"""Loops that take long: other threads run meanwhile, and they can be interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import TensorSpec, ops
from autodiff_compiler.backends.native.jit.machine import machine, why_not
from autodiff_compiler.backends.native.kernels.interrupts import cost_of
from autodiff_compiler.backends.native.prepare.decompositions import decomposed
from autodiff_compiler.ir.walk import ops_of
from tests import forked
from tests.backends.native.against_numpy import ONE, f64, optimised
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


def test_threads_share_a_program():
    def f(x, s):
        while s < 10.0:
            s = s * 1.5
            x = x * 0.5 + s
        return x, s

    program = native(optimised(f, f64(3, 1000), ONE))
    xs = [(f64(3, 1000), np.array(1.0 + k)) for k in range(4)]
    expected = [program(*x) for x in xs]
    wrong = []

    def work(k):
        for _ in range(200):
            for a, b in zip(program(*xs[k]), expected[k], strict=True):
                if not np.array_equal(a, b):
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


ENDLESS = {
    "while": """
def f(x, w, n):
    while x[0, 0] > -1.0:
        x = x * 0.5 + 0.5
    return x
""",
    "while of products": """
def f(x, w, n):
    while x[0, 0] > -1.0:
        x = ops.tanh(x @ w)
    return x
""",
    "scan": """
def f(x, w, n):
    for i in range(10**15):
        x = x * 0.5 + w
    return x
""",
    "loop in a loop": """
def f(x, w, n):
    while x[0, 0] > -1.0:
        for i in range(1000):
            x = x @ w
    return x
""",
    "scan of a length that is not known": """
def f(x, w, n):
    for i in range(n):
        x = x * 0.5 + w
    return x
""",
    "in an arm": """
def f(x, w, n):
    while n > 0:
        if x[0, 0] < 2.0:
            x = x @ w
        else:
            x = x * 0.5
    return x
""",
}
SCRIPT = """
import sys, time
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import ops
ms.set_context(backend="native")
<f>
p = ms.Parameter(ms.Tensor(np.ones((40, 40))), name="p")
q = ms.Parameter(ms.Tensor(np.ones((40, 40))), name="q")
@ms.jit
def run(w, n):
    ops.assign(q, q * 2.0)
    ops.assign(p, f(p * 1.0, w, n))
    ops.assign(q, q + p)
    return p.sum()
w = ms.Tensor(np.full((40, 40), 1 / 40))
lowered = run.lower(w, ms.Tensor(10**15))
assert type(lowered._call.compiled.program.executable).__name__ == "NativeProgram"
for _ in range(2):
    try:
        print("ready", flush=True)
        run(w, ms.Tensor(10**15))
    except KeyboardInterrupt:
        print("interrupted", p.asnumpy().min(), p.asnumpy().max(), q.asnumpy().min(), q.asnumpy().max(), flush=True)
"""


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ENDLESS)
def test_a_loop_can_be_interrupted_and_leaves_states_as_they_were(name, tmp_path):
    path = tmp_path / "endless.py"
    path.write_text(SCRIPT.replace("<f>", ENDLESS[name]))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True, env=env) as child:
        late = threading.Timer(60, child.kill)  # of the loops each would take years
        late.start()
        try:
            for _ in range(2):
                assert child.stdout.readline() == "ready\n"
                time.sleep(0.3)  # it is in the loop by then, most likely
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "interrupted 1.0 1.0 1.0 1.0\n"
            assert child.wait() == 0
        finally:
            late.cancel()
            child.kill()


def _convolution(x, w):
    return ops.conv2d(x, w).sum()


def _product(x, w):
    return ops.matmul(x, w).sum()


LONG = {
    "convolution": (_convolution, (200, 64, 32, 32), (64, 64, 3, 3)),
    "its derivatives": (ms.grad(_convolution, (0, 1)), (75, 64, 32, 32), (64, 64, 3, 3)),
    "many products": (_product, (400, 256, 256), (400, 256, 256)),
    "some large products": (_product, (24, 700, 700), (24, 700, 700)),
    "one product": (_product, (6000, 4000), (4000, 3000)),
}
INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import autodiff_compiler as ms
from tests.backends.native.test_interrupts import LONG
of, *shapes = LONG["<name>"]
p = ms.Parameter(ms.Tensor(np.ones(3, np.float32)), name="p")
@ms.jit(backend="native")
def f(x, w):
    ms.ops.assign(p, p * 2.0)
    found = of(x, w)
    ms.ops.assign(p, p * 2.0)
    return found
x, w = (ms.Tensor(np.full(shape, 0.5, np.float32)) for shape in shapes)
f(x, w)
started = time.monotonic()
f(x, w)
whole = time.monotonic() - started
late = 0
for delay in (0.1, 0.3):
    timer = threading.Timer(delay * whole, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    try:
        f(x, w)
        time.sleep(60)
    except KeyboardInterrupt:
        late += time.monotonic() - started > 0.9 * whole
print(late, p.asnumpy()[0], f(x, w) is not None)
"""


@pytest.mark.some(3)
@pytest.mark.parametrize("name", LONG)
def test_a_long_product_or_convolution_is_interrupted_before_its_end_and_leaves_states(name, tmp_path):
    """The bound is generous: the machine may be busy, and one of the two calls may be late."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    path = tmp_path / "long.py"
    path.write_text(INTERRUPTED.replace("<name>", name))
    done = forked.run(path, env=env)
    assert (done.stdout, done.stderr) in {(text, "") for text in ("0 16.0 True\n", "1 16.0 True\n", "1 64.0 True\n")}


@pytest.mark.parametrize("name", LONG)
def test_which_products_and_convolutions_look(name):
    """Short ones do not: a program that looks is entered more slowly where it writes states."""
    f, x, w = LONG[name]
    run, few = ms.jit(f, backend="native"), 4 if len(x) > 2 else 100
    for rows, looks in ((x[0], True), (few, False)):
        shapes = (rows, *x[1:]), (rows, *w[1:]) if len(w) == 3 else w
        assert ("@poll" in run.lower(*[TensorSpec(shape, ms.float32) for shape in shapes]).code()) is looks


def _trips(body):
    def f(x, w, n):
        i = n * 0
        while i < n:
            x = body(x, w)
            i = i + 1
        return x

    return f


BODIES = {
    "numbers": (lambda x, w: x * w + 0.5, (), np.float64),
    "functions of numbers": (lambda x, w: ops.tanh(x * w), (), np.float64),
    "elements": (lambda x, w: x * w + 0.5, (100, 100), np.float64),
    "functions": (lambda x, w: ops.tanh(x) * w, (50, 50), np.float32),
    "rows": (lambda x, w: ops.softmax(x, -1) + w, (50, 50), np.float32),
    "small products": (lambda x, w: x @ w, (8, 8), np.float64),
    "products of a row": (lambda x, w: x[:1] @ w + x, (100, 100), np.float64),
    "products": (lambda x, w: x @ w, (48, 48), np.float32),
    "wide products": (lambda x, w: x @ w, (48, 48), np.float64),
}


@pytest.mark.parametrize("name", BODIES)
def test_estimates_of_what_a_trip_takes(name):
    """They were 10 to 400 times too high for products and rows of them, and too low for functions of numbers.

    A loop looks at signals after so many estimated nanoseconds.  The time is that of this thread, without what others
    take of the processor.
    """
    body, shape, dtype = BODIES[name]
    x, w = np.full(shape, 0.1, dtype), np.full(shape, 1 / max(1, *shape, 1), dtype)
    module = decomposed(optimised(_trips(body), x, w, np.array(5)))
    (loop,) = [op for op in ops_of(module.entry.body) if op.defn.name == "while"]
    estimate = sum(cost_of(block, machine().vector_bytes) for block in loop.blocks)
    program, trips = native(module), max(20, 4_000_000 // estimate)
    took = []
    for _ in range(8):
        started = time.thread_time_ns()
        program(x, w, np.array(trips))
        took.append((time.thread_time_ns() - started) / trips)
    assert min(took) / 10 < estimate < min(took) * 10


def test_other_threads_run_during_a_loop():
    def f(x, n):
        i = n * 0
        while i < n:
            x = x * 0.999999 + 0.1
            i = i + 1
        return x

    program = native(optimised(f, ONE, np.array(10)))
    times, done = [], threading.Event()

    def watch():
        while not done.is_set():
            times.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    program(ONE, np.array(300_000_000))
    done.set()
    thread.join()
    assert len(times) > 5
