"""Users' rules around and in loops are asked where, and only where, a cotangent reaches them, as in eager code."""

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.jit.machine import why_not

WAYS = [None] + [
    (b, o, u) for b in ("native", "numpy") for o, u in ((0, 2), (2, 2), (2, 8)) if b == "numpy" or not why_not()
]
X = [1.0, -2.0]

add100 = ops.InsertGradientOf(lambda g: g + 100)


@pytest.fixture(params=WAYS, ids=lambda way: "eager" if way is None else "-".join(map(str, way)))
def slope(request):
    def run(f, n):
        g = ms.grad(f)
        if request.param is not None:
            backend, level, limit = request.param
            g = ms.jit(g, backend=backend, optimize=level, unroll_limit=limit)
        return g(Tensor(X), ms.mutable(n)).tolist()

    return run


def only_the_last_trip(x, n):
    v = x * 1
    for _ in range(4):
        v = add100(x * 2)
    return v.sum()


def only_the_last_of_some(x, n):
    v = x * 1
    for _ in range(n):
        v = add100(x * 2)
    return v.sum()


def replaced_before_it_is_used(x, n):
    v = add100(x)
    for _ in range(n):
        v = x * 2
    return v.sum()


def two_trips_behind(x, n):
    a, b = x * 1, x * 1
    for _ in range(n):
        a, b = b, add100(x * 3)
    return a.sum()


def kept_on_one_path(x, n):
    v = add100(x)
    for i in range(n):
        if i == 2:
            v = x * 2
    return v.sum()


def edited_on_one_path(x, n):
    v = x * 1
    for i in range(n):
        if i > 1:
            v = add100(v)
    return v.sum()


def not_in_the_end(x, n):
    """The last `h` is used nowhere."""
    h, s = x * 1, x * 0
    for _ in range(n):
        s = s + h
        h = add100(h)
    return s.sum()


def from_before_on_no_path(x, n):
    y, s = add100(x), x.sum() * 1
    for i in range(n):
        if i > 2:
            s = s + y.sum()
    return s


def loop_in_a_loop(x, n):
    v = x * 1
    for i in range(n):
        for _ in range(i):
            v = add100(x * 2)
    return v.sum()


def while_loop(x, n):
    v, i = x * 1, 0
    while i < n:
        v = add100(x * 2)
        i = i + 1
    return v.sum()


def loop_on_one_path(x, n):
    v, s = x * 1, x.sum() * 1
    for _ in range(3):
        v = add100(v * 2)
    if n > 1:
        s = s + v.sum()
    return s


def edited_in_every_trip(x, n):
    v = x * 1
    for _ in range(n):
        v = add100(v)
    return v.sum()


# By hand: a value y = k * x that is edited once gives k * (1 + 100), one that is not gives k, what is not used nothing.
PROGRAMS = [
    (only_the_last_trip, lambda n: 202),
    (only_the_last_of_some, lambda n: 202 if n else 1),
    (replaced_before_it_is_used, lambda n: 2 if n else 101),
    (two_trips_behind, lambda n: 303 if n > 1 else 1),
    (kept_on_one_path, lambda n: 2 if n > 2 else 101),
    (edited_on_one_path, lambda n: 1 + 100 * max(n - 2, 0)),
    (not_in_the_end, lambda n: _of_states(n)),
    (from_before_on_no_path, lambda n: 1 + (n - 3 + 100 if n > 3 else 0)),
    (loop_in_a_loop, lambda n: 202 if n > 1 else 1),
    (while_loop, lambda n: 202 if n else 1),
    (loop_on_one_path, lambda n: 1 + (((1 + 100) * 2 + 100) * 2 + 100) * 2 if n > 1 else 1),
    (edited_in_every_trip, lambda n: 1 + 100 * n),
]


def _of_states(n):
    """The derivative by h of what the trips add up: g = 1 in the last, edited and raised by 1 in each one before."""
    g = 0
    for trip in reversed(range(n)):
        g = (g + 100 if trip < n - 1 else 0) + 1
    return g


@pytest.mark.some(3)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
@pytest.mark.parametrize(("f", "expected"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_a_rule_is_asked_where_a_cotangent_is_given(slope, f, expected, n):
    assert slope(f, n) == [expected(n)] * 2
