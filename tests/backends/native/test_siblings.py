"""Ops that read the same arrays share a walk, where that costs no memory."""

from __future__ import annotations

import random

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.fusion.clusters import Cluster
from autodiff_compiler.backends.native.fusion.grouping import items
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.config import context
from autodiff_compiler.dtypes import float32, float64
from autodiff_compiler.primitives import F
from tests.backends.native.sampled import assert_like_numpy, module_for, vectors_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

N = 48


def squares(*dtypes: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(1, 2, (N, N)).astype(dtype) for dtype in dtypes]


def walks_of(build, *arrays: np.ndarray) -> list[int]:
    """How many ops each walk of a program has; its results are checked, too."""
    module = module_for(build, *arrays)
    assert_like_numpy(module, arrays, "siblings")
    return [len(item.ops) for item in items(module.entry.body) if isinstance(item, Cluster)]


def test_results_of_the_same_operands_are_one_walk():
    assert walks_of(lambda x, y: (x + y, x - y, F.tanh(x * y)), *squares("f", "f")) == [4]


def test_derivatives_of_a_product_are_made_with_its_value():
    x, y, z = squares("d", "d", "d")
    build = lambda x, y, z: (F.sum(x * y * z, axes=(-2, -1)), y * z, x * z)
    assert walks_of(build, x, y, z) == [5]


def test_a_walk_waits_for_numbers():
    """A formula on single numbers, late in the text, does not keep its reader out of a walk."""

    def build(x, y, s):
        return x * y, x * F.broadcast_to(F.exp(s) + 1.0, shape=x.shape)

    assert walks_of(build, *squares("f", "f"), np.array(0.5, "f")) == [2]


def test_what_is_needed_much_later_is_not_made_early():
    """Each of the two intermediate arrays lies where the other did."""

    def build(x, y):
        return F.matmul(F.matmul(x + y, x), x - y)

    x, y = squares("f", "f")
    assert walks_of(build, x, y) == [1, 1]


def test_an_operand_that_dies_makes_room():
    """`g` is needed by both adjoints and by nothing else: both go with one reading of it."""

    def build(x, y, w):
        g = F.matmul(w, w)
        return F.matmul(g * y, w) + F.matmul(g * x, x)

    assert walks_of(build, *squares("f", "f", "f")) == [2, 1]  # the adjoints, and the sum of the products


def test_results_come_after_what_may_fail():
    """Else they could not be written over their last versions."""

    def build(x, y, i):
        return x + y, F.gather(x, i, axis=-2), x - y

    x, y = squares("f", "f")
    early = lambda x, y, i: (x + y, x - y, F.gather(x, i, axis=-2))
    i = np.array([3, 1])
    assert walks_of(build, x, y, i) == [1, 1]
    assert walks_of(early, x, y, i) == [2]


def test_updates_that_read_each_other(monkeypatch):
    """Both new versions are written over the old ones, in one walk that reads both."""
    monkeypatch.setattr(context, "backend", "native")
    a, b = squares("f", "f")
    p, q = ms.Parameter(ms.Tensor(a), name="p"), ms.Parameter(ms.Tensor(b), name="q")

    @ms.jit
    def step(g):
        before = p * 1.0
        ms.ops.assign(p, p - g * q)
        ms.ops.assign(q, q + g * before)
        return g

    for _ in range(3):
        step(ms.Tensor(np.float32(0.5)))
        a, b = a - np.float32(0.5) * b, b + np.float32(0.5) * a
        np.testing.assert_allclose(p.asnumpy(), a, rtol=1e-5)
        np.testing.assert_allclose(q.asnumpy(), b, rtol=1e-5)


def operand(rng: random.Random, values: list) -> object:
    """A value as it is, across, or one row of it for all."""
    x = rng.choice(values[-6:])
    return rng.choice(
        [
            lambda: x,
            lambda: x,
            lambda: F.transpose(x, axes=(-1, -2)),
            lambda: F.broadcast_to(F.slice(x, axes=(-2,), starts=(3,), stops=(4,), steps=(1,)), shape=(N, N)),
        ]
    )()


@pytest.mark.some(4)
@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("seed", range(12))
def test_random_siblings(seed, nbytes):
    """Views, other dtypes, reductions, products between, results of some."""

    def build(*vs):
        rng = random.Random(seed)
        values = list(vs)
        for _ in range(16):
            a, b = operand(rng, values), operand(rng, values)
            values.append(
                rng.choice(
                    [
                        lambda a=a, b=b: a * b * 0.4,
                        lambda a=a, b=b: a - b,
                        lambda a=a, b=b: F.cast(F.cast(a, dtype=float64) + 0.5, dtype=float32) * b * 0.25,
                        lambda a=a, b=b: F.select(F.greater(a, b), a, b * 0.5),
                        lambda a=a, b=b: F.matmul(a, b) * (1 / N),
                        lambda a=a, b=b: b + F.broadcast_to(F.sum(a, axes=(-2, -1)) * (1 / N**2), shape=(N, N)),
                    ]
                )()
            )
        return *rng.sample(values[3:], 4), F.sum(values[-1], axes=(-1,))

    arrays = squares("f", "f", "f")
    with vectors_of(nbytes):
        assert_like_numpy(module_for(build, *arrays), arrays, f"seed {seed}")
