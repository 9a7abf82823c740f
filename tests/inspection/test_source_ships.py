"""Printed NumPy as a way to ship: networks run without this package, and loops cost as much per trip at any length."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, nn, ops
from autodiff_compiler.errors import UnsupportedCallError

RNG = np.random.default_rng(3)
#: more than `unroll_limit`, so that the loops are kept
LENGTH = 12


def draw(*shape):
    return RNG.standard_normal(shape)


def _sequences(cls):
    net = cls(3, 4)
    states = [Tensor(draw(1, 2, 4).astype(np.float32)) for _ in range(2 if cls is nn.LSTM else 1)]
    hx = tuple(states) if cls is nn.LSTM else states[0]
    return net, lambda x, h: (net(x, h)[0] ** 2).sum(), (Tensor(draw(LENGTH, 2, 3).astype(np.float32)), hx)


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)
        self.norm = nn.LayerNorm((8,))

    def construct(self, x):
        return self.norm(x + self.attention(x, x, x, need_weights=False)[0])


def _attention():
    net = Block()
    return net, lambda x: (net(x) * x).sum(), (Tensor(draw(5, 2, 8).astype(np.float32)),)


def _mlp():
    net = nn.SequentialCell(nn.Dense(3, 8), nn.GELU(), nn.Dense(8, 1))
    return net, lambda x: (net(x) ** 2).mean(), (Tensor(draw(4, 3).astype(np.float32)),)


NETWORKS = {
    "gru": lambda: _sequences(nn.GRU),
    "lstm": lambda: _sequences(nn.LSTM),
    "attention": _attention,
    "mlp": _mlp,
}
BARE = """
import importlib, pickle, sys
sys.modules["autodiff_compiler"] = None  # what imports it fails
import numpy as np
calls, results = pickle.load(open("calls.pickle", "rb")), {}
for name, (function, args) in calls.items():
    with np.load(name + ".py.npz") as saved:
        parameters = {key.partition("/")[2]: saved[key] for key in saved}
    results[name] = getattr(importlib.import_module(name), function)(*args, parameters)
pickle.dump(results, open("results.pickle", "wb"))
print(sorted({name.partition(".")[0] for name in sys.modules} & {"autodiff_compiler", "llvmlite", "scipy"}))
"""


def _arrays(x):
    return x.asnumpy() if isinstance(x, Tensor) else tuple(map(_arrays, x))


def test_gradients_of_networks_run_where_this_package_is_not(tmp_path):
    calls, expected = {}, {}
    for name, make in NETWORKS.items():
        net, loss, args = make()
        by_weights = ms.value_and_grad(loss, None, net.trainable_params())
        source = by_weights.source(*args)
        source.save(tmp_path / f"{name}.py")
        calls[name] = source.name, _arrays(args)
        expected[name] = _arrays(by_weights(*args))
    (tmp_path / "calls.pickle").write_bytes(pickle.dumps(calls))
    done = subprocess.run([sys.executable, "-c", BARE], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = pickle.loads((tmp_path / "results.pickle").read_bytes())
    assert "'llvmlite'" not in done.stdout
    for name, (value, gradients) in expected.items():
        np.testing.assert_allclose(found[name][0], value, rtol=2e-5)
        for g, e in zip(found[name][1], gradients, strict=True):
            np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("cls", [nn.GRU, nn.LSTM])
def test_a_text_is_as_long_for_any_number_of_steps_and_runs_in_time_of_these(cls):
    net = cls(32, 32)

    def loss(x, h):
        return (net(x, h)[0] ** 2).sum()

    def made(steps):
        h = Tensor(draw(1, 64, 32).astype(np.float32))
        args = Tensor(draw(steps, 64, 32).astype(np.float32)), ((h, h) if cls is nn.LSTM else h)
        source = ms.grad(loss).source(*args)
        function, arrays = source.function, _arrays(args)
        return source, lambda: function(*arrays, **source.given)

    def fastest(call):
        def seconds():
            start = time.perf_counter()
            call()
            return time.perf_counter() - start

        return min(seconds() for _ in range(5))

    (short, few), (long, many) = made(50), made(400)
    assert len(long.splitlines()) == len(short.splitlines())
    # eight times the steps: 8 if a trip costs the same, 64 if it copies what the loop fills
    assert fastest(many) < 24 * fastest(few)


def test_one_text_takes_sequences_of_any_length():
    net = nn.GRU(3, 4)
    by_input = ms.grad(lambda x, h: (net(x, h)[0] ** 2).mean())
    source = by_input.source(TensorSpec("f32[n,2,3]"), TensorSpec("f32[1,2,4]"))
    for n in (1, 5, 30):
        x, h = draw(n, 2, 3).astype(np.float32), draw(1, 2, 4).astype(np.float32)
        expected = by_input(Tensor(x), Tensor(h)).asnumpy()
        np.testing.assert_allclose(source.function(x, h, **source.given), expected, rtol=2e-4, atol=1e-7)


# ------------------------------------------------------------------------------------------------ arrays in place
def fill(x):
    out = ops.zeros((10, 3), x.dtype)
    for i in range(10):
        out[i] = x[i] * (i + 1)
    return out.sum() * out[3].sum()


def running(x):
    for i in range(1, 10):
        x[i] = x[i - 1] * 0.5 + x[i].tanh()  # reads what the trip before has written
    return (x * x).sum()


def handed_on(x):
    last, out = x[0], ops.zeros_like(x)
    for i in range(10):
        out[i] = x[i] * last
        last = out[i]  # a part of the array that the next trip changes
        out[0] = x[i].cos()
    return (out * last).sum()


def read_later(x):
    out, total = x.copy(), x[0] * 0
    for i in range(10):
        before = out
        out = out.copy()
        out[i] = out[i].sin() * total.cos()
        total = total + before[i] * out[(i + 1) % 10]
    return total.sum() + out.sum()


def twice(x):
    out = x * 1
    for i in range(10):
        out[i] = out[i] * 2
        out[9 - i] = out[9 - i] + out[i].sin()
    return (out * out).sum()


def added(x):
    out = ops.zeros((4, 3), x.dtype)
    for i in range(10):
        out[i % 4] += x[i] * x[i]
    return (out * out).sum()


def swapped(x):
    a, b = x * 1, x * 2
    for i in range(10):
        a[i] = b[i].sin()
        a, b = b, a
    return (a * a).sum() + b.sum()


def until(x):
    i = Tensor(0)
    while x[0].sum() < 50 and i < 10:
        x[0] = x[0] + x[i].exp()
        x[i] = x[i] * x[0]
        i += 1
    return x.sum()


IN_PLACE = [fill, running, handed_on, read_later, twice, added, swapped, until]


def _eager(f, x, h=1e-6):
    """The value, and the gradient by central differences, of eager code in float64."""
    value = f(Tensor(x.copy())).item()
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    slopes = [(f(Tensor(x + d)).item() - f(Tensor(x - d)).item()) / (2 * h) for d in steps]
    return value, np.reshape(slopes, x.shape)


@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
def test_loops_that_change_arrays_are_written_as_they_compute(f):
    x = draw(10, 3)
    value, slope = _eager(f, x)

    def copied(x):
        return f(x.copy())

    value_, slope_ = ms.value_and_grad(copied).source(TensorSpec("f64[10,3]")).function(x)
    np.testing.assert_allclose(value_, value, rtol=1e-10)
    np.testing.assert_allclose(slope_, slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("f", "copies"), [(fill, 0), (running, 1), (added, 0), (twice, 1)])
def test_no_trip_copies_the_array_that_it_changes(f, copies):
    """One copy stands before the loop, where the array is the caller's; a row that is read is no array."""
    text = ms.jit(lambda x: f(x.copy())).source(TensorSpec("f64[10,3]"))
    assert len([line for line in text.splitlines() if ".copy()" in line and "[" not in line]) <= copies


def test_what_needs_several_processes_does_not_ship():
    def f(x):
        return (ops.AllReduce()(x) ** 2).sum()

    with pytest.raises(UnsupportedCallError, match="the processes of a group"):
        ms.grad(f).source(Tensor(draw(3)))
