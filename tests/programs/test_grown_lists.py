"""Lists whose length only run time knows, in compiled code: eager mode is the reference."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops
from tests.programs.same_results import agree_with_derivatives, same_results

#: Arguments for which the lists have two, one and one element more.
ARGUMENTS = ([1.0, 2.0], [-1.0, 3.0], [0.3, 0.1])


def _grow(x):
    out, h = [], x
    while h.sum() < 6:
        h = h * 1.3 + 1
        out.append(h)
    return out


def returned(x):
    out, h = [x], x
    while h.sum() < 6:
        h = h * 1.3 + 1
        out.append(h)
    return out


def returned_beside(x):
    out = _grow(x)
    return x * 2, out


def returned_dict(x):
    return {"a": _grow(x), "n": len(_grow(x))}


def enum(x):
    s = x * 0
    for i, h in enumerate(_grow(x)):
        s = s + h * i
    return s


def zipped(x):
    out = _grow(x)
    s = x * 0
    for a, b in zip(out, out):
        s = s * 0.5 + a * b
    return s


def zipped2(x):
    out = _grow(x)
    s = x * 0
    for a, b in zip(out, out[1:], strict=False):  # noqa: RUF007  (a slice is what is tested)
        s = s * 0.5 + a * b
    return s


def rev(x):
    s = x * 0
    for h in reversed(_grow(x)):
        s = s * 0.5 + h
    return s


def rev2(x):
    s = x * 0
    for h in _grow(x)[::-1]:
        s = s * 0.5 + h
    return s


def first(x):
    return _grow(x)[0] * 2 if len(_grow(x)) else x


def last(x):
    out = _grow(x)
    return out[-1] * out[0] if len(out) > 0 else x


def sl(x):
    return ops.stack([x] + _grow(x)[1:])


def sl2(x):
    out = _grow(x)[1:]
    return ops.cat(out) if len(out) else x


def summed(x):
    return sum(_grow(x)) * 2 + x


def summed2(x):
    return sum(_grow(x), x)


def popped(x):
    out = [x] + _grow(x)
    y = out.pop()
    return y * len(out) + sum(out)


def popped0(x):
    out = [x] + _grow(x)
    y = out.pop(0)
    return ops.stack(out + [y])


def inserted(x):
    out = _grow(x)
    out.insert(0, x)
    return ops.stack(out)


def extended(x):
    out = _grow(x)
    out.extend([x, x * 2])
    out.extend(_grow(x * 2))
    return ops.stack(out)


def cat(x):
    return ops.cat([x] + _grow(x))


def catm(x):
    return ops.cat([x] + _grow(x)).mean()


def mx(x):
    return x * max(len(_grow(x)), 1)


def numbers(x):
    out, h = [], x.sum()
    while h < 6:
        h = h * 1.3 + 1
        out.append(h)
    return ops.stack(out).mean() if out else x.sum()


def sum_numbers(x):
    out, h = [], x.sum()
    while h < 6:
        h = h * 1.3 + 1
        out.append(h)
    return sum(out) / max(len(out), 1)


def two_lists(x):
    a, b, h = [], [], x
    while h.sum() < 6:
        h = h * 1.3 + 1
        if h[0] > 2:
            a.append(h)
        else:
            b.append(h * 2)
    return ops.stack([x] + a), ops.stack([x] + b)


def cleared(x):
    out = _grow(x)
    out.clear()
    out.append(x)
    return ops.stack(out)


def backwards(x):
    out = _grow(x)
    out.reverse()
    return ops.stack([x] + out)


def assigned(x):
    out = [x] + _grow(x)
    out[0] = x * 5
    return ops.stack(out)


def assigned_last(x):
    out = [x] + _grow(x)
    out[-1] = x * 5
    return ops.stack(out)


def indexed(x):
    out = [x] + _grow(x)
    s = x * 0
    for i in range(len(out)):
        s = s * 0.5 + out[i]
    return s


def indexed2(x):
    out = [x] + _grow(x)
    s = x * 0
    i = len(out) - 1
    while i >= 0:
        s = s * 0.5 + out[i]
        i -= 1
    return s


def in_fn(x):
    def body(out, h):
        out.append(h)
        return h * 1.3 + 1

    out, h = [x], x
    while h.sum() < 6:
        h = body(out, h)
    return ops.stack(out)


def truth(x):
    out = _grow(x)
    return out[-1] if out else x * 3


def multiplied(x):
    return ops.stack([x] + _grow(x) * 2)


def stack_axis(x):
    return ops.stack([x] + _grow(x), axis=1)


def grown_in_branch(x):
    out = []
    if x.sum() > 0:
        out.append(x)
    if x.sum() > 1:
        out.append(x * 2)
    return out


def grown_for(x):
    out = []
    for i in range(int(x.sum() * x.sum())):
        out.append(x * i)
    return out


def mean_of(x):
    out = _grow(x)
    return ops.stack([x] + out).mean(0), len(out)


def grad_inside(x):
    return grad(lambda x: sum(_grow(x), x).sum())(x)


def grad_list(x):
    return grad(_grow)(x)


def while_list(x):
    out, s = [x], x
    while len(out) < 4 + x.sum() * 0:
        s = s * 1.1
        out.append(s)
    while len(out) > 1:
        s = s + out.pop()
    return s


def stack_queue(x):
    out, s = [x], x * 0
    while len(out) > 0 and s.sum() < 9:
        h = out.pop()
        s = s + h + 1
        out.append(h * 0.5)
    return s


FUNCTIONS = [
    enum, zipped, zipped2, rev, rev2, first, last, sl, sl2, summed, summed2, popped, popped0, inserted,
    extended, cat, catm, mx, numbers, sum_numbers, two_lists, cleared, backwards, assigned, assigned_last,
    indexed, indexed2, in_fn, truth, multiplied, stack_axis, mean_of, grad_inside, grad_list, while_list,
    stack_queue,
]  # fmt: skip
#: What returns such lists.
RETURNING = [returned, returned_beside, returned_dict, grown_in_branch, grown_for]


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_values_and_derivatives_are_those_of_eager_mode(fn):
    agree_with_derivatives(fn, ARGUMENTS)


@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.GradientWarning")  # of a list without elements
@pytest.mark.parametrize("fn", RETURNING)
def test_lists_are_returned_with_their_derivatives(fn):
    agree_with_derivatives(fn, ARGUMENTS, lists=True)


def test_one_list_returned_twice_is_one_list():
    def f(x):
        out = _grow(x)
        return out, out

    for found in (f(Tensor([1.0, 2.0])), jit(f)(Tensor([1.0, 2.0]))):
        assert found[0] is found[1]


def test_empty_lists():
    x = Tensor([4.0, 3.0])
    for fn in (returned, sl, popped0, inserted, mx, cat, summed2):
        same_results(jit(fn)(x), fn(x))
    assert jit(_grow)(x) == []
    with pytest.raises(ValueError, match="give it a Tensor to start with"):
        jit(summed)(x)
    for run in (_last, jit(_last)):
        with pytest.raises(IndexError):
            run(x)


def _last(x):
    return _grow(x).pop()


def test_what_is_stored_must_have_the_type_of_the_elements():
    def f(x):
        out = [x, x] + _grow(x)
        out[0] = x.sum()
        return out

    with pytest.raises(ms.CompileError) as caught:
        jit(f)(Tensor([1.0, 2.0]))
    assert caught.value.code == "AC1504"


def test_an_example_of_a_vmap_cannot_return_such_a_list():
    with pytest.raises(TypeError, match="must return Tensors, not a list whose length"):
        jit(lambda x: ms.vmap(lambda v: _grow(v * x))(x))(Tensor([1.0, 2.0]))


def test_a_tensor_that_the_first_trip_has_added_cannot_be_changed_by_another_name():
    def f(x):
        out, h, g = [], x, x
        while h.sum() < 6:
            out.append(h)
            h = h * 1.5
        g[0] = 9.0
        return ops.stack(out)

    with pytest.raises(ms.SideEffectError, match="AC1602"):
        jit(f)(Tensor([1.0, 2.0]))


def test_a_list_as_long_as_an_argument_shows_what_becomes_of_its_elements():
    def f(x, h):
        out, g = [], h
        for row in x:
            out.append(h)
            h = h * 0.5 + row
        g[0] = 9.0
        return ops.stack(out)

    rows = [Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 1.0])]
    same_results(jit(f, dynamic=True)(*[r.copy() for r in rows]), f(*[r.copy() for r in rows]))
