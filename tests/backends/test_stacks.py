"""What loops leave behind, of programs written down: each figure counted by hand."""

from __future__ import annotations

import pytest

from autodiff_compiler.backends.stacks import Bytes, Stacks
from autodiff_compiler.ir.text import parse_module

#: a loop of 5 trips that keeps 16 bytes in each
FIVE = """
  %five: i64[] = const {value=5}
  %y: f32[4], %s: seq<f32[4]> = scan %five (%c = %x) body (%i) {
    %b: f32[4] = sin %c
    yield %b ; %c
  }
"""


def whole(text):
    return Stacks(parse_module(text)).whole()


def in_loop(trips, inside, yielded):
    """A function with a loop around some lines, with 8 more bytes kept in each trip."""
    return f"""
func @f(%x0: f32[4]) -> (f32[4]) {{
  %n: i64[] = const {{value={trips}}}
  %z: f32[4], {yielded[0]}%j: seq<i64[]> = scan %n (%x = %x0) body (%k) {{
    {inside}
    yield %y ; {yielded[1]}%k
  }}
  return %z
}}
"""


HANDED_ON = ("%ss: seq<seq<f32[4]>>, ", "%s, ")


@pytest.mark.parametrize(
    ("trips", "yielded", "nbytes"),
    [(3, HANDED_ON, 3 * (5 * 16 + 8)), (3, ("", ""), 5 * 16 + 3 * 8), (0, HANDED_ON, 0), (-2, HANDED_ON, 0)],
    ids=["handed on", "needed in its trip only", "no trips", "fewer than none"],
)
def test_trips_multiply_where_a_loop_hands_on(trips, yielded, nbytes):
    assert whole(in_loop(trips, FIVE, yielded)) == Bytes(nbytes)


def test_what_is_kept_with_another_sequence():
    """Where a trip has one room for all that it collects, a sequence that is handed on keeps the other one, too."""
    inside = (
        """
%three: i64[] = const {value=3}
  %w: f32[4], %t: seq<f32[4]> = scan %three (%e = %x) body (%m) { yield %e ; %e }
"""
        + FIVE
    )
    module = parse_module(in_loop(7, inside, HANDED_ON))
    assert Stacks(module).whole() == Bytes(7 * (5 * 16 + 8) + 3 * 16)
    assert Stacks(module, one_room=True).whole() == Bytes(7 * (5 * 16 + 8) + 7 * 3 * 16)
    module = parse_module(in_loop(7, inside, ("", "")))
    assert Stacks(module, one_room=True).whole() == Stacks(module).whole() == Bytes(5 * 16 + 3 * 16 + 7 * 8)


CALLEE = f"""
func @five(%x: f32[4]) -> (f32[4], seq<f32[4]>) {{
  {FIVE}
  return %y, %s
}}
"""


def test_functions_collect_as_often_as_they_are_called():
    call = '%y: f32[4], %s: seq<f32[4]> = call %x {fn="@five"}'
    assert whole(in_loop(3, call, HANDED_ON) + CALLEE) == Bytes(3 * (5 * 16 + 8))
    twice = """
func @f(%x: f32[4]) -> (f32[4]) {
  %y: f32[4], %s: seq<f32[4]> = call %x {fn="@five"}
  %z: f32[4], %t: seq<f32[4]> = call %y {fn="@five"}
  return %z
}
"""
    assert whole(twice + CALLEE) == Bytes(2 * 5 * 16)


def test_of_two_arms_one_runs():
    """5 trips of 16 bytes, or as many as it takes of 4 bytes each."""
    branch = f"""
func @f(%x: f32[4], %n: i64[], %p: bool[]) -> (f32[4]) {{
  %r: f32[4] = if %p then {{
    {FIVE}
    yield %y
  }} else {{
    %z: f32[4], %t: seq<f32[]> = scan %n (%d = %x) body (%l) {{
      %m: f32[] = sum %d {{axes=[-1]}}
      yield %d ; %m
    }}
    yield %z
  }}
  return %r
}}
"""
    found = whole(branch)
    assert found == Bytes(5 * 16, 4)
    assert found.told("{} bytes".format) == "80 bytes and 4 bytes for each trip"
    assert found.in_trips(10) == Bytes(800, 4)  # each trip of that loop, in all its runs, adds 4 bytes
    assert found.in_trips(None) == Bytes(0, 84)


def test_a_recursion_is_counted_once():
    recursive = f"""
func @f(%x: f32[4]) -> (f32[4]) {{
  {FIVE}
  %z: f32[4] = call %y {{fn="@f"}}
  return %z
}}
"""
    assert whole(recursive) == Bytes(5 * 16)
