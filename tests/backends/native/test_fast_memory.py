"""Short ways called very often, by several threads, and from within themselves: nothing leaks, nothing is lost."""

from __future__ import annotations

import gc
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE, A, B, Counting, Net, native, of, warm

pytestmark = NEEDS_MACHINE_CODE
__all__ = ["native"]
CALLS = 20_000


class Plain:
    """What compiled code reads: an attribute, a list, a dict."""

    def __init__(self):
        self.k, self.rates, self.options = 3.0, [1.0, 2.0], {"add": 1.0}


def executable():
    program = ms.jit(lambda x, y: ops.tanh(x * y)).lower(A, B)._call.compiled.program.executable
    return program.run, (A._data, B._data), ()


def function():
    one = Plain()
    f = ms.jit(lambda x, y: (x * one.k * one.rates[1], [x + y, {"given": x, "number": 5}], one.options["add"]))
    return f, (A, B), (one, one.rates, one.options, one.k)


def cell():
    net = Net()
    return net, (A,), (net, net.w, net.w._data, type(net))


def counting():
    net = Counting()
    return net, (A,), (net, net.total, net.total._data)


def step():
    net = nn.Dense(3, 2)
    made = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 1e-3))
    return made, (of([1, 2, 3]), of([1, 0])), (net, net.weight, net.weight._data, made)


def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.some(2)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
@pytest.mark.parametrize("make", [executable, function, cell, counting, step])
def test_memory_and_counts_of_references_stay(make):
    call, args, more = make()
    counted = (*args, *more, call, None, True, 5, np.ndarray, Tensor, A._data.dtype, float)

    def many(count):
        for _ in range(count):
            call(*args)

    many(2000)
    gc.collect()
    before, memory = [sys.getrefcount(x) for x in counted], rss()
    many(CALLS)
    gc.collect()
    after = [sys.getrefcount(x) for x in counted]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True))
    assert rss() - memory < 2 << 20


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
@pytest.mark.filterwarnings(
    "ignore::autodiff_compiler.errors.RecompileWarning"
)  # it changes a list again and again, on purpose
def test_what_is_watched_anew_replaces_what_was_watched():
    one = Plain()
    f = ms.jit(lambda x: x * one.rates[1])
    warm(f, A)

    def many(count):
        for i in range(count):
            one.rates = [float(i), 2.0] if i % 3 else [1.0, 2.0]
            f(A), f(A)
            one.rates = [1.0, 2.0]
            assert f(A).tolist() == [2, 4, 6]

    many(20)
    compiles, memory = f.cache_info()["compiles"], rss()
    many(20)
    assert rss() - memory < 8 << 20
    assert f.cache_info()["compiles"] - compiles <= 20
    many_equal(f, one)


def many_equal(f, one):
    for _ in range(300):
        one.rates = [1.0, float("2")]
        assert f(A).tolist() == [2, 4, 6]


def test_exceptions_leave_nothing_behind():
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    wrong = object()
    count = sys.getrefcount(wrong)
    for _ in range(300):
        with pytest.raises(TypeError):
            f(A, wrong)
    gc.collect()
    assert sys.getrefcount(wrong) <= count + 1


def test_threads_see_one_value_or_the_other():
    one = Plain()
    f = ms.jit(lambda x: (x * one.k, x + one.k))
    values = (3.0, 5.0, 7.0)
    for k in values:
        one.k = k
        warm(f, A)
    errors, end = [], time.monotonic() + 1.5

    def call():
        while time.monotonic() < end and not errors:
            product, total = f(A)
            k = product.tolist()[0]
            if k not in values or total.tolist()[0] != 1 + k:
                errors.append((product, total))

    def write():
        i = 0
        while time.monotonic() < end:
            i += 1
            one.k = values[i % 3]
            time.sleep(0 if i % 50 else 0.001)

    threads = [threading.Thread(target=t) for t in (call, call, call, write)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    one.k = 5.0
    assert f(A)[0].tolist() == [5, 10, 15]


def test_threads_that_call_one_executable():
    run, _, _ = executable()
    given = [np.full(3, i + 1, np.float32) for i in range(6)]
    expected = [np.tanh(x * x) for x in given]
    errors = []

    def call(x, y):
        for _ in range(3000):
            (found,) = run(x, x)
            if not np.allclose(found, y, rtol=1e-5):
                errors.append(found)

    threads = [threading.Thread(target=call, args=pair) for pair in zip(given, expected, strict=True)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_a_hook_that_calls_the_cell_it_belongs_to():
    net, depth, seen = Net(), [0], []

    def hook(cell, inputs, output):
        seen.append(output.asnumpy().tolist())
        if depth[0] < 3:
            depth[0] += 1
            net(Tensor(output.asnumpy()))

    net.register_forward_hook(hook)
    for _ in range(12):
        depth[0] = 0
        seen.clear()
        assert net(A).tolist() == [2, 8, 18]
        # factor 2 and w = (1, 2, 3), up to four times
        assert seen == [[2.0**n, 2 * 4.0**n, 3 * 6.0**n] for n in (1, 2, 3, 4)]
