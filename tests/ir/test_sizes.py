"""Symbolic sizes: their normal form, their bounds and their text, against Python's integers."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.dtypes import float32
from autodiff_compiler.ir.size_text import parse
from autodiff_compiler.ir.sizes import (
    Dim,
    bit_length,
    bounds,
    evaluate,
    is_at_most,
    largest,
    largest_of,
    smallest,
    substitute,
    symbol,
    symbols_of,
    usual,
)
from autodiff_compiler.ir.text import ParseError, parse_module, print_module
from autodiff_compiler.ir.types import tensor
from tests.selection import part

N, M = symbol("n"), symbol("m", 1)
S = symbol("s", 0, N)
#: Values of the symbols that their bounds allow.
VALUES = [{"n": n, "m": m, "s": s} for n, m in itertools.product((0, 1, 2, 7, 64), (1, 2, 31)) for s in {0, n // 2, n}]

ATOMS = st.one_of(st.integers(0, 6), st.sampled_from([N, M, S]))


def pairs(inner):
    operators = st.sampled_from(["+", "-", "*", "max", "min"])
    return st.one_of(
        st.tuples(operators, inner, inner), st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 6))
    )


FORMULAS = st.recursive(ATOMS, pairs, max_leaves=8)


def sized(formula):
    """The size of a formula."""
    if not isinstance(formula, tuple):
        return formula
    op, a, b = formula[0], sized(formula[1]), sized(formula[2])
    match op:
        case "max" | "min":
            return (largest if op == "max" else smallest)(a, b)
        case "+" | "-":
            return a + b if op == "+" else a - b
        case "*":
            return a * b
    return a // b if op == "//" else a % b


def number(formula, values):
    """The same formula in Python's integers."""
    if not isinstance(formula, tuple):
        return evaluate(formula, values)
    op, a, b = formula[0], number(formula[1], values), number(formula[2], values)
    if op in ("max", "min"):
        return (max if op == "max" else min)(a, b)
    return {"+": a + b, "-": a - b, "*": a * b, "//": b and a // b, "%": b and a % b}[op]


@settings(max_examples=part(600), deadline=None)
@given(FORMULAS)
def test_a_size_is_the_number_that_python_computes_and_within_its_bounds(formula):
    size = sized(formula)
    low, high = bounds(size)
    for values in VALUES:
        found = evaluate(size, values)
        assert found == number(formula, values)
        assert low <= found <= high


@settings(max_examples=part(300), deadline=None)
@given(FORMULAS)
def test_a_size_is_read_back_as_the_same_object(formula):
    size = sized(formula)
    named = {s.name: {"n": N, "m": M, "s": S}[s.name] for s in symbols_of(size)}
    assert parse(repr(size), named.__getitem__) == [size]
    assert pickle.loads(pickle.dumps(size)) is size or type(size) is int


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (3 * M + 1, "3*m+1"), (N - M, "-m+n"), (N * M * 2 - N, "2*m*n-n"), (N // 2, "n//2"), ((N + 1) // 2, "(n+1)//2"),
        ((6 * N + 4) // 4, "n+n//2+1"), ((N // 2) // 3, "n//6"), (N * M // M, "n"),
        ((N * N - M * M) // (N + M), "-m+n"),
        (N % 4, "n-4*(n//4)"), (largest(N, M), "max(m,n)"), (largest(N, N + M), "m+n"), (smallest(S, N), "s"),
        (N - N, "0"), (2 * N // 2 - N + 5, "5"),
    ],
)  # fmt: skip
def test_normal_forms(size, text):
    assert repr(size) == text


@pytest.mark.parametrize(
    ("a", "b", "known"),
    [
        (N, N + 1, True), (N + 1, N, False), (S, N, True), (N, S, None), (S + 1, N, None), (N // 2, N, True),
        (N, M, None),
        (2 * (N // 2), N, True), (N, 2 * (N // 2), None), (N - 3 * (N // 3), 2, True), (0, M - 1, True), (M, 0, False),
        (smallest(N, 7), 7, True), (N, largest(N, M), True), (N * M, 0, None), (0, N * M, True),
    ],
)  # fmt: skip
def test_what_is_known_of_two_sizes(a, b, known):
    """None stands where some values of the symbols say yes and others no, or where intervals do not tell."""
    assert is_at_most(a, b) is known
    outcomes = {evaluate(a, v) <= evaluate(b, v) for v in VALUES}
    assert known is None or outcomes == {known}


def test_equal_polynomials_are_one_object():
    assert (N + M) * (N - M) is N * N - M * M
    assert N + 0 is N
    assert type(N - N) is int
    assert symbol("n") is N
    assert symbol("n", 1) is not N
    with pytest.raises(ZeroDivisionError):
        N // 0


def test_a_size_of_too_many_products_is_refused():
    size = sum((symbol(f"x{i}") for i in range(40)), 0)
    with pytest.raises(ValueError, match="more than 1000 products"):
        size * size


# ------------------------------------------------------------------------------------------------ text
TEXT = """\
size @n {low=1, high=64}
size @s {low=0, high=n}

func @f(%x: f32[n,3*m+1], %y: f32[s,max(m,n)//2]) -> (f32[3*m*n+n]) {
  %z: f32[3*m*n+n] = reshape %x {shape=[`3*m*n+n`]}
  return %z
}
"""


def test_types_with_formulas_are_printed_and_read():
    module = parse_module(TEXT)
    assert print_module(module) == TEXT
    x, y = module.entry.args
    n, s = symbol("n", 1, 64), symbol("s", 0, symbol("n", 1, 64))
    assert x.type is tensor(float32, (n, 3 * symbol("m") + 1))
    assert y.type.shape[0] is s
    assert is_at_most(s, 64)


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ("n+", "ends too early"), ("n//0", "divided by 0"), ("(n", "not closed"), ("max(n)", "two sizes"),
        ("n m", "cannot go on with 'm'"),
        ("f32", "no size can be called f32"), ("(" * 60 + "n" + ")" * 60, "50 brackets"),
        ("n.5", "cannot go on"), ("-3", "negative"),
        ("__import__", None), ("a@b", "cannot go on"),
    ],
)  # fmt: skip
def test_what_is_no_size_is_refused_where_it_stands(size, told):
    text = f"func @f(%x: f32[{size}]) -> () {{ return }}"
    if told is None:
        assert type(parse_module(text).entry.args[0].type.shape[0]) is Dim
        return
    with pytest.raises(ParseError, match=told) as caught:
        parse_module(text)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("size @n {low=1, low=2}", "one low, one high"), ("size @n {big=1}", "one low, one high"),
        ("size @n {low=1.5}", "low is a number"), ("size @n {low=n}", "low is a number"),
        ("size @n {} ; size @n {}", "twice"),
    ],
)  # fmt: skip
def test_what_is_no_declaration_of_a_size_is_refused(line, told):
    with pytest.raises(ParseError, match=told):
        parse_module(line + "\nfunc @f() -> () { return }")


def test_binary_digits():
    """A function that costs have: evaluated, bounded, put in and pickled like others."""
    digits = 3 * bit_length(2 * N - 1) * N + bit_length(40)
    assert str(digits) == "3*bit_length(2*n-1)*n+6"
    for n in (0, 1, 2, 7, 64, 1000):
        expected = 3 * (2 * n - 1).bit_length() * n + 6
        assert evaluate(digits, {"n": n}) == substitute(digits, {next(symbols_of(N)): n}) == expected
    assert bounds(bit_length(symbol("k", 0, 9))) == (0, 4)
    assert bounds(bit_length(N))[0] == 0
    assert pickle.loads(pickle.dumps(digits)) is digits
    assert [s.name for s in symbols_of(digits)] == ["n", "n"]


def test_the_largest_of_several():
    assert largest_of([]) == 0
    assert str(largest_of([N, 3, 2 * N, N + 1, 2])) == "max(max(2*n,3),n+1)"
    assert largest_of([4 * N, 2 * N, N]) is 4 * N
    for n in (0, 1, 2, 7):
        assert evaluate(largest_of([N, 3, 2 * N, N + 1, 2]), {"n": n}) == max(n, 3, 2 * n, n + 1, 2)


def test_what_sizes_usually_are():
    assert usual(5) == 5
    assert usual(2 * N + 1) == 2 * usual(N) + 1
    assert usual(symbol("k", 100)) == 100
    assert usual(symbol("k", 0, 8)) == 8
