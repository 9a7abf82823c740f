"""Cotangents that users' rules hand out: several from one another, and shared between values.

What is added up in place must be nobody else's, and a rule is asked where a share of its own value is given.
"""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.backends.native.jit.machine import why_not

WAYS = [None] + [(b, o) for b in ("native", "numpy") for o in (0, 2) if b == "numpy" or not why_not()]
U, V, W = [1.0, 2.0, 3.0], [3.0, 4.0, -5.0], [5.0, -6.0, 7.0]

add100 = ops.InsertGradientOf(lambda g: g + 100)


@pytest.fixture(params=WAYS, ids=lambda way: "eager" if way is None else f"{way[0]}-{way[1]}")
def slopes(request):
    """The gradients of a function of lists, eager or compiled."""

    def run(f, *args):
        g = ms.grad(f, tuple(range(len(args))))
        if request.param is not None:
            backend, level = request.param
            g = ms.jit(g, backend=backend, optimize=level)
        return [t.asnumpy() for t in g(*[Tensor(a) for a in args])]

    return run


def with_rule(back, forward=lambda u, v: u * v):
    @ops.custom_vjp
    def f(u, v):
        return forward(u, v)

    f.defbwd(back)
    return f


def same(found, expected):
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, np.asarray(want, got.dtype), rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------------------- shares made from one another
def of_another(u, v, out, dout):
    a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
    return a, a * 2


def of_one_twice(u, v, out, dout):
    a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
    return a, a


def sum_of_one(u, v, out, dout):
    a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
    return a, a + u


def one_in_a_sum(u, v, out, dout):
    a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
    return a + u, a


def read_in_a_branch(u, v, out, dout):
    a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
    b = a * 2 if u.sum() > 0 else u
    return a, b


def read_in_a_loop(u, v, out, dout):
    a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
    b = ops.zeros_like(u)
    for _ in range(12):
        b = b + a / 6
    return a, b


def part_of_a_part(u, v, out, dout):
    if dout.sum() > 0:
        a = dout * v
        b = a * 2
    else:
        a, b = ops.zeros_like(u), ops.zeros_like(u)
    return a, b


v = np.array(V)
SHARES = [
    (of_another, v, 2 * v),
    (of_one_twice, v, v),
    (sum_of_one, v, v + U),
    (one_in_a_sum, v + U, v),
    (read_in_a_branch, v, 2 * v),
    (read_in_a_loop, v, 2 * v),
    (part_of_a_part, v, 2 * v),
]


@pytest.mark.some(2)
@pytest.mark.parametrize(("rule", "by_u", "by_v"), SHARES, ids=[rule.__name__ for rule, _, _ in SHARES])
def test_a_share_that_makes_another_is_not_added_to(slopes, rule, by_u, by_v):
    f = with_rule(rule)
    same(slopes(lambda u, v: f(u, v).sum() + (u * u).sum(), U, V), [by_u + 2 * np.array(U), by_v])
    same(slopes(lambda u, v: f(u, v).sum() + (v * v).sum(), U, V), [by_u, by_v + 2 * np.array(V)])
    same(slopes(lambda u, v: (u * v).sum() + f(u, v).sum() * 1.0, U, V), [by_u + V, by_v + U])


def test_shares_of_a_cell(slopes):
    class Net(nn.Cell):
        def construct(self, u, v):
            return u * v

        def bprop(self, u, v, out, dout):
            a = dout * v if dout.sum() > 0 else ops.zeros_like(u)
            return a, a * 2

    net = Net()
    same(slopes(lambda u, v: net(u, v).sum() + (u * u).sum(), U, V), [v + 2 * np.array(U), 2 * v])


def test_shares_of_a_hook_of_a_cell(slopes):
    class Net(nn.Cell):
        def construct(self, u, v):
            return u * v

    net = Net()

    def hook(cell, grad_input, grad_output):
        a = grad_output[0] if grad_output[0].sum() > 100 else ops.zeros_like(grad_output[0])
        return a, a + 1

    net.register_backward_hook(hook)
    same(slopes(lambda u, v: net(u, v).sum() + (u * u).sum(), U, V), [2 * np.array(U), np.ones(3)])


def test_a_hook_prints_what_it_gives(slopes, capsys):
    def hook(grads):
        a = grads[0] * 2 if grads[0].sum() > 0 else ops.zeros_like(grads[0])
        print("gives", a)
        return (a,)

    seen = ops.HookBackward(hook)
    same(slopes(lambda u, v: (seen(u) * v).sum() + (u * u).sum(), U, V), [2 * v + 2 * np.array(U), U])
    assert capsys.readouterr().out == "gives [  6.   8. -10.]\n"


# --------------------------------------------------------------------------------------- added to an older branch
def older_branch(u, v, out, dout):
    c = dout * 3
    b = c if dout.sum() > 0 else ops.zeros_like(u)
    return c, b


def older_branch_of_slices(u, v, out, dout):
    b = ops.zeros_like(u)
    if dout.sum() > 0:
        b[1:3] = dout[1:3] * 2
    a = ops.zeros_like(u)
    a[1:3] = dout[1:3]
    return a, b


def older_branch_in_a_branch(u, v, out, dout):
    c = dout * 3
    b = ops.zeros_like(u)
    if dout.sum() > 0:
        if dout[0] > 0:
            b = c
    return c, b


OLDER = [
    (older_branch, [3, 3, 3], [3, 3, 3]),
    (older_branch_of_slices, [0, 1, 1], [0, 2, 2]),
    (older_branch_in_a_branch, [3, 3, 3], [3, 3, 3]),
]


@pytest.mark.parametrize(("rule", "by_u", "by_v"), OLDER, ids=[rule.__name__ for rule, _, _ in OLDER])
def test_what_an_older_branch_adds_is_made_in_it(slopes, rule, by_u, by_v):
    f = with_rule(rule)
    found = slopes(lambda u, v, w: f(u, v).sum() + ((u + v) * w).sum(), U, V, W)
    same(found, [np.add(by_u, W), np.add(by_v, W), np.add(U, V)])


# ------------------------------------------------------------------------------------- one cotangent of two values
def no_first(u, v, out, dout):
    return None, dout * u


def zero_first(u, v, out, dout):
    return ops.zeros_like(u), dout * u


@pytest.mark.parametrize("rule", [no_first, zero_first])
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_a_zero_share_of_one_value_is_none_of_the_other(slopes, rule, c):
    f = with_rule(rule)

    def program(w, u, q, c):
        z, x = add100(w), u * 1.5
        k = f(x, q)
        s = x + z
        if c > 0:
            total = s.sum() * 2
        else:
            total = q.sum()
        return total + k.sum()

    by_q = 1.5 * np.array(V)
    expected = [[102] * 3, [3] * 3, by_q, 0] if c > 0 else [[0] * 3, [0] * 3, by_q + 1, 0]
    same(slopes(program, U, V, W, c), expected)


def test_a_share_given_in_any_case_asks_the_one_that_gets_it(slopes):
    """x gets zeros from a rule in any case, z gets the same cotangent only from the branch not taken."""
    f = with_rule(zero_first)

    def program(w, u, q, c):
        z, x = add100(w), add100(u)
        k = f(x, q)
        s = x + z
        return (s.sum() * 2 if c > 0 else q.sum()) + k.sum()

    same(slopes(program, U, V, W, -1.0), [[0] * 3, [100] * 3, v + 1, 0])
