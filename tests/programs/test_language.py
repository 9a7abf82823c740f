"""Statements and calls: eager and compiled code agree with Python on NumPy arrays, gradients included."""

from __future__ import annotations

import contextlib
import functools
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import BranchRaisesWarning
from tests.programs.compare import assert_same, check, define, tensors, texts

X = np.array([0.4, 1.3, 2.1])
Y = np.array([1.5, 0.7, 0.9])
M = np.array([[0.5, 1.2, 0.3], [1.1, 0.2, 0.8]])
#: An array without dimensions: a dynamic number of trips, a condition.
N = np.array(3)


# ------------------------------------------------------------------------------------------------ assignments
ASSIGNMENTS = {
    "several targets": "a = b = x * 2.0\n    r = a * b",
    "swap": "a, b = x, y\n    a, b = b, a\n    r = a / b",
    "nested": "(a, (b, c)), d = (x, [y, x * y]), 3.0\n    r = a * b + c * d",
    "star": "a, *b, c = [x, y, x + y, x * y]\n    r = a * b[0] + b[1] - c * len(b)",
    "star empty": "*a, b = (x,)\n    r = b * len(a) + b",
    "tensor": "a, b = m\n    r = a * b",
    "tensor star": "a, *b = x\n    r = a * b[1] + b[0]",
    "annotated": "a: float = x * 2.0\n    b: 'not evaluated'\n    r = a * y",
    "augmented": """r = x * 1.0
    r += y
    r -= 0.5
    r *= x
    r /= y
    r **= 2
    r //= 0.3
    r = r + x * x""",
    "augmented makes a new Tensor": "a = x\n    b = a\n    a = a + 0.0\n    a += y\n    r = a * b",
    "list grows in place": "a = [x]\n    b = a\n    a += [y]\n    r = b[1] * b[0]",
    "list is copied": "a = [x]\n    b = a\n    a = a + [y]\n    r = a[1] * len(b)",
    "delete": "a = x\n    r = a * y\n    del a\n    c = [x, y]\n    del c[0]\n    r = r + c[0] * len(c)",
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignment(name):
    check(define(f"def f(x, y, m):\n    {ASSIGNMENTS[name]}\n    return r"), X, Y, M)


# ------------------------------------------------------------------------------------------------ loops
LOOPS = {
    "range": "for i in range(3):\n        r = r * x + i",
    "range with step": "for i in range(7, 0, -2):\n        r = r * x + i",
    "range kept": "for i in range(1, 40, 3):\n        r = r * 0.5 * x + i",
    "range backwards kept": "for i in range(40, 1, -3):\n        r = r * 0.5 * x + i",
    "range dynamic": "for i in range(1, int(n) + 4, 2):\n        r = r * x + i",
    "range dynamic backwards": "for i in range(int(n), -1, -1):\n        r = r * x + i",
    "no trips": "i = 5\n    for i in range(3, 3):\n        r = r * x\n    r = r * i",
    "tuple": "for a in (x, y, x * y):\n        r = r * a",
    "list of numbers": "for a in [0.5, 2, True]:\n        r = r + x * a",
    "long list": "for a in [0.5] * 20:\n        r = r * a + x",
    "list of tensors": "for a in [x, y, x + y] * 5:\n        r = r * 0.5 + a",
    "dict": "for k in {'a': x, 'b': y}:\n        r = r * (x if k == 'a' else y)",
    "dict items": "for k, v in {2: x, 3: y}.items():\n        r = r * v + k",
    "string": "for c in 'aba':\n        r = r * x if c == 'a' else r + y",
    "tensor": "for row in m:\n        r = r * row",
    "tensor kept": "for a in m.reshape(6)[[0, 1, 2, 3, 4, 5, 0, 3, 2, 1]]:\n        r = r * 0.5 + a * x",
    "enumerate": "for i, row in enumerate(m, 2):\n        r = r * row + i",
    "enumerate kept": "for i, a in enumerate([x, y] * 6):\n        r = r * 0.7 + a * i",
    "zip": "for a, b in zip(m, [x, y, x]):\n        r = r * a + b",
    "zip kept": "for a, b, i in zip([x, y] * 6, [y, x] * 7, range(100)):\n        r = r * 0.7 + a * b + i",
    "reversed": "for row in reversed(m):\n        r = r * row + y",
    "reversed kept": "for i in reversed(range(15)):\n        r = r * 0.5 + x * i",
    "nested targets": "for (a, b), c in [((x, y), 2.0), ((y, x), 3.0)]:\n        r = r * a + b * c",
    "loop variable stays": "for i in range(20):\n        r = r * 0.5 + x\n    r = r * i",
    "variable of the last trip": """for i in range(20):
        last = r * x * 0.3
        r = r * 0.5 + last
    r = r * last""",
    "first trip changes the type": "out = 0\n    for i in range(20):\n        out = out + x * i\n    r = r * out",
    "number becomes float": "s = 0\n    for i in range(20):\n        s = s + 0.5\n    r = r * s",
    "counter": "k = 0\n    for i in range(int(n)):\n        k = k + i\n    r = r * k",
    "while on a number": "k = 0\n    while k < 4:\n        k += 1\n        r = r * x\n    r = r * k",
    "while long": "k = 0\n    while k < 30:\n        k += 1\n        r = r * 0.7 + x\n    r = r * k",
    "while true": "while True:\n        r = r * 1.5 + x\n        if r.sum() > 20.0:\n            break",
    "list of results": "rs = []\n    for i in range(4):\n        rs.append(x * i)\n    r = r * rs[3] + rs[1]",
    "list of results forces unrolling": """rs = []
    for i in range(12):
        rs.append(x * i)
    r = r * rs[11] + rs[10]""",
    "list changed in a kept loop": """rs = [x, y]
    for i in range(12):
        rs[0] = rs[0] * 0.5 + rs[1]
    r = r * rs[0]""",
    "dict in a loop": """d = {}
    for i in range(3):
        d[f'k{i}'] = x * i
    r = r * d['k2'] + d['k1'] * len(d)""",
    "static index in a long loop": "ws = (0.5, 1.5)\n    for i in range(12):\n        r = r * 0.5 + x * ws[i % 2]",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loop(name):
    check(define(f"def f(x, y, m, n):\n    r = y * 1.0\n    {LOOPS[name]}\n    return r"), X, Y, M, N)


# ------------------------------------------------------------------------------------------------ containers
CONTAINERS = {
    "list methods": """
        a = [x, y]
        a.append(x * y)
        a.insert(0, x + 1.0)
        b = a.copy()
        last = a.pop()
        a.extend((y, y * y))
        a.reverse()
        r = a[0] * last + b[0] * len(a) - b.pop(1)""",
    "list slices": "a = [x, y, x * y, x + y]\n        r = a[1:3][1] * a[::-1][0] * len(a[1:]) + a[-1]",
    "list operators": "a = [x] * 2 + [y]\n        r = a[0] * a[2] * (2.0 if [1, 2] == [1, 2] else 3.0)",
    "aliases": """a = [x]
        b = {'l': a}
        b['l'].append(y)
        a[0] = x * x
        r = b['l'][0] * a[1]""",
    "dict methods": """
        d = {'a': x, **{'b': y}}
        d.update(c=x * y)
        d['b'] = d['b'] * 2.0
        e = d.copy()
        r = d.pop('c') * d.get('b') + d.get('zz', y)
        r = r * (3.0 if 'c' in d else 4.0) + e['c']
        for k, v in zip(d.keys(), d.values()):
            r = r + v * len(k)
        del d['a']
        r = r * len(d) + d.setdefault('q', y * y)""",
    "tuples": """a = (x, y)
        b = a + (x * y,)
        c = (*b, 2.0)
        r = b[2] * c[3] + a[-1] * len(c) * c.count(2.0) if False else b[2] * c[3]""",
    "comprehensions": """
        a = [v * i for i, v in enumerate((x, y, x + y)) if i != 1]
        d = {k: w * 2.0 for k, w in zip('ab', a)}
        b = [p * q for p in a for q in (x, y)]
        s = {i % 2 for i in range(4)}
        r = sum(b) + d['b'] * len(s) + sum(v for v in a)""",
    "builtins": """
        a = sorted([3, 1, 2], key=lambda v: -v)
        r = x * a[0] + y * max(1, 4, 2) - sum([x, y], x) + min(a) * abs(-2) + round(2.6)
        r = r * len(list(map(lambda v: v * 2, (x, y)))) + tuple(filter(None, [0, 2]))[0]
        r = r + (x if any([False, True]) else y) * all([1, 2])
        r = r + list(zip(*[(x, 1), (y, 2)]))[0][1] + dict(a=x)['a'] + dict([('k', y)])['k']""",
    "mutation in branches": """
        a = [x, y]
        d = {'k': x}
        if x.sum() > 1.0:
            a[0] = y * 2.0
            d['k'] = a[0] * x
        else:
            a[1] = x
        r = a[0] * a[1] + d['k']""",
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_container(name):
    check(define(f"def f(x, y):\n    if True:\n        {CONTAINERS[name].strip()}\n    return r"), X, Y)


def test_results_keep_their_containers():
    program = """
def f(x, n):
    return {'a': (x * 2.0, [x, 3]), 'b': None, 'c': 'text', 'd': (), 'e': n}, [1, 2.5, True]
"""
    check(define(program), X, 7)


class Pair(NamedTuple):
    first: object
    second: object = 2.0


def test_named_tuples():
    def f(x, y):
        p = Pair(x, y)
        q = p._replace(second=x * x) if False else Pair(second=x * x, first=y)
        a, b = q
        return Pair(p.first * q.second + a, b * p[1]), Pair(x).second

    value = check(f, X, Y)
    assert isinstance(value[0], Pair)
    assert_same(ms.jit(lambda p: Pair(p.second, p.first))(Pair(*tensors((X, Y)))), Pair(*tensors((Y, X))), "NamedTuple")


# ------------------------------------------------------------------------------------------------ functions
def all_kinds(a, /, b, c=2.0, *rest, d, e=0.5, **more):
    total = a * b + c * d - e
    for r in rest:
        total = total * r
    for k in sorted(more):
        total = total + more[k] * len(k)
    return total


CALLS = texts("""
    g(x, y, d=x); g(x, y, 3.0, d=x); g(x, b=y, d=x, e=y); g(x, y, 1.0, x, y, d=y); g(x, y, d=x, zz=y, a=x)
    g(*(x, y), **{'d': y}); g(*[x, y, 1.0], *(x,), d=1.0, **{'e': x, 'q': y})
    functools.partial(g, x, d=y)(y, e=x); (lambda u, *v, w=2.0: u * w + v[0])(x, y)
""")


@pytest.mark.parametrize("text", CALLS)
def test_parameters(text):
    check(define(f"def f(x, y):\n    return {text}", g=all_kinds, functools=functools), X, Y)


def test_defaults_are_evaluated_once_where_the_function_is_defined():
    program = """
def f(x, y):
    def g(u, seen=[], scale=y * 2.0):
        seen.append(u)
        return u * scale * len(seen)
    first = g(x)
    y = x
    return first + g(y)
"""
    check(define(program), X, Y)


FUNCTIONS = {
    "nested": """
def f(x, y):
    def g(u):
        def h(v):
            return v * y + u
        return h(u) * h(x)
    return g(y) + g(x * 2.0)
""",
    "closures see later values": """
def f(x, y):
    k = 2.0
    def g(u):
        return u * k
    first = g(x)
    k = y
    return first + g(x)
""",
    "closures made in a loop": """
def f(x, y):
    fs = [lambda u, k=k: u * k for k in (1.0, 2.0, 3.0)]
    gs = []
    for s in (x, y):
        gs.append(lambda u: u * s)
    return sum(g(x) for g in fs) + gs[0](x) * gs[1](y)
""",
    "higher order": """
def f(x, y):
    def twice(g):
        return lambda u: g(g(u))
    def compose(*gs):
        def run(u):
            for g in gs:
                u = g(u)
            return u
        return run
    return twice(twice(lambda u: u * x))(y) + compose(abs, lambda u: u + y)(x)
""",
    "recursion": """
def f(x, y):
    def power(u, n):
        if n == 0:
            return u * 0.0 + 1.0
        return u * power(u, n - 1)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    return power(x, 5) + y * fib(7)
""",
    "mutual recursion": """
def even(n, u):
    return u if n == 0 else odd(n - 1, u * 2.0)
def odd(n, u):
    return u * u if n == 0 else even(n - 1, u + 1.0)
def f(x, y):
    return even(4, x) + even(3, y)
""",
    "early returns in a callee": """
def g(u, v):
    if u.sum() > 3.0:
        return u * v
    for i in range(4):
        u = u * 1.5
        if u[0] > 1.0:
            return u - v
    return v
def f(x, y):
    return g(x, y) * g(y, x) + g(x * 0.01, y)
""",
    "several results": """
def g(u, v):
    return u * v, {"s": u + v}
def f(x, y):
    p, d = g(x, y)
    return p * d["s"]
""",
    "no result": """
def g(u):
    u * 2.0
def f(x, y):
    return (x if g(x) is None else y) * y
""",
    "docstring and pass": '''
def f(x, y):
    """Text."""
    pass
    if x.sum() > 1.0:
        pass
    else:
        ...
    return x * y
''',
    "global read": """
SCALE = 2.5
def f(x, y):
    global SCALE
    return x * SCALE * y
""",
    "import inside": """
def f(x, y):
    import math
    from operator import mul
    return mul(x, y) * math.sqrt(2.0) + math.pi
""",
    "with": """
def f(x, y):
    with nullcontext(2.0) as k:
        x = x * k
    return x * y
""",
    "shadowed builtin": """
def f(x, y):
    len = 3.0
    sum = lambda u: u * len
    return sum(x) * y
""",
    "calls before definition in the file": """
def f(x, y):
    return later(x) * y
def later(u):
    return u * u
""",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    check(define(FUNCTIONS[name], nullcontext=contextlib.nullcontext), X, Y)


class Scaled:
    """A plain class outside: compiled code reads its attributes and calls its methods."""

    factor = 3.0

    def __init__(self, k):
        self.k = k

    def apply(self, u, times=1):
        for _ in range(times):
            u = u * self.k * self.factor
        return u

    @property
    def double(self):
        return self.k * 2.0

    @staticmethod
    def shift(u):
        return u + 1.0

    @classmethod
    def scale(cls, u):
        return u * cls.factor

    def __call__(self, u):
        return self.apply(u) - self.double

    def __getitem__(self, i):
        return self.k * i

    def __mul__(self, u):
        return u * self.k

    def __len__(self):
        return 4


class Shifted(Scaled):
    def apply(self, u, times=1):
        return super().apply(u, times) + self.k


METHODS = texts("""
    s.apply(x); s.apply(x, times=2); s.double * x; s.shift(x); s.scale(x); s(x); s[3] * x; (s * x) * y
    t.apply(x); t(y); len(s) * x; type(t).__name__ == 'Shifted' and x; isinstance(t, Scaled) and t.scale(x)
    getattr(s, 'k') * x; getattr(s, 'none', 2.0) * x; hasattr(s, 'none') or x; Scaled.apply(t, x)
""")


@pytest.mark.parametrize("text", METHODS)
def test_objects(text):
    check(define(f"def f(x, y):\n    return {text}", s=Scaled(1.5), t=Shifted(0.5), Scaled=Scaled), X, Y)


def test_jit_on_methods():
    class Model:
        def __init__(self, k):
            self.k = k

        @ms.jit
        def run(self, x, n=2):
            for _ in range(n):
                x = x * self.k
            return x

    a, b = Model(2.0), Model(3.0)
    x = ms.Tensor(X)
    assert_same(a.run(x), ms.Tensor(X * 2.0 * 2.0), "method")
    assert_same(b.run(x, n=1), ms.Tensor(X * 3.0), "method of another object")
    assert_same(Model.run(a, x), ms.Tensor(X * 2.0 * 2.0), "function of the class")


def test_jit_inside_jit():
    inner = ms.jit(lambda u, k: u * k + 1.0)
    check(lambda x, y: inner(x, 2.0) * inner(y, 3.0), X, Y)


# ------------------------------------------------------------------------------------------------ raise and assert
def test_raise_and_assert():
    f = define("""
def f(x, limit):
    assert x.sum() > 0.0, "sum must be positive"
    if x[0] > limit:
        raise ValueError("too large", 3)
    assert limit > 0
    return x * 2.0
""")
    g = ms.jit(f)
    for fn in (f, g):
        assert_same(fn(ms.Tensor(X), 1.0), ms.Tensor(X * 2.0), "no error")
        with pytest.raises(AssertionError, match="sum must be positive"):
            fn(ms.Tensor(-X), 1.0)
        with pytest.raises(ValueError, match="too large") as caught:
            fn(ms.Tensor(X), 0.1)
        assert caught.value.args == ("too large", 3)
        with pytest.raises(AssertionError):
            fn(ms.Tensor(X - 1.0), 0)
    gradient = ms.jit(ms.grad(f))
    np.testing.assert_array_equal(gradient(ms.Tensor(X), 1.0).asnumpy(), [2.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="too large"):
        gradient(ms.Tensor(X), 0.1)


def test_what_python_raises_in_a_branch_is_raised_when_it_is_taken():
    f = define("""
def f(x, n):
    if n > 4:
        return x[7]
    y = x * (1 // n_static(n))
    return y
""", n_static=lambda n: 1)  # fmt: skip
    g = ms.jit(f)
    with pytest.warns(BranchRaisesWarning):
        assert_same(g(ms.Tensor(X), ms.Tensor(N)), f(ms.Tensor(X), ms.Tensor(N)), "not taken")
    with pytest.raises(IndexError):
        g(ms.Tensor(X), ms.Tensor(np.array(5)))


def test_static_errors_of_python_are_those_of_python():
    for text, error in [
        ("x[5]", IndexError),
        ("(1, 2)[3] * x", IndexError),
        ("x * (1 / (n - n))", ZeroDivisionError),
        ("{'a': x}['b']", KeyError),
        ("a, b = x", ValueError),
        ("int('q') * x", ValueError),
        ("x + 'a'", TypeError),
        ("x()", TypeError),
        ("len(3)", TypeError),
    ]:
        body = text if "=" in text else f"return {text}"
        f = define(f"def f(x, n):\n    {body}")
        for fn in (f, ms.jit(f)):
            with pytest.raises(error):
                fn(ms.Tensor(X), 3)


def test_print_runs_at_every_call_in_the_branch_taken(capsys):
    f = define("""
def f(x):
    print("first", x.sum(), 3, sep="|")
    if x[0] > 0:
        print("positive")
    for i in range(int(x[1] * 10)):
        print(i, end=" ")
    return x
""")
    g = ms.jit(f)
    for values in ([1.0, 0.2], [-1.0, 0.3], [1.0, 0.2]):
        x = ms.Tensor(np.array(values))
        f(x)
        expected = capsys.readouterr().out
        g(x)
        assert capsys.readouterr().out == expected
