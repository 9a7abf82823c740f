"""The pool of frames: the memory of one call of a compiled module, reused by the next call.

A frame begins with a header of `HEADER` bytes, in which lies the room of the call, at `ROOM`: its block (of
PyMem_RawMalloc) and the size of that; both are 0 at first and persist between calls.  The rest of the frame is main's,
uninitialised.  Frames are aligned to 64 bytes.

Small frames lie in a list of their module, linked through their headers.  Large ones are shared by all modules of the
process: as many stay as were needed at the same time, each as large as the largest module needed, and no larger than
any living module needs.  The largest are blocks of `large_alloc`.  Lists are only touched by threads that hold the
interpreter's lock.
"""

from __future__ import annotations

import ctypes
from functools import cache

from ....ir.sizes import Size
from ..jit.engine import Loaded, load
from ..jit.machine import this_host
from . import large_alloc

HEADER = 64
#: Frames of so many bytes or more are shared by all modules.
SHARED_FROM = 1 << 16
#: The list of shared frames.
POOL = ctypes.c_void_p(None)

#: In the header: the next frame of the list, the bytes of the frame, the block it lies in, the room.
_SIZE, _BLOCK, ROOM = 8, 16, 24
#: The most frames that a list keeps; deeper recursions allocate and free.
_KEPT = 16
#: Bytes of the guard behind a poisoned frame, each of them `MARK`.
GUARD, MARK = 4096, 90


def frame_size(frame_bytes: Size, shared: bool) -> Size:
    """The allocated size of a frame: that of shared ones is rounded up, so that they fit more modules."""
    unit = 4096 if shared else 64
    return (frame_bytes + unit - 1) // unit * unit


@cache
def functions() -> Loaded:
    """The functions that allocate and free frames, in machine code; all modules call the same ones.

    ``ptr frame_take(ptr list, i64 bytes)`` gives a frame (null: no memory); ``void frame_give(ptr list,
    ptr frame)`` takes it back; ``void frames_release(ptr list, i64 limit)`` frees those of the list that have more
    bytes.  ``i1 frame_intact(ptr frame, i64 end, i64 limit)`` says whether the guard from `end` to `limit` is whole.
    """
    text = _NEW + _TAKE + _GIVE + _RELEASE + _INTACT
    numbers = {
        "SIZE": _SIZE, "BLOCK": _BLOCK, "ROOM": ROOM, "KEPT": _KEPT, "MARK": MARK, "HUGE": large_alloc.HUGE,
    }  # fmt: skip
    for name, value in numbers.items():
        text = text.replace(f"<{name}>", str(value))
    return load(text, context_size=2, target=this_host())


def functions_for(frame_bytes: Size) -> Loaded:
    """The same, linked to `large_alloc` if frames of that size lie in its blocks."""
    if not isinstance(frame_bytes, int) or frame_bytes + GUARD >= large_alloc.HUGE:
        functions().fill([large_alloc.functions().address(name) for name in ("pages_take", "pages_give")])
    return functions()


def release() -> None:
    """Frees the shared frames that are not in use, and all free blocks."""
    if functions.cache_info().currsize:
        Release(functions().address("frames_release"))(ctypes.addressof(POOL), 0)
    large_alloc.release()


#: The type of `frames_release`.
Release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


_NEW = """
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
define private ptr @frame.new(i64 %bytes) noinline cold {
start:
  %large = icmp uge i64 %bytes, <HUGE>
  br i1 %large, label %pages, label %heap
heap:
  %total = add i64 %bytes, 64
  %found = call ptr @PyMem_RawMalloc(i64 %total)
  br label %taken
pages:
  %take = load ptr, ptr @context
  %mapped = call ptr %take(i64 %bytes)
  br label %taken
taken:
  %block = phi ptr [%found, %heap], [%mapped, %pages]
  %none = icmp eq ptr %block, null
  br i1 %none, label %lost, label %made
lost:
  ret ptr null
made:
  %number = ptrtoint ptr %block to i64
  %above = add i64 %number, 63
  %aligned = and i64 %above, -64
  %frame = inttoptr i64 %aligned to ptr
  %size.at = getelementptr i8, ptr %frame, i64 <SIZE>
  store i64 %bytes, ptr %size.at
  %block.at = getelementptr i8, ptr %frame, i64 <BLOCK>
  store ptr %block, ptr %block.at
  %room.at = getelementptr i8, ptr %frame, i64 <ROOM>
  store <2 x i64> zeroinitializer, ptr %room.at, align 8
  ret ptr %frame
}

define private void @frame.free(ptr %frame) noinline cold {
  %room.at = getelementptr i8, ptr %frame, i64 <ROOM>
  %room = load ptr, ptr %room.at
  call void @PyMem_RawFree(ptr %room)
  %block.at = getelementptr i8, ptr %frame, i64 <BLOCK>
  %block = load ptr, ptr %block.at
  %size.at = getelementptr i8, ptr %frame, i64 <SIZE>
  %size = load i64, ptr %size.at
  %large = icmp uge i64 %size, <HUGE>
  br i1 %large, label %pages, label %heap
heap:
  call void @PyMem_RawFree(ptr %block)
  ret void
pages:
  %give.at = getelementptr ptr, ptr @context, i64 1
  %give = load ptr, ptr %give.at
  call void %give(ptr %block)
  ret void
}
"""

_TAKE = """
; The smallest frame that is large enough; where there is none, the first of the list gives way to a new one.
define ptr @frame_take(ptr %list, i64 %bytes) noinline {
start:
  br label %loop
loop:
  %link = phi ptr [%list, %start], [%frame, %look]
  %best = phi ptr [null, %start], [%best.next, %look]
  %least = phi i64 [-1, %start], [%least.next, %look]
  %frame = load ptr, ptr %link
  %end = icmp eq ptr %frame, null
  br i1 %end, label %choose, label %look
look:
  %size.at = getelementptr i8, ptr %frame, i64 <SIZE>
  %size = load i64, ptr %size.at
  %fits = icmp uge i64 %size, %bytes
  %less = icmp ult i64 %size, %least
  %better = and i1 %fits, %less
  %best.next = select i1 %better, ptr %link, ptr %best
  %least.next = select i1 %better, i64 %size, i64 %least
  br label %loop
choose:
  %none = icmp eq ptr %best, null
  br i1 %none, label %miss, label %hit
hit:
  %found = load ptr, ptr %best
  %behind = load ptr, ptr %found
  store ptr %behind, ptr %best
  ret ptr %found
miss:
  %first = load ptr, ptr %list
  %empty = icmp eq ptr %first, null
  br i1 %empty, label %make, label %trade
trade:
  %second = load ptr, ptr %first
  store ptr %second, ptr %list
  call void @frame.free(ptr %first)
  br label %make
make:
  %made = call ptr @frame.new(i64 %bytes)
  ret ptr %made
}
"""

_GIVE = """
define void @frame_give(ptr %list, ptr %frame) noinline {
start:
  %first = load ptr, ptr %list
  br label %loop
loop:
  %at = phi ptr [%first, %start], [%next, %count]
  %number = phi i64 [0, %start], [%number.next, %count]
  %end = icmp eq ptr %at, null
  br i1 %end, label %keep, label %count
count:
  %next = load ptr, ptr %at
  %number.next = add i64 %number, 1
  %full = icmp eq i64 %number.next, <KEPT>
  br i1 %full, label %drop, label %loop
keep:
  store ptr %first, ptr %frame
  store ptr %frame, ptr %list
  ret void
drop:
  call void @frame.free(ptr %frame)
  ret void
}
"""

_RELEASE = """
define void @frames_release(ptr %list, i64 %limit) noinline cold {
start:
  br label %loop
loop:
  %link = phi ptr [%list, %start], [%frame, %stay], [%link, %go]
  %frame = load ptr, ptr %link
  %end = icmp eq ptr %frame, null
  br i1 %end, label %done, label %look
look:
  %size.at = getelementptr i8, ptr %frame, i64 <SIZE>
  %size = load i64, ptr %size.at
  %large = icmp ugt i64 %size, %limit
  br i1 %large, label %go, label %stay
stay:
  br label %loop
go:
  %next = load ptr, ptr %frame
  store ptr %next, ptr %link
  call void @frame.free(ptr %frame)
  br label %loop
done:
  ret void
}
"""

_INTACT = """
define i1 @frame_intact(ptr %frame, i64 %end, i64 %limit) noinline {
start:
  br label %loop
loop:
  %i = phi i64 [%end, %start], [%next, %step]
  %at = getelementptr i8, ptr %frame, i64 %i
  %byte = load i8, ptr %at
  %kept = icmp eq i8 %byte, <MARK>
  br i1 %kept, label %step, label %broken
step:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %limit
  br i1 %more, label %loop, label %whole
broken:
  ret i1 false
whole:
  ret i1 true
}
"""
