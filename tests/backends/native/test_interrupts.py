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

from autodiff_compiler.backends.native.machine import why_not
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

    program = native(optimised(f, ONE, np.array(10)))
    times, done = [], threading.Event()

    def watch():
        while not done.is_set():
            times.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    program(ONE, np.array(100_000_000))
    done.set()
    thread.join()
    assert len(times) > 5
