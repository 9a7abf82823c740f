"""Frames, references, threads and recursion of the Python functions of compiled modules, and how they end."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from autodiff_compiler.backends.native.callpath.signature import Argument, Result, Signature
from autodiff_compiler.backends.native.jit import machine
from autodiff_compiler.backends.native.memory.frame_pool import ROOM, SHARED_FROM
from autodiff_compiler.dtypes import bfloat16, float32, float64, int64
from autodiff_compiler.runtime.tensor import Tensor, wrap
from tests.backends.native.entries import ADD, ADD_TO, CALLBACK, ENTRIES, R8, V8, Made, floats

pytestmark = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code: {machine.why_not()}")

SMALL, LARGE = 4096, 4 * SHARED_FROM
#: In tests of what calls leave behind; a million was run as well.
CALLS = 100_000


@pytest.fixture(params=sorted(ENTRIES))
def kind(request):
    return request.param


#: o = a, by way of `trips` passes over the frame, each adding a/trips to what the frame holds: frames that two calls
#: share give wrong sums.  `first`: the offset of the place in the frame.
THROUGH_FRAME = """
define i32 @main(ptr %frame, ptr %a, ptr %o) {
start:
  %place = getelementptr i8, ptr %frame, i64 <first>
  store volatile double 0.0, ptr %place
  %x = load double, ptr %a
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %loop]
  %before = load volatile double, ptr %place
  %after = fadd double %before, %x
  store volatile double %after, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, <trips>
  br i1 %more, label %loop, label %done
done:
  %sum = load volatile double, ptr %place
  store double %sum, ptr %o
  ret i32 0
}
"""
NUMBER = Argument(float64)


def through_frame(kind, size, trips, **options):
    signature = Signature((NUMBER,), (Result(float64),), frame_bytes=size, bare=True, **options)
    return Made(kind, signature, THROUGH_FRAME.replace("<trips>", str(trips)).replace("<first>", str(size - 8)))


#: Grows the room by 1024 bytes per call; o = its bytes before the call.
GROWING = """
declare ptr @PyMem_RawRealloc(ptr, i64)
define i32 @main(ptr %frame, ptr %o) {
  %at = getelementptr i8, ptr %frame, i64 <room>
  %size.at = getelementptr i8, ptr %at, i64 8
  %block = load ptr, ptr %at
  %size = load i64, ptr %size.at
  %more = add i64 %size, 1024
  %new = call ptr @PyMem_RawRealloc(ptr %block, i64 %more)
  store ptr %new, ptr %at
  store i64 %more, ptr %size.at
  store i64 %size, ptr %o
  %end = getelementptr i8, ptr %frame, i64 <end>
  store i64 -1, ptr %end
  ret i32 0
}
"""


def growing(kind, size):
    signature = Signature((), (Result(int64),), frame_bytes=size, bare=True)
    return Made(kind, signature, GROWING.replace("<room>", str(ROOM)).replace("<end>", str(size - 8)))


@pytest.fixture
def traced():
    """The bytes in use of all memory that Python hands out."""
    gc.collect()
    tracemalloc.start()
    try:
        yield lambda: (gc.collect(), tracemalloc.get_traced_memory()[0])[1]
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------------------------------ frames
@pytest.mark.parametrize("size", [72, SMALL, LARGE, LARGE + 8])
def test_frames_are_aligned_and_large_enough(kind, size):
    main = f"""
define i32 @main(ptr %frame, ptr %o) {{
  %end = getelementptr i8, ptr %frame, i64 {size - 1}
  store i8 1, ptr %end
  %number = ptrtoint ptr %frame to i64
  store i64 %number, ptr %o
  ret i32 0
}}"""
    made = Made(kind, Signature((), (Result(float64),), frame_bytes=size, bare=True), main)
    first = int(made().view(np.int64))
    assert first % 64 == 0
    assert first
    if kind == "fast":
        assert int(made().view(np.int64)) == first  # kept for the next call


def test_no_frame_where_none_is_needed(kind):
    main = "define i32 @main(ptr %f, ptr %o) {\n  %n = ptrtoint ptr %f to i64\n  store i64 %n, ptr %o\n  ret i32 0\n}"
    assert int(Made(kind, Signature((), (Result(float64),), bare=True), main)().view(np.int64)) == 0


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_room_of_a_frame_begins_empty_and_stays(kind, size):
    one, other = growing(kind, size), growing(kind, size)
    assert int(one()) == 0
    kept = kind == "fast" or size == SMALL
    assert int(one()) == 1024 * kept
    if size == SMALL:
        assert int(other()) == 0
    elif kept:  # both have the same frame
        assert [int(other()), int(one()), int(other())] == [2048, 3072, 4096]


@pytest.mark.some(2)
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_modules_that_are_dropped_free_their_frames(kind, size, traced):
    def use():
        made = growing(kind, size)
        for _ in range(3):
            made()

    use()
    grown = []
    for _ in range(2):  # meanwhile something else in the process may take memory, once
        before = traced()
        for _ in range(8):
            use()
        grown.append(abs(traced() - before))
    assert min(grown) < max(4 * SMALL, size / 2)  # eight frames would be more


def test_large_frames_are_shared_by_all_modules(traced):
    all_made = [through_frame("fast", LARGE + 4096 * i, 1) for i in range(20)]
    before = traced()
    for made in all_made:
        assert made(np.array(2.0)) == 2.0
    assert LARGE < traced() - before < 1.5 * LARGE + 4096 * 20
    small = all_made[0]
    del all_made[1:], made
    assert small(np.array(3.0)) == 3.0
    assert traced() - before < LARGE + 20_000  # no larger than the one left needs


def test_frames_of_deep_recursions_are_not_all_kept(traced):
    depth = 0

    def deeper():
        nonlocal depth
        depth += 1
        if depth < 100:
            made(floats())

    made = Made("fast", Signature((V8,), (R8,), frame_bytes=SMALL), CALLBACK, callback=deeper)
    before = traced()
    made(floats())
    assert depth == 100
    assert traced() - before < 20 * SMALL


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_main_that_writes_behind_its_frame_is_caught(kind, size):
    main = f"""
define i32 @main(ptr %frame, ptr %o) {{
  %end = getelementptr i8, ptr %frame, i64 {size}
  store i8 1, ptr %end
  ret i32 0
}}"""
    made = Made(kind, Signature((), (R8,), frame_bytes=size, poison=True), main)
    with pytest.raises(SystemError, match="wrote behind its frame"):
        made()


@pytest.mark.parametrize("size", [0, SMALL, LARGE])
def test_poisoned_results_and_frames_hold_nan(kind, size):
    read = f"  %p = getelementptr i8, ptr %f, i64 {size - 4}\n  %x = load float, ptr %p\n  store float %x, ptr %o\n"
    main = f"define i32 @main(ptr %f, ptr %o) {{\n{read if size else ''}  ret i32 0\n}}"
    made = Made(kind, Signature((), (Result(float32, (3,)),), frame_bytes=size, poison=True, bare=True), main)
    assert np.isnan(made()).all()


# ------------------------------------------------------------------------------------------------ recursion, threads
@pytest.mark.parametrize("size", [0, SMALL, LARGE])
def test_main_may_call_its_own_function(kind, size):
    seen = []

    def again():
        if len(seen) < 30:
            seen.append(floats(len(seen)))
            found.append(made(seen[-1])[0])

    found = []
    signature = Signature((V8,), (R8,), frame_bytes=size, calls_python=True)
    made = Made(kind, signature, CALLBACK, callback=again)
    np.testing.assert_array_equal(made(floats(-1))[0], floats(-1))
    assert [float(x[0]) for x in found] == [float(x) for x in range(30)][::-1]


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("release", [False, True])
def test_eight_threads(kind, size, release):
    trips = 2000
    made = through_frame(kind, size, trips, release_gil=release)
    wrong = []
    start = threading.Barrier(8)

    def work(number):
        start.wait()
        x = np.array(float(number))
        for _ in range(300):
            if made(x) != number * trips:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_other_threads_run_while_main_does(kind):
    made = through_frame(kind, SMALL, 60_000_000, release_gil=True)  # some hundred milliseconds
    begun, ended = threading.Event(), threading.Event()

    def work():
        begun.set()
        made(np.array(1.0))
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    turns = 0
    while not ended.is_set():
        turns += 1
    thread.join()
    assert turns > 1000


# ------------------------------------------------------------------------------------------------ references
CASES = {
    "results": (Signature((V8, V8), (R8,)), ADD),
    "frames": (Signature((V8, V8), (R8,), frame_bytes=SMALL), ADD),
    "shared frames": (Signature((V8, V8), (R8,), frame_bytes=LARGE), ADD),
    "in place": (Signature((V8, V8), (Result(float32, (8,), 0),)), ADD_TO),
    "without the lock": (Signature((V8, V8), (R8,), release_gil=True), ADD),
}


def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.some(2)
@pytest.mark.parametrize("tensors", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_calls_leave_nothing_behind(name, tensors):
    signature, main = CASES[name]
    signature = dataclasses.replace(signature, tensors=tensors)
    calls = []
    made = Made("fast", signature, main, slow=lambda *args: calls.append(args))
    args = [floats(1), floats(2)]
    if tensors:
        args = [wrap(x) for x in args]
    function = made.function
    kept = function(*args)[0]
    held = [
        np.dtype(np.float32),
        np.ndarray,
        Tensor,
        *args,
        *([x._data for x in args] if tensors else []),
        kept,
        function,
    ]
    for _ in range(1000):
        function(*args)
    gc.collect()
    counts, memory = [sys.getrefcount(x) for x in held], rss() if sys.platform == "linux" else 0
    for _ in range(CALLS):
        function(*args)
    gc.collect()
    after = [sys.getrefcount(x) for x in held]
    assert after == counts
    assert not calls
    if sys.platform == "linux":
        assert rss() - memory < 1 << 20


def test_calls_that_fail_leave_nothing_behind(kind):
    def fail():
        raise KeyError

    made = Made(kind, Signature((V8,), (R8,), frame_bytes=SMALL), CALLBACK, callback=fail)
    huge = Result(bfloat16, (1 << 48,))
    no_room = Made(
        kind, Signature((V8,), (R8, huge)), "define i32 @main(ptr %f, ptr %a, ptr %b, ptr %c) {\n  ret i32 0\n}"
    )
    x = floats()

    def both():
        for function, error in ((made, KeyError), (no_room, MemoryError)):
            with pytest.raises(error):
                function(x)

    both()
    held = [np.dtype(np.float32), np.dtype(bfloat16.numpy), x]
    counts = [sys.getrefcount(h) for h in held]
    for _ in range(50):
        both()
    assert [sys.getrefcount(h) for h in held] == counts


def test_results_are_freed(traced):
    argument = Argument(float32, (10_000,))
    main = "define i32 @main(ptr %f, ptr %a, ptr %o) {\n  ret i32 0\n}"
    made = Made("fast", Signature((argument,), (Result(float32, (10_000,)),), tensors=True), main)
    x = Tensor(np.zeros(10_000, np.float32))
    before = traced()
    found = made(x)
    assert 40_000 < traced() - before < 42_000
    del found
    assert abs(traced() - before) < 1000


# ------------------------------------------------------------------------------------------------ the end
class Python:
    """The Python part of a function, as a dispatcher is: it knows the function."""

    def __init__(self, kind):
        self.made = Made(kind, Signature((V8, V8), (R8,), bare=True, frame_bytes=SMALL), ADD, slow=self)
        self.function = self.made.function
        self.loaded = []

    def __call__(self, *args):
        return "slow"


def test_functions_and_their_python_parts_are_collected_together(kind):
    python = Python(kind)
    assert python.function(1) == "slow"
    gone = weakref.ref(python)
    del python
    gc.collect()
    assert gone() is None


@pytest.mark.some(2)
@pytest.mark.parametrize("older", [False, True])
def test_a_finalizer_may_call_a_function_that_is_garbage_as_well(kind, older):
    found = []

    class Last:
        def __init__(self):
            self.me = self

        def __del__(self):
            found.append(self.python.function(floats(1), floats(2)))

    for _ in range(5):
        last = Last() if older else None
        python = Python(kind)
        last = last or Last()
        last.python = python
        del last, python
        gc.collect()
    assert len(found) == 5
    for x in found:
        np.testing.assert_array_equal(x, floats(3))


def test_the_function_lives_without_the_rest(kind):
    function = Made(kind, Signature((V8, V8), (R8,), bare=True), ADD).function
    gc.collect()
    np.testing.assert_array_equal(function(floats(1), floats(2)), floats(3))


EXIT = """
import numpy as np
from tests.backends.native.entries import *
made = Made({kind!r}, Signature((V8, V8), (R8,), bare=True, frame_bytes=1 << 20), ADD)
class Last:
    def __init__(self): self.call, self.x, self.me = made.function, floats(1), self
    def __del__(self): print("last", self.call(self.x, self.x)[0], flush=True)
last = Last()
"""


def run(code_or_args, **environment):
    args = [sys.executable, "-X", "faulthandler", "-X", "dev", *code_or_args]
    return subprocess.run(args, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)


def test_functions_work_until_the_process_ends(kind):
    found = run(["-W", "error", "-c", EXIT.format(kind=kind)], PYTHONPATH=os.getcwd())
    assert (found.returncode, found.stdout.strip()) == (0, "last 2.0"), found.stderr


def test_under_the_allocator_for_debugging():
    """It fills memory that is freed, and notices writes behind blocks."""
    chosen = "dtypes or several or threads or own_function or fail or dropped or shared or tensors or finalizer"
    files = ["tests/backends/native/test_entry.py", "tests/backends/native/test_entry_memory.py"]
    found = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *files], PYTHONMALLOC="debug")
    assert found.returncode == 0, found.stdout + found.stderr
