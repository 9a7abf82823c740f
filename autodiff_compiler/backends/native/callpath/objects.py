"""The objects of this process that entries in machine code use: the pointers of their contexts, by name."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ....dtypes import BY_NAME
from ....runtime.epoch import epoch
from ....runtime.parameter import Parameter
from ....runtime.storage import holders
from ....runtime.tensor import Tensor
from ..memory import large_alloc
from ..memory.frame_pool import POOL, functions
from .abi import slot_offset

#: Objects that live as long as the process, by their names in a context.
_OBJECTS: dict[str, Any] = {
    "ndarray": np.ndarray, "none": None, "zero": 0, "one": 1, "SystemError": SystemError, "MemoryError": MemoryError,
    "IndexError": IndexError, "tensor": Tensor, "parameter": Parameter, "float": float,
}  # fmt: skip
#: Functions of `memory/frame_pool.py`.
_FUNCTIONS = {"frame_take", "frame_give", "frame_intact"}
#: dtype numbers of C integers of the same width, such as long and long long.
_SAME: dict[int, int] = {}
for _a, _b in ("il", "lq", "IL", "LQ"):
    if np.dtype(_a) == np.dtype(_b):
        _SAME |= {np.dtype(_a).num: np.dtype(_b).num, np.dtype(_b).num: np.dtype(_a).num}
_TP_ALLOC = 47  # the number of the slot in CPython's stable ABI


@cache
def tensor_slots() -> dict[str, int]:
    """The offsets of the slots of a Tensor that entries read and write."""
    return {name: slot_offset(Tensor, name) for name in ("_data", "_node", "_held", "_hooks")}


@cache
def why_not() -> str | None:
    """Why slots of Tensors, the count of tapes or the epoch cannot be read; None where they can."""
    try:
        tensor_slots(), slot_offset(type(holders), "live"), slot_offset(type(epoch), "now")
    except ValueError as error:
        return f"Tensors are laid out in another way ({error})"
    return None


def pointer(name: str) -> int:
    """The pointer in an entry's context under that name; KeyError for a name that is not the entry's."""
    if name in _OBJECTS:
        return id(_OBJECTS[name])
    if name in ("frames", "calls"):  # the list of free frames: none yet
        return 0
    if name == "pool":
        return ctypes.addressof(POOL)
    if name == "live":
        return id(holders) + slot_offset(type(holders), "live")
    if name == "tensor_alloc":
        return _slot_of(Tensor, _TP_ALLOC)
    if name in _FUNCTIONS:
        return functions().address(name)
    if name == "array_new":
        return large_alloc.functions().address(name)
    kind, _, dtype = name.partition(" ")
    found = BY_NAME[dtype].numpy
    if kind == "descr":
        return id(found)
    if kind == "numbers":
        return found.num | _SAME.get(found.num, found.num) << 32
    raise KeyError(name)


def _slot_of(cls: type, number: int) -> int:
    get = ctypes.pythonapi.PyType_GetSlot
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    found: int = get(cls, number)
    return found
