"""Ctrl-C while compiled code runs: tracebacks have the user's frames only, and name the line of the loop if known."""

from __future__ import annotations

import os
import sys

import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from tests import forked

SCRIPT = """
import os, signal, sys, threading
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import nn

@ms.jit(backend=sys.argv[1])
def f(x):
    while x[0] > -1.0:  # endless
        x = x * 0.5 + 0.5
    return x

class Net(nn.Cell):
    def construct(self, x):
        return f(x)

def call(how, x):
    return how(x)

if sys.argv[2] == "Cell":
    ms.set_context(mode=ms.GRAPH_MODE, backend=sys.argv[1])
how = Net() if sys.argv[2] == "Cell" else f
call(how, ms.Tensor(np.full(10, -2.0)))
x = ms.Tensor(np.ones(10))
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
call(how, x)
"""


@pytest.mark.parametrize(
    ("backend", "what"),
    [
        ("native", "Cell"), ("numpy", "function"),
        *[pytest.param(*way, marks=pytest.mark.long) for way in (("native", "function"), ("numpy", "Cell"))],
    ],
)  # fmt: skip
def test_a_traceback_of_ctrl_c(backend, what, tmp_path):
    if backend == "native" and why_not() is not None:
        pytest.skip(f"no machine code here: {why_not()}")
    path = tmp_path / "endless.py"
    path.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = forked.run(path, backend, what, env=env, timeout=60)
    files = [line.split('"')[1] for line in found.stderr.splitlines() if line.startswith("  File ")]
    assert files == [str(path)] * 2, found.stderr
    assert "KeyboardInterrupt" in found.stderr
    if backend == "numpy" and what == "function":
        assert "interrupted at endless.py:9: while x[0] > -1.0:" in found.stderr
