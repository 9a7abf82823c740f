"""Element types under the names of MindSpore's module `dtype`, and what converts between them and those of others."""

from __future__ import annotations

import sys
from typing import Any

from ..dtypes import (
    ALL,
    BY_NAME,
    DType,
    bfloat16,
    bool_,
    dtype_of,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .kinds import (
    TensorType,
    dictionary,
    float_,
    function,
    get_py_obj_dtype,
    int_,
    issubclass_,
    list_,
    number,
    slice_,
    string,
    tensor,
    tuple_,
    type_none,
    type_type,
    uint,
)

__all__ = [
    "TensorType",
    "Type",
    "bfloat16",
    "bool_",
    "byte",
    "dictionary",
    "double",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "float16",
    "float32",
    "float64",
    "float_",
    "float_type",
    "function",
    "get_py_obj_dtype",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "int_type",
    "intc",
    "intp",
    "issubclass_",
    "list_",
    "long",
    "number",
    "number_type",
    "pytype_to_dtype",
    "short",
    "single",
    "slice_",
    "string",
    "tensor",
    "tensor_type",
    "tuple_",
    "type_none",
    "type_type",
    "ubyte",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_type",
    "uintc",
    "uintp",
    "ulong",
    "ushort",
]

#: The class of all of them.
Type = DType

half, single, double = float16, float32, float64
byte, short, intc, intp, long = int8, int16, int32, int64, int64
ubyte, ushort, uintc, uintp, ulong = uint8, uint16, uint32, uint64, uint64
tensor_type = TensorType

int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = tuple(d for d in ALL if d.is_float)
number_type = (*int_type, *uint_type, *float_type)


def dtype_to_nptype(type_: Any) -> Any:
    """NumPy's scalar type for an element type; TypeError for what is none.

    >>> dtype_to_nptype(float16).__name__
    'float16'
    """
    return dtype_of(type_).numpy.type


def dtype_to_pytype(type_: Any) -> type:
    """The Python type of the numbers of an element type; TypeError for what is none.

    >>> dtype_to_pytype(uint8)
    <class 'int'>
    """
    dtype = dtype_of(type_)
    return bool if dtype.is_bool else int if dtype.is_int else float


def pytype_to_dtype(obj: Any) -> DType:
    """The element type for a Python or NumPy type; NotImplementedError for a type without one.

    A Python float has 64 bits, as in MindSpore; a Tensor made of one has 32.

    >>> pytype_to_dtype(int), pytype_to_dtype(float)
    (autodiff_compiler.int64, autodiff_compiler.float64)
    """
    if obj is float:
        return float64
    try:
        return dtype_of(obj)
    except TypeError:
        raise NotImplementedError(f"{obj!r} has no element type; those with one are {', '.join(BY_NAME)}") from None


#: MindSpore's names that Python has too, for what reads them off the module; in here they mean Python's.
_ALSO_PYTHON = {"bool": bool_, "float": float32, "int": int32}


def __getattr__(name: str) -> Any:
    if name not in _ALSO_PYTHON:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return _ALSO_PYTHON[name]
