"""Element types: their names, NumPy equivalents and promotion.

The lattice is the one measured on MindSpore: bool < uint8/int8 (mixed: int16) < int16 < int32 < int64 <
float16 < float32 < float64, so an integer of any width joins a float at the float's width.  bfloat16 with float16
gives float32, with the wider floats the wider one.  Integers are promoted as in NumPy: a signed one with an unsigned
one to the next wider signed one, uint64 with a signed one to float64.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = [
    "ALL",
    "BY_NAME",
    "BY_SHORT",
    "NO_COMPLEX",
    "DType",
    "bfloat16",
    "bool_",
    "default_of_python",
    "dtype_of",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "int8",
    "int16",
    "int32",
    "int64",
    "promote",
    "promote_scalar",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class DType:
    """The element type of a Tensor; one object per type, compared by identity.

    >>> float32.short, str(float32), float32.is_float
    ('f32', 'Float32', True)
    """

    __slots__ = ("_numpy", "bits", "kind", "name", "short")

    def __init__(self, name: str, short: str, kind: str, bits: int) -> None:
        self.name, self.short, self.kind, self.bits = name, short, kind, bits
        self._numpy: np.dtype[Any] | None = None if name == "bfloat16" else np.dtype(name)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same bytes (bfloat16 comes from `ml_dtypes`, imported at first use)."""
        if self._numpy is None:
            import ml_dtypes

            self._numpy = np.dtype(ml_dtypes.bfloat16)
        return self._numpy

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def itemsize(self) -> int:
        return max(1, self.bits // 8)

    def __repr__(self) -> str:
        return f"autodiff_compiler.{self.name}" if self.name != "bool" else "autodiff_compiler.bool_"

    def __str__(self) -> str:
        return f"UInt{self.bits}" if self.kind == "u" else "BFloat16" if self is bfloat16 else self.name.capitalize()

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_of, (self.name,)


bool_ = DType("bool", "bool", "b", 1)
uint8 = DType("uint8", "u8", "u", 8)
uint16 = DType("uint16", "u16", "u", 16)
uint32 = DType("uint32", "u32", "u", 32)
uint64 = DType("uint64", "u64", "u", 64)
int8 = DType("int8", "i8", "i", 8)
int16 = DType("int16", "i16", "i", 16)
int32 = DType("int32", "i32", "i", 32)
int64 = DType("int64", "i64", "i", 64)
float16 = DType("float16", "f16", "f", 16)
bfloat16 = DType("bfloat16", "bf16", "f", 16)
float32 = DType("float32", "f32", "f", 32)
float64 = DType("float64", "f64", "f", 64)

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64)
BY_NAME = {d.name: d for d in ALL}
BY_SHORT = {d.short: d for d in ALL}
NO_COMPLEX = "complex numbers are not supported; carry real and imaginary parts in two Tensors"
_FROM_NUMPY: dict[Any, DType] = {d._numpy: d for d in ALL if d._numpy is not None}
_RANK = {d: i for i, d in enumerate(ALL)}


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """Our dtype for a NumPy one; TypeError for what has none (complex, strings, objects)."""
    found = _FROM_NUMPY.get(dtype)
    if found is None:
        if dtype.name == "bfloat16":
            found = bfloat16
        else:
            native = dtype.newbyteorder("=")
            found = _FROM_NUMPY.get(native)
        if found is None and dtype.kind == "c":
            raise TypeError(f"{dtype.name}: {NO_COMPLEX}")
        if found is None:
            names = ", ".join(d.name for d in ALL)
            raise TypeError(f"arrays of {dtype} are not supported; supported are {names}")
        _FROM_NUMPY[dtype] = found
    return found


def dtype_of(spec: Any) -> DType:
    """What a user may write for a dtype: ours, its name, a NumPy dtype or scalar type, `bool`, `int`, `float`."""
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str) and spec in BY_NAME:
        return BY_NAME[spec]
    if spec is bool:
        return bool_
    if spec is int:
        return int64
    if spec is float:
        return float32
    try:
        return from_numpy(np.dtype(spec))
    except TypeError as error:
        if NO_COMPLEX in str(error):
            raise
        if isinstance(spec, type) and issubclass(spec, int | float):  # the class of a number that is marked somehow
            return int64 if issubclass(spec, int) else float32
        raise TypeError(f"{spec!r} is not a dtype; write e.g. ms.float32") from None


@functools.cache
def promote(a: DType, b: DType) -> DType:
    """The dtype of `Tensor op Tensor`."""
    if a is b:
        return a
    if not a.is_float and not b.is_float:
        return from_numpy(np.promote_types(a.numpy, b.numpy))
    if {a, b} == {float16, bfloat16}:
        return float32
    # MindSpore 2.10: an integer Tensor of any width takes the dtype of the float Tensor beside it: int64 with float16
    # is float16.
    return a if _RANK[a] > _RANK[b] else b


def default_of_python(value: bool | int | float) -> DType:
    """The dtype of `Tensor(value)` for a Python number."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else float32


@functools.cache
def promote_scalar(tensor: DType, kind: type) -> DType:
    """The dtype of `Tensor op number` for a Python number of type `kind`: the Tensor's unless its kind is lower."""
    if kind is bool:
        return tensor
    if kind is int:
        return int64 if tensor is bool_ else tensor
    # MindSpore 2.10: a Python float makes an integer Tensor float32, and leaves float16 and float64 as they are.
    return tensor if tensor.is_float else float32
