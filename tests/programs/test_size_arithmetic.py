"""What users make of sizes: products of a shape, lists of as many elements, parts of an axis; one program for all.

Expected values are those of eager mode, at each size.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from tests.programs.compare import assert_close, define
from tests.programs.test_sizes_of_calls import SIZES, outcome, tensor

#: The body of a function of x [n, 3], and how many programs its calls at `SIZES` take, of which one may be for n = 0.
ROWS = {
    # arithmetic
    "product of the shape": ("return x * math.prod(x.shape)", 2),
    "NumPy's product": ("return x * np.prod(x.shape), np.prod(x.shape)", 2),
    "reshape by products": ("return x.reshape(int(np.prod(x.shape[:1])), math.prod(x.shape[1:])) * 2", 2),
    "sum of the shape": ("return x * sum(x.shape)", 2),
    "zeros of NumPy's product": ("return ops.zeros(np.prod(x.shape), ms.float64) + x.reshape(-1)", 2),
    "bounded above": ("return x[: min(len(x), 4)] * 2", 2),
    "bounded below": ("return x / max(1, len(x) - 1)", 2),
    "its own bound": ("return x * ops.ones((max(len(x), 1), 1), ms.float64)", 3),
    "function of NumPy": ("return x / np.sqrt(len(x) + 1)", 2),
    "arrays of NumPy": ("return x * Tensor(np.arange(len(x))).reshape(-1, 1) + Tensor(np.zeros((len(x), 1)))", 3),
    "ones of NumPy": ("return Tensor(np.eye(len(x))) @ x + Tensor(np.full((len(x), 3), 2.0)) * np.ones(3)", 2),
    "pairs of rows": ("return x.reshape(-1, 2, 3).sum(1)", 2),
    "pairs, by halves": ("return x.view(len(x) // 2, 2, -1).sum(1)", 3),
    # lists
    "rows": ("return ops.stack([ops.tanh(r) for r in x])", 2),
    "rows and places": ("return ops.stack([r * i for i, r in enumerate(x)])", 2),
    "two of them": ("return ops.stack([a * b for a, b in zip(x, x[1:])])", 3),
    "by number": ("return ops.stack([x[i] * x[len(x) - 1 - i] for i in range(len(x))])", 2),
    "joined": ("return ops.cat([r[None] * 2 for r in x], 0)", 2),
    "other axis": ("return ops.stack([r.cumsum(0) for r in x], -1)", 2),
    "every pair": ("return ops.stack([x[i] @ x[j] for i in range(len(x)) for j in range(len(x))])", 2),
    "nested": ("return ops.stack([ops.stack([(r * q).sum() for q in x]) for r in x])", 2),
    "mapped": ("return ops.stack(list(map(ops.tanh, x)))", 2),
    "unpacked": ("return ops.stack([x.sum(0), *[r * 2 for r in x], *(r for r in x)])", 2),
    "list of rows": ("rows = list(x)\n    return ops.stack(rows[::-1]) + len(rows)", 2),
    "looked up": ("rows = [r * 2 for r in x]\n    return ops.stack(rows) - rows[-1] + rows[0]", 2),
    "gone through": ("s = x.sum(0)\n    for r in [r * 2 for r in x]:\n        s = s * 0.5 + r\n    return s", 2),
    "of a list": ("rows = [r * 2 for r in x]\n    return ops.stack([r + 1 for r in rows])", 2),
    "returned": ("return [r * 2 for r in x], [i for i in range(len(x))]", 2),
    "changed list": (
        "rows = [r * 2 for r in x]\n    rows.reverse()\n    rows.insert(0, x.sum(0))\n    rows += [x.sum(0)]\n"
        "    return ops.stack(rows)",
        2,
    ),
    "sum": ("return sum(r * r for r in x)", 3),
    "sum of a list": ("return sum([ops.tanh(r).sum() for r in x])", 3),
    "largest": ("return max(r.sum() for r in x)", 3),
    "folded": ("from functools import reduce\n    return reduce(lambda a, b: a * 0.5 + b, x, x.sum(0))", 3),
    "numbers": ("return x * Tensor([1.0 / (i + 1) for i in range(len(x))]).astype(ms.float64).reshape(-1, 1)", 3),
    "repeated number": ("return x * Tensor([0.5] * len(x)).reshape(-1, 1)", 3),
    "index": ("return x[list(range(len(x)))[::-1]]", 3),
    "weights": ("w = [0.5 * i for i in range(len(x))]\n    return x * sum(w) + len(w)", 3),
    "appended": ("out = []\n    for r in x:\n        out.append(ops.tanh(r))\n    return ops.stack(out)", 2),
    "appended states": (
        "out, h = [], x.sum(0)\n    for r in x:\n        h = ops.tanh(h + r)\n        out.append(h)\n"
        "    return ops.stack(out) * h",
        2,
    ),
    "two lists": (
        "a, b = [x.sum(0)], []\n    for i, r in enumerate(x):\n        a.append(r)\n        b.append(r * i)\n"
        "    return ops.stack(a)[1:] * ops.stack(b)",
        2,
    ),
    # parts
    "halves": ("a, b = ops.chunk(x, 2)\n    return a.sum(0) * b.sum(0)", 3),
    "thirds": ("return [p.sum(0) for p in ops.tensor_split(x, 3)]", 5),
    "cuts": ("return [p * 2 for p in ops.tensor_split(x, (1, len(x) // 2))]", 5),
    "parts": ("a, b = ops.split(x, [len(x) // 2, len(x) - len(x) // 2])\n    return a * 2, b", 2),
    "rolled": ("return ops.roll(x, len(x) // 2, 0) + ops.roll(x, len(x) // 3)", 4),
    "grid": ("return ops.linspace(0, 1, len(x)).astype(ms.float64).reshape(-1, 1) * x", 2),
    "grid of ends": ("return x + ops.linspace(-1, len(x), 3)", 2),
    "repeated": ("return ops.repeat_interleave(x, len(x), 0)", 2),
    "greatest": ("return ops.topk(x, len(x) // 2, 0)[0]", 2),
}


def function(body):
    return define(f"def f(x):\n    {body}\n", ops=ops, ms=ms, Tensor=Tensor, math=math, np=np)


def check(fn, compiled, most, sizes=SIZES):
    for n in sizes:
        expected, found = outcome(fn, tensor(n)), outcome(compiled, tensor(n))
        if isinstance(expected, Exception):
            assert type(found) is type(expected), (n, expected, found)
        else:
            assert_close(found, expected, f"n = {n}", 1e-6)
    programs = compiled.cache_info()["compiles"]
    assert programs <= most, compiled.explain_recompiles()


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", ["", "numpy"])
@pytest.mark.parametrize("name", ROWS)
def test_values(name, backend):
    body, most = ROWS[name]
    fn = function(body)
    check(fn, ms.jit(fn, backend=backend), most)


def weighed(fn):
    """A number made of all that a function returns."""

    def total(x):
        found = fn(x)
        parts = found if isinstance(found, tuple | list) else [found]
        total = x.sum() * 0
        for part in parts:
            if isinstance(part, Tensor):
                total = total + (part * ops.tanh(part)).sum()
        return total

    return total


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", ["", "numpy"])
@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name, backend):
    body, most = ROWS[name]
    gradient = ms.grad(weighed(function(body)))
    check(gradient, ms.jit(gradient, backend=backend), most + 1)


@pytest.mark.some(6)
@pytest.mark.parametrize("name", ROWS)
def test_second_derivatives(name):
    body, most = ROWS[name]
    gradient = ms.grad(weighed(function(body)))
    second = ms.grad(lambda x: (gradient(x) ** 2).sum())
    check(second, ms.jit(second), most + 1, sizes=(4, 6, 2, 3))


def test_a_gradient_through_a_list_is_its_closed_form():
    f = ms.jit(ms.grad(function("return ops.stack([ops.tanh(r).sum() * i for i, r in enumerate(x)]).sum()")))
    for n in (3, 5, 2):
        x = tensor(n)
        expected = (1 - np.tanh(x.asnumpy()) ** 2) * np.arange(n).reshape(-1, 1)
        np.testing.assert_allclose(f(x).asnumpy(), expected, rtol=1e-12)
    assert f.cache_info()["compiles"] == 2


@pytest.mark.parametrize(
    "body",
    [
        "return ops.stack([ops.tanh(r) for r in x])",
        "out = []\n    for r in x:\n        out.append(ops.tanh(r))\n    return ops.stack(out)",
        "return sum(ops.tanh(r) for r in x)",
        "return Tensor([0.5 * i for i in range(len(x))])",
    ],
)
def test_lists_as_long_as_an_argument_are_machine_code(body):
    f = ms.jit(function(body), backend="native")
    for n in (3, 5):
        f(tensor(n))
    artifact = f.lower(tensor(7))
    assert "run by machine code" in artifact.explain()


#: Bodies that write to what is in a list: the list shows it, so they are compiled for each size.
WRITING = {
    "in the list": "rows = [r * 2 for r in x]\n    rows[0][1] = 5.0\n    return ops.stack(rows)",
    "gone through": "rows = [r * 2 for r in x]\n    for r in rows:\n        r[0] = 0.0\n    return ops.stack(rows)",
    "grown": (
        "rows = []\n    for r in x:\n        rows += [r * 2]\n    for r in rows:\n        r[0] = 0.0\n"
        "    return ops.stack(rows)"
    ),
    "one for all": "w = x.sum(0)\n    rows = [w for r in x]\n    w[0] = 1.0\n    return ops.stack(rows)",
    "repeated": "w = x.sum(0)\n    rows = [w] * len(x)\n    w[0] = 1.0\n    return ops.stack(rows)",
    "appended": (
        "w, rows = x.sum(0), []\n    for r in x:\n        w[0] = w[0] + r[0]\n        rows.append(w)\n"
        "    return ops.stack(rows)"
    ),
    "element": "rows = [r * 2 for r in x]\n    rows[0] = x[1]\n    return ops.stack(rows)",
}


@pytest.mark.parametrize("name", WRITING)
def test_what_is_written_to_an_element_is_in_the_list(name):
    fn = function(WRITING[name])
    check(fn, ms.jit(fn), 4, sizes=(3, 5, 2, 4))


#: What such a list cannot do, or nothing can that has to be known while compiling.
KNOWN = """
[(r, r) for r in x]
ops.stack(tuple(r * 2 for r in x))
ops.stack([r for r in x if True])
sorted([i for i in range(len(x))])
dict(enumerate(x))[0]
any(r.sum() > 0 for r in x)
ops.cat([x[i:] for i in range(len(x))])
[i for i in range(len(x))].index(1)
(1, 2) * len(x)
"ab" * len(x)
x * math.gcd(len(x), 4)
x * math.isqrt(len(x))
ops.split(x, 2)
x.unbind(0)
""".strip().splitlines()


@pytest.mark.parametrize("expression", KNOWN)
def test_what_needs_known_sizes_says_so(expression):
    fn = function(f"return {expression}")
    compiled = ms.jit(fn)
    check(fn, compiled, 4, sizes=(3, 5, 2, 4))
    assert "must be known" in str(compiled.explain_recompiles()[-1])


def test_only_the_size_that_must_be_known_is_a_number():
    f = ms.jit(function("return x.unbind(0)"))
    for n, m in ((3, 4), (5, 6), (5, 7), (5, 8)):
        x = Tensor(np.ones((n, m)))
        assert len(f(x)) == n
    assert f.cache_info()["compiles"] == 2
    assert "f(f64[5,m])" in [form["call"] for form in f.cache_info()["keys"]]


def test_an_empty_list_is_refused_when_the_program_runs_where_data_say_how_long_it_is():
    fn = function(
        "out = []\n    for r in x:\n        if r.sum() > 0:\n            out.append(r)\n    return ops.stack(out)"
    )
    f = ms.jit(fn)
    x = Tensor(np.ones((3, 2)))
    assert f(x).shape == (3, 2)
    with pytest.raises(ValueError, match="stack needs at least one tensor"):
        f(-x)
    with pytest.raises(ValueError, match="stack needs at least one tensor"):
        fn(-x)


def test_cells_in_a_comprehension():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 2)

        def construct(self, x):
            return ops.stack([ops.tanh(self.dense(r)) for r in x]).sum()

    net = Net()
    step = ms.jit(ms.value_and_grad(net, None, net.trainable_params()))
    for n in (3, 5, 2, 6):
        x = Tensor(np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32))
        value, gradients = step(x)
        expected = ms.value_and_grad(lambda x: ops.tanh(net.dense(x)).sum(), None, net.trainable_params())(x)
        np.testing.assert_allclose(value.asnumpy(), expected[0].asnumpy(), rtol=1e-5)
        for found, wanted in zip(gradients, expected[1], strict=True):
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-6)
    assert step.cache_info()["compiles"] == 2
