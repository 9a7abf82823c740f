"""`gemm` of the BLAS library that NumPy has loaded, as a C function that sets the number of its threads."""

from __future__ import annotations

import ctypes
import os
import time
from functools import cache
from typing import Any

from ....blas import FRESH, LARGE_PRODUCT, SINGLE, STAT, STATE, State, files, gemm_library, gemm_of
from ..jit.engine import Loaded, load
from ..jit.machine import this_host

#: Multiplications up to which our own kernels are as fast as the library in one thread, which first packs its operands
#: (measured: 0.93 to 2.7 times as fast, but for a few rows times a long transposed matrix).
SMALL_PRODUCT = 100**3


@cache
def gemm(letter: str) -> int | None:
    """The address of a function like `cblas_?gemm` (`letter` s or d) with 64-bit sizes; None where there is none.

    It is the library's own where we do not control its threads (see the package's `blas`).
    """
    if gemm_library() is not None:
        return functions().address(f"{letter}gemm")
    for path in files():
        try:
            found = gemm_of(ctypes.CDLL(str(path)), letter)
        except OSError:
            continue
        if found is not None:
            return found
    return None


@cache
def functions() -> Loaded:
    """``sgemm``, ``dgemm`` and ``i64 free_cores()``: what `blas.products` does, in machine code."""
    library, libc = gemm_library(), ctypes.CDLL(None)
    assert library is not None
    text = (
        _CLOCK
        + _FREE_CORES
        + "".join(
            _GEMM.replace("<operands>", _OPERANDS).replace("<letter>", letter).replace("<real>", real)
            for letter, real in (("s", "float"), ("d", "double"))
        )
    )
    numbers = {
        "MONOTONIC": time.CLOCK_MONOTONIC, "PROCESS": time.CLOCK_PROCESS_CPUTIME_ID, "FRESH": FRESH,
        "SINGLE": SINGLE, "LARGE": LARGE_PRODUCT, "READ_ONLY": os.O_RDONLY | os.O_CLOEXEC,
    }  # fmt: skip
    numbers |= {name: getattr(State, name).offset for name in State.__annotations__ if name != "_fields_"}
    called: list[Any] = [library.get, library.set, libc.open, libc.read, libc.close]
    pointers = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in called]
    pointers += [ctypes.addressof(STATE), ctypes.addressof(STAT), *(library.gemm(x) or 0 for x in "sd")]
    places = "get", "set", "open", "read", "close", "state", "stat", "sgemm", "dgemm"
    for i, name in enumerate(places):
        text = text.replace(f"<@{name}>", f"getelementptr (i8, ptr @context, i64 {8 * i})")
    for name, value in numbers.items():
        text = text.replace(f"<{name}>", str(value))
    loaded = load(text, context_size=len(pointers), target=this_host())
    loaded.fill(pointers)
    return loaded


_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
define private i64 @clock(i32 %which) {
  %time = alloca [2 x i64], align 8
  %done = call i32 @clock_gettime(i32 %which, ptr %time)
  %seconds = load i64, ptr %time
  %behind = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %behind
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}
"""

_FREE_CORES = """
define i64 @free_cores() noinline {
start:
  %text = alloca [256 x i8], align 8
  %state = load ptr, ptr <@state>
  %cores.at = getelementptr i8, ptr %state, i64 <cores>
  %when.at = getelementptr i8, ptr %state, i64 <when>
  %free.at = getelementptr i8, ptr %state, i64 <free>
  %cores = load i64, ptr %cores.at
  %free = load i64, ptr %free.at
  %when = load i64, ptr %when.at
  %now = call i64 @clock(i32 <MONOTONIC>)
  %elapsed = sub i64 %now, %when
  %known = icmp ne i64 %when, 0
  %young = icmp slt i64 %elapsed, <FRESH>
  %fresh = and i1 %known, %young
  br i1 %fresh, label %kept, label %look
kept:
  ret i64 %free
look:
  %open = load ptr, ptr <@open>
  %path = load ptr, ptr <@stat>
  %file = call i32 (ptr, i32, ...) %open(ptr %path, i32 <READ_ONLY>)
  %absent = icmp slt i32 %file, 0
  br i1 %absent, label %untold, label %read
read:
  %reader = load ptr, ptr <@read>
  %count = call i64 %reader(i32 %file, ptr %text, i64 255)
  %closer = load ptr, ptr <@close>
  %closed = call i32 %closer(i32 %file)
  %nothing = icmp sle i64 %count, 0
  br i1 %nothing, label %untold, label %parse
untold:
  ret i64 %cores
parse:
  %end = getelementptr i8, ptr %text, i64 %count
  store i8 0, ptr %end
  br label %each
each:
  %i = phi i64 [0, %parse], [%i.next, %on]
  %number = phi i64 [0, %parse], [%number.next, %on]
  %fields = phi i64 [0, %parse], [%fields.next, %on]
  %total = phi i64 [0, %parse], [%total.next, %on]
  %inside = phi i1 [false, %parse], [%is.digit, %on]
  %at = getelementptr i8, ptr %text, i64 %i
  %letter = load i8, ptr %at
  %digit = sub i8 %letter, 48
  %is.digit = icmp ult i8 %digit, 10
  %wide = zext i8 %digit to i64
  %tens = mul i64 %number, 10
  %longer = add i64 %tens, %wide
  %number.next = select i1 %is.digit, i64 %longer, i64 0
  %outside = xor i1 %is.digit, true
  %ends = and i1 %inside, %outside
  %more = zext i1 %ends to i64
  %fields.next = add i64 %fields, %more
  %past = icmp ult i64 %fields, 8
  %third = icmp eq i64 %fields, 3
  %fourth = icmp eq i64 %fields, 4
  %waits = or i1 %third, %fourth
  %works = xor i1 %waits, true
  %counts = and i1 %past, %works
  %added = and i1 %counts, %ends
  %sum = add i64 %total, %number
  %total.next = select i1 %added, i64 %sum, i64 %total
  %line = icmp eq i8 %letter, 10
  %zero = icmp eq i8 %letter, 0
  %over = or i1 %line, %zero
  br i1 %over, label %found, label %on
on:
  %i.next = add i64 %i, 1
  br label %each
found:
  %tick.at = getelementptr i8, ptr %state, i64 <tick>
  %worked.at = getelementptr i8, ptr %state, i64 <worked>
  %own.at = getelementptr i8, ptr %state, i64 <own>
  %tick = load i64, ptr %tick.at
  %worked = mul i64 %total.next, %tick
  %own = call i64 @clock(i32 <PROCESS>)
  %worked.then = load i64, ptr %worked.at
  %own.then = load i64, ptr %own.at
  %all = sub i64 %worked, %worked.then
  %mine = sub i64 %own, %own.then
  %others = sub i64 %all, %mine
  %twice = shl i64 %others, 1
  %above = add i64 %twice, %elapsed
  %least = call i64 @llvm.smax.i64(i64 %above, i64 0)
  %span = shl i64 %elapsed, 1
  %span.some = call i64 @llvm.smax.i64(i64 %span, i64 1)
  %busy = sdiv i64 %least, %span.some
  %left = sub i64 %cores, %busy
  %left.some = call i64 @llvm.smax.i64(i64 %left, i64 1)
  %answer = select i1 %known, i64 %left.some, i64 %free
  store i64 %answer, ptr %free.at
  store i64 %worked, ptr %worked.at
  store i64 %own, ptr %own.at
  store i64 %now, ptr %when.at
  ret i64 %answer
}
"""

_OPERANDS = (
    "i32 %order, i32 %ta, i32 %tb, i64 %m, i64 %n, i64 %k, <real> %alpha, "
    "ptr %a, i64 %lda, ptr %b, i64 %ldb, <real> %beta, ptr %c, i64 %ldc"
)
#: It claims `native` while it has changed the number of threads; it changes nothing while Python has claimed `python`.
_GEMM = """
define void @<letter>gemm(<operands>) noinline {
start:
  %gemm = load ptr, ptr <@<letter>gemm>
  %state = load ptr, ptr <@state>
  %native.at = getelementptr i8, ptr %state, i64 <native>
  %mn = mul i64 %m, %n
  %mnk = mul i64 %mn, %k
  %work = shl i64 %mnk, 1
  %some = icmp ugt i64 %work, <SINGLE>
  br i1 %some, label %claim, label %plain
claim:
  %tried = cmpxchg ptr %native.at, i64 0, i64 1 seq_cst seq_cst
  %won = extractvalue {i64, i1} %tried, 1
  br i1 %won, label %look, label %plain
look:
  %python.at = getelementptr i8, ptr %state, i64 <python>
  %python = load atomic i64, ptr %python.at seq_cst, align 8
  %alone = icmp eq i64 %python, 0
  br i1 %alone, label %ask, label %leave
ask:
  %get = load ptr, ptr <@get>
  %set = load ptr, ptr <@set>
  %before = call i32 %get()
  %is.large = icmp uge i64 %work, <LARGE>
  br i1 %is.large, label %large, label %chosen
large:
  %most.at = getelementptr i8, ptr %state, i64 <most>
  %most = load i64, ptr %most.at
  %free = call i64 @free_cores()
  %least = call i64 @llvm.smin.i64(i64 %most, i64 %free)
  br label %chosen
chosen:
  %threads = phi i64 [1, %ask], [%least, %large]
  %number = trunc i64 %threads to i32
  %lower = icmp sgt i32 %before, %number
  br i1 %lower, label %change, label %leave
change:
  %before.at = getelementptr i8, ptr %state, i64 <before>
  %during.at = getelementptr i8, ptr %state, i64 <during>
  %before.wide = sext i32 %before to i64
  store i64 %threads, ptr %during.at
  store i64 %before.wide, ptr %before.at
  call void %set(i32 %number)
  call void %gemm(<operands>)
  %after = call i32 %get()
  %same = icmp eq i32 %after, %number
  br i1 %same, label %undo, label %done
undo:
  call void %set(i32 %before)
  br label %done
done:
  store i64 0, ptr %before.at
  store atomic i64 0, ptr %native.at seq_cst, align 8
  ret void
leave:
  store atomic i64 0, ptr %native.at seq_cst, align 8
  br label %plain
plain:
  call void %gemm(<operands>)
  ret void
}
"""
