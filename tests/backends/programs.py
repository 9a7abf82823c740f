"""Programs that several tests run, and short ways to make and compile them."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import float32
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.types import tensor

V4, SQUARE = tensor(float32, (4,)), tensor(float32, (64, 64))
X4 = np.array([0.5, -1.0, 2.0, 3.0], np.float32)


def compiled(text, **bound):
    module = parse_module(text)
    module.constants.update(bound.get("constants", {}))
    module.callables.update(bound.get("callables", {}))
    return NumpyBackend().compile(module)


def built(types, build, names=None):
    with Builder(Block(types, names)) as b:
        b.ret(*build(b, *b.block.args))
    module = b.module
    module.functions["f"] = Function("f", b.block)
    return module


#: A loop whose trip count only run time knows; its states are read backwards.
LOOP = """
func @f(%x: f32[4], %n: i64[]) -> (i64[], f32[4], seq<f32[4]>, f32[]) {
  %zero: i64[] = const {value=0}
  %one: i64[] = const {value=1}
  %k: i64[], %i9: i64[], %y: f32[4], %r: seq<f32[4]> = while (%i = %zero, %c = %x) cond {
    %p: bool[] = less %i, %n
    yield %p
  } body {
    %i2: i64[] = add %i, %one
    %t: f32[4] = tanh %c
    yield %i2, %t ; %c
  }
  %s0: f32[] = const {value=0.0}
  %s: f32[] = scan %k (%acc = %s0 ; %e = %r) {reverse=True} body (%j) {
    %q: f32[] = sum %e {axes=[-1]}
    %weight: f32[] = cast %j {dtype=f32}
    %m: f32[] = mul %q, %weight
    %a2: f32[] = add %acc, %m
    yield %a2
  }
  return %k, %y, %r, %s
}
"""

#: Loops in loops: row i of the collected rows has i elements.
NESTED = """
func @f(%n: i64[], %x: f32[4]) -> (f32[], seq<seq<f32[4]>>, i64[]) {
  %zero: i64[] = const {value=0}
  %c9: f32[4], %m: seq<i64[]>, %rs: seq<seq<f32[4]>> = scan %n (%c = %x) OUTER body (%i) {
    %d9: f32[4], %r: seq<f32[4]> = scan %i (%d = %c) {reverse=True} body (%j) {
      %e: f32[4] = tanh %d
      yield %e ; %d
    }
    yield %d9 ; %i, %r
  }
  %s0: f32[] = const {value=0.0}
  %s: f32[] = scan %n (%acc = %s0 ; %row = %rs, %len = %m) {reverse=True} body (%k) {
    %t: f32[] = scan %len (%a = %acc ; %el = %row) body (%l) {
      %q: f32[] = sum %el {axes=[-1]}
      %b: f32[] = add %a, %q
      yield %b
    }
    yield %t
  }
  %count: i64[] = seq_len %rs
  return %s, %rs, %count
}
"""
