"""Comparison, logic and bit operations.  None of them has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.primitive import F, Primitive, call
from ..ir.types import TensorType
from .family import as_tensor, binary, broadcasting, comparison, int_range, is_tensor, promoted, promoting, zeros_like
from .requirements import require_dtype
from .samples import F2, bools, ints


def _comparing(name):
    """The user-facing form of a comparison: an int that the Tensor's integers cannot hold lies beside all of them."""
    compare = broadcasting(name)

    def public(x: Any, y: Any) -> Any:
        if type(y) is int and is_tensor(x) and x.dtype.is_int:
            x, y = _within(x, y)
        elif type(x) is int and is_tensor(y) and y.dtype.is_int:
            y, x = _within(y, x)
        return compare(x, y)

    return promoting(public, name)


def _within(x, number):
    low, high = int_range(x.dtype)
    if number > high:
        return zeros_like(x), 1
    return (x, number) if number >= low else (call.ones_like(x), 0)


class _Comparison(Primitive, abstract=True):
    """A bool for every pair of elements; it has no derivative."""

    infer = comparison
    cost = 1
    public = _comparing

    def vjp(c, g, x, y):
        return None, None

    def samples(rng):
        yield rng(2, 3), rng(2, 3)
        x = rng.ints(2, 3).astype(np.float64)
        yield x, x


class Equal(_Comparison):
    """Whether two elements are equal (nan is not)."""

    scalar = lambda k, x, y: k.equal(x, y)
    aclnn = "EqTensor"
    methods = ("__eq__", "equal", "eq")


class NotEqual(_Comparison):
    """Whether two elements differ (nan differs from itself)."""

    scalar = lambda k, x, y: k.not_equal(x, y)
    aclnn = "NeTensor"
    methods = ("__ne__", "not_equal", "ne")


class Less(_Comparison):
    """Whether x < y, element by element."""

    scalar = lambda k, x, y: k.less(x, y)
    aclnn = "LtTensor"
    methods = ("__lt__", "less", "lt")


class LessEqual(_Comparison):
    """Whether x <= y, element by element."""

    scalar = lambda k, x, y: k.less_equal(x, y)
    aclnn = "LeTensor"
    methods = ("__le__", "less_equal", "le")


class Greater(_Comparison):
    """Whether x > y, element by element."""

    scalar = lambda k, x, y: k.greater(x, y)
    aclnn = "GtTensor"
    methods = ("__gt__", "greater", "gt")


class GreaterEqual(_Comparison):
    """Whether x >= y, element by element."""

    scalar = lambda k, x, y: k.greater_equal(x, y)
    aclnn = "GeTensor"
    methods = ("__ge__", "greater_equal", "ge")


# ------------------------------------------------------------------------------------------------ logic
def truth(x):
    """A tensor of bools: whether every element differs from zero."""
    x = as_tensor(x)
    return x if x.dtype.is_bool else F.not_equal(x, 0)


def _bools(x: TensorType, y: TensorType):
    require_dtype(binary(x, y).dtype.is_bool, f"not defined for {x.dtype.name}: {x}", hint="compare it with 0 first")
    return x


def _logical(name):
    def public(x, y):
        return getattr(F, name)(*promoted(truth(x), truth(y)))

    return public


class _Logical(Primitive, abstract=True):
    """A bool for every pair of bools."""

    infer = _bools
    cost = 1
    public = _logical
    samples = bools()
    errors = [((F2, F2), {}, "not defined for float32")]


class LogicalAnd(_Logical):
    """Whether both bools hold; numbers hold where they are not zero."""

    scalar = lambda k, x, y: k.logical_and(x, y)
    aclnn = "LogicalAnd"
    methods = ("logical_and",)


class LogicalOr(_Logical):
    """Whether either bool holds; numbers hold where they are not zero."""

    scalar = lambda k, x, y: k.logical_or(x, y)
    aclnn = "LogicalOr"
    methods = ("logical_or",)


class LogicalXor(_Logical):
    """Whether exactly one of two bools holds; numbers hold where they are not zero."""

    scalar = lambda k, x, y: k.logical_xor(x, y)
    aclnn = "LogicalXor"
    methods = ("logical_xor",)


class LogicalNot(Primitive):
    """Whether a bool does not hold; numbers hold where they are not zero."""

    def infer(x: TensorType):
        require_dtype(x.dtype.is_bool, f"not defined for {x.dtype.name}: {x}", hint="compare it with 0 first")
        return x

    scalar = lambda k, x: k.logical_not(x)
    aclnn = "LogicalNot"
    cost = 1
    call = lambda x: F.logical_not(truth(x))
    methods = ("logical_not",)

    samples = bools(operands=1)
    errors = [((F2,), {}, "not defined for float32")]


# ------------------------------------------------------------------------------------------------ bits
def _ints(x: TensorType, y: TensorType):
    require_dtype(binary(x, y).dtype.is_int, f"not defined for {x.dtype.name}: {x}")
    return x


def _bitwise(name, of_bools=None):
    """Bit operations of integers; of bools, the logical operation of the same name."""

    def public(x, y):
        x, y = promoted(x, y)
        dtype = getattr(x, "dtype", None) or y.dtype
        require_dtype(not dtype.is_float, f"{name} is not defined for {dtype.name}")
        return getattr(F, of_bools if of_bools and dtype.is_bool else name)(x, y)

    return public


class _Bitwise(Primitive, abstract=True):
    """An integer for every pair of integers."""

    infer = _ints
    cost = 1
    public = _bitwise
    samples = ints()
    errors = [((F2, F2), {}, "not defined for float32")]


class BitwiseAnd(_Bitwise):
    """Bits set in both integers; of bools `logical_and`."""

    scalar = lambda k, x, y: k.bitwise_and(x, y)
    aclnn = "BitwiseAndTensor"
    call = _bitwise("bitwise_and", "logical_and")
    methods = ("__and__", "__rand__", "bitwise_and")


class BitwiseOr(_Bitwise):
    """Bits set in either integer; of bools `logical_or`."""

    scalar = lambda k, x, y: k.bitwise_or(x, y)
    aclnn = "BitwiseOrTensor"
    call = _bitwise("bitwise_or", "logical_or")
    methods = ("__or__", "__ror__", "bitwise_or")


class BitwiseXor(_Bitwise):
    """Bits set in exactly one of two integers; of bools `logical_xor`."""

    scalar = lambda k, x, y: k.bitwise_xor(x, y)
    aclnn = "BitwiseXorTensor"
    call = _bitwise("bitwise_xor", "logical_xor")
    methods = ("__xor__", "__rxor__", "bitwise_xor")


def _invert(x):
    x = as_tensor(x)
    return F.logical_not(x) if x.dtype.is_bool else F.invert(x)


class Invert(Primitive):
    """Every bit of an integer flipped; of bools `logical_not`."""

    def infer(x: TensorType):
        require_dtype(x.dtype.is_int, f"not defined for {x.dtype.name}: {x}")
        return x

    scalar = lambda k, x: k.invert(x)
    aclnn = "BitwiseNot"
    cost = 1
    call = _invert
    methods = ("__invert__", "bitwise_not", "invert")

    samples = ints(operands=1)
    errors = [((F2,), {}, "not defined for float32")]


class LeftShift(_Bitwise):
    """Bits of an integer moved up; 0 once the shift reaches the width."""

    scalar = lambda k, x, y: k.left_shift(x, y)
    methods = ("__lshift__", "__rlshift__", "bitwise_left_shift")

    samples = ints(0, 6)


class RightShift(_Bitwise):
    """Bits of an integer moved down, copying the sign."""

    scalar = lambda k, x, y: k.right_shift(x, y)
    methods = ("__rshift__", "__rrshift__", "bitwise_right_shift")

    samples = ints(0, 6)
