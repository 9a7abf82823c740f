"""Tensors that names, elements and attributes share at the end of a kept loop: one and the same, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn

from .compare import assert_close, check, define

pytestmark = pytest.mark.both_backends

X = np.array([0.5, -1.25, 2.0])
Y = np.array([1.5, 0.75, -0.5])

HEAD = "def f(x, y):\n    n = int(x.sum() + 2.0)\n    a = x * 1.0\n    b = y * 1.0\n    l = [a, b]\n"

# All are run by Python on NumPy arrays, too.  `n` is 3, known at run time only; 12 trips are surely run, and kept.
GIVES = {
    "element given a name's Tensor, the name given another": """for i in range(12):
    l[0] = b
    if x[0] > 0.0:
        b = a * 1.5
return a * 1.0, b * 1.0, l[0] * x""",
    "copied before it is written": """for i in range(n):
    l[0] = b
    if x[0] > 0.0:
        b = a * 1.5
b = b.copy()
b[0] = 7.0
return a * 1.0, b * 1.0, l[0] * x""",
    "an iterator holds a Tensor that is written in the first trip only": """it = iter([a, a])
for i in range(12):
    a[0] = a[0] * 2.0
    a = b
return next(it) * x, b * y""",
    "an iterator holds a Tensor that a `while` writes until the name is given another": """it = iter((a, a))
k = 0.0
while k < n:
    a[0] = a[0] * 2.0
    if k > 0.0:
        a = b * 3.0
    k = k + 1.0
return next(it) * x, a * y""",
    "a bound method holds a Tensor that is written in the first trip only": """total = a.sum
for i in range(12):
    a[0] = a[0] * 2.0
    a = b
return total() * x, b * y""",
    "the default of a function holds a Tensor that is written in the first trip only": """held = lambda t=a: t * y
for i in range(12):
    a[0] = a[0] * 2.0
    a = b
return held() * x, b * y""",
    "swapped, and one put into a list": """for i in range(n):
    b, a = a, b
    l[0] = a
return a * 1.0, b * y, l[0] * x""",
    "swapped in a loop in a loop": """for i in range(n):
    for k in range(n):
        b, a = a, b
        l[0] = a
    a = a + y
return a * 1.0, b * y, l[0] * x""",
    "one Tensor under two names after every trip": """c = x
for i in range(12):
    b = a * y
    c = b
b[0] = x[1] * 2.0
return a * 1.0, b * y, c * x""",
    "written in the next trip, unrolled": """for i in range(12):
    b[0] = b[0] * 2.0
    l[0] = b
    if x[0] > 0.0:
        b = a * 1.5
return b * y, l[0] * x""",
    "written after a helper returned it from its loop, or another one": """def found(p, q):
    for i in range(n):
        p[0] = p[0] * 0.5
        if p[0] < 0.1:
            return p
    return q
c = found(a, b)
c[1] = 7.0
d = found(b * 2.0, a)
d[2] = x[1]
return a * 1.0, b * y, c * d""",
    "written after a loop in a loop returned one of two": """def found(p, q):
    for i in range(n):
        for k in range(n):
            p[0] = p[0] * 0.5
            if p[0] < 0.2:
                return p
            if q[1] < 0.5:
                return q
        q[1] = q[1] * 0.4
    return p * 1.0
c = a
for t in range(n):
    c = found(a, b)
    c[1] = c[1] + 0.3
    a[0] = 1.5
return a * 1.0, b * y, c * x""",
    "another name, which no longer has it": """for i in range(12):
    a = b
    b = b * 1.5
b[1] = x[0]
return a * 1.0, b * y, l[1] * x""",
}


@pytest.mark.some(4)
@pytest.mark.parametrize("body", GIVES.values(), ids=GIVES)
def test_values_and_derivatives(body):
    check(define(HEAD + "".join(f"    {line}\n" for line in body.splitlines())), X, Y)


# `{head}` makes the loop; after it, what is written may be what another name or element holds: the loop carries along
# whether it is.
MAY_REACH = {
    "element and name": """{head}
    l[0] = b
    if x[0] > 0.0:
        b = a * 1.5
b[0] = 7.0
return b * y, l[0] * x""",
    "written by the element": """{head}
    l[0] = b
    if x[0] > 0.0:
        b = a * 1.5
l[0][1] = 7.0
return b * y, l[0] * x""",
    "two names by one condition": """c = x * y
{head}
    if y[0] > 0.0:
        b = c
        a = b
b[1] = 7.0
return a * y, b * x, c * 1.0""",
    "in a dict": """d = dict(p=x * 2.0)
{head}
    d["p"] = b
    if x[0] > 0.0:
        b = a * 1.5
b[0] = 7.0
return b * y, d["p"] * x""",
    "in a tuple": """t = (x * 2.0, y)
{head}
    t = (b, y)
    if x[0] > 0.0:
        b = a * 1.5
b[0] = 7.0
return b * y, t[0] * x""",
    "through a closure": """def g():
    return b
{head}
    l[0] = g()
    if x[0] > 0.0:
        b = a * 1.5
g()[0] = 7.0
return b * y, l[0] * x""",
    "left by a break": """{head}
    l[0] = b
    if x[0] + b[0] > 9.0:
        break
    b = b * 1.5
b[0] = 7.0
return b * y, l[0] * x""",
    "made by an inner loop": """{head}
    for k in range(n):
        l[0] = b
        if x[0] > 0.0:
            b = a * 1.5
b[0] = 7.0
return b * y, l[0] * x""",
}


MAY_REACH["written in the next trip"] = """{head}
    b[0] = b[0] * 2.0
    l[0] = b
    if x[0] > 0.0:
        b = a * 1.5
return b * y, l[0] * x"""

CASES = [(body, head) for body in MAY_REACH.values() for head in ("for i in range(n):", "for i in range(12):")]
IDS = [f"{name}, {times}" for name in MAY_REACH for times in ("n", "12")]


def with_head(body, head):
    return define(HEAD + "".join(f"    {line}\n" for line in body.format(head=head).splitlines()))


@pytest.mark.some(4)
@pytest.mark.parametrize(("body", "head"), CASES, ids=IDS)
def test_a_write_that_may_reach_another_name(body, head):
    f = with_head(body, head)
    check(f, X, Y)
    check(f, X[::-1].copy(), Y, order=0)  # the other way at `x[0] > 0.0`


def test_a_list_that_may_be_another_one_is_not_changed():
    body = """m = [l, l]
{head}
    if y[0] > 0.0:
        m[1] = l
    l[0] = b * 1.5
return m[0][0] * x"""
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(with_head(body, "for i in range(n):"))(ms.Tensor(X), ms.Tensor(Y))
    assert caught.value.code == "AC1602"


class Pair(nn.Cell):
    def __init__(self):
        super().__init__()
        self.last = ms.Tensor(Y)


def test_a_write_that_may_reach_an_attribute():
    f = define("""
def f(net, x, write):
    b = x * 1.0
    for i in range(12):
        net.last = b
        if x[0] > 0.0:
            b = x * 1.5
    if write:
        b[0] = 7.0
    return b * 1.0
""")
    for x in (X, -X):
        for write in (False, True):
            nets = Pair(), Pair()
            assert_close(ms.jit(f)(nets[0], ms.Tensor(x), write), f(nets[1], ms.Tensor(x), write), "result", 0)
            assert_close(nets[0].last, nets[1].last, "attribute", 0)
