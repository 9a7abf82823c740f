"""Sequences: nested, made by the arms of an `if`, and as arguments and results."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.codegen.lanes import NotNativeError
from autodiff_compiler.backends.native.control import sequence_arguments
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.dtypes import float32
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.types import seq, tensor
from tests.backends.native.against_numpy import both, f64, same_results
from tests.backends.native.sampled import native

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


NESTED = """
func @f(%n: i64[], %x: f64[4]) -> (f64[], i64[]) {
  %zero: i64[] = const {value=0}
  %c9: f64[4], %m: seq<i64[]>, %rs: seq<seq<f64[4]>> = scan %n (%c = %x) OUTER body (%i) {
    %d9: f64[4], %r: seq<f64[4]> = scan %i (%d = %c) INNER body (%j) {
      %e: f64[4] = neg %d
      yield %e ; %d
    }
    yield %d9 ; %i, %r
  }
  %both: seq<seq<f64[4]>> = seq_add %rs, %rs
  %s0: f64[] = const {value=0.0}
  %s: f64[] = scan %n (%acc = %s0 ; %row = %both, %len = %m) {reverse=True} body (%k) {
    %t: f64[] = scan %len (%a = %acc ; %el = %row) body (%l) {
      %w: f64[] = cast %l {dtype=f64}
      %q: f64[] = sum %el {axes=[-1]}
      %h: f64[] = mul %a, %w
      %b: f64[] = add %h, %q
      yield %b
    }
    yield %t
  }
  %count: i64[] = seq_len %both
  return %s, %count
}
"""


@pytest.mark.parametrize("outer", ["", "{reverse=True}"])
@pytest.mark.parametrize("inner", ["", "{reverse=True}"])
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5, 60])
def test_sequences_of_sequences(outer, inner, n):
    module = parse_module(NESTED.replace("OUTER", outer).replace("INNER", inner))
    same_results(module, np.array(n), np.array([0.5, 1.0, 2.0, 4.0]))


MERGED = """
func @f(%p: bool[], %x: f64[5,3], %y: f64[3], %n: i64[]) -> (f64[3], i64[]) {
  %xs: seq<f64[3]> = to_seq %x
  %s: seq<f64[3]> = if %p then {
    yield %xs
  } else {
    %r: seq<f64[3]> = scan %n () body (%i) {
      %w: f64[] = cast %i {dtype=f64}
      %v: f64[3] = broadcast_to %w {shape=[3]}
      %u: f64[3] = add %v, %y
      yield ; %u
    }
    yield %r
  }
  %k: i64[] = seq_len %s
  %z: f64[3] = const {value=0.0}
  %o: f64[3] = scan %k (%a = %z ; %e = %s) body (%j) {
    %a2: f64[3] = add %a, %e
    yield %a2
  }
  return %o, %k
}
"""


@pytest.mark.parametrize("p", [True, False])
def test_arms_with_sequences_of_their_own(p):
    same_results(parse_module(MERGED), np.array(p), f64(5, 3), f64(3), np.array(7))


PASSED = """
func @f(%n: i64[], %y: f64[3], %old: seq<f64[3]>, %pairs: seq<(bool[], f32[2])>) -> (
    seq<f64[3]>, i64[], seq<f64[3]>, seq<(bool[], f32[2])>, seq<f64[]>) {
  %s: f64[3], %r: seq<f64[3]>, %t: seq<f64[]> = scan %n (%c = %y) body (%i) {
    %w: f64[] = cast %i {dtype=f64}
    %v: f64[3] = broadcast_to %w {shape=[3]}
    %u: f64[3] = add %c, %v
    yield %u ; %c, %w
  }
  %both: seq<f64[3]> = seq_add %old, %old
  %k: i64[] = seq_len %old
  return %r, %k, %both, %pairs, %t
}
"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_sequences_enter_and_leave_as_arrays(n):
    program, reference = both(parse_module(PASSED))
    pairs = np.arange(n) % 2 == 0, f64(n, 2).astype(np.float32)
    args = np.array(n), f64(3), f64(n, 3), pairs
    for _ in range(2):
        for a, b in zip(program(*args), reference(*args), strict=True):
            for x, y in zip(*[p if isinstance(p, tuple) else (p,) for p in (a, b)], strict=True):
                np.testing.assert_array_equal(x, y, strict=True)


def test_sequences_of_sequences_do_not_leave():
    text = "func @f(%x: seq<seq<f64[]>>) -> (seq<seq<f64[]>>) {\n  return %x\n}\n"
    with pytest.raises(NotNativeError, match="seq"):
        native(parse_module(text))


COUNTED = """
func @f(%x: f64[2], %n: i64[]) -> (f64[2], seq<i64[]>) {
  %k: i64[50] = iota {start=3, step=2, size=50, dtype=i64}
  %ks: seq<i64[]> = to_seq %k
  %y: f64[2] = scan %n (%c = %x ; %e = %ks) body (%i) {
    %w: f64[] = cast %e {dtype=f64}
    %b: f64[2] = broadcast_to %w {shape=[2]}
    %d: f64[2] = add %c, %b
    yield %d
  }
  return %y, %ks
}
"""


def test_elements_of_numbers_that_are_counted():
    """Such numbers lie nowhere; a loop over them reads memory."""
    y, ks = native(parse_module(COUNTED))(np.array([0.5, 1.0]), np.array(50))
    np.testing.assert_array_equal(y, [0.5 + 50 * 3 + 50 * 49, 1.0 + 50 * 3 + 50 * 49])
    np.testing.assert_array_equal(ks, np.arange(3, 103, 2))


MADE_ANEW = """
func @f(%n: i64[], %x: f64[3,2], %y: f64[3,2]) -> (f64[2], f64[2]) {
  %three: i64[] = const {value=3}
  %zero: f64[2] = const {value=0.0}
  %start: seq<f64[2]> = to_seq %x
  %last: seq<f64[2]>, %kept: seq<seq<f64[2]>> = scan %n (%xs = %start) body (%i) {
    %s: f64[2] = scan %three (%a = %zero ; %e = %xs) body (%j) {
      %b: f64[2] = sub %e, %a
      yield %b
    }
    %w: f64[3,2] = broadcast_to %s {shape=[3, 2]}
    %made: f64[3,2] = mul %w, %y
    ORDER
    %ys: seq<f64[2]> = to_seq %rows
    yield %ys ; %ys
  }
  %total: f64[2] = scan %n (%sum = %zero ; %row = %kept) body (%k) {
    %t: f64[2] = scan %three (%c = %sum ; %d = %row) body (%l) {
      %u: f64[2] = sub %d, %c
      yield %u
    }
    yield %t
  }
  %end: f64[2] = scan %three (%p = %zero ; %q = %last) body (%m) {
    %r: f64[2] = sub %q, %p
    yield %r
  }
  return %total, %end
}
"""


IN_ORDER = "%rows: f64[3,2] = neg %made"
BY_COLUMNS = """%flat: f64[2,3] = reshape %made {shape=[2, 3]}
    %rows: f64[3,2] = transpose %flat {axes=[1, 0]}"""


@pytest.mark.parametrize("order", [IN_ORDER, BY_COLUMNS], ids=["in order", "by columns"])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_a_sequence_of_a_trip_outlives_it(n, order):
    """As a carry and as an element of what the loop collects; the next trip writes over the array it was made of."""
    program, reference = both(parse_module(MADE_ANEW.replace("ORDER", order)))
    args = np.array(n), f64(3, 2), 1.0 + f64(3, 2)
    for found, expected in zip(program(*args), reference(*args), strict=True):
        np.testing.assert_array_equal(found, expected)


FEWER = """
func @f(%n: i64[], %k: i64[]) -> (i64[]) {
  %zero: i64[] = const {value=0}
  %r: seq<i64[]> = scan %n () body (%i) {
    yield ; %i
  }
  %s: i64[] = scan %k (%a = %zero ; %e = %r) body (%j) {
    %b: i64[] = add %a, %e
    yield %b
  }
  return %s
}
"""


def test_more_elements_are_read_than_there_are():
    """Of a number known at run time only, and of a constant one; programs of the frontend have enough."""
    program = native(parse_module(FEWER))
    assert program(np.array(5), np.array(5))[0] == 10
    assert program(np.array(5), np.array(3))[0] == 3
    with pytest.raises(IndexError):
        program(np.array(5), np.array(6))
    six = FEWER.replace("%k: i64[])", "%unused: i64[])").replace("  %zero", "  %k: i64[] = const {value=6}\n  %zero", 1)
    known = native(parse_module(six))
    assert known(np.array(7), np.array(0))[0] == 15
    with pytest.raises(IndexError):
        known(np.array(5), np.array(0))


class Liar(list):
    """Says that it has more elements than it has, as a list does that another thread shortens meanwhile."""

    def __len__(self):
        return 1000


def test_only_rows_that_are_there_are_read():
    """The lengths of a sequence are those of what was read of it."""
    table = sequence_arguments._described(seq(tensor(float32, (3,))), Liar([np.ones(3), np.ones(3)]), [])
    assert table[0] == 2
