"""Short ways into compiled code: functions of machine code that check calls themselves, and when they must not."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.runtime import epoch
from autodiff_compiler.runtime.storage import holders
from tests.backends.native.short_calls import (
    NEEDS_MACHINE_CODE,
    NEEDS_SHORT_WAYS,
    SHORT,
    TIMES,
    A,
    B,
    Counting,
    Net,
    long,
    native,
    of,
    ran,
    short,
    warm,
)

pytestmark = NEEDS_MACHINE_CODE
__all__ = ["native"]


# ------------------------------------------------------------------------------------------------ what it gives
def test_a_function_of_two_tensors():
    f = ms.jit(lambda x, y: x * y + x)
    warm(f, A, B)
    found = short(f, A, B)
    assert type(found) is Tensor
    assert found.tolist() == [5, 12, 21]
    assert short(f, B, A).tolist() == [8, 15, 24]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: (x + 1, x * 2), ([2, 3, 4], [2, 4, 6])),
        (lambda x: [x + 1, {"a": x * 2}], [[2, 3, 4], {"a": [2, 4, 6]}]),
        (lambda x: (x * 2, x), ([2, 4, 6], [1, 2, 3])),
        (lambda x: (x.sum(), 5, "a", None), (6, 5, "a", None)),
        (lambda x: None, None),
        (lambda x: x.shape[0], 3),
    ],
)
def test_results_of_any_structure(function, expected):
    def plain(found):
        if isinstance(found, Tensor):
            return found.tolist()
        if isinstance(found, dict):
            return {k: plain(v) for k, v in found.items()}
        return type(found)(map(plain, found)) if isinstance(found, tuple | list) else found

    f = ms.jit(function)
    assert plain(warm(f, A)) == expected
    assert plain(short(f, A)) == expected


def test_an_argument_that_is_returned_is_the_argument():
    f = ms.jit(lambda x: (x, x * 2))
    warm(f, A)
    assert short(f, B)[0] is B


def test_results_do_not_share_memory():
    f = ms.jit(lambda x: (x * 2, x * 2, x.reshape(3, 1)))
    warm(f, A)
    one, other, view = short(f, A)
    one.asnumpy()[0], view.asnumpy()[0] = 9, 9
    assert other.tolist() == [2, 4, 6]
    assert A.tolist() == [1, 2, 3]


def test_a_cell_and_its_parameters():
    net = Net()
    warm(net, A)
    assert short(net, A).tolist() == [2, 8, 18]
    net.w.set_data(of(1, 1, 1))
    assert net(A).tolist() == [2, 4, 6]
    assert short(net, A).tolist() == [2, 4, 6]
    net.w = of(0, 0, 1)
    assert warm(net, A).tolist() == [0, 0, 6]
    net.w.asnumpy()[:] = 2
    assert short(net, A).tolist() == [4, 8, 12]


def test_states_are_written_where_they_lie():
    net = Counting()
    warm(net, A)
    array = net.total.asnumpy()
    total = [k * (TIMES + 1) for k in (1, 2, 3)]
    assert short(net, A).tolist() == total
    assert array.tolist() == total
    assert net.total.asnumpy() is array


def test_a_step_of_training_is_that_of_the_other_backend():
    def trained(backend):
        ms.set_context(backend=backend)
        net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9))
        x, y = of([1, 2, 3], [0, 1, -1]), of([1, 0], [0, 1])
        losses = [step(x, y).item() for _ in range(20)]
        return step, x, y, losses, net.weight.asnumpy().copy()

    step, x, y, losses, weight = trained("native")
    short(step, x, y)
    _, _, _, expected, others = trained("numpy")
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(weight, others, rtol=1e-5)


def test_gradients():
    def f(x, y):
        return (x * x * y).sum()

    for make, expected in ((lambda: ms.grad(f), [8, 20, 36]), (lambda: ms.grad(f, 1), [1, 4, 9])):
        for _ in range(TIMES):
            make()(A, B)
        assert make() is make()
        assert short(make(), A, B).tolist() == expected
    value, (dx, dy) = warm(ms.value_and_grad(f, (0, 1)), A, B)
    assert (value.item(), dx.tolist(), dy.tolist()) == (78, [8, 20, 36], [1, 4, 9])


def test_random_numbers_go_on():
    f = ms.jit(lambda x: x + ops.rand(3, seed=3))
    ms.set_seed(5)
    found = [f(A).tolist() for _ in range(2 * TIMES)]
    ms.set_seed(5)
    assert [f(A).tolist() for _ in range(2 * TIMES)] == found
    assert len({tuple(x) for x in found}) == 2 * TIMES


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @ms.jit
        def scaled(self, x):
            return x * self.w

    one, other = Model(of(1, 2, 3)), Model(of(2, 2, 2))
    form = Model.__dict__["scaled"]

    def short(method, x):
        before = ran(form)
        found = method(x)
        assert ran(form) == before + SHORT
        return found

    for model in (one, other):
        warm(model.scaled, A)
    for _ in range(3):
        assert short(one.scaled, A).tolist() == [1, 4, 9]
        assert short(other.scaled, A).tolist() == [2, 4, 6]
    assert one.scaled(x=A).tolist() == [1, 4, 9]
    assert one.scaled(of(2)).tolist() == [2, 4, 6]
    one.w = of(0, 0, 1)
    assert one.scaled(A).tolist() == [0, 0, 3]
    one.w = 5
    assert one.scaled(A).tolist() == [5, 10, 15]
    assert short(other.scaled, A).tolist() == [2, 4, 6]
    with ms.disable_jit():
        before = ran(form)
        assert other.scaled(A).tolist() == [2, 4, 6]
        assert ran(form) == before
        assert not form._methods
    other.scaled(A)
    assert (id(other) in form._methods) is bool(SHORT)


def test_compiled_methods_of_cells_in_eager_mode():
    class Mine(Net):
        @ms.jit
        def construct(self, x):
            return x * self.w

    ms.set_context(mode=ms.PYNATIVE_MODE)
    net, form = Mine(), Mine.__dict__["construct"]
    warm(net, A)
    before = ran(form)
    assert net(A).tolist() == [1, 4, 9]
    assert ran(form) == before + SHORT
    net.w.set_data(of(1, 1, 1))
    assert net(A).tolist() == [1, 2, 3]
    gone = weakref.ref(net)
    del net
    form.clear_cache()
    gc.collect()
    assert gone() is None


# ------------------------------------------------------------------------------------------------ what it refuses
def test_other_arguments():
    f = ms.jit(lambda x, y=1: x * y)
    warm(f, A)
    assert long(f, A, y=2).tolist() == [2, 4, 6]
    assert long(f, of(1, 2)).tolist() == [1, 2]
    assert long(f, of(1, 2, 3, dtype=np.float64)).dtype == ms.float64
    assert long(f, Tensor.from_numpy(np.arange(6, dtype=np.float32)[::2])).tolist() == [0, 2, 4]
    assert long(f, Parameter([1.0, 2.0, 3.0])).tolist() == [1, 2, 3]
    assert long(f, 3) == 3
    with pytest.raises(TypeError):
        f()
    with pytest.raises(TypeError):
        f(A, A, A)


def test_a_parameter_is_no_tensor_in_compiled_code():
    f = ms.jit(lambda x: x * (2 if isinstance(x, Parameter) else 3))
    warm(f, A)
    assert f(Parameter(np.array([1, 1, 1], np.float32))).tolist() == [2, 2, 2]
    f(A)  # a new Parameter has moved the epoch
    assert short(f, A).tolist() == [3, 6, 9]


def test_a_subclass_of_tensor():
    class Mine(Tensor):
        pass

    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    mine = object.__new__(Mine)
    mine._data, mine._node, mine._held = A._data, None, 0
    assert long(f, mine).tolist() == [2, 4, 6]


def test_shapes_in_turn():
    f = ms.jit(lambda x: x * 2)
    long_, other = of(1, 2, 3), of(1, 2)
    warm(f, long_), warm(f, other)
    compiles = f.cache_info()["compiles"]
    for _ in range(4):
        assert short(f, long_).tolist() == [2, 4, 6]
        assert short(f, other).tolist() == [2, 4]
    assert f.cache_info()["compiles"] == compiles


def test_tensors_on_a_tape():
    f = ms.jit(lambda x: x * x)
    warm(f, A)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.grad(lambda x: f(x).sum())(A).tolist() == [2, 4, 6]
    assert short(f, A).tolist() == [1, 4, 9]


def test_parameters_on_a_tape():
    net = Net()
    f = ms.jit(lambda x: net(x))
    warm(f, A)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.grad(lambda x: f(x).sum(), None, net.w)(A).tolist() == [2, 4, 6]
    assert holders.live == 1
    warm(f, A)
    assert short(f, A).tolist() == [2, 8, 18]


def test_a_parameter_that_an_ended_tape_held_is_written_by_the_short_way_again():
    net = Counting()
    f = ms.jit(net)
    warm(f, A)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.grad(lambda x: (x * net.total).sum())(A)
    warm(f, A)
    short(f, A)


def test_hooks_that_come_later():
    f = ms.jit(lambda x: (x * x).sum())
    g = ms.grad(f)
    x = of(1, 2, 3)
    warm(g, x)
    short(g, x)
    handle = x.register_hook(lambda d: d * 10)
    assert g(x).tolist() == [20, 40, 60]
    handle.remove()
    assert g(x).tolist() == [2, 4, 6]


def test_hooks_of_a_cell_that_come_later():
    net = Net()
    warm(net, A)
    handle = net.register_forward_hook(lambda cell, inputs, output: output * 10)
    assert net(A).tolist() == [20, 80, 180]
    handle.remove()
    assert warm(net, A).tolist() == [2, 8, 18]
    short(net, A)


def test_memory_that_arguments_share_with_a_state():
    net = Counting()
    warm(net, A)
    alias = Tensor.from_numpy(net.total.asnumpy())
    before = net.total.tolist()
    assert long(net, alias).tolist() == [2 * x for x in before]
    short(net, A)


# ------------------------------------------------------------------------------------------------ modes
def test_modes():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2

    net = Double()
    warm(net, A)
    short(net, A)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert long(net, A).tolist() == [2, 4, 6]
    net.compile_and_run(A)
    short(net._compiled, A)
    assert long(net, A).tolist() == [2, 4, 6]
    ms.set_context(mode=ms.GRAPH_MODE)
    net(A)
    short(net, A)
    with ms.disable_jit():
        long(net, A)
        long(net._compiled, A)
    net(A)
    short(net, A)


def test_gradients_in_both_modes():
    def f(x):
        return (x * x).sum()

    g = ms.grad(f)
    warm(g, A)
    short(g, A)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert long(g, A).tolist() == [2, 4, 6]


def test_another_backend():
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    ms.set_context(backend="numpy")
    assert long(f, A).tolist() == [2, 4, 6]
    assert f.cache_info()["compiles"] == 2
    ms.set_context(backend="native")
    assert f(A).tolist() == [2, 4, 6]
    assert f.cache_info()["compiles"] == 2


# ------------------------------------------------------------------------------------------------ the function around
def test_hits_are_counted():
    f = ms.jit(lambda x: x * 2)
    for _ in range(100):
        f(A)
    info = f.cache_info()
    assert (info["hits"], info["misses"], info["compiles"]) == (99, 1, 1)
    assert info["keys"][0]["hits"] == 99
    f.clear_cache()
    assert f.cache_info()["hits"] == 99
    f(A)
    assert f.cache_info()["compiles"] == 2


def test_errors_show_the_users_frames_only():
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    with pytest.raises(TypeError) as caught:
        f(A, A)
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    package = str(Path(ms.__file__).parent)
    assert not [file for file in files if file.startswith(package)]


def test_copies():
    net = Net()
    warm(net, A)
    for other in (copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))):
        other.factor = 1.0
        assert warm(other, A).tolist() == [1, 4, 9]
        net(A)  # the other one has moved the epoch
        assert short(net, A).tolist() == [2, 8, 18]
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    assert copy.deepcopy(f)(A).tolist() == [2, 4, 6]


def test_calls_inside_of_other_compiled_code():
    f = ms.jit(lambda x: x * 2)
    g = ms.jit(lambda x: f(x) + 1)
    assert warm(g, A).tolist() == [3, 5, 7]
    warm(f, A)
    compiles = g.cache_info()["compiles"]
    assert short(g, A).tolist() == [3, 5, 7]
    assert g.cache_info()["compiles"] == compiles


# ------------------------------------------------------------------------------------------------ memory and threads
def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
def test_memory_stays():
    net, f = Counting(), ms.jit(lambda x, y: (x * y, [x + y]))
    x, y = of(1, 2, 3), of(1, 1, 1)
    warm(net, x), warm(f, x, y)

    def many(n):
        for _ in range(n):
            net(x), f(x, y)

    many(2000)
    counted = (x, y, x._data, y._data, net.total, net.total._data, np.ndarray, None, Tensor, x._data.dtype)
    before, memory = [sys.getrefcount(t) for t in counted], rss()
    many(50_000)
    after = [sys.getrefcount(t) for t in counted]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True))
    assert rss() - memory < 4 << 20


def test_dropped_functions_are_freed():
    net, f = Net(), ms.jit(lambda x: x * 2)
    warm(net, A), warm(f, A)
    made = [weakref.ref(x) for x in (net, net.w, f, next(iter(net._compiled._entries.values()))[0])]
    del net, f
    gc.collect()
    assert [r() for r in made] == [None] * 4


def test_a_function_of_tensors_is_freed_without_the_collector():
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    fast = weakref.ref(f)
    gc.disable()
    try:
        del f
        assert fast() is None
    finally:
        gc.enable()


@NEEDS_SHORT_WAYS
def test_a_function_outlives_what_made_it():
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    fast = f._fast
    f.clear_cache()
    gc.collect()
    assert fast(A).tolist() == [2, 4, 6]


def test_threads_lose_no_update():
    net = Counting()
    one = of(1, 1, 1)
    warm(net, one)
    gate, errors = threading.Barrier(8), []

    def work(number):
        gate.wait()
        for i in range(400):
            try:
                if number == 0 and i % 20 == 0:
                    epoch.bump()
                if number == 1 and i % 50 == 0:  # another shape: it compiles, or goes the long way
                    net(of(1) if i % 100 else one * 1)
                else:
                    net(one)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert net.total.tolist() == [TIMES + 8 * 400] * 3


def test_a_lock_that_is_held_closes_the_short_way():
    net = Counting()
    warm(net, A)
    (entry,) = next(iter(net._compiled._entries.values()))
    with entry.all_locks[0]:
        long(net, A)  # this thread holds it, so it does not wait
    short(net, A)
