"""Uses, free values, effects, and copies of blocks."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Op, Value
from autodiff_compiler.ir.primitive import REGISTRY, Effect
from autodiff_compiler.ir.text import parse_function, parse_module, print_function
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import (
    Cloner,
    clone_function,
    count_ops,
    effect_of,
    free_values,
    inline,
    ops_of,
    unpack,
    uses,
)
from autodiff_compiler.primitives import F
from autodiff_compiler.source import Loc

NESTED = """
func @f(%x: f32[4], %p: bool[], %n: i64[]) -> (f32[4]) {
  %a: f32[4] = tanh %x
  %r: f32[4] = if %p then {
    %t: i64[], %y: f32[4] = while (%c = %a) cond {
      yield %p
    } body {
      %m: f32[4] = mul %c, %x
      yield %m
    }
    yield %y
  } else {
    %b: f32[4] = add %a, %a
    yield %b
  }
  return %r
}
"""


def find(function: Function, name: str) -> Value:
    """The value printed under a name that is unique in the function."""
    blocks = [function.body, *(b for op in ops_of(function.body) for b in op.blocks)]
    results = [x for op in ops_of(function.body) for x in op.results]
    (value,) = (x for x in [*results, *(a for b in blocks for a in b.args)] if x.name == name)
    return value


def test_ops_come_in_the_order_of_the_text() -> None:
    function = parse_function(NESTED)
    assert [op.defn.name for op in ops_of(function.body)] == ["tanh", "if", "while", "mul", "add"]
    assert count_ops(function) == 5


def test_uses_name_ops_and_ends_of_blocks_with_positions() -> None:
    function = parse_function(NESTED)
    tanh, if_, while_, mul, add = ops_of(function.body)
    x, p, n = function.args
    found = uses(function)
    assert found[x] == [(tanh, 0), (mul, 1)]
    assert found[p] == [(if_, 0), (while_.blocks[0], 0)]
    assert n not in found
    assert found[find(function, "a")] == [(while_, 0), (add, 0), (add, 1)]
    assert found[find(function, "r")] == [(function.body, 0)]
    assert uses(while_.blocks[1])[x] == [(mul, 1)]


def test_free_values_are_those_from_around_in_order_of_first_mention() -> None:
    function = parse_function(NESTED)
    _, if_, while_, _, _ = ops_of(function.body)
    x, p, _ = function.args
    a = find(function, "a")
    assert free_values(function.body) == []
    assert free_values(if_.blocks[0]) == [a, p, x]
    assert free_values(if_.blocks[1]) == [a]
    assert free_values(while_.blocks[0]) == [p]
    assert free_values(while_.blocks[1]) == [x]


# --- effects ------------------------------------------------------------------------------------------------------

EFFECTS = """
state @w: f32[4]
func @main(%x: f32[4], %p: bool[]) -> () {
  %0: f32[4] = tanh %x
  %1: f32[4] = state_read {state="w"}
  state_write %x {state="w"}
  print %x {parts=[]}
  %2: f32[4] = call @pure %x
  %3: f32[4] = call @reads %x
  %4: f32[4] = call @prints %x
  if %p then { state_write %x {state="w"} ; %5: f32[4] = call @reads %x ; yield } else { yield }
  %6: f32[4] = if %p then { yield %x } else { %7: f32[4] = call @prints %x ; yield %x }
  %8: f32[4] = call @ping %x
  return
}
func @pure(%x: f32[4]) -> (f32[4]) { return %x }
func @reads(%x: f32[4]) -> (f32[4]) { %1: f32[4] = state_read {state="w"} ; return %1 }
func @prints(%x: f32[4]) -> (f32[4]) { %1: f32[4] = call @reads %x ; print %1 {parts=[]} ; return %1 }
func @ping(%x: f32[4]) -> (f32[4]) { %1: f32[4] = call @pong %x ; return %1 }
func @pong(%x: f32[4]) -> (f32[4]) { %1: f32[4] = call @ping %x ; state_write %1 {state="w"} ; return %1 }
"""


def test_an_effect_is_the_union_of_what_runs_inside() -> None:
    module = parse_module(EFFECTS)
    memo: dict[str, Effect] = {}
    found = [effect_of(op, module, memo) for op in module.entry.body.ops]
    pure, read, write, io = Effect
    assert found == [pure, read, write, io, pure, read, io, write, io, write]
    # The memo holds whole functions only, so that a cycle gives no half answer to the next question.
    assert memo == {"pure": pure, "reads": read, "prints": io, "ping": write}
    (call, _) = module.functions["pong"].body.ops
    assert effect_of(call, module, {}) is Effect.WRITE


# --- copies -------------------------------------------------------------------------------------------------------


def test_a_copy_prints_like_the_original_and_shares_nothing_with_it() -> None:
    function = parse_function(NESTED)
    before = print_function(function)
    copy = clone_function(function)
    assert print_function(copy) == before == print_function(function)
    assert not {id(op) for op in ops_of(copy.body)} & {id(op) for op in ops_of(function.body)}
    verify(copy)


def test_a_copy_folds_numbers_and_rewrites() -> None:
    function = parse_function(
        """func @f(%x: f32[4]) -> (f32[4]) {
        %a: f32[4] = tanh %x ; %b: f32[4] = tanh %x ; %zero: f32[4] = const {value=0.0} ; %k: f32[4] = tanh %zero
        %s: f32[4] = add %a, %b ; %t: f32[4] = mul %s, %k ; return %t }"""
    )

    def zero(b: Builder, op: Op, x: Value, y: Value) -> Value | None:
        return y if y.is_const(0) else None

    copy = clone_function(function, rules={"mul": [zero]})
    assert [op.defn.name for op in copy.body.ops] == ["tanh", "const", "add"]
    assert copy.outs == copy.body.ops[1].results
    assert copy.body.ops[2].operands == (copy.body.ops[0].results[0],) * 2


def test_zeros_of_both_signs_stay_apart_in_a_copy() -> None:
    function = parse_function(
        "func @f() -> (f32[], f32[]) { %a: f32[] = const {value=0.0} ; %b: f32[] = const {value=-0.0} ; return %a, %b }"
    )
    assert print_function(clone_function(function)) == print_function(function)


def test_inlining_binds_the_arguments_and_extends_the_chain_of_calls() -> None:
    callee = parse_function(
        "func @g(%a: f32[4]) -> (f32[4], f32[4]) { %b: f32[4] = tanh %a @ g.py:3:4 ; return %b, %a }"
    )
    inner, call = Loc("h.py", 9), Loc("net.py", 20, 8)
    callee.body.ops[0].loc = Loc("g.py", 3, 4, caller=inner)
    b = Builder(Block([callee.args[0].type], ["x"]))
    (x,) = b.block.args
    b.loc = call
    tanh, same = inline(b, callee.body, [x], caller=call)
    assert same is x
    assert tanh.made_by("tanh")
    assert tanh.name == "b"
    (op,) = b.block.ops
    assert op.operands == (x,)
    assert op.loc == Loc("g.py", 3, 4, caller=Loc("h.py", 9, caller=call))
    assert b.loc is call


def test_a_block_may_be_copied_twice_and_its_outer_values_stand_for_themselves() -> None:
    function = parse_function(NESTED)
    body = next(op for op in ops_of(function.body) if op.defn.name == "while").blocks[1]
    b = Builder(Block([body.args[0].type], ["c"]))
    (c,) = b.block.args
    (once,) = inline(b, body, [c])
    (twice,) = inline(b, body, [once])
    first, second = b.block.ops
    assert first.operands == (c, function.args[0])
    assert second.operands == (once, function.args[0])
    assert twice is second.results[0]


def test_a_subclass_treats_nested_ops_too() -> None:
    class Doubling(Cloner):
        def clone_op(self, op: Op) -> None:
            super().clone_op(op)
            if op.defn.name == "mul":
                x = self.mapping[op.results[0]]
                self.mapping[op.results[0]] = F.add(x, x)

    function = parse_function(NESTED)
    body = Block([x.type for x in function.args], [x.name for x in function.args])
    b = Builder(body)
    b.ret(*Doubling(b, dict(zip(function.args, body.args, strict=True))).clone_ops(function.body))
    copy = Function("f", body)
    verify(copy)
    assert [op.defn.name for op in ops_of(body)] == ["tanh", "if", "while", "mul", "add", "add"]


def test_a_call_can_be_copied_before_its_callee_is() -> None:
    module = parse_module(EFFECTS)
    new = module.like()
    for function in module:
        new.add(clone_function(function, new))
    verify(new)
    assert [op.defn.name for op in new.functions["ping"].body.ops] == ["call"]


def test_a_wrong_number_of_arguments_is_an_error() -> None:
    function = parse_function(NESTED)
    with pytest.raises(ValueError, match="argument"):
        inline(Builder(Block()), function.body, function.args[:1])


def test_unpacked_ops_are_the_same_ones_elsewhere():
    """The block's arguments become the results of an op made for them; nothing is copied, nested blocks see them."""
    module = parse_module(
        """
        func @f(%x: f32[4], %p: bool[]) -> (f32[4]) {
          return %x
        }
        """
    )
    (function,) = module
    x, p = function.args
    builder = Builder(function.body, module=module)
    builder.block.outs = []
    inner = builder.nested([x.type], ["a"])
    with inner:
        a = inner.block.args[0]
        then, other = inner.nested(), inner.nested()
        with then:
            doubled = then.ret(F.add(a, a))
        inner.ret(inner.emit_op(REGISTRY["if"], (p,), (), (doubled, other.ret(a))).results[0])
    ops = list(inner.block.ops)
    with builder:
        made = F.tanh(x)
        outs = unpack(builder, inner.block, [made])
        builder.ret(*outs)
    verify(module)
    assert function.body.ops[-len(ops) :] == ops
    assert a.op is function.body.ops[0]
    assert a.op.results == [a]
