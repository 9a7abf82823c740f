"""Every loop that the program has is among the loops that `explain` and the footers of dumps give reasons for."""

from __future__ import annotations

import re

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, nn, ops

X = TensorSpec("f32[3]")


def inner_on_a_new_tensor(x):
    while x.sum() > 1:
        step = Tensor(0.5)
        while step > 0.1:
            step = step * 0.5
        x = x - step
    return x


def inner_with_two_conditions(x):
    while x.sum() > 1:
        y = x.sum()
        while y > 3 and x.max() > 2:
            y = y - 1
        x = x / y
    return x


def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


def one_helper_twice(x):
    y = x + 1
    return halved(x) + halved(y)


def three_deep(x):
    for _ in range(20):
        for _ in range(30):
            k = 0
            while k < 40:
                k = k + 1
                x = x + 1
    return x


def all_kinds(x):
    for _ in range(20):
        while x.sum() > 3 and x.max() < 7:
            for _ in range(30):
                if x[0] > 1:
                    x = x / 2
            while True:
                x = x / 3
                if x.sum() < 1:
                    break
    return x


def of_an_operator(x):
    return ops.WhileLoop()(lambda v: v.sum() < 100, lambda v: v * 2, x)


LSTM = nn.LSTM(3, 4)


def of_a_cell(x):
    return LSTM(x)[0]


CASES = [
    (inner_on_a_new_tensor, X, 2),
    (inner_with_two_conditions, X, 2),
    (one_helper_twice, X, 2),
    (three_deep, X, 3),
    (all_kinds, X, 4),
    (of_an_operator, X, 1),
    (of_a_cell, TensorSpec("f32[20,3,3]"), 1),
]


def lines(text, pattern):
    """The lines of this file that a pattern finds in a text, once each."""
    return sorted(set(map(int, re.findall(pattern, text, flags=re.MULTILINE))))


@pytest.mark.parametrize(("function", "given", "loops"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_the_loops_of_the_program_are_those_that_are_told(function, given, loops):
    artifact = ms.jit(function).lower(given)
    dump = artifact.ir("front")
    in_program = re.findall(r"= (?:scan|while) .*test_kept_loops_are_told\.py:(\d+)", dump)
    assert len(in_program) == loops
    told = lines(artifact.explain(), r"^  \S+\.py:(\d+): (?:while|for)(?: inside a call)?: kept as a loop")
    remarked = lines(dump, r"^// (?:while|for)(?: inside a call)? at \S+\.py:(\d+): kept as a loop")
    assert told == remarked == sorted(set(map(int, in_program)))


def test_a_loop_met_again_has_the_reason_of_that_place():
    text = ms.jit(one_helper_twice).lower(X).explain()
    kept = [line for line in text.split("\n") if "kept as a loop" in line]
    assert len(kept) == 2
    assert "y = x + 1" not in kept[0]
    assert "y = x + 1" in kept[1]


def test_what_was_found_at_the_first_meeting_is_not_said_of_a_later_one():
    def counted(x, n):
        k = 0
        while k < n:
            k, x = k + 1, x + 1
        return x

    def f(x):
        return counted(x, 100) + counted(x, 3)

    text = ms.jit(f).lower(X).explain()
    kept = [line.partition("`unroll_limit`) ")[2] for line in text.split("\n") if "kept as a loop" in line]
    assert kept == ["its condition still holds", "its condition still held where it was first met"]
