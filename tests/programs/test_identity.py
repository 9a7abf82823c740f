"""Which object comes back: a Tensor chosen at run time is the caller's own, also after the call."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn

from .compare import define, texts

PROGRAMS = {
    "a conditional expression": "return a if c[0] > 0 else b",
    "a branch": "y = b\nif c[0] > 0:\n    y = a\nreturn y, y",
    "an early return": "if c[0] > 0:\n    return a\nreturn b",
    "one of three": "y = a if c[0] > 0 else b if c[1] > 0 else net.z\nreturn y",
    "or a new one": "y = a if c[0] > 0 else b * 2.0\nreturn y",
    "two results that may be one": "u = b * 2.0\nv = u if c[0] > 0 else b * 3.0\nreturn v, u",
    "an attribute": "net.z = a if c[0] > 0 else b\nreturn net.z",
    "an attribute kept on one path": "if c[0] > 0:\n    net.z = b\nreturn net.z, a",
    "two attributes": "if c[0] > 0:\n    net.z, net.y = net.y, net.z\nreturn a",
    "in a list, a tuple and a dict": "y = a if c[0] > 0 else b\nreturn [y], (y, b), {'k': y}",
    "a named tuple": "p = Pair(a, b) if c[0] > 0 else Pair(b, a)\nreturn p",
    "written after the choice": "y = a if c[0] > 0 else b\ny[0] = 7.0\nreturn y, b * 1.0",
    "written before the choice": "a[0] = 7.0\ny = a if c[0] > 0 else b\nreturn y",
    "one list of two": "l, m = [a, b], [b, a]\nl[1] = a if c[0] > 0 else b\nl[1][1] = 5.0\nreturn l, m",
    "one Tensor twice in a list": "l = [a, a]\nl[0][1] = 5.0\nreturn l, a * 1.0",
    "aliases of what a branch made": """u = a * 2.0
if c[0] > 0:
    u = b * 3.0
v = u
v[0] = 9.0
return u, v""",
    "no trip of a loop, or some": "for i in range(n - 2):\n    a = a * 2.0\nreturn a",
    "swapped by a loop": "for i in range(n):\n    a, b = b, a\nreturn a, b",
    "swapped by a loop, then written": "for i in range(n):\n    a, b = b, a\na[0] = 7.0\nreturn a, b * 1.0",
    "chosen in a loop": "y = b\nfor i in range(12):\n    if c[0] > i:\n        y = a\nreturn y",
    "chosen in a `while`": "y = b\ni = n\nwhile i > 2:\n    y, i = a, i - 1\nreturn y, b",
    "chosen in a loop in a loop": """y = b
for i in range(n):
    for k in range(n - 1):
        y = a if c[1] > i else net.z
return y""",
    "elements of a list after a loop": """l = [a, b]
for i in range(n):
    l[0], l[1] = l[1], l[0]
l[0][0] = 7.0
return l, a * 1.0""",
    "an entry of a dict after a loop": """d = {'p': a}
for i in range(n - 2):
    d['p'] = d['p'] * 2.0
d['p'][0] = 5.0
return d['p'], a * 1.0""",
    "appended in a loop": "l = []\nfor i in range(3):\n    l.append(a)\nl[0][0] = 5.0\nreturn l[1], l[2] * 1.0",
    "written in the trips of a loop": """y = b
for i in range(n):
    y[0] = y[0] + 1.0
    y = a
return y, b * 1.0""",
    "an attribute changed by a loop": "for i in range(n - 2):\n    net.z = a\nnet.z[0] = 6.0\nreturn net.y",
    "a new one of the last trip, under two names": """y, z = a * 1.0, b * 1.0
for i in range(n):
    y = y * 2.0
    if c[0] > 0:
        z = y
z[0] = 4.0
return y, z""",
    "through a function": """def pick(u, v):
    return u if c[0] > 0 else v
y = pick(a, b)
y[1] = 3.0
return pick(b, a), y""",
    "views are copies": "u, v, w = a.reshape(2), a[:], a.copy()\nu[0] = 1.5\nv[0] = 2.5\nreturn u, v, w, a",
}

ARGUMENTS = [(x, n) for x in ([1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0]) for n in (2, 3)]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.z, self.y = ms.Tensor([9.0, 8.0]), ms.Tensor([7.0, 6.0])


def flat(x):
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for item in x for leaf in flat(item)] if isinstance(x, list | tuple) else [x]


def program(body):
    head = "import typing\nclass Pair(typing.NamedTuple):\n    p: object\n    q: object\n"
    head += "def f(net, a, b, c):\n    n = int(c[2])\n"
    return define(head + "".join(f"    {line}\n" for line in body.splitlines()))


def outcome(f, c, n, twice):
    """The results and attributes: which are one object, their values, and those after each was written to."""
    net, a = Net(), ms.Tensor([1.0, 2.0])
    b = a if twice else ms.Tensor([3.0, 4.0])
    objects = [a, b, *flat(f(net, a, b, ms.Tensor([*c, float(n)]))), net.z, net.y]
    same = [[x is y for y in objects] for x in objects]
    values = [x.tolist() for x in objects]
    for i, x in enumerate(objects):
        x[i % 2] = 100.0 + i
    return same, values, [x.tolist() for x in objects]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_object_is_the_same(name):
    f = program(PROGRAMS[name])
    g = ms.jit(f)
    for c, n in ARGUMENTS:
        for twice in (False, True):
            assert outcome(g, c, n, twice) == outcome(f, c, n, twice), (c, n, twice)


@pytest.mark.parametrize("name", ["a conditional expression", "or a new one", "swapped by a loop"])
def test_gradients_through_what_comes_back(name):
    f = program(PROGRAMS[name])
    c = ms.Tensor([1.0, 2.0, 3.0])

    def after(f):
        def total(a, b):
            y = f(Net(), a * 2.0, b, c)
            return sum((z * z).sum() for z in flat(y))

        return ms.grad(total, (0, 1))(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]))

    for got, wanted in zip(after(ms.jit(f)), after(f), strict=True):
        assert got.tolist() == wanted.tolist()


def test_a_list_chosen_at_run_time_is_a_new_one():
    """An intended difference (decision 0011): containers that compiled code made come back once for each place."""

    def f(a, b):
        u, v = [a], [b]
        return (u if a[0] > 0 else v), u

    a, b = ms.Tensor([1.0]), ms.Tensor([2.0])
    x, y = f(a, b)
    assert x is y
    x, y = ms.jit(f)(a, b)
    assert x is not y
    assert x[0] is y[0] is a


# ------------------------------------------------------------------------------------------------ arrays
def test_a_returned_array_shares_the_memory_of_its_tensor():
    def f(a, b):
        c = a * 2.0
        return a.asnumpy(), c.asnumpy(), c, (a if b[0] > 0 else b).asnumpy(), a.asnumpy() + 1.0

    for g in (f, ms.jit(f)):
        a, b = ms.Tensor([1.0, 2.0]), ms.Tensor([-3.0, 4.0])
        array, of_new, new, of_chosen, sums = g(a, b)
        a[0] = 10.0
        new[0] = 20.0
        b[0] = 30.0
        assert array.tolist() == [10.0, 2.0]
        assert of_new.tolist() == [20.0, 4.0]
        assert of_chosen.tolist() == [30.0, 4.0]
        assert sums.tolist() == [2.0, 3.0]
        array[1] = 40.0
        assert a.tolist() == [10.0, 40.0]


def test_a_returned_array_of_a_parameter_shares_its_memory():
    w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
    array = ms.jit(lambda: w.asnumpy())()
    array[0] = 5.0
    np.testing.assert_array_equal(w.asnumpy(), [5.0, 2.0])


# ------------------------------------------------------------------------------------------------ results of their own
#: Functions that have nothing to do here: x is f64[3, 4].
NOTHING_TO_DO = """
x.to(x.dtype); x.to(ms.float64); x.astype(ms.float64); x.clone(); x.squeeze(); x.reshape(3, 4); x.contiguous()
ops.depend(x, 1); ops.Depend()(x, 1); ops.atleast_1d(x); ops.atleast_2d(x); ops.addn([x]); ops.AddN()([x])
ops.accumulate_n([x]); ops.concat([x]); ops.stop_gradient(x); ops.tile(x, (1, 1)); ops.einsum('ij->ij', x)
ops.broadcast_to(x, (3, 4)); ops.fftshift(x, ()); ops.flip(x, ()); ops.movedim(x, 0, 0)
ops.vstack([x]); ops.cat([x]); mint.cat([x]); mint.einsum('ij->ij', x); mint.narrow(x, 0, 0, 3)
mnp.asarray(x); mnp.asfarray(x, ms.float64); mnp.array(x, copy=False); mnp.array(x); mnp.copy(x); mnp.atleast_1d(x)
mnp.atleast_2d(x); mnp.pad(x, 0); mnp.concatenate([x]); mnp.diff(x, 0); mnp.positive(x); mnp.vstack(x); mnp.hstack(x)
mnp.dstack(x); mnp.column_stack(x); mnp.ravel(x)[None]; mnp.squeeze(x); mnp.broadcast_to(x, (3, 4)); mnp.roll(x, 0)
mnp.moveaxis(x, 0, 0); mnp.tile(x, 1); mnp.repeat(x, 1, 0); mnp.transpose(x, (0, 1)); mnp.where(True, x, x)
"""


@pytest.mark.parametrize("expression", texts(NOTHING_TO_DO))
def test_a_function_with_nothing_to_do_gives_a_tensor_of_its_own(expression):
    names = {"ops": ms.ops, "mint": ms.mint, "mnp": ms.numpy}
    f = define(f"def f(x):\n    y = {expression}\n    y[0] = 77.0\n    return x.sum()\n", **names)
    for run in (f, ms.jit(f)):
        x = ms.Tensor(np.arange(1.0, 13).reshape(3, 4))
        assert run(x).item() == 78.0
        assert x.asnumpy()[0, 0] == 1.0


def test_a_parameter_passed_on_is_what_it_was():
    def f(x):
        y = ms.ops.depend(p, x)
        ms.ops.assign(p, p * 3)
        return (p * x).sum() + (y * x).sum()

    for run in (f, ms.jit(f)):
        p = ms.Parameter(ms.Tensor([1.0, 2.0], ms.float64), name="p")
        assert run(ms.Tensor([3.0, 5.0], ms.float64)).item() == 3 * 13 + 13


def test_no_gradient_leads_to_a_parameter_from_its_clone():
    p, x = ms.Parameter(ms.Tensor([1.0, 2.0], ms.float64), name="p"), ms.Tensor([3.0, 5.0], ms.float64)

    def f(x):
        return (p * x).sum() + (p.clone() * x).sum()

    for gradient in (ms.grad(f, None, [p]), ms.jit(ms.grad(f, None, [p]))):
        assert gradient(x)[0].tolist() == [3.0, 5.0]
