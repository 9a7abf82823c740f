"""Arithmetic, selection, logic and casts.

Not here on purpose, since they change bits: x + 0.0 (for x = -0.0), x * 0.0, x - x, pow(x, 2) => x * x, exp(log(x)).
"""

from __future__ import annotations

import math

import numpy as np

from ...ir.core import Value
from .registry import emit, is_exactly, rule, same


def _is_float(x: Value) -> bool:
    return x.dtype.is_float


@rule("add")
def add_zero(b, op, x, y):
    """add(x, -0.0) => x;  add(x, 0) => x for integers and bools"""
    for a, c in ((x, y), (y, x)):
        if c.is_const(0) and (not _is_float(x) or is_exactly(c, -0.0)): return same(b, a)


@rule("add")
def add_negated(b, op, x, y):
    """add(x, neg(y)) => sub(x, y)"""
    if y.made_by("neg"): return emit(b, "sub", x, y.op.operands[0])
    if x.made_by("neg"): return emit(b, "sub", y, x.op.operands[0])


@rule("sub")
def sub_zero(b, op, x, y):
    """sub(x, 0.0) => x"""
    if is_exactly(y, 0.0): return same(b, x)


@rule("sub")
def sub_negated(b, op, x, y):
    """sub(x, neg(y)) => add(x, y)"""
    if y.made_by("neg"): return emit(b, "add", x, y.op.operands[0])


@rule("sub")
def sub_self(b, op, x, y):
    """sub(n, n) => 0 for integers"""
    if x is y and x.dtype.is_int: return b.const(0, x.type)


@rule("neg")
def neg_neg(b, op, x):
    """neg(neg(x)) => x"""
    if x.made_by("neg"): return same(b, x.op.operands[0])


@rule("mul")
def mul_one(b, op, x, y):
    """mul(x, 1) => x"""
    if y.is_const(1): return same(b, x)
    if x.is_const(1): return same(b, y)


@rule("mul")
def mul_zero(b, op, x, y):
    """mul(n, 0) => 0 for integers and bools"""
    if not _is_float(x) and (x.is_const(0) or y.is_const(0)): return b.const(0, x.type)


@rule("mul")
def mul_negated(b, op, x, y):
    """mul(neg(x), neg(y)) => mul(x, y)"""
    if x.made_by("neg") and y.made_by("neg"): return emit(b, "mul", x.op.operands[0], y.op.operands[0])


@rule("div")
def div_one(b, op, x, y):
    """div(x, 1) => x"""
    if y.is_const(1) and _is_float(x) and op.results[0].type is x.type: return x


@rule("div")
def div_power_of_two(b, op, x, y):
    """div(x, 2**k) => mul(x, 2**-k) while 2**-k is a normal number"""
    c = y.constant
    if c is None or not _is_float(x) or c == 0 or not math.isfinite(c) or abs(math.frexp(c)[0]) != 0.5: return None
    # Half, bfloat16 and single have at least 14 such exponents on either side; a reciprocal beyond is not worth a test.
    limit = {16: 13, 32: 125, 64: 1021}[x.dtype.bits]
    if abs(math.frexp(c)[1]) < limit: return emit(b, "mul", x, b.const(1.0 / c, y.type))


@rule("pow", "int_pow")
def pow_one(b, op, x, y):
    """pow(x, 1) => x"""
    if y.is_const(1): return same(b, x)


@rule("pow", "int_pow")
def pow_zero(b, op, x, y):
    """pow(x, 0) => 1, of NaN too"""
    if y.is_const(0): return b.const(1, x.type)


@rule("abs")
def abs_abs(b, op, x):
    """abs(abs(x)) => abs(x)"""
    if x.made_by("abs"): return x


# ------------------------------------------------------------------------------------------------ selection, logic
@rule("select")
def select_constant(b, op, c, x, y):
    """select(True, x, y) => x"""
    if c.constant is not None: return same(b, x if c.constant else y)


@rule("select")
def select_equal(b, op, c, x, y):
    """select(c, x, x) => x"""
    if x is y: return same(b, x)


@rule("select")
def select_inverted(b, op, c, x, y):
    """select(logical_not(c), x, y) => select(c, y, x)"""
    if c.made_by("logical_not") and c.op.operands[0].dtype.is_bool: return emit(b, "select", c.op.operands[0], y, x)


@rule("logical_not")
def not_not(b, op, x):
    """logical_not(logical_not(p)) => p for bools"""
    if x.made_by("logical_not") and x.op.operands[0].dtype.is_bool: return same(b, x.op.operands[0])


@rule("logical_and", "logical_or")
def and_or(b, op, x, y):
    """logical_and(p, True) => p;  logical_and(p, False) => False;  logical_and(p, p) => p for bools; or likewise"""
    if not (x.dtype.is_bool and y.dtype.is_bool): return None
    if x is y: return same(b, x)
    neutral = op.defn.name == "logical_and"
    for p, c in ((x, y), (y, x)):
        if c.constant is not None: return same(b, p) if c.constant == neutral else b.const(not neutral, x.type)


@rule("equal", "less_equal", "greater_equal")
def compare_self(b, op, x, y):
    """equal(n, n) => True for integers and bools"""
    if x is y and not _is_float(x): return b.const(True, op.results[0].type)


@rule("not_equal", "less", "greater")
def compare_self_strictly(b, op, x, y):
    """less(n, n) => False for integers and bools"""
    if x is y and not _is_float(x): return b.const(False, op.results[0].type)


# ------------------------------------------------------------------------------------------------ casts
@rule("cast")
def cast_same(b, op, x):
    """cast(x, dtype of x) => x"""
    if op.results[0].type is x.type: return same(b, x)


@rule("cast")
def cast_round_trip(b, op, x):
    """cast(cast(x, wider), dtype of x) => x for floats"""
    if not x.made_by("cast"): return None
    root = x.op.operands[0]
    if root.type is op.results[0].type and _is_float(root) and _is_float(x) and _holds(x.dtype, root.dtype): return root


def _holds(wide, narrow):
    """Whether every number of the float dtype `narrow` is one of `wide`."""
    return wide is narrow or wide.bits > narrow.bits


@rule("cast")
def cast_constant(b, op, x):
    """cast(constant) => constant"""
    c, to = x.constant, op.results[0].type
    if c is None: return None
    if not to.dtype.is_float and not to.dtype.is_bool and isinstance(c, float):
        # What a number outside of the integer's range becomes is the kernel's business.
        info = np.iinfo(to.dtype.numpy)
        if not info.min <= c <= min(info.max, 2.0**62): return None
    with np.errstate(all="ignore"):
        number = np.asarray(c).astype(x.dtype.numpy).astype(to.dtype.numpy).item()
    if b.module.check_nonfinite and isinstance(number, float) and not np.isfinite(number) and np.isfinite(c):
        return None  # it overflows, which is to be found when it runs
    return b.const(number, to)


@rule("stop_gradient")
def stop_twice(b, op, x):
    """stop_gradient(stop_gradient(x)) => stop_gradient(x), and of a constant the constant"""
    if x.made_by("stop_gradient") or x.made_by("const"): return x
