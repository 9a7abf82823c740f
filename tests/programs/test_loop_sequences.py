"""Long loops over lists, tuples and dicts of Tensors and numbers are kept, and their adjoint costs a slice per trip."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.ir.text import parse_module
from tests.programs.compare import check, define

pytestmark = pytest.mark.both_backends

SEQUENCES = {
    "tuple": "def f(x, *ws):\n    for w in ws:\n        x = x * w + 0.1\n    return x",
    "list": "def f(x, *ws):\n    l = [w * 1.5 for w in ws]\n    for w in l:\n        x = x * w + 0.1\n    return x",
    "pairs": "def f(x, *ws):\n    for w, b in [(w, w.sum()) for w in ws]:\n        x = x * w + b\n    return x",
    "nested": """
def f(x, *ws):
    for d, (c, [v]) in [[{'a': w, 'b': w.sum()}, (2.0, [w * w])] for w in ws]:
        x = x * d['a'] + d['b'] * c * 0.1 + v
    return x""",
    "numbers": "def f(x, *ws):\n    for c in [0.1 * k for k in range(11)]:\n        x = x * c + ws[0]\n    return x",
    "ints_and_rows": """
def f(x, *ws):
    for k, w in zip([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], ws):
        x = x * 0.1 * k + w
    return x""",
    "enumerate": "def f(x, *ws):\n    for i, w in enumerate(ws, 2):\n        x = x * w + 0.1 * i\n    return x",
    "reversed": "def f(x, *ws):\n    for w in reversed(ws):\n        x = x * 0.5 + w * w\n    return x",
    "zip_unequal": """
def f(x, *ws):
    for w, v, i in zip(ws, ws[1:], range(100)):
        x = x * w + v * v * 0.1 * i
    return x""",
    "values": """
def f(x, *ws):
    for w in {str(i): w for i, w in enumerate(ws)}.values():
        x = x * w + 0.1
    return x""",
    "one_tensor_often": "def f(x, *ws):\n    for w in [ws[0]] * 10:\n        x = x * w + 0.1\n    return x",
    "break": """
def f(x, *ws):
    for w in ws:
        x = x * w + 0.1
        if x.sum() > 2.6:
            break
    return x * w""",
    "else": """
def f(x, *ws):
    for i, w in enumerate(ws):
        if w[0] > 5.0:
            break
        x = x * w + 0.1 * i
    else:
        x = x * x
    return x + w""",
    "peeled": "def f(x, *ws):\n    y = 0\n    for w in ws:\n        y = y + x * w * w\n    return y",
    "index": """
def f(x, *ws):
    m = x.reshape(3, 1) * ws[0]
    y = x
    for i in range(12):
        y = y * 0.3 + m[i // 5]
    return y""",
}


def arguments(n=10):
    rng = np.random.default_rng(5)
    return rng.uniform(0.5, 1.0, 3), *[rng.uniform(0.6, 1.2, 3) for _ in range(n)]


def kept(fn, *args):
    """The loops that the frontend keeps."""
    text = ms.jit(fn).lower(*args).ir("front")
    return text.count(" = scan ") + text.count(" = while ")


@pytest.mark.some(2)
@pytest.mark.parametrize("program", SEQUENCES)
def test_kept(program):
    f = define(SEQUENCES[program])
    check(f, *arguments())
    assert kept(f, *map(Tensor, arguments())) == 1


CHANGING = {
    "an element": """
def f(x, *ws):
    l = [w * 1.0 for w in ws]
    for w in l:
        l[-1][0] = x[0]
        x = x * w + 0.1
    return x""",
    "a Tensor gone over": """
def f(x, *ws):
    m = x.reshape(3, 1) * ws[0].sum() * ops.ones((1, 3), ms.float64)
    m = ops.concat([m, m, m, m])
    y = x
    for row in m:
        m[11] = y * 0.5
        y = y * 0.2 + row
    return y""",
    "the list": """
def f(x, *ws):
    l = [w * 1.0 for w in ws]
    for w in l:
        l[-1] = x
        x = x * w + 0.1
    return x""",
    "an inner list": """
def f(x, *ws):
    l = [[w] for w in ws]
    for p in l:
        l[-1][0] = x
        x = x * p[0] + 0.1
    return x""",
}


@pytest.mark.parametrize("program", CHANGING)
def test_what_changes_on_the_way_is_seen(program):
    f = define(CHANGING[program], ops=ops)
    args = [Tensor(a) for a in arguments()]
    np.testing.assert_array_equal(ms.jit(f)(*args).asnumpy(), f(*args).asnumpy())


class Weights(nn.Cell):
    def __init__(self, assigned):
        super().__init__()
        self.ws = [ms.Parameter(Tensor(w), name=f"w{i}") for i, w in enumerate(arguments())]
        self.assigned = assigned

    def construct(self, x):
        for w in self.ws:
            x = x * w + 0.1
            if self.assigned:
                ops.assign(self.ws[9], x)
        return x


@pytest.mark.parametrize("assigned", [False, True])
def test_parameters(assigned):
    eager, compiled = Weights(assigned), Weights(assigned)
    x = Tensor(arguments()[0])
    expected = eager(x)
    np.testing.assert_array_equal(ms.jit(compiled)(x).asnumpy(), expected.asnumpy())
    assert kept(compiled, x) == (0 if assigned else 1)
    for a, b in zip(eager.ws, compiled.ws, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


@pytest.mark.parametrize("program", ["tuple", "break", "peeled", "index", "pairs"])
def test_an_adjoint_loop_adds_in_place(program):
    """No trip makes zeros of the size of everything: a slice is added to what the adjoint loop carries."""
    f = define(SEQUENCES[program])
    compiled = ms.jit(ms.grad(f, tuple(range(1, 65)))).lower(*map(Tensor, arguments(64)))
    (loop,) = [op for op in parse_module(compiled.ir("opt")).entry.body.ops if op.defn.name == "scan" and op.attrs[1]]
    (body,) = loop.blocks
    added = [op for op in body.ops if op.defn.name == "scatter_add"]
    assert all(op.operands[0].owner is body for op in added)
    assert len(added) == (0 if program in ("tuple", "pairs") else 1)
    assert len(body.args) < 10
