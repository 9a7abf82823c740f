"""Sizes that only the data know, in compiled code: eager mode and finite differences are the references."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, ops, value_and_grad
from tests.programs.compare import OTHERS
from tests.selection import is_one_in

SIZES = (0, 1, 2, 7)


def count_of(x):
    return int((x > 0).sum())


# ------------------------------------------------------------------------------------------------ one op
def mask(x):
    return x[x > 0] ** 2


def masks_of_one_size(x):
    return x[x > 0] * 2 + ops.sin(x)[x > 0]


def mask_of_rows(x):
    rows = ops.stack([x, x * x], -1)
    return rows[x > 0]


def mask_beside_others(x):
    rows = ops.stack([x, x * x], -1)
    return rows[:, None][x > 0, 0, 1:]


def mask_of_two_dimensions(x):
    rows = ops.stack([x, x * x], -1)
    return rows[rows > 0.5]


def masked_select(x):
    return ops.masked_select(x, x > 0)


def nonzero(x):
    return x[ops.nonzero(x > 0)[:, 0]] * 2


def nonzero_as_tuple(x):
    return ops.nonzero(x, as_tuple=True)[0] * x.sum()


def argwhere(x):
    return ops.argwhere(x > 0).sum() * x


def unique(x):
    values, places = ops.unique(ops.abs(x))
    return values[places] * values.sum()


def unique_sorted(x):
    values, places, counts = ops.floor(x * 1.5).unique(return_inverse=True, return_counts=True)
    return values[places] * x * counts.sum() + values.sum()


def unique_consecutive(x):
    values, places, counts = ops.unique_consecutive(ops.floor(x) + 0 * x, True, True)
    return values * counts * values.sum() + places.sum()


def repeated(x):
    counts = ops.cast(ops.abs(ops.floor(x)), ms.int64)
    return ops.repeat_interleave(x, counts) * x.sum()


def zeros(x):
    return ops.zeros((count_of(x), 2)) + x.sum()


def full(x):
    return ops.full((count_of(x),), 2.0) * x[: count_of(x)]


def numbers(x):
    return ops.arange(count_of(x)) * x.sum()


def numbers_between(x):
    return ops.arange(count_of(x), 3) * x.sum()


# ------------------------------------------------------------------------------------------------ slices
def prefix(x):
    return x[: count_of(x)] * 2


def suffix(x):
    return x[-count_of(x) :] * 2


def window(x):
    n = count_of(x)
    return x[n - 3 : n] * 2


def steps(x):
    return x[1 : count_of(x) : 2] * x.sum()


def bound_of_tensor(x):
    n = (x > 0).sum()
    return x[:n] * x[:n]


def slices_of_selected(x):
    return x[x > 0][1:] * x[x > 0][:-1]


def bound_of_size(x):
    k = len(x[x > 0])
    return x[k // 2 :] * k + x[:k].sum() + 0 * x[k - 3 :].sum()


def elements_of_selected(x):
    y = x[x > -5]
    return y[-1] * y[0] if len(y) else x.sum()


# ------------------------------------------------------------------------------------------------ assignment
def assigned(x):
    y = x * 2
    y[x > 0] = x[x > 0] * x[x > 0]
    return y


def changed(x):
    y = x * 2
    m = x > 0
    y[m] *= x[m]
    return y


def assigned_slice(x):
    n = count_of(x)
    y = x * 1
    y[:n] = x[:n] * x[:n]
    return y


# ------------------------------------------------------------------------------------------------ shapes meet
def broadcast_one(x):
    return x[x > 0] * x[x > 0][:1]


def broadcast_two(x):
    return ops.expand_dims(x[x > 0], 1) * x[x > -0.5]


def concatenated(x):
    return ops.cat([x[x > 0], x, x[x <= 0]])


def product(x):
    y = x[x > 0]
    return y.reshape(1, -1) @ y.reshape(-1, 1)


def sorted_and_summed(x):
    return ops.sort(x[x > 0])[0] * ops.cumsum(x[x > 0], 0)


# ------------------------------------------------------------------------------------------------ ints
def size_as_number(x):
    y = x[x > 0]
    return y * len(y) + y.shape[0]


def size_in_condition(x):
    y = x[x > 0]
    if len(y) > 2:
        return (y * y).sum()
    return y.sum()


def size_is_one(x):
    y = x[x > 0]
    return (y * y).sum() if len(y) == 1 else y.sum()


def loop_over_size(x):
    s = x.sum() * 0
    for i in range(len(x[x > 0])):
        s = s + ops.sin(x[0] * i)
    return s


def loop_over_selected(x):
    s = x.sum() * 0
    for v in x[x > 0]:
        s = s * v + v
    return s


# ------------------------------------------------------------------------------------------------ paths and loops
def branch_of_sizes(x):
    if x.sum() > 2:
        y = x[:2]
    else:
        y = x[:3]
    return y * x[:1]


def branch_of_joined(x):
    y = x
    if x.sum() > 0:
        y = ops.cat([x, x])
    return y * y


def branch_of_results(x):
    if x.sum() > 0:
        return x[x > 0] * 2
    return x[x < 0]


def branch_of_tuples(x):
    if x.sum() > 0:
        y = x[x > 0]
        z = (y, len(y))
    else:
        z = (x, 3)
    return z[0] * z[1]


def selected_in_branch(x):
    if x.sum() > 0:
        y = x[x > 0]
        return (y * y * y).sum()
    return x.sum()


def selected_in_loop(x):
    s = x.sum() * 0
    for _ in range(30):
        y = x[x > s * 0.01]
        s = s + ops.sin(y * s + y).sum()
    return s


def selected_in_while(x):
    s = x.sum() * 0
    while s < 5:
        y = x[x > s * 0.01]
        s = s + ops.sigmoid(y * s + y).sum() + 1
    return s


def shrinks(x):
    y = x * 1
    while len(y) > 1 and y.sum() > 1:
        y = y[y < y.max()]
    return y * 2


def shrinks_in_kept_for(x):
    y = x * 1
    for i in range(40):
        y = y[y * i < 25]
    return y * y


def grows(x):
    y = x[:1]
    for _ in range(int(ops.floor(x.sum() * x.sum()))):
        y = ops.cat([y, y[-1:] * x.sum()])
    return y


def size_is_carried(x):
    n = 0
    y = x
    while len(y) > 1:
        y = y[1:]
        n = n + len(y)
    return y * n


# ------------------------------------------------------------------------------------------------ lists
def list_of_while(x):
    out, h = [], x.sum()
    while h < 5:
        h = h + 1 + x.sum() * 0.1
        out.append(h * x)
    return ops.stack(out) if len(out) else x.reshape(1, -1)


def list_of_for(x):
    out = [x]
    for _ in range(int(ops.floor(x.sum() * x.sum())) + 1):
        out.append(out[-1] * x.sum() + 1)
    return ops.stack(out, 1)


def list_of_some_trips(x):
    out, h = [x], x.sum()
    while h < 4:
        h = h + 0.7
        if h > 1:
            out.append(x * h)
    return ops.cat(out) * len(out)


def list_extended_and_read(x):
    out, h = [x], x.sum()
    while h < 4:
        h = h + 1
        out += [x * h, x]
    s = x * 0
    for v in out:
        s = s * 0.5 + v
    return s + out[0] + out[-1]


def list_of_branch(x):
    out = [x * 2]
    if x.sum() > 0:
        out.append(x)
    return ops.stack(out).sum(0)


def list_in_dict(x):
    d = {"a": [x]}
    while d["a"][-1].sum() < 5:
        d["a"].append(d["a"][-1] * 1.2 + 1)
    return ops.stack(d["a"])


def list_bound_again(x):
    out, h = [], x
    while h.sum() < 5:
        h = h * 1.1 + 1
        out = out + [h]
    return ops.cat(out, axis=0) if out else x


def list_of_known_length(x):
    out = [x]
    for _ in range(30):
        out.append(out[-1] * 1.01)
    first, *rest = out
    return first + rest[-1] + len(rest)


# ------------------------------------------------------------------------------------------------ derivatives inside
def _half(x):
    return (x[x > 0] ** 2).sum(), x[x > 0]


def auxiliary(x):
    (_, a), d = value_and_grad(_half, has_aux=True)(x)
    return a * d[: len(a)] + a.shape[0]


def of_selected(x):
    return grad(lambda x: x[x > 0] * x[x > 0])(x)


def pulled(x):
    y, pull = ms.vjp(lambda x: x[x > 0] * x[x > 0], x)
    found = pull(y)
    return found[0] if isinstance(found, tuple) else found


def pushed(x):
    y, t = ms.jvp(lambda x: ops.sin(x[x > 0]), x, x * 2)
    return y * t


def jacobian(x):
    return ms.jacfwd(lambda x: (x[x > 0] ** 3).sum() + x)(x)


def vectorised(x):
    m = x > 0
    return ms.vmap(lambda v: (x[m] * v).sum())(x)


def vectorised_each(x):
    return ms.vmap(lambda v: x[x > v].sum())(x)


FUNCTIONS = [
    mask, masks_of_one_size, mask_of_rows, mask_beside_others, mask_of_two_dimensions, masked_select, nonzero,
    nonzero_as_tuple, argwhere, unique, unique_sorted, unique_consecutive, repeated, zeros, full, numbers,
    numbers_between, prefix, suffix, window, steps, bound_of_tensor, slices_of_selected, bound_of_size,
    elements_of_selected, assigned, changed, assigned_slice, broadcast_one, broadcast_two, concatenated, product,
    sorted_and_summed, size_as_number, size_in_condition, size_is_one, loop_over_size, loop_over_selected,
    branch_of_sizes, branch_of_joined, branch_of_results, branch_of_tuples, selected_in_branch, selected_in_loop,
    selected_in_while, shrinks, shrinks_in_kept_for, grows, size_is_carried, auxiliary, of_selected, pulled, pushed,
    jacobian, vectorised, vectorised_each, list_of_while, list_of_for, list_of_some_trips, list_extended_and_read,
    list_of_branch, list_in_dict, list_bound_again, list_of_known_length,
]  # fmt: skip
#: What does not end, or has no elements to begin with.
NOT_EMPTY = (list_in_dict, list_bound_again)


def _least(fn):
    """The number of the first of `SIZES` that the function takes."""
    return int(fn in (jacobian, vectorised, vectorised_each, *NOT_EMPTY))


def _example(n):
    return np.linspace(-1, 2, n)


def same(found, expected):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.some(2)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_values_and_derivatives_are_those_of_eager_mode(fn, n):
    if n not in SIZES[_least(fn) :]:
        pytest.skip("there is nothing to vectorise, or its loop does not end")
    x = Tensor(_example(n))

    def loss(x):
        y = fn(x)
        return (ops.sin(y) * y).sum()

    def of_gradient(x):
        return (grad(loss)(x) ** 2).sum()

    def of_compiled(x):
        y = jit(fn)(x)
        return (ops.sin(y) * y).sum()

    def of_its_gradient(x):
        return (grad(of_compiled)(x) ** 2).sum()

    same(jit(fn)(x), fn(x))
    first = grad(loss)(x)
    same(jit(grad(loss))(x), first)
    if not is_one_in(OTHERS):
        return
    second = grad(of_gradient)(x)
    same(grad(of_compiled)(x), first)
    same(jit(grad(of_gradient))(x), second)
    same(grad(of_its_gradient)(x), second)


#: What is no step function of `x` near the examples.
SMOOTH = [
    mask, masks_of_one_size, mask_of_rows, masked_select, repeated, prefix, window, slices_of_selected, assigned,
    changed, broadcast_two, concatenated, product, size_as_number, loop_over_selected, branch_of_joined,
    selected_in_branch, shrinks, grows, of_selected, pushed,
]  # fmt: skip


@pytest.mark.parametrize("fn", SMOOTH)
def test_gradients_are_finite_differences(fn):
    x, step = np.array([-0.7, 0.3, 1.1, 0.6, -0.2]), 1e-6

    def loss(x):
        y = fn(x)
        return (ops.sin(y) * y).sum()

    found = jit(grad(loss))(Tensor(x)).asnumpy()
    compiled = jit(loss)
    for i in range(len(x)):
        e = np.zeros_like(x)
        e[i] = step
        difference = (compiled(Tensor(x + e)).item() - compiled(Tensor(x - e)).item()) / (2 * step)
        assert found[i] == pytest.approx(difference, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_beside_sizes_that_only_a_call_knows(fn):
    def loss(x):
        y = fn(x)
        return (ops.sin(y) * y).sum()

    value, gradient = jit(fn, dynamic=True), jit(grad(loss), dynamic=True)
    for n in (3, *SIZES[_least(fn) :]):
        x = Tensor(_example(n))
        same(value(x), fn(x))
        same(gradient(x), grad(loss)(x))


def test_one_program_serves_all_sizes():
    f = jit(lambda x: x[x > 0] * 2, dynamic=True)
    for n in (3, 0, 1, 2, 7, 64):
        x = _example(n)
        assert f(Tensor(x)).tolist() == (x[x > 0] * 2).tolist()
    assert f.cache_info()["compiles"] == 1


def test_the_size_may_differ_from_call_to_call():
    f = jit(lambda x: x[x > 0].sum() * len(x[x > 0]))
    for x in ([1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]):
        kept = [v for v in x if v > 0]
        assert f(Tensor(x)).item() == sum(kept) * len(kept)
    assert f.cache_info()["compiles"] == 1
