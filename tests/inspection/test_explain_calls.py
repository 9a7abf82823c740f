"""`explain` on calls: why they go the long way, and what Python is asked; guards in words people use."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, TensorSpec, mutable, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.compiler.specialised import SLOW_CALLS
from autodiff_compiler.inspection.figures import size
from tests.inspection.test_explain import on_the_usual_backend, sections, under  # noqa: F401

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code: {why_not()}")


class Counts(nn.Cell):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def construct(self, x):
        self.calls = self.calls + 1
        return x * 2


class Prints(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(np.zeros(3, np.float32), name="total")

    def construct(self, x):
        self.total = self.total + x
        print(x)
        return x * 2


class Blocks(nn.Cell):
    def __init__(self, kind):
        super().__init__()
        self.blocks = kind([nn.Dense(3, 3) for _ in range(3)])

    def construct(self, x):
        if isinstance(self.blocks, nn.SequentialCell):
            return self.blocks(x)
        for block in self.blocks:
            x = block(x)
        return x


class Object:
    def method(self, x):
        return x * 2


def double(x):
    return x * 2


def scaled(x, scale):
    return x * scale


def first(xs):
    return xs[0] * 2


def of_name(xs):
    return xs["a"] * 2


def written(x):
    x[0] = 1.0
    return x * 2


x = Tensor(np.ones(3, np.float32))
row = Tensor(np.ones((1, 3), np.float32))
CALLS = {
    "a Tensor": (double, (x,), {}, None),
    "an ndarray": (double, (x.asnumpy(),), {}, None),
    "an object": (Object.method, (Object(), x), {}, None),
    "a Cell": (Blocks(nn.SequentialCell), (row,), {}, None),
    "a derivative": (ms.grad(double), (x,), {}, None),
    "a number": (scaled, (x, 3), {}, "argument `scale` is of type int"),
    "a mutable number": (scaled, (x, mutable(3.0)), {}, "argument `scale` is of type "),
    "a name": (scaled, (x,), {"scale": x}, "argument `scale` is given by its name"),
    "a tuple": (first, ((x, x),), {}, "argument `xs` is of type tuple"),
    "a dict": (of_name, ({"a": x},), {}, "argument `xs` is of type dict"),
    "a Parameter": (scaled, (x, Parameter(np.ones(3, np.float32))), {}, "argument `scale` is of type Parameter"),
    "attributes": (Counts(), (x,), {}, "the program sets attributes: Counts.calls"),
    "Python in between": (Prints(), (x,), {}, "the program writes states and runs Python in between"),
    "a write": (written, (Tensor(np.ones(3, np.float32)),), {}, "the program writes to Tensors that it is given"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_reason_is_there_where_calls_go_the_long_way(name, capfd):
    """Whether they do is seen from the compiled form, after enough calls."""
    fn, args, kwargs, reason = CALLS[name]
    fn = fn if isinstance(fn, nn.Cell) else ms.jit(fn)
    made = fn._as_compiled() if isinstance(fn, nn.Cell) else fn
    for _ in range(SLOW_CALLS + 8):
        made(*args, **kwargs)
    ((entry,),) = made._entries.values()
    assert (entry.function is None) == (reason is not None)
    found = sections(made.lower(*args, **kwargs).explain())[1]
    if reason is None:
        assert "Calls" not in found
    else:
        (line,) = found["Calls"]
        assert line.startswith(f"because {reason}")


def test_what_python_is_asked_before_calls():
    table, flags = {1: 2.0}, {"a", "b"}

    def f(x):
        return x * table[1] * len(flags)

    made = ms.jit(f)
    for _ in range(SLOW_CALLS + 8):
        made(x)
    ((entry,),) = made._entries.values()
    assert entry.function is not None
    asked = under(made, TensorSpec("f32[3]"), word="Asked")
    assert len(asked) == len(entry._fast_path._guards.rest) > 0
    assert all(re.search(r" \(test_explain_calls\.py:\d+\)$", line) for line in asked)


@pytest.mark.parametrize("kind", [nn.CellList, nn.SequentialCell])
def test_python_is_not_asked_about_containers_of_cells(kind):
    """Cells tell of each change themselves."""
    assert under(Blocks(kind), TensorSpec("f32[1,3]"), word="Asked") == []


def test_numpy_has_no_short_way(numpy_backend):
    ms.set_context(backend="numpy")
    found = sections(ms.jit(scaled).lower(x, 3).explain())[1]
    assert "Calls" not in found
    assert "Asked" not in found


# ------------------------------------------------------------------------------------------------ guards
class Part(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([nn.Dense(3, 3) for _ in range(4)])

    def construct(self, x):
        for block in self.blocks[1:]:
            x = block(x)
        return x if hasattr(self, "more") else x + 1


def test_guards_are_said_in_words():
    lines = under(Part(), TensorSpec("f32[1,3]"), word="Valid")
    text = "\n".join(lines)
    assert "the hooks of Part: none" in lines
    assert re.search(
        r"^the part \[1:\] of a CellList is \(an object, an object, an object\) \(read at ", text, re.MULTILINE
    )
    assert re.search(r"^the hooks of Dense: none \(read at [^)]*\) x3$", text, re.MULTILINE)  # each is there
    assert not re.search(r"\b(True|False|0x|\d{9,})", text)
    assert "any Tensor has hooks: no" in under(ms.grad(double), TensorSpec("f32[3]"), word="Valid")


def test_the_names_that_must_stay_are_counted():
    text = " ".join(" ".join(under(Part(), TensorSpec("f32[1,3]"), word="Valid")).split())
    made = ms.jit(Part())
    made(row)
    (names,) = [g.seen.split(", ") for g in made.guards() if g.what.startswith("what names")]
    assert f"{', '.join(names[:10])} and {len(names) - 10} more" in text


# ------------------------------------------------------------------------------------------------ unrolled loops
def test_values_of_the_trips_of_an_unrolled_loop_have_one_line():
    def f(x, w):
        for _ in range(6):
            x = ops.sin(x @ w) * x
        return x.sum()

    def once(x, w):
        return (ops.sin(x @ w) * x).sum()

    types = TensorSpec("f32[30,30]"), TensorSpec("f32[30,30]")
    total, *lines = under(ms.grad(f), *types, word="Derivative")
    assert total.startswith(size(17 * 30 * 30 * 4))  # two products, sines of each trip; but not the last x
    assert [re.sub(r" \([^)]*:\d+\)|test_explain_calls.py:\d+", "", line) for line in lines] == [
        f"saved: 6 values of matmul, f32[30,30], {size(6 * 3600)} in all: for ",
        f"saved: 6 values of sin, f32[30,30], {size(6 * 3600)} in all: for ",
        f"saved: 5 values (%x_2 to %x_6) of mul, f32[30,30], {size(5 * 3600)} in all: for ",
    ]
    assert not any(" values " in line for line in under(ms.grad(once), *types, word="Derivative"))
