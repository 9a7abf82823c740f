"""Programs that follow the advice of each code (`explain ACnnnn`): they compile, and give what Python gives."""

from __future__ import annotations

import textwrap
import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.catalogue import CATALOGUE
from tests.programs.compare import assert_same, define

HEAD = """
import contextlib
import random
import zlib
from typing import NamedTuple

import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, TensorSpec, constexpr, jit, jit_class, keep, mutable, nn, ops, py_call
"""

# The advice as a program whose `f` takes a Tensor of three elements.
CURES = {
    "AC1001": "def f(x):\n    return py_call(lambda a: np.negative(a), x, out=x)",
    "AC1101": "def f(x):\n    y = x * 0\n    if (y == 0).any():\n        return x\n    return x / y",
    "AC1103": "def f(x, k=2):\n    if k == 1:\n        return x\n    elif k == 2:\n        return x * 2\n"
    "    return x * 3",
    "AC1104": "def f(x):\n    if x.sum() > 100:\n        raise ValueError('too much')\n    return x",
    "AC1105": "def f(x):\n    s = {3, 1}\n    for k in sorted(s):\n        x = x * k\n    return x",
    "AC1106": "def f(x):\n    parts = [v * 2 for v in (x, x)]\n    return parts, sum(parts)",
    "AC1107": "def f(x):\n    parts = []\n    for k in range(3):\n        parts.append(x * k)\n"
    "    return parts, ops.stack(parts)",
    "AC1108": "def f(x):\n    with contextlib.nullcontext():\n        return x * 2",
    "AC1109": "class Pair(NamedTuple):\n    a: ms.Tensor\ndef f(x):\n    return Pair(x).a * 2",
    "AC1201": "scale = 2.0\ndef f(x):\n    return x * scale",
    "AC1202": "def f(x):\n    y = x\n    if x.sum() > 100:\n        y = x * 2\n    return y",
    "AC1203": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.weight = 2.0\n"
    "    def construct(self, x):\n        return x * self.weight\nnet = Net()\ndef f(x):\n    return net(x)",
    "AC1204": "def scale(x, factor, shift=0.0):\n    return x * factor + shift\ndef f(x):\n"
    "    return scale(x, 2, shift=1.0)",
    "AC1301": "def f(x):\n    if (x > 2).any():\n        x = x + 1\n    return ops.where(x > 2, x, -x)",
    "AC1302": "def f(x, axis=0):\n    return ops.sum(x, axis) + ops.zeros(x.shape)",
    "AC1303": "def f(x):\n    return ops.where(x > 1, x, ops.zeros_like(x)).sum()",
    "AC1304": "def f(x):\n    y = x * 1\n    if (x == y).all():\n        return x\n    return y",
    "AC1305": "def f(x):\n    i = (x > 1).astype(ms.int32).sum() - 1\n    return ops.stack([x, x * 2])[i]",
    "AC1306": "def f(x):\n    i = (x > 2).astype(ms.int32).sum()\n    return ops.narrow(x, 0, i, 2)",
    "AC1307": "def f(x):\n    mask = x > 1\n"
    "    return ops.where(mask, x, 0.0), x.masked_fill(mask, 0.0), (x * mask).sum()",
    "AC1401": "def f(x):\n    if x.sum() > 3:\n        y = x.astype(ms.float64)\n    else:\n"
    "        y = (x * 2).astype(ms.float64)\n    return y",
    "AC1402": "def f(x):\n    if x.sum() > 3:\n        y = x[:2]\n    else:\n        y = x[1:]\n    return y",
    "AC1403": "def f(x):\n    state = {'a': x}\n    if x.sum() > 3:\n        state['b'] = x * 2\n    else:\n"
    "        state['b'] = x\n    return state",
    "AC1404": "def f(x):\n    if x.sum() > 3:\n        return x * 2\n    return x",
    "AC1405": "def f(x):\n    return ops.where(x.sum() > 3, ops.relu(x), ops.tanh(x))",
    "AC1406": "def f(x):\n    total = ops.zeros_like(x)\n    while total.sum() < 20:\n"
    "        total = total + x\n    return total",
    "AC1410": "def f(x):\n    return x.reshape(3, 1) @ ops.ones((1, 2)), x.astype(ms.int32) << 1",
    "AC1501": "def f(x):\n    for i in range(2000):\n        x = x + i\n    return x",
    "AC1502": "def f(x):\n    values = []\n    for i in range(3):\n        values.append(x * i)\n    return values",
    "AC1503": "def f(x, n=3):\n    while n > 0:\n        x, n = x * 2, n - 1\n    while x.sum() < 1000:\n"
    "        x = x * 2\n"
    "    return x",
    "AC1504": "def f(x):\n    t, i = ops.zeros(10), 0\n    while x.sum() < 100:\n        t[i] = x.sum()\n"
    "        x, i = x * 2, i + 1\n    return t",
    "AC1505": "def f(x, n=300):\n    for i in range(n):\n        x = x + 1\n    return x",
    "AC1506": "def f(x):\n    while x.sum() < 100:\n        x = x * 2\n    return x",
    "AC1601": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.count = 0\n"
    "        self.w = Parameter(Tensor([1.0]), name='w')\n    def construct(self, x):\n"
    "        self.count = self.count + 1\n"
    "        self.w = self.w * 2\n        return x\nnet = Net()\ndef f(x):\n    count = 1\n    return net(x), count",
    "AC1602": "history = [1.0]\ndef f(x):\n    new_history = history.copy()\n    new_history.append(x)\n"
    "    return new_history",
    "AC1602 of an argument": "def g(l, x):\n    l = l.copy()\n    l.append(x)\n    return l\ngiven = [1]\n"
    "def f(x):\n    return g(given, x), given",
    "AC1602 of a Cell": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
    "        self.hist, self.table = [], {}\n    def construct(self, x):\n        self.hist = [*self.hist, x]\n"
    "        self.table = {**self.table, 'last': x}\n        return self.hist, self.table\n"
    "def f(x):\n    net = made\n    return net(x), net(x)\nmade = Net()",
    "AC1603": "def f(x):\n    count = 0\n    def step(count):\n        return count + 1\n    count = step(count)\n"
    "    return x * count",
    "AC1604": "chosen = random.random()\ndef f(x, chosen=chosen):\n    return x * chosen",
    "AC1605": "w = Parameter(Tensor([1.0, 2.0, 3.0]), name='w')\ndef f(x):\n    ops.assign(w, x)\n    return w * 2",
    "AC1606": "@jit_class\nclass Config:\n    def __init__(self):\n        self.rate = 1.0\n    def set(self, x):\n"
    "        self.rate = 2.0\n        return x * self.rate\nconfig = Config()\ndef f(x):\n    return config.set(x)",
    "AC1701": "def f(x):\n    return ms.grad(lambda x, n: (x * n).sum(), 1)(x, Tensor(3.0))",
    "AC1709": "def f(x):\n    g = lambda x: ops.stop_gradient(py_call(np.sin, x, out=x)) * x\n    return ms.grad(g)(x)",
    "AC1801": "def f(x):\n    return py_call(lambda a: np.sort(a), x, out=x), ops.sort(x)[0]",
    "AC1802": "class Net(nn.Cell):\n    def construct(self, x):\n        return x * 2\nnet = Net()\ndef f(x):\n"
    "    return net(x)",
    "AC1803": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.act = nn.ReLU()\n"
    "    def construct(self, x):\n        return self.act(x)\nnet = Net()\ndef f(x):\n    return net(x)",
    "AC1804": "@jit_class\nclass Pair:\n    def __init__(self, a):\n        self.a = a\ndef f(x):\n"
    "    return Pair(x).a * 2",
    "AC1805": "def f(x):\n    return ops.cumprod(x, 0), py_call(np.nancumprod, x, out=x)",
    "AC1806": "limit = eval('2 + 1')\ndef f(x):\n    return x * limit",
    "AC1807": "@constexpr\ndef crc(text):\n    return zlib.crc32(text)\ndef f(x):\n    return x * (crc(b'a') % 7)",
    "AC1808": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a = Parameter(Tensor([1.0]), name='a')\n        self.b = Parameter(Tensor([2.0]), name='b')\n"
    "    def construct(self, x):\n        return x * sum(self.parameters_dict().values())\n"
    "net = Net()\ndef f(x):\n    return net(x)",
    "AC1903": "@ms.jit(check_nonfinite=True)\ndef f(x):\n    return ops.log(ops.where(x > 1, x, 1.0))",
    "AC1904": "def f(x):\n    total = 0.0\n    for i in range(4):\n"
    "        total += (ops.broadcast_to(x, (8, 3)) * i).sum()\n    return total",
    "AC2001": "def f(x, n=mutable(2)):\n    return x * n",
    "AC2002": "def f(x):\n    for i in range(200):\n        x = x + i\n    return x",
    "AC2003": "def f(x):\n    return ms.grad(lambda x: (x * 2).sum())(x)",
}  # fmt: skip

#: Codes whose advice is no program: the source itself, mistakes of the compiler, settings, questions to the user,
#: those of `bprop`, hooks and gradient edits, whose tests have programs that work.
WITHOUT = {"AC1002", "AC1901", "AC1902", "AC2004", "AC2006"}


def of_derivatives(code):
    return code[2:4] == "17" or code == "AC2005"


def of_processes(code):
    """Whether it takes many processes: those are in tests/distributed."""
    return code.startswith("AC30")


@pytest.mark.parametrize("name", CURES)
def test_the_advice_compiles(name):
    program = HEAD + textwrap.dedent(CURES[name])
    x = np.array([1.0, 2.0, 3.0], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ms.jit(define(program))(ms.Tensor(x))
    with ms.disable_jit():
        expected = define(program)(ms.Tensor(x))
    if "random" not in CURES[name]:
        assert_same(found, expected, name)


def test_every_code_has_a_cure():
    cured = {name.partition(" ")[0] for name in CURES}
    assert cured | WITHOUT | {c for c in CATALOGUE if of_derivatives(c) or of_processes(c)} == set(CATALOGUE)
    assert not cured & WITHOUT
