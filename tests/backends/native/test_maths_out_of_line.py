"""Elementary functions that are called, where a module has too many uses of them to write each in place."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.jit import machine

pytestmark = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code here: {machine.why_not()}")

FUNCTIONS = [ops.tanh, ops.exp, ops.sin, ops.cos, ops.erf, ops.log1p, ops.sigmoid, lambda x: ops.pow(x * x + 0.5, x)]


def few(x):
    return [f(x * 0.5) for f in FUNCTIONS]


def many(x):
    return [f(x * (0.5 + i)) for i in range(10) for f in FUNCTIONS]


def lowered(f, x):
    return ms.jit(f, backend="native").lower(x)


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_the_bits_are_the_same(dtype, size):
    x = Tensor(np.random.default_rng(size).uniform(-0.9, 0.9, size).astype(dtype))
    alone = ms.jit(few, backend="native")(x)
    together = ms.jit(many, backend="native")(x)
    for a, b in zip(alone, together, strict=False):
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes()


def test_each_is_written_once():
    x = Tensor(np.ones(1000, np.float32))
    text = lowered(many, x).code()
    written = re.findall(r"^define internal \S.* @((?:tanh|exp|sin)_\w+)\(", text, re.MULTILINE)
    assert len(written) == len(set(written))  # once for each width; how many widths there are is up to the processor
    for function in ("tanh", "exp", "sin"):
        calls = [text.count(f" @{name}(") - 1 for name in written if name.startswith(function)]
        assert 1 <= len(calls) <= 2
        assert sum(calls) >= 10
    assert not re.search(r"^define .* @tanh_", lowered(few, x).code(), re.MULTILINE)


def test_numbers_are_right():
    x = np.linspace(-0.9, 0.9, 999)
    found = ms.jit(many, backend="native")(Tensor(x))
    expected = [f(x * (0.5 + i)) for i in range(10) for f in (np.tanh, np.exp, np.sin)]
    picked = [found[8 * i + k] for i in range(10) for k in range(3)]
    for a, b in zip(picked, expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-14, atol=1e-15)
