"""Programs in the style of a tutorial of static graphs: Cells and functions written as plain Python, in both modes."""

from __future__ import annotations

import contextlib
import io

import pytest

import autodiff_compiler as ms

from .compare import assert_close, define, is_float, leaves, structure

HEAD = """
import math
from collections import namedtuple
import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler import jit as ms_function

"""
# The source of a function `make()` that gives a callable and its arguments.
PROGRAMS = {
    "layers of a CellList": """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Dense(4, 4, weight_init="ones", bias_init="zeros") for _ in range(3)])
        self.scales = (0.1, 0.2, 0.3)

    def construct(self, x):
        outputs = []
        for i in range(3):
            x = self.layers[i](x) * self.scales[i]
            outputs.append(x)
        for layer in self.layers:
            x = ops.relu(layer(x))
        return x, outputs[-1], len(outputs)

def make():
    return Net(), [Tensor([[1.0, -2.0, 3.0, 0.5]])]
""",
    "SequentialCell and a choice by configuration": """
class Head(nn.Cell):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.body = nn.SequentialCell(nn.Dense(3, 5, weight_init="ones"), nn.ReLU(), nn.Dense(5, 2, weight_init="ones"))

    def construct(self, x):
        y = self.body(x)
        if self.kind == "softmax":
            return ops.softmax(y, -1)
        elif self.kind == "tanh":
            return ops.tanh(y)
        raise ValueError(f"unknown kind {self.kind}")

def make():
    return Head("tanh"), [Tensor([[0.1, -0.2, 0.3]])]
""",
    "while on a Tensor": """
class Newton(nn.Cell):
    def __init__(self):
        super().__init__()
        self.tol = 1e-4

    def construct(self, a):
        x = a
        steps = 0
        while ops.abs(x * x - a) > self.tol:
            x = 0.5 * (x + a / x)
            steps = steps + 1
        return x, steps

def make():
    return Newton(), [Tensor(7.0)]
""",
    "control flow nested in control flow": """
@ms_function
def collatz_like(x, limit):
    total = Tensor(0.0)
    while x.sum() < limit:
        for i in range(3):
            if x[i] > 1.0:
                x = x * 1.5
            elif x[i] < 0.2:
                continue
            else:
                x = x + 0.25
            total += x[i]
        if total > 100.0:
            break
    return x, total

def make():
    return collatz_like, [Tensor([0.1, 0.9, 1.4]), Tensor(20.0)]
""",
    "lists, tuples and dicts": """
def mix(x, y):
    items = [x, y]
    items.insert(1, x + y)
    items.extend([x * y, x - y])
    last = items.pop()
    table = {"first": items[0], "rest": tuple(items[1:])}
    table["last"] = last
    total = ops.zeros_like(x)
    for name, value in table.items():
        if isinstance(value, tuple):
            for v in value:
                total = total + v
        else:
            total = total + value * len(name)
    return total, list(table.keys()), table

def make():
    return mix, [Tensor([1.0, 2.0]), Tensor([3.0, -4.0])]
""",
    "enumerate, zip, comprehensions": """
def weighted(x, y):
    weights = [0.5, 1.5, 2.5]
    parts = [w * v for w, v in zip(weights, x)]
    picked = {f"row_{i}": p for i, p in enumerate(parts) if i != 1}
    mask = [v.shape[0] == 2 for v in parts]
    s = sum(parts) + sum(picked.values())
    return s, all(mask), any(mask), max(weights), picked["row_2"] @ y

def make():
    return weighted, [Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Tensor([1.0, -1.0])]
""",
    "several returns and defaults": """
def clipped(x, low=-1.0, high=1.0, *, mode="hard"):
    if mode == "none":
        return x
    if x.max() <= high and x.min() >= low:
        return x
    if mode == "hard":
        return ops.clamp(x, low, high)
    return low + (high - low) * ops.sigmoid(x)

def run(x):
    return clipped(x), clipped(x, high=0.5), clipped(x, -2.0, 3.0, mode="soft"), clipped(x, mode="none")

def make():
    return run, [Tensor([-3.0, 0.2, 4.0])]
""",
    "star arguments": """
def join(*xs, sep=None, **named):
    out = xs[0]
    for x in xs[1:]:
        out = out + x if sep is None else out + sep + x
    for key in sorted(named):
        out = out * named[key]
    return out

def run(x, y):
    pair = (x, y)
    options = {"a": x, "b": 2}
    return join(*pair), join(*pair, sep=1.0), join(x, *pair, **options)

def make():
    return run, [Tensor([1.0, 2.0]), Tensor([0.5, 0.25])]
""",
    "NamedTuple as state": """
State = namedtuple("State", ["position", "speed", "steps"])

def step(state, force, dt=0.1):
    speed = state.speed + force * dt
    return State(state.position + speed * dt, speed, state.steps + 1)

def simulate(x, v):
    state = State(x, v, 0)
    for _ in range(12):
        state = step(state, -state.position)
    return state

def make():
    return simulate, [Tensor([1.0, 0.0]), Tensor([0.0, 1.0])]
""",
    "element assignment": """
def prefix(x):
    out = ops.zeros_like(x)
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] + x[i]
    out[-1] *= 2.0
    return out

def make():
    return prefix, [Tensor([1.0, 2.0, 3.0, 4.0])]
""",
    "Parameters updated in construct": """
class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0.0), name="count")
        self.mean = Parameter(Tensor([0.0, 0.0]), name="mean", requires_grad=False)

    def construct(self, x):
        self.count += 1.0
        self.mean = self.mean * 0.9 + x * 0.1
        if self.count > 1.0:
            ops.assign(self.mean, self.mean + 1.0)
        return self.mean * x + self.count

def make():
    net = Counter()
    return lambda x: (net(x), net(x)), [Tensor([1.0, 2.0])]
""",
    "printing": """
def noisy(x, n):
    print("shape is", x.shape, "and n is", n)
    for i in range(n):
        x = x + i
        if x.sum() > 4.0:
            print(f"trip {i}: large")
    print("done", sep="", end="!\\n")
    return x

def make():
    return noisy, [Tensor([1.0, 2.0]), 3]
""",
    "closures and higher-order functions": """
def power(n):
    def apply(v):
        r = v
        for _ in range(n - 1):
            r = r * v
        return r
    return apply

def run(x):
    fs = [power(n) for n in (1, 2, 3)]
    compose = lambda f, g: lambda v: f(g(v))
    total = compose(fs[1], fs[2])(x)
    return sum(f(x) for f in fs) + total, list(map(lambda f: f(x), fs[:2]))

def make():
    return run, [Tensor([0.5, 1.5])]
""",
    "inheritance and super": """
class Base(nn.Cell):
    rate = 0.5

    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def scale(self, x):
        return x * self.rate

    @property
    def shift(self):
        return self.bias + 1.0

    def construct(self, x):
        return self.scale(x) + self.shift

class Derived(Base):
    rate = 2.0

    def scale(self, x):
        return super().scale(x) - 1.0

    def construct(self, x):
        return super().construct(x) * 3.0

def make():
    return Derived(0.25), [Tensor([1.0, -1.0])]
""",
    "isinstance, hasattr, getattr": """
def describe(x, *rest):
    out = x
    for r in rest:
        if isinstance(r, Tensor):
            out = out + r
        elif isinstance(r, (int, float)) and not isinstance(r, bool):
            out = out * r
        elif isinstance(r, (list, tuple)):
            out = out + len(r)
        elif r is None:
            continue
    reduce = getattr(out, "mean" if hasattr(out, "mean") else "sum")
    return out, reduce(), type(out) == Tensor, callable(describe)

def run(x, y):
    return describe(x, y, 3, None, (1, 2), 0.5, [])

def make():
    return run, [Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]
""",
    "slices and steps": """
def windows(x):
    size, stride = 2, 1
    rows = [x[i : i + size] for i in range(0, len(x) - size + 1, stride)]
    stacked = ops.stack(rows)
    return stacked[:, 0] - stacked[:, -1], stacked[::-1][0], x[..., None].shape, x[1:-1].sum()

def make():
    return windows, [Tensor([1.0, 4.0, 9.0, 16.0])]
""",
    "math on shapes": """
def attention(q, k, v):
    d = q.shape[-1]
    scores = ops.matmul(q, k.T) / math.sqrt(d)
    if q.shape[0] == k.shape[0] and d % 2 == 0:
        scores = scores + ops.ones_like(scores) * -0.5
    weights = ops.softmax(scores, axis=-1)
    assert weights.ndim == 2, "weights must be a matrix"
    return ops.matmul(weights, v), weights.sum(-1)

def make():
    a = Tensor([[0.1, 0.2], [0.3, -0.4]])
    return attention, [a, a + 1.0, a * 2.0]
""",
    "recursion over a tree": """
def evaluate(tree, x):
    if isinstance(tree, str):
        return x[tree]
    op, left, right = tree
    a, b = evaluate(left, x), evaluate(right, x)
    if op == "+":
        return a + b
    if op == "*":
        return a * b
    return a - b

def run(u, w):
    return evaluate(("-", ("*", "u", ("+", "u", "w")), "w"), {"u": u, "w": w})

def make():
    return run, [Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]
""",
    "break, continue, else": """
def search(x, target):
    found = -1
    for i in range(4):
        if x[i] < 0:
            continue
        if x[i] > target:
            found = i
            break
    else:
        x = x * 10.0
    return x, found

def make():
    return lambda x, a, b: (search(x, a), search(x, b)), [Tensor([-1.0, 0.5, 2.0, 3.0]), Tensor(1.0), Tensor(9.0)]
""",
    "conditional expressions": """
def piecewise(x):
    y = x if x.sum() > 0 else -x
    z = y.mean() if y.mean() > 1 and y.max() < 10 else y.sum() * 0.5
    flag = bool(z > 1)
    k = (n := x.shape[0]) * 2
    return y * z, "big" if n > 1 else "small", flag or None is None, k

def make():
    return piecewise, [Tensor([1.5, -0.5, 2.0])]
""",
    "a training step": """
class Linear(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([[0.5], [-0.25]]), name="w")
        self.b = Parameter(Tensor([0.1]), name="b")

    def construct(self, x):
        return ops.matmul(x, self.w) + self.b

def make():
    net = Linear()
    optimizer = nn.SGD(net.trainable_params(), 0.1)

    def loss(x, y):
        return ((net(x) - y) ** 2).mean()

    step = ms.value_and_grad(loss, None, optimizer.parameters)

    def train(x, y):
        losses = []
        for epoch in range(3):
            value, grads = step(x, y)
            optimizer(grads)
            losses.append(value)
        return losses, [p.copy() for p in net.trainable_params()]

    return train, [Tensor([[1.0, 2.0], [0.5, -1.0]]), Tensor([[1.0], [0.0]])]
""",
}


def run(name, mode, wrap=lambda fn, args: fn):
    ms.set_context(mode=mode)
    ms.set_seed(1)
    fn, args = define(HEAD + PROGRAMS[name], "make")()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = wrap(fn, args)(*args)
    return value, printed.getvalue()


def gradient(fn, args):
    return ms.grad(fn, tuple(i for i, a in enumerate(args) if isinstance(a, ms.Tensor)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes(name):
    """GRAPH_MODE and an explicit `jit` give what PYNATIVE_MODE gives, printed text and gradients included."""
    expected, printed = run(name, ms.PYNATIVE_MODE)
    trains = name == "a training step"  # which makes its own derivatives, in a loop in Python
    for mode, wrap in ((ms.GRAPH_MODE, lambda fn, args: fn), (ms.PYNATIVE_MODE, lambda fn, args: ms.jit(fn))):
        found, text = run(name, mode, (lambda fn, args: fn) if trains else wrap)
        assert structure(found) == structure(expected)
        assert_close(found, expected, name, 1e-6)
        assert text == printed
    if trains or not any(is_float(x) for x in leaves(expected)):
        return
    expected, printed = run(name, ms.PYNATIVE_MODE, gradient)
    found, text = run(name, ms.GRAPH_MODE, gradient)
    assert structure(found) == structure(expected)
    assert_close(found, expected, name, 1e-5)
    assert text == printed
