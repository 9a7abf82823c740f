"""The plan of the arena: what lies where, and that nothing is written over too early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.native.codegen.values import Buffer
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.native.memory.arena import place_buffers
from autodiff_compiler.backends.native.memory.poison import Apart

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 40))
W = RNG.standard_normal((40, 40)) / 40


# ------------------------------------------------------------------------------------------------ where buffers lie
def buffer(name: str, first: int, last: int, nbytes: int = 64) -> Buffer:
    return Buffer(name, nbytes, first, last)


def test_of_two_results_one_is_written_over_an_operand() -> None:
    old, one, two = buffer("old", 1, 3), buffer("one", 3, 5), buffer("two", 3, 3)
    one.over[old, 3] = two.over[old, 3] = None
    places, end = place_buffers([old, one, two], 0)
    assert places[old] == places[one] != places[two]
    assert end == 128


def test_an_operand_that_is_needed_later_is_not_written_over() -> None:
    old, new = buffer("old", 1, 4), buffer("new", 3, 5)
    new.over[old, 3] = None
    places, _ = place_buffers([old, new], 0)
    assert places[old] != places[new]


def test_before_an_arm_writes_it_a_buffer_has_no_place() -> None:
    both, inside = buffer("both", 2, 9), buffer("inside", 5, 6)
    both.gaps = [(4, 6)]
    assert both.spans == [(2, 3), (7, 9)]
    places, end = place_buffers([both, inside], 0)
    assert places[both] == places[inside]
    assert end == 64


# ------------------------------------------------------------------------------------------------ what is written over
class Program(NamedTuple):
    function: Callable[..., Any]
    #: The same over NumPy's arrays of float64.
    expected: Callable[..., Any]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def read_twice(x, w):
    y = ops.matmul(x, w)
    return ops.tanh(y) * y


def read_as_a_row(x, w):
    y = ops.matmul(x, w)
    return ops.tanh(y) + ops.broadcast_to(y[0], (40, 40))


def read_turned(x, w):
    y = ops.matmul(x, w)
    return ops.tanh(y) + ops.transpose(y, (1, 0))


def read_shifted(x, w):
    y = ops.matmul(x, w)
    return ops.matmul(ops.tanh(y[1:]) + y[:-1], w)


def read_later(x, w):
    y = ops.matmul(x, w)
    return ops.matmul(ops.tanh(y), w) + y


def read_through_a_view(x, w):
    y = ops.matmul(x, w)
    view = ops.reshape(y, (1600,))
    z = ops.matmul(ops.tanh(y), w)
    return z + ops.reshape(view, (40, 40))


def two_results(x, w):
    y = ops.matmul(x, w)
    return ops.matmul(ops.tanh(y), w) + ops.matmul(ops.sin(y), w)


def by_rows(x, w):
    y = ops.matmul(x, w)
    return ops.matmul(ops.softmax(y, -1), w)


def of_another_type(x, w):
    y = ops.matmul(x, w)
    return ops.matmul((y > 0).astype(ms.float64), w)


def returned_too(x, w):
    y = ops.matmul(x, w)
    return y, ops.tanh(y)


def in_an_arm(x, w):
    y = ops.matmul(x, w)
    if x[0, 0] > 0:
        z = ops.tanh(ops.matmul(y, w))
    elif x[0, 1] > 0:
        z = y
    else:
        z = ops.matmul(ops.sin(y), w)
    return ops.matmul(z, w) + z


def kept_beside_an_arm(x, w):
    y = ops.matmul(x, w)
    z = ops.tanh(y)
    if x[0, 0] > 0:
        z = ops.sin(y) + z
    return ops.matmul(z, w) + y


def handed_on(x, w):
    y = ops.matmul(x, w)
    if x[0, 0] > 0:
        y = ops.tanh(ops.matmul(x, w) + 1.0)
    return ops.matmul(y, w)


def read_by_one_arm(x, w):
    y, z = ops.matmul(x, w), ops.matmul(w, x)
    if x[0, 0] > 0:
        z = ops.tanh(ops.matmul(z, w))
    elif x[0, 1] > 0:
        z = ops.matmul(ops.sin(z), x)
    else:
        z = z + y
    return ops.matmul(z, w)


def either_of_two(x, w):
    y, z = ops.matmul(x, w), ops.matmul(w, x)
    one = y if x[0, 0] > 0 else z
    two = ops.tanh(ops.matmul(one, w)) if x[0, 1] > 0 else one
    return ops.matmul(ops.tanh(one), w) + two


def one_of_two_is_kept(x, w):
    y, z = ops.matmul(x, w), ops.matmul(w, x)
    one = y if x[0, 0] > 0 else z
    if x[0, 1] > 0:
        one = ops.sin(one)
    return ops.matmul(one, w) + y


def one_array_under_two_names(x, w):
    y, z = ops.matmul(x, w), ops.matmul(w, x)
    if x[0, 0] > 0:
        y = z = ops.tanh(ops.matmul(z, w))
    if x[0, 1] > 0:
        y = ops.matmul(ops.sin(y), w)
    return ops.matmul(z, w) - 2.0 * y


def found_in_arms(x, w):
    """What a function that returns early becomes: the result, and whether there is one, go from `if` to `if`."""
    y = ops.matmul(x, w)
    found = x[0, 0] > 0
    z = ops.tanh(y) if found else y
    if not found:
        y = ops.matmul(ops.sin(y), w)
        also = x[0, 1] > 0
        if also:
            z = y * 3.0
        if not also:
            z = ops.matmul(y, x) + ops.tanh(y)
    return ops.matmul(z, w)


def seen_turned_after_an_arm(x, w):
    y = ops.matmul(x, w)
    if x[0, 0] > 0:
        y = ops.tanh(ops.matmul(y, w))
    elif x[0, 1] > 0:
        y = ops.sin(y)
    turned = ops.transpose(y, (1, 0))
    return ops.matmul(y + 1.0, w) + turned


def carried(x, w, n):
    y = ops.matmul(x, w)
    for _ in range(int(n)):
        y = ops.tanh(ops.matmul(y, w))
    return ops.matmul(y, w)


def carried_and_kept(x, w, n):
    y = z = ops.matmul(x, w)
    for _ in range(int(n)):
        z = ops.tanh(z) + y
    return ops.matmul(z, w) + y


def carried_under_two_names(x, w, n):
    y = z = ops.matmul(x, w)
    for _ in range(int(n)):
        y = ops.tanh(y)
        z = ops.sin(z) + y
    return ops.matmul(y, w) + z


def carried_and_seen_through_a_view(x, w, n):
    y = ops.matmul(x, w)
    turned = ops.transpose(y, (1, 0))
    for _ in range(int(n)):
        y = ops.tanh(y) + turned
    return ops.matmul(y, w)


def carries_change_places(x, w, n):
    y, z = ops.matmul(x, w), ops.matmul(w, x)
    for _ in range(int(n)):
        y, z = z, ops.tanh(ops.matmul(y, w))
    return y - 2.0 * z


def read_after_the_next_version(x, w, n):
    y, total = ops.matmul(x, w), ops.matmul(w, x)
    for _ in range(int(n)):
        following = ops.tanh(ops.matmul(y, w))
        total = total + y * following
        y = following
    return total + y


def read_by_an_arm_of_some_trip(x, w, n):
    y, z = ops.matmul(x, w), ops.matmul(w, x)
    for i in range(int(n)):
        if i % 2 == 0:
            y = ops.tanh(ops.matmul(y, w))
        else:
            y = ops.sin(y) + z
    return ops.matmul(y, w)


def made_by_an_arm_of_a_trip(x, w, n):
    y, total = ops.matmul(x, w), ops.matmul(w, x)
    for i in range(int(n)):
        z = ops.matmul(y, w)
        if i % 3 == 1:
            z = ops.tanh(ops.matmul(z, x))
        elif i % 3 == 2:
            z = z + y
        total = total + ops.sin(z)
        y = z
    return total + ops.matmul(y, w)


def a_loop_in_a_loop(x, w, n):
    y = ops.matmul(x, w)
    for _ in range(int(n)):
        z = ops.matmul(y, w)
        for _ in range(int(n)):
            z = ops.tanh(z) + y
        y = z
    return ops.matmul(y, w)


def from_a_constant(x, w, n):
    y = ops.zeros_like(x)
    for _ in range(int(n)):
        y = ops.tanh(ops.matmul(y, w) + x)
    return ops.matmul(y, w)


def _in_an_arm(x, w):
    y = x @ w
    z = np.tanh(y @ w) if x[0, 0] > 0 else y if x[0, 1] > 0 else np.sin(y) @ w
    return z @ w + z


def _read_by_one_arm(x, w):
    y, z = x @ w, w @ x
    z = np.tanh(z @ w) if x[0, 0] > 0 else np.sin(z) @ x if x[0, 1] > 0 else z + y
    return z @ w


def _either_of_two(x, w):
    one = x @ w if x[0, 0] > 0 else w @ x
    return np.tanh(one) @ w + (np.tanh(one @ w) if x[0, 1] > 0 else one)


def _one_of_two_is_kept(x, w):
    one = x @ w if x[0, 0] > 0 else w @ x
    return (np.sin(one) if x[0, 1] > 0 else one) @ w + x @ w


def _one_array_under_two_names(x, w):
    y, z = x @ w, w @ x
    if x[0, 0] > 0:
        y = z = np.tanh(z @ w)
    return z @ w - 2.0 * (np.sin(y) @ w if x[0, 1] > 0 else y)


def _found_in_arms(x, w):
    y = x @ w
    if x[0, 0] > 0:
        return np.tanh(y) @ w
    y = np.sin(y) @ w
    return (y * 3.0 if x[0, 1] > 0 else y @ x + np.tanh(y)) @ w


def _seen_turned_after_an_arm(x, w):
    y = x @ w
    y = np.tanh(y @ w) if x[0, 0] > 0 else np.sin(y) if x[0, 1] > 0 else y
    return (y + 1.0) @ w + y.T


def _read_by_an_arm_of_some_trip(x, w, n):
    y, z = x @ w, w @ x
    for i in range(n):
        y = np.tanh(y @ w) if i % 2 == 0 else np.sin(y) + z
    return y @ w


def _made_by_an_arm_of_a_trip(x, w, n):
    y, total = x @ w, w @ x
    for i in range(n):
        z = y @ w
        z = np.tanh(z @ x) if i % 3 == 1 else z + y if i % 3 == 2 else z
        y, total = z, total + np.sin(z)
    return total + y @ w


def _repeated(step: Callable[..., Any], end: Callable[..., Any]) -> Callable[..., Any]:
    """`step(state, x, w)` so many times from the product on, written twice into the state; `end` makes the result."""

    def run(x, w, n):
        state = (x @ w, x @ w)
        for _ in range(n):
            state = step(state, x, w)
        return end(state, x, w)

    return run


def _change_places(x, w, n):
    y, z = x @ w, w @ x
    for _ in range(n):
        y, z = z, np.tanh(y @ w)
    return y - 2.0 * z


def _after_the_next(x, w, n):
    y, total = x @ w, w @ x
    for _ in range(n):
        following = np.tanh(y @ w)
        y, total = following, total + y * following
    return total + y


def _loop_in_a_loop(x, w, n):
    y = x @ w
    for _ in range(n):
        z = y @ w
        for _ in range(n):
            z = np.tanh(z) + y
        y = z
    return y @ w


def _from_a_constant(x, w, n):
    y = np.zeros_like(x)
    for _ in range(n):
        y = np.tanh(y @ w + x)
    return y @ w


STRAIGHT = [
    Program(read_twice, lambda x, w: np.tanh(x @ w) * (x @ w)),
    Program(read_as_a_row, lambda x, w: np.tanh(x @ w) + (x @ w)[0]),
    Program(read_turned, lambda x, w: np.tanh(x @ w) + (x @ w).T),
    Program(read_shifted, lambda x, w: (np.tanh((x @ w)[1:]) + (x @ w)[:-1]) @ w),
    Program(read_later, lambda x, w: np.tanh(x @ w) @ w + x @ w),
    Program(read_through_a_view, lambda x, w: np.tanh(x @ w) @ w + x @ w),
    Program(two_results, lambda x, w: np.tanh(x @ w) @ w + np.sin(x @ w) @ w),
    Program(by_rows, lambda x, w: _softmax(x @ w) @ w),
    Program(of_another_type, lambda x, w: (x @ w > 0).astype(np.float64) @ w),
    Program(returned_too, lambda x, w: (x @ w, np.tanh(x @ w))),
    Program(in_an_arm, _in_an_arm),
    Program(kept_beside_an_arm, lambda x, w: (np.tanh(x @ w) + (np.sin(x @ w) if x[0, 0] > 0 else 0.0)) @ w + x @ w),
    Program(handed_on, lambda x, w: (np.tanh(x @ w + 1.0) if x[0, 0] > 0 else x @ w) @ w),
    Program(read_by_one_arm, _read_by_one_arm),
    Program(either_of_two, _either_of_two),
    Program(one_of_two_is_kept, _one_of_two_is_kept),
    Program(one_array_under_two_names, _one_array_under_two_names),
    Program(found_in_arms, _found_in_arms),
    Program(seen_turned_after_an_arm, _seen_turned_after_an_arm),
]
LOOPS = [
    Program(carried, _repeated(lambda s, x, w: (np.tanh(s[0] @ w), s[1]), lambda s, x, w: s[0] @ w)),
    Program(carried_and_kept, _repeated(lambda s, x, w: (np.tanh(s[0]) + s[1], s[1]), lambda s, x, w: s[0] @ w + s[1])),
    Program(
        carried_under_two_names,
        _repeated(lambda s, x, w: (np.tanh(s[0]), np.sin(s[1]) + np.tanh(s[0])), lambda s, x, w: s[0] @ w + s[1]),
    ),
    Program(
        carried_and_seen_through_a_view,
        _repeated(lambda s, x, w: (np.tanh(s[0]) + s[1].T, s[1]), lambda s, x, w: s[0] @ w),
    ),
    Program(carries_change_places, _change_places),
    Program(read_after_the_next_version, _after_the_next),
    Program(read_by_an_arm_of_some_trip, _read_by_an_arm_of_some_trip),
    Program(made_by_an_arm_of_a_trip, _made_by_an_arm_of_a_trip),
    Program(a_loop_in_a_loop, _loop_in_a_loop),
    Program(from_a_constant, _from_a_constant),
]


@pytest.fixture(params=["as it is", "full of NaN"])
def memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arena as it is, or filled with NaN before each call; in both cases buffers share it as planned."""
    if request.param == "as it is":
        return

    def shared(self: Apart, buffers: Any) -> dict[Buffer, int]:
        places, self.end = place_buffers(buffers, self.end)
        return places

    monkeypatch.setenv("AC_POISON", "1")
    monkeypatch.setattr(Apart, "buffers", shared)


def signs() -> list[np.ndarray]:
    """Arguments with which each arm runs."""
    found = []
    for first, second in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        x = X.copy()
        x[0, :2] = first, second
        found.append(x)
    return found


def numbers(found: Any) -> list[np.ndarray]:
    return [x.asnumpy() for x in (found if isinstance(found, tuple) else (found,))]


def agree(found: Any, expected: Any) -> None:
    for a, b in zip(numbers(found), expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.some(4)
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("program", STRAIGHT, ids=lambda p: p.function.__name__)
def test_nothing_is_written_over_too_early(program: Program) -> None:
    run = ms.jit(program.function, backend="native")
    for x in [*signs(), X]:
        agree(run(Tensor(x), Tensor(W)), program.expected(x, W))


@pytest.mark.some(2)
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("program", LOOPS, ids=lambda p: p.function.__name__)
def test_no_trip_writes_over_what_is_read_later(program: Program) -> None:
    run = ms.jit(program.function, backend="native")
    for n in (0, 1, 2, 3, 6):
        agree(run(Tensor(X), Tensor(W), Tensor(n)), program.expected(X, W, n))


@pytest.mark.some(8)
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("program", [*STRAIGHT, *LOOPS], ids=lambda p: p.function.__name__)
def test_what_is_kept_for_the_way_back_stays(program: Program) -> None:
    """Gradients by central differences of the formula in NumPy, along a direction."""
    more = (3,) if program in LOOPS else ()

    def total(x, w, *n):
        found = program.function(x, w, *n)
        return (found[0] * found[1]).sum() if isinstance(found, tuple) else (found * found).sum()

    def expected(x, w):
        found = program.expected(x, w, *more)
        return (found[0] * found[1]).sum() if isinstance(found, tuple) else (found * found).sum()

    run = ms.jit(ms.grad(total, (0, 1)), backend="native")
    dx, dw = RNG.standard_normal(X.shape), RNG.standard_normal(W.shape) / 40
    for x in signs():
        by_x, by_w = (g.asnumpy() for g in run(Tensor(x), Tensor(W), *map(Tensor, more)))
        slope = (expected(x + 1e-6 * dx, W + 1e-6 * dw) - expected(x - 1e-6 * dx, W - 1e-6 * dw)) / 2e-6
        np.testing.assert_allclose((by_x * dx).sum() + (by_w * dw).sum(), slope, rtol=2e-6, atol=1e-7)


@pytest.mark.usefixtures("memory")
def test_python_sees_values_before_they_are_written_over() -> None:
    seen: list[np.ndarray] = []

    def f(x, w):
        y = ops.matmul(x, w)
        ms.py_call(lambda a: seen.append(np.array(a)), y)
        return ops.matmul(ops.tanh(y), w)

    agree(ms.jit(f, backend="native")(Tensor(X), Tensor(W)), np.tanh(X @ W) @ W)
    np.testing.assert_allclose(seen[0], X @ W, rtol=1e-10)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("program", LOOPS, ids=lambda p: p.function.__name__)
def test_arguments_stay(program: Program) -> None:
    x, w = Tensor(X), Tensor(W)
    ms.jit(program.function, backend="native")(x, w, Tensor(3))
    np.testing.assert_array_equal(x.asnumpy(), X)
    np.testing.assert_array_equal(w.asnumpy(), W)
