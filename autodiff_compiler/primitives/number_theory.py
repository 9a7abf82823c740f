"""Functions of integers: common divisors and multiples, and the bits that are set."""

from __future__ import annotations

import numpy as np

from ..dtypes import uint8
from ..ir.primitive import F, Primitive
from ..ir.types import TensorType, tensor
from .family import binary, broadcasting, promoted
from .requirements import require_dtype
from .samples import F2, F3, I2, L2, ints


def _whole(x: TensorType):
    require_dtype(x.dtype.is_int, f"not defined for {x.dtype.name}: {x}", hint="cast it to an integer first")


def _whole_pair(x: TensorType, y: TensorType):
    _whole(x)
    return binary(x, y)


class Gcd(Primitive):
    """Greatest common divisor of two integers, never negative; of zeros it is 0."""

    infer = _whole_pair
    scalar = lambda k, x, y: k.gcd(x, y)
    call = broadcasting("gcd")
    methods = ("gcd",)
    samples = ints()
    errors = [((F2, F2), {}, "not defined for float32"), ((I2, L2), {}, "dtypes differ")]


class Lcm(Primitive):
    """Least common multiple of two integers, never negative; 0 if one of them is 0."""

    infer = _whole_pair
    scalar = lambda k, x, y: k.lcm(x, y)
    call = broadcasting("lcm")
    methods = ("lcm",)
    samples = ints()
    errors = [((F3, F3), {}, "not defined for float32"), ((I2, L2), {}, "dtypes differ")]


def _population_count(x):
    return F.population_count(*promoted(x))


class PopulationCount(Primitive):
    """How many bits are set in each integer (uint8); a negative one counts as its two's complement."""

    def infer(x: TensorType):
        _whole(x)
        return tensor(uint8, x.shape)

    flops = 1

    def numpy(x):
        # NumPy counts the bits of the absolute value.
        return np.bitwise_count(x.astype(f"u{x.itemsize}"))

    call = _population_count
    samples = ints(operands=1)
    errors = [((F2,), {}, "not defined for float32")]
