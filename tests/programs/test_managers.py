"""`with` in compiled code: managers are entered and left as in eager code."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

from .compare import assert_same, define

X = np.array([[1.0, 2.0], [3.0, 4.0]])


@ms.jit_class
class Loud:
    def __init__(self, tag):
        self.tag = tag

    def __enter__(self):
        print("enter", self.tag)
        return self

    def __exit__(self, *raised):
        print("exit", self.tag)


class Given:
    """Made outside; leaving it does nothing."""

    def __init__(self, k):
        self.k = k

    def __enter__(self):
        return self.k

    def __exit__(self, *raised):
        return False


class Swallowing(Given):
    def __exit__(self, *raised):
        return True


@ms.jit_class
class Depth:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *raised):
        self.depth -= 1


NAMES = {
    "Loud": Loud, "Depth": Depth, "given": Given(3.0), "swallowing": Swallowing(2.0), "loud": Loud("outside"),
    "nullcontext": contextlib.nullcontext, "suppress": contextlib.suppress,
    "managed": contextlib.contextmanager(lambda: iter([1])),
}  # fmt: skip

PROGRAMS = {
    "two": """
        with Loud("a") as m, Loud("b"):
            print(m.tag)
            x = x * 2.0
        return x""",
    "return": """
        with Loud("a"):
            if x.sum() > 3:
                return x
            x = x * 2.0
        print("after")
        return x + 1.0""",
    "return value before exit": """
        with Depth() as d:
            return x * d.depth, d""",
    "continue and break": """
        for i in range(3):
            with Loud(i):
                if i == 1:
                    continue
                if x.sum() > 100:
                    break
                x = x * 10.0
        return x""",
    "kept loop": """
        d = Depth()
        for i in range(20):
            with d:
                x = x + d.depth
        return x""",
    "outside": """
        with given as k, loud:
            x = x * k
        return x""",
    "nullcontext": """
        with nullcontext(5.0) as v, nullcontext():
            x = x * v
        return x""",
    "state": """
        d = Depth()
        with d:
            with d:
                x = x * d.depth
            x = x * d.depth
        return x, d.depth""",
    "raise without effects": """
        with given as k:
            if x.sum() > 1000:
                raise ValueError("big")
            x = x * k
        return x""",
    "swallows nothing": """
        with swallowing as k:
            x = x * k
        return x""",
}


def program(text):
    lines = text.strip("\n").splitlines()
    return define("def f(x):\n" + "\n".join(line[4:] for line in lines), **NAMES)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_managers(name, scale, capsys):
    f = program(PROGRAMS[name])
    x = ms.Tensor(X * scale)
    expected, told = f(x), capsys.readouterr().out
    found = ms.jit(f)(x)
    assert capsys.readouterr().out == told
    if name == "return value before exit":
        assert found[1].depth == expected[1].depth == 0
        found, expected = found[0], expected[0]
    assert_same(found, expected, name)


def test_an_exception_leaves_a_manager_without_effects():
    f = program(PROGRAMS["raise without effects"])
    for run in (f, ms.jit(f)):
        with pytest.raises(ValueError, match="big"):
            run(ms.Tensor(X * 1e6))


REFUSED = {
    "effects and an exception": 'with Loud("a"):\n    if x.sum() > 3:\n        raise ValueError("big")\nreturn x',
    "effects and a certain exception": 'with Loud("a"):\n    raise ValueError("big")',
    "effects and a host call": "with Loud('a'):\n    ms.py_call(print, 1)\nreturn x",
    "swallowing": "with swallowing:\n    assert x.sum() > 100\nreturn x",
    "contextlib.suppress": "with suppress(ValueError):\n    return x",
    "contextmanager": "with managed():\n    return x",
    "a Tensor": "with x:\n    return x",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    text = "def f(x):\n" + "\n".join("    " + line for line in REFUSED[name].splitlines())
    with pytest.raises(CompileError) as caught:
        ms.jit(define(text, **NAMES))(ms.Tensor(X))
    assert caught.value.code == "AC1108"
    assert caught.value.loc.line == 2


def test_derivatives_pass_through():
    f = program(PROGRAMS["state"])
    g = lambda x: f(x)[0].sum()
    assert_same(ms.jit(ms.grad(g))(ms.Tensor(X)), ms.grad(g)(ms.Tensor(X)), "gradient")
