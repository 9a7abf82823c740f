"""Which input a NaN is said to come from, and in which trip of an unrolled loop it was made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

from .test_rules import NAN, f32, message, way

__all__ = ["way"]


def stacked(x: Any, y: Any) -> Any:
    both = ops.stack([x, y])
    return both * 2


def written(x: Any, y: Any) -> Any:
    x = ops.exp(x)
    x[0] = y[1]
    return x * 2


MOVED = {
    "concat": lambda x, y: ops.concat([x, y]) * 2,
    "concat the other way": lambda x, y: ops.concat([y, x]) * 2,
    "stack": stacked,
    "where": lambda x, y: ops.where(x > 0, y, x) * 2,
    "gather": lambda x, y: ops.gather(ops.concat([x, y]), Tensor([0, 3]), 0) * 2,
}


@pytest.mark.parametrize("name", MOVED)
def test_a_finite_input_is_not_blamed(way: Any, name: str) -> None:
    text = message(way(MOVED[name]), f32(1, 2), f32(1, NAN))
    blamed = text.splitlines()[0].partition(" is NaN already")[0].partition("] ")[2].split(" or ")
    assert "input `y`" in blamed
    assert set(blamed) <= {"input `x`", "input `y`"}  # at least one of them is


@pytest.mark.parametrize("name", MOVED)
def test_eager_code_follows_the_numbers(name: str) -> None:
    assert "] input `y` is NaN already, and `mul` computes with it" in message(MOVED[name], f32(1, 2), f32(1, NAN))


def test_where_one_input_is_left_it_is_named(way: Any) -> None:
    padded = lambda x, y: ops.concat([ops.zeros((2,), ms.float32), y, ops.exp(x)]) * 2
    assert "] input `y` is NaN already" in message(way(padded), f32(1, 2), f32(1, NAN))
    assert "] input `y` is NaN already" in message(way(lambda x, y: y[1:] * 2), f32(1, 2), f32(1, NAN))


def test_what_was_written_into_a_result_is_no_fault_of_its_operand() -> None:
    assert "`mul` gives NaN" in message(written, f32(1, 2), f32(1, NAN))
    assert "] input `y` is NaN already" in message(ms.jit(written), f32(1, 2), f32(1, NAN))


def test_a_constant_that_was_chosen() -> None:
    def f(x: Any) -> Any:
        return ops.where(x > 1, NAN, ops.exp(x)) * 2

    for fn in (f, ms.jit(f)):
        assert "] a constant is NaN already" in message(fn, f32(1, 2))


def test_a_variable_of_the_function_is_no_input() -> None:
    def f(x: Any) -> Any:
        fresh = Tensor(np.array([NAN, 1], np.float32))
        return fresh * x

    assert "] `fresh` is NaN already" in message(f, f32(1, 2))


def test_many_inputs_are_not_listed() -> None:
    def f(a: Any, b: Any, c: Any, d: Any) -> Any:
        return ops.concat([a, b, c, d]) * 2

    assert "] `mul` gives NaN" in message(ms.jit(f), f32(1), f32(2), f32(3), f32(NAN))


# ------------------------------------------------------------------------------------------------ turns
def three_less(s: Any) -> Any:
    for i in range(5):
        s = s / (3 - i)
    return s


def two_less(s: Any) -> Any:
    for i in range(4):
        s = s / (2 - i)
    return s


def shares(s: Any, i: int) -> Any:
    return s / (2 - i)


def in_a_function(s: Any) -> Any:
    for i in range(4):
        s = shares(s, i)
    return s


def in_a_while(s: Any) -> Any:
    i = 0
    while i < 4:
        s = s / (2 - i)
        i += 1
    return s


def until_it_is_large(s: Any) -> Any:
    for i in range(6):
        s = s / (2 - i)
        if s.sum() > 100:
            break
    return s


def in_a_comprehension(s: Any) -> Any:
    return ops.stack([s / (2 - i) for i in range(4)])


def in_a_generator(s: Any) -> Any:
    return sum(s / (2 - i) for i in range(4))


def in_a_generator_of_some(s: Any) -> Any:
    return sum(s / (3 - i) for i in filter(lambda i: i != 1, range(4)))


def in_a_generator_from_an_iterator_that_was_begun(s: Any) -> Any:
    return sum(s / (3 - i) for one in [iter(range(4))] if next(one) == 0 for i in one)


def in_a_generator_that_goes_on_in_a_loop(s: Any) -> Any:
    parts = (s / (2 - i) for i in range(4))
    for part in parts:
        s = s + part
    return s


def in_a_map(s: Any) -> Any:
    return sum(map(lambda i: s / (2 - i), range(4)))


def in_a_map_of_a_function_of_ours(s: Any) -> Any:
    return sum(map(ops.log, [s, s, s * 0, s]))


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize(
    ("fn", "trip"),
    [
        (three_less, 3),
        (two_less, 2),
        (in_a_function, 2),
        (in_a_while, 2),
        (until_it_is_large, 2),
        (in_a_comprehension, 2),
        (in_a_generator, 2),
        (in_a_generator_of_some, 2),
        (in_a_generator_that_goes_on_in_a_loop, 2),
        (in_a_map, 2),
        (in_a_map_of_a_function_of_ours, 2),
    ],
)
def test_the_trip_of_an_unrolled_loop(fn: Any, trip: int, level: int) -> None:
    text = message(ms.jit(fn, optimize=level), f32(1, 2))  # the divisor is 0 in that trip
    line = fn.__code__.co_firstlineno + 1 + (fn is in_a_while)  # `i = 0` stands before
    assert f"in trip {trip} (the first is 0) of the loop at test_origins.py:{line}, which is unrolled" in text
    assert text.count("in trip") == 1


@pytest.mark.parametrize("level", [0, 2])
def test_the_trips_of_a_generator_with_two_clauses(level: int) -> None:
    text = message(ms.jit(in_a_generator_from_an_iterator_that_was_begun, optimize=level), f32(1, 2))
    assert [int(part.split()[0]) for part in text.split("in trip ")[1:]] == [2, 0]  # the innermost first; i is 3
    text = message(
        ms.jit(lambda s: sum(s / (4 - i * j) for i in range(3) for j in range(4)), optimize=level), f32(1, 2)
    )
    assert [int(part.split()[0]) for part in text.split("in trip ")[1:]] == [2, 2]


def test_overflow_in_the_third_turn() -> None:
    def f(x: Any) -> Any:
        for _ in range(4):
            x = x * x
        return x

    assert "in trip 2 (the first is 0)" in message(ms.jit(f), f32(1e6))  # 1e12, 1e24, overflow


def test_the_trips_of_loops_in_loops_and_of_a_derivative() -> None:
    def f(s: Any) -> Any:
        for i in range(3):
            for j in range(4):
                s = s / (5 - i - j)
        return s

    text = message(ms.jit(f), f32(1, 2))  # 5 = 2 + 3
    assert text.index("in trip 3") < text.index("in trip 2")

    def roots(x: Any) -> Any:
        total = x.sum()
        for i in range(4):
            total = total + ops.sqrt(x - i).sum()
        return total

    assert "in trip 3" in message(ms.jit(ms.grad(roots)), f32(3))


def test_the_first_trip_of_a_kept_loop_counts_where_it_is_unrolled() -> None:
    def f(x: Any) -> Any:
        before = None
        for i in range(20):
            before = x if before is None else before / (5 - i)
        return before

    compiled = ms.jit(f)
    assert "in trip 5 (the first is 0)" in message(compiled, f32(1, 2))
    with ms.check_nonfinite():
        assert " scan" in compiled.lower(f32(1, 2)).ir()  # else it is unrolled as a whole


def test_without_looking_for_it_no_turns_are_noted() -> None:
    def places(fn: Any) -> list[Any]:
        return [op.loc for op in fn.lower(f32(1, 2))._call.module("front").entry.body.ops]

    assert not any(loc.turn for loc in places(ms.jit(two_less)))
    assert any(loc.turn for loc in places(ms.jit(two_less, check_nonfinite=True)))
