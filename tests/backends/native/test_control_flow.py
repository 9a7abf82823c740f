"""`if`, `while` and `for` in machine code, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.backends.native.jit.machine import why_not
from tests.backends.native.against_numpy import ONE, X, f64, same

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


def halving(x):
    n = 0
    while x > 1.0:
        x = x * 0.75
        n = n + 1
    return x, x * 0 + n


def vectors(x, s):
    while s < 10.0:
        s = s * 1.5
        x = x * 0.5 + s
    return x, s


def chosen(x, s):
    if s > 1.0:
        y, z = x * 2, s
    else:
        y, z = x, s * 3
    return y, z, y + z


def early(x, s):
    total = x * 0
    for i in range(20):
        s = s * 1.25
        if s > 30.0:
            break
        if s < 2.0:
            continue
        total = total + x * s
        if s > 20.0:
            return total * 2
    return total


def swapped(x, y, s):
    while s < 10.0:
        x, y = y, x
        s = s + 1.0
    return x, y


def rotated(x, y, z, s):
    while s < 7.0:
        x, y, z = y, z, x * 0.5
        s = s + 1.0
    return x, y, z


def views(x, s):
    while s < 6.0:
        x = x[::-1]
        s = s + 1.0
    return x


def loops_in_loops(x, s):
    for i in range(4):
        y = x
        t = s
        while t < 9.0:
            t = t * 2.0
            for j in range(i):
                y = y * 0.5 + j
        x = x + y
    return x


def filled(x, s):
    out = ops.zeros((7,), ms.float64)
    for i in range(7):
        if s > 1.0:
            out[i] = x[i % 4] * i
        s = s * 0.9
    return out


def old_and_new(x, s):
    """The version of a trip is read after the next one was made."""
    kept = x
    while s < 9.0:
        new = x * 0.5 + 1.0
        kept = kept + x * new
        x = new
        s = s + 1.0
    return x, kept


PROGRAMS = {
    "scalars": (halving, ONE * 8),
    "no trip": (halving, ONE / 2),
    "vectors": (vectors, X, ONE),
    "vectors, no trip": (vectors, X, ONE * 20),
    "then": (chosen, X, ONE),
    "else": (chosen, X, ONE / 2),
    "early": (early, X, ONE),
    "early, other": (early, X, ONE * 18),
    "swap": (swapped, X, X * 2, ONE),
    "swap, odd": (swapped, X, X * 2, ONE + 1),
    "rotation": (rotated, X, X * 2, X + 1, ONE),
    "views": (views, X, ONE),
    "nested": (loops_in_loops, X, ONE),
    "filled": (filled, X, ONE * 2),
    "old and new": (old_and_new, X, ONE),
    "large": (vectors, f64(3, 1000), ONE),
    "empty": (vectors, f64(3, 0), ONE),
    "single": (vectors, f64(1), ONE),
    "f32": (vectors, X.astype(np.float32), ONE.astype(np.float32)),
    "f16": (vectors, X.astype(np.float16), ONE.astype(np.float16)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_arithmetic_is_the_same_bit_by_bit(name):
    same(*PROGRAMS[name])


def total(f):
    def whole(*xs):
        found = f(*xs)
        parts = found if isinstance(found, tuple) else (found,)
        return sum([(p * p).sum() for p in parts])

    return whole


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("f16", "empty")])
def test_derivatives(name):
    f, *xs = PROGRAMS[name]
    whole, wrt = total(f), tuple(range(len(xs)))

    def derivative(*xs):
        return ms.value_and_grad(whole, wrt)(*xs)

    same(derivative, *xs, within=40 if name == "large" else 16)


def test_derivatives_of_derivatives():
    def f(x, s):
        def inner(x):
            y = x
            for i in range(3):
                y = ops.sin(y) * s if i % 2 else y * y
            return y.sum()

        return ms.grad(lambda x: (ms.grad(inner)(x) * x).sum())(x)

    same(f, X, ONE, within=16)


def test_rows_of_tensors():
    def f(xs, h):
        def run(xs, h):
            for x in xs:
                h = h * 0.5 + x
            return (h * h).sum()

        return ms.value_and_grad(run, (0, 1))(xs, h)

    same(f, f64(12, 3, 2), f64(3, 2), within=4)
