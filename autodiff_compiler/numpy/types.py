"""The dtypes and constants of `mindspore.numpy`, and dtype promotion."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import (
    DType,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..primitives.family import SymScalar, is_tensor
from .operands import dtype_named

# fmt: off
__all__ = [
    "NINF", "PINF", "bool_", "float16", "float32", "float64", "float_", "inf", "int8", "int16", "int32", "int64",
    "int_", "nan", "numeric_types", "pi", "promote_types", "result_type", "uint", "uint8", "uint16", "uint32", "uint64",
]
# fmt: on

int_, uint, float_ = int32, uint32, float32
inf = PINF = math.inf
NINF = -math.inf
nan = math.nan
pi = math.pi

#: The names of the dtypes.
numeric_types = [
    *("int_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float_", "float16", "float32", "float64", "bool_"),
]


def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype to which two dtypes are promoted.

    >>> from autodiff_compiler import numpy as np
    >>> np.promote_types(np.float32, np.float64), np.promote_types(np.uint8, np.int8)
    (autodiff_compiler.float64, autodiff_compiler.int16)
    """
    return promote(dtype_named(type1), dtype_named(type2))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype to which arrays, numbers (int32, float32) and dtypes are promoted.

    >>> from autodiff_compiler import numpy as np
    >>> np.result_type("int8", np.ones(2), 3)
    autodiff_compiler.float32
    """
    first, *others = map(_dtype, arrays_and_dtypes)
    for dtype in others:
        first = promote(first, dtype)
    return first


def _dtype(x: Any) -> DType:
    if is_tensor(x):
        return x.dtype
    kind = x.kind if x.__class__ is SymScalar else type(x)
    return {bool: bool_, int: int32, float: float32}.get(kind) or dtype_named(x)
