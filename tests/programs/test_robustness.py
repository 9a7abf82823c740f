"""Threads, interrupts, small stacks, processes, warnings that are errors: a compiled function stays usable."""

from __future__ import annotations

import gc
import linecache
import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, depth, nn, ops
from autodiff_compiler.transforms import jit as jit_module
from tests.programs.compare import define

X = Tensor([1.0, 2.0])


def together(n, work):
    """Runs `work(i)` in n threads that start at once; gives what they return, raises what one of them raises."""
    barrier, results, errors = threading.Barrier(n), [None] * n, []

    def run(i):
        barrier.wait(60)
        try:
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not any(t.is_alive() for t in threads)
    if errors:
        raise errors[0]
    return results


# ------------------------------------------------------------------------------------------------ threads
def test_first_calls_of_many_threads_compile_once_per_key(monkeypatch):
    made = []
    one = jit_module.specialise
    monkeypatch.setattr(jit_module, "specialise", lambda *args: made.append(1) or one(*args))
    f = ms.jit(lambda x: ops.tanh(x * x).sum())
    inputs = [Tensor(np.arange(1.0, 2.0 + i % 2)) for i in range(8)]
    results = together(8, lambda i: f(inputs[i]).item())
    assert len(made) == 2
    assert results == [f.__wrapped__(x).item() for x in inputs]


def test_first_derivatives_of_many_threads():
    f = ms.jit(lambda x: ops.tanh(x * x).sum())
    results = together(6, lambda i: ms.grad(lambda x: f(x) * (i + 1))(X).asnumpy())
    for i, found in enumerate(results):
        np.testing.assert_allclose(found, ms.grad(lambda x, k=i + 1: f.__wrapped__(x) * k)(X).asnumpy(), rtol=1e-6)


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = ms.Parameter(Tensor(0.0, ms.float64), name="n")

    def construct(self, x):
        ops.assign(self.n, self.n + 1)
        return x * self.n


def test_calls_that_write_state_are_serialised_per_cell():
    cell = Counter()
    forms = ms.jit(cell), ms.jit(lambda x: cell(x) * 2)
    for f in forms:
        f(Tensor(1.0, ms.float64))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        together(4, lambda i: [forms[i % 2](Tensor(1.0, ms.float64)) for _ in range(200)])
    finally:
        sys.setswitchinterval(interval)
    assert cell.n.item() == 802.0


def test_draws_of_concurrent_calls_are_all_different():
    f = ms.jit(lambda x: x + ops.rand(4, dtype=ms.float32))
    f(Tensor(0.0))
    drawn = together(4, lambda i: np.stack([f(Tensor(0.0)).asnumpy() for _ in range(25)]))
    assert len(np.unique(np.concatenate(drawn), axis=0)) == 100


# ------------------------------------------------------------------------------------------------ interrupts
def finalizes(frame):
    """Whether a frame is called by a `__del__`, or is one."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@pytest.mark.parametrize("fn", [lambda x: ops.tanh(x * 3).sum(), ms.grad(lambda x: (x * x).sum())])
def test_an_interrupt_at_any_point_leaves_a_usable_function(fn):
    """A trace hook raises after more and more lines of the compiler.

    Not at a `with`: its line comes again before it is left, where no signal can come between the two.  Nor in a
    `__del__` or what watches the garbage collector, out of which Python lets no exception (it prints it).
    """
    expected = fn(X).asnumpy()
    limit = sys.getrecursionlimit()
    at = interrupted = 0
    while True:
        at = at * 2 + 7
        f, count = ms.jit(fn), 0

        def hook(frame, event, arg, at=at):
            nonlocal count
            count += event == "line" and "autodiff_compiler" in frame.f_code.co_filename
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno) if count >= at else "with"
            if not line.lstrip().startswith("with") and not finalizes(frame):
                raise KeyboardInterrupt
            return hook

        before = sys.gettrace()
        gc.disable()
        sys.settrace(hook)
        try:
            f(X)
            done = True
        except KeyboardInterrupt:
            done = False
        finally:
            sys.settrace(before)
            gc.enable()
        np.testing.assert_array_equal(f(X).asnumpy(), expected)
        assert together(1, lambda i, f=f: f(X).tolist()) == [expected.tolist()]  # no lock is left held
        assert sys.getrecursionlimit() == limit
        if done:
            break
        interrupted += 1
    assert interrupted > 5


# ------------------------------------------------------------------------------------------------ depth
def source(text):
    """A function from text as a file would give it, without parsing it in this thread's Python more than needed."""
    name = f"<deep {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["f"]


DEEP = {
    "terms": ("def f(x):\n    return x" + " + x" * 1500, 1501.0),
    "parentheses": ("def f(x):\n    return " + "(0.5 * " * 90 + "x" + ")" * 90, 0.5**90),
    "elifs": (
        "def f(x):\n    if x < 0:\n        y = x\n"
        + "".join(f"    elif x < {i}:\n        y = x * {i}\n" for i in range(80))
        + "    else:\n        y = x\n    return y",
        2.0,
    ),
    "recursion": ("def g(x, k):\n    return x if k == 0 else g(x, k - 1) + 1\ndef f(x):\n    return g(x, 200)", 201.0),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("kilobytes", [None, 256, 1024])
@pytest.mark.parametrize("program", DEEP)
def test_deep_programs_in_threads_with_small_stacks(program, kilobytes):
    text, expected = DEEP[program]
    f = source(text)
    limit = sys.getrecursionlimit()

    def compiled(_):
        try:
            return ms.jit(f)(Tensor(1.0)).item()
        except ms.errors.RecursionDepthError:
            return "too deep"

    before = threading.stack_size(kilobytes * 1024) if kilobytes else None
    try:
        results = together(2, compiled)
    finally:
        if kilobytes:
            threading.stack_size(before)
    told = {"too deep"} if (3, 12) <= sys.version_info < (3, 13) and program == "terms" else {expected}
    assert set(results) == told
    assert sys.getrecursionlimit() == limit


def test_what_another_thread_raises_arrives_here():
    f = define("def f(x):\n    return x.sun()")

    def failing(_):
        with pytest.raises(ms.errors.MissingAttributeError, match="sun"):
            ms.jit(f)(X)
        return depth._thread.small

    before = threading.stack_size(256 * 1024)
    try:
        assert together(1, failing) == [True]
    finally:
        threading.stack_size(before)


# ------------------------------------------------------------------------------------------------ processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_processes_go_on():
    f = ms.jit(lambda x: x * 3)
    f(X)
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        right = f(X).tolist() == [3.0, 6.0] and ms.jit(lambda x: x * 4)(X).tolist() == [4.0, 8.0]
        os._exit(0 if right else 1)
    assert os.waitpid(pid, 0)[1] == 0


# ------------------------------------------------------------------------------------------------ re-entrancy
def test_a_function_that_prints_an_object_that_calls_it(capsys):
    class Told:
        def __init__(self):
            self.depth = 0

        def __str__(self):
            self.depth += 1
            return "end" if self.depth > 2 else f"inner {f(X).tolist()}"

    told = Told()

    def show(x):
        print(told, x)
        return x

    @ms.jit
    def f(x):
        return ms.py_call(show, x * 2, out=x)

    assert f(X).tolist() == [2.0, 4.0]
    assert capsys.readouterr().out.count("\n") == 3


# ------------------------------------------------------------------------------------------------ flags of Python
OPTIMISED = """
import autodiff_compiler as ms
def f(x):
    assert x.sum() > 10, 'small'
    assert 1 > 2, f"{x} cannot be known"
    return x * 2
print(f(ms.Tensor([1.0])).tolist(), ms.jit(f)(ms.Tensor([1.0])).tolist())
"""


def test_asserts_are_absent_under_O_in_both_modes(tmp_path):
    file = tmp_path / "optimised.py"
    file.write_text(OPTIMISED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-O", "-W", "error", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("[2.0] [2.0]\n", "")


def test_warnings_that_are_errors_do_no_harm():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = ms.jit(lambda x: (x / 0).sum())
        assert f(X).item() == np.inf
        assert ms.grad(f)(X).tolist() == [np.inf, np.inf]
