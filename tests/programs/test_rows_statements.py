"""The rows of the table of statements: one program per row, which gives the same in every mode.

Rows and tests: `ROWS`, by the name of the row; names first bound beside a `break` in `BOUND_AT_BREAK`.  The matrix of
loops and jumps is in test_control_matrix.py; more assignments and containers are in test_language.py, changes while
iterating in test_scopes.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms

from .compare import define
from .rows import M, S, X, Y, agree, body

ROWS = {
    "chained": "a = b = [x]\na.append(y)\nreturn b, len(a)",
    "unpack nested": "(a, [b, *c]), d = (x, (y, 1, 2)), 5\nreturn a, b, c, d",
    "unpack star mid": "a, *b, c = range(5)\nreturn a, b, c, x",
    "unpack tensor": "a, b = m\n(p, q, r), *rest = m\nreturn a, b, p, q, r, rest",
    "unpack str": "a, b = 'pq'\nreturn a, b, x",
    "unpack dict": "a, b = {'k': 1, 'l': 2}\nreturn a, b, x",
    "unpack attr subs": "d = {}\nl = [0, 0]\nd['a'], l[1] = x, y\nreturn d, l",
    "unpack order": "i = 0\nl = [0, 0]\ni, l[i] = 1, x\nreturn l, i",
    "unpack wrong": "a, b = x, y, 1",
    "unpack wrong2": "a, b, *c = (x,)",
    "unpack not iter": "a, b = 3",
    "unpack starred list": "*a, = x, y\nreturn a",
    "for unpack": "r = 0\nfor i, (a, *b) in enumerate([(x, 1, 2), (y, 3)]):\n    r = r + a * len(b) + i\nreturn r",
    "ann": "a: int = 3\nb: undefined = x * a\n(c): int = 2\nreturn b * c",
    "ann none": "a: int\na = 3\nreturn x * a",
    "aug list alias": "a = [1]\nb = a\nb += (2,)\nb *= 2\nreturn a, x",
    "aug dict": "d = {'a': x}\nd |= {'b': y}\ne = d | {'c': 1}\nreturn d, e",
    "aug set": "a = {1}\nb = a\na |= {2}\nreturn x * len(b)",
    "aug nested sub": "d = {'a': [x, y]}\nd['a'][0] *= 2\nd['a'] += [1]\nreturn d",
    "aug str": "a = 'x'\na += 'y'\na *= 2\nreturn a, x",
    "aug tuple": "a = (x,)\nb = a\na += (y,)\nreturn a, b",
    "aug tensor alias": "a = x * 1\nb = a\na += 1\nreturn a, b",
    "del name": "a = x\ndel a\na = y\nreturn a",
    "del many": "a, b = x, y\ndel a, b\nreturn x",
    "del item": "l = [x, y, 1, 2]\ndel l[0], l[-1]\nd = {'a': x, 'b': y}\ndel d['a']\nreturn l, d",
    "del slice": "l = [1, 2, 3, 4]\ndel l[1:3]\nreturn l, x",
    "slice assign": "l = [1, 2, 3, 4]\nl[1:3] = [x]\nl[:0] = (9,)\nreturn l",
    "assert true": "assert len(m) == 2, 'no'\nassert x.sum() > 0, 'neg'\nreturn x",
    "assert false": "assert len(m) == 3, 'wrong length'\nreturn x",
    "assert dyn false": "assert x.sum() < 0, 'negative'\nreturn x",
    "raise dyn": "if n > 2:\n    raise ValueError('n', 3)\nreturn x",
    "raise class": "if n > 2:\n    raise KeyError\nreturn x",
    "raise from": "if n > 2:\n    raise ValueError('a') from KeyError('b')\nreturn x",
    "raise static": "raise RuntimeError('always')",
    "raise static if": "if len(m) == 2:\n    raise TypeError('t')\nreturn x",
    "else for": "for i in range(3):\n    if i == 5:\n        break\n    x = x * 2\nelse:\n    x = x + 1\nreturn x",
    "else for break": """
for i in range(3):
    if i == 1:
        break
    x = x * 2
else:
    x = x + 1
return x, i
""",
    "else dyn": """
for i in range(3):
    if x.sum() > 10:
        break
    x = x * 2
else:
    x = x + 1
return x
""",
    "else while": "k = 0\nwhile x.sum() < 20:\n    x = x * 2\n    k += 1\nelse:\n    x = x - 1\nreturn x, k",
    "else while break": """
k = 0
while x.sum() < 20:
    x = x * 2
    k += 1
    if k > 1: break
else:
    x = x - 1
return x, k
""",
    "nested break": """
for i in range(3):
    for j in range(3):
        if x.sum() * j > 5:
            break
        x = x * 1.5
    else:
        x = x + 0.1
return x
""",
    "nested continue": """
for i in range(12):
    if i % 2: continue
    for j in range(int(n)):
        if x[0] > j: continue
        x = x * 1.01
    x = x + 0.1
return x
""",
    "return nested": """
for i in range(3):
    for j in range(4):
        if x.sum() > 8 + i:
            return x * i + j
        x = x * 1.1
return y
""",
    "return while": """
while True:
    x = x * 1.5
    if x.sum() > 30:
        return x, 1
    if x[0] > 100:
        break
return y, 2
""",
    "bound beside break": """
for i in range(5):
    t = x * i
    if t.sum() > 10:
        break
    u = t + 1
return t
""",
    "bound nested break": """
for i in range(3):
    for j in range(3):
        t = x * j + i
        if t.sum() > 6:
            break
    x = x + t * 0.1
return x
""",
    "bound nested continue": """
r = y
for i in range(int(n)):
    t = x * i
    if t.sum() > 2:
        continue
    u = t * 2
    r = r + u
return r
""",
    "bound nested continue 2": """
r = y
for i in range(4):
    if x[0] > i:
        u = x * i
    else:
        continue
    r = r + u
return r
""",
    "bound nested if break": """
r = y
for i in range(10):
    if r.sum() > 20:
        break
    elif r.sum() > 10:
        w = x * 3
    else:
        w = x
    v = w * 0.5
    r = r + v
return r
""",
    "bound nested loops break": """
r = y
while r.sum() < 40:
    for j in range(3):
        w = r * 0.5 + j
        if w.sum() > 9:
            continue
        v = w + 1
        if v.sum() > 12:
            break
        r = r + v * 0.3
    r = r + 1
return r
""",
    "if in loop returns": """
for i in range(4):
    if x.sum() > 9:
        q = x * i
        return q
    x = x * 1.5
return x
""",
    "while cond multi": "i = 0\nwhile i < 3 and x.sum() < 100:\n    x = x * 2\n    i += 1\nreturn x, i",
    "while static break": "i = 0\nwhile True:\n    i += 1\n    if i > 4:\n        break\n    x = x * 2\nreturn x, i",
    "pass": "for i in range(2): pass\nif n > 2: pass\nelse: pass\nreturn x, i",
    "expression stmt": "x * 2\n[x].append(1)\nlen(x)\nreturn x",
    "global read": "global K\nreturn x * K",
    "nonlocal read": "k = x * 2\ndef g():\n    nonlocal k\n    return k + 1\nreturn g()",
    "print": "print('a', 1, 2.5, sep='-', end='!\\n')\nprint()\nprint(x.shape, n > 2, [1, 'b'])\nreturn x",
    "print order": """
print('in')
if n > 2:
    print('then')
else:
    print('else')
for i in range(3):
    print('trip', i)
print('out')
return x
""",
    "static raise index": "return [1, 2][5]",
    "static raise zero": "return x * (1 / 0)",
    "branch raise": "if n > 5:\n    z = [1][4]\n    x = x * z\nreturn x",
    "branch raise taken": "if n > 2:\n    z = {}['q']\n    x = x * z\nreturn x",
    "effects before raise": "print('first')\nif n > 2:\n    raise ValueError('x')\nprint('second')\nreturn x",
    "no return": "x * 2",
    "return none": "return",
    "return tuple star": "a = (x, y)\nreturn *a, 1",
    "several returns": "if n > 5:\n    return x, 1\nif n > 2:\n    return y, 2\nreturn x * y, 3",
    "several returns nested": """
if n > 2:
    if x.sum() > 100:
        return x
    y = y * 2
else:
    return x * 3
return y
""",
    "return in else of loop": "for i in range(3):\n    if x.sum() > 100: return x\nelse:\n    return y\nreturn x * y",
    "loop zero": "i = 7\nfor i in range(0): x = x * 0\nreturn x, i",
    "loop dyn zero": "i = 7\nfor i in range(int(n) - 3): x = x * 0\nreturn x, i",
    "loop var after dyn": "i = 0\nfor i in range(int(n)): x = x * 1.1\nreturn x, i",
    "loop var reassign": "for i in range(5):\n    i = i * 2\n    x = x + i\nreturn x, i",
    "loop var reassign kept": "for i in range(25):\n    i = i * 2\n    x = x + i\nreturn x, i",
    "loop var tensor": "for row in m:\n    row = row * 2\n    x = x + row\nreturn x, row",
    "static tuple kept": "for a, b in [(1.0, 2.0)] * 12:\n    x = x * 0.5 + a * b\nreturn x",
    "del in loop": "for i in range(3):\n    t = x * i\n    y = y + t\n    del t\nreturn y",
    "del in kept loop": "for i in range(30):\n    t = x * i\n    y = y + t\n    del t\nreturn y",
    "del in branch": "t = x * 2\nif n > 2:\n    del t\nreturn x",
    "swap loop": "a, b = x, y\nfor i in range(21):\n    a, b = b, a + 0.01 * b\nreturn a, b",
    "dict loop kept": """
d = {'a': x, 'k': 0}
for i in range(20):
    d['a'] = d['a'] * 0.9
    d['k'] += i
return d
""",
    "list pop static": "l = [1, 2, 3]\nwhile l:\n    x = x * l.pop()\nreturn x, l",
    "nested list changes": "l = [[x], [y]]\nfor a in l:\n    a.append(a[0] * 2)\nreturn l",
    "sort": """
l = [3, 1, 2]
l.sort()
k = [3, 1, 2]
k.sort(reverse=True)
j = ['bb', 'a']
j.sort(key=len)
return x, l, k, j
""",
    "list remove": "l = [1, 2, 3, 2]\nl.remove(2)\nreturn l, l.index(3), l.count(2), x",
    "list clear": "l = [x, y]\nk = l\nl.clear()\nl.append(1)\nreturn k, x",
    "dict methods": """
d = {'a': x}
e = d.setdefault('b', y)
f = d.pop('zz', 3)
g = d.popitem()
d.update({'c': 1}, q=2)
return (
    d, e, f, g, list(d.keys()), list(d.items()), d.get('none'), d.get('a'),
    dict.fromkeys(['u', 'v'], 0), 'a' in d.keys()
)
""",
    "dict eq iteration": """
d = {'a': 1, 'b': 2}
return (
    {v: k for k, v in d.items()}, sum(d.values()) * x, max(d), sorted(d, reverse=True),
    d == {'b': 2, 'a': 1}, list(reversed(d))
)
""",
    "tuple methods": "t = (1, 2, 2)\nreturn t.count(2), t.index(2), x, t * 2, t + (x,)",
    "str join loop": "s2 = ''\nfor c in 'abc':\n    s2 += c\nreturn s2, x, len(s2)",
    "with null": """
from contextlib import nullcontext
with nullcontext(), nullcontext(2) as k:
    x = x * k
return x
""",
    "elif chain": """
if n > 5:
    z = x
elif n > 4:
    z = y
elif n > 2:
    z = x * y
else:
    z = x + y
return z
""",
    "while else return": "while x.sum() < 50:\n    x = x * 2\nelse:\n    return x\nreturn y",
    "loop else after return": """
def g(v):
    for i in range(3):
        if v.sum() > i * 10: return v * i
    else:
        v = v + 1
    return v
return g(x), g(y * 10)
""",
    "triple nested": """
c = 0
for i in range(2):
    for j in range(3):
        if j == 2: continue
        while True:
            c += 1
            if c % 3 == 0: break
            x = x * 1.1
return x, c
""",
    "triple nested dyn": """
c = 0
for i in range(2):
    for j in range(3):
        if x[0] > 5 - j: continue
        while True:
            c += 1
            x = x * 1.1
            if x.sum() > 10 * c: break
            if c > 3: break
return x, c
""",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.BranchRaisesWarning")
def test_row(name):
    agree("K = 2.5\n" + body(ROWS[name]))


#: Names that a loop is the first to bind, beside a `break`: they have a value where it was taken.
BOUND_AT_BREAK = {
    "search": """
while True:
    for j in range(3):
        if x.sum() > 5 + j:
            found = x * (j + 1)
            break
    else:
        x = x * 1.5
        continue
    x = x + found
    if x.sum() > 12: break
return x
""",
    "for else": """
for i in range(int(n)):
    if i > 1:
        t = x * i
        break
else:
    t = y
return t
""",
    "for else static": """
for i in range(3):
    if x[i] > 1:
        t = x * i
        break
else:
    t = y
return t
""",
    "long for else": """
for i in range(30):
    if x.sum() < i:
        t = x * i
        break
else:
    t = y
return t
""",
    "while else": """
k = 0
while x.sum() < 20:
    x = x * 2
    k += 1
    if x[0] > 2:
        t = x + k
        break
else:
    t = y
return t
""",
    "else raise": """
for i in range(int(n)):
    if i > 1:
        t = x * i
        break
else:
    raise ValueError('none')
return t
""",
    "else return": """
for i in range(int(n)):
    if i > 1:
        t = x * i
        break
else:
    return y
return t
""",
    "while true": "while True:\n    x = x * 1.5\n    if x.sum() > 20:\n        t = x * 2\n        break\nreturn t",
    "while true if": """
while True:
    x = x * 1.5
    if x.sum() > 20:
        t = x * 2
        if x[0] > 1: t = t + 1
        break
    u = x
return t
""",
    "found flag": """
for i in range(4):
    v = x[i % 3]
    if v > 1:
        hit = v * i
        break
    last = v
else:
    hit = x[0]
return hit
""",
    "nested": """
for i in range(3):
    for j in range(3):
        if x[j] > i:
            w = x * j
            break
    else:
        w = y
    x = x + w * 0.1
return x
""",
    "continue binds": """
r = y
for i in range(int(n)):
    if i == 1:
        continue
    v = x * i
    r = r + v
return r
""",
    "return else": """
for i in range(3):
    if x[i] > 1:
        t = x * i
        return t
else:
    t = y
return t
""",
}  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("n", [3, 1])
@pytest.mark.parametrize("name", BOUND_AT_BREAK)
def test_names_bound_at_a_break(name, n):
    agree(body(BOUND_AT_BREAK[name]), X, Y, M, np.array(n), S)


def test_a_name_that_one_break_leaves_without_a_value_is_refused():
    f = define("""
def f(x):
    while True:
        x = x * 2
        if x[0] > 9: break
        t = x + 1
        if x[1] > 9: break
    return t
""")
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(f)(ms.Tensor(X))
    assert caught.value.code == "AC1202"
