"""MindSpore's module `common`: Tensors, Parameters, element types, initializers, seeds."""

from __future__ import annotations

import importlib
from typing import Any

from . import dtype, initializer, parameter, seed, tensor
from .dtype import (
    Type,
    bfloat16,
    bool_,
    dtype_to_nptype,
    dtype_to_pytype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    pytype_to_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .parameter import Parameter, ParameterTuple
from .seed import get_seed, set_seed
from .tensor import Tensor

#: Imported lazily, as on the top level: the compiler, and what needs it.
_LAZY = {"api": "", "jit": "..transforms.jit", "mutable": "..runtime.mutable"}

__all__ = [
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "Type",
    "bfloat16",
    "bool_",
    "dtype",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "float16",
    "float32",
    "float64",
    "get_seed",
    "initializer",
    "int8",
    "int16",
    "int32",
    "int64",
    "parameter",
    "pytype_to_dtype",
    "seed",
    "set_seed",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


def __getattr__(name: str) -> Any:
    where = _LAZY.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = importlib.import_module(where or f".{name}", __name__)
    return getattr(found, name) if where else found
