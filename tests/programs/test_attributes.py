"""Attributes that compiled code writes: what the object holds afterwards is what eager code leaves."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn

from .compare import assert_close, assert_same, define

pytestmark = pytest.mark.both_backends

X = np.array([1.5, -0.5, 2.0])


class Base(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n, self.rate, self.first, self.tag = 0, 0.5, True, "a"
        self.z = None
        self.buffer = ms.Tensor(np.array([0.25, 0.5, 0.75]))
        self.pair = (ms.Tensor(X), 1)
        self.w = ms.Parameter(np.array([2.0, 1.0, -1.0]), name="w")
        self.inner = nn.Cell()
        self.inner.seen = 0
        self.items = [1, 2]
        self._level = ms.Tensor(X)

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        self._level = value * 2.0


# Bodies of `construct(self, x)`.
PROGRAMS = {
    "Tensor": "self.z = x * 2.0\nreturn self.z * x",
    "counter": "self.n += 1\nself.n = self.n + 2\nreturn x * self.n",
    "read, then written": "a = x * self.n\nself.n = self.n * 2 + 1\nreturn a + self.n",
    "float": "self.rate *= 0.5\nreturn x * self.rate",
    "bool": "y = x * 2.0 if self.first else x\nself.first = False\nreturn y",
    "text": "self.tag = self.tag + 'b'\nreturn x * len(self.tag)",
    "None": "self.z = None\nreturn x * 1.0",
    "tuple": "self.pair = (self.pair[0] * x, self.pair[1] + 1)\nreturn self.pair[0] * self.pair[1]",
    "new": "self.fresh = x * x\nreturn self.fresh + 1.0",
    "list": "l = [x * 1.0, 3]\nself.history = l\nself.table = {'k': l}\nreturn x",
    "the argument": "self.z = x\nreturn x * 1.0",
    "branch": """if x.sum() > self.n:
    self.n = self.n + 2
    self.buffer = self.buffer * x
else:
    self.rate = self.rate * 0.5
return self.buffer * self.rate""",
    "early return": """if x[0] > 0:
    self.buffer = x * 2.0
    self.n = 7
    return self.buffer * 1.0
self.buffer = x * 3.0
return self.buffer * x""",
    "kept loop": """for i in range(20):
    self.buffer = self.buffer * 0.5 + x * i
    self.n += i
    self.rate *= 0.9
return self.buffer * self.rate""",
    "first written in a kept loop": "for i in range(20):\n    self.z = x * i\nreturn x * 2.0",
    "while": """while self.n < x.sum() + 3:
    self.buffer = self.buffer + x
    self.n += 1
return self.buffer * 1.0""",
    "while with effects": "while self.count() < x[0] * x[0] + 9:\n    self.rate += x.sum().item()\nreturn x * self.n",
    "break": "for i in range(12):\n    self.n += i\n    if self.n > x.sum() + 8:\n        break\nreturn x * self.n",
    "unrolled loop": """for i in range(3):
    self.n += 1
    if x[i] < 0:
        continue
    self.rate += i
return x * self.rate""",
    "an alias sees it": "y = x * 2.0\nself.z = y\ny[0] = 100.0\na = self.z * 1.0\nself.z[1] = 7.0\nreturn a, y * 1.0",
    "one Tensor in two attributes": """for i in range(12):
    self.buffer = x * i
    self.z = self.buffer
self.buffer[0] = 9.0
return self.z * x""",
    "an alias made in a loop": """for i in range(12):
    self.z = self.buffer
self.z[0] = x[1]
return self.buffer * x""",
    "elements of a buffer": "self.buffer[0] += x[1]\nself.buffer[1] = x[0] * x[0]\nreturn self.buffer * x",
    "rebound and written in branches": """if x[0] > 0:
    self.buffer[0] = 5.0
    return self.buffer * 1.0
self.buffer = x
return self.buffer * 2.0""",
    "Parameter": "self.w = self.w * 2.0\nself.w += x\nself.z = self.w + 1.0\nreturn self.w * x",
    "property": "self.level = x * self.level\nreturn self.level * 1.0",
    "another object": "self.inner.seen += 1\nreturn x * self.inner.seen",
    "setattr and hasattr": """if not hasattr(self, 'made'):
    setattr(self, 'made', x * 3.0)
return self.made * getattr(self, 'rate', 1.0)""",
    "method": "self.bump(3)\nself.bump(x.sum())\nreturn x * self.rate",
    "in a differentiated function": """def loss(v):
    self.n += 1
    self.z = v * v
    self.buffer[0] = v[1]
    return (self.z * self.buffer).sum() + (self.w * v).sum()
d = ms.grad(loss)(x)
return d + self.z * self.n""",
    "in a twice differentiated function": """def loss(v):
    self.n += 1
    self.z = v * v * v
    return self.z.sum()
d = ms.grad(lambda v: (ms.grad(loss)(v) * v).sum())(x)
return d + self.z * self.n""",
}
# What has another type, or is another constant, at later calls is compiled again.
COMPILED_AGAIN = set(
    """
Tensor
one Tensor in two attributes
an alias made in a loop
bool
text
first written in a kept loop
the argument
an alias sees it
Parameter
setattr and hasattr
in a differentiated function
in a twice differentiated function
""".strip().split("\n")
)


def network(body):
    source = "class Net(Base):\n    def bump(self, by):\n        self.rate = self.rate + by\n"
    source += "    def count(self):\n        self.n += 3\n        return self.n\n"
    source += "    def construct(self, x):\n" + "\n".join("        " + line for line in body.splitlines())
    # A float Tensor and a Python float are not joined: `rate` becomes a Python number.
    return define(source.replace("self.rate + by", "self.rate + float(by)"), "Net", Base=Base)


def state(net):
    found = {k: v for k, v in net.__dict__.items() if not k.startswith("_") or k == "_level"}
    return {**found, "inner": net.inner.seen, "w": ms.Tensor(net.w)}


def run(net, call, times=4):
    results = []
    for k in range(times):
        x = ms.Tensor(X * (1 if k % 2 == 0 else -1))
        out = call(x)
        results.append((out, {k: v for k, v in state(net).items() if k not in ("training", "requires_grad")}))
    return results


def compare(found, expected):
    for (a, after), (b, wanted) in zip(found, expected, strict=True):
        assert_same(a, b, "result")
        assert list(after) == list(wanted)
        for name, value in wanted.items():
            assert type(after[name]) is type(value), name
            if isinstance(value, str):
                assert after[name] == value
            else:
                assert_same(after[name], value, name)


@pytest.mark.some(4)
@pytest.mark.parametrize("how", ["jit", "graph mode", "O0", "nested", "disabled"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_code_leaves_what_eager_code_leaves(name, how):
    cls = network(PROGRAMS[name])
    eager, net = cls(), cls()
    compiled = ms.jit(net)
    expected = run(eager, eager)
    if how == "graph mode":
        ms.set_context(mode=ms.GRAPH_MODE)
        compare(run(net, net), expected)
    elif how == "disabled":
        with ms.disable_jit():
            compare(run(net, compiled), expected)
    elif how == "nested":
        compare(run(net, ms.jit(lambda x: compiled(x))), expected)
    else:
        ms.set_context(optimize=0 if how == "O0" else 2)
        try:
            compare(run(net, compiled), expected)
        finally:
            ms.set_context(optimize=2)


@pytest.mark.some(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    """Of the result and of what is left in the attributes: eager, around a compiled call, all compiled."""
    cls = network(PROGRAMS[name])

    def gradients(make):
        net = cls()
        call = net if make is None else make(net)

        def loss(x):
            out = call(x * 1.0)
            total = sum([(t * t).sum() for t in (out if isinstance(out, tuple) else (out,))])
            return total + (net.buffer * x).sum() + (0.0 if net.z is None else (net.z * x).sum())

        def second(x):
            return (ms.grad(loss)(x) * x).sum()

        compiled = ms.jit if make is None else (lambda f: f)
        return [g(ms.Tensor(X)) for f in (loss, second) for g in (ms.grad(f), compiled(ms.grad(f)))]

    eager = gradients(lambda net: net)
    for make in (None, ms.jit):
        for a, b in zip(gradients(make), eager, strict=True):
            assert_close(a, b, name, 1e-12)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - COMPILED_AGAIN))
def test_state_that_changes_does_not_compile_again(name):
    net = network(PROGRAMS[name])()
    compiled = ms.jit(net)
    run(net, compiled, 6)
    assert compiled.cache_info()["compiles"] == 1


def test_a_list_in_an_attribute_is_one_list():
    net = network("l = [x * 1.0]\nself.a = l\nself.b = (l, 2)\nreturn l")()
    out = ms.jit(net)(ms.Tensor(X))
    assert out is net.a
    assert out is net.b[0]
    assert type(out) is list


def test_a_result_in_an_attribute_is_one_tensor():
    net = network("self.z = x * 2.0\nself.y = self.z\nself.own = x\nreturn self.z")()
    x = ms.Tensor(X)
    assert ms.jit(net)(x) is net.z
    assert net.y is net.z
    assert net.own is x


@pytest.mark.parametrize(
    "body",
    [
        "if x[0] > 0:\n    self.buffer = x * 1.0\nreturn x",
        "while x[0] > 1.0:\n    self.buffer = x * 1.0\n    x = x * 0.5\nreturn x",
        "def loss(v):\n    if v[0] > 0:\n        self.buffer = v * 1.0\n    return v.sum()\nreturn ms.grad(loss)(x)",
    ],
)
def test_an_attribute_that_no_path_taken_assigns_is_still_the_object(body):
    for make in (lambda net: net, ms.jit):
        net = network(body)()
        held = net.buffer
        call = make(net)
        call(ms.Tensor(-X))
        assert net.buffer is held
        call(ms.Tensor(X))
        assert net.buffer is not held


def test_changes_from_outside_are_seen():
    net = network("self.n += 1\nreturn x * self.n")()
    compiled = ms.jit(net)
    compiled(ms.Tensor(X))
    net.n = 41
    assert_same(compiled(ms.Tensor(X)), ms.Tensor(X) * 42, "result")
    net.n = 1.5
    assert_same(compiled(ms.Tensor(X)), ms.Tensor(X) * 2.5, "result")
    assert net.n == 2.5


def test_other_compiled_code_sees_the_new_number():
    net = network("self.n += 1\nreturn x * 1.0")()
    counts, reads = ms.jit(net), ms.jit(lambda x: x * net.n)
    for k in (1, 2, 3):
        counts(ms.Tensor(X))
        assert_same(reads(ms.Tensor(X)), ms.Tensor(X) * k, "result")


def test_a_failed_call_compiles_nothing_and_leaves_nothing():
    net = network("self.n += 1\nself.z = x\nreturn x.reshape(5)")()
    with pytest.raises(ms.CompileError):
        ms.jit(net)(ms.Tensor(X))
    assert net.n == 0
    assert net.z is None


REFUSED = {
    "a class": ("AC1606", "Base.v = 1\nreturn x"),
    "a module": ("AC1606", "np.v = 1\nreturn x"),
    "a function's code": ("AC1606", "function.__doc__ = 'v'\nreturn x"),
    "a Parameter's attribute": ("AC1606", "self.w.requires_grad = False\nreturn x"),
    "a Cell replaced": ("AC1606", "self.inner = None\nreturn x"),
    "given a Cell": ("AC1606", "self.z = self.inner\nreturn x"),
    "given a Parameter": ("AC1606", "self.z = self.w\nreturn x"),
    "given a function": ("AC1606", "self.z = lambda: 1\nreturn x"),
    "given an outside list": ("AC1606", "self.z = self.items\nreturn x"),
    "new on one path": ("AC1606", "if x[0] > 0:\n    self.q = x\nreturn x"),
    "new on one path and read": ("AC1606", "if x[0] > 0:\n    self.q = x\nreturn self.q"),
    "new in a loop that may not run": ("AC1606", "while self.n < x[0]:\n    self.q = x\n    self.n += 1\nreturn x"),
    "None on one path": ("AC1404", "if x[0] > 0:\n    self.z = x\nreturn x"),
    "texts differ": ("AC1405", "if x[0] > 0:\n    self.tag = 'b'\nreturn x"),
    "dtypes differ": ("AC1401", "if x[0] > 0:\n    self.buffer = self.buffer.astype(ms.float32)\nreturn x"),
    "changes type in a loop": ("AC1406", "while self.buffer.sum() < 9:\n    self.buffer = self.buffer.sum()\nreturn x"),
    "deleted on one path": ("AC1606", "if x[0] > 0:\n    del self.n\nreturn x"),
    "in a vmap": ("AC1601", "return ms.vmap(lambda v: setattr(self, 'z', v) or v)(x)"),
}


class Plain:
    v = 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_refused(name):
    code, body = REFUSED[name]
    cls = network(body)
    cls.construct.__globals__.update(plain=Plain(), function=lambda: 1)
    net = cls()
    before = {k: v for k, v in state(net).items() if k != "w"}
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(net)(ms.Tensor(X))
    assert caught.value.code == code
    assert caught.value.hint
    assert {k: v for k, v in state(net).items() if k != "w"} == before


def test_a_class_with_its_own_setattr_is_refused():
    class Own(Base):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)

        def construct(self, x):
            self.n = 1
            return x

    with pytest.raises(RuntimeError, match="__setattr__") as caught:
        ms.jit(Own())(ms.Tensor(X))
    assert caught.value.code == "AC1606"


def test_attributes_of_tensors_and_numbers_do_not_exist():
    for body in ("x.name = 1\nreturn x", "self.n += 1\nself.n.v = 2\nreturn x"):
        for call in (network(body)(), ms.jit(network(body)())):
            with pytest.raises(AttributeError, match="has no attribute"):
                call(ms.Tensor(X))


# ------------------------------------------------------------------------------------------------ backward blocks
def scaled(x, owner, name):
    """x; its cotangent is multiplied with what the forward pass left in ``owner.name``."""
    return getattr(owner, f"by_{name}")(x)


def with_edits(cell):
    """The Cell with an edit of gradients for each of its attributes."""
    for name in ("n", "rate", "z", "buffer"):
        setattr(cell, f"by_{name}", ms.ops.InsertGradientOf(lambda g, name=name: g * getattr(cell, name)))
    return cell


READ_BACKWARD = {
    "a Tensor": "y = scaled(x * x, self, 'z') * 2.0\nself.z = x * 10.0\nself.z = self.z + 1.0\nreturn y",
    "elements assigned later": """y = scaled(x * x, self, 'buffer')
self.buffer[0] = x[1] * 5.0
self.buffer = self.buffer * 1.0
return y""",
    "a number": "y = scaled(x * x, self, 'n')\nfor i in range(20):\n    self.n += 1\nreturn y",
    "nobody writes it": "return scaled(x * x, self, 'rate')",
    "in a loop": """y = x
for i in range(12):
    y = scaled(y, self, 'rate')
    self.rate = self.rate + 0.01
return y""",
    "in a branch": """y = x * x
if x[0] > 0:
    y = scaled(y, self, 'rate')
    self.rate = self.rate * 2.0
return y""",
    "two attributes": "y = scaled(scaled(x * x, self, 'n'), self, 'rate')\nself.n += 2\nself.rate = 3.0\nreturn y",
}


@pytest.mark.parametrize("name", READ_BACKWARD)
def test_backward_code_sees_what_the_forward_pass_left(name):
    cls = network(READ_BACKWARD[name])
    cls.construct.__globals__.update(scaled=scaled)

    def second(f):
        return lambda x: (ms.grad(f)(x) * x).sum()

    for order in (lambda f: f, second):
        eager, around, inside = (with_edits(cls()) for _ in range(3))
        derivatives = (ms.grad(order(eager)), ms.grad(order(ms.jit(around))), ms.jit(ms.grad(order(inside))))
        for _ in range(2):
            expected, a, b = (d(ms.Tensor(X)) for d in derivatives)
            assert_close(a, expected, "around a compiled call", 1e-12)
            assert_close(b, expected, "all compiled", 1e-12)
        assert_same((around.n, around.rate, around.z), (eager.n, eager.rate, eager.z), "state")
        assert_same((inside.n, inside.rate, inside.z), (eager.n, eager.rate, eager.z), "state")


# ------------------------------------------------------------------------------------------------ exceptions
RAISING = {
    "after writes": """self.n += 1
x[0] = 9.0
self.w = self.w * 2.0
if x[1] < 0:
    raise ValueError('no')
self.n += 1
return x""",
    "in a loop": """for i in range(20):
    self.n += 1
    x[0] += 1.0
    if self.n > 5:
        raise ValueError(f'at {i}')
return x""",
    "assert": "self.z = x * 2.0\nassert x[1] > 0, 'neg'\nself.z = x * 3.0\nreturn x",
    "always": "self.n += 1\nx[2] = 0.0\nraise ValueError('always')",
    "in a differentiated function": """self.n += 1
def g(u):
    self.n += 1
    u[0] = 7.0
    if u[1] < 0:
        raise ValueError('in grad')
    return u.sum()
return ms.grad(g)(x)""",
    "always in a differentiated function": """self.n += 1
def g(u):
    self.n += 1
    u[0] = 7.0
    raise ValueError('in grad')
return ms.grad(g)(x)""",
    "always in a vmap": "def g(u):\n    raise ValueError('in vmap')\nself.n += 1\nreturn ms.vmap(g)(x)",
    "new on the way": "if x[1] < 0:\n    self.q = x * 1.0\n    raise ValueError('q')\nself.q = x * 2.0\nreturn x",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", RAISING)
def test_an_exception_keeps_what_was_written_before(name):
    cls = network(RAISING[name])

    def outcome(make):
        net, x = cls(), ms.Tensor(X)
        with pytest.raises((ValueError, AssertionError)) as caught:
            make(net)(x)
        return (
            str(caught.value),
            x,
            {k: v for k, v in state(net).items() if k not in ("tag", "training", "requires_grad")},
        )

    def gradient(call):
        return ms.grad(lambda x: call(x).sum())

    plain, differentiated = outcome(lambda net: net), outcome(gradient)
    for make, expected in (
        (ms.jit, plain),
        (lambda net: gradient(ms.jit(net)), differentiated),
        (lambda net: ms.jit(gradient(net)), differentiated),
    ):
        found = outcome(make)
        assert found[0] == expected[0]
        assert list(found[2]) == list(expected[2])
        assert_same((found[1], list(found[2].values())), (expected[1], list(expected[2].values())), name)
