"""Errors of sizes that had to be equal: they say where each of the two comes from."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import ShapeError
from tests.programs.compare import define


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def refusal(fn, *args):
    with pytest.raises(ShapeError) as caught:
        fn(*args)
    return caught.value


#: The body of a function of x and y, their shapes, and the note about the two sizes.
NOTES = {
    "product": (
        "h = ops.tanh(x) * 2\n    g = y + 1\n    k = h.sum()\n    return h @ g + k",
        ((2, 3), (4, 2)),
        "3 is the size of `x` along axis 1, 4 that of `y` along axis 0",
    ),
    "broadcast": (
        "a = x * 2\n    b = y * 2\n    return a + b",
        ((2, 3), (2, 4)),
        "3 is the size of `x` along axis 1, 4 that of `y` along axis 1",
    ),
    "formula": (
        "a = ops.cat([x, x], 1)\n    b = y * 1\n    return a + b",
        ((2, 3), (2, 7)),
        "6 is 2*n, where n = 3 (`x`, axis 1); 7 is the size of `y` along axis 1",
    ),
    "two formulas": (
        "a = x.reshape(-1)\n    b = y[1:]\n    return a * b",
        ((2, 3), (8,)),
        "6 is n*m, where n = 2 (`x`, axis 0), m = 3 (`x`, axis 1); 7 is max(0,n-1), where n = 8 (`y`, axis 0)",
    ),
    "number of the program": (
        "h = x * 2\n    return h @ ops.ones((7, 2))",
        ((2, 3), (1,)),
        "3 is the size of `x` along axis 1",
    ),
    "concat": (
        "a, b = x * 2, y * 2\n    return ops.cat([a, b])",
        ((2, 3), (2, 4)),
        "3 is the size of `x` along axis 1, 4 that of `y` along axis 1",
    ),
    "stack": (
        "a, b = x * 2, y * 2\n    return ops.stack([a, b])",
        ((2, 3), (5, 3)),
        "2 is the size of `x` along axis 0, 5 that of `y` along axis 0",
    ),
    "where": (
        "a, b = x * 2, y * 2\n    return ops.where(a > 0, a, b)",
        ((2, 3), (5, 3)),
        "2 is the size of `x` along axis 0, 5 that of `y` along axis 0",
    ),
    "einsum": (
        "a, b = x * 2, y * 2\n    return ops.einsum('ij,jk->ik', a, b)",
        ((2, 3), (4, 5)),
        "3 is the size of `x` along axis 1, 4 that of `y` along axis 0",
    ),
    "labels": (
        "a = x * 2\n    return ops.cross_entropy(a, y.sum(1).astype(ms.int32))",
        ((2, 3), (4, 5)),
        "4 is the size of `y` along axis 0, 2 that of `x` along axis 0",
    ),
    "branch": (
        "h = x * 2\n    if h.sum() > 0:\n        g = y * 2\n        h = h * g.sum(1)\n    return h",
        ((2, 3), (4, 5)),
        "3 is the size of `x` along axis 1, 4 that of `y` along axis 0",
    ),
    "loop": (
        "s = x.sum()\n    for r in ops.tanh(x):\n        g = y * 2\n        s = s + (r * 2) @ g.sum(1)\n    return s",
        ((20, 3), (4, 5)),
        "3 is the size of `x` along axis 1, 4 that of `y` along axis 0",
    ),
}


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: ms.grad(lambda x, y: f(x, y).sum())], ids=["", "grad"])
@pytest.mark.parametrize("name", NOTES)
def test_notes(name, transform):
    body, shapes, note = NOTES[name]
    f = define(f"def f(x, y):\n    {body}\n", ops=ops, ms=ms)
    given = [ones(*shape) for shape in shapes]
    assert note in refusal(ms.jit(transform(f)), *given).notes


def test_what_stands_in_the_line_is_not_said_again():
    error = refusal(ms.jit(define("def f(x, w):\n    return x @ w\n")), ones(2, 3), ones(4, 2))
    assert error.notes == ("`x` is a Tensor f32[2,3], `w` is a Tensor f32[4,2]",)


def test_the_second_size_of_a_call_has_the_same_error_as_the_first():
    f = ms.jit(define("def f(x, w):\n    h = x * 2\n    return h @ (w * 2)\n"))
    f(ones(2, 3), ones(3, 2))
    assert "5 is the size of `x` along axis 1, 3 that of `w` along axis 0" in refusal(f, ones(2, 5), ones(3, 2)).notes
    assert f(ones(4, 5), ones(5, 2)).shape == (4, 2)


def test_parameters_have_their_names():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(4, 8), nn.Dense(7, 2)
            self.conv = nn.Conv2d(3, 4, 3)

        def construct(self, x):
            return self.conv(x) if x.ndim == 4 else self.second(ops.relu(self.first(x)))

    net = ms.jit(Net())
    origin = "8 is the size of the Parameter `first.weight` along axis 0, 7 that of the Parameter `second.weight`"
    assert f"{origin} along axis 1" in refusal(net, ones(3, 4)).notes
    origin = "5 is the size of `x` along axis 1, 3 that of the Parameter `conv.weight` along axis 1"
    assert origin in refusal(net, ones(2, 5, 8, 8)).notes


def test_containers_and_what_is_found_outside():
    weights = ones(5, 2)
    f = define("def f(batch):\n    return ops.tanh(batch['x']) @ weights\n", ops=ops, weights=weights)
    error = refusal(ms.jit(f), {"x": ones(2, 3)})
    assert any(
        "3 is the size of `batch['x']` along axis 1, 5 that of global weights along axis 0" in n for n in error.notes
    )


def test_nothing_is_said_where_sizes_do_not_matter():
    for body in ("return x.reshape(4, 2, 7)", "return ops.stack([])", "return ops.zeros((2, -3))"):
        error = refusal(ms.jit(define(f"def f(x):\n    {body}\n", ops=ops)), ones(2, 3))
        assert not any("is the size of" in note for note in error.notes)


def test_a_function_that_fails_otherwise_with_symbols_keeps_its_error():
    f = define("def f(x, y):\n    n = {2: 5, 3: 6}[x.shape[0]]\n    h = x * n\n    return h @ (y * 2)\n")
    error = refusal(ms.jit(f), ones(2, 3), ones(4, 2))
    assert error.message == "inner sizes differ: [2,3] @ [4,2]: 3 != 4"


@dataclasses.dataclass(frozen=True)
class Record:
    w: Tensor


class Named(NamedTuple):
    w: Tensor


@pytest.mark.parametrize("kind", [Record, Named])
def test_fields_of_records_are_arguments_like_others(kind):
    def ones(*shape):
        return Tensor(np.ones(shape, np.float32))

    f = ms.jit(lambda p, x, y: (x @ p.w).sum() + y.sum())
    for n in (4, 5, 6):
        assert f(kind(ones(3, 2)), ones(n, 3), ones(2)).item() == 6 * n + 2
    assert f.cache_info()["compiles"] == 2
    assert "n: any size >= 0, from argument `x`, axis 0" in str(f.explain_recompiles()[1])
    with pytest.raises(
        ShapeError, match=r"6 is 2\*n, where n = 3 \(`x`, axis 1\); 3 is the size of `p.w` along axis 0"
    ):
        ms.jit(lambda p, x: ops.cat([x, x], 1) @ p.w)(kind(ones(3, 2)), ones(4, 3))
    source = ms.jit(lambda p, x: x @ p.w).lower(kind(ones(3, 2)), ones(4, 3)).source()
    assert "p.w" in str(source)
