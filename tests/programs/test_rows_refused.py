"""The rows that say No or Later, and every row of joins and loops that is an error: each raises its code.

Rows and tests: `REFUSED`, by the name of the row.  Texts, lines and advice of most codes are checked in test_errors.py
and in the golden messages.
"""

from __future__ import annotations

import collections
import functools
import math
import threading
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops

from .compare import define
from .rows import body

pytestmark = pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.AutodiffWarning")


class Plain:
    k = 1

    def m(self, a):
        return a


class First(NamedTuple):
    a: object


class Second(NamedTuple):
    b: object


def names():
    """What the programs find in their module."""
    return {
        "ops": ops,
        "nn": nn,
        "functools": functools,
        "math": math,
        "o": Plain(),
        "O": Plain,
        "P": First,
        "Q2": Second,
        "K": 2,
        "L": [1.0, 2],
        "DD": {"a": 1},
        "SS": {1},
        "A": np.ones(3),
        "Q": collections.deque(),
        "IT": iter([1]),
        "LOCK": threading.Lock(),
        "w": ms.Parameter(ms.Tensor([0.4, 1.3, 2.1]), name="w"),
    }


# The code and the body of the program `f(x, n, l)`: a vector, an int known only at run time, a list.
REFUSED = {
    "complex": ("AC1103", "return x * 1j"),
    "generator returned": ("AC1106", "return (v for v in (x, x))"),
    "iterator returned": ("AC1106", "return iter((x, x))"),
    "zip returned": ("AC1106", "return x, zip((x, x), (1, 2))"),
    "yield": ("AC1107", "yield x"),
    "yield from": ("AC1107", "yield from (x,)"),
    "lambda yield": ("AC1107", "g = lambda: (yield x)\nreturn g()"),
    "async def": ("AC1109", "async def g(): pass\nreturn x"),
    "class": ("AC1109", "class A: pass\nreturn x"),
    "decorator": ("AC1109", "@functools.lru_cache\ndef g(v): return v\nreturn g(x)"),
    "own decorator": ("AC1109", "def deco(f): return f\n@deco\ndef g(v): return v\nreturn g(x)"),
    "try": ("AC1101", "try:\n    x = x * 2\nexcept ValueError:\n    pass\nreturn x"),
    "try finally": ("AC1101", "try:\n    x = x * 2\nfinally:\n    x = x + 1\nreturn x"),
    "except star": ("AC1101", "try:\n    x = x * 2\nexcept* ValueError:\n    pass\nreturn x"),
    "match without a case": ("AC1404", "match n:\n    case 1: return x"),
    "bare raise": ("AC1104", "if n > 2: raise\nreturn x"),
    "set loop": ("AC1105", "a = {1, 2}\nfor v in a: x = x * v\nreturn x"),
    "set list": ("AC1105", "return x, list({1, 2})"),
    "set comp iter": ("AC1105", "return [x * v for v in {1, 2}]"),
    "set unpack": ("AC1105", "a, b = {1, 2}\nreturn x * a"),
    "set pop": ("AC1105", "a = {1, 2}\nreturn x * a.pop()"),
    "with lock": ("AC1108", "with LOCK:\n    return x"),
    "unknown name": ("AC1201", "return x * nonsense"),
    "maybe unbound if": ("AC1202", "if n > 2: z = x\nreturn z"),
    "in a range of unknown length": ("AC1302", "return 3 in range(int(n))"),
    "maybe unbound loop": ("AC1202", "for i in range(int(n)): z = x\nreturn z"),
    "maybe unbound loop var": ("AC1202", "for i in range(int(n)): pass\nreturn x * i"),
    "unbound": ("AC1202", "z = w\nw = x\nreturn z"),
    "deleted": ("AC1202", "z = x\ndel z\nreturn z"),
    "deleted on a path": ("AC1202", "z = x\nif n > 2: del z\nreturn z"),
    "attr": ("AC1203", "return x.sun()"),
    "attr obj": ("AC1203", "return x * math.pie"),
    "attr dict": ("AC1203", "d = {}\nreturn d.foo"),
    "call missing": ("AC1204", "def g(a, b): return a\nreturn g(x)"),
    "call surplus": ("AC1204", "def g(a): return a\nreturn g(x, 1)"),
    "call unexpected": ("AC1204", "def g(a): return a\nreturn g(x, b=1)"),
    "call twice": ("AC1204", "def g(a): return a\nreturn g(x, a=1)"),
    "call positional only": ("AC1204", "def g(a, /): return a\nreturn g(a=x)"),
    "call keyword only": ("AC1204", "def g(*, a): return a\nreturn g(x)"),
    "call keyword only missing": ("AC1204", "def g(*, a): return a\nreturn g()"),
    "call method": ("AC1204", "return o.m(x, 1, 2)"),
    "call lambda": ("AC1204", "return (lambda a: a)(x, x)"),
    "call starred twice": ("AC1204", "def g(a, b): return a\nreturn g(*(x, x), **{'b': 1})"),
    "truth": ("AC1301", "return 1 if x else 2"),
    "truth while": ("AC1301", "while x: x = x - 1\nreturn x"),
    "truth not": ("AC1301", "return not x"),
    "truth and": ("AC1301", "return x and x"),
    "truth in": ("AC1301", "return x in (x * 2, x * 3)"),
    "axis": ("AC1302", "return x.sum(int(n) - 3)"),
    "dtype dyn key": ("AC1302", "d = {3: x}\nreturn d[int(n)]"),
    "comp cond": ("AC1303", "return [v for v in (x, x) if n > 2]"),
    "filter cond": ("AC1303", "return list(filter(lambda v: v.sum() > 2, (x, x)))"),
    "is": ("AC1304", "y = x * 1\nreturn x is y"),
    "is not": ("AC1304", "y = x * 1\nreturn x is not y"),
    "dyn list idx": ("AC1305", "return [x, x * 2][int(n) - 3]"),
    "dyn list tensor idx": ("AC1305", "return [x, x * 2][n - 3]"),
    "dyn list assign": ("AC1305", "l = [x, x]\nl[int(n) - 3] = x * 2\nreturn l"),
    "dyn tuple idx": ("AC1305", "return (1, 2)[int(n) - 3]"),
    "dyn list slice": ("AC1306", "return [x, x][:int(n)]"),
    "masks of examples": ("AC1307", "return ms.vmap(lambda v: x[x > v])(x)"),
    "nonlocal write of a vmap": (
        "AC1601",
        "k = 0\ndef g(v):\n    nonlocal k\n    k += 1\n    return v\nreturn ms.vmap(g)(x) * k",
    ),
    "global write of a vmap": ("AC1601", "def g(v):\n    global K\n    K = 3\n    return v\nreturn ms.vmap(g)(x)"),
    "global function": ("AC1606", "global K\nK = lambda v: v\nreturn x"),
    "outside array": ("AC1602", "A[0] = 1\nreturn x"),
    "outside array iadd": ("AC1602", "g = A\ng += 1\nreturn x"),
    "outside deque": ("AC1602", "g = Q\ng += [1]\nreturn x"),
    "outside iterator": ("AC1602", "return x * next(IT)"),
    "argument list": ("AC1602", "l.append(1)\nreturn x"),
    "new cell": ("AC1803", "return nn.Dense(3, 2)(x)"),
    "new param": ("AC1803", "return ms.Parameter(x)"),
    "plain class": ("AC1804", "return O()"),
    "numpy unmapped": ("AC1805", "return np.fft.fft(x)"),
    "eval": ("AC1806", "return eval('1')"),
    "exec": ("AC1806", "return exec('1')"),
    "compile": ("AC1806", "return compile('1', '', 'eval')"),
    "globals": ("AC1806", "return globals()"),
    "locals": ("AC1806", "return locals()"),
    "vars": ("AC1806", "return vars(o)"),
    "dir": ("AC1806", "return dir(x)"),
    "id": ("AC1806", "return id(x)"),
    "hash": ("AC1806", "return hash(x)"),
    "input": ("AC1806", "return input()"),
    "open": ("AC1806", "return open('x')"),
    "breakpoint": ("AC1806", "return breakpoint()"),
    "import": ("AC1806", "return __import__('os')"),
    "memoryview": ("AC1806", "return memoryview(b'a')"),
    "time": ("AC1604", "import time\nreturn x * time.time()"),
    "random": ("AC1604", "import random\nreturn x * random.random()"),
    "np random": ("AC1604", "return x * np.random.rand()"),
    "environ": ("AC1604", "import os\nreturn x * len(os.environ['HOME'])"),
    "getenv": ("AC1604", "import os\nreturn x, os.getenv('HOME')"),
    "uuid": ("AC1604", "import uuid\nreturn x, uuid.uuid4()"),
    "opaque": ("AC1807", "import zlib\nreturn x, zlib.crc32(b'a')"),
    "set_data": ("AC1605", "w.set_data(x)\nreturn x"),
    "recursion": ("AC1505", "def g(v): return g(v)\nreturn g(x)"),
    "recursion dyn": ("AC1506", "def g(v):\n    if v.sum() > 100: return v\n    return g(v * 2)\nreturn g(x)"),
    "min of tensor 2d": ("AC1301", "return max(x.reshape(3, 1) * x)"),
    "sorted ties": ("AC1302", "return sorted([(1, x.sum()), (1, n)])"),
    "sorted shapes": ("AC1301", "return sorted([(1, x), (1, x * 2)])"),
    "sorted by dyn": ("AC1302", "return sorted([(n, 1), (n + 1, 2)])"),
    "ordered by dyn": ("AC1302", "return x * ((1, n) < (1, n + 1))"),
    "sort dyn": ("AC1302", "l = [n + 1, n]\nl.sort()\nreturn l"),
    "sorted dyn": ("AC1302", "return sorted([x.sum(), n])"),
    "set of tensor": ("AC1302", "return {x}"),
    "key tensor": ("AC1302", "return {n: 1}"),
    "tolist": ("AC1801", "return x.tolist()"),
    "view stale": ("AC1103", "d = {1: x}\nv = d.values()\nd[2] = x\nreturn list(v)"),
    "iter sentinel": ("AC1103", "return list(iter(lambda: 1, 1))"),
    "next dyn loop": ("AC1406", "it = iter((1, 2, 3))\nwhile x.sum() < 10: x = x * next(it)\nreturn x"),
    "iterator after a run-time break": ("AC1302", """
it = iter((1, 2, 3))
for v in it:
    if x.sum() > v: break
return next(it)
"""),
    "join dtypes": ("AC1401", "z = x if n > 2 else x.astype(ms.float32)\nreturn z"),
    "join bool int": ("AC1401", "z = True if n > 2 else 1\nreturn z"),
    "join rank": ("AC1402", "z = x if n > 2 else x.sum()\nreturn z.shape"),
    "join lengths": ("AC1403", "z = (x,) if n > 2 else (x, x)\nreturn z"),
    "join list tuple": ("AC1403", "z = [x] if n > 2 else (x,)\nreturn z"),
    "join keys": ("AC1403", "z = {'a': x} if n > 2 else {'b': x}\nreturn z"),
    "join tensor list": ("AC1403", "z = x if n > 2 else [x]\nreturn z"),
    "join namedtuples": ("AC1403", "z = P(x) if n > 2 else Q2(x)\nreturn z"),
    "join order of keys": ("AC1403", "z = {'a': x, 'b': x} if n > 2 else {'b': x, 'a': x}\nreturn z"),
    "join none": ("AC1404", "z = None if n > 2 else x\nreturn z"),
    "join none number": ("AC1404", "z = 1 if n > 2 else None\nreturn z"),
    "join str": ("AC1405", "z = 'a' if n > 2 else 'b'\nreturn z"),
    "join fn": ("AC1405", "z = len if n > 2 else abs\nreturn z(x)"),
    "join sets": ("AC1405", "z = {1} if n > 2 else {2}\nreturn x, z"),
    "join dtype objects": ("AC1405", "z = ms.float32 if n > 2 else ms.float16\nreturn x.astype(z)"),
    "join number too large": ("AC1403", "z = n if n > 2 else 2.5\nreturn z"),
    "join tensor number shape": ("AC1403", "z = x if n > 2 else 2.5\nreturn z"),
    "join stacked": ("AC1402", "return ms.vmap(lambda v: x if v > n else v)(x)"),
    "join and": ("AC1401", "z = bool(n > 2) and 3\nreturn z"),
    "loop type": ("AC1406", "z = x\nfor i in range(int(n)): z = z.astype(ms.float16)\nreturn z"),
    "loop none": ("AC1406", "z = None\nfor i in range(int(n)): z = x\nreturn z"),
    "loop structure": ("AC1504", "z = [x]\nfor i in range(int(n)): z.append((x, x))\nreturn z"),
    "while true": ("AC1503", "while True: x = x * 2"),
    "environ get": ("AC1604", "import os\nreturn x, os.environ.get('HOME')"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_row(name):
    code, text = REFUSED[name]
    outside = names()
    f = ms.jit(define(body(text, "x, n, l"), **outside))
    for _ in range(2):  # what failed is not kept
        with pytest.raises(ms.CompileError) as caught:
            f(ms.Tensor(np.array([0.4, 1.3, 2.1])), ms.Tensor(np.array(3)), [1])
        assert caught.value.code == code, str(caught.value)
        assert caught.value.hint or name in _PLAIN, str(caught.value)
    assert (outside["L"], outside["DD"], outside["SS"], list(outside["IT"])) == ([1.0, 2], {"a": 1}, {1}, [1])
    assert outside["o"].k == 1
    assert not outside["Q"]
    np.testing.assert_array_equal(outside["A"], np.ones(3))


#: Rows whose message says all: no name or attribute is like the one asked for.
_PLAIN = ("unknown name", "attr dict")
