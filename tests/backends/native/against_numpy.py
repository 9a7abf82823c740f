"""A program as machine code and as the NumPy backend's Python: the same results."""

from __future__ import annotations

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.backends.numpy import NumpyBackend
from tests.backends.native.sampled import native

RNG = np.random.default_rng(5)
X = np.array([0.5, -1.0, 2.0, 3.0])
ONE = np.array(1.5)


def f64(*shape):
    return RNG.standard_normal(shape)


def optimised(f, *xs):
    return ms.jit(f).lower(*map(ms.Tensor, xs))._call.compiled.program.stages.opt


def both(module):
    return native(module), NumpyBackend().compile(module)


def ulps(a, b):
    """How many numbers lie between two arrays, at most."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    if a.dtype.kind != "f":
        return 0 if np.array_equal(a, b) else np.inf
    if not a.size:
        return 0
    scale = np.spacing(np.maximum(np.abs(b), np.finfo(b.dtype).tiny))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(same, 0, np.abs(a - b) / scale)))


def same_results(module, *xs, within=0, calls=2):
    """Runs a module on both backends, several times natively: frames and their room are used again."""
    program, reference = both(module)
    expected = reference(*xs)
    for _ in range(calls):
        for a, b in zip(program(*xs), expected, strict=True):
            assert ulps(a, b) <= within, (a, b)


def same(f, *xs, within=0, calls=2):
    """The same for a function of Tensors."""
    same_results(optimised(f, *xs), *xs, within=within, calls=calls)
