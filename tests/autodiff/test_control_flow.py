"""Derivatives through control flow, to order 3, against complex steps, central differences and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.ir.text import parse_module
from tests.autodiff.derivatives import central_difference, check_orders, directional, directions, expanded, parsed
from tests.autodiff.interpreter import Interpreter, run

PROGRAMS = {
    "straight line": (
        """func @f(%x: f64[], %y: f64[]) -> (f64[]) {
          %a: f64[] = mul %x, %y; %b: f64[] = tanh %a; %c: f64[] = mul %b, %x; %d: f64[] = add %c, %b; return %d
        }""",
        [(0.3, 0.7)],
    ),
    "if with captured values, the arms using different ones": (
        """func @f(%x: f64[], %y: f64[], %p: bool[]) -> (f64[]) {
          %r: f64[], %s: f64[] = if %p
            then { %a: f64[] = mul %x, %x; %t: f64[] = tanh %a; yield %t, %x }
            else { %b: f64[] = sin %y; %c: f64[] = mul %b, %x; yield %b, %c }
          %o: f64[] = mul %r, %s
          return %o
        }""",
        [(0.3, 0.7, True), (0.3, 0.7, False)],
    ),
    "if inside if, one arm constant": (
        """func @f(%x: f64[], %p: bool[], %q: bool[]) -> (f64[]) {
          %r: f64[] = if %p
            then {
              %a: f64[] = sin %x
              %i: f64[] = if %q then { %b: f64[] = mul %a, %a; yield %b } else { yield %x }
              %k: f64[] = mul %i, %a
              yield %k
            }
            else { %c: f64[] = const {value=2.0}; yield %c }
          %o: f64[] = mul %r, %r
          return %o
        }""",
        [(0.3, p, q) for p in (True, False) for q in (True, False)],
    ),
    "while with a data-dependent trip count: Newton's square root": (
        """func @f(%x: f64[]) -> (f64[]) {
          %one: f64[] = const {value=1.0}
          %n: i64[], %y: f64[] = while (%c = %one)
            cond { %s: f64[] = mul %c, %c; %d: f64[] = sub %s, %x; %e: f64[] = mul %d, %d
                   %tiny: f64[] = const {value=1e-20}; %p: bool[] = greater %e, %tiny; yield %p }
            body { %q: f64[] = div %x, %c; %t: f64[] = add %c, %q; %h: f64[] = const {value=0.5}
                   %m: f64[] = mul %t, %h; yield %m }
          return %y
        }""",
        [(2.0,), (9.5,)],
    ),
    "while with an integer carry, a flag that breaks, and an unused carry": (
        """func @f(%x: f64[], %n: i64[]) -> (f64[]) {
          %zero: i64[] = const {value=0}; %no: bool[] = const {value=False}
          %n1: i64[], %k: i64[], %b1: bool[], %y: f64[], %u1: f64[] = while (%i = %zero, %b = %no, %c = %x, %u = %x)
            cond { %l: bool[] = less %i, %n; %g: bool[] = logical_not %b; %p: bool[] = logical_and %l, %g; yield %p }
            body {
              %one: i64[] = const {value=1}
              %j: i64[] = add %i, %one
              %v: f64[] = sin %u
              %s: f64[] = mul %c, %x
              %limit: f64[] = const {value=0.05}
              %small: bool[] = less %s, %limit
              %t: f64[] = if %small then { yield %c } else { %a: f64[] = add %s, %c; yield %a }
              yield %j, %small, %t, %v
            }
          return %y
        }""",
        [(0.7, 0), (0.7, 1), (0.7, 5), (0.2, 9)],
    ),
    "scan with carries, sequences read and sequences collected": (
        """func @f(%x: f64[5], %w: f64[]) -> (f64[]) {
          %xs: seq<f64[]> = to_seq %x
          %n: i64[] = seq_len %xs
          %c0: f64[] = sin %w
          %c: f64[], %ys: seq<f64[]> = scan %n (%a = %c0 ; %e = %xs) body (%i) {
            %b: f64[] = mul %a, %w
            %t: f64[] = add %b, %e
            %u: f64[] = tanh %t
            %z: f64[] = mul %u, %e
            yield %u ; %z
          }
          %d: f64[], %zs: seq<f64[]> = scan %n (%a2 = %c ; %e2 = %ys) {reverse=True} body (%i2) {
            %b2: f64[] = mul %a2, %e2
            %k: f64[] = cast %i2 {dtype=f64}
            %b3: f64[] = add %b2, %k
            %b4: f64[] = sin %b3
            yield %b4 ; %b2
          }
          %y: f64[5] = from_seq %zs {length=5}
          %y2: f64[5] = mul %y, %x
          %s: f64[] = sum %y2 {axes=[-1]}
          %o: f64[] = add %s, %d
          return %o
        }""",
        [(np.array([0.3, -0.2, 0.9, 0.1, -0.5]), 0.8)],
    ),
    "while inside while, order of trips depending on data": (
        """func @f(%x: f64[], %w: f64[]) -> (f64[]) {
          %zero: i64[] = const {value=0}; %one: i64[] = const {value=1}; %three: i64[] = const {value=3}
          %n: i64[], %i: i64[], %y: f64[] = while (%k = %zero, %c = %x)
            cond { %p: bool[] = less %k, %three; yield %p }
            body {
              %k2: i64[] = add %k, %one
              %m: i64[], %j: i64[], %z: f64[] = while (%l = %zero, %d = %c)
                cond { %q: bool[] = less %l, %k2; yield %q }
                body {
                  %l2: i64[] = add %l, %one
                  %a: f64[] = mul %d, %w
                  %b: f64[] = sin %a
                  %e: f64[] = mul %b, %c
                  %g: f64[] = add %e, %x
                  yield %l2, %g
                }
              yield %k2, %z
            }
          return %y
        }""",
        [(0.4, 1.3)],
    ),
    "if inside while inside scan": (
        """func @f(%x: f64[3], %w: f64[]) -> (f64[]) {
          %xs: seq<f64[]> = to_seq %x; %n: i64[] = seq_len %xs; %zero: i64[] = const {value=0}
          %one: i64[] = const {value=1}; %half: f64[] = const {value=0.5}
          %c: f64[], %ys: seq<f64[]> = scan %n (%a = %w ; %e = %xs) body (%i) {
            %t: i64[], %j: i64[], %v: f64[] = while (%k = %zero, %u = %e)
              cond { %p: bool[] = less_equal %k, %i; yield %p }
              body {
                %k2: i64[] = add %k, %one
                %big: bool[] = greater %u, %half
                %r: f64[] = if %big then { %r1: f64[] = mul %u, %half; yield %r1 }
                  else { %r2: f64[] = mul %u, %a; %r3: f64[] = sin %r2; %r4: f64[] = add %r3, %e; yield %r4 }
                yield %k2, %r
              }
            %b: f64[] = mul %a, %v
            yield %b ; %v
          }
          %y: f64[3] = from_seq %ys {length=3}
          %s: f64[] = sum %y {axes=[-1]}
          %o: f64[] = mul %s, %c
          return %o
        }""",
        [(np.array([0.3, 0.9, 0.6]), 0.8)],
    ),
    "a carry that swaps with another": (
        """func @f(%x: f64[], %y: f64[], %n: i64[]) -> (f64[]) {
          %a: f64[], %b: f64[] = scan %n (%p = %x, %q = %y) body (%i) {
            %s: f64[] = mul %p, %q
            %t: f64[] = sin %s
            yield %q, %t
          }
          %o: f64[] = mul %a, %b
          return %o
        }""",
        [(0.4, 0.9, 0), (0.4, 0.9, 1), (0.4, 0.9, 6)],
    ),
    "a carry forgotten in every trip": (
        """func @f(%x: f64[], %n: i64[]) -> (f64[]) {
          %k: f64[] = const {value=0.25}
          %a: f64[], %b: f64[] = scan %n (%p = %x, %q = %x) body (%i) {
            %s: f64[] = mul %p, %q
            %t: f64[] = mul %s, %x
            yield %k, %t
          }
          %o: f64[] = mul %a, %b
          return %o
        }""",
        [(0.4, 0), (0.4, 1), (0.4, 3)],
    ),
    "a sequence captured by a loop inside a loop": (
        """func @f(%x: f64[3], %w: f64[]) -> (f64[]) {
          %xs: seq<f64[]> = to_seq %x; %n: i64[] = seq_len %xs
          %c: f64[] = scan %n (%a = %w) body (%i) {
            %d: f64[] = scan %n (%b = %a ; %e = %xs) body (%j) {
              %m: f64[] = mul %b, %e; %t: f64[] = sin %m; %u: f64[] = add %t, %w; yield %u
            }
            yield %d
          }
          return %c
        }""",
        [(np.array([0.3, 0.9, 0.6]), 0.8)],
    ),
    "a sequence captured by one arm only": (
        """func @f(%x: f64[3], %p: bool[]) -> (f64[]) {
          %xs: seq<f64[]> = to_seq %x; %n: i64[] = seq_len %xs; %one: f64[] = const {value=1.0}
          %r: f64[] = if %p
            then { %c: f64[] = scan %n (%a = %one ; %e = %xs) body (%i) { %m: f64[] = mul %a, %e; yield %m }; yield %c }
            else { yield %one }
          return %r
        }""",
        [(np.array([0.3, 0.9, 0.6]), p) for p in (True, False)],
    ),
    "a sequence of sequences": (
        """func @f(%x: f64[3], %w: f64[]) -> (f64[]) {
          %xs: seq<f64[]> = to_seq %x; %n: i64[] = seq_len %xs
          %a: f64[], %s: seq<seq<f64[]>> = scan %n (%c = %w) body (%i) {
            %k: i64[] = const {value=1}; %m: i64[] = add %i, %k
            %d: f64[], %t: seq<f64[]> = scan %m (%b = %c) body (%j) {
              %u: f64[] = sin %b; %v: f64[] = mul %u, %w; yield %v ; %u
            }
            yield %d ; %t
          }
          %o: f64[] = scan %n (%c2 = %a ; %t2 = %s, %e = %xs) body (%i2) {
            %l: i64[] = seq_len %t2
            %d2: f64[] = scan %l (%b2 = %c2 ; %u2 = %t2) body (%j2) {
              %y: f64[] = mul %u2, %e; %z: f64[] = add %b2, %y; yield %z
            }
            yield %d2
          }
          return %o
        }""",
        [(np.array([0.3, 0.9, 0.6]), 0.8)],
    ),
    "tuples": (
        """func @f(%x: f64[], %y: f64[], %p: bool[]) -> (f64[]) {
          %t: (f64[], f64[]) = tuple_make %x, %y
          %r: (f64[], f64[]) = if %p then { yield %t }
            else { %a: f64[] = mul %x, %y; %u: (f64[], f64[]) = tuple_make %a, %x; yield %u }
          %b: f64[] = tuple_get %r {index=0}; %c: f64[] = tuple_get %r {index=1}; %d: f64[] = mul %b, %c
          %e: f64[] = mul %d, %b
          return %e
        }""",
        [(0.3, 0.7, True), (0.3, 0.7, False)],
    ),
    "calls of one function at three places, through another one": (
        """func @f(%x: f64[], %w: f64[]) -> (f64[]) {
          %a: f64[], %b: f64[] = call @g %x, %w
          %c: f64[], %d: f64[] = call @g %a, %b
          %e: f64[], %h: f64[] = call @g %c, %x
          %o: f64[] = mul %e, %h
          return %o
        }
        func @g(%x: f64[], %w: f64[]) -> (f64[], f64[]) {
          %a: f64[] = call @h %x
          %b: f64[] = mul %a, %w
          %two: i64[] = const {value=2}
          %c: f64[] = scan %two (%k = %b) body (%i) { %s: f64[] = call @h %k; %t: f64[] = mul %s, %w; yield %t }
          return %c, %x
        }
        func @h(%x: f64[]) -> (f64[]) { %a: f64[] = sin %x; %b: f64[] = mul %a, %x; return %b }""",
        [(0.6, 1.1)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_orders(name):
    text, samples = PROGRAMS[name]
    module = parsed(text)
    for args in samples:
        check_orders(module, args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_orders_pulled_later(name):
    text, samples = PROGRAMS[name]
    module = parsed(text)
    for args in samples:
        check_orders(module, args, orders=2, late=True)
        found = run(expanded(directional(module, 1)), *args)[0]
        np.testing.assert_allclose(found, central_difference(module, args), rtol=1e-6, atol=1e-8)


def gradient(text, *args):
    """All results of the expanded program."""
    return [float(x) for x in run(expanded(parse_module(text)), *args)]


def test_power_by_a_loop_has_the_closed_forms_of_its_derivatives():
    text = """func @f(%x: f64[], %n: i64[]) -> (f64[], f64[], f64[]) {
      %seed: f64[] = const {value=1.0}
      %a: f64[], %b: f64[], %d3: f64[] = grad %x, %seed {wrt=[0], seeds=[0]} body (%x1: f64[]) {
        %c: f64[], %e: f64[] = grad %x1, %seed {wrt=[0], seeds=[0]} body (%x2: f64[]) {
          %y: f64[], %d: f64[] = grad %x2 {wrt=[0]} body (%x3: f64[]) {
            %p: f64[] = scan %n (%k = %seed) body (%i) { %m: f64[] = mul %k, %x3; yield %m }
            yield %p
          }
          yield %d
        }
        yield %e, %c
      }
      return %b, %a, %d3
    }"""
    for n in (0, 1, 2, 5, 9):
        x = 1.3
        expected = [n * x ** (n - 1), n * (n - 1) * x ** (n - 2), n * (n - 1) * (n - 2) * x ** (n - 3)]
        np.testing.assert_allclose(gradient(text, x, n), expected, rtol=1e-12)


def test_newton_square_root_has_the_derivative_of_the_square_root():
    text, _ = PROGRAMS["while with a data-dependent trip count: Newton's square root"]
    module = parsed(text)
    (direction,) = directions(module.entry)
    derivative = expanded(directional(module, 1))
    for x in (2.0, 9.5, 100.0):
        np.testing.assert_allclose(run(derivative, x)[0] / direction, 0.5 / np.sqrt(x), rtol=1e-9)


def test_no_trips_pass_the_cotangent_to_the_initial_value_and_nothing_to_captures():
    text = """func @f(%x: f64[], %w: f64[], %n: i64[]) -> (f64[], f64[], f64[]) {
      %y: f64[], %dx: f64[], %dw: f64[] = grad %x, %w {wrt=[0,1]} body (%a: f64[], %b: f64[]) {
        %r: f64[] = scan %n (%c = %a) body (%i) { %m: f64[] = mul %c, %b; yield %m }
        yield %r
      }
      return %y, %dx, %dw
    }"""
    assert gradient(text, 0.3, 0.7, 0) == [0.3, 1.0, 0.0]
    assert gradient(text, 0.3, 0.7, -2) == [0.3, 1.0, 0.0]


def test_effects_stay_in_the_forward_part():
    text = """func @f(%x: f64[], %n: i64[]) -> (f64[]) {
      %y: f64[], %dx: f64[] = grad %x {wrt=[0]} body (%a: f64[]) {
        %r: f64[] = scan %n (%c = %a) body (%i) { %m: f64[] = mul %c, %a; print %m {parts=[0]}; yield %m }
        yield %r
      }
      return %dx
    }"""
    interpreter = Interpreter(expanded(parse_module(text)))
    assert float(interpreter.run(None, 2.0, 2)[0]) == 3 * 2.0**2
    assert interpreter.calls == [("print", 4.0), ("print", 8.0)]
