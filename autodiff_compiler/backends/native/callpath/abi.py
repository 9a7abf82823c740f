"""The layouts of CPython's and NumPy's objects that compiled code reads, verified on live objects.

The offsets are those of the public headers; they are only used where each was seen to hold what Python says of the same
object.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import MemberDescriptorType
from typing import Any

import numpy as np

#: The flags of an array.
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
#: The byte order of dtypes that are not in this machine's order.
SWAPPED = ord(">")
_WORD = ctypes.sizeof(ctypes.c_void_p)


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes from the address of an object.

    `type` is any object's class; `data` to `flags` are an array's; `order` and `number` a dtype's byte order and type
    number; `items` a tuple's first element.
    """

    type: int
    data: int
    nd: int
    dims: int
    strides: int
    base: int
    descr: int
    flags: int
    order: int
    number: int
    items: int


@cache
def layout() -> Layout:
    """The offsets by the headers, to be used only where `why_not` is None."""
    head = object.__basicsize__  # 16; more in builds for debugging and without the global lock
    return Layout(
        type=head - _WORD,
        data=head,
        nd=head + 8,
        dims=head + 16,
        strides=head + 24,
        base=head + 32,
        descr=head + 40,
        flags=head + 48,
        order=head + 10,
        number=head + 12,
        items=tuple.__basicsize__,
    )


@cache
def why_not() -> str | None:
    """Why machine code cannot read the objects of this process; None where it can."""
    if platform.python_implementation() != "CPython":
        return f"it knows the objects of CPython; this is {platform.python_implementation()}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it is not made for free-threaded builds of Python"
    if _WORD != 8:
        return "it needs a 64-bit process"
    places = layout()
    for array in _arrays():
        wrong = _wrong_in_array(array, places)
        if wrong:
            return f"ndarrays of NumPy {np.__version__} are laid out in another way ({wrong})"
    for dtype in map(np.dtype, ("?", "<f4", ">f4", ">f8", "<i8", "<f2")):
        found = byte(id(dtype) + places.order), int32(id(dtype) + places.number)
        if found != (ord(dtype.byteorder), dtype.num):
            return f"dtypes of NumPy {np.__version__} are laid out in another way"
    some = (object(), object())
    if [word(id(some) + places.items + 8 * i) for i in range(2)] != list(map(id, some)):
        return "tuples are laid out in another way"
    return _wrong_in_content()


def _wrong_in_content() -> str | None:
    """Which of floats and `bytes`, whose content guards compare, have another layout; None: neither."""
    head = object.__basicsize__
    for number in (1.5, -0.0, float("inf")):
        if ctypes.string_at(id(number) + head, 8) != struct.pack("=d", number):
            return "floats are laid out in another way"
    for content in (b"some bytes", b"\0\1\2"):
        start = id(content) + bytes.__basicsize__ - 1
        if word(id(content) + head) != len(content) or ctypes.string_at(start, len(content)) != content:
            return "bytes are laid out in another way"
    return None


def _arrays() -> Iterator[np.ndarray[Any, Any]]:
    """Arrays that differ in all fields that are read."""
    yield np.zeros((3, 5), np.float32)
    yield np.zeros((4, 6))[::2, ::-3]
    yield np.zeros((2, 3, 4), np.bool_).T
    fixed = np.array(7, np.int32)
    fixed.flags.writeable = False
    yield fixed
    yield np.zeros((0, 2), np.int64)
    yield np.zeros(9, np.uint8)[1:].view(np.float64)


def _wrong_in_array(array: np.ndarray[Any, Any], places: Layout) -> str:
    """The field that is not where it should be, or "".  Pointers are followed only if they look right."""
    if np.ndarray.__basicsize__ < places.flags + 4:
        return "they are too small"
    at = id(array)
    base = 0 if array.base is None else id(array.base)
    for name, found, expected in (
        ("type", word(at + places.type), id(np.ndarray)),
        ("data", word(at + places.data), array.__array_interface__["data"][0]),
        ("nd", int32(at + places.nd), array.ndim),
        ("base", word(at + places.base), base),
        ("descr", word(at + places.descr), id(array.dtype)),
        ("flags", int32(at + places.flags), array.flags.num),
    ):
        if found != expected:
            return name
    for flag, expected in (
        (C_CONTIGUOUS, array.flags.c_contiguous),
        (ALIGNED, array.flags.aligned),
        (WRITEABLE, array.flags.writeable),
    ):
        if (array.flags.num & flag != 0) is not expected:
            return "meaning of the flags"
    if not array.ndim:
        return ""
    dims, strides = word(at + places.dims), word(at + places.strides)
    if strides != dims + 8 * array.ndim:  # they are one block of memory
        return "dims"
    numbers = tuple(ctypes.c_ssize_t.from_address(dims + 8 * i).value for i in range(2 * array.ndim))
    return "" if numbers == array.shape + array.strides else "dims"


def slot_offset(cls: type, name: str) -> int:
    """The offset of one of a class's `__slots__` in its objects.

    ValueError: the class has no such slot of its own, or its offset is not found.
    """
    slot = vars(cls).get(name)
    if not isinstance(slot, MemberDescriptorType):
        raise ValueError(f"{cls.__name__} has no slot {name}")
    holder: Any = object.__new__(cls)
    content = object()
    words = range(object.__basicsize__, cls.__basicsize__, _WORD)
    before = {at for at in words if word(id(holder) + at) == id(content)}
    slot.__set__(holder, content)
    found = {at for at in words if word(id(holder) + at) == id(content)} - before
    slot.__delete__(holder)
    if len(found) != 1 or any(word(id(holder) + at) for at in found):
        raise ValueError(f"the slot {name} of {cls.__name__} is not found")
    return found.pop()


def _reader(kind: Any) -> Callable[[int], int]:
    return lambda address: kind.from_address(address).value


#: The number at an address: unsigned of 8 bytes, signed and unsigned of 4 bytes, and a byte.
word, int32, uint32, byte = map(_reader, (ctypes.c_size_t, ctypes.c_int32, ctypes.c_uint32, ctypes.c_ubyte))
