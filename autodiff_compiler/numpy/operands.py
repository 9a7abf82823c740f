"""Conversion of arguments to Tensors and dtypes: Python's integers are int32, its other numbers float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, bool_, dtype_of, float16, float32, float64, from_numpy, int32, int64
from ..ir.primitive import call
from ..ir.types import tensor
from ..primitives.family import as_tensor, cast, constant, is_tensor, number_in, promoted_dtype
from ..primitives.requirements import SymScalar

__all__ = ["angle", "converted", "dtype_named", "floating", "given_tensor", "operand", "operands", "together"]

_NUMBERS = {bool: bool_, int: int32, float: float32}
_SHORTER = {int64: int32, float64: float32}


def dtype_named(dtype: Any) -> DType:
    """A dtype as a user writes it; `int` and ``"int"`` mean int32, `float` and ``"float"`` float32."""
    if isinstance(dtype, str):
        dtype = {"int": int32, "uint": "uint32", "float": float32}.get(dtype.lower(), dtype.lower())
    return int32 if dtype is int else dtype_of(dtype)


def converted(x: Any, dtype: Any) -> Any:
    """A result in the dtype that was asked for, if one was."""
    return x if dtype is None else cast(x, dtype_named(dtype))


def operand(x: Any, parameter: str = "x") -> Any:
    """A Tensor, a number, or nested lists of numbers and Tensors as a Tensor; TypeError for anything else."""
    if is_tensor(x) or isinstance(x, np.ndarray):
        return as_tensor(x)
    if x.__class__ is SymScalar:
        return cast(as_tensor(x), _NUMBERS[x.kind])
    if isinstance(x, tuple | list):
        return _joined(x, parameter)
    if isinstance(x, bool | int | float):
        dtype = _NUMBERS[bool if isinstance(x, bool) else int if isinstance(x, int) else float]
        return constant(number_in(x, dtype), tensor(dtype, ()))
    raise TypeError(f"`{parameter}` must be a Tensor, a number, or a list of numbers, not a {type(x).__name__}")


def _joined(x: Sequence[Any], parameter: str) -> Any:
    if _only_numbers(x):
        try:
            array = np.array(x)
        except ValueError:
            raise ValueError(f"`{parameter}` is no array: its rows differ in length") from None
        dtype = from_numpy(array.dtype)
        short = _SHORTER.get(dtype, dtype)
        if array.size and dtype is int64:
            number_in(int(array.min()), short), number_in(int(array.max()), short)
        return constant(array.astype(short.numpy), tensor(short, array.shape))
    return call.stack([operand(item, parameter) for item in x])


def _only_numbers(x: Any) -> bool:
    return all(map(_only_numbers, x)) if isinstance(x, tuple | list) else isinstance(x, bool | int | float)


def operands(*xs: Any) -> list[Any]:
    """Several operands as Tensors, each of its own dtype and shape."""
    return [operand(x, f"x{i}") for i, x in enumerate(xs, 1)]


def together(*xs: Any, floating: bool = False) -> list[Any]:
    """Several operands as Tensors of their common dtype, each of its own shape."""
    return promoted_dtype(*operands(*xs), floating=floating)


def given_tensor(x: Any, parameter: str = "x") -> Any:
    """The Tensor that an argument must be."""
    if not is_tensor(x):
        raise TypeError(f"`{parameter}` must be a Tensor, not a {type(x).__name__}")
    return x


def floating(x: Any) -> Any:
    """A Tensor of floats: bools and integers become float32."""
    return x if given_tensor(x).dtype.is_float else cast(x, float32)


def angle(x: Any, parameter: str = "x") -> Any:
    """A Tensor of floats: bools and integers of 8 bits become float16, longer ones float32."""
    x = given_tensor(x, parameter)
    return x if x.dtype.is_float else cast(x, float16 if x.dtype.bits <= 8 else float32)
