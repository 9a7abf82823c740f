"""A pooling allocator of large blocks: a result that is freed passes its pages on to the next one.

A page that was never touched costs more than the arithmetic on it: the system fills it with zeros at the first access.
So blocks of at least `LARGE` bytes, for new results, come from free lists and go back to them.  Those of at least
`HUGE` bytes, which may be frames as well, are aligned to huge pages and backed by them where the system has them.

New results are ordinary arrays: they own their memory, by an allocator of NumPy's kind (`PyDataMem_Handler`).  NumPy
calls it when the last view of an array dies, or when the array is resized, in whatever thread.  Lists are only touched
by threads that hold the interpreter's lock, so the child of a fork finds them whole, with pages of its own.

There is a free list for each quarter of a power of two.  A small block has the capacity of the largest in its list;
pages that are never touched take no memory.

At most AC_POOL_SIZE bytes are kept free (an eighth of the machine's memory), and no block is added while all together
have `_WARM` bytes more than twice those that were ever in use at once: results of many sizes, one after the other, do
not add up.  The blocks that were free for longest are given up first.

The system is advised (`madvise`) that free blocks hold nothing, so it can reclaim their pages.  The advice may cost as
much as writing them, so the `_WARM` bytes of blocks that were freed last (the warm ones) are left out.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ....dtypes import DType
from ....environment import amount
from ..jit.engine import Loaded, load
from ..jit.machine import this_host
from .anchor import anchor

#: Results of so many bytes or more lie in blocks of the pool.
LARGE = 1 << 18
#: Blocks of so many bytes or more are backed by huge pages; frames of that size are such blocks.
HUGE = 2 << 20
#: The name of the allocator in NumPy (`np._core.multiarray.get_handler_name`).
HANDLER = b"autodiff_compiler"
#: The alignment of huge pages.
_HUGE_PAGE = 2 << 20
#: A block is that many pages of any system, and so is what lies before it: a page with its header.
_PAGE = 1 << 14
#: In front of a block: its neighbours among free ones of its size, and among all by their age; its bytes, where its
#: mapping begins and how long that is, and whether it counts as warm.
_PEERS, _AGES, _SIZE, _START, _LENGTH, _IS_WARM = -64, -48, -32, -24, -16, -8
#: More than any process has: sizes beyond are refused before they are rounded up.
_MOST = 1 << 46
#: The size of the blocks of the first list, as a power of two, and how many lists there are: the last is always empty.
_FIRST = LARGE.bit_length() - 1
_LISTS = 4 * (_MOST.bit_length() - 1 - _FIRST) + 2
#: Bytes of free blocks that the system is not advised of.
_WARM = 64 << 20


@cache
def functions() -> Loaded:
    """The functions of the allocator, in machine code; they stay until the very end of the process, as arrays may.

    ``ptr pages_take(i64 bytes)`` gives a block (null: no memory), ``void pages_give(ptr block)`` takes it back; ``void
    pages_release(i64 limit)`` gives up free blocks until those left have at most so many bytes.  ``ptr array_new(ptr
    class, ptr descr, i32 rank, ptr dims)``: an array in such a block, or null with an exception; it takes a reference
    to the dtype, as PyArray_NewFromDescr does.
    """
    text = _rings() + _LINKS + _MAP + _TAKE + _GIVE + _ALLOCATOR + _ARRAY
    numbers = {
        "PEERS": _PEERS, "AGES": _AGES, "SIZE": _SIZE, "START": _START, "LENGTH": _LENGTH, "IS_WARM": _IS_WARM,
        "BEHIND_PEERS": -_PEERS, "BEHIND_AGES": -_AGES,
        "HUGE_PAGE": _HUGE_PAGE, "PAGE": _PAGE, "MARGIN": _HUGE_PAGE + _PAGE, "LARGE": LARGE, "HUGE": HUGE,
        "MOST": _MOST, "BEFORE": 4 * _FIRST + 4, "WARM": _WARM,
        "FLAGS": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "PROTECTION": mmap.PROT_READ | mmap.PROT_WRITE,
        "ADVISE_HUGE": _advice("MADV_HUGEPAGE"), "ADVISE_FREE": _advice("MADV_FREE"),
    }  # fmt: skip
    for name, value in numbers.items():
        text = text.replace(f"<{name}>", str(value))
    loaded = load(text, context_size=1, target=this_host())
    allocator = _Allocator(
        HANDLER, 1, None, *(loaded.address(f"array_{x}") for x in ("malloc", "calloc", "realloc", "free"))
    )
    capsule = _new_capsule(ctypes.addressof(allocator), b"mem_handler", None)
    loaded.fill([id(capsule)])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(anchor(_nothing, loaded, allocator, capsule)))
    _number(loaded, "pages_limit").value = limit_asked_for()
    return loaded


def release() -> None:
    """Unmaps all free blocks."""
    if functions.cache_info().currsize:
        _Release(functions().address("pages_release"))(0)


def kept() -> int:
    """The bytes of all free blocks."""
    return _number(functions(), "pages_kept").value if functions.cache_info().currsize else 0


def set_limit(bytes: int) -> int:
    """Sets how many bytes are kept free at most, from now on; returns the limit before.

    ValueError: it is negative, or no number of 64 bits with a sign.
    """
    if not 0 <= bytes < 1 << 63:
        raise ValueError(f"at most {bytes} bytes cannot be kept: it is 0 to {(1 << 63) - 1}")
    limit = _number(functions(), "pages_limit")
    before, limit.value = limit.value, bytes
    _Release(functions().address("pages_release"))(bytes)
    return before


def new_array(shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """An uninitialised array, in a block if it is large.  Raises MemoryError."""
    bytes = dtype.itemsize
    for n in shape:
        bytes *= n
    if bytes < LARGE or bytes >= _MOST:  # which NumPy refuses; `ctypes` would keep 64 bits of a dimension
        return np.empty(shape, dtype.numpy)
    descr = ctypes.py_object(dtype.numpy)
    ctypes.pythonapi.Py_IncRef(descr)
    make = _NewArray(functions().address("array_new"))
    made: np.ndarray[Any, Any] = make(np.ndarray, descr, len(shape), (ctypes.c_ssize_t * len(shape))(*shape))
    return made


def _rings() -> str:
    """The free lists, all empty: doubly linked rings through the headers, with a pair of links for each list.

    The first of a ring, which the first link leads to, became free last.  Every free block is in the ring of its size,
    and in that of its age.
    """
    size = f"[{_LISTS} x [2 x ptr]]"
    places = [f"getelementptr ({size}, ptr @free.sized, i64 0, i64 {i})" for i in range(_LISTS)]
    empty = ", ".join(f"[2 x ptr] [ptr {at}, ptr {at}]" for at in places)
    return f"""
@free.sized = internal global {size} [{empty}]
@free.warm = internal global [2 x ptr] [ptr @free.warm, ptr @free.warm]
@free.cold = internal global [2 x ptr] [ptr @free.cold, ptr @free.cold]
"""


def _number(loaded: Loaded, name: str) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(loaded.address(name))


def _nothing() -> None:
    pass


def limit_asked_for() -> int:
    """How many bytes are kept free at most, until `set_limit` says otherwise."""
    asked = amount("AC_POOL_SIZE")
    return _memory() // 8 if asked is None else asked


def _memory() -> int:
    """The bytes of memory of the machine, or of the container."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of the second and the first version of cgroups
        with suppress(OSError, ValueError), open(f"/sys/fs/cgroup/{name}", encoding="ascii") as file:
            found.append(int(file.read()))  # "max" where there is no limit
    return min(found)


def _advice(name: str) -> str:
    """The code of a call of `madvise`, where the system has that advice."""
    number = getattr(mmap, name, None)
    return "" if number is None else f"call i32 @madvise(ptr %block, i64 %size, i32 {number})"


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

_LINKS = """
define private void @link.in(ptr %ring, ptr %link) {
  %next = load ptr, ptr %ring
  store ptr %next, ptr %link
  %before.at = getelementptr ptr, ptr %link, i64 1
  store ptr %ring, ptr %before.at
  store ptr %link, ptr %ring
  %next.before.at = getelementptr ptr, ptr %next, i64 1
  store ptr %link, ptr %next.before.at
  ret void
}

define private void @link.out(ptr %link) {
  %next = load ptr, ptr %link
  %before.at = getelementptr ptr, ptr %link, i64 1
  %before = load ptr, ptr %before.at
  store ptr %next, ptr %before
  %next.before.at = getelementptr ptr, ptr %next, i64 1
  store ptr %before, ptr %next.before.at
  ret void
}

; The ring of all free blocks of about that size: by its first bit and the two behind it.
define private ptr @free.of(i64 %size) {
  %zeros = call i64 @llvm.ctlz.i64(i64 %size, i1 true)
  %log = sub i64 63, %zeros
  %shift = sub i64 %log, 2
  %leading = lshr i64 %size, %shift
  %four = shl i64 %log, 2
  %sum = add i64 %four, %leading
  %number = sub i64 %sum, <BEFORE>
  %ring = getelementptr [2 x ptr], ptr @free.sized, i64 %number
  ret ptr %ring
}
declare i64 @llvm.ctlz.i64(i64, i1)
"""

_MAP = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)

; The bytes of free blocks, and of the warm ones among them.
@pages_kept = global i64 0
@pages_limit = global i64 0
@warm.bytes = internal global i64 0
; The bytes of all blocks, and how many were in use at once.
@pages.mapped = internal global i64 0
@pages.most = internal global i64 0

; A new block of whole pages.
define private ptr @pages.map(i64 %size) noinline cold {
start:
  %huge = icmp uge i64 %size, <HUGE>
  %margin = select i1 %huge, i64 <MARGIN>, i64 <PAGE>
  %mask = select i1 %huge, i64 -<HUGE_PAGE>, i64 -<PAGE>
  %length = add i64 %size, %margin
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
  %above = add i64 %number, %margin
  %aligned = and i64 %above, %mask
  %block = inttoptr i64 %aligned to ptr
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  store i64 %size, ptr %size.at
  %start.at = getelementptr i8, ptr %block, i64 <START>
  store ptr %got, ptr %start.at
  %length.at = getelementptr i8, ptr %block, i64 <LENGTH>
  store i64 %length, ptr %length.at
  %mapped = load i64, ptr @pages.mapped
  %mapped.more = add i64 %mapped, %size
  store i64 %mapped.more, ptr @pages.mapped
  br i1 %huge, label %advise, label %done
advise:
  <ADVISE_HUGE>
  br label %done
done:
  ret ptr %block
}

define private void @pages.unmap(ptr %block) noinline cold {
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  %mapped = load i64, ptr @pages.mapped
  %mapped.less = sub i64 %mapped, %size
  store i64 %mapped.less, ptr @pages.mapped
  %start.at = getelementptr i8, ptr %block, i64 <START>
  %start = load ptr, ptr %start.at
  %length.at = getelementptr i8, ptr %block, i64 <LENGTH>
  %length = load i64, ptr %length.at
  call i32 @munmap(ptr %start, i64 %length)
  ret void
}
"""

_TAKE = """
; A free block that is large enough, but by at most a quarter; else a new one.
define ptr @pages_take(i64 %bytes) noinline {
start:
  %absurd = icmp ugt i64 %bytes, <MOST>
  br i1 %absurd, label %none, label %sane
none:
  ret ptr null
sane:
  %least = call i64 @llvm.umax.i64(i64 %bytes, i64 <LARGE>)
  %huge = icmp uge i64 %least, <HUGE>
  %below = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below, i1 true)
  %quarter.unit = lshr i64 2305843009213693952, %zeros  ; 1 << 61
  %unit = select i1 %huge, i64 <PAGE>, i64 %quarter.unit
  %above = add i64 %below, %unit
  %mask = sub i64 0, %unit
  %size = and i64 %above, %mask
  %quarter = lshr i64 %size, 2
  %most = add i64 %size, %quarter
  %own = call ptr @free.of(i64 %size)
  %further = getelementptr [2 x ptr], ptr %own, i64 1
  %last = select i1 %huge, ptr %further, ptr %own
  br label %ring
ring:
  %list = phi ptr [%own, %sane], [%list.next, %over]
  br label %loop
loop:
  %link = phi ptr [%list, %ring], [%next, %look]
  %next = load ptr, ptr %link
  %end = icmp eq ptr %next, %list
  br i1 %end, label %over, label %look
look:
  %block = getelementptr i8, ptr %next, i64 <BEHIND_PEERS>
  %has.at = getelementptr i8, ptr %block, i64 <SIZE>
  %has = load i64, ptr %has.at
  %fits = icmp uge i64 %has, %size
  %near = icmp ule i64 %has, %most
  %good = and i1 %fits, %near
  br i1 %good, label %hit, label %loop
over:
  %list.next = getelementptr [2 x ptr], ptr %list, i64 1
  %all = icmp eq ptr %list, %last
  br i1 %all, label %make, label %ring
make:
  %made = call ptr @pages.map(i64 %size)
  %free = call i64 @pages.used()
  %room = add i64 %free, <WARM>
  call void @pages_release(i64 %room)
  ret ptr %made
hit:
  call void @pages.unlink(ptr %block)
  call i64 @pages.used()
  ret ptr %block
}
declare i64 @llvm.umax.i64(i64, i64)

; Notes how many bytes are in use; how many may be free: twice as many as ever were in use, without those that are.
define private i64 @pages.used() {
  %mapped = load i64, ptr @pages.mapped
  %kept = load i64, ptr @pages_kept
  %used = sub i64 %mapped, %kept
  %before = load i64, ptr @pages.most
  %most = call i64 @llvm.umax.i64(i64 %before, i64 %used)
  store i64 %most, ptr @pages.most
  %twice = shl i64 %most, 1
  %free = sub i64 %twice, %used
  ret i64 %free
}

; Takes a free block out of the lists.
define private void @pages.unlink(ptr %block) {
  %peers = getelementptr i8, ptr %block, i64 <PEERS>
  call void @link.out(ptr %peers)
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  %kept = load i64, ptr @pages_kept
  %fewer = sub i64 %kept, %size
  store i64 %fewer, ptr @pages_kept
  call void @pages.age(ptr %block, i64 %size)
  ret void
}

; Takes it out of the list of its age.
define private void @pages.age(ptr %block, i64 %size) {
  %ages = getelementptr i8, ptr %block, i64 <AGES>
  call void @link.out(ptr %ages)
  %warm.at = getelementptr i8, ptr %block, i64 <IS_WARM>
  %warm = load i64, ptr %warm.at
  %counted = mul i64 %warm, %size
  %before = load i64, ptr @warm.bytes
  %after = sub i64 %before, %counted
  store i64 %after, ptr @warm.bytes
  ret void
}
"""

_GIVE = """
define void @pages_give(ptr %block) noinline {
start:
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  %peers = getelementptr i8, ptr %block, i64 <PEERS>
  %ring = call ptr @free.of(i64 %size)
  call void @link.in(ptr %ring, ptr %peers)
  %kept = load i64, ptr @pages_kept
  %more = add i64 %kept, %size
  store i64 %more, ptr @pages_kept
  %ages = getelementptr i8, ptr %block, i64 <AGES>
  %warm.at = getelementptr i8, ptr %block, i64 <IS_WARM>
  store i64 1, ptr %warm.at
  call void @link.in(ptr @free.warm, ptr %ages)
  %before = load i64, ptr @warm.bytes
  %after = add i64 %before, %size
  store i64 %after, ptr @warm.bytes
  %many = icmp ugt i64 %after, <WARM>
  br i1 %many, label %cool, label %aged
cool:
  call void @pages.cool()
  br label %aged
aged:
  %limit = load i64, ptr @pages_limit
  %over = icmp ugt i64 %more, %limit
  br i1 %over, label %release, label %done
release:
  call void @pages_release(i64 %limit)
  br label %done
done:
  ret void
}

; Tells the system of the warm blocks that were free for longest.
define private void @pages.cool() noinline cold {
start:
  %last.at = getelementptr ptr, ptr @free.warm, i64 1
  br label %loop
loop:
  %ages = load ptr, ptr %last.at
  %block = getelementptr i8, ptr %ages, i64 <BEHIND_AGES>
  %size.at = getelementptr i8, ptr %block, i64 <SIZE>
  %size = load i64, ptr %size.at
  call void @pages.age(ptr %block, i64 %size)
  %warm.at = getelementptr i8, ptr %block, i64 <IS_WARM>
  store i64 0, ptr %warm.at
  call void @link.in(ptr @free.cold, ptr %ages)
  <ADVISE_FREE>
  %bytes = load i64, ptr @warm.bytes
  %many = icmp ugt i64 %bytes, <WARM>
  br i1 %many, label %loop, label %done
done:
  ret void
}

; Gives up the blocks that were free for longest, the warm ones last.
define void @pages_release(i64 %limit) noinline {
start:
  br label %again
again:
  %kept = load i64, ptr @pages_kept
  %fine = icmp ule i64 %kept, %limit
  br i1 %fine, label %done, label %drop
drop:
  %first = load ptr, ptr @free.cold
  %none = icmp eq ptr %first, @free.cold
  %ring = select i1 %none, ptr @free.warm, ptr @free.cold
  %last.at = getelementptr ptr, ptr %ring, i64 1
  %ages = load ptr, ptr %last.at
  %block = getelementptr i8, ptr %ages, i64 <BEHIND_AGES>
  call void @pages.unlink(ptr %block)
  call void @pages.unmap(ptr %block)
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
