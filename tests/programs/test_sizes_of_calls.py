"""Functions called with many sizes: compiled once for the first and once for all others, and right at each.

`compilations` counts both; where a row allows more, the program differs by size, and each form has its guards.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.sizes import evaluate
from tests.programs.compare import assert_close, assert_same, define

SIZES = (3, 5, 7, 2, 6, 1, 0, 9)

#: The body of a function of x [n, 3], and how many compilations its calls take.
ROWS = {
    "arithmetic": ("return x * x.shape[0] + x.shape[0] // 2", 2),
    "unpacked": ("n, m = x.shape\n    return x * n + m", 2),
    "length and size": ("return x * len(x) + x.size", 2),
    "remainder": ("q, r = divmod(x.shape[0], 2)\n    return x * q + r", 2),
    "mean by hand": ("return x.sum() / x.shape[0]", 3),  # 0: Python divides by it
    "root": ("return x / (1 + x.shape[0]) ** 0.5", 2),
    "function of math": ("import math\n    return x / math.sqrt(x.shape[0] + 1)", 2),
    "float": ("return x * float(x.shape[0])", 2),
    "number returned": ("return x.shape[0] * 2, x.shape", 2),
    "text": ("assert x.shape[0] < 9, f'{x.shape[0]:>3} rows'\n    return x", 3),
    "Tensor of it": ("return x * Tensor(x.shape[0])", 2),
    "is an int": ("return x * 2 if isinstance(x.shape[0], int) else x", 2),
    "least": ("return x * min(x.shape[0], 4)", 3),
    "condition": ("if x.shape[0] > 4:\n        return x * 2\n    return x - 1", 3),
    "parity": ("if x.shape[0] % 2 == 0:\n        return x.reshape(-1, 2, 3).sum(1)\n    return x.sum(1)", 3),
    "reshape": ("return x.reshape(x.shape[0], -1).reshape(-1).reshape(x.shape) * x", 3),  # 0: -1 is any size
    "zeros": ("return ops.zeros((x.shape[0], 2), ms.float64) + x[:, :2]", 2),
    "range of numbers": ("return ops.arange(x.shape[0]).reshape(-1, 1) * x", 2),
    "identity matrix": ("return ops.eye(x.shape[0]) + x @ x.T", 2),
    "broadcast": ("return x + ops.ones((x.shape[0], 1), ms.float64)", 2),
    "broadcast_to": ("return ops.broadcast_to(x.sum(), x.shape)", 2),
    "slice": ("return x[1:] - x[:-1]", 3),
    "half": ("return x[: x.shape[0] // 2] * 2", 3),
    "reversed": ("return x[::-1] * 1.0", 2),
    "every other": ("return x[::2] * 1.0", 2),
    "last": ("return x[-1]", 3),
    "concat": ("return ops.concat((x, x * 2), 0)", 2),
    "stack": ("return ops.stack((x, x * 2), 0)", 2),
    "pad": ("return ops.pad(x, (0, 0, 1, 2))", 2),
    "tile": ("return ops.tile(x, (2, 1))", 2),
    "softmax": ("return ops.softmax(x, 0)", 3),
    "moments": ("return x.mean(1) + x.std(1)", 2),
    "products": ("return (x.T @ x) @ x.T", 2),
    "scan": ("return ops.cumsum(x, 0)", 2),
    "flip": ("return ops.flip(x, (0,)) * x.flip(1)", 2),
    "sort": ("return ops.sort(x, 0)[0]", 2),
    "gather": ("return x[Tensor([0, 0])] if x.shape[0] else x", 3),
    "assignment": ("y = x * 1.0\n    y[:, 0] = 0.0\n    return y", 2),
    "loop": ("s = x.sum() * 0\n    for i in range(x.shape[0]):\n        s = s * 0.5 + x[i].sum()\n    return s", 3),
    "rows": ("s = x.sum(0) * 0\n    for r in x:\n        s = s * 0.5 + r\n    return s", 2),
    "while": ("i, s = 0, x.sum()\n    while i < x.shape[0]:\n        s, i = s * 0.5 + i, i + 1\n    return s", 2),
    "attention": ("q = x @ x.T / 3**0.5\n    return ops.softmax(q, -1) @ x", 3),
}


#: Expressions of x [n, 2]; some need known sizes, and are compiled for each.
EXPRESSIONS = """
x.shape
f"{x.shape}"
str(x.shape[0])
"%d %s" % (x.shape[0], x.shape)
repr(x.shape)
"{}".format(x.shape)
x.size
{x.shape[0]: 1}
len({x.shape[0], 2})
[1,2,3,4,5,6][x.shape[0]]
(1,2)*x.shape[0]
[0]*x.shape[0]
x.shape[0] in (3,4)
x.shape == (3,2)
sorted([x.shape[0], 2, 9])
sum(x.shape)
math.prod(x.shape)
int(np.prod(x.shape))
x.shape[::-1]
x.shape[0] & 1
x.shape[0] << 1
list(range(x.shape[0]))
[i for i in range(x.shape[0])]
abs(-x.shape[0])
~x.shape[0]
round(x.shape[0])
bool(x.shape[0])
float(x.shape[0])
max(x.shape)
min(1, x.shape[0])
pow(x.shape[0],2)
x.shape[0]**3
2**x.shape[0]
x.shape[0] is None
x.shape[0] == 'a'
x.shape[0] != None
type(x.shape[0]) is int
isinstance(x.shape, tuple)
x.shape[0].bit_length()
x.shape[0] / 2
2 / x.shape[0]
x.shape[0] // 2.5
7 // x.shape[0]
7 % x.shape[0]
-7 // x.shape[0]
x.shape[0] * 1.5
x.shape[0] + True
x.shape[0] == 3.0
x.shape[0] > 2.5
not x.shape[0]
x.shape[0] and 5
x.shape[0] or 5
(1 if x.shape[0] else 2)
x.shape[0] - x.shape[1]
x.shape[0] if x.shape[0] > x.shape[1] else 0
(x.shape[0], x.shape[1]) == (3, 2)
x.shape[0] == x.shape[0]
x.shape[0] < x.shape[0] + 1
len(x)
x.ndim
x.nbytes
x.numel()
list(x.shape)
dict(a=x.shape[0])
x.reshape((x.shape[1], x.shape[0]))
x.reshape(-1, x.shape[0])
ops.full((x.shape[0],), x.shape[0])
ops.ones(x.shape)
Tensor([x.shape[0], 2])
Tensor(x.shape)
ops.arange(1, x.shape[0], 2)
ops.arange(x.shape[0], 0, -1)
ops.linspace(0.0, 1.0, x.shape[0])
ops.one_hot(Tensor([1]), x.shape[0], Tensor(1.0), Tensor(0.0))
x[x.shape[0] - 1]
x[-x.shape[0]]
x[x.shape[0] // 2:]
x[:, : x.shape[1] - 1]
ops.tile(x, (x.shape[0], 1))
ops.broadcast_to(x[0], (x.shape[0], 2))
x.expand(x.shape[0], 2)
ops.pad(x, (0, x.shape[0]))
ops.concat([x] * 2)
ops.stack([x, x], 1)
x.repeat(x.shape[0], 0)
ops.roll(x, x.shape[0] - 1, 0)
ops.narrow(x, 0, 1, x.shape[0] - 1)
ops.split(x, 1)
ops.chunk(x, 2)
ops.topk(x, x.shape[0] - 1, 0)
ops.cumsum(x, 0) / x.shape[0]
divmod(x.shape[0], 2)
divmod(7, x.shape[0])
math.floor(x.shape[0] / 2)
math.ceil(x.shape[0] / 2)
math.log2(x.shape[0])
math.gcd(x.shape[0], 4)
math.isqrt(x.shape[0])
math.comb(x.shape[0], 2)
math.factorial(x.shape[0])
int(x.shape[0] * 0.5)
tuple(reversed(x.shape))
[*zip(x.shape, (1, 2))]
any(d > 3 for d in x.shape)
all(d > 1 for d in x.shape)
x.shape.index(2)
x.shape.count(2)
x.shape + (1,)
x.shape[:1] + (5,)
ops.ones(x.shape[:1] + (2,))
x.sum(tuple(range(x.ndim)))
ops.zeros_like(x).shape[0]
(x @ x.T).shape
(lambda k: k * 2)(x.shape[0])
f'{x.shape[0]!r:>5}'
f'{x.shape[0]:.2f}'
str(x.shape[0] / 2)
ops.eye(x.shape[0], 2)
ops.tril(ops.ones((x.shape[0], x.shape[0])))
ops.unsorted_segment_sum(x, ops.arange(x.shape[0]), x.shape[0])
ops.dropout(x, 0.5, training=False)
ops.interpolate(x.reshape(1, 1, -1), size=x.shape[0], mode='nearest')
ops.unfold(x.reshape(1, 1, x.shape[0], 2), 2)
x.T.shape
x.swapaxes(0, 1)
x.flatten().shape
ops.meshgrid(x[:, 0], x[0])
ops.outer(x[:, 0], x[:, 1])
ops.cdist(x, x)
ops.unique(x)[0].shape
x.max(), x.argmax(0)
ops.randperm(x.shape[0]).shape
ops.multinomial(ops.ones((x.shape[0],)), 1).shape
""".strip().splitlines()


def program(body):
    return define(f"def f(x):\n    {body}\n", ops=ops, Tensor=Tensor)


def tensor(n):
    return Tensor(np.sin(np.arange(n * 3.0)).reshape(n, 3))


def outcome(fn, x):
    try:
        return fn(x)
    except Exception as error:
        return error


def check_types(compiled, x):
    """What the types of a symbolic program's results say of their sizes is so."""
    for entry in (e for entries in compiled._entries.values() for e in entries if e.sizes is not None):
        values = entry.sizes.of([x.shape])
        if values is not None and not entry.states_read:
            types = [v.type for v in entry.lowered.module.entry.outs]
            found = [result.shape for result in entry.program([x])]
            assert found == [tuple([evaluate(d, values) for d in t.shape]) for t in types]


def check(fn, compiled, most):
    for n in SIZES:
        expected, found = outcome(fn, tensor(n)), outcome(compiled, tensor(n))
        if isinstance(expected, Exception):
            assert type(found) is type(expected), (n, found)
        else:
            assert_close(found, expected, f"n = {n}", 1e-12)
            check_types(compiled, tensor(n))
    assert compiled.cache_info()["compiles"] <= most, compiled.explain_recompiles()


@pytest.mark.parametrize("name", ROWS)
def test_values(name):
    body, most = ROWS[name]
    fn = program(body)
    check(fn, ms.jit(fn, backend="numpy"), most)


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    body, most = ROWS[name]
    fn = program(body)

    def total(x):
        found = fn(x)
        found = found[0] if isinstance(found, tuple) else found
        return (found * found).sum() if isinstance(found, Tensor) else x.sum() * found

    check(ms.grad(total), ms.jit(ms.grad(total), backend="numpy"), most + 1)


@pytest.mark.some(3)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    """What an expression gives with symbolic sizes is what it gives with known ones, at each size."""
    fn = define(f"def f(x):\n    return {expression}\n", ops=ops, Tensor=Tensor, math=math)
    opened, known = (ms.jit(fn, dynamic=d, backend="numpy") for d in (True, False))
    for n in (3, 4, 2, 5, 1, 0):
        found, expected = (told(f, Tensor(np.sin(np.arange(2.0 * n)).reshape(n, 2))) for f in (opened, known))
        assert found == expected, n
        if isinstance(found, str):
            check_types(opened, Tensor(np.sin(np.arange(2.0 * n)).reshape(n, 2)))


def told(fn, x):
    """The text of what a call gives, or its error and the first line of that."""
    ms.set_seed(1)
    found = outcome(fn, x)
    return (type(found), str(found).partition("\n")[0]) if isinstance(found, Exception) else repr(found)


def test_second_derivatives_and_batches():
    def energy(x):
        return (ops.tanh(x) @ ops.ones((3, 2), ms.float64)).sum() ** 2

    for transformed in (ms.hessian(energy), ms.jacrev(ms.jacfwd(ops.tanh)), ms.vmap(lambda r: ops.tanh(r) * r.sum())):
        compiled = ms.jit(transformed, backend="numpy")
        for n in (2, 4, 3, 5):
            assert_same(compiled(tensor(n)), transformed(tensor(n)), f"n = {n}")
        assert compiled.cache_info()["compiles"] == 2


# ------------------------------------------------------------------------------------------------ which sizes are open
def test_sizes_that_change_together_are_one_until_they_differ():
    f = ms.jit(lambda x, y: x * y, backend="numpy")
    for n in (2, 3, 4):
        f(Tensor(np.ones(n)), Tensor(np.ones(n)))
    assert [str(g) for g in f.guards() if "any size" in str(g)] == [
        "compilation 2, lambda(f64[n], f64[n]): n: any size >= 0, from argument `x`, axis 0"
    ]
    assert f(Tensor(np.ones(5)), Tensor(np.ones(1))).shape == (5,)
    assert f.cache_info()["compiles"] == 3
    with pytest.raises(CompileError, match="5 != 4"):
        f(Tensor(np.ones(5)), Tensor(np.ones(4)))


def test_guards_say_the_relation_and_its_line():
    f = define("""
def f(x, y):
    if x.shape[0] > 2 * y.shape[0]:
        return x.sum()
    return y.sum()
""")
    compiled = ms.jit(f, backend="numpy")
    for n, m in ((2, 5), (3, 4), (9, 2), (8, 3), (5, 5)):
        assert compiled(Tensor(np.ones(n)), Tensor(2 * np.ones(m))).item() == (n if n > 2 * m else 2 * m)
    texts = [str(g) for g in compiled.guards()]
    assert any("n > 2*m (read at" in t for t in texts), texts
    assert any("n <= 2*m (read at" in t for t in texts), texts
    assert compiled.cache_info()["compiles"] == 3


def test_dynamic_false_compiles_for_each_size_and_true_for_all_at_once():
    never, always = (ms.jit(lambda x: x * 2, dynamic=d, backend="numpy") for d in (False, True))
    for n in (2, 3, 4):
        for f in (never, always):
            assert f(Tensor(np.ones((n, 7)))).sum().item() == 14 * n
    assert never.cache_info()["compiles"] == 3
    assert always.cache_info()["compiles"] == 1
    assert always.cache_info()["keys"][0]["call"] == "lambda(f64[n,m])"


def test_what_needs_known_sizes_is_compiled_for_each_and_says_why():
    f = program("return ops.stack([r * 2 for r in x]).sum()")
    compiled = ms.jit(f, backend="numpy")
    for n in (2, 3, 4):
        assert_same(compiled(tensor(n)), f(tensor(n)), f"n = {n}")
    assert compiled.cache_info()["compiles"] == 3


def test_a_thousand_sizes_take_one_form_more():
    f = ms.jit(ms.value_and_grad(lambda x, w: ops.tanh(x @ w).sum(), 1), backend="numpy")
    w = Tensor(np.ones((3, 2)))
    for n in range(1, 1001):
        f(tensor(n), w)
    assert f.cache_info()["compiles"] == 2
    assert f.cache_info()["entries"] == 2


@pytest.mark.parametrize("layer", ["norm", "batch norm", "conv", "attention", "recurrent", "long"])
def test_layers_and_their_gradients(layer):
    net, shape, axis = {
        "norm": lambda: (nn.LayerNorm([4]), (3, 4), 0),
        "batch norm": lambda: (nn.BatchNorm1d(4), (3, 4), 0),
        "conv": lambda: (nn.Conv2d(3, 2, 3), (2, 3, 6, 6), 0),
        "attention": lambda: (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (3, 2, 4), 0),
        "recurrent": lambda: (nn.GRU(4, 3), (3, 2, 4), 1),
        "long": lambda: (nn.LSTM(4, 3, 2, bidirectional=True), (3, 2, 4), 0),
    }[layer]()
    gradient = ms.value_and_grad(lambda x: (_first(net(x)) ** 2).sum())
    compiled = ms.jit(gradient, backend="numpy")
    for n in (4, 2, 5, 3):
        x = Tensor(np.random.default_rng(n).standard_normal((*shape[:axis], n, *shape[axis + 1 :])).astype(np.float32))
        for a, b in zip(compiled(x), gradient(x), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=1e-5)
    assert compiled.cache_info()["compiles"] <= 2


def _first(found):
    return found[0] if isinstance(found, tuple) else found


def test_a_tape_takes_the_general_program():
    f = ms.jit(lambda x, w: ops.tanh(x @ w).sum(), backend="numpy")
    w = Tensor(np.ones((3, 2)))
    for n in SIZES:
        found, expected = (ms.grad(fn, (0, 1))(tensor(n), w) for fn in (f, f.__wrapped__))
        assert_same(found, expected, f"n = {n}")
    assert f.cache_info()["compiles"] == 2


# ------------------------------------------------------------------------------------------------ described sizes
def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def open_tensor(*shape):
    return Tensor(shape=shape, dtype=ms.float32)


def test_a_cell_with_described_inputs_is_compiled_once():
    net = nn.Dense(4, 2)
    net.set_inputs(open_tensor(None, 4))
    compiled = ms.jit(net)
    for n in (2, 3, 0):
        assert_close(compiled(ones(n, 4)), net(ones(n, 4)), f"n = {n}", 1e-6)
    assert compiled.cache_info()["keys"] == [{"call": "Dense(f32[n,4])", "hits": 2, "valid": True}]
    with pytest.raises(ValueError, match=r"`x` has the shape \[3, 5\], but is described as \[None, 4\]"):
        compiled(ones(3, 5))


def test_a_symbol_says_what_is_known_of_a_size():
    s = ms.Symbol(divisor=8, remainder=1, max=40, unique=True)

    @ms.jit
    @ms.enable_dynamic(x=open_tensor(s, 2), y=open_tensor(s))
    def f(x, y):
        return (x[1:].reshape(x.shape[0] // 8, 8, 2).sum(1) * y[0]).sum()

    for n in (9, 17, 33):
        assert f(ones(n, 2), ones(n)).item() == 2 * (n - 1)
    (form,) = f.cache_info()["keys"]
    assert form["call"] == "f(f32[8*n+1,2], f32[8*n+1])"
    assert str(f.guards()[0]) == "n: any size >= 0 and <= 4, from argument `x`, axis 0, of which 8*n+1 is the size"
    for n in (8, 41):
        with pytest.raises(ValueError, match="described as"):
            f(ones(n, 2), ones(n))
    with pytest.raises(ValueError, match="was 9 before"):
        f(ones(9, 2), ones(17))


def test_an_input_signature_may_have_open_sizes():
    f = ms.jit(lambda x: x.sum(0), input_signature=open_tensor(None, 2))
    for n in (4, 2, 9):
        assert f(ones(n, 2)).tolist() == [n, n]
    assert f.cache_info()["compiles"] == 1
    with pytest.raises(ValueError, match="described as"):
        f(ones(2, 3))
    with pytest.raises(TypeError, match="int64"):
        f(Tensor([[1, 2]]))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"min": 0}, ValueError, "at least 1"),
        ({"max": 2, "min": 3}, ValueError, "at least 3 and at most 2"),
        ({"divisor": 1.5}, TypeError, "int, not of type float"),
        ({"unique": 1}, TypeError, "bool"),
    ],
)
def test_symbols_that_cannot_be(arguments, error, match):
    with pytest.raises(error, match=match):
        ms.Symbol(**arguments)


def test_the_setting_holds_where_jit_does_not_say():
    f, always = ms.jit(lambda x: x * 2), ms.jit(lambda x: x * 2, dynamic=True)
    ms.set_context(dynamic_shapes=False)
    try:
        for n in (2, 3, 4):
            f(ones(n))
            always(ones(n))
    finally:
        ms.set_context(dynamic_shapes=None)
    assert (f.cache_info()["compiles"], always.cache_info()["compiles"]) == (3, 1)
    with pytest.raises(ValueError, match="dynamic_shapes is None, True or False"):
        ms.set_context(dynamic_shapes="auto")


# ------------------------------------------------------------------------------------------------ which program runs
@pytest.mark.skipif(ms.config.backends["native"]() is not None, reason="no machine code here")
def test_a_size_that_comes_often_gets_a_program_of_its_own():
    f = ms.jit(lambda x: ops.tanh(x) * x.shape[0], backend="auto")
    for n in (2, 3, *[5] * 20, 4):
        assert_close(f(ones(n)), np.tanh(np.ones(n, np.float32)) * n, f"n = {n}", 1e-6)
    assert [k["call"] for k in f.cache_info()["keys"]].count("lambda(f32[5])") == 1
    assert f.cache_info()["compiles"] == 3


def test_all_that_is_shown_of_a_compilation_has_its_symbols():
    def loss(w, x):
        return (ops.tanh(x @ w) ** 2).sum() / x.shape[0]

    for backend in ("auto", "numpy"):
        f = ms.jit(ms.value_and_grad(loss), backend=backend)
        for n in (2, 3, 4):
            f(ones(4, 3), ones(n, 4))
        shown = f.lower(ones(4, 3), ones(5, 4))
        for stage in ("front", "adjoint", "opt", "plan"):
            assert "f32[n,4]" in str(shown.ir(stage))
        for text in (shown.code(), shown.explain(), shown.cost(), shown.memory(), shown.timing(), shown.graph()):
            assert str(text)
        assert "n: any size >= 0, from argument `x`, axis 0" in str(shown.explain())
        run = f.source().function
        value, gradient = run(np.ones((4, 3), np.float32), np.ones((7, 4), np.float32))
        expected = ms.value_and_grad(loss)(ones(4, 3), ones(7, 4))
        np.testing.assert_allclose(value, expected[0].asnumpy(), rtol=1e-6)
        np.testing.assert_allclose(gradient, expected[1].asnumpy(), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*AC2003")  # the gradient of nothing is 0
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_sequences_of_any_length_and_of_none(kind) -> None:
    """One compilation for all: of no steps the states are as they were, eagerly, too."""
    net = kind(3, 4)
    params = net.trainable_params()

    def f(x):
        out, end = net(x)
        return (out * out).sum() + (end[0] if isinstance(end, tuple) else end).sum(), out

    for dynamic in (None, True, False):
        compiled = ms.jit(ms.value_and_grad(f, 0, params, has_aux=True), dynamic=dynamic, backend="numpy")
        for n in (12, 0, 1, 30, 9):
            x = Tensor(np.random.default_rng(n).standard_normal((n, 2, 3)).astype(np.float32))
            expected = ms.value_and_grad(f, 0, params, has_aux=True)(x)
            assert expected[0][1].shape == (n, 2, 4)
            assert_close(compiled(x), expected, n, 1e-5)
        assert compiled.cache_info()["compiles"] <= (5 if dynamic is False else 3)


def test_rows_beside_numbers_and_other_rows_are_read_as_sequences() -> None:
    """`zip` and `enumerate` of Tensors with one symbolic size: the derivative collects rows, and adds to no array."""

    def f(x, y):
        s = x[0] * 0.0
        for i, (a, b) in enumerate(zip(x, y)):
            s = ops.tanh(s + a * b) * (i % 3 + 1)
        return s.sum()

    compiled = ms.jit(ms.value_and_grad(f, (0, 1)), backend="numpy")
    for n in (9, 12, 30, 1):
        x, y = (Tensor(np.random.default_rng(n + k).standard_normal((n, 3))) for k in range(2))
        assert_close(compiled(x, y), ms.value_and_grad(f, (0, 1))(x, y), n, 1e-9)
    assert compiled.cache_info()["compiles"] == 2
    text = compiled.lower(x, y).ir("opt")
    assert "scatter_add" not in text
    assert "from_seq" in text
