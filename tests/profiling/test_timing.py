"""`Artifact.timing`: runs the program without changing anything, and says what lines and kernels take of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops, optim
from autodiff_compiler.config import context
from autodiff_compiler.inspection.figures import duration


def layers(x, w):
    for _ in range(10):
        x = ops.tanh(ops.matmul(x, w))
    return x.sum()


def test_types_stand_for_arguments(backend):
    spec = ms.TensorSpec("f32[64,64]")
    timing = ms.grad(layers).lower(spec, spec).timing(5)
    assert timing.backend == backend
    assert len(timing.runs) == 5
    assert min(timing.runs) <= timing.median <= max(timing.runs)
    assert timing.spread >= 0
    (row,) = [x for x in timing.lines if x.text == "x = ops.tanh(ops.matmul(x, w))" and not x.part]
    assert row.calls == 10
    assert any(x.part == "adjoint" and "matmul" in x.ops for x in timing.lines)
    products = [x for x in timing.ops if x.ops == ("matmul",)]
    assert sum(x.flops for x in products) % (2 * 64**3) == 0
    assert sum(x.flops for x in products) >= 2 * 10 * 2 * 64**3
    assert_rows_sum_to_a_run(timing)
    assert str(timing).startswith(f"grad_layers on {backend}: ")
    assert "<table>" in timing._repr_html_()
    with pytest.raises(ValueError, match="line, kernel or op"):
        timing.table("file")


def assert_rows_sum_to_a_run(timing):
    """With the last row, of what lies in no op; where rows took more, measured in other runs, it takes nothing."""
    for rows in (timing.lines, timing.kernels, timing.ops):
        assert rows[-1].name == "the call itself"
        assert rows[-1].seconds == timing.outside
        inside = sum(x.seconds for x in rows[:-1])
        assert sum(x.seconds for x in rows) == pytest.approx(max(timing.median, inside))
        assert sum(x.share for x in rows) == pytest.approx(1)
        assert timing.outside == 0 or inside < timing.median


def test_a_tiny_function_has_a_row_for_the_call(backend):
    """A call has a cost of its own; the table has it, so that it sums to what is said above it."""
    timing = ms.jit(lambda x: x + 1).lower(ms.TensorSpec("f32[3]")).timing(20)
    assert_rows_sum_to_a_run(timing)
    for kind in ("line", "kernel", "op"):
        last = timing.table(kind).splitlines()[-1]
        assert "the call itself" in last
        assert f" {duration(timing.outside)} " in last


def test_rows_that_took_longer_than_a_run_are_told(backend):
    timing = ms.jit(layers).lower(*[ms.TensorSpec("f32[64,64]")] * 2).timing(3)
    assert "other runs" not in str(replace(timing, runs=(9.0,)))
    slower = replace(timing, runs=tuple(x / 100 for x in timing.runs))
    inside = sum(x.seconds for x in timing.kernels) - timing.outside
    assert f"measured in other runs, in which they took {duration(inside)} together" in str(slower)


def test_the_rest_is_shown_below_a_long_table(backend):
    def long(x):
        return sum([ops.sin(ops.matmul(x * i, x)).sum() for i in range(30)])

    timing = ms.jit(long).lower(ms.TensorSpec("f32[8,8]")).timing(2)
    assert len(timing.ops) > 30
    assert "the call itself" in timing.table("op").splitlines()[-1]


def test_arguments_are_kept_and_nothing_changes(backend):
    net = nn.SequentialCell(nn.Dense(4, 4), nn.Dropout(p=0.5)).set_train()
    optimizer = optim.SGD(net.trainable_params(), 0.1)
    both = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)

    @ms.jit
    def step(x):
        value, grads = both(x)
        optimizer(grads)
        return value

    x = ms.Tensor(np.ones((3, 4), np.float32))
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    ms.set_seed(5)
    drawn = nn.Dropout(p=0.5).set_train()(x).asnumpy()
    ms.set_seed(5)
    artifact = step.lower(x)
    timing = artifact.timing(3)
    assert timing.kernels
    assert np.array_equal(nn.Dropout(p=0.5).set_train()(x).asnumpy(), drawn)
    assert all(np.array_equal(p.asnumpy(), old) for p, old in zip(net.get_parameters(), before, strict=True))
    assert np.array_equal(x.asnumpy(), np.ones((3, 4), np.float32))


def test_the_loop_runs_for_the_given_argument(backend):
    """How often it runs depends on numbers: those of the call."""

    def halved(x):
        while (x * x).sum() > 1.0:
            x = x * 0.5
        return x

    x = ms.Tensor(np.full(4096, 64.0, np.float32))
    timing = ms.jit(halved).lower(x).timing(2)
    (row,) = [r for r in timing.lines if r.text == "x = x * 0.5"]
    assert row.calls == 12  # 4096 * 64**2 = 2**24, a fourth of it each time


def test_an_argument_that_is_a_view_is_kept(backend):
    """All elements of it are one; it is no type that numbers must be drawn for."""
    seen = []

    def shown(x, y):
        ms.py_call(lambda a, b: seen.append((a.tolist(), b.item())), x, y, out=None)
        return x

    view = ops.broadcast_to(ms.Tensor(2.0), (4,))
    ms.jit(shown).lower(view, ms.Tensor(3.0)).timing(1)
    assert seen
    assert all(found == ([2.0] * 4, 3.0) for found in seen)


def test_numbers_are_drawn_for_types_of_every_shape(backend):
    seen = []

    def shown(*xs):
        ms.py_call(lambda *arrays: seen.append([a.ravel().tolist() for a in arrays]), *xs, out=None)
        return xs[0]

    ms.jit(shown).lower(*map(ms.TensorSpec, ("f32[]", "f32[1]", "f32[3]", "i64[2]"))).timing(1)
    *floats, integers = seen[0]
    assert all(0 < x < 1 for numbers in floats for x in numbers)
    assert integers == [0, 0]
    assert all(found == seen[0] for found in seen)


def test_refusals(monkeypatch):
    artifact = ms.jit(layers).lower(ms.TensorSpec("f32[4,4]"), ms.TensorSpec("f32[4,4]"))
    with pytest.raises(ValueError, match="n must be positive"):
        artifact.timing(0)
    monkeypatch.setattr(context, "device_target", "Ascend")
    with pytest.raises(RuntimeError, match="CPU only"):
        artifact.timing()
