"""Programs that are called while they run: by functions they call, by threads, and in processes that were forked."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit.machine import why_not
from tests.backends.native.against_numpy import f64, optimised
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

SMALL, LARGE = (3, 4), (70, 150)  # the frame of the latter is one of the shared ones


def kept(x, n):
    """A loop whose trips leave something for the derivative: buffers in the frame, and a stack that grows."""

    def run(x):
        i = n * 0
        y = x
        while i < n:
            y = y * 0.5 + y * y * 0.1
            i = i + 1
        return (y.sum(0) * y).sum()

    return ms.value_and_grad(run)(x)


def program_of(shape):
    x = f64(*shape) * 0.3
    return x, native(optimised(kept, x, np.array(5)))


def numbers(program, x, n):
    return [np.array(a) for a in program(x, np.array(n))]


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_threads_with_stacks_of_their_own(shape):
    x, program = program_of(shape)
    trips = (3, 40, 700, 90)
    expected = [numbers(program, x, n) for n in trips]
    errors = []
    start = threading.Barrier(len(trips))

    def work(k):
        start.wait()
        try:
            for _ in range(25):
                assert_same(numbers(program, x, trips[k]), expected[k])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(trips))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_a_program_calls_itself_in_the_middle_of_a_loop(shape):
    """Each call has a frame and a stack of its own, which the calls inside leave alone; so do those that fail."""
    depth, program = [0], None

    def again(x):
        if program is None or depth[0] == 6:
            return x
        depth[0] += 1
        try:
            if depth[0] == 3:
                with pytest.raises(ZeroDivisionError):
                    program(x, np.array(-1))
            return np.asarray(program(x * 0.5, np.array(3))[0])
        finally:
            depth[0] -= 1

    def refuse(x):
        raise ZeroDivisionError

    def f(x, n):
        spec = ms.TensorSpec(shape, ms.float64)
        i = n * 0
        y = x * 2.0
        while i < n:
            before = y * y + 0.5
            if i == 1:
                y = y + ms.py_call(again, y, out=spec)
            y = y * 0.25 + before * 0.125 + x
            i = i + 1
        if n < 0:
            y = ms.py_call(refuse, y, out=spec)
        return y

    def expected(x, n, depth):
        y = x * 2.0
        for i in range(n):
            before = y * y + 0.5
            if i == 1:
                y = y + (expected(y * 0.5, 3, depth + 1) if depth < 6 else y)
            y = y * 0.25 + before * 0.125 + x
        return y

    x = f64(*shape) * 0.1
    made = native(optimised(f, x, np.array(3)))
    program = made
    for _ in range(3):
        np.testing.assert_allclose(made(x, np.array(3))[0], expected(x, 3, 0), rtol=1e-12)


def forked(work):
    """Whether `work` is fine in a child of this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks while threads run, which is what is tested
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_both_processes_go_on_after_a_fork(shape):
    x, program = program_of(shape)
    expected = [numbers(program, x, n) for n in (2, 300)]

    def work():
        for _ in range(3):
            for n, wanted in zip((2, 300), expected, strict=True):
                assert_same(numbers(program, x, n), wanted)
        other, y = program_of(shape)[1], f64(*shape)  # compiles, and takes frames of its own
        other(y, np.array(4))

    assert forked(work)
    work()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_a_fork_while_other_threads_run_the_program(shape):
    x, program = program_of(shape)
    expected, stop = numbers(program, x, 50), threading.Event()

    def busy():
        while not stop.is_set():
            program(x, np.array(200))

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for t in threads:
        t.start()
    try:
        for _ in range(10):
            assert forked(lambda: assert_same(numbers(program, x, 50), expected))
            assert_same(numbers(program, x, 50), expected)
    finally:
        stop.set()
        for t in threads:
            t.join()
