"""The dtypes and constants of `mindspore.numpy`, and dtype promotion."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import DType, promote
from ..dtypes import bool_ as bool_
from ..dtypes import float16 as float16
from ..dtypes import float32 as float32
from ..dtypes import float64 as float64
from ..dtypes import int8 as int8
from ..dtypes import int16 as int16
from ..dtypes import int32 as int32
from ..dtypes import int64 as int64
from ..dtypes import uint8 as uint8
from ..dtypes import uint16 as uint16
from ..dtypes import uint32 as uint32
from ..dtypes import uint64 as uint64
from ..primitives.family import is_tensor
from ..primitives.requirements import SymScalar
from .operands import dtype_named

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
