"""Arguments, results and frames of machine code between pages that nobody may touch: a test of addresses.

An access beside such memory ends the process at once (SIGSEGV), a read as well as a write; so what runs here runs in a
process of its own (see `property.mutations`).  This stands in for AddressSanitizer, which knows nothing of code that is
made at run time.

It covers accesses within `REACH` bytes beside an argument, a result or the frame of a call: behind it up to the byte
(memory ends where the forbidden pages begin), or before it (`front`).  It does not cover an access from one buffer of
the frame to another, the memory that loops collect into, memory that NumPy takes for its kernels, and what lies
further away than `REACH`.  AC_POISON=1 covers a part of that: writes just behind each buffer of the frame, and reads of
what nobody wrote (`backends.native.poison`).
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from autodiff_compiler.backends.native.callpath import plain
from autodiff_compiler.backends.native.memory.frame_pool import GUARD
from autodiff_compiler.dtypes import DType

__all__ = ["REACH", "guard_pages", "guarded"]

#: Bytes on both sides that nobody may touch.
REACH = 1 << 20
_PAGE = mmap.PAGESIZE
#: What an entry asks for more than the frame has: to align it, and for a mark behind it.
_SLACK = 64 + GUARD

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Region:
    """Pages for `nbytes` between forbidden ones; freed with the object."""

    def __init__(self, nbytes: int) -> None:
        self.held = max(1, -(-nbytes // _PAGE)) * _PAGE
        self.start = _libc.mmap(None, self.held + 2 * REACH, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        if self.start in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no {nbytes} bytes between forbidden pages")
        self.first = self.start + REACH
        self.end = self.first + self.held
        if _libc.mprotect(self.first, self.held, mmap.PROT_READ | mmap.PROT_WRITE):
            raise OSError(ctypes.get_errno(), "mprotect")
        ctypes.memset(self.first, 0xA5, self.held)

    def __del__(self) -> None:
        if getattr(self, "end", None):
            _libc.munmap(self.start, self.held + 2 * REACH)


def guarded(array: Any, *, front: bool = False) -> Any:
    """A copy of an array in C order whose memory ends (`front`: begins) beside forbidden pages."""
    source = np.asarray(array)
    made = _empty(source.shape, source.dtype, front)
    made[...] = source
    return made


def _empty(shape: tuple[int, ...], dtype: Any, front: bool) -> Any:
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    region = _Region(nbytes)
    place = region.first if front else region.end - nbytes
    memory = (ctypes.c_char * nbytes).from_address(place)
    memory.region = region
    return np.ndarray(shape, dtype, memory)


@contextmanager
def guard_pages(*, front: bool = False) -> Iterator[None]:
    """Programs entered by ctypes (AC_CALLPATH=plain, without AC_POISON) get such frames and results."""

    def new_array(shape: tuple[int, ...], dtype: DType) -> Any:
        return _empty(shape, dtype.numpy, front)

    def take(nbytes: int) -> int:
        region = _Region(nbytes - _SLACK)
        place = region.first if front else region.end - -(-(nbytes - _SLACK) // 64) * 64
        _frames[place] = region
        return place

    plain._free = _free  # stays: frames are freed with their programs, which may be later
    with mock.patch.multiple(plain, new_array=new_array, _malloc=take):
        yield


#: The frames that are in use or kept.
_frames: dict[int, _Region] = {}
_raw_free = plain._free


def _free(place: int | None) -> None:
    if place is not None and _frames.pop(place, None) is None:
        _raw_free(place)
