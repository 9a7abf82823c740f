"""Arithmetic and functions of every element.

Operands have equal dtype and shape (promotion and broadcasting happen before, in `call`).  `scalar` is the one formula:
the NumPy kernel, the body of native loops and of fused groups are made from it.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import DType, bool_, dtype_of
from ..ir.core import Value
from ..ir.primitive import METHODS, F, Primitive, composite, under_name
from ..ir.types import TensorType, tensor
from .compare import truth
from .family import (
    FloatFunction,
    FloatPair,
    as_tensor,
    binary,
    broadcast_shapes,
    broadcast_to,
    broadcasting,
    cast,
    cotangent_in,
    divided,
    is_tensor,
    keeping,
    like,
    number_binary,
    number_unary,
    promoted,
    unary,
    where_else_0,
)
from .requirements import require_dtype
from .samples import B2, F2, F3, I2, real


class Add(Primitive):
    """Sum of two tensors (of bools: whether either holds).

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.add(Tensor([1, 2]), Tensor([[10], [20]])).tolist()
    [[11, 12], [21, 22]]
    """

    infer = binary
    scalar = lambda k, x, y: k.add(x, y)

    aclnn = lambda c, x, y: c.op("Add", x, y, 1, c.out)
    cost = 1
    call = broadcasting("add")
    methods = ("__add__", "__radd__", "add", "add_")

    def vjp(c, g, x, y):
        return g, g

    samples = real(operands=2)


class Sub(Primitive):
    """Difference of two tensors."""

    infer = number_binary
    scalar = lambda k, x, y: k.subtract(x, y)

    aclnn = lambda c, x, y: c.op("Sub", x, y, 1, c.out)
    cost = 1
    call = broadcasting("sub", bools=False)
    methods = ("__sub__", "__rsub__", "sub", "subtract", "sub_")

    def vjp(c, g, x, y):
        return g, (-g if c.needs.y else None)

    samples = real(operands=2)


class Mul(Primitive):
    """Product of two tensors, element by element (of bools: whether both hold).

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.mul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist()
    [3.0, 8.0]
    """

    infer = binary
    scalar = lambda k, x, y: k.multiply(x, y)
    aclnn = "Mul"
    cost = 1
    call = broadcasting("mul")
    methods = ("__mul__", "__rmul__", "mul", "multiply", "mul_")

    def vjp(c, g, x, y):
        return (g * y if c.needs.x else None), (g * x if c.needs.y else None)

    samples = real(operands=2)


class Div(FloatPair):
    """True quotient of two tensors; integers become float32 first, a zero divisor gives inf or nan."""

    scalar = lambda k, x, y: k.divide(x, y)
    aclnn = "Div"
    methods = ("__truediv__", "__rtruediv__", "div", "divide", "true_divide", "div_")

    def vjp(c, g, x, y):
        q = g / y
        return q, (-(q * c.out) if c.needs.y else None)

    samples = real(0.5, 2.0, operands=2)
    ties = [(([1.0, -1.0], [0.0, 0.0]), {}, ([math.inf, math.inf], [-math.inf, math.inf]))]


class Neg(Primitive):
    """The negative of every element."""

    infer = number_unary
    scalar = lambda k, x: k.negative(x)
    aclnn = lambda c, x: c.op("Sub", c.number(0, x), x, 1, c.out) if x.dtype.is_int else c.op("Neg", x, c.out)
    cost = 1
    call = keeping("neg")
    methods = ("__neg__", "neg", "negative", "neg_")

    def vjp(c, g, x):
        return -g

    samples = real()


class Floordiv(Primitive):
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""

    infer = number_binary
    scalar = lambda k, x, y: k.floor_divide(x, y)
    flops = 5
    aclnn = lambda c, x, y: c.floored(x, y)
    call = broadcasting("floordiv", bools=False)
    methods = ("__floordiv__", "__rfloordiv__", "floor_divide", "floor_divide_")

    def vjp(c, g, x, y):
        return None, None

    samples = real(0.5, 4.0, operands=2)


class Mod(Primitive):
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""

    infer = number_binary
    scalar = lambda k, x, y: k.remainder(x, y)
    flops = 5
    aclnn = lambda c, x, y: c.modulo(x, y)
    call = broadcasting("mod", bools=False)
    methods = ("__mod__", "__rmod__", "remainder", "remainder_")

    def vjp(c, g, x, y):
        return g, (-(g * F.floordiv(x, y)) if c.needs.y else None)

    def samples(rng):  # quotients stay away from integers, where the remainder jumps
        whole, part, y = rng.ints(2, 3), rng(2, 3, low=0.2, high=0.8), rng(2, 3, low=1.0, high=2.0)
        yield (whole + part) * y, y
        yield -(whole + part) * y, -y


class Exp(FloatFunction):
    """e to the power of every element."""

    scalar = lambda k, x: k.exp(x)
    flops = 20
    aclnn = "Exp"
    methods = ("exp", "exp_")
    python = math.exp

    def vjp(c, g, x):
        return g * c.out

    samples = real()


class Log(FloatFunction):
    """Natural logarithm of every element: -inf at 0, nan below."""

    scalar = lambda k, x: k.log(x)
    flops = 30
    aclnn = "Log"
    methods = ("log", "log_")
    python = math.log

    def vjp(c, g, x):
        return g / x

    samples = real(0.3, 3.0)
    ties = [(([0.0],), {}, ([math.inf],))]


class Sqrt(FloatFunction):
    """Square root of every element: nan below 0; its derivative at 0 is inf."""

    scalar = lambda k, x: k.sqrt(x)
    aclnn = "Sqrt"
    methods = ("sqrt", "sqrt_")
    python = math.sqrt

    def vjp(c, g, x):
        return g / (c.out * 2)

    samples = real(0.3, 3.0)
    ties = [(([0.0],), {}, ([math.inf],))]


class Tanh(FloatFunction):
    """Hyperbolic tangent of every element.

    >>> from autodiff_compiler import Tensor, ops
    >>> ops.tanh(Tensor([0.0, 1.0])).tolist()
    [0.0, 0.761594...]
    """

    scalar = lambda k, x: k.tanh(x)
    flops = 25
    aclnn = "Tanh"
    methods = ("tanh", "tanh_")
    python = math.tanh
    total = True

    def vjp(c, g, x):
        return g * (1 - c.out * c.out)

    samples = real(-3, 3)


class Sigmoid(FloatFunction):
    """1 / (1 + exp(-x)), with full relative precision; results below the smallest normal number may become 0."""

    scalar = lambda k, x: k.reciprocal(k.add(k.exp(k.negative(x)), 1))
    aclnn = "Sigmoid"
    methods = ("sigmoid", "sigmoid_")

    def vjp(c, g, x):
        return g * (c.out * (1 - c.out))

    samples = real(-4, 4)
    ties = [(([0.0, 800.0, -800.0],), {}, ([0.25, 0.0, 0.0],))]


class Sin(FloatFunction):
    """Sine of every element, in radians."""

    scalar = lambda k, x: k.sin(x)
    flops = 20
    aclnn = "Sin"
    methods = ("sin", "sin_")
    python = math.sin

    def vjp(c, g, x):
        return g * F.cos(x)

    samples = real(-4, 4)


class Cos(FloatFunction):
    """Cosine of every element, in radians."""

    scalar = lambda k, x: k.cos(x)
    flops = 20
    aclnn = "Cos"
    methods = ("cos", "cos_")
    python = math.cos

    def vjp(c, g, x):
        return -(g * F.sin(x))

    samples = real(-4, 4)


class Abs(Primitive):
    """Absolute value of every element; its derivative at 0 is 0."""

    infer = unary
    scalar = lambda k, x: k.absolute(x)
    aclnn = "Abs"
    cost = 1
    call = keeping("abs")
    methods = ("__abs__", "abs", "absolute", "abs_")
    python = math.fabs
    total = True

    def vjp(c, g, x):
        return g * F.sign(x)

    def samples(rng):
        yield (rng.distinct(2, 3),)
        yield (rng.distinct(),)

    ties = [(([0.0, -0.0, 2.0, -2.0],), {}, ([0.0, 0.0, 1.0, -1.0],))]


class Sign(Primitive):
    """-1, 0 or 1 for every element; nan stays."""

    infer = number_unary
    scalar = lambda k, x: k.sign(x)
    aclnn = lambda c, x: c.small("Sign", x)
    cost = 1
    call = keeping("sign")
    methods = ("sign", "sgn", "sign_")

    def vjp(c, g, x):
        return None

    def samples(rng):
        yield (rng.distinct(2, 3),)
        yield (rng.distinct(),)


class Relu(Primitive):
    """max(x, 0) for every element; its derivative at 0 is 0."""

    infer = number_unary
    scalar = lambda k, x: k.maximum(x, 0)
    aclnn = lambda c, x: c.greater(x, c.number(0, x), c.out)  # what `Relu` makes of nan is not documented
    cost = 1
    call = keeping("relu")
    methods = ("relu", "relu_")

    def vjp(c, g, x):
        return where_else_0(F.greater(c.out, 0), g)  # by the result, so that x need not be saved

    def samples(rng):
        yield (rng.distinct(2, 3),)
        yield (rng.distinct(),)

    ties = [(([0.0, 2.0, -2.0],), {}, ([0.0, 1.0, 0.0],))]


def winners_share(loses, tie, g):
    """The cotangent of one operand of a maximum or minimum: all if it is the result, half at a tie."""
    # MindSpore 2.10: at a tie each operand of `maximum` and `minimum` gets half of the cotangent.
    return F.select(loses, 0, F.select(tie, divided(g, 2), g))


class ExtremePair(Primitive, abstract=True):
    """The extreme one of two elements."""

    infer = binary
    cost = 1
    public = broadcasting
    cuts = True

    def samples(rng):
        x = rng.distinct(2, 2, 3)
        yield x[0], x[1]


class Maximum(ExtremePair):
    """The greater of two elements, nan if either is; at a tie the cotangent is halved."""

    scalar = lambda k, x, y: k.maximum(x, y)
    aclnn = lambda c, x, y: c.greater(x, y, c.out)
    methods = ("maximum",)

    def vjp(c, g, x, y):
        gx = winners_share(F.less(x, y), F.equal(x, y), g) if c.needs.x else None
        return gx, (winners_share(F.greater(x, y), F.equal(x, y), g) if c.needs.y else None)

    ties = [(([1.0, 2.0, 0.0], [1.0, 1.0, 3.0]), {}, ([0.5, 1.0, 0.0], [0.5, 0.0, 1.0]))]


class Minimum(ExtremePair):
    """The smaller of two elements, nan if either is; at a tie the cotangent is halved."""

    scalar = lambda k, x, y: k.minimum(x, y)
    aclnn = lambda c, x, y: c.lesser(x, y, c.out)
    methods = ("minimum",)

    def vjp(c, g, x, y):
        gx = winners_share(F.greater(x, y), F.equal(x, y), g) if c.needs.x else None
        return gx, (winners_share(F.less(x, y), F.equal(x, y), g) if c.needs.y else None)

    ties = [(([1.0, 2.0, 0.0], [1.0, 1.0, 3.0]), {}, ([0.5, 0.0, 1.0], [0.5, 1.0, 0.0]))]


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
    aclnn = "SWhere"
    cost = 1
    call = _where

    def vjp(c, g, condition, x, y):
        gx = where_else_0(condition, g) if c.needs.x else None
        return None, gx, (where_else_0(F.logical_not(condition), g) if c.needs.y else None)

    def samples(rng):
        yield rng.bools(2, 3), rng(2, 3), rng(2, 3)
        yield rng.bools(), rng(), rng()

    errors = [((F2, F2, F2), {}, "dtypes differ"), ((B2, F2, F3), {}, "shapes differ")]


class Kept(Primitive):
    """`x` where the mask holds, else 0 even if x is nan there: `select` by a bitwise and.

    `np.where` branches at every element: where the mask is unpredictable it takes 15 times as long as this.
    """

    internal = True
    cost = 1

    def infer(mask: TensorType, x: TensorType):
        binary(mask, tensor(bool_, x.shape))
        require_dtype(x.dtype.is_float, f"not defined for {x.dtype.name}: {x}")
        return x

    flops = 1

    def numpy(mask, x):
        out = x.copy()
        bits = out.view(f"i{x.itemsize}")
        np.multiply(bits, mask, out=bits)
        return out

    aclnn = lambda c, mask, x: c.op("SWhere", mask, x, c.number(0, x), c.out)
    inplace = "x"

    def vjp(c, g, mask, x):
        return None, F.kept(mask, g)

    def samples(rng):
        yield rng.bools(2, 3), rng(2, 3)
        yield rng.bools(), rng()
        yield rng.bools(0), rng(0)

    errors = [((F2, F2), {}, "dtypes differ"), ((B2, F3), {}, "shapes differ"), ((B2, I2), {}, "not defined for")]
    ties = [(([True, False], [math.inf, math.nan]), {}, ([1.0, 0.0],))]


class IfConverged(Primitive):
    """`x` where the flag holds, else NaN: what a search returns that may not have found anything.

    It is linear in x by its form, which `select` with a constant is not, and `check_nonfinite` knows what its NaN
    means.
    """

    internal = True

    def infer(converged: TensorType, x: TensorType):
        binary(converged, tensor(bool_, x.shape))
        require_dtype(x.dtype.is_float, f"not defined for {x.dtype.name}: {x}")
        return x

    flops = 1

    def numpy(converged, x):
        return np.where(converged, x, np.full_like(x, np.nan))

    aclnn = lambda c, converged, x: c.op("SWhere", converged, x, c.number(math.nan, x), c.out)
    cost = 1

    def vjp(c, g, converged, x):
        return None, F.if_converged(converged, g)

    def samples(rng):
        yield np.ones((2, 3), bool), rng(2, 3)
        yield np.ones((), bool), rng()

    errors = [((F2, F2), {}, "dtypes differ"), ((B2, F3), {}, "shapes differ"), ((B2, I2), {}, "not defined for")]
    ties = [(([True, False], [2.0, 3.0]), {}, ([1.0, math.nan],))]


def _astype(x, dtype):
    return cast(as_tensor(x), dtype_of(dtype))


class Cast(Primitive):
    """The same numbers in another dtype; a cast of a float to an integer or bool ends its derivative.

    Where integers are differentiated, casts between them and floats pass cotangents both ways; a `linear` cast, which
    truncates a cotangent to an integer, has the derivative of one that does not truncate.
    """

    cost = 1

    def infer(x: TensorType, *, dtype: DType, linear: bool = False):
        return tensor(dtype, x.shape)

    def numpy(x, *, dtype, linear):
        return x.astype(dtype)

    aclnn = lambda c, x: c.converted(x, c.dtype)
    call = _astype
    methods = ("astype", "to")

    cuts = True

    def vjp(c, g, x):
        return None if c.dtype.is_bool else cotangent_in(g, x.dtype)

    def samples(rng):
        yield rng(2, 3), {"dtype": "float64"}
        yield rng(2, 3, low=0.0, high=100.0), {"dtype": "int64"}
        yield rng.ints(2, 3), {"dtype": "float64"}


@composite()
def where(condition, x, y):
    """The elements of `x` where the condition holds, else those of `y`; both sides are computed."""
    return _where(condition, x, y)


def _where_method(x, condition, y):
    """The elements of the Tensor where the condition holds, else those of `y`; both sides are computed."""
    return _where(condition, x, y)


METHODS["where"] = under_name(_where_method, "where")


@composite("masked_fill")
def masked_fill(x, mask, value):
    """`x` with `value` where the mask holds; the dtype is that of `x`."""
    value = value if is_tensor(value) else like(value, x) if isinstance(value, bool | int | float) else value
    return cast(_where(mask, value, x), x.dtype)
