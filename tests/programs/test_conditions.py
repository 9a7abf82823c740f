"""Conditions of `and`, `or` and `not`: only the truth counts, so operands of several types may stand together."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.programs.compare import check_at, define

# Conditions on an array `x`, an int `n`, a string `s`; some operands known when compiling, some only at run time.
CONDITIONS = [
    "x[:1] > 0 and n",
    "n and x[:1] > 0",
    "x[0] > 1 or n or x[1] > 1.9",
    "not (x[0] > 1 and n)",
    "x[0] > 1 and not (s or x[1] > 0)",
    "(x[0] > 1 or None) and x[1] > 2.1",
    "not x[0] > 1 and s and [x]",
    "x[0] and x[1:2] and x[0] > 1",
    "x[0] > 1 and [] or (x[1] > 2.1 or ())",
]
POINTS = [np.array([1.5, 2.0, 3.0]), np.array([0.5, 2.5, -1.0]), np.array([-0.5, 1.0, 2.0])]


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_if(condition, n):
    f = define(f"""
def f(x, n, s="text"):
    if {condition}:
        return x * x
    return x * 3 if {condition} else x / 2
""")
    check_at(f, [(x, n) for x in POINTS], order=1)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_while(condition):
    f = define(f"""
def f(x, n, s=""):
    k = 0
    while x.sum() < 9 and k < 5 and not ({condition}):
        x, k = x * 1.5, k + 1
    return x
""")
    check_at(f, [(x, 1) for x in POINTS], order=1)


def test_operands_that_are_not_reached_are_not_evaluated(capsys):
    f = define("""
def say(x, text):
    print(text)
    return x

def f(x):
    if say(x[0] > 0, "first") and say(x[1] > 0, "second") or say(3, "third"):
        return x
    return -x
""")
    g = ms.jit(f)
    for values in ([1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]):
        f(ms.Tensor(values))
        expected = capsys.readouterr().out
        g(ms.Tensor(values))
        assert capsys.readouterr().out == expected
