"""The functions that compiled code may call, and the symbols of object files.

An object with any other undefined symbol is refused before it is linked: the linker would give it some address, and the
call would crash the process.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

_PYTHON = (
    "PyDict_New", "PyDict_SetItem", "PyErr_CheckSignals", "PyErr_Clear", "PyErr_Fetch", "PyErr_NoMemory",
    "PyErr_NormalizeException", "PyErr_Restore", "PyErr_SetNone", "PyErr_SetString", "PyEval_RestoreThread",
    "PyEval_SaveThread", "PyException_GetTraceback", "PyException_SetTraceback", "PyFloat_FromDouble",
    "PyGILState_Ensure", "PyGILState_Release", "PyList_New", "PyList_SetItem", "PyLong_FromLongLong", "PyMem_RawFree",
    "PyMem_RawMalloc", "PyMem_RawRealloc", "PyObject_CallNoArgs", "PyObject_GetAttr", "PyObject_RichCompareBool",
    "PyObject_Vectorcall", "PyTuple_New", "Py_DecRef", "Py_IncRef",
)  # fmt: skip
_C = (
    "clock_gettime", "free", "madvise", "malloc", "memcmp", "memcpy", "memmove", "memset", "mmap", "munmap",
)  # fmt: skip
#: Functions of NumPy's C API, by their index in its table, which the ABI fixes.
_NUMPY = {"PyArray_NewFromDescr": 94, "PyDataMem_SetHandler": 304}


@cache
def addresses() -> dict[str, int]:
    """The addresses of the functions that compiled code may call."""
    libc = ctypes.CDLL(None)
    found = {name: ctypes.cast(getattr(libc, name), ctypes.c_void_p).value for name in _C}
    for name in _PYTHON:
        found[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    table = _numpy_table()
    for name, slot in _NUMPY.items():
        found[name] = table[slot]
    return {name: address for name, address in found.items() if address}


def _numpy_table() -> ctypes.Array[ctypes.c_void_p]:
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = kind(("PyCapsule_GetPointer", ctypes.pythonapi))
    start = pointer(import_module("numpy._core._multiarray_umath")._ARRAY_API, None)
    return (ctypes.c_void_p * (1 + max(_NUMPY.values()))).from_address(start)


# ------------------------------------------------------------------------------------------------ object files
class Symbols(NamedTuple):
    """The global symbols of an object file."""

    defined: frozenset[str]
    undefined: frozenset[str]


def symbols(code: bytes) -> Symbols:
    """The global symbols of a 64-bit ELF or Mach-O file.  ValueError for any other."""
    try:
        if code[:5] == b"\x7fELF\x02":
            found = list(_of_elf(code))
        elif code[:4] == b"\xcf\xfa\xed\xfe":
            found = list(_of_mach_o(code))
        else:
            raise ValueError("neither ELF nor Mach-O of 64 bits")
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError):
        raise ValueError("a damaged object file") from None
    defined = frozenset(name for name, here in found if here)
    return Symbols(defined, frozenset(name for name, here in found if not here))


def _of_elf(code: bytes) -> Iterator[tuple[str, bool]]:
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections + size * i) for i in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in headers:
        if kind == 2:  # SHT_SYMTAB
            for at in range(offset, offset + length, entry):
                name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", code, at)
                if info >> 4:  # not STB_LOCAL
                    yield _text(code, headers[link][4] + name), bool(section)


def _of_mach_o(code: bytes) -> Iterator[tuple[str, bool]]:
    (count,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:  # LC_SYMTAB
            start, number, texts, _ = struct.unpack_from("<IIII", code, at + 8)
            for i in range(number):
                name, kind, _, _, value = struct.unpack_from("<IBBHQ", code, start + 16 * i)
                if kind & 1:  # N_EXT; C names have an underscore in front
                    yield _text(code, texts + name).removeprefix("_"), bool(kind & 0x0E or value)
        at += size


def _text(code: bytes, at: int) -> str:
    end = code.find(b"\0", at)
    if end < 0:
        raise ValueError("a damaged object file")
    return code[at:end].decode("ascii")
