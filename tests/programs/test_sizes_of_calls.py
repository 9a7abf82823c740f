"""Functions called with many sizes: compiled once for the first and once for all others, and right at each.

`compilations` counts both; where a row allows more, the program differs by size, and each form has its guards.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import CompileError, ShapeError
from autodiff_compiler.ir.sizes import evaluate
from tests.programs.compare import assert_close, assert_same, define
from tests.selection import is_long

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
    "deviations of few": ("return x.var(0, ddof=3) + x.std(0, ddof=2)", 2),
    "products": ("return (x.T @ x) @ x.T", 2),
    "scan": ("return ops.cumsum(x, 0)", 2),
    "flip": ("return ops.flip(x, (0,)) * x.flip(1)", 2),
    "sort": ("return ops.sort(x, 0)[0]", 2),
    "gather": ("return x[Tensor([0, 0])] if x.shape[0] else x", 3),
    "assignment": ("y = x * 1.0\n    y[:, 0] = 0.0\n    return y", 2),
    "loop": ("s = x.sum() * 0\n    for i in range(x.shape[0]):\n        s = s * 0.5 + x[i].sum()\n    return s", 3),
    "rows": ("s = x.sum(0) * 0\n    for r in x:\n        s = s * 0.5 + r\n    return s", 2),
    "while": ("i, s = 0, x.sum()\n    while i < x.shape[0]:\n        s, i = s * 0.5 + i, i + 1\n    return s", 2),
    "padded to a multiple": ("return ops.pad(x, (0, 0, 0, -x.shape[0] % 4)).reshape(-1, 4, 3).sum(1)", 2),
    "padded to a size": ("return ops.pad(x, (0, 0, 0, 9 - x.shape[0])) * ops.arange(9).reshape(-1, 1)", 2),
    "tiled by it": ("return ops.tile(x, (2, x.shape[0]))", 2),
    "one-hot rows": ("return ops.one_hot(ops.arange(x.shape[0]), x.shape[0]).astype(ms.float64) @ x", 2),
    "segments": ("return ops.unsorted_segment_sum(x, ops.arange(x.shape[0]) // 2, x.shape[0] // 2 + 1)", 2),
    "products of segments": ("return ops.unsorted_segment_sum(x, x.argmax(1), 3) * ops.size(x)", 2),
    "filled with it": ("return x + ops.full((x.shape[0], 1), x.shape[0], dtype=ms.float64)", 2),
    "numbers that fall": ("return x * ops.arange(x.shape[0], 0, -1).reshape(-1, 1)", 2),
    "running product": ("return ops.cumprod(x, 0)", 2),
    "sums of exponentials": ("return ops.logcumsumexp(x, 0)", 2),
    "later updates": ("return ops.tensor_scatter_elements(x * 2, ops.argsort(x, 0), x, 0)", 2),
    "sums of products": ("return ops.einsum('ij,kj,kl->il', x, x, x[:, :2])", 2),
    "diagonal of sums": ("return ops.einsum('ii->i', x @ x.T)", 2),
    "one of a list": ("return x * [1.0, 2.0, 3.0][x.shape[0] % 3]", 4),
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
{3: 2.0}.get(x.shape[0], 1.0)
{(3, 2): 2.0}.get(x.shape, 1.0)
{'3': 2.0}.get(str(x.shape[0]), 1.0)
{3: 2.0}.setdefault(x.shape[0], 4.0)
{3: 2.0}.pop(x.shape[0], 4.0)
dict([(x.shape[0], 1), (3, 2)])
dict(zip(x.shape, 'ab'))
""".strip().splitlines()


def program(body, arguments="x"):
    return define(f"def f({arguments}):\n    {body}\n", ops=ops, Tensor=Tensor)


def tensor(n):
    return Tensor(np.sin(np.arange(n * 3.0)).reshape(n, 3))


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


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
    check(fn, ms.jit(fn), most)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    body, most = ROWS[name]
    fn = program(body)

    def total(x):
        found = fn(x)
        found = found[0] if isinstance(found, tuple) else found
        return (found * found).sum() if isinstance(found, Tensor) else x.sum() * found

    check(ms.grad(total), ms.jit(ms.grad(total)), most + 1)


@pytest.mark.some(3)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    """What an expression gives with symbolic sizes is what it gives with known ones, at each size."""
    fn = define(f"def f(x):\n    return {expression}\n", ops=ops, Tensor=Tensor, math=math)
    opened, known = (ms.jit(fn, dynamic=d) for d in (True, False))
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
        compiled = ms.jit(transformed)
        for n in (2, 4, 3, 5):
            assert_same(compiled(tensor(n)), transformed(tensor(n)), f"n = {n}")
        assert compiled.cache_info()["compiles"] == 2


# ------------------------------------------------------------------------------------------------ which sizes are open
def test_sizes_that_change_together_are_one_until_they_differ():
    f = ms.jit(lambda x, y: x * y)
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
    compiled = ms.jit(f)
    for n, m in ((2, 5), (3, 4), (9, 2), (8, 3), (5, 5)):
        assert compiled(Tensor(np.ones(n)), Tensor(2 * np.ones(m))).item() == (n if n > 2 * m else 2 * m)
    texts = [str(g) for g in compiled.guards()]
    assert any("n > 2*m (read at" in t for t in texts), texts
    assert any("n <= 2*m (read at" in t for t in texts), texts
    assert compiled.cache_info()["compiles"] == 3


def test_dynamic_false_compiles_for_each_size_and_true_for_all_at_once():
    never, always = (ms.jit(lambda x: x * 2, dynamic=d) for d in (False, True))
    for n in (2, 3, 4):
        for f in (never, always):
            assert f(Tensor(np.ones((n, 7)))).sum().item() == 14 * n
    assert never.cache_info()["compiles"] == 3
    assert always.cache_info()["compiles"] == 1
    assert always.cache_info()["keys"][0]["call"] == "lambda(f64[n,m])"


def test_what_needs_known_sizes_is_compiled_for_each_and_says_why():
    f = program("return x.unbind(0)")
    compiled = ms.jit(f)
    for n in (2, 3, 4):
        assert_same(compiled(tensor(n)), f(tensor(n)), f"n = {n}")
    assert compiled.cache_info()["compiles"] == 3
    assert "n = 4, which must be known" in str(compiled.explain_recompiles()[-1])


def test_a_thousand_sizes_take_one_form_more():
    f = ms.jit(ms.value_and_grad(lambda x, w: ops.tanh(x @ w).sum(), 1))
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
        "long": lambda: (nn.LSTM(4, 3, 1 + is_long(), bidirectional=True), (3, 2, 4), 0),
    }[layer]()
    gradient = ms.value_and_grad(lambda x: (_first(net(x)) ** 2).sum())
    compiled = ms.jit(gradient)
    for n in (4, 2, 5, 3):
        x = Tensor(np.random.default_rng(n).standard_normal((*shape[:axis], n, *shape[axis + 1 :])).astype(np.float32))
        for a, b in zip(compiled(x), gradient(x), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=1e-5)
    assert compiled.cache_info()["compiles"] <= 2


#: layers of images, and how many compilations the sizes of one axis take: a stride of 2 has a program for each parity
IMAGES = {
    "same": (lambda: nn.Conv2d(2, 3, 3), 2),
    "same, by 2": (lambda: nn.Conv2d(2, 3, 3, stride=2), 3),
    "transposed": (lambda: nn.Conv2dTranspose(2, 3, 3, stride=2, pad_mode="pad", padding=1, output_padding=1), 2),
    "greatest": (lambda: nn.MaxPool2d(2, 2), 2),
    "greatest, padded": (lambda: nn.MaxPool2d(3, 2, "pad", 1, ceil_mode=True), 3),
    "greatest, then by 2": (lambda: nn.SequentialCell(nn.MaxPool2d(2, 2), nn.Conv2d(2, 3, 3, stride=2)), 5),
    "mean": (lambda: nn.AvgPool2d(3, 2), 2),
    "mean, same": (lambda: nn.AvgPool2d(2, 1, "same"), 2),
    "mean of what is met": (lambda: nn.AvgPool2d(3, 1, "pad", 1, count_include_pad=False), 2),
    "mean with a ceiling": (lambda: nn.AvgPool2d(3, 2, "pad", 1, ceil_mode=True), 3),
    "mean of all": (lambda: nn.AdaptiveAvgPool2d(1), 2),
    "greatest of all": (lambda: nn.AdaptiveMaxPool2d(1), 2),
    "means of rows": (lambda: nn.AdaptiveAvgPool2d((None, 1)), 2),
    "norm": (lambda: nn.LPPool2d(2, 2), 2),
    "shuffled": (lambda: nn.PixelShuffle(1), 2),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("axis", [2, 3])
@pytest.mark.parametrize("name", IMAGES)
def test_images_of_any_size(name, axis):
    make, most = IMAGES[name]
    net = make()

    def gradient(x):
        return ms.value_and_grad(
            lambda x: (net(x) ** 2 * ops.arange(net(x).shape[axis]).reshape(-1, *[1] * (3 - axis))).sum()
        )(x)

    compiled = ms.jit(gradient)
    for n in (6, 9, 8, 5, 7, 12, 3):
        shape = [2, 2, 7, 7]
        shape[axis] = n
        x = Tensor(np.random.default_rng(n).standard_normal(shape).astype(np.float32))
        for a, b in zip(compiled(x), gradient(x), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=1e-5)
    assert compiled.cache_info()["compiles"] <= most, compiled.explain_recompiles()


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_attributes_hold_sizes(dynamic):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rows, self.shape, self.calls = 0, None, {}

        def construct(self, x):
            y = x * self.rows if self.shape is None or self.shape[0] != x.shape[0] else x
            self.rows, self.shape = self.rows + x.shape[0], x.shape
            return y

    eager, compiled = Net(), Net()
    run = ms.jit(lambda x: compiled(x), dynamic=dynamic)
    for n in (3, 5, 5, 7, 0, 0, 1):
        assert_same(run(ones(n, 2)), eager(ones(n, 2)), f"n = {n}")
        assert (compiled.rows, compiled.shape) == (eager.rows, eager.shape)
        assert type(compiled.rows) is type(compiled.shape[0]) is int
    if dynamic is not False:
        assert run.cache_info()["compiles"] <= 3


def test_what_a_size_had_to_be_known_for_is_told():
    f = define(
        """
def f(x, y):
    x = ops.stack(x.unbind(0))
    return x.sum() * [1.0, 2.0][y.shape[0] % 2]
""",
        ops=ops,
    )
    compiled = ms.jit(f)
    for n, m in ((2, 5), (3, 4), (9, 2), (8, 3)):
        assert_same(compiled(Tensor(np.arange(n)), Tensor(np.ones(m))), f(Tensor(np.arange(n)), Tensor(np.ones(m))), "")
    told = str(compiled.explain_recompiles()[-1])
    assert "n = 8, which must be known; `for row in x` takes any number of rows (read at" in told
    assert "m % 2 = 1, which must be known (read at" in told
    assert "f(i64[8], f64[2*m_2+1])" in [k["call"] for k in compiled.cache_info()["keys"]]


def test_the_sizes_of_no_elements_are_not_negative():
    """A shape is refused at each size for which it is none, though the number of elements is right."""
    f = program("return x.reshape(1 - x.shape[0], -1).sum()")
    for fn in (f, ms.grad(f)):
        compiled = ms.jit(fn, dynamic=True)
        for n, m in ((0, 2), (0, 5), (3, 0), (2, 0), (0, 1), (4, 0)):
            expected, found = (outcome(g, Tensor(np.zeros((n, m)))) for g in (fn, compiled))
            if isinstance(expected, Exception):
                assert isinstance(found, ShapeError), (n, m, found)
            else:
                assert_same(found, expected, f"{n}, {m}")


def _first(found):
    return found[0] if isinstance(found, tuple) else found


def test_a_tape_takes_the_general_program():
    f = ms.jit(lambda x, w: ops.tanh(x @ w).sum())
    w = Tensor(np.ones((3, 2)))
    for n in SIZES:
        found, expected = (ms.grad(fn, (0, 1))(tensor(n), w) for fn in (f, f.__wrapped__))
        assert_same(found, expected, f"n = {n}")
    assert f.cache_info()["compiles"] == 2


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("name", ["sum", "mean", "loop", "product of sums"])
def test_a_tape_of_a_program_whose_derivative_reads_only_sizes(name, backend):
    """The derivative of a sum needs of its operand no more than the shape."""
    fn = program({
        "sum": "return (x * 2).sum()",
        "mean": "return ops.concat((x, x), 0).mean()",
        "loop": "while x.sum() < 50.0:\n        x = x * 2 + 10.0\n    return x.sum()",
        "product of sums": "return x.sum() * x.sum(0).sum()",
    }[name])  # fmt: skip
    f = ms.jit(fn, backend="" if backend == "auto" else backend)
    for n in (3, 5, 2, 1, 7):
        assert_close(ms.grad(f)(tensor(n)), ms.grad(fn)(tensor(n)), f"n = {n}", 1e-12)
    assert f.cache_info()["compiles"] == 2


def test_a_tape_of_a_program_whose_cotangent_has_a_product_of_sizes():
    fn = program("return w * x.reshape(-1)", "w, x")
    f = ms.jit(fn, backend="numpy")
    w = Tensor(2.0, ms.float64)
    for n, m in ((2, 3), (4, 5), (3, 3), (1, 0), (5, 2)):
        x = Tensor(np.arange(1.0 * n * m).reshape(n, m))
        assert_close(ms.grad(f)(w, x), Tensor(sum(range(n * m)), ms.float64), f"{n}, {m}", 1e-12)
    assert f.cache_info()["compiles"] == 2
