"""Section 2: what is known while compiling, what is not, and what makes a call compile again.

Rows and tests: arguments in `ARGUMENTS`; what is read from outside in `OUTSIDE`.  More of it is in test_guards.py and
test_stale.py (Cells, classes, functions, captured Tensors, Parameters), written attributes are in test_attributes.py,
`mutable` in its own tests.
"""

from __future__ import annotations

import dataclasses
import enum
import linecache
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms

from .compare import assert_same, define
from .rows import _opened as opened


class Pair(NamedTuple):
    a: Any
    b: Any = 1


@dataclasses.dataclass(frozen=True)
class Record:
    a: Any
    b: Any = 1


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def t(*values, dtype=ms.float64):
    return ms.Tensor(np.array(values), dtype)


# The function, the arguments of calls one after the other, and after each how many compilations there were.
ARGUMENTS = {
    "Tensor by dtype and shape": (
        lambda x: x * 2,
        [(t(1, 2),), (t(3, 4),), (t(1, 2, 3),), (t(1, 2, dtype=ms.float32),), (t(5, 6),)],
        [1, 1, 2, 3, 3],
    ),
    "ndarray": (lambda x: x * 2, [(np.ones(2),), (np.zeros(2),), (np.ones(2, np.int32),)], [1, 1, 2]),
    "bool, int, float by type and value": (
        lambda x, k: x * k,
        [(t(1), 1), (t(1), True), (t(1), 1.0), (t(2), 1), (t(1), 2)],
        [1, 2, 3, 3, 4],
    ),
    "float by its bits": (
        lambda x, k: x * k,
        [(t(1), 0.0), (t(1), -0.0), (t(1), float("nan")), (t(1), float("nan")), (t(1), 0.0)],
        [1, 2, 3, 3, 3],
    ),
    "str, bytes, None": (
        lambda x, k: x * (len(k) if k else 1),
        [(t(1), "ab"), (t(1), b"ab"), (t(1), None), (t(1), "ab")],
        [1, 2, 3, 3],
    ),
    "dtype": (lambda x, k: x.astype(k), [(t(1), ms.float32), (t(1), ms.float16), (t(1), ms.float32)], [1, 2, 2]),
    "Enum": (lambda x, k: x * k.value, [(t(1), Color.RED), (t(1), Color.BLUE), (t(1), Color.RED)], [1, 2, 2]),
    "slice": (lambda x, k: x[k], [(t(1, 2), slice(1)), (t(1, 2), slice(2)), (t(3, 4), slice(1))], [1, 2, 2]),
    "range": (lambda x, k: x * len(k), [(t(1), range(2)), (t(1), range(3)), (t(1), range(2))], [1, 2, 2]),
    "tuple, leaf by leaf": (
        lambda k: k[0] * k[1][0] + k[1][1],
        [((t(1), (t(2), 3)),), ((t(4), (t(5), 3)),), ((t(4), (t(5), 6)),), ((t(4), (5.0, 6)),)],
        [1, 1, 2, 3],
    ),
    "list": (lambda k: k[0] * len(k), [([t(1), 2],), ([t(3), 2],), ([t(3), 2, 2],)], [1, 1, 2]),
    "list is no tuple": (lambda k: k, [([t(1)],), ((t(1),),)], [1, 2]),
    "dict": (
        lambda k: k["a"] * k["b"],
        [({"a": t(1), "b": 2},), ({"a": t(3), "b": 2},), ({"a": t(3), "b": 4},), ({"a": t(3), "b": 2, "c": 1},)],
        [1, 1, 2, 3],
    ),
    "NamedTuple": (lambda k: k.a * k.b, [(Pair(t(1), 2.0),), (Pair(t(3), 2.0),), (Pair(t(3), t(2)),)], [1, 1, 2]),
    "frozen dataclass": (
        lambda k: (k.a * k.b, k),
        [(Record(t(1), 2.0),), (Record(t(3), 2.0),), (Record(t(3), 4.0),), (Record(t(3), t(2)),)],
        [1, 1, 2, 3],
    ),
    "function by identity": (lambda x, k: k(x), [(t(-1), abs), (t(-1), len), (t(-2), abs)], [1, 2, 2]),
    "a set by content": (lambda x, k: x * len(k), [(t(1), {1}), (t(1), {1, 2}), (t(1), {1})], [1, 2, 2]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    f, calls, expected = ARGUMENTS[name]
    g = ms.jit(f)
    compiles = []
    for args in calls:
        tensors = tuple(ms.Tensor(a) if isinstance(a, np.ndarray) else a for a in args)
        assert_same(opened(g(*args)), opened(f(*tensors)), name)
        compiles.append(g.cache_info()["compiles"])
    assert compiles == expected


# What the module holds, the body of `f(x)`, a change that is seen, and one that is none for this function.
OUTSIDE = {
    "global": ("K = 2.0\nOTHER = 1", "return x * K", "K = 3.0", "OTHER = 2"),
    "type of a global": ("K = 2", "return x.astype(ms.int64) * K", "K = 2.0", "K = 2"),
    "global list": ("K = [2.0, 3.0]", "return x * K[0]", "K[0] = 5.0", "K = [2.0, 3.0]"),
    "nested dict": ("K = {'a': {'b': [2.0]}}", "return x * K['a']['b'][0]", "K['a']['b'][0] = 5.0", "K = dict(K)"),
    "long list": ("K = [float(i) for i in range(40)]", "return x * K[3]", "K[3] = 5.0", "K = list(K)"),
    "global set": ("K = {1, 2}", "return x * len(K)", "K.add(3)", "K = {1, 2}"),
    "array": ("K = np.array([1.0, 2.0])", "return x * K", "K[0] = 5.0", "K = K.copy()"),
    "function": ("def g(v): return v * 2", "return g(x)", "def g(v): return v * 3", "other = 1"),
    "what a function reads": ("K = 2\ndef g(v): return v * K", "return g(x)", "K = 3", "other = 1"),
    "default": ("def g(v, k=2): return v * k", "return g(x)", "g.__defaults__ = (3,)", "g.extra = 1"),
    "attribute": ("class A: k = 2\na = A()", "return x * a.k", "a.k = 3", "a.other = 1"),
    "class attribute": ("class A: k = 2\na = A()", "return x * a.k", "A.k = 3", "A.other = 1"),
    "property": (
        "class A:\n    k = 2\n    @property\n    def p(self): return self.k\na = A()",
        "return x * a.p",
        "a.k = 3",
        "a.other = 1",
    ),
    "super": (
        "class A:\n    def m(self, v): return v * 2\nclass B(A):\n    def m(self, v): return super().m(v) + 1\nb = B()",
        "return b.m(x)",
        "A.m = lambda self, v: v * 5",
        "b.other = 1",
    ),
    "property of a base": (
        "class A:\n    @property\n    def p(self): return 2\n"
        "class B(A):\n    @property\n    def p(self): return super().p * 2\nb = B()",
        "return x * b.p",
        "A.p = property(lambda self: 5)",
        "b.other = 1",
    ),
    "dataclass": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass A:\n    k: object\na = A([2.0])",
        "return x * a.k[0]",
        "a.k[0] = 3.0",
        "other = 1",
    ),
    "partial": (
        "import functools\ng = functools.partial(pow, 2)",
        "return x * g(3)",
        "g = functools.partial(pow, 3)",
        "o = 1",
    ),
    "name that hides a builtin": ("other = 1", "return x * len((1, 2))", "len = lambda v: 7", "other = 2"),
    "Tensor by its type": (
        "K = ms.Tensor([2.0, 3.0])",
        "return x * K",
        "K = ms.Tensor([[5.0, 6.0]])",
        "K = ms.Tensor([7.0, 8.0])",
    ),
}


def run(text, space):
    """Executes a change in a module, with a source for the functions that it defines."""
    file = f"<change {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside(name):
    module, text, change, other = OUTSIDE[name]
    f = define(f"{module}\ndef f(x):\n    {text}\n")
    space = f.__globals__
    g, x = ms.jit(f), t(1, 2)
    assert_same(g(x), f(x), "first call")
    run(other, space)
    assert_same(g(x), f(x), "after a change that is none")
    assert g.cache_info()["compiles"] == 1
    run(change, space)
    assert_same(g(x), f(x), "after a change")
    assert g.cache_info()["compiles"] == 2


def test_a_closure_is_compared_by_what_it_holds():
    def make():
        k, other = [2.0], [1.0]

        def f(x):
            return x * k[0]

        return f, k, other

    f, k, other = make()
    g, x = ms.jit(f), t(1, 2)
    for change, compiles in (((), 1), (other, 1), (k, 2), ((), 2)):
        if change:
            change[0] = 7.0
        assert_same(g(x), f(x), "closure")
        assert g.cache_info()["compiles"] == compiles


def test_a_large_set_is_refused():
    f = define("K = set(range(40))\ndef f(x):\n    return x * len(K)")
    with pytest.raises(ms.CompileError, match="too large to be watched"):
        ms.jit(f)(t(1))


def test_results_are_made_anew_at_every_call():
    """What a call returns belongs to the caller: changing it does not reach the next call."""
    f = define("def f(x):\n    l = [x]\n    return {1, 2}, l, l, {'a': [1]}")
    g = ms.jit(f)
    s, a, b, d = g(t(1))
    assert a is b
    s.add(3), a.append(4), d["a"].append(5)
    s, a, b, d = g(t(1))
    assert (s, len(a), d) == ({1, 2}, 1, {"a": [1]})
