"""Branches whose results differ in rank, in compiled code: eager mode is the reference."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, nn, ops
from tests.programs.same_results import agree_with_derivatives, same_results

#: Arguments for which the functions go different ways.
ARGUMENTS = ([1.0, 2.0], [-1.0, -2.0], [3.0, 2.0], [2.0, -1.0])


def plain(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x * x).sum()
    return y


def summed(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x * x).sum()
    return (y * y).sum() * 3


def early(x):
    if x.sum() > 0:
        return x * x
    return x.sum() * 2


def early_three(x):
    if x.sum() > 3:
        return x * x
    if x.sum() > 0:
        return x.sum() * 2
    return ops.expand_dims(x, 0) * x


def three_arms(x):
    if x.sum() > 3:
        y = x * x
    elif x.sum() > 0:
        y = x.sum() * 2
    else:
        y = ops.expand_dims(x, 0) * x
    return y + 1


def nested(x):
    if x.sum() > 0:
        if x[0] > 1:
            y = x * 3
        else:
            y = x.sum()
    else:
        y = ops.stack([x, x * x])
    return ops.tanh(y) * y


def two(x):
    if x.sum() > 0:
        y, z = x * 2, ops.stack([x, x * x])
    else:
        y, z = x.sum(), x * 3
    return y, z, z * y


def two_matmul(x):
    if x.sum() > 0:
        y, z = x * 2, ops.stack([x, x * x])
    else:
        y, z = ops.stack([x, x * x], 1), x * 3
    return z @ y


def in_while(x):
    s = x.sum() * 0
    i = 0
    while i < 3 and s < 100:
        if x.sum() + s > i:
            y = x * s
        else:
            y = x.sum()
        s = s + ops.sin(y).sum() + 1
        i = i + 1
    return s


def carried(x):
    y = x * 2
    s = x.sum() * 0
    while s < 3:
        if s > 1:
            y = y.sum() + x.sum()
        s = s + 1
    return y * 2


def carried_down(x):
    y = ops.stack([x, x * x])
    s = x.sum() * 0
    while y.ndim > 1 or s < 2:
        y = y.sum(0)
        s = s + 1
    return y


def kept_for(x):
    y = x
    for i in range(30):
        if x.sum() * i > 10:
            y = y.mean()
        else:
            y = y * 1.01
    return y


def ranks(x):
    y = x if x.sum() > 0 else x.sum()
    if y.ndim == 1:
        return y[0] * y
    return y * 5


def ranks_number(x):
    y = x if x.sum() > 0 else x.sum()
    return y.ndim * x, y.size, y.ndim


def container(x):
    if x.sum() > 0:
        d = {"a": x, "b": (x * 2, 1)}
    else:
        d = {"a": x.sum(), "b": (x * 2, 2)}
    return d


def lists(x):
    out = [x]
    if x.sum() > 0:
        out[0] = x.sum()
    return [out[0] * 2, x]


def stacked(x):
    y = x if x.sum() > 0 else x.sum()
    return ops.stack([y, y * 2])


def _g(y):
    return (y * y).sum() if y.ndim else y * 7


def called(x):
    y = x if x.sum() > 0 else x.sum()
    return _g(y)


def inner_grad(x):
    y = x * 2 if x.sum() > 0 else x.sum()
    return grad(lambda w: (w * w * x).sum())(y)


def inner_grad_result(x):
    return grad(lambda w: w * w if w.sum() > 0 else (w * w * w).sum())(x)


def inner_vg(x):
    v, d = ms.value_and_grad(lambda w: w * w if w.sum() > 0 else (w * w * w).sum())(x)
    return v, d


def aux(x):
    def of(w):
        return (w * w).sum(), w * w if w.sum() > 0 else (w * w * w).sum()

    (_, a), d = ms.value_and_grad(of, has_aux=True)(x)
    return a * 2, d


def written(x):
    y = x * 2 if x.sum() > 0 else ops.stack([x, x])
    y[0] = 5.0
    return y * 2


def aliased(x):
    z = x * 1
    y = z if x.sum() > 0 else ops.stack([x, x])
    z[0] = 5.0
    return y * 2


def aliased2(x):
    z = x * 1
    y = z if x.sum() > 0 else ops.stack([x, x])
    y[0] = 5.0
    return z, y


def shape(x):
    y = x if x.sum() > 0 else x.sum()
    return y.reshape(-1), y.dtype == x.dtype, isinstance(y, Tensor)


def joined_again(x):
    y = x if x.sum() > 0 else x.sum()
    if x[0] > 1:
        y = y * 2
    return y + 1


def joined_again3(x):
    y = x if x.sum() > 0 else x.sum()
    if x[0] > 1:
        y = ops.stack([x, x])
    return y * y


def masked(x):
    y = x[x > 0] if x.sum() > 0 else ops.stack([x, x])
    return y * 2


def neg(x):
    y = x * 1 if x.sum() > 0 else x.sum()
    return -y + abs(y) + 2**y - y.T


def method(x):
    y = x * 1 if x.sum() > 0 else x.sum()
    return y.exp().sum() + y.mean() + x.add(y).sum() + ops.add(x, y).sum() + x.max()


def iterated(x):
    y = ops.stack([x, x * x]) if x.sum() > 0 else x
    s = 0
    for r in y:
        s = s + r.sum()
    return s


def where(x):
    y = x if x.sum() > 0 else x.sum()
    return ops.where(y > 0.5, y, x)


FUNCTIONS = [
    plain, summed, early, early_three, three_arms, nested, two, two_matmul, in_while,
    kept_for, ranks, ranks_number, container, lists, stacked, called, inner_grad, inner_grad_result, inner_vg,
    aux, written, aliased, aliased2, shape, joined_again, joined_again3, masked, neg, method, iterated,
    where,
]  # fmt: skip


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_values_and_derivatives_are_those_of_eager_mode(fn):
    agree_with_derivatives(fn, ARGUMENTS)


def test_an_attribute_may_change_its_rank():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.buffer = Tensor([1.0, 2.0])

        def construct(self, x):
            if x[0] > 0:
                self.buffer = x.sum() + self.buffer
            else:
                self.buffer = x.sum()
            return x * self.buffer

    eager, net = Net(), Net()
    compiled = jit(net)
    for x in ARGUMENTS:
        same_results(compiled(Tensor(x)), eager(Tensor(x)))
        same_results(net.buffer, eager.buffer)


def test_either_of_two_parameters():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor([2.0, 3.0]), name="w")
            self.b = ms.Parameter(Tensor(2.0), name="b")

        def construct(self, x):
            return (self.w if x.sum() > 0 else self.b) * x

    net = Net()
    compiled = jit(net)
    weights = net.trainable_params()
    for x in map(Tensor, ARGUMENTS):
        expected = ms.value_and_grad(lambda x: net(x).sum(), 0, weights=weights)(x)
        same_results(ms.value_and_grad(lambda x: compiled(x).sum(), 0, weights=weights)(x), expected)


def test_shapes_that_fit_one_rank_only_are_an_error_where_the_other_comes():
    def f(x):
        y = x if x.sum() > 0 else x.sum()
        return y @ x

    compiled = jit(f)
    same_results(compiled(Tensor([1.0, 2.0])), f(Tensor([1.0, 2.0])))
    for run in (compiled, f):
        with pytest.raises(ValueError, match="matmul needs at least one dimension"):
            run(Tensor([-1.0, -2.0]))


def test_shapes_that_fit_no_rank_are_refused_while_compiling():
    def f(x):
        y = x if x.sum() > 0 else ops.stack([x, x])
        return y @ ops.ones((3, 3))

    with pytest.raises(ms.ShapeError):
        jit(f).lower(Tensor([1.0, 2.0]))


def _written_on_the_way(x):
    z = x * 1
    if x.sum() > 0:
        z[0] = 3.0
        y = z
    else:
        y = x.sum()
    return y


class _WithRule(nn.Cell):
    def construct(self, x):
        return plain(x)

    def bprop(self, x, out, dout):
        return (dout.sum() * x,)


def _pick(x):
    return x * 2 if x.sum() > 0 else x.sum()


def _pulled(x):
    y, pull = ms.vjp(_pick, x)
    return pull(y)


def _hooked(x):
    y = _pick(x)
    y.register_hook(lambda g: g * 2)
    return y


def _of_more_than_four_ranks(x):
    y = x
    while y.sum() < 50:
        y = ops.expand_dims(y, 0) * 2
    return y


@pytest.mark.parametrize(
    ("fn", "code"),
    [
        (_written_on_the_way, "AC1402"), (_pulled, "AC1402"), (_hooked, "AC1402"),
        (lambda x: _pick(x).shape, "AC1402"), (lambda x: f"{_pick(x)}", "AC1402"),
        (lambda x: ms.vmap(lambda v: x if v > 0 else v)(x), "AC1402"), (_of_more_than_four_ranks, "AC1406"),
        (carried, "AC1402"), (carried_down, "AC1406"),
        (lambda x: x if x.sum() > 0 else x.sum().astype(ms.float16), "AC1401"),
    ],
)  # fmt: skip
def test_what_needs_the_rank_is_refused(fn, code):
    with pytest.raises(ms.CompileError) as caught:
        jit(fn)(Tensor([1.0, 2.0]))
    assert caught.value.code == code
    assert caught.value.spans[0][0].file.endswith("test_branches_of_ranks.py")


def test_a_rule_of_the_users_is_refused():
    with pytest.raises(ms.CompileError) as caught:
        jit(grad(_WithRule()))(Tensor([1.0, 2.0]))
    assert caught.value.code == "AC1402"
