"""`match` in compiled code: eager mode is the reference."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, nn, ops
from tests.programs.compare import define
from tests.programs.same_results import same_results, total


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 1


class Pair(NamedTuple):
    a: Any
    b: Any


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Plain:
    __match_args__ = ("u", "v")

    def __init__(self, u, v):
        self.u, self.v = u, v

    @property
    def w(self):
        return self.u * 2


@ms.jit_class
class Made:
    __match_args__ = ("u",)

    def __init__(self, u):
        self.u = u


NAMES = {
    "Color": Color,
    "Made": Made,
    "Pair": Pair,
    "Plain": Plain,
    "Point": Point,
    "Tensor": Tensor,
    "ms": ms,
    "np": np,
    "ops": ops,
    "plain": Plain(2.0, 3.0),
}

#: Bodies of `f(x)`; some subjects are known only at run time.
PROGRAMS = {
    "literals": "match 2:\n    case 0: return x\n    case 1 | 2: return x * 2\n    case _: return x * 3",
    "literals of run time": "match x.argmax():\n    case 0: return x\n    case 1 | 2: return x * 2\n"
    "    case _: return x * 3",
    "negative and float": "match x.sum() * 0 - 1.5:\n    case -1.5: return x * 2\n    case 2: return x\nreturn x * 9",
    "no case": "y = x\nmatch 5:\n    case 3: y = x * 2\nreturn y",
    "singletons": "r = []\nfor k in (None, True, 1, 7):\n    match k:\n        case None: r.append(x)\n"
    "        case True: r.append(x * 2)\n        case 1: r.append(x * 3)\n        case v: r.append(x * v)\nreturn r",
    "names": "match Color.BLUE, x.dtype:\n    case Color.RED, _: return x\n"
    "    case Color.BLUE, ms.float64: return x * 2",
    "capture": "match (x, 2):\n    case (a, 1): return a\n    case [a, b]: return a * b",
    "star": "match [x, x * 2, x * 3, 4]:\n    case [a, *rest, 4]: return a + sum(rest), len(rest)",
    "sequences": "r = []\nfor s in ([], {}, (), '', [1], range(3), {'a': 1}, b'ab'):\n    match s:\n"
    "        case []: r.append(x)\n        case [_]: r.append(x * 2)\n        case [_, *_]: r.append(x * 3)\n"
    "        case {'a': _}: r.append(x * 4)\n        case {}: r.append(x * 5)\n        case _: r.append(x * 6)\n"
    "return r",
    "mapping": "match {'op': 'mul', 'arg': x, 'n': 3}:\n    case {'op': 'add', 'arg': v}: return v\n"
    "    case {'op': 'mul', 'arg': v, **rest}: return v * rest['n'], len(rest)",
    "classes": "r = []\nfor p in (Point(x, 2), Pair(x, 3), x, 3, 2.5, 's', [1, 2]):\n    match p:\n"
    "        case Point(a, y=2): r.append(a * 2)\n        case Pair(a, b): r.append(a * b)\n"
    "        case Tensor(): r.append(p * 5)\n        case int(n): r.append(x * n)\n"
    "        case float() as f: r.append(x * f)\n        case str(): r.append(x * 7)\n"
    "        case list(v): r.append(v)\nreturn r",
    "plain class": "match plain:\n    case Plain(2.0, v, w=z): return x * v * z",
    "made object": "match Made(x):\n    case Made(u): return u * 2",
    "nested": "match (x, (1, [x * 2, 'k'])):\n    case (a, (1, [b, ('k' | 'l') as c])): return a + b, c",
    "captures of one of two": "match ('b', x):\n    case ('a', v, _) | ('b', v): return v * 2",
    "guard": "match [1, 2, 3]:\n    case a if any(a > 2 for a in a): return x * len(a)\n    case _: return x",
    "guards of run time": "match x.sum():\n    case s if s > 3: return x * s\n    case s if s > 2: return x * 2\n"
    "    case _: return x",
    "elements of run time": "match (x.argmax(), x):\n    case (0, v): r = v\n"
    "    case (2, v) if v.sum() > 1: r = v * 3\n    case (n, v): r = v * n\nreturn r",
    "bound though the guard fails": "a = x\nmatch (x * 3, x.sum()):\n    case (a, b) if b > 30: return a\n"
    "    case _: pass\nreturn a * 2",
    "once": "it = [x, 2]\nmatch it.pop():\n    case 5: return x\n    case v: return x * v + len(it)",
    "jumps": "n = 0\nwhile True:\n    match x.sum():\n        case s if s > 20: break\n"
    "        case s if s > 10: x = x * 1.5\n        case _: x = x * 2\n    n += 1\nreturn x, n",
    "kept loop": "for i in range(20):\n    match (x.sum() > 5, i % 3):\n        case (c, 0) if c: x = x * 0.5\n"
    "        case (_, 1): continue\n        case _: x = x + 1\nreturn x",
    "in a function": "def g(v):\n    match v:\n        case (p, q): return p * q\n        case p: return p\n"
    "return g((x, 2)) + g(x)",
    "sizes": "match x.shape:\n    case (n, 4): return x\n    case (n,): return x * n",
}
#: Programs that raise in both modes.
RAISING = {
    "truth of several": ("match x:\n    case 1: return x\nreturn x", ValueError),
    "too many by position": ("match x:\n    case Tensor(a): return a\nreturn x", TypeError),
    "no class": ("k = 3\nmatch x:\n    case k(): return x\nreturn x", TypeError),
}


def _function(text):
    return define("def f(x):\n" + "".join(f"    {line}\n" for line in text.splitlines()), **NAMES)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_eager_mode(name):
    f, x = _function(PROGRAMS[name]), np.array([0.4, 1.3, 2.1])

    def first(x):
        return grad(lambda x: total(f(x)))(x)

    for backend in ("native", "numpy"):
        for fn in (f, first):
            same_results(jit(fn, backend=backend)(Tensor(x)), fn(Tensor(x)))


@pytest.mark.parametrize("name", RAISING)
def test_exceptions_are_those_of_eager_mode(name):
    text, kind = RAISING[name]
    for run in (_function(text), jit(_function(text))):
        with pytest.raises(kind):
            run(Tensor([1.0, 2.0]))


def test_one_program_for_all_sizes():
    f = jit(_function(PROGRAMS["sizes"]))
    for n in (3, 5, 7):
        np.testing.assert_array_equal(f(Tensor(np.ones(n))).asnumpy(), np.full(n, float(n)))
    assert f.cache_info()["compiles"] == 2


def test_attributes_of_a_cell_are_guarded():
    class Net(nn.Cell):
        kind = "relu"

        def construct(self, x):
            match self.kind:
                case "relu":
                    return ops.relu(x)
                case ("scale", k):
                    return x * k

    net, x = Net(), Tensor([-1.0, 2.0])
    run = jit(net)
    assert run(x).tolist() == [0, 2]
    net.kind = ("scale", 3.0)
    assert run(x).tolist() == [-3, 6]
