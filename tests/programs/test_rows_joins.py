"""Section 3 (joins) and 4 (conditionals): what may meet, in every form and both orders, and Tensors that may be one.

Rows and tests: `PAIRS` in all `FORMS`; numbers of two kinds, and Tensors with numbers, where compiled code differs on
purpose, in `test_numbers_join_as_the_wider_kind` and `test_a_number_joins_a_tensor_as_a_tensor`; `and`, `or` and truth
in `TRUTH`; names without a value in `UNBOUND`; assignment to elements of what is one of several Tensors in `ALIASES`;
what a loop carries that changes its kind in `REPLACED`.
What cannot meet is in test_rows_refused.py; `if` and loops with jumps in test_control_matrix.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import JoinError, SideEffectError

from .compare import assert_same, define, tensors
from .rows import M, S, X, Y, agree, body

#: Where `n > 2` holds, and where it does not.
POINTS = [(X, Y, M, np.array(n), S) for n in (3, 1)]
MODULE = """
import dataclasses
from typing import NamedTuple

class Pair(NamedTuple):
    a: object
    b: object

@dataclasses.dataclass(frozen=True)
class Record:
    a: object
    b: object

"""
PAIRS = {
    "one constant": ("3", "3"),
    "bool": ("True", "False"),
    "int": ("3", "4"),
    "float": ("1.5", "2.5"),
    "run-time bool": ("bool(s > 1)", "False"),
    "run-time int": ("int(s)", "7"),
    "run-time ints": ("int(s)", "int(s) + 1"),
    "run-time float": ("float(s)", "2.5"),
    "Tensor": ("x", "y"),
    "Tensors made here": ("x * 2", "x + y"),
    "tuple": ("(x, 1)", "(y, 2)"),
    "list": ("[x, [1.5]]", "[y, [2.5]]"),
    "dict": ("{'a': x, 'b': 1}", "{'a': y, 'b': 2}"),
    "NamedTuple": ("Pair(x, 1)", "Pair(y * 2, 2)"),
    "dataclass": ("Record(x, 1)", "Record(y * 2, 2)"),
    "nested": ("(x, {'k': [y, 1.5]})", "(y, {'k': [x, 2.5]})"),
    "None": ("None", "None"),
    "text": ("'a'", "'a'"),
}
FORMS = {
    "if": "if n > 2:\n    z = {a}\nelse:\n    z = {b}\nreturn z",
    "if without else": "z = {b}\nif n > 2:\n    z = {a}\nreturn z",
    "ternary": "return {a} if n > 2 else {b}",
    "returns": "if n > 2: return {a}\nreturn {b}",
    "return in a loop": "for i in range(int(n)):\n    if i > 1: return {a}\nreturn {b}",
    "loop head": "z = {b}\nwhile n > 2:\n    z = {a}\n    n = n - 9\nreturn z",
}


@pytest.mark.some(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs(pair, form):
    a, b = PAIRS[pair]
    for first, second in ((a, b), (b, a)):
        for point in POINTS:
            derivatives = first == a and point is POINTS[0]
            agree(MODULE + body(FORMS[form].format(a=first, b=second)), *point, order=int(derivatives))


@pytest.mark.parametrize("form", FORMS)
def test_numbers_join_as_the_wider_kind(form):
    for a, b in (("3", "2.5"), ("2.5", "3"), ("int(s)", "2.5"), ("2", "float(s)")):
        f = define(body(FORMS[form].format(a=a, b=b)))
        for point in POINTS:
            found, expected = ms.jit(f)(*tensors(point)), f(*tensors(point))
            assert found == expected
            assert type(found) is float


@pytest.mark.parametrize("form", FORMS)
def test_a_number_joins_a_tensor_as_a_tensor(form):
    for a, b, dtype in (
        ("s", "2", "float64"),
        ("2.5", "s", "float64"),
        ("n", "True", "int64"),
        ("7", "n * 2", "int64"),
    ):
        f = define(body(FORMS[form].format(a=a, b=b)))
        for point in POINTS:
            found, expected = ms.jit(f)(*tensors(point)), f(*tensors(point))
            expected = np.asarray(expected.asnumpy() if isinstance(expected, ms.Tensor) else expected, dtype)
            assert_same(found, ms.Tensor(expected), "a number and a Tensor")


TRUTH = {
    "one element of any rank": "t = x[:1].reshape(1, 1) - 0.4\nreturn x if t else y, not t, bool(t)",
    "numbers": "a, b = int(n), float(s)\nreturn bool(a), bool(b - 2.75), not a, x if a - 3 else y",
    "static": "return [bool(v) for v in (0, 1, '', 'a', [], [0], (), {}, None, 0.0)], x",
    "and": "a = (n > 2) and (s > 1)\nb = int(n) and 5\nc = s and s * 2\nreturn a, b, c",
    "or": "a = (n > 5) or (s > 1)\nb = (int(n) - 3) or 7\nc = (s - 2.75) or s\nreturn a, b, c",
    "chained": "return 0 < n < 2 < s < 3, x if 0 < n < 2 else y",
    "the other branch is not seen": "if len(m) == 2:\n    return x\nreturn undefined_name",
    "unseen ternary": "return x if m.ndim == 2 else undefined_name",
    "unseen and": "return x if m.ndim == 2 or undefined_name else y",
    "nested": "if n > 2:\n    if s > 1: z = x\n    else: z = y\nelif n > 0: z = x + y\nelse: z = x * y\nreturn z",
    "several objects": """
l, d, t = [x], {'k': 1}, x * 1
if n > 2:
    l.append(y)
    l.pop(0)
    d['k'] += 1
    t[0] = 7.0
else:
    l[0] = l[0] * 2
return l, d, t
""",
    "sets": "a = {1}\nif n > 2:\n    a.add(2)\nelse:\n    a |= {2}\nreturn x * len(a)",
    "iterators": "it = iter((x, y))\nif n > 2:\n    a = next(it)\nelse:\n    a = next(it) * 2\nreturn a, next(it)",
}


@pytest.mark.parametrize("name", TRUTH)
def test_truth(name):
    for point in POINTS:
        agree(body(TRUTH[name]), *point)


UNBOUND = {
    "not read": "if n > 2: z = x\nreturn y",
    "bound again": "if n > 2: z = x\nz = y\nreturn z",
    "bound on both": "if n > 2: z = x\nelse: z = y\nreturn z",
    "other types, not read": "if n > 2: z = x\nelse: z = None\nreturn y",
    "other dtypes, bound again": "z = n\nif n > 2: z = x\nz = y\nreturn z",
    "not read in a loop": "for i in range(int(n)): z = x\nreturn y",
    "raises otherwise": "if n > 0: z = x\nelse: raise ValueError('n')\nreturn z",
    "returns otherwise": "if n > 2: z = x\nelse: return y\nreturn z",
}


@pytest.mark.parametrize("name", UNBOUND)
def test_names_without_a_value(name):
    for point in POINTS:
        agree(body(UNBOUND[name]), *point)


ALIASES = {
    "new on one path": "c = x * 2\nif n > 2: c = c * y\nc[0] = 1.0\nreturn c",
    "new on both": "if n > 2: c = x * y\nelse: c = x + y\nc[0] = 1.0\nc[1] += 2.0\nreturn c * 2",
    "ternary": "c = x * 2 if n > 2 else y * 2\nc[0] = 1.0\nreturn c",
    "one of two": "a = x * 1\nb = x * 2\nt = a if n > 2 else b\nt[0] = 9.0\nreturn a, b, t",
    "another name of the old one": "c = x * 2\nd = c\nif n > 2: c = c * y\nc[0] = 9.0\nreturn c, d",
    "written by the other name": "c = x * 2\nd = c\nif n > 2: c = c * y\nd[0] = 9.0\nreturn c, d",
    "both written": "c = x * 2\nd = c\nif n > 2: c = c * y\nd[0] = 9.0\nc[1] = 8.0\nd[2] = c[1] * c[0]\nreturn c, d",
    "swapped": "a, b = x * 1, y * 1\nif n > 2: a, b = b, a\na[0] = 5.0\nb[1] = 6.0\nreturn a, b",
    "in a list": "c = x * 2\nl = [c]\nif n > 2: c = c * y\nc[0] = 9.0\nl[0][1] = 8.0\nreturn c, l",
    "element of a list": "c = [x * 2, y * 2]\nd = c[0]\nif n > 2: c[0] = c[0] * 3\nc[0][1] = 7.0\nreturn c, d",
    "chain": """
a = x * 1
b = a
if n > 2: b = y * 1
c = b
if s > 100: c = x * 3
c[0] = 5.0
b[1] = 6.0
a[2] = 7.0
return a, b, c
""",
    "nested": """
a = x * 1
c = a
if s > 1:
    if n > 2: c = c * 2
    c[1] = 4.0
else:
    c = y * 1
c[0] = 9.0
a[2] = c[0] * 2
return a, c
""",
    "the argument": "c = x\nif n > 2: c = x * y\nc[0] = 9.0\nreturn c * 1",
    "the argument by its own name": "c = x\nif n > 2: c = x * y\nx[0] = 9.0\nreturn c * 1",
    "an early return": "c = x * 2\nif s > 100: return c\nif n > 2: c = c * y\nc[0] = 1.0\nreturn c",
    "a raise": "c = x * 2\nif s > 100: raise ValueError('s')\nelse:\n    if n > 2: c = c * y\nc[0] = 1.0\nreturn c",
    "the result of a call": """
def g(v):
    c = v * 2
    if n > 2: return c * 3
    return c
d = g(x)
d[0] = 1.0
return d
""",
    "an argument of a call": """
def g(c):
    if n > 2: c = c * 3
    c[0] = 1.0
    return c
a = x * 1
b = g(a)
return a, b
""",
    "a closure": "c = x * 1\ndef g(): return c * 1\nif n > 2: c = y * 1\nc[0] = 5.0\nreturn g(), c",
    "a default": "c = x * 1\ndef g(v=c): return v * 1\nif n > 2: c = y * 1\nc[0] = 5.0\nreturn g(), c",
    "in a branch": "c = x * 1\nd = c\nif n > 2: c = y * 1\nif s > 1: c[0] = 5.0\nelse: d[0] = 6.0\nreturn c, d",
    "in a loop": "c = x * 1.0\nfor i in range(20):\n    if c.sum() > 3: c = c * 0.5\n    c[i % 3] = 2.0\nreturn c",
    "in a long loop": """
c = x * 1
d = c
for i in range(20):
    d[0] = i * 1.0
    c = c * 0.5 + i
return c, d
""",
    "in a while": """
c = x * 2
while c.sum() < 50:
    if c[0] > 4: c = c * 3
    else: c = c * 2
    c[0] = 1.0
return c
""",
    "lists": "l = [x * 1]\nif n > 2: l = [l[0] * 2]\nl.append(y)\nl[0] = l[0] + 1\nreturn l",
    "dicts": "d = {'a': x}\nif n > 2: d = {'a': y}\nd['a'] = d['a'] * 2\nd['b'] = 1\nreturn d",
    "maximum": "a, b = x.sum(), y.sum()\nt = max(a, b)\nt += 1\nreturn t * x, a, b",
    "written in a loop by another name": """
c = x * 1
d = c
for i in range(int(n)):
    d[0] = 1.0
    c = c * 2
return c
""",
    "written after a loop": "c = x * 1\nd = c\nfor i in range(int(n)):\n    c = c * 2\nd[0] = 1.0\nreturn c",
    "held by a default": """
c = x * 1
def g(v=c): return v
for i in range(int(n)):
    c[0] = 5.0
    c = c * 2
return g()
""",
    "held by a method": "c = x * 1\ng = c.sum\nfor i in range(int(n)):\n    c[0] = 5.0\n    c = c * 2\nreturn g()",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ALIASES)
def test_what_is_one_of_several_is_written(name):
    for point in POINTS:
        agree(body(ALIASES[name]), *point)


NOT_KNOWN = {
    "list changed under its other name": "l = [x]\nk = l\nif n > 2: l = [y]\nk.append(y)\nreturn l[0]",
    "list changed, its other name read": "l = [x]\nk = l\nif n > 2: l = [y]\nl.append(y)\nreturn k[0]",
    "set changed under its other name": "l = {1}\nk = l\nif n > 2: l = {1}\nk.add(2)\nreturn x * len(l)",
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_may_be_one_and_cannot_be_followed_is_refused(name):
    with pytest.raises(SideEffectError) as caught:
        ms.jit(define(body(NOT_KNOWN[name])))(*tensors(POINTS[0]))
    assert caught.value.code == "AC1602"
    assert caught.value.hint


#: What stands before a loop of which every trip leaves something of another kind, and a trip.
REPLACED = {
    "list by tuple": ("z = [x, y]", "z = (z[1], z[0] * 0.5)"),
    "tuple by list": ("z = (x, y)", "z = [z[1], z[0] * 0.5]"),
    "tuple by NamedTuple": ("z = (x, y)", "z = Pair(z[1], z[0] * 0.5)"),
    "dataclass by dataclass": ("z = Other(x, y)", "z = Record(z.b, z.a * 0.5)"),
}
OTHER = """@dataclasses.dataclass(frozen=True)
class Other:
    a: object
    b: object

"""


@pytest.mark.parametrize("name", REPLACED)
def test_containers_that_a_trip_replaces_by_others(name):
    before, trip = REPLACED[name]
    agree(MODULE + OTHER + body(f"{before}\nfor i in range(20):\n    {trip}\nreturn z"), *POINTS[0])


@pytest.mark.parametrize("loop", ["for i in range(20):", "while x.sum() < 20.0:"])
def test_a_parameter_that_a_trip_replaces_by_a_number(loop):
    source = f"def f(x):\n    factor = w\n    {loop}\n        x = x + factor\n        factor = 1.0\n    return x.sum()"
    w = ms.Parameter(np.array(3.0), name="w")
    f, x = define(source, w=w), ms.Tensor(X)
    assert ms.jit(f)(x).item() == f(x).item()
    taken = {"wrt": ms.grad(f)(x).asnumpy(), "of w": ms.grad(f, grad_position=None, weights=w)(x).asnumpy()}
    graph = ms.jit(lambda x: (ms.grad(f)(x), ms.grad(f, grad_position=None, weights=w)(x)))
    np.testing.assert_array_equal(taken["wrt"], np.ones(3))
    assert taken["of w"] == 3.0  # one trip adds it to three elements
    for found, expected in zip(graph(x), taken.values(), strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("form", ["if", "ternary", "returns"])
def test_objects_of_two_classes_do_not_meet(form):
    classes = """
from typing import NamedTuple

class A(NamedTuple):
    v: object

    def of(self):
        return self.v * 2

class B(NamedTuple):
    v: object

    def of(self):
        return self.v * 10

def g(x, n):
"""
    program = "\n".join("    " + line for line in FORMS[form].format(a="A(x)", b="B(x)").splitlines())
    f = define(classes + program + "\ndef f(x, n):\n    return g(x, n).of()")
    with pytest.raises(JoinError, match="is a A object on one path and a B object on the other"):
        ms.jit(f)(ms.Tensor(X), ms.Tensor(POINTS[0][3]))
