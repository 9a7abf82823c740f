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


#: Layers, the shapes of what they are called with, the operands that the error names, and more that it says.
LAYERS = {
    "steps": (lambda: nn.LSTM(4, 8), ((5, 2, 3),), "`x` is a Tensor f32[5,2,3]", "batch, 4], not [5, 2, 3]"),
    "rows": (lambda: nn.GRUCell(4, 8), ((2, 3), (2, 8)), "`x` is a Tensor f32[2,3]", "[batch, 4], not [2, 3]"),
    "states": (lambda: nn.GRUCell(4, 8), ((2, 4), (3, 8)), "`y` is a Tensor f32[3,8]", "of 2 and 3 do not fit"),
    "begin": (lambda: nn.GRU(4, 8), ((5, 2, 4), (1, 3, 8)), "`y` is a Tensor f32[1,3,8]", "hx must be [1, 2, 8]"),
    "norm": (lambda: nn.LayerNorm((4,)), ((5, 3),), "`x` is a Tensor f32[5,3]", "does not fit an input of [5, 3]"),
    "channels": (lambda: nn.BatchNorm1d(4), ((5, 3),), "`x` is a Tensor f32[5,3]", "make it `BatchNorm1d(3)`"),
    "features": (lambda: nn.MultiheadAttention(8, 2), ((5, 2, 8), (5, 2, 8), (5, 2, 6)), "`z` is a Tensor f32[5,2,6]",
                 "`value` of shape [2, 5, 6] does not end with 8 features"),
    "keys": (lambda: nn.MultiheadAttention(8, 2), ((5, 2, 8), (6, 2, 8), (7, 2, 8)), "`y` is a Tensor f32[6,2,8]",
             "key [2, 6, 8], value [2, 7, 8] do not fit"),
    "sides": (lambda: nn.Transformer(8, 2, 1, 1, 8), ((5, 2, 8), (5, 3, 8)), "`y` is a Tensor f32[5,3,8]",
              "are not of one batch"),
}  # fmt: skip


@pytest.mark.parametrize("layer", LAYERS)
def test_what_a_layer_does_not_take_is_named_with_its_line(layer):
    """Like eager mode's error, and in compiled code with the caret under the call and the operands."""
    make, shapes, operand, more = LAYERS[layer]
    net, args = make(), [ones(*shape) for shape in shapes]
    names = ", ".join("xyz"[: len(shapes)])
    f = define(f"def f({names}):\n    return net({names})\n", net=net)
    error = refusal(ms.jit(f), *args)
    text = str(error)
    assert operand in text
    assert more in text
    assert f"return net({names})" in text
    assert error.message == refusal(f, *args).message


@pytest.mark.parametrize("transformed", [ms.jacrev, ms.jacfwd, ms.vmap])
def test_a_size_of_data_in_a_result_is_refused_with_the_line_that_makes_it(transformed):
    f = define("def f(x):\n    near = x[x > 0]\n    return near * 2\n")
    with pytest.raises(ms.CompileError, match=r"(?s)AC1307.*:3:12 in f.*return near \* 2") as caught:
        ms.jit(transformed(f))(ones(3, 2) if transformed is ms.vmap else ones(3))
    assert caught.value.code == "AC1307"


@pytest.mark.parametrize("make", [ops.zeros, ops.ones, lambda n: ops.full(n, 2.0), lambda n: ops.zeros((n, 2))])
def test_a_tensor_is_a_size_in_every_mode(make):
    for given, size in ((Tensor(3), 3), (Tensor(0), 0), (np.int32(2), 2), (np.array(2), 2)):
        assert make(given).shape[0] == ms.jit(make)(given).shape[0] == size
    with pytest.raises(TypeError, match="`shape` must be an int"):
        make(Tensor(3.0))


def test_a_shape_without_none_describes_inputs():
    net = nn.ReLU()
    net.set_inputs(Tensor(shape=[4, 2], dtype=ms.float32))
    ms.set_context(mode=ms.GRAPH_MODE)
    assert net(ones(4, 2)).shape == (4, 2)
    with pytest.raises(ValueError, match=r"has the shape \[5, 2\], but is described as \[4, 2\]"):
        net(ones(5, 2))
    with pytest.raises(ValueError, match="has no elements"):
        net.get_inputs()[0] + 1


def test_orders_of_any_number_of_elements():
    f = ms.jit(lambda x: ops.randperm(x.shape[0]))
    for n in (4, 7, 0, 30):
        assert sorted(f(ones(n)).tolist()) == list(range(n))
    assert f.cache_info()["compiles"] == 2
