"""How loops are compiled: unrolled, kept, peeled, restarted; decided once, so that nests compile in linear time."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import LoopError, UnrollWarning
from autodiff_compiler.frontend.interpreter.interpreter import Interpreter
from tests.programs.compare import define


def loops(f, *args, **options):
    """The ops of loops that the frontend kept, in the order of the text."""
    text = ms.jit(f, **options).lower(*args).ir("front")
    return [kind for line in text.splitlines() for kind in ("scan", "while") if f" = {kind} " in line]


X = Tensor(np.array([0.3, 0.4]))

KINDS = {
    # source, options, loops kept
    "unrolled": ("for i in range(8):\n        x = x * 0.9 + i", {}, []),
    "kept": ("for i in range(9):\n        x = x * 0.9 + i", {}, ["scan"]),
    "limit": ("for i in range(9):\n        x = x * 0.9 + i", {"unroll_limit": 9}, []),
    "peeled": ("y = 0\n    for i in range(9):\n        y = y + x * i\n    x = y", {}, ["scan"]),
    "static uses": ("for i in range(9):\n        x = x + [1, 2, 3][i % 3]", {}, []),
    "unroll": ("for i in ms.unroll(range(20)):\n        x = x * 0.9 + i", {}, []),
    "keep": ("for i in ms.keep(range(3)):\n        x = x * 0.9 + i", {}, ["scan"]),
    "keep nothing": ("for i in ms.keep([]):\n        x = x * 0.9 + i", {}, []),
    "static while": ("k = 0\n    while k < 5:\n        k += 1\n        x = x * 0.9 + k", {}, []),
    "restarted while": ("k = 0\n    while k < 50:\n        k += 1\n        x = x * 0.9 + k", {}, ["while"]),
    "condition turns dynamic": ("s = 0\n    while s < 3:\n        s = s + x.sum()\n        x = x * 1.1", {}, ["while"]),
    "endless with break": (
        "while True:\n        x = x * 1.3\n        if x.sum() > 4:\n            break",
        {},
        ["while"],
    ),
    "endless with return": (
        "while True:\n        x = x * 1.3\n        if x.sum() > 4:\n            return x",
        {},
        ["while"],
    ),
    "long static while": ("k = []\n    while len(k) < 20:\n        k.append(x)\n        x = x * 0.9", {}, []),
    "appends": (
        "k = []\n    for i in range(20):\n        k.append(x)\n        x = x * 0.9\n    x = k[3]",
        {},
        ["scan"],
    ),
    "inserts": ("k = []\n    for i in range(20):\n        k.insert(0, x)\n        x = x * 0.9\n    x = k[3]", {}, []),
    "no trips": ("i = 7\n    for i in range(0):\n        x = x * 2\n    x = x * i", {}, []),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_loop_becomes(kind):
    source, options, expected = KINDS[kind]
    f = define(f"def f(x):\n    {source}\n    return x")
    assert loops(f, X, **options) == expected
    np.testing.assert_array_equal(ms.jit(f, **options)(X).asnumpy(), f(X).asnumpy())


ERRORS = {
    "AC1501": ("k = []\n    for i in range(2000):\n        k.insert(0, x)", "2000 trips.*calls `insert` of the list"),
    "AC1502": ("k = []\n    for i in ms.keep(range(20)):\n        k.insert(0, x)", "calls `insert` of the list `k`"),
    "AC1503": ("while True:\n        x = x * 2", "never ends"),
    "AC1504": ("k = []\n    for i in range(int(x.sum())):\n        k.append((x, i))\n    return k", "changes its size"),
    "AC1406": ("while x.sum() < 9:\n        x = x.astype(ms.float16)", "'x' is Tensor f64.2. when"),
}


@pytest.mark.parametrize("code", ERRORS)
def test_refused(code):
    source, words = ERRORS[code]
    with pytest.raises(ms.errors.CompileError, match=words) as caught:
        ms.jit(define(f"def f(x):\n    {source}\n    return x"))(X)
    assert caught.value.code == code


def test_a_static_while_too_long_to_run():
    f = define("def f(x):\n    k = []\n    while len(k) < 3000:\n        k.append(x)\n    return x")
    with pytest.raises(LoopError, match=r"`while` of 1024 trips is too long to unroll.*changes its size") as caught:
        ms.jit(f)(X)
    assert caught.value.code == "AC1501"


@pytest.mark.parametrize(
    ("loop", "why"),
    [("for i in range(130):", "a trip calls `insert` of the list `k`"), ("while len(k) < 130:", "changes its size")],
)
def test_long_unrolling_warns_once_and_names_what_forced_it(loop, why):
    f = define(f"def f(x):\n    k = []\n    {loop}\n        k.insert(0, x)\n    return k[0]")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        ms.jit(f)(X)
    assert [type(w.message) for w in given] == [UnrollWarning]
    assert given[0].message.code == "AC2002"
    assert "130 trips" in str(given[0].message)
    assert why in str(given[0].message)


def test_a_warning_that_is_an_error_changes_no_decision():
    f = define("def f(x):\n    k = []\n    for i in range(130):\n        k.insert(0, x)\n    return k[0]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnrollWarning):
            ms.jit(f)(X)
    inner = "        k = []\n        for i in range(130):\n            k.insert(0, x)\n"
    f = define(f"def f(x):\n    for j in range(9):\n{inner}        x = x * 0.9\n    return x")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert loops(f, X) == ["scan"]
    assert len(given) == 1


def visits(source):
    """How many statements the frontend executes to compile a function."""
    count = [0]
    one = Interpreter.stmt

    def counted(self, node):
        count[0] += 1
        one(self, node)

    f = define(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Interpreter, "stmt", counted)
        ms.jit(f).lower(X)
    return count[0]


def nest(heads, body):
    lines = ["def f(x):", "    t = x * 1.0", "    n = 0"]
    for depth, head in enumerate(heads):
        lines.append("    " * (depth + 1) + head.format(depth))
    lines += ["    " * (len(heads) + 1) + line for line in body]
    return "\n".join([*lines, "    return x"])


BODIES = {
    "tensors": ["x = x * 0.9"],
    "numbers": ["n = n + 1", "x = x + n"],
    "elements": ["t[0] = t[0] * 0.5", "x = x + t"],
    "late": ["late = x * 2", "x = late * 0.4"],
}


@pytest.mark.some(3)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("head", ["for i{} in range(9):", "for i{} in range(int(x.sum())):", "while x.sum() > {}:"])
def test_nests_of_kept_loops_take_few_traces(head, body):
    """The innermost body is met a number of times that grows with the depth, and not as a power of it."""
    counts = [visits(nest([head] * depth, BODIES[body])) for depth in (2, 4, 6, 8)]
    assert counts[3] < 6 * counts[1], counts


def test_nests_of_loops_that_cannot_be_kept_try_once():
    body = ["k = []", "for j in range(9):", "    k.append(x)", "x = k[-1] * 0.9"]
    counts = [visits(nest(["for i{} in range(9):"] * depth, body)) for depth in (1, 2, 3)]
    assert counts[2] < 3 * counts[0], counts


def test_a_helper_called_with_other_types_decides_anew():
    source = """
def helper(items, x):
    out = []
    for item in ms.keep(items):
        x = x * 0.9 + item
    return x

def f(x):
    a = helper([x * i for i in range(12)], x)
    return helper(list(range(12)), a)
"""
    f = define(source)
    assert loops(f, X) == ["scan", "scan"]
    np.testing.assert_array_equal(ms.jit(f)(X).asnumpy(), f(X).asnumpy())


def test_effects_before_an_exception_in_a_while_are_kept(capsys):
    f = define("def f(x):\n    k = [1]\n    while k:\n        print('trip')\n        k[3]\n    return x")
    with pytest.raises(IndexError):
        ms.jit(f)(X)
    assert capsys.readouterr().out == "trip\n"


# ------------------------------------------------------------------------------------ loops that an exception ends
ENDED = {
    "raise": "        x = x + 1\n        if x.sum() > 20:\n            raise ValueError(f'big {x}')",
    "assert": "        x = x + 1\n        assert x.sum() < 20, f'big {x}'",
    "printed": "        x = x + 1\n        print(x)\n        if x.sum() > 5:\n            raise KeyError('k')",
}


@pytest.mark.parametrize("body", ENDED.values(), ids=ENDED)
def test_an_endless_while_is_ended_by_an_exception(body, capsys):
    f = define(f"def f(x):\n    while True:\n{body}")
    inner = body.replace("\n", "\n    ")
    g = define(f"def f(x):\n    if x.sum() > 0:\n        while True:\n    {inner}\n    return x * 3")

    def outcome(fn):
        with pytest.raises((ValueError, AssertionError, KeyError)) as caught:
            fn(X)
        return type(caught.value), str(caught.value), capsys.readouterr().out

    for h in (f, g):
        assert outcome(ms.jit(h)) == outcome(h)
        assert outcome(ms.jit(ms.grad(h))) == outcome(h)
    assert ms.jit(g)(-X).tolist() == (-3 * X).tolist()
    assert ms.jit(ms.grad(g))(-X).tolist() == [3.0, 3.0]
