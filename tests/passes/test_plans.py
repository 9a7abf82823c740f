"""What `fuse` and `plan_memory` find out about a function."""

from __future__ import annotations

import autodiff_compiler.primitives  # noqa: F401  (registers the ops)
from autodiff_compiler.ir.core import Function, Value
from autodiff_compiler.ir.text import parse_function
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.passes.fuse import fusion_plan
from autodiff_compiler.passes.memory import MemoryPlan, memory_plan


def groups(text: str) -> list[list[str]]:
    return [[op.results[0].name or "" for op in g.ops] for g in fusion_plan(parse_function(text)).groups]


def planned(text: str) -> tuple[MemoryPlan, dict[str, Value], Function]:
    function = parse_function(text)
    values = {x.name: x for x in function.args}
    for op in ops_of(function.body):
        values.update({x.name: x for x in op.results})
        for block in op.blocks:
            values.update({x.name: x for x in block.args})
    return memory_plan(function), {n: x for n, x in values.items() if n}, function


def test_a_group_ends_where_the_shape_changes_or_a_reduction_is_read() -> None:
    assert groups("""
func @f(%x: f32[4], %y: f32[8]) -> (f32[4], f32[8], f32[]) {
  %a: f32[4] = tanh %x
  %b: f32[4] = exp %a
  %s: f32[] = sum %b {axes=[-1]}
  %t: f32[4] = broadcast_to %s {shape=[4]}
  %c: f32[4] = sub %b, %t
  %d: f32[8] = tanh %y
  %e: f32[8] = mul %d, %y
  return %c, %e, %s
}""") == [["a", "b", "s"], ["t", "c"], ["d", "e"]]


def test_one_op_is_no_group_and_matmul_is_in_none() -> None:
    assert (
        groups("""
func @f(%x: f32[4,4]) -> (f32[4,4]) {
  %a: f32[4,4] = tanh %x
  %m: f32[4,4] = matmul %a, %x
  %b: f32[4,4] = exp %m
  return %b
}""")
        == []
    )


def test_groups_lie_inside_blocks() -> None:
    assert groups("""
func @f(%x: f32[4], %n: i64[]) -> (f32[4]) {
  %r: f32[4] = scan %n (%c = %x) body (%i) {
    %a: f32[4] = tanh %c
    %b: f32[4] = exp %a
    yield %b
  }
  return %r
}""") == [["a", "b"]]


def test_an_argument_and_what_is_read_later_are_not_overwritten() -> None:
    plan, v, _ = planned("""
func @f(%x: f32[4]) -> (f32[4]) {
  %a: f32[4] = tanh %x
  %b: f32[4] = exp %a
  %c: f32[4] = add %a, %b
  return %c
}""")
    assert plan.overwrites == {v["c"]: v["a"]}
    assert v["a"].owner not in plan.overwrites


def test_a_view_keeps_its_bytes_alive_and_unwritten() -> None:
    plan, v, _ = planned("""
func @f(%x: f32[4,4]) -> (f32[4,4], f32[4,4]) {
  %a: f32[4,4] = tanh %x
  %t: f32[4,4] = transpose %a {axes=[-1,-2]}
  %b: f32[4,4] = exp %a
  %c: f32[4,4] = add %b, %t
  %d: f32[4,4] = add %a, %t
  return %c, %d
}""")
    assert plan.root(v["t"]) is v["a"]
    # %b may not take the place of %a, which %t shows; %d reads both, so it may take neither's.
    assert plan.overwrites == {v["c"]: v["b"]}


def test_dead_bytes_of_equal_size_are_taken_over() -> None:
    plan, v, _ = planned("""
func @f(%x: f32[4], %m: f32[4,4], %y: f64[2]) -> (f32[4]) {
  %a: f32[4] = tanh %x
  %s: f32[] = sum %a {axes=[-1]}
  %b: f64[2] = tanh %y
  %c: f32[2] = cast %b {dtype=f32}
  %d: f32[2] = tanh %c
  %e: f32[4] = concat %d, %d {axis=-1}
  %g: f32[4] = mul %e, %x
  return %g
}""")
    assert plan.takes[v["b"]] is v["a"]  # 16 bytes each
    assert v["e"] not in plan.overwrites


def test_what_a_container_or_an_arm_hands_on_is_not_overwritten() -> None:
    plan, v, _ = planned("""
func @f(%x: f32[4], %p: bool[]) -> (f32[4], (f32[4], f32[4]), f32[4]) {
  %a: f32[4] = tanh %x
  %b: f32[4] = exp %x
  %t: (f32[4], f32[4]) = tuple_make %a, %b
  %c: f32[4] = tanh %b
  %e: f32[4] = cos %x
  %r: f32[4] = if %p then { yield %e } else { yield %x }
  %d: f32[4] = tanh %r
  %g: f32[4] = exp %d
  return %c, %t, %g
}""")
    assert plan.overwrites == {v["g"]: v["d"]}
    assert not plan.takes


def test_a_carry_is_updated_in_place_if_nobody_keeps_it() -> None:
    text = """
func @f(%x: f32[4], %g: f32[], %n: i64[]) -> (f32[4]) {
  %z: f32[4] = const {value=0.0}
  %r: f32[4] = scan %n (%acc = %z) body (%i) {
    %u: f32[4] = scatter_add %acc, %i, %g {axis=-1}
    yield %u
  }
  return %r
}"""
    plan, v, _ = planned(text)
    assert plan.overwrites == {v["u"]: v["acc"]}
    assert plan.owned == [v["acc"]]


def test_a_carry_that_every_trip_saves_is_not_updated_in_place() -> None:
    plan, _, _ = planned("""
func @f(%x: f32[4], %g: f32[], %n: i64[]) -> (f32[4], seq<f32[4]>) {
  %r: f32[4], %s: seq<f32[4]> = scan %n (%acc = %x) body (%i) {
    %u: f32[4] = scatter_add %acc, %i, %g {axis=-1}
    yield %u ; %acc
  }
  return %r, %s
}""")
    assert not plan.overwrites
    assert not plan.owned


def test_a_carry_that_swaps_with_another_or_comes_from_outside_is_not_updated_in_place() -> None:
    plan, _, _ = planned("""
func @f(%x: f32[4], %y: f32[4], %n: i64[]) -> (f32[4], f32[4], f32[4]) {
  %r: f32[4], %s: f32[4], %t: f32[4] = scan %n (%a = %x, %b = %y, %c = %x) body (%i) {
    %u: f32[4] = tanh %a
    %w: f32[4] = exp %c
    %q: f32[4] = add %u, %w
    yield %b, %q, %y
  }
  return %r, %s, %t
}""")
    # Only %b's next value is made by the trip; %b itself lives on as the next %a.
    assert not plan.owned
