"""Loops of known length that fill lists: kept as one loop, with eager mode as the reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from tests.programs.compare import define
from tests.programs.same_results import same_results, total

X = [0.4, 1.3, 2.1]
_HEAD = "def f(x):\n    ys, zs, h = [], [], x\n"
_STEP = "h = ops.tanh(h * 0.9 + x)"

#: Loops that are kept: the body, and what is returned.
KEPT = {
    "stack": (f"{_STEP}; ys.append(h)", "ops.stack(ys)"),
    "stack along another axis": (f"{_STEP}; ys.append(h)", "ops.stack(ys, 1), ops.cat(ys)"),
    "elements": (f"{_STEP}; ys.append(h)", "ys[0], ys[-1], ops.stack(ys[2:]), ops.stack(ys[::-3]), len(ys)"),
    "returned": (f"{_STEP}; ys.append(h)", "ys"),
    "iterated": (f"{_STEP}; ys.append(h)", "sum(ys), [y * i for i, y in enumerate(ys)][3]"),
    "compared": ("h = h * 0.9; ys.append(h.sum())", "max(ys), min(ys), sum(ys) / len(ys)"),
    "changed": ("h = h * 0.9; ys.append(h)", "(ys.pop(), ys.insert(0, x), ys.reverse(), ops.stack(ys))[3]"),
    "structures": ("h = h * 0.9; ys.append((h, {'a': h * i}))", "ops.stack([a for a, d in ys]), ys[3][1]['a']"),
    "two lists": (f"{_STEP}; ys.append(h); zs.append(h * 2); ys.append(h + 1)", "ops.stack(ys), ops.stack(zs)"),
    "last element": ("ys.append(x * i); ys.append(ys[-1] + 1)", "ops.stack(ys)"),
    "first trip apart": ("h = 0 if i is None else h; h = h + x; ys.append(h * h)", "ops.stack(ys)"),
    "extended": ("ys.extend([x * i, x + i])", "ops.stack(ys)"),
    "added": ("ys += [x * i, x + i]", "ops.stack(ys)"),
    "branches": ("ys.append(x * i) if x.sum() > i else ys.append(x)", "ops.stack(ys)"),
    "run-time numbers": ("h = h * 0.9; ys.append(h.sum().item())", "ys, h * ys[2]"),
    "constants": ("ys.append('a'); ys.append(None); h = h * 0.9", "h, len(ys), ys[:4]"),
    "one object": ("h[0] = h[0] * 2 + x[1]; ys.append(h)", "ops.stack(ys), h"),
}
#: Loops that fill a list inside another, or read what they have appended.
PROGRAMS = {
    "of lists": """
def f(x):
    ys = []
    for i in range(9):
        r = []
        for j in range(10):
            r.append(x * i + j)
        ys.append(r)
    return ops.stack([ops.stack(r) for r in ys]), ys[3][2], r
""",
    "nested": """
def f(x):
    ys = []
    for i in range(9):
        for j in range(10):
            ys.append(x * i + j)
        ys.append(x)
    return ops.stack(ys)
""",
    "recurrence": """
def f(x):
    ys = [x, x * 0.5]
    for i in range(9):
        ys.append(ys[-1] * 0.3 + ops.sin(ys[-2]))
    return ops.stack(ys)
""",
    "beside names of elements": """
def f(x):
    ys = [x, x * 0.5]
    before, last = ys[1], x
    for i in range(9):
        last = ys[-2]
        ys += [ys[-1] * 0.3 + ops.sin(ys[-2])]
    return ys[1], ys, before, last
""",
    "of a function": """
def f(x):
    ys = {"a": []}
    def add(v):
        ys["a"].append(v * 2)
    for i in range(9):
        add(x * i)
    return ys
""",
}
#: The same of tuples that grow.
TUPLES = {
    "added": (f"{_STEP}; ts = ts + (h,)", "ts, ops.stack(ts), ts[0] * len(ts), type(ts).__name__"),
    "added in place": (f"{_STEP}; ts += (h, h * i)", "ts[1:], ops.stack(ts[::2])"),
    "two": (f"{_STEP}; ts += (h,); us = us + (h * 2,)", "ts, us"),
    "last element": ("us = us + (us[-1] * 0.3 + ops.sin(us[-2]),)", "us"),
    "structures": ("h = h * 0.9; ts += ((h, {'a': h * i}),)", "ops.stack([a for a, d in ts]), ts[3][1]['a']"),
    "in branches": ("if i is not None:; \x20   ts = ts + (x * i,); else:; \x20   ts = ts + (x,)", "ts"),
}
#: And where a trip uses the tuple otherwise.
UNROLLED_TUPLES = {
    "length": ("ts = ts + (x * len(ts),)", "ts"),
    "kept elsewhere": ("zs.append(ts); ts += (x * i,)", "zs[3], ts"),
    "numbers": ("ts += (i * 2,)", "x[ts[1] - 1:], ts"),
    "a function reads it": ("ts = ts + (x * count(),)", "ts"),
    "sometimes": ("if i % 3: ts += (x * i,)", "ts"),
}
#: Loops that are unrolled: something needs the objects that were appended, or a trip looks at the list.
UNROLLED = {
    "written later": ("ys.append(h); h = h * 0.9", "h.copy(), ys[1].add_(1), ops.stack(ys)"),
    "numbers": ("ys.append(i * 2)", "x.reshape(ys[0] + 3), x[ys[1] - 1:], ys"),
    "length": ("ys.append(x * len(ys))", "ops.stack(ys)"),
    "sometimes": ("if i % 3: ys.append(x * i)", "ops.stack(ys)"),
    "kept elsewhere": ("zs.append(ys); ys = [x * i]", "zs[0], zs[3][0]"),
}


def _defined(body, result):
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    return define(f"{_HEAD}    for i in range(12):\n{lines}    return {result}\n", ops=ops)


def _agrees(f, backends=("native", "numpy")):
    """Asserts that value, gradient and second order agree with eager mode; returns the loops of the value's program."""
    x = np.array(X)

    def first(x):
        return grad(lambda x: total(f(x)))(x)

    def second(x):
        return grad(lambda x: (first(x) ** 2).sum())(x)

    for backend in backends:
        for fn in (f, first) if backend == "numpy" else (f, first, second):
            same_results(jit(fn, backend=backend)(Tensor(x)), fn(Tensor(x)))
    return [line for line in jit(f).lower(Tensor(x)).explain().splitlines() if ": for: " in line]


@pytest.mark.parametrize("name", KEPT)
def test_a_loop_that_appends_is_kept(name):
    (decided,) = [line for line in _agrees(_defined(*KEPT[name])) if ":3:" in line or ":4:" in line]
    assert "kept as a loop" in decided


def _of_tuples(body, result):
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    head = "def f(x):\n    ts, us, zs, h = (), (x, x * 0.5), [], x\n"
    if "count" in body:
        head += "    def count(): return len(ts) + 1\n"
    return define(f"{head}    before = us\n    for i in range(12):\n{lines}    return {result}, before\n", ops=ops)


@pytest.mark.parametrize("name", TUPLES)
def test_a_loop_that_adds_to_a_tuple_is_kept(name):
    (decided,) = _agrees(_of_tuples(*TUPLES[name]))
    assert "kept as a loop" in decided


@pytest.mark.parametrize("name", UNROLLED_TUPLES)
def test_other_loops_that_add_to_a_tuple_are_what_they_were(name):
    (decided,) = _agrees(_of_tuples(*UNROLLED_TUPLES[name]), backends=("native",))
    assert "unrolled, 12 trips" in decided


def test_a_tuple_is_as_long_as_is_known_while_compiling():
    f = _of_tuples("if h.sum() > i: ts = ts + (h,)", "ts")
    with pytest.raises(ms.JoinError, match="'ts' is a tuple of 1 on one path"):
        jit(f)(Tensor(X))


def test_tuples_in_nested_loops():
    f = define(
        "def f(x):\n    ts = ()\n    for i in range(9):\n        us = ()\n        for j in range(10):\n"
        "            us += (x * i,)\n            ts = ts + (x + j,)\n        ts = ts + us\n"
        "        ts += (ops.stack(us),)\n    return ts\n",
        ops=ops,
    )
    _agrees(f)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nested_and_recurrent(name):
    assert all("kept as a loop" in line for line in _agrees(define(PROGRAMS[name], ops=ops)))


@pytest.mark.parametrize("name", UNROLLED)
def test_other_loops_are_unrolled(name):
    (decided,) = _agrees(_defined(*UNROLLED[name]), backends=("native",))
    assert "unrolled, 12 trips: it cannot be kept as a loop: " in decided


def test_the_way_out_is_told():
    (decided,) = _agrees(_defined("ys.append(x * len(ys))", "ys[3]"), backends=("numpy",))
    assert "a trip asks for the length of the list `ys`, to which the loop adds (instead: let" in decided


def test_a_hook_on_an_element_is_one_on_the_tensor_that_was_appended():
    def f(x):
        ys, h = [], x
        for _ in range(12):
            h = h * 0.9
            ys.append(h)
        ys[-1].register_hook(lambda g: g * 3)
        return h.sum()

    np.testing.assert_allclose(jit(grad(f))(Tensor(X)).asnumpy(), [3 * 0.9**12] * 3, rtol=1e-6)


def test_a_parameter_in_a_list_is_that_parameter():
    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor(X), name="w")

        def construct(self, x):
            ys = []
            for i in range(12):
                ys.append(self.w)
                ops.assign(self.w, self.w * 0.5 + x * i)
            return ys[0] + ys[-1]

    results = []
    for compile_it in (False, True):
        net = Net()
        net.set_train(False)
        results.append((jit(net.construct) if compile_it else net.construct)(Tensor(X)).asnumpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)


def test_the_program_does_not_grow_with_the_trips():
    def stacked(n):
        def f(x):
            ys, h = [], x
            for _ in range(n):
                h = ops.tanh(h * 0.9 + x)
                ys.append(h)
            return ops.stack(ys).sum()

        return str(jit(grad(f)).lower(Tensor(X)).ir()).count("\n")

    assert stacked(20) == stacked(300) < 60


def test_very_long_lists_are_the_rows_of_a_tensor():
    def f(x):
        ys, h = [], x
        for _ in range(5000):
            h = ops.tanh(h * 0.9 + x)
            ys.append(h)
        return ops.stack(ys).sum(0), ys[-1]

    same_results(jit(f)(Tensor(np.array(X))), f(Tensor(np.array(X))))


def test_derivatives_of_calls_on_a_tape_are_as_short_as_those_of_compiled_code():
    """The backward part of a call is made of the rewritten function: its code does not grow with the trips."""

    def lines(n):
        @jit
        def f(x):
            ys, h = [], x
            for _ in range(n):
                h = ops.tanh(h * 0.9 + x)
                ys.append(h)
            return ops.stack(ys).sum()

        x = Tensor(np.array(X))
        same_results(grad(f)(x), jit(grad(f))(x))
        parts = f.lower(x)._call.compiled.program.executables()
        return [made.source.count("\n") for made in parts]

    few, many = lines(20), lines(300)
    assert len(few) == len(many) == 3
    assert all(b <= a + 10 for a, b in zip(few, many, strict=True))


#: What is asked of 5,000 Tensors of a loop.
_OF_MANY = {
    "sum": "sum(ys)",
    "sum from a start": "sum(ys, x)",
    "max": "max(y.sum() for y in ys)",
    "min": "min(zs)",
    "max of a list": "max(zs)",
    "comprehension": "ops.stack([y * 2 for y in ys])",
    "first ones": "(lambda a, b, *more: a * b + sum(more))(*ys[:7])",
    "sum of some": "sum(ys[10:4000:3])",
    "product": "math.prod(y * 1.1 for y in ys[:4])",
}


@pytest.mark.parametrize("what", _OF_MANY)
def test_very_long_lists_are_reduced_from_left_to_right(what):
    f = define(
        "def f(x):\n    ys, zs, h = [], [], x\n    for i in range(5000):\n"
        "        h = h * 0.999 + 0.001\n        ys.append(h)\n        zs.append(h.sum())\n"
        f"    return {_OF_MANY[what]}\n",
        ops=ops,
        math=math,
    )
    x = Tensor(np.array(X, np.float32))
    assert jit(f)(x).tolist() == f(x).tolist()
    np.testing.assert_allclose(
        jit(grad(lambda x: f(x).sum()))(x).asnumpy(), grad(lambda x: f(x).sum())(x).asnumpy(), rtol=1e-4
    )


def test_what_a_very_long_list_cannot_do_is_told_at_its_line():
    def f(x):
        ys = []
        for _ in range(5000):
            x = x * 0.999
            ys.append(x)
        return sorted(ys)[0]

    with pytest.raises(ms.UnsupportedCallError, match="list of 5,000 elements that a loop has collected") as caught:
        jit(f)(Tensor(1.0))
    assert "sorted(ys)" in str(caught.value)
