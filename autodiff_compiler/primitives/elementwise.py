"""Arithmetic and functions of every element.

Operands have equal dtype and shape (promotion and broadcasting happen before, in `call`).  `scalar` is the one formula:
the NumPy kernel, the body of native loops and of fused groups are made from it.
"""

from __future__ import annotations

import numpy as np

import math

from ..dtypes import DType, bool_, dtype_of
from ..ir.core import Value
from ..ir.primitive import F, Primitive, composite
from ..ir.types import TensorType, tensor
from .compare import truth
from .family import (
    as_tensor, binary, broadcast_shapes, broadcast_to, broadcasting, cast, float_binary, float_unary, floating, is_tensor,
    like, number_binary, number_of, number_unary, promoted, require_dtype, unary,
)


class Add(Primitive):
    """Sum of two tensors (of bools: whether either holds)."""

    infer = binary
    scalar = lambda k, x, y: k.add(x, y)
    call = broadcasting("add")
    methods = ("__add__", "__radd__", "add")

    def vjp(c, g, x, y):
        return g, g


class Sub(Primitive):
    """Difference of two tensors."""

    infer = number_binary
    scalar = lambda k, x, y: k.subtract(x, y)
    call = broadcasting("sub")
    methods = ("__sub__", "__rsub__", "sub", "subtract")

    def vjp(c, g, x, y):
        return g, (-g if c.needs.y else None)


class Mul(Primitive):
    """Product of two tensors, element by element (of bools: whether both hold)."""

    infer = binary
    scalar = lambda k, x, y: k.multiply(x, y)
    call = broadcasting("mul")
    methods = ("__mul__", "__rmul__", "mul", "multiply")

    def vjp(c, g, x, y):
        return (g * y if c.needs.x else None), (g * x if c.needs.y else None)


class Div(Primitive):
    """True quotient of two tensors; integers become float32 first, a zero divisor gives inf or nan."""

    infer = float_binary
    scalar = lambda k, x, y: k.divide(x, y)
    call = broadcasting("div", floating=True)
    methods = ("__truediv__", "__rtruediv__", "div", "divide", "true_divide")

    def vjp(c, g, x, y):
        q = g / y
        return q, (-(q * c.out) if c.needs.y else None)


class Neg(Primitive):
    """The negative of every element."""

    infer = number_unary
    scalar = lambda k, x: k.negative(x)
    call = lambda x: F.neg(*promoted(x))
    methods = ("__neg__", "neg", "negative")

    def vjp(c, g, x):
        return -g


class Floordiv(Primitive):
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""

    infer = number_binary
    scalar = lambda k, x, y: k.floor_divide(x, y)
    call = broadcasting("floordiv")
    methods = ("__floordiv__", "__rfloordiv__", "floor_divide")

    def vjp(c, g, x, y):
        return None, None


class Mod(Primitive):
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""

    infer = number_binary
    scalar = lambda k, x, y: k.remainder(x, y)
    call = broadcasting("mod")
    methods = ("__mod__", "__rmod__", "remainder")

    def vjp(c, g, x, y):
        return g, (-(g * F.floordiv(x, y)) if c.needs.y else None)


def _pow(x, y):
    if not isinstance(y, bool) and isinstance(y, int) and is_tensor(x) and x.dtype.is_int and y < 0:
        raise ValueError(f"an integer tensor to the power {y} is no integer: cast it to a float first")
    x, y = promoted(x, y)
    dtype = x.dtype if is_tensor(x) else y.dtype
    if number_of(y) == 2 and not dtype.is_bool:
        return F.mul(x, x)  # correctly rounded, and many times faster than a general power
    if dtype.is_float:
        return F.pow(x, y)
    # The kernel is more than one call of NumPy: a bare number in it would not take the other operand's dtype.
    return F.int_pow(x if is_tensor(x) else like(x, y), y if is_tensor(y) else like(y, x))


class Pow(Primitive):
    """Power of floats; x**0 is 1 everywhere, a negative number to a fractional power is nan."""

    infer = float_binary
    scalar = lambda k, x, y: k.power(x, y)
    call = _pow
    methods = ("__pow__", "__rpow__", "pow")

    def vjp(c, g, x, y):
        return (_pow_by_base(g, x, y) if c.needs.x else None), (_pow_by_exponent(c, g, x, y) if c.needs.y else None)


def _pow_by_base(g, x, y):
    n = number_of(y)
    if n is not None:
        return None if n == 0 else g * (F.pow(x, like(n - 1, x)) * like(n, x))
    # At 0**0 the factor x**(y-1) is infinite where the derivative is y = 0.
    corner = F.logical_and(F.equal(x, 0), F.equal(y, 0))
    return g * (y * F.pow(x, F.select(corner, 1, y) - 1))


def _pow_by_exponent(c, g, x, y):
    base = number_of(x)
    if base is not None:
        if base > 0:
            return g * (c.out * like(math.log(base), y))
        x = like(base, y)
    # 0**y is constant for y >= 0 (its one jump aside): no -inf from log(0).
    flat = F.logical_and(F.equal(x, 0), F.greater_equal(y, 0))
    return g * (c.out * F.log(F.select(flat, 1, x)))


class IntPow(Primitive):
    """Power of integers, truncated: a negative exponent leaves only the powers of 1 and -1, all others are 0."""

    def infer(x: TensorType, y: TensorType):
        require_dtype(binary(x, y).dtype.is_int, f"not defined for {x.dtype.name}: {x}")
        return x

    def numpy(x, y):
        return np.where(y >= 0, np.power(x, np.maximum(y, 0)), np.where((x == 1) | (x == -1), np.power(x, y & 1), 0))


class Exp(Primitive):
    """e to the power of every element."""

    infer = float_unary
    scalar = lambda k, x: k.exp(x)
    call = floating("exp")
    methods = ("exp",)

    def vjp(c, g, x):
        return g * c.out


class Log(Primitive):
    """Natural logarithm of every element: -inf at 0, nan below."""

    infer = float_unary
    scalar = lambda k, x: k.log(x)
    call = floating("log")
    methods = ("log",)

    def vjp(c, g, x):
        return g / x


class Sqrt(Primitive):
    """Square root of every element: nan below 0; its derivative at 0 is inf."""

    infer = float_unary
    scalar = lambda k, x: k.sqrt(x)
    call = floating("sqrt")
    methods = ("sqrt",)

    def vjp(c, g, x):
        return g / (c.out * 2)


class Tanh(Primitive):
    """Hyperbolic tangent of every element."""

    infer = float_unary
    scalar = lambda k, x: k.tanh(x)
    call = floating("tanh")
    methods = ("tanh",)

    def vjp(c, g, x):
        return g * (1 - c.out * c.out)


class Sigmoid(Primitive):
    """1 / (1 + exp(-x)), without overflow and with full relative precision on both sides."""

    infer = float_unary
    scalar = lambda k, x: k.divide(k.exp(k.minimum(x, 0)), k.add(k.exp(k.negative(k.absolute(x))), 1))
    call = floating("sigmoid")
    methods = ("sigmoid",)

    def vjp(c, g, x):
        return g * (c.out * (1 - c.out))


class Sin(Primitive):
    """Sine of every element, in radians."""

    infer = float_unary
    scalar = lambda k, x: k.sin(x)
    call = floating("sin")
    methods = ("sin",)

    def vjp(c, g, x):
        return g * F.cos(x)


class Cos(Primitive):
    """Cosine of every element, in radians."""

    infer = float_unary
    scalar = lambda k, x: k.cos(x)
    call = floating("cos")
    methods = ("cos",)

    def vjp(c, g, x):
        return -(g * F.sin(x))


class Abs(Primitive):
    """Absolute value of every element; its derivative at 0 is 0."""

    infer = unary
    scalar = lambda k, x: k.absolute(x)
    call = lambda x: F.abs(*promoted(x))
    methods = ("__abs__", "abs", "absolute")

    def vjp(c, g, x):
        return g * F.sign(x)


class Sign(Primitive):
    """-1, 0 or 1 for every element; nan stays."""

    infer = number_unary
    scalar = lambda k, x: k.sign(x)
    call = lambda x: F.sign(*promoted(x))
    methods = ("sign",)

    def vjp(c, g, x):
        return None


class Relu(Primitive):
    """max(x, 0) for every element; its derivative at 0 is 0."""

    infer = number_unary
    scalar = lambda k, x: k.maximum(x, 0)
    call = lambda x: F.relu(*promoted(x))
    methods = ("relu",)

    def vjp(c, g, x):
        return F.select(F.greater(x, 0), g, 0)


def _winners_share(loses, x, y, g):
    """The cotangent of one of two competitors: all if it wins, half at a tie."""
    return F.select(loses, 0, F.select(F.equal(x, y), g / 2, g))


class Maximum(Primitive):
    """The greater of two elements, nan if either is; at a tie the cotangent is halved."""

    infer = binary
    scalar = lambda k, x, y: k.maximum(x, y)
    call = broadcasting("maximum")
    methods = ("maximum",)

    def vjp(c, g, x, y):
        gx = _winners_share(F.less(x, y), x, y, g) if c.needs.x else None
        return gx, (_winners_share(F.greater(x, y), x, y, g) if c.needs.y else None)


class Minimum(Primitive):
    """The smaller of two elements, nan if either is; at a tie the cotangent is halved."""

    infer = binary
    scalar = lambda k, x, y: k.minimum(x, y)
    call = broadcasting("minimum")
    methods = ("minimum",)

    def vjp(c, g, x, y):
        gx = _winners_share(F.greater(x, y), x, y, g) if c.needs.x else None
        return gx, (_winners_share(F.less(x, y), x, y, g) if c.needs.y else None)


def _where(condition, x, y):
    condition = truth(condition)
    x, y = promoted(x, y)
    if condition.__class__ is Value or x.__class__ is Value:
        shape = broadcast_shapes([condition.shape, x.shape, y.shape])
        condition, x, y = [broadcast_to(v, shape) for v in (condition, x, y)]
    return F.select(condition, x, y)


class Select(Primitive):
    """`x` where the condition holds, else `y`; both sides are computed."""

    def infer(condition: TensorType, x: TensorType, y: TensorType):
        binary(condition, tensor(bool_, binary(x, y).shape))
        return x

    scalar = lambda k, condition, x, y: k.where(condition, x, y)
    call = _where

    def vjp(c, g, condition, x, y):
        gx = F.select(condition, g, 0) if c.needs.x else None
        return None, gx, (F.select(condition, 0, g) if c.needs.y else None)


def _astype(x, dtype):
    return cast(as_tensor(x), dtype_of(dtype))


class Cast(Primitive):
    """The same numbers in another dtype; a cast to an integer or bool ends the derivative."""

    def infer(x: TensorType, *, dtype: DType):
        return tensor(dtype, x.shape)

    def numpy(x, *, dtype):
        return x.astype(dtype)

    call = _astype
    methods = ("astype", "to")

    def vjp(c, g, x):
        return F.cast(g, dtype=x.dtype) if c.dtype.is_float else None


@composite("where")
def where(x, condition, y):
    """The elements of `x` where the condition holds, else those of `y` (a method of `x`)."""
    return _where(condition, x, y)


@composite("masked_fill")
def masked_fill(x, mask, value):
    """`x` with `value` where the mask holds; the dtype is that of `x`."""
    value = value if is_tensor(value) else like(value, x) if isinstance(value, bool | int | float) else value
    return cast(_where(mask, value, x), x.dtype)
