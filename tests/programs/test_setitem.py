"""Elements of Tensors that came from outside: what compiled code writes is in the caller's Tensors afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from tests import agreement

from .compare import assert_close, assert_same, check, define, plain, tensors

pytestmark = pytest.mark.both_backends

X = np.array([0.5, -1.25, 2.0])
Y = np.array([1.5, 0.75, -0.5])

# Every program is run by Python on NumPy arrays, too: `x[i] = v` means the same there.
PROGRAMS = {
    "one element": "x[0] = y[1] * 2.0\nreturn x * y",
    "augmented": "x[0] += y[1] * x[2]\nx[1] *= 3.0\nreturn x * x * y",
    "mask": "x[y > 0.0] = 4.0\nreturn x * y",
    "slice": "x[1:] = y[:2] * y[0]\nreturn x * x",
    "number at an index known at run time": "k = int(y[0])\nx[k] = x[0] * y[2]\nreturn x * x",
    "read before and after": "a = x[0] * 3.0\nx[0] = a * y[1]\nb = x[0] * a\nreturn a, b, x * 1.0",
    "both arguments": "x[0] = y[1]\ny[1] = x[2] * x[0]\nreturn x * y",
    "alias": "u = x\nu[2] = y[0] * y[0]\nreturn x * y, u * 2.0",
    "branch": "if y[0] > 1.0:\n    x[0] = y[0] * y[1]\nelse:\n    x[1] = 7.0\nreturn x * y",
    "early return": "if y[0] > 1.0:\n    x[0] = y[0] * y[0]\n    return x * y\nx[1] = 2.0\nreturn x * x",
    "return in a loop": """for i in range(3):
    x[i] = x[i] * y[i]
    if x[1] < 0:
        return x * 2.0
return x * 3.0""",
    "kept loop": "for i in range(20):\n    x[i % 3] = x[(i + 1) % 3] * 0.5 + y[i % 3]\nreturn x * y",
    "while": "while x[0] < 5.0:\n    x[0] = x[0] * 2.0\n    x[1] += y[0]\nreturn x * y",
    "break": "for i in range(12):\n    x[0] += y[0]\n    if x[0] > 3.0:\n        break\nreturn x * x",
    "called function": "def g(t, v):\n    t[0] = v * v\n    return t\nz = g(x, y[0])\nreturn z * y",
    "closure": "def g(v):\n    x[1] = v * y[2]\ng(y[0])\nreturn x * x",
    "condition that writes": """def step():
    x[0] += 1.5
    return x[0] < 6.0
n = 0
while step():
    n += 1
    x[1] = x[1] * y[0]
    if n > 3:
        break
return x * y * n""",
    "name given in a condition": """while (z := x * 1.5)[2] < 9.0:
    x[2] = z[2] + y[0] * y[0]
return x * z""",
    "written back unchanged": "x[0] = x[0]\nreturn x * y",
    "alias made in a loop": "t = x * 0.5\nfor i in range(12):\n    t = y\nt[0] = x[1]\nreturn t * y * x",
    "alias made in a loop and written in it": """t = x * 0.5
for i in range(12):
    t[0] += x[1]
    t = y
return t * y * x""",
    "two names of one made in a loop": """t = x * 0.5
u = y * 1.0
for i in range(12):
    t = u * 0.5 + x
    u = t
t[0] = 5.0 * x[1]
return t * u""",
    "list of Tensors": "l = [x, y]\nl[0][1] = l[1][0] * 2.0\nreturn x * l[1]",
    "rebound after": "x[0] = y[0]\nx = x * y\nx[1] = 5.0\nreturn x",
    "copied before": "u = x.copy()\nx[0] = y[0] * 2.0\nreturn u * x",
}


# What paths leave behind: an object changed on a path counts with what it held at that path's end.
JOINED = {
    "a Tensor written, then bound": """a = x * 1.0
b = y * 2.0
if x[0] > 0:
    a[0] = 5.0 * y[1]
    t = a
else:
    t = b
return t * x""",
    "a list grown, then bound": """a = [x * 1.0]
b = [y * 2.0, x]
if x[0] > 0:
    a.append(x * 7.0)
    t = (a, 1.0)
    a[0] = x * 9.0
else:
    t = (b, 2.0)
return t[0][0] * t[0][1] + t[1]""",
    "written by a function that returned early": """def g(t, c):
    for i in range(3):
        if c > i:
            t[i] = t[i] * t[i]
            return 1.0
        t[i] = t[i] + y[i]
    return 2.0
t = x * 1.0
k = g(t, x[0])
return t * k * x""",
    "returned early after a change": """def g(t, c):
    if c > 0:
        if t[1] < 0:
            t[0] = t[1] * 3.0
            return 1.0
        t[1] = 4.0
    return (t * 2.0).sum()
t = x * y
k = g(t, x[0])
return t * k""",
}


@pytest.mark.parametrize("name", JOINED)
def test_what_paths_leave_behind(name):
    for x in (X, -X, X[::-1].copy()):
        check(function(JOINED[name]), x, Y)


def function(body, names="x, y", **space):
    return define(f"def f({names}):\n" + "\n".join("    " + line for line in body.splitlines()), **space)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name):
    check(function(PROGRAMS[name]), X, Y)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_caller_sees_the_writes(name, level):
    f = function(PROGRAMS[name])
    arrays, eager, graph = (X.copy(), Y.copy()), tensors((X, Y)), tensors((X, Y))
    f(*arrays)
    f(*eager)
    ms.set_context(optimize=level)
    try:
        ms.jit(f)(*graph)
    finally:
        ms.set_context(optimize=2)
    for a, b, c in zip(arrays, eager, graph, strict=True):
        assert_close(b, a, "eager and NumPy", 1e-12)
        assert_same(c, b, "compiled and eager")


@pytest.mark.parametrize("name", ["one element", "kept loop", "branch", "both arguments", "while"])
def test_gradients_of_a_call_in_a_larger_program(name):
    """The derivative of what follows goes through the written elements, in eager code around a compiled call, too."""
    f = function(PROGRAMS[name])
    compiled = ms.jit(f)

    def around(f):
        def outer(x, y):
            u, v = x * y, y * 2.0
            z = f(u, v)
            return (z * u).sum() + (v * v * x).sum()

        return outer

    def second(g):
        return lambda x, y: (ms.grad(g, (0, 1))(x, y)[0] * x).sum()

    for g in (lambda g: g, second):
        expected = ms.grad(g(around(f)), (0, 1))(*tensors((X, Y)))
        found = ms.grad(g(around(compiled)), (0, 1))(*tensors((X, Y)))
        inside = ms.jit(ms.grad(g(around(f)), (0, 1)))(*tensors((X, Y)))
        assert_close(found, expected, "eager around compiled", 1e-12)
        assert_close(inside, expected, "all compiled", 1e-12)


MAYBE_AN_ALIAS = {
    "after a loop": "t = x * 0.5\nwhile y[1] < 2.0:\n    y[1] = y[1] * 2.0\n    t = y\nreturn t * y * x",
    "after a branch in a loop": """t = x * 0.5
for i in range(12):
    if x[0] > i:
        t = y
t[0] = 5.0
return t * y""",
}


@pytest.mark.parametrize("name", MAYBE_AN_ALIAS)
def test_a_write_that_may_reach_another_name(name):
    f = function(MAYBE_AN_ALIAS[name])
    check(f, X, Y)
    g = ms.jit(f, unroll_max=2)
    for sign in (1.0, -1.0):
        eager, graph = tensors((sign * X, Y)), tensors((sign * X, Y))
        assert_same(g(*graph), f(*eager), "result")
        assert_same(graph, eager, "arguments")


def test_a_write_that_may_reach_what_a_derivative_left_is_refused():
    f = function("""l = [x * 1.0]
def g(u):
    if u[0] > 0:
        l[0] = y
    return u.sum()
d = ms.grad(g)(x)
y[0] = 5.0
return d * l[0]""")
    x, y = tensors((X, Y))
    with pytest.raises(ms.CompileError):
        ms.jit(f)(x, y)
    assert y.tolist() == Y.tolist()


def test_an_argument_that_is_returned_is_the_callers():
    @ms.jit
    def f(x):
        x[0] = 9.0
        return x, {"x": x}

    x = ms.Tensor(X)
    a, b = f(x)
    assert a is x
    assert b["x"] is x
    assert x[0].item() == 9.0


def test_writes_are_in_place_unless_somebody_holds_the_bytes():
    f = ms.jit(function("x[0] = 9.0\nreturn x * y"))
    x = ms.Tensor(X)
    live, part = x.asnumpy(), None
    f(x, ms.Tensor(Y))
    assert live[0] == 9.0
    x = ms.Tensor(X)
    part = x[:2]
    f(x, ms.Tensor(Y))
    assert part.tolist() == X[:2].tolist()
    assert x[0].item() == 9.0


def test_one_tensor_given_twice():
    f = function("x[0] = 5.0\nreturn y * 1.0, y[0] + x[1]")
    g = ms.jit(f)

    def once(f):
        t = ms.Tensor(X)
        return f(t, t), t

    def twice(f):
        s, t = tensors((X, X))
        return f(s, t), s, t

    for call in (once, twice, once, twice):
        assert_same(call(g), call(f), call.__name__)
    assert g.cache_info()["compiles"] == 2


def test_functions_that_write_nothing_do_not_ask_which_arguments_are_one():
    g = ms.jit(lambda x, y: x * y)
    t = ms.Tensor(X)
    g(t, t)
    g(*tensors((X, Y)))
    assert g.cache_info()["compiles"] == 1


def test_one_tensor_in_containers():
    f = function("l[0][0] = 5.0\nd['k'][1] = l[1][0]\nreturn l[1] * d['k']", "l, d")

    def call(f):
        t, u = tensors((X, Y))
        return f([t, u], {"k": t}), t, u

    assert_same(call(ms.jit(f)), call(f), "an alias in a dict")


captured = ms.Tensor(Y)


def test_an_argument_that_is_also_found_outside():
    def f(x):
        x[0] = 5.0
        return captured * 1.0

    g = ms.jit(f)
    other = ms.Tensor(X)
    assert g(other).tolist() == Y.tolist()
    assert other[0].item() == 5.0
    try:
        assert g(captured)[0].item() == 5.0 == captured[0].item()
        assert g(ms.Tensor(X))[0].item() == 5.0
    finally:
        captured[0] = float(Y[0])


def test_tensors_found_outside_are_written():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.seen = ms.Tensor(np.zeros(3))

        def construct(self, x):
            self.seen[0] += x.sum()
            captured[1] = x[0]
            return self.seen * x

    eager, graph = Net(), Net()
    held = graph.seen
    expected = [eager(ms.Tensor(X)) for _ in range(3)]
    after, captured[1] = captured.copy(), float(Y[1])
    found = [ms.jit(graph)(ms.Tensor(X)) for _ in range(3)]
    assert_same(found, expected, "results")
    assert_same((graph.seen, captured), (eager.seen, after), "what is left")
    assert graph.seen is held
    captured[1] = float(Y[1])


def test_a_captured_tensor_that_is_returned_is_the_object_itself():
    assert ms.jit(lambda x: captured)(ms.Tensor(X)) is captured


def test_memory_shared_behind_our_back_is_refused():
    f = ms.jit(function("x[0] = 5.0\nreturn y * 1.0"))
    array = np.zeros(6)
    with pytest.raises(RuntimeError, match="shares its memory") as caught:
        f(ms.Tensor.from_numpy(array[:3]), ms.Tensor.from_numpy(array[2:5]))
    assert caught.value.code == "AC1602"
    assert not array.any()
    f(ms.Tensor.from_numpy(array[::2]), ms.Tensor.from_numpy(array[1::2]))
    assert array.tolist() == [5.0, 0, 0, 0, 0, 0]


def test_an_ndarray_argument_is_not_written():
    f = ms.jit(function("x[0] = 5.0\nreturn x * y"))
    with pytest.raises(RuntimeError, match="given as an ndarray") as caught:
        f(X.copy(), ms.Tensor(Y))
    assert caught.value.code == "AC1602"
    assert f(ms.Tensor(X), Y).tolist() == [7.5, *(X * Y)[1:]]


def test_a_parameter_argument_stays_a_parameter():
    f = function("x[0] = y[0] * 2.0\nreturn x * y")
    eager, graph = (ms.Parameter(X, name="w") for _ in range(2))
    assert_same(ms.jit(f)(graph, ms.Tensor(Y)), f(eager, ms.Tensor(Y)), "result")
    assert graph.tolist() == eager.tolist()


DIFFERENTIATED = {
    "its own argument": "def g(u):\n    u[0] = u[1] * 5.0\n    return u * u\nd = ms.grad(g)(x)\nreturn d + x",
    "a local Tensor": "t = y * 1.0\ndef g(u):\n    t[0] = u[1] * u[0]\n    return u * t\nreturn ms.grad(g)(x) + t",
    "an argument around": "def g(u):\n    y[0] = u[1] * u[0]\n    return u * y\nreturn ms.grad(g)(x) + y",
    "a list": "l = []\ndef g(u):\n    l.append(u * 2.0)\n    return u * u\nreturn ms.grad(g)(x) + l[0]",
    "what it returns": """def g(u):
    u[0] = 3.0 * u[2]
    return u * 1.0, u
(a, b), d = ms.value_and_grad(g)(x)
b[1] = 100.0
return a, d, x * 1.0""",
    "twice": """def g(u):
    u[0] = u[1] * u[2]
    return (u * u * u).sum()
return ms.grad(lambda v: (ms.grad(g)(v) * v).sum())(x) + x""",
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_writes_in_a_differentiated_function(name):
    f = function(DIFFERENTIATED[name])

    def total(x, y):
        out = f(x, y)
        return sum([(t * t).sum() for t in (out if isinstance(out, tuple) else (out,))])

    eager, graph = tensors((X, Y)), tensors((X, Y))
    assert_same(ms.jit(f)(*graph), f(*eager), "value")
    assert_same(graph, eager, "arguments")
    expected = ms.grad(total, (0, 1))(*tensors((X, Y)))
    assert_close(ms.jit(ms.grad(total, (0, 1)))(*tensors((X, Y))), expected, "gradient", 1e-12)
    assert_close(ms.grad(ms.jit(total), (0, 1))(*tensors((X, Y))), expected, "gradient around", 1e-12)


# ------------------------------------------------------------------------------------------------ methods
# What NumPy says each method makes of x and y.
METHODS = {
    "add_(y)": lambda x, y: x + y,
    "add_(y, alpha=2)": lambda x, y: x + 2 * y,
    "sub_(1.5)": lambda x, y: x - 1.5,
    "mul_(y)": lambda x, y: x * y,
    "div_(y)": lambda x, y: x / y,
    "div_(y, rounding_mode='floor')": lambda x, y: np.floor(x / y),
    "div_(y, rounding_mode='trunc')": lambda x, y: np.trunc(x / y),
    "copy_(y)": lambda x, y: y,
    "fill_(3)": lambda x, y: np.full(3, 3.0),
    "zero_()": lambda x, y: np.zeros(3),
    "clamp_(-1.0, 1.0)": lambda x, y: np.clip(x, -1, 1),
    "exp_()": lambda x, y: np.exp(x),
    "add_(3.0).log_()": lambda x, y: np.log(x + 3.0),
    "floor_()": lambda x, y: np.floor(x),
    "sigmoid_()": lambda x, y: 1 / (1 + np.exp(-x)),
    "tanh_()": lambda x, y: np.tanh(x),
    "sign_()": lambda x, y: np.sign(x),
    "remainder_(y)": lambda x, y: np.mod(x, y),
    "floor_divide_(y)": lambda x, y: np.floor_divide(x, y),
    "masked_fill_(y > 0, 7.0)": lambda x, y: np.where(y > 0, 7.0, x),
    "masked_scatter_(y > 0, y)": lambda x, y: np.array([1.5, 0.75, x[2]]),
    "index_fill_(0, ms.Tensor([1]), 4.0)": lambda x, y: np.array([x[0], 4.0, x[2]]),
    "index_add_(0, ms.Tensor([2, 0]), y[:2])": lambda x, y: np.array([x[0] + y[1], x[1], x[2] + y[0]]),
    "index_copy_(0, ms.Tensor([2, 0]), y[:2])": lambda x, y: np.array([y[1], x[1], y[0]]),
    "index_put_((ms.Tensor([1]),), y[:1])": lambda x, y: np.array([x[0], y[0], x[2]]),
    "scatter_(0, ms.Tensor([1, 0]), y)": lambda x, y: np.array([y[1], y[0], x[2]]),
    "scatter_add_(0, ms.Tensor([1, 1]), y)": lambda x, y: np.array([x[0], x[1] + y[0] + y[1], x[2]]),
    "put_(ms.Tensor([0, -1]), y[:2])": lambda x, y: np.array([y[0], x[1], y[1]]),
    "put_(ms.Tensor([0, 0]), y[:2], accumulate=True)": lambda x, y: np.array([x[0] + y[0] + y[1], x[1], x[2]]),
}


@pytest.mark.parametrize("method", METHODS)
def test_methods_that_change_the_tensor(method):
    f = function(f"u = x\nv = x * 1.0\nw = u.{method}\nv.{method}\nw[0] += 1.0\nreturn w, v, x * y")
    with np.errstate(all="ignore"):
        expected = METHODS[method](X, Y)
    for call in (f, ms.jit(f)):
        x, y = tensors((X, Y))
        w, v, _ = call(x, y)
        assert w is x
        assert_close(v, expected, method, 1e-12)
        assert_close(x, expected + np.array([1.0, 0, 0]), method, 1e-12)
        assert y.tolist() == Y.tolist()

    def total(x, y):
        u = x * 1.0
        w, v, p = f(u, y)
        return (w * v * v).sum() + (p * u).sum()

    derivative = ms.grad(total, (0, 1))(*tensors((X, Y)))
    assert_close(ms.jit(ms.grad(total, (0, 1)))(*tensors((X, Y))), derivative, "gradient", 1e-12)


def test_diagonal():
    a = np.arange(9.0).reshape(3, 3)
    for f in (f := function("x.fill_diagonal_(5.0)\nreturn x", "x"), ms.jit(f)):
        x = ms.Tensor(a)
        assert f(x) is x
        assert np.diag(plain(x)).tolist() == [5.0] * 3
        assert x[0, 1].item() == 1.0


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [("uniform_(2.0, 3.0)", 2, 3), ("random_(3, 9)", 3, 8), ("bernoulli_(0.5)", 0, 1), ("exponential_(2.0)", 0, 50),
     ("normal_(1.0, 2.0)", -50, 50)],
)  # fmt: skip
def test_random_methods_draw_the_same_in_both_modes(method, low, high):
    f = function(f"x.{method}\nreturn x * 2.0", "x")
    drawn = []
    for call in (f, ms.jit(f)):
        ms.set_seed(5)
        x = ms.Tensor(np.zeros(1000), ms.float32)
        call(x)
        call(x)
        drawn.append(x.tolist())
    agreement.assert_same(np.float32(drawn[1]), np.float32(drawn[0]), each=True)
    assert low <= min(drawn[0])
    assert max(drawn[0]) <= high
    assert len(set(drawn[0])) > 1


@pytest.mark.parametrize("method", ["add_(1.5)", "exp_()", "div_(2)"])
def test_methods_keep_the_dtype(method):
    f = function(f"x.{method}\nreturn x", "x")
    for call in (f, ms.jit(f)):
        x = ms.Tensor([1, 2])
        with pytest.raises(TypeError, match="would make it float32") as caught:
            call(x)
        assert caught.value.code == "AC1410"
        assert x.tolist() == [1, 2]


def test_methods_keep_the_shape():
    f = function("x.add_(y)\nreturn x")
    for call in (f, ms.jit(f)):
        with pytest.raises(ValueError, match="would make it"):
            call(ms.Tensor(X), ms.Tensor(np.ones((2, 3))))


def test_assign_value():
    f = function("z = x.assign_value(y * 2.0)\nz[0] = 1.0\nreturn x * 1.0")
    for call in (f, ms.jit(f)):
        x, y = tensors((X, Y))
        assert call(x, y).tolist() == x.tolist() == [1.0, 1.5, -1.0]


@pytest.mark.parametrize(
    "call", ["Tensor.add_(w, y)", "Tensor.__setitem__(w, 0, 7.0)", "Tensor.zero_(w)", "Tensor.copy_(w, src=y)"]
)
def test_methods_that_write_are_called_through_the_class_too(call):
    f = function(f"w = x * 1\nTensor.__setitem__(y, 1, 3.0)\n{call}\nreturn w * 2, y", Tensor=ms.Tensor)
    for once in (lambda g: g, ms.jit):
        x, y = tensors((X, Y))
        found = once(f)(x, y)
        expected = function(f"w = x * 1\ny[1] = 3.0\n{_by_method(call)}\nreturn w * 2, y")(*tensors((X, Y)))
        assert_same(found, expected, call)
        assert y[1].item() == 3.0


def _by_method(call):
    return (
        "w[0] = 7.0"
        if "__setitem__" in call
        else call.replace("Tensor.", "w.").replace("(w, ", "(").replace("(w)", "()")
    )
