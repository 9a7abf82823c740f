"""Processes that fork while another thread compiles: the child finds no lock taken, and no module half imported."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import autodiff_compiler as ms
from autodiff_compiler.locks import remembered

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


class Slow:
    """Its value is computed while `go` is not set."""

    started, go = threading.Event(), threading.Event()

    def __init__(self, waits):
        self.waits = waits

    @remembered
    def value(self):
        if self.waits:
            self.started.set()
            self.go.wait()
        return [self.waits]


def test_a_value_is_remembered():
    one = Slow(False)
    assert one.value is one.value
    assert one.value == [False]
    assert Slow.value is inspect.getattr_static(Slow, "value")
    del one.value
    assert one.value == [False]


def test_a_fork_while_another_thread_computes_a_value_that_is_remembered():
    thread = threading.Thread(target=lambda: Slow(True).value)
    thread.start()
    Slow.started.wait()
    try:
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if Slow(False).value == [False] else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        Slow.go.set()
        thread.join()


def test_nothing_of_the_package_remembers_values_under_a_lock():
    decorated = re.compile(r"@(functools\.)?cached_property\b")
    files = Path(ms.__file__).parent.rglob("*.py")
    assert not [file for file in files if decorated.search(file.read_text(encoding="utf-8"))]


_CHILD = """
import os, signal, sys, threading, time
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

within, forking = threading.Event(), threading.Event()

class Watching:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE and not within.is_set():
            within.set()
            forking.wait(10)
            time.sleep(0.2)  # the fork takes place now, unless it waits for the import

sys.meta_path.insert(0, Watching())
os.register_at_fork(before=forking.set)  # runs before the hooks of the package, as it is registered later

@ms.jit
def f(x):
    return ops.sin(x)

def called_often():  # so that it gets its short way
    for _ in range(20):
        found = f(Tensor([1.0, 2.0]))
    return found

thread = threading.Thread(target=called_often)
thread.start()
assert within.wait(10), "nobody imports the module"
child = os.fork()
if not child:
    signal.alarm(15)
    np.testing.assert_allclose(called_often().numpy(), np.sin([1.0, 2.0]), rtol=1e-5)
    os._exit(0)
status = os.waitpid(child, 0)[1]
thread.join()
print("status", status)
"""


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("backend", "module"),
    [
        ("auto", "autodiff_compiler.backends.native.jit.machine"),
        ("auto", "autodiff_compiler.backends.native.codegen.lanes"),
        ("native", "autodiff_compiler.backends.native.backend"),
        ("auto", "llvmlite"),
        ("auto", "llvmlite.binding"),
        ("auto", "autodiff_compiler.backends.native.callpath.entry"),
        ("numpy", "autodiff_compiler.backends.numpy.backend"),
        ("auto", "autodiff_compiler.backends.native.callpath.vectorcall"),
        ("auto", "subprocess"),
    ],
)
def test_a_fork_while_another_thread_imports_what_compiling_needs(tmp_path, backend, module):
    file = tmp_path / "program.py"
    file.write_text(f"MODULE = {module!r}\n{_CHILD}")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "AC_BACKEND": backend}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)],
        env=environ, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert (found.stdout, found.returncode) == ("status 0\n", 0), found.stderr


_IMPORTS = """
import sys
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from autodiff_compiler.locks import importing

class Watching:
    def find_spec(self, name, path=None, target=None):
        if not importing._is_owned():
            print("a fork does not wait for the import of", name)

f, g = jit(ops.sin), jit(grad(lambda x: (ops.exp(x) * x).sum()))  # what the package itself has not imported, yet
sys.meta_path.insert(0, Watching())
for _ in range(20):  # so that they get their short ways
    f(Tensor([1.0, 2.0])), g(Tensor([1.0, 2.0]))
sys.meta_path.pop(0)
print("autodiff_compiler.compiler.fastcall.direct_call" in sys.modules)
"""


def test_a_fork_waits_for_all_imports_of_compiling(tmp_path):
    """A child may also be lucky: the locks of modules that were being imported are not always left held there."""
    (tmp_path / "program.py").write_text(_IMPORTS)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "AC_BACKEND": "auto"}
    command = [sys.executable, str(tmp_path / "program.py")]
    found = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=200)
    assert (found.stdout, found.returncode) == ("True\n", 0), found.stderr
