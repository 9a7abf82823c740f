"""Arrays as MPI takes them: as elements, which are reduced, or as blocks of bytes, which are only moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .waiting import state

__all__ = ["blocks", "element", "parts", "reduction", "slices"]

_Array = np.ndarray[Any, Any]

#: MPI counts in 32 bits before its version 4: longer arrays are reduced in pieces, and longer blocks have a type.
most_at_once = (1 << 31) - 1
_TYPES = {
    "bool": "C_BOOL",
    "uint8": "UINT8_T",
    "uint16": "UINT16_T",
    "uint32": "UINT32_T",
    "uint64": "UINT64_T",
    "int8": "INT8_T",
    "int16": "INT16_T",
    "int32": "INT32_T",
    "int64": "INT64_T",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
_OPS = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}
_OPS_OF_BOOL = {"sum": "LOR", "prod": "LAND", "max": "LOR", "min": "LAND"}


def reduction(op: str, x: _Array) -> Any:
    """MPI's operation for arrays such as `x`."""
    return getattr(state.mpi, (_OPS_OF_BOOL if x.dtype.name == "bool" else _OPS)[op])


def slices(x: _Array) -> Iterator[slice]:
    """The pieces of a flat array that can be reduced at once, one at least."""
    for start in range(0, max(x.size, 1), most_at_once):
        yield slice(start, start + most_at_once)


def element(x: _Array) -> list[Any]:
    """A flat array to be reduced."""
    return [_bytes(x), x.size, getattr(state.mpi, _TYPES[x.dtype.name])]


def blocks(x: _Array, number: int) -> list[Any]:
    """An array of so many equal blocks; the count that MPI gets is that of one block."""
    size = x.nbytes // number
    return [_bytes(x), size, state.mpi.BYTE] if size <= most_at_once else [_bytes(x), 1, _block(size)]


def parts(x: _Array, counts: tuple[int, ...]) -> list[Any]:
    """An array in parts of so many rows along axis 0."""
    size = x.itemsize * int(np.prod(x.shape[1:], dtype=np.int64))
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [_bytes(x), counts, starts, _block(size)]


def _bytes(x: _Array) -> _Array:
    """The memory of an array; some dtypes have no buffer of their own."""
    return x.reshape(-1).view(np.uint8)


_blocks: dict[int, Any] = {}


def _block(size: int) -> Any:
    """MPI's type of so many bytes."""
    found = _blocks.get(size)
    if found is None:
        mpi, unit = state.mpi, min(size, most_at_once) or 1
        whole = mpi.BYTE.Create_contiguous(unit).Create_contiguous(size // unit)
        found = mpi.Datatype.Create_struct([1, size % unit], [0, size - size % unit], [whole, mpi.BYTE]).Commit()
        if len(_blocks) > 100:
            _blocks.popitem()[1].Free()
        _blocks[size] = found
    return found
