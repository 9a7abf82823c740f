"""{unrolled, kept, peeled, restarted, dynamic} x {break, continue, return, else, append, setitem, random, assign}."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from tests.programs.compare import assert_same, define

pytestmark = pytest.mark.both_backends

#: What stands before the loop, its head, and what every trip begins with.
HEADS = {
    "unrolled": ("y = x * 1.0", "for i in range(5):", "pass"),
    "kept": ("y = x * 1.0", "for i in range(11):", "pass"),
    "peeled": ("y = 0", "for i in range(11):", "y = y + x * 0.1"),
    "restarted": ("y = x * 1.0; i = 0", "while i < 12:", "i = i + 1"),
    "restarted endless": ("y = x * 1.0; i = 0", "while True:", "i = i + 1\n            if y.sum() > 12.0: break"),
    "dynamic": ("y = x * 1.0", "for i in range(int(n)):", "pass"),
    "dynamic while": ("y = x * 1.0; i = 0", "while i < n:", "i = i + 1"),
}
BODIES = {
    "break": "if y.sum() > 6.0: break\n            y = y * 1.3 + x",
    "continue": "if y[0] > 2.0:\n                y = y + 0.9\n                continue\n            y = y * 1.3 + x",
    "return": "if y.sum() > 6.0: return y * 2.0, t, [], i\n            y = y * 1.3 + x",
    "else": "if y[0] > 50.0: break\n            y = y * 1.2 + x\n        else:\n            t = t * 2.0",
    "append": "out.append(y)\n            y = y * 1.2 + x",
    "setitem": "t[1] = t[1] * 0.5 + y[0]\n            y = y * 1.1 + t",
    "random": "y = y * 0.9 + ops.rand(2, dtype=ms.float64) + x",
    "assign": "ops.assign(self.w, self.w * 0.5 + y)\n            y = y * 0.8 + self.w",
}
PROGRAM = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([0.25, 0.5], ms.float64), name="w")

    def construct(self, x, n):
        t = x * 0.5
        out = []
        i = -1
        {before}
        {head}
            {start}
            {body}
        return y, t, out, i
"""


CASES = [(head, n) for head in HEADS for n in ((0, 3, 13) if "dynamic" in head else (0,))]


@pytest.mark.some(4)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("head", "n"), CASES)
def test_loop(head, body, n):
    before, first, start = HEADS[head]
    text = PROGRAM.format(before=before, head=first, start=start, body=BODIES[body])
    Net = define(text, "Net", nn=nn, ops=ops)
    args = Tensor([0.4, 0.3], ms.float64), Tensor(n)
    results = []
    for wrap in (lambda cell: cell, ms.jit):
        ms.set_seed(7)
        cell = Net()
        compiled = wrap(cell)
        results.append((compiled(*args), compiled(*args), cell.w * 1.0))
    assert_same(results[1], results[0], f"{head} x {body}")
    if body in ("random", "append"):
        return

    def loss(cell):
        return lambda x, n: cell(x, n)[0].sum()

    eager = ms.grad(loss(Net()))(*args)
    np.testing.assert_allclose(ms.jit(ms.grad(loss(Net())))(*args).asnumpy(), eager.asnumpy(), rtol=1e-12)
