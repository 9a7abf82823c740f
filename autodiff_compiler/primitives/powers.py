"""Powers, of floats and of integers."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import promote_scalar
from ..errors import NotDifferentiableError
from ..ir.primitive import F, Primitive
from ..ir.types import TensorType
from .family import binary, is_tensor, like, number_binary, number_of, promoted
from .python_numbers import NO_INTEGER
from .requirements import SymScalar, require_dtype
from .samples import F2, ints


def _pow(x, y):
    if isinstance(y, int) and is_tensor(x) and x.dtype.is_int and y < 0:
        raise ValueError(NO_INTEGER.format(y))
    if y.__class__ is SymScalar and y.kind is int and is_tensor(x) and x.dtype.is_int:
        y = SymScalar(F.check_exponent(y.value), int)
    if isinstance(y, int | float) and y == 2:
        if not is_tensor(x) or x.dtype is not promote_scalar(x.dtype, type(y)):
            x, _ = promoted(x, y)
        return F.mul(x, x)  # correctly rounded, and many times faster than a general power
    if isinstance(y, float) and y == 0.5 and is_tensor(x) and x.dtype.is_float:
        return F.sqrt(x)  # as for NumPy's operator
    x, y = promoted(x, y)
    dtype = x.dtype if is_tensor(x) else y.dtype
    require_dtype(not dtype.is_bool, "pow is not defined for bools", hint="cast one of them to a number first")
    return F.pow(x, y) if dtype.is_float else F.int_pow(x, y)


class Pow(Primitive):
    """Power; x**0 is 1 everywhere, a negative number to a fractional power is nan.

    Of integers it raises ValueError at a negative exponent, where Python's result is a float; `call` takes `int_pow`.
    """

    infer = number_binary
    scalar = lambda k, x, y: k.power(x, y)
    flops = 60
    aclnn = "PowTensorTensor"
    call = _pow
    methods = ("__pow__", "__rpow__", "pow", "pow_")
    python = math.pow

    def vjp(c, g, x, y):
        return (_pow_by_base(g, x, y) if c.needs.x else None), (_pow_by_exponent(c, g, x, y) if c.needs.y else None)

    def samples(rng):
        yield rng(2, 3, low=0.5, high=2.0), rng(2, 3)
        yield rng(low=0.5), rng()
        yield rng(3, low=0.5), np.array([2.0, 3.0, -1.0])

    ties = [
        (([0.0], [0.0]), {}, ([0.0], [0.0])),
        (([0.0], [1.0]), {}, ([1.0], [0.0])),
        (([0.0], [2.0]), {}, ([0.0], [0.0])),
        (([0.0], [0.5]), {}, ([math.inf], [0.0])),
        (([0.0], [-1.0]), {}, ([-math.inf], [-math.inf])),
        (([3.0], [0.0]), {}, ([0.0], [math.log(3.0)])),
        (([math.nan], [0.0]), {}, ([0.0], [math.nan])),
        (([5e-324], [0.0]), {}, ([0.0], [math.log(5e-324)])),
        (([-2.0], [3.0]), {}, ([12.0], [math.nan])),
    ]


def _pow_by_base(g, x, y):
    from ml_dtypes import finfo  # not at start-up: most programs never need it

    if (n := number_of(y)) is not None:
        return None if n == 0 else g * (F.pow(x, n - 1) * n)
    # At y = 0 the derivative by x is 0, though its factor x**(y-1) is nan for nan, and inf for 0 and the smallest x.
    least = 1 / float(finfo(x.dtype.numpy).max)
    corner = F.logical_and(F.logical_not(F.greater(F.abs(x), least)), F.equal(y, 0))
    # The derivative of this 0 by y is that factor, 1/x (0 for x = 0, where 0**y counts as constant; nan below 0).
    base = F.stop_gradient(x)
    factor = F.select(F.greater(x, 0), 1 / base, F.select(F.equal(x, 0), base, math.nan))
    return g * F.mul_no_nan(F.select(corner, factor, F.pow(x, F.select(corner, 1, y) - 1)), y)


def _pow_by_exponent(c, g, x, y):
    base = number_of(x)
    if base is not None:
        x = like(base, y)
        if base > 0:
            return g * (c.out * F.log(x))
    flat = F.logical_and(F.equal(x, 0), F.greater_equal(y, 0))  # constant (but for a jump): no -inf from log(0)
    return g * (c.out * F.log(F.select(flat, 1, x)))


class IntPow(Primitive):
    """Power of integers, truncated: a negative exponent leaves only the powers of 1 and -1, all others are 0."""

    internal = True

    def infer(x: TensorType, y: TensorType):
        require_dtype(binary(x, y).dtype.is_int, f"not defined for {x.dtype.name}: {x}")
        return x

    def scalar(k, x, y):
        parity = k.power(x, k.bitwise_and(y, 1))
        unit = k.logical_or(k.equal(x, 1), k.equal(x, -1))
        return k.where(k.greater_equal(y, 0), k.power(x, k.maximum(y, 0)), k.where(unit, parity, 0))

    def vjp(c, g, x, y):
        if c.needs.y:
            raise NotDifferentiableError(
                "a power of integers has no derivative by its exponent", hint="cast the base or the exponent to a float"
            )
        # Negative powers are truncated to integers, so their derivatives are 0.
        slope = F.select(F.greater(y, 0), y * F.int_pow(x, F.maximum(y - 1, 0)), 0)
        return g * slope, None

    def decomposed(c, x, y):
        odd = F.equal(F.bitwise_and(y, 1), 1)
        unit = F.select(F.equal(x, 1), x, F.select(F.equal(x, -1), F.select(odd, x, -x), 0))
        return F.select(F.greater_equal(y, 0), F.pow(x, F.maximum(y, 0)), unit)

    samples = ints(-3, 4)
    errors = [((F2, F2), {}, "not defined for float32")]
