"""Loops that change some elements of an array in each trip, also in arms of an `if` and in loops inside: in place."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor
from autodiff_compiler.backends.native.jit.machine import why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


# ----------------------------------------------------------------- the same text for Tensors and for arrays of NumPy
def one_arm(y, v, n):
    for i in range(n):
        if v[i] > 0:
            y[i] = v[i] * 2
    return y


def one_if_after_another(y, v, n):
    for i in range(n):
        if v[i] > 0:
            y[i] = v[i] * 2
        if v[i] > 1:
            y[i + 1] = v[i]
        else:
            y[0] = v[i]
        if v[i] < 2:
            y[i] = 5
    return y


def both_arms(y, v, n):
    for i in range(n):
        if v[i] > 0:
            y[i] = v[i]
        else:
            y[7 - i] = v[i] * 3
    return y


def arms_in_arms(y, v, n):
    for i in range(n):
        if v[i] > 0:
            if v[i] > 1:
                y[i] = v[i]
                y[0] = v[i] + 1
        elif v[i] < -1:
            y[i + 1] = v[i]
        else:
            y[i] = v[0]
    return y


def before_and_after(y, v, n):
    for i in range(n):
        y[0] = v[i]
        if v[i] > 0:
            y[i] = v[i] * 2
        y[i + 1] = v[i] - 1
    return y


def loops_inside(y, v, n):
    for i in range(n):
        y[i] = v[i]
        for j in range(n):
            if v[j] > v[i]:
                y[j + 1] = v[i] * v[j]
    return y


def a_loop_in_an_arm(y, v, n):
    for i in range(n):
        if v[i] > 0:
            for j in range(n):
                y[j] = v[i] + v[j]
        else:
            y[i] = v[i]
    return y


def no_trip_inside(y, v, n):
    for i in range(n):
        for j in range(i):
            y[j] = v[i]
    return y


def reads_itself(y, v, n):
    for i in range(n):
        if v[i] > 0:
            y[i] = y[i + 1] * 2 + v[i]
    return y


def old_one_is_read(y, v, n):
    s = y.sum()
    for i in range(n):
        old = y * 1
        if v[i] > 0:
            y[i] = v[i] * 2
        s = s + (old * y).sum()
    return s


def the_other_arm_makes_all_of_it(y, v, n):
    for i in range(n):
        if v[i] > 0:
            y[i] = v[i]
        else:
            y = y[::-1] * 1
    return y


def old_one_goes_on(y, v, n):
    w = y * 0
    for i in range(n):
        z = y * 1
        if v[i] > 0:
            z[i] = v[i]
        w, y = y, z
    return w + y * 100


def taken_from_the_first(y, v, n):
    first = y * 1
    z = first * 1
    for i in range(n):
        if v[i] > 0:
            z[i] = first[i + 1]
    return z + first


FORMS = [
    one_arm, one_if_after_another, both_arms, arms_in_arms, before_and_after, loops_inside, a_loop_in_an_arm,
    no_trip_inside, reads_itself, old_one_is_read, the_other_arm_makes_all_of_it, old_one_goes_on, taken_from_the_first,
]  # fmt: skip
V = np.array([1.5, -2.0, 0.5, -0.5, 3.0, 1.0, -4.0, 2.0])


@pytest.mark.some(4)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("f", FORMS, ids=lambda f: f.__name__)
def test_as_python_does_it(f, dtype):
    """Twice, as memory is used again; what was given stays as it is."""
    y, v = np.arange(9, dtype=dtype), V.astype(dtype)

    @ms.jit(unroll_max=1, backend="native")
    def compiled(y, v, n):
        return f(y * 1, v, n)

    for n in (0, 1, 7, 8):
        wanted = f(y.copy(), v, n)
        for _ in range(2):
            given = Tensor(y)
            np.testing.assert_array_equal(compiled(given, Tensor(v), ms.mutable(n)).asnumpy(), wanted)
            np.testing.assert_array_equal(given.asnumpy(), np.arange(9, dtype=dtype))


def test_a_parameter_is_as_python_leaves_it():
    """Its elements are written where they are, or at the end: nobody can tell."""
    p = Parameter(Tensor(np.zeros(9)), name="p")

    @ms.jit(unroll_max=1, backend="native")
    def step(v, n):
        for i in range(n):
            if v[i] > 0:
                p[i] = v[i]
        return p.sum()

    wanted = np.zeros(9)
    for n, v in ((8, V), (0, -V), (8, -V), (3, V + 1)):
        wanted[:n] = np.where(v[:n] > 0, v[:n], wanted[:n])
        assert step(Tensor(v), ms.mutable(n)).asnumpy() == pytest.approx(wanted.sum())
        np.testing.assert_allclose(p.asnumpy(), wanted)


# ------------------------------------------------------------------------------------------------- what a trip costs
def where_positive(x, n):
    s = x.sum() * 0
    for i in range(n):
        if x[i] > 0:
            s = s + x[i] * x[i]
    return s


def diagonal(x, n):
    s = x.sum() * 0
    for i in range(n):
        s = s + x[i, i] * x[i, 1]
    return s


def all_places(x, n):
    s = x.sum() * 0
    for i in range(n):
        for j in range(3):
            if i > j:
                s = s + (x[i, j] * x[i, 1:3]).sum()
    return s


def of_where_positive(x, n):
    return 2 * x * (x > 0) * (np.arange(len(x)) < n)


def of_diagonal(x, n):
    g, i = np.zeros_like(x), np.arange(n)
    np.add.at(g, (i, i), x[i, 1])
    np.add.at(g, (i, np.ones(n, int)), x[i, i])
    return g


def of_all_places(x, n):
    g = np.zeros_like(x)
    for i in range(n):
        for j in range(min(i, 3)):
            g[i, j] += x[i, 1:3].sum()
            g[i, 1:3] += x[i, j]
    return g


WAYS_BACK = [
    (where_positive, of_where_positive, (50,), (5000,)),
    (diagonal, of_diagonal, (9, 9), (90, 90)),
    (all_places, of_all_places, (9, 9), (90, 90)),
]
BY_NAME = pytest.mark.parametrize(("f", "closed", "small", "large"), WAYS_BACK, ids=[f.__name__ for f, *_ in WAYS_BACK])


@BY_NAME
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_the_way_back(f, closed, small, large, backend):
    for shape in (small, large):
        x = np.random.default_rng(1).standard_normal(shape)
        gradient = ms.jit(ms.grad(f), unroll_max=1, backend=backend)
        for n in (0, 1, 8):
            got = gradient(Tensor(x), ms.mutable(n)).asnumpy()
            np.testing.assert_allclose(got, closed(x, n), rtol=1e-12, atol=1e-12)


@BY_NAME
def test_a_trip_costs_what_it_reads(f, closed, small, large):
    """Operations and bytes of a trip do not depend on the size of the array."""
    found = []
    for shape in (small, large):
        artifact = ms.jit(ms.grad(f), unroll_max=1, backend="native").lower(Tensor(np.ones(shape)), ms.mutable(8))
        few, many = artifact.cost(trips=8), artifact.cost(trips=9)
        moved = [sum(line.read + line.written for line in cost.lines) for cost in (few, many)]
        found.append((many.flops - few.flops, moved[1] - moved[0]))
    assert found[0] == found[1]
    assert found[0][1] < 3000


@BY_NAME
def test_numpy_adds_in_place(f, closed, small, large):
    x = Tensor(np.ones([size * 10 for size in large]))  # of small arrays it makes copies
    code = str(ms.jit(ms.grad(f), unroll_max=1, backend="numpy").lower(x, ms.mutable(8)).code())
    assert " = _scatter_add_into(" in code
    assert " = _scatter_add(" not in code


def test_the_way_back_of_an_update():
    """Elements that a loop overwrites under a condition have no cotangent, the others keep theirs."""

    def f(x, v):
        y = x * 1.0
        for i in range(8):
            if v[i] > 0:
                y[i] = v[i] * x[i + 1]
        return (y * y).sum()

    x = np.arange(1.0, 10.0)
    written = np.append(V > 0, False)
    wanted = np.where(written, 0, 2 * x)
    wanted[1:] += np.where(V > 0, 2 * V * V * x[1:], 0)
    for backend in ("native", "numpy"):
        got = ms.jit(ms.grad(f), unroll_max=1, backend=backend)(Tensor(x), Tensor(V))
        np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-12)
