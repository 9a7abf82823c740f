"""The parts of a loop, and what every emitter decides alike about it."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.loop_plan import LoopPlan
from autodiff_compiler.inspection.derivative_source import python_of_module
from autodiff_compiler.ir.loops import Loop, known_trips
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.walk import ops_of, uses
from tests.backends.programs import LOOP, compiled

#: Two carries, of which one is the other's last value, and a third that changes as a whole.
SHIFTED = """
func @f(%x: f64[3], %n: i64[]) -> (f64[3], f64[3], f64[3]) {
  %a9: f64[3], %b9: f64[3], %c9: f64[3] = scan %n (%a = %x, %b = %x, %c = %x) body (%i) {
    %b2: f64[3] = add %a, %b
    %c2: f64[3] = sin %c
    NEXT
  }
  return %a9, %b9, %c9
}
"""
SWAPPED = SHIFTED.replace("NEXT", "yield %b, %a, %c2")
FIBONACCI = SHIFTED.replace("NEXT", "yield %b, %b2, %c2")
READ_LATER = SHIFTED.replace("NEXT", "%b3: f64[3] = mul %b2, %c\n    yield %b, %b3, %c2")


def loops(text):
    module = parse_module(text)
    return [op for op in ops_of(module.entry.body) if op.blocks], uses(module.entry)


def plans(text):
    found, used = loops(text)
    return [LoopPlan(op, used) for op in found]


def names(values):
    return [x.name for x in values]


def test_parts_of_a_while_and_of_a_scan_have_the_same_names():
    (first, second), _ = loops(LOOP)
    kept, read = Loop(first), Loop(second)
    assert [(c.init.name, names(c.args), c.next.name, c.result.name) for c in kept.carries] == [
        ("zero", ["i", "i"], "i2", "i9"),
        ("x", ["c", "c"], "t", "y"),
    ]
    assert [c.args for c in kept.carries] == list(zip(first.blocks[1].args, first.blocks[0].args, strict=True))
    assert (kept.count.name, kept.index, kept.trips, kept.reverse) == ("k", None, None, False)
    assert [names(pair) for pair in kept.collected] == [["c", "r"]]
    assert [(c.init.name, names(c.args), c.next.name) for c in read.carries] == [("s0", ["acc"], "a2")]
    assert [names(pair) for pair in read.elements] == [["r", "e"]]
    assert (read.count.name, read.index.name, read.reverse) == ("k", "j", True)


@pytest.mark.parametrize(("count", "trips"), [(5, 5), (0, 0), (-2, 0)])
def test_trips_are_known_of_a_constant(count, trips):
    text = SWAPPED.replace(", %n: i64[])", ")").replace("%a9:", f"%n: i64[] = const {{value={count}}}\n  %a9:", 1)
    (op,), _ = loops(text)
    assert known_trips(op) == trips


def test_what_nobody_reads_is_no_part_of_the_plan():
    kept, read = plans(LOOP)
    assert kept.counted
    assert kept.early == {kept.carries[1].arg}  # the residual is the carry
    assert (read.index, names(x for _, x in read.elements)) == (read.body.args[0], ["e"])
    head = LOOP.replace("(i64[], f32[4], seq<f32[4]>, f32[]) {", "(f32[4]) {")
    (unread,) = plans(head[: head.index("  %s0")] + "  return %y\n}\n")
    assert (unread.collected, unread.counted) == ([], False)
    text = LOOP.replace("%q: f32[] = sum %e {axes=[-1]}", "%q: f32[] = tanh %acc").replace("cast %j", "cast %k")
    (_, idle) = plans(text)
    assert (idle.index, idle.elements) == (None, [])


def test_a_carry_is_replaced_where_nothing_reads_it_later():
    (plan,) = plans(FIBONACCI)
    a, b, c = plan.carries
    assert not plan.is_replaced(a)  # its next value is no op of the body
    assert not plan.is_replaced(b)  # it becomes the other one
    assert plan.is_replaced(c)
    assert not plan.is_replaced(c, late={"sin"})
    (plan,) = plans(READ_LATER)
    assert not plan.is_replaced(plan.carries[2])


@pytest.mark.parametrize("text", [SWAPPED, FIBONACCI, READ_LATER], ids=["swapped", "fibonacci", "read later"])
def test_carries_get_their_next_values_at_once(text):
    x, trips = np.array([0.25, 0.5, 1.0]), 5
    a, b, c = x, x, x
    for _ in range(trips):
        following = np.sin(c)
        if text is SWAPPED:
            a, b = b, a
        else:
            a, b = b, (a + b) * (c if text is READ_LATER else 1)
        c = following
    module = parse_module(text)
    for found in (compiled(text)(x, np.array(trips)), python_of_module(module).function(x, np.array(trips))):
        for got, expected in zip(found, (a, b, c), strict=True):
            np.testing.assert_array_equal(got, expected)
    assert ("(a, b) = (b, a)" in compiled(text).source) == (text is SWAPPED)
