"""Shapes: reshapes, broadcasts and transposes that change nothing go, two in a row become one.

A broadcast of a broadcast becomes one, so its derivative sums once: the one rule that may round a derivative anew.
Sums are not merged: the order of their additions is part of the value.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir.core import Value
from .registry import emit, is_exactly, rule, same

_RESHAPING = ("reshape", "squeeze", "expand_dims")


@rule(*_RESHAPING, "broadcast_to")
def shape_kept(b, op, x):
    """reshape(x, shape of x) => x, and back to the shape that x was reshaped from"""
    t, root = op.results[0].type, x
    if op.defn.name != "broadcast_to":
        root = before_reshaping(x)
    if root.type is t: return same(b, root)


@rule("reshape")
def reshape_reshape(b, op, x):
    """reshape(reshape(x)) => reshape(x)"""
    root = before_reshaping(x)
    if root is not x: return b.emit(op.defn, (root,), op.attrs)


def before_reshaping(x: Value) -> Value:
    """What x was before the ops that keep the order of its elements."""
    while x.op is not None and x.op.defn.name in _RESHAPING:
        x = x.op.operands[0]
    return x


@rule("broadcast_to")
def broadcast_broadcast(b, op, x):
    """broadcast_to(broadcast_to(x)) => broadcast_to(x)"""
    if x.made_by("broadcast_to"): return b.emit(op.defn, x.op.operands, op.attrs)


@rule("transpose")
def transpose_kept(b, op, x):
    """transpose(x, identity) => x"""
    order = op.attrs[0]
    if all(a % len(order) == i for i, a in enumerate(order)): return same(b, x)


@rule("transpose")
def transpose_transpose(b, op, x):
    """transpose(transpose(x)) => transpose(x), or x"""
    if not x.made_by("transpose"): return None
    first, then = x.op.attrs[0], op.attrs[0]
    return b.emit(op.defn, x.op.operands, (tuple(first[a] for a in then),))


@rule("slice")
def slice_whole(b, op, x):
    """slice(x, all of x) => x"""
    if op.results[0].type is x.type and all(step == 1 for step in op.attr("steps")): return same(b, x)


@rule(*_RESHAPING, "broadcast_to", "transpose", "slice")
def rearranged_constant(b, op, x):
    """reshape(constant) => constant of the other shape"""
    if x.constant is not None: return b.const(x.constant, op.results[0].type)


@rule("concat")
def concat_one(b, op, *xs):
    """concat(x) => x"""
    if len(xs) == 1: return same(b, xs[0])


@rule("concat", "stack")
def joined_constants(b, op, *xs):
    """concat(c, c) => c of the whole shape"""
    c = xs[0].constant
    if c is not None and all(x.constant is not None and is_exactly(x, c) for x in xs):
        return b.const(c, op.results[0].type)


@rule("stack")
def stack_one(b, op, *xs):
    """stack(x) => reshape(x)"""
    if len(xs) == 1: return emit(b, "reshape", xs[0], shape=op.results[0].shape)


@rule("sum", "max", "min", "any", "all")
def reduce_nothing(b, op, x):
    """max(x, no axes) => x;  sum(n, no axes) => n for integers, since a float sum begins at 0.0 and -0.0 becomes 0.0"""
    if op.attr("axes") or op.results[0].type is not x.type: return None
    if op.defn.name != "sum" or not x.dtype.is_float: return same(b, x)


@rule("sum")
def sum_zeros(b, op, x):
    """sum(zeros) => zeros"""
    if is_exactly(x, 0.0): return b.const(0, op.results[0].type)


#: The bits of a significand, by those of a float; of the half formats that of the shorter one.
_SIGNIFICAND = {16: 8, 32: 24, 64: 53}


@rule("sum")
def sum_constant(b, op, x):
    """sum(constant) => constant, where every sum of some of the elements is exact, so that their order means nothing"""
    c, result = x.constant, op.results[0].type
    sizes = [x.shape[a] for a in op.attr("axes")]
    if not c or not math.isfinite(c) or not all(isinstance(d, int) for d in sizes): return None
    n = math.prod(sizes)
    if x.dtype.is_float:
        # c is a multiple of a power of two: so is every sum, and up to this many times it each is a number of the type.
        exact = abs(c.as_integer_ratio()[0]) * n <= 2 ** _SIGNIFICAND[x.dtype.bits]
    else:
        info = np.iinfo(x.dtype.numpy)
        exact = info.min <= c * n <= info.max
    if exact: return b.const(c * n if n else 0, result)
