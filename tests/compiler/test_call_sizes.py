"""Sizes of calls: which are symbolic, what answers questions about them, and for which calls the answers hold."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from autodiff_compiler.compiler.call_sizes import Relation, Sizes, Unified, general, opened
from autodiff_compiler.ir.sizes import Dim, Size, answering, bounds, symbol

N, M = symbol("n"), symbol("m")


def sizes_of(*calls: tuple[tuple[int, ...], ...]) -> Sizes:
    return opened(calls)


def test_what_differs_between_calls_is_symbolic_and_what_changes_together_is_one() -> None:
    found = sizes_of(((3, 4), (3,), (7,)), ((5, 4), (5,), (8,)))
    assert [list(map(str, shape)) for shape in found.shapes] == [["n", "4"], ["n"], ["m"]]
    assert found.of([(6, 4), (6,), (1,)]) == {"n": 6, "m": 1}
    assert found.of([(6, 4), (7,), (1,)]) is None
    assert found.of([(6, 5), (6,), (1,)]) is None
    assert not sizes_of(((3, 4),), ((3, 4),)).is_open


def test_a_key_without_sizes_has_ranks() -> None:
    assert general(("f32", (3, 4), int, 3, "f32", ())) == ("f32", 2, int, 3, "f32", ())


def test_without_a_call_nobody_answers() -> None:
    assert N != 3
    assert N != M
    for question in (lambda: N < 3, lambda: N >= M, lambda: range(N), lambda: int(N)):
        with pytest.raises(TypeError, match="depends on the call"):
            question()
    assert N >= 0
    assert N + 1 > 0
    assert symbol("k", 3) != 2
    assert {N: 1}[symbol("n")] == 1


@pytest.mark.parametrize(
    ("question", "replaced"),
    [
        (lambda n, m: n == 6, {"n": "6"}),
        (lambda n, m: n == m + 2, {"m": "n-2"}),
        (lambda n, m: n % 3 == 0, {"n": "3*n_3"}),
        (lambda n, m: operator.index(n), {"n": "6"}),
        (lambda n, m: n * m == 6 * m, {"n": "6"}),
        (lambda n, m: n * m == 24, {"n": "6", "m": "4"}),
        (lambda n, m: n > 4, {"n": "n>=5"}),
        (lambda n, m: n < 9, {"n": "n<=8"}),
        (lambda n, m: n == 0, {"n": "n>=1"}),
    ],
)
def test_answers_that_begin_again(question: Any, replaced: dict[str, str]) -> None:
    """What two symbols of which one is 6 and the other 4 become by a question."""
    found = sizes_of(((3,), (3,)), ((6,), (4,)))
    (n,), (m,) = found.shapes
    with answering(found), pytest.raises(Unified) as raised:
        question(n, m)
    told = {}
    for old, new in raised.value.replaced.items():
        same = isinstance(new, Dim) and str(new) == old.name
        (one,) = [a for atoms, _ in new.terms for a in atoms] if same else [None]
        told[old.name] = (f"n>={one.low}" if one.low else f"n<={one.high}") if same else str(new)
    assert told == replaced


def test_answers_that_are_relations() -> None:
    found = sizes_of(((3,), (3,)), ((6,), (4,)))
    (n,), (m,) = found.shapes
    with answering(found):
        assert n != 1
        assert n > m
        assert not n + m <= 9
        assert n % 4 != 0
    assert [str(r) for r in found.relations] == ["n != 1", "n > m", "m+n > 9", "n % 4 != 0"]
    assert found.of([(7,), (3,)]) == {"n": 7, "m": 3}
    for other in ([(1,), (0,)], [(5,), (5,)], [(5,), (4,)], [(8,), (3,)]):
        assert found.of(other) is None


def test_a_replaced_symbol_is_found_again_in_calls() -> None:
    found = sizes_of(((2, 1),), ((6, 5),))
    (n, _m) = found.shapes[0]
    with answering(found), pytest.raises(Unified) as raised:
        bool(n % 2)
    again = found.replaced(raised.value, [(6, 5)])
    assert again.values == {"n_2": 3, "m": 5}
    assert again.of([(8, 3)]) == {"n_2": 4, "m": 3}
    assert again.of([(7, 3)]) is None


@pytest.mark.parametrize(
    ("ask", "solved"),
    [
        (lambda n: n % 3, "3*n_3+1"),
        (lambda n: (n - 1) % 3, "3*n_3+1"),
        (lambda n: -n % 3, "3*n_3+1"),
        (lambda n: (2 * n + 1) % 3, "3*n_3+1"),
        (lambda n: n + n % 3, "7"),
        (lambda n: n // 3, "7"),
        (lambda n: n // 100, "7"),
    ],
)
def test_a_known_remainder_is_no_known_size(ask: Callable[[Size], Size], solved: str) -> None:
    """7 and 100 have the same remainders; 8 has another."""
    found = sizes_of(((2,),), ((7,),))
    (n,) = found.shapes[0]
    with answering(found), pytest.raises(Unified) as raised:
        operator.index(ask(n))
    again = found.replaced(raised.value, [(7,)])
    assert str(again.shapes[0][0]) == solved
    assert ask(again.shapes[0][0]) == ask(7)
    assert again.of([(8,)]) is None
    assert (again.of([(100,)]) == {"n_3": 33}) == (solved != "7")
    (why,) = again.settled
    assert why.endswith(f" = {ask(7)}, which must be known")


@pytest.mark.parametrize("ask", [lambda n: (n // 2 + 1) % 2, lambda n: ((n - 1) // 2) % 2, lambda n: (n // 2) % 2])
def test_a_remainder_of_a_quotient_is_one_of_the_size(ask: Callable[[Size], Size]) -> None:
    """What a pooling of pairs and a stride of 2 leave is known for all sizes that leave the same divided by 4."""
    found = sizes_of(((2,),), ((7,),))
    with answering(found), pytest.raises(Unified) as raised:
        operator.index(ask(found.shapes[0][0]))
    again = found.replaced(raised.value, [(7,)])
    assert str(again.shapes[0][0]) == "4*n_4+3"
    assert [n for n in range(20) if again.of([(n,)]) is not None] == [3, 7, 11, 15, 19]
    assert ask(again.shapes[0][0]) == ask(7) == ask(11)


def test_bounds_of_a_symbol_hold_for_its_quotient() -> None:
    found = Sizes([(symbol("n", 4, 22),)], {"n": 7})
    with answering(found), pytest.raises(Unified) as raised:
        operator.index(found.shapes[0][0] % 5)
    (rest,) = raised.value.replaced.values()
    assert str(rest) == "5*n_5+2"
    assert bounds(rest) == (7, 22)


def test_sizes_become_hot_by_number_or_time() -> None:
    often, long = (sizes_of(((3,),), ((4,),)) for _ in range(2))
    assert [often.becomes_hot([(5,)], 10**9) for _ in range(16)] == [False] * 15 + [True]
    assert [often.becomes_hot([(6,)], 0) for _ in range(3)] == [False, False, True]  # a short compilation
    assert not long.becomes_hot([(5,)], 10**9)
    long.took([(5,)], 10**9)
    assert not long.becomes_hot([(6,)], 10**9)
    assert long.becomes_hot([(5,)], 10**9)


def test_a_relation_says_what_holds() -> None:
    assert str(Relation(N, "<=", 4, holds=False)) == "n > 4"
    assert Relation(N, "<=", 4, holds=False).is_so({"n": 5})
    assert not Relation(N, "==", M, holds=True).is_so({"n": 5, "m": 4})
