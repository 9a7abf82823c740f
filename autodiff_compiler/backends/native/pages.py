"""Large blocks of memory whose pages stay with the process: a result that is dropped hands its pages to the next one.

A page that was never touched costs more than the arithmetic on it: the system fills it with zeros at the first access.
So blocks from `LARGE` bytes on, for new results and for frames, come from a list of free ones, and go back to it.  They
are backed by huge pages where the system has them, and begin at the start of one.

New results are ordinary arrays: they own their memory, by an allocator of NumPy's kind (`PyDataMem_Handler`).  NumPy
calls it when the last view of an array dies, or when the array is resized, in whatever thread.  Lists are only touched
by threads that hold the interpreter's lock, so the child of a fork finds them whole, with pages of its own.

At most AC_POOL_SIZE bytes are kept free (an eighth of the machine's memory); those that were free for longest are given
up first.  The system is told that free blocks hold nothing: where memory is short it takes their pages by itself.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ...dtypes import DType
from .anchor import anchor
from .engine import Loaded, load
from .sizes import parse_size

__all__ = ["HANDLER", "LARGE", "functions", "kept", "new_array", "release", "set_limit"]

#: From how many bytes on a result or a frame lies in pages of its own.
LARGE = 8 << 20
#: What NumPy calls our allocator (`np._core.multiarray.get_handler_name`).
HANDLER = b"autodiff_compiler"
#: What a huge page is aligned to, where there are some.
_HUGE = 2 << 20
#: A block is that many pages of any system, and so is what lies before it: a page with its header.
_PAGE = 1 << 14
#: In front of a block: the next free one, its bytes, where its mapping begins and how long that is.
_HEADER, _SIZE, _START, _LENGTH = -64, -56, -48, -40
#: More than any process has: sizes beyond are refused before they are rounded up.
_MOST = 1 << 46


@cache
def functions() -> Loaded:
    """What hands out blocks, in machine code; it stays until the very end of the process, as arrays may.

    ``ptr pages_take(i64 bytes)`` gives a block (null: no memory), ``void pages_give(ptr block)`` takes it back; ``void
    pages_release(i64 limit)`` gives up free blocks until those left have at most so many bytes.  ``ptr array_new(ptr
    class, ptr descr, i32 rank, ptr dims)``: an array in such a block, or null with an exception; it takes a reference
    to the dtype, as PyArray_NewFromDescr does.
    """
    text = _MAP + _TAKE + _GIVE + _ALLOCATOR + _ARRAY
    numbers = {
        "HEADER": _HEADER, "SIZE": _SIZE, "START": _START, "LENGTH": _LENGTH, "HUGE": _HUGE, "PAGE": _PAGE,
        "MOST": _MOST, "MARGIN": _HUGE + _PAGE,
        "FLAGS": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "PROTECTION": mmap.PROT_READ | mmap.PROT_WRITE,
        "ADVISE_HUGE": _advice("MADV_HUGEPAGE"), "ADVISE_FREE": _advice("MADV_FREE") if _cheaply_freed() else "",
    }  # fmt: skip
    for name, value in numbers.items():
        text = text.replace(f"<{name}>", str(value))
    loaded = load(text, context_size=1)
    allocator = _Allocator(
        HANDLER, 1, None, *(loaded.address(f"array_{x}") for x in ("malloc", "calloc", "realloc", "free"))
    )
    capsule = _new_capsule(ctypes.addressof(allocator), b"mem_handler", None)
    loaded.fill([id(capsule)])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(anchor(_nothing, loaded, allocator, capsule)))
    _number(loaded, "pages_limit").value = _limit()
    return loaded


def release() -> None:
    """Gives all free blocks back to the system."""
    if functions.cache_info().currsize:
        _Release(functions().address("pages_release"))(0)


def kept() -> int:
    """The bytes of all free blocks."""
    return _number(functions(), "pages_kept").value if functions.cache_info().currsize else 0


def set_limit(bytes: int) -> int:
    """Sets how many bytes are kept free at most, from now on; returns the limit before."""
    limit = _number(functions(), "pages_limit")
    before, limit.value = limit.value, bytes
    _Release(functions().address("pages_release"))(bytes)
    return before


def new_array(shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """An array with whatever contents, in a block if it is large.  MemoryError: there is no room for it."""
    bytes = dtype.itemsize
    for n in shape:
        bytes *= n
    if bytes < LARGE:
        return np.empty(shape, dtype.numpy)
    descr = ctypes.py_object(dtype.numpy)
    ctypes.pythonapi.Py_IncRef(descr)
    make = _NewArray(functions().address("array_new"))
    made: np.ndarray[Any, Any] = make(np.ndarray, descr, len(shape), (ctypes.c_ssize_t * len(shape))(*shape))
    return made


def _number(loaded: Loaded, name: str) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(loaded.address(name))


def _nothing() -> None:
    pass


def _limit() -> int:
    """How many bytes are kept free at most."""
    text = os.environ.get("AC_POOL_SIZE", "")
    if not text:
        return _memory() // 8
    found = parse_size(text)
    if found is None:
        raise ValueError(f"the environment variable AC_POOL_SIZE is {text!r}; write bytes, or 500M, or 2G")
    return found


def _memory() -> int:
    """The bytes that this process may use: the machine's, or fewer in a container."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of the second and the first version of cgroups
        with suppress(OSError, ValueError), open(f"/sys/fs/cgroup/{name}", encoding="ascii") as file:
            found.append(int(file.read()))  # "max" where there is no limit
    return min(found)


def _advice(name: str) -> str:
    """A call that gives a system that knows it some advice."""
    number = getattr(mmap, name, None)
    return "" if number is None else f"call i32 @madvise(ptr %block, i64 %size, i32 {number})"


def _cheaply_freed() -> bool:
    """Whether pages are huge: to note of a thousand small ones that they are free takes as long as to write them."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return "[never]" not in file.read()
    except OSError:
        return False


class _Allocator(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((x, ctypes.c_void_p) for x in ("context", "malloc", "calloc", "realloc", "free")),
    )


_Release = ctypes.PYFUNCTYPE(None, ctypes.c_int64)
_NewArray = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)

_MAP = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)

; The free blocks, the last one that became free first, and their bytes.
@free.list = internal global ptr null
@pages_kept = global i64 0
@pages_limit = global i64 0

; A new block of whole pages.
define private ptr @pages.map(i64 %size) noinline cold {
start:
  %length = add i64 %size, <MARGIN>
  br label %try
try:
  %again = phi i1 [true, %start], [false, %short]
  %got = call ptr @mmap(ptr null, i64 %length, i32 <PROTECTION>, i32 <FLAGS>, i32 -1, i64 0)
  %number = ptrtoint ptr %got to i64
  %failed = icmp eq i64 %number, -1
  br i1 %failed, label %lack, label %made
lack:
  br i1 %again, label %short, label %lost
short:
  call void @pages_release(i64 0)
  br label %try
lost:
  ret ptr null
made:
  %above = add i64 %number, <MARGIN>
  %aligned = and i64 %above, -<HUGE>
  %block = inttoptr i64 %aligned to ptr
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  store i64 %size, ptr %size.at
  %start.at = getelementptr i8, ptr %block, i64 <START>
  store ptr %got, ptr %start.at
  %length.at = getelementptr i8, ptr %block, i64 <LENGTH>
  store i64 %length, ptr %length.at
  <ADVISE_HUGE>
  ret ptr %block
}

define private void @pages.unmap(ptr %block) noinline cold {
  %start.at = getelementptr i8, ptr %block, i64 <START>
  %start = load ptr, ptr %start.at
  %length.at = getelementptr i8, ptr %block, i64 <LENGTH>
  %length = load i64, ptr %length.at
  call i32 @munmap(ptr %start, i64 %length)
  ret void
}
"""

_TAKE = """
; The smallest free block that is large enough, but by at most a quarter; else a new one.
define ptr @pages_take(i64 %bytes) noinline {
start:
  %absurd = icmp ugt i64 %bytes, <MOST>
  br i1 %absurd, label %none, label %sane
none:
  ret ptr null
sane:
  %above = add i64 %bytes, <PAGE>
  %above.less = sub i64 %above, 1
  %size = and i64 %above.less, -<PAGE>
  %quarter = lshr i64 %size, 2
  %most = add i64 %size, %quarter
  br label %loop
loop:
  %link = phi ptr [@free.list, %sane], [%next.at, %look]
  %best = phi ptr [null, %sane], [%best.next, %look]
  %least = phi i64 [%most, %sane], [%least.next, %look]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %choose, label %look
look:
  %next.at = getelementptr i8, ptr %block, i64 <HEADER>
  %has.at = getelementptr i8, ptr %block, i64 <SIZE>
  %has = load i64, ptr %has.at
  %fits = icmp uge i64 %has, %size
  %less = icmp ule i64 %has, %least
  %better = and i1 %fits, %less
  %best.next = select i1 %better, ptr %link, ptr %best
  %least.less = sub i64 %has, 1
  %least.next = select i1 %better, i64 %least.less, i64 %least
  br label %loop
choose:
  %miss = icmp eq ptr %best, null
  br i1 %miss, label %make, label %hit
make:
  %made = call ptr @pages.map(i64 %size)
  ret ptr %made
hit:
  %found = call ptr @pages.unlink(ptr %best)
  ret ptr %found
}

; Takes the block that a link leads to out of the list.
define private ptr @pages.unlink(ptr %link) noinline {
  %block = load ptr, ptr %link
  %next.at = getelementptr i8, ptr %block, i64 <HEADER>
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %link
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  %kept = load i64, ptr @pages_kept
  %fewer = sub i64 %kept, %size
  store i64 %fewer, ptr @pages_kept
  ret ptr %block
}
"""

_GIVE = """
define void @pages_give(ptr %block) noinline {
  %first = load ptr, ptr @free.list
  %next.at = getelementptr i8, ptr %block, i64 <HEADER>
  store ptr %first, ptr %next.at
  store ptr %block, ptr @free.list
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  %kept = load i64, ptr @pages_kept
  %more = add i64 %kept, %size
  store i64 %more, ptr @pages_kept
  <ADVISE_FREE>
  %limit = load i64, ptr @pages_limit
  call void @pages_release(i64 %limit)
  ret void
}

; Gives up the last blocks of the list, which were free for longest.
define void @pages_release(i64 %limit) noinline {
start:
  br label %again
again:
  %kept = load i64, ptr @pages_kept
  %fine = icmp ule i64 %kept, %limit
  br i1 %fine, label %done, label %seek
seek:
  %link = phi ptr [@free.list, %again], [%next.at, %seek]
  %block = load ptr, ptr %link
  %next.at = getelementptr i8, ptr %block, i64 <HEADER>
  %next = load ptr, ptr %next.at
  %last = icmp eq ptr %next, null
  br i1 %last, label %drop, label %seek
drop:
  %dropped = call ptr @pages.unlink(ptr %link)
  call void @pages.unmap(ptr %dropped)
  br label %again
done:
  ret void
}
"""

#: What NumPy calls, by the members of PyDataMemAllocator.
_ALLOCATOR = """
define ptr @array_malloc(ptr %context, i64 %bytes) {
  %block = call ptr @pages_take(i64 %bytes)
  ret ptr %block
}

define ptr @array_calloc(ptr %context, i64 %count, i64 %each) {
  %product = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %bytes = extractvalue {i64, i1} %product, 0
  %over = extractvalue {i64, i1} %product, 1
  br i1 %over, label %none, label %take
none:
  ret ptr null
take:
  %block = call ptr @pages_take(i64 %bytes)
  %miss = icmp eq ptr %block, null
  br i1 %miss, label %none, label %made
made:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %bytes, i1 false)
  ret ptr %block
}

define ptr @array_realloc(ptr %context, ptr %block, i64 %bytes) {
  %fresh = icmp eq ptr %block, null
  br i1 %fresh, label %make, label %look
make:
  %made = call ptr @pages_take(i64 %bytes)
  ret ptr %made
look:
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  %half = lshr i64 %size, 1
  %fits = icmp ule i64 %bytes, %size
  %fills = icmp uge i64 %bytes, %half
  %stays = and i1 %fits, %fills
  br i1 %stays, label %same, label %move
same:
  ret ptr %block
move:
  %new = call ptr @pages_take(i64 %bytes)
  %miss = icmp eq ptr %new, null
  br i1 %miss, label %lost, label %copy
lost:
  ret ptr null
copy:
  %moved = call i64 @llvm.umin.i64(i64 %bytes, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %block, i64 %moved, i1 false)
  call void @pages_give(ptr %block)
  ret ptr %new
}

define void @array_free(ptr %context, ptr %block, i64 %bytes) {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %give
give:
  call void @pages_give(ptr %block)
  br label %done
done:
  ret void
}

declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
"""

_ARRAY = """
declare ptr @PyDataMem_SetHandler(ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare void @Py_DecRef(ptr)

define ptr @array_new(ptr %class, ptr %descr, i32 %rank, ptr %dims) noinline {
  %kind = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %ours = load ptr, ptr @context
  %before = call ptr @PyDataMem_SetHandler(ptr %ours)
  %refused = icmp eq ptr %before, null
  br i1 %refused, label %never, label %set
never:
  call void @Py_DecRef(ptr %descr)
  ret ptr null
set:
  %made = call ptr @PyArray_NewFromDescr(
      ptr %class, ptr %descr, i32 %rank, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  call void @PyErr_Fetch(ptr %kind, ptr %value, ptr %trace)
  %last = call ptr @PyDataMem_SetHandler(ptr %before)
  call void @Py_DecRef(ptr %before)
  %stuck = icmp eq ptr %last, null
  br i1 %stuck, label %undo, label %back
undo:
  call void @Py_DecRef(ptr %made)
  ret ptr null
back:
  call void @Py_DecRef(ptr %last)
  %error = load ptr, ptr %kind
  %type = load ptr, ptr %value
  %where = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %error, ptr %type, ptr %where)
  ret ptr %made
}
"""
