"""Functions of Python numbers known at run time: computed by Python, as NumPy's functions round otherwise."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import int64
from ..ir.primitive import Effect, Primitive
from ..ir.types import TensorType
from .requirements import require, require_dtype
from .samples import F2, I2

#: What is wrong with an integer tensor to a negative power.
NO_INTEGER = "an integer tensor to the power {} is no integer: cast it to a float first"


class MathFunction(Primitive):
    """The function of Python's `math` for every float; nan and inf where Python raises an exception."""

    internal = True

    def infer(*operands: TensorType, function: str):
        x = operands[0]
        require(hasattr(math, function), f"math has no function {function}")
        require_dtype(x.dtype.is_float, f"math.{function} is not defined for {x.dtype.name}: {x}")
        require(all(y is x for y in operands), f"the operands of math.{function} differ: {operands}")
        return x

    def numpy(*operands, function):
        found = []
        for numbers in zip(*[np.ravel(x).astype(np.float64).tolist() for x in operands], strict=True):
            try:
                found.append(getattr(math, function)(*numbers))
            except OverflowError:
                found.append(math.inf)
            except ValueError:
                found.append(math.nan)
        return np.array(found, operands[0].dtype).reshape(np.shape(operands[0]))

    def samples(rng):
        yield rng(2, 3, low=0.5, high=4.0), {"function": "lgamma"}
        yield np.array([-1.0, 0.0, 2.0]), {"function": "exp"}
        yield np.array([0.5, 1.0, 9.0]), {"function": "log"}
        yield np.array(-2.5), np.array(0.0), {"function": "atan2"}

    errors = [((I2,), {"function": "sin"}, "not defined for int32")]


class RoundDigits(Primitive):
    """Python's ``round(x, digits)`` of every float or int64: the nearest decimal, of two the even one."""

    internal = True

    def infer(x: TensorType, *, digits: int):
        require_dtype(x.dtype.is_float or x.dtype is int64, f"not defined for {x.dtype.name}: {x}")
        return x

    flops = 5

    def numpy(x, *, digits):
        numbers = np.ravel(x if x.dtype == np.int64 else x.astype(np.float64)).tolist()
        return np.array([round(v, digits) for v in numbers], x.dtype).reshape(np.shape(x))

    def samples(rng):
        yield rng(2, 3, low=-9.0, high=9.0), {"digits": 1}
        yield np.array(2.675), {"digits": 2}
        yield np.array([15, 25, -349]), {"digits": -1}

    errors = [((I2,), {"digits": 2}, "not defined for int32")]


class CheckExponent(Primitive):
    """The exponents of an integer tensor, known only at run time; ValueError, with the least, if it is negative."""

    internal = True
    effect = Effect.IO
    view = "exponent"

    def infer(exponent: TensorType, *, message: str = NO_INTEGER):
        require_dtype(exponent.dtype.is_int, f"not defined for {exponent.dtype.name}: {exponent}")
        return exponent

    def numpy(exponent, *, message):
        if np.min(exponent, initial=0) < 0:
            raise ValueError(message.format(np.min(exponent)))
        return exponent

    def vjp(c, g, exponent):
        return None

    def samples(rng):
        yield (rng.ints(low=0, high=4),)
        yield rng.ints(2, 3, low=0, high=4), {"message": "{} is negative"}

    errors = [((F2,), {}, "not defined for float32")]
