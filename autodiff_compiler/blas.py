"""The BLAS libraries of NumPy and SciPy, and how many threads they use for a product of ours.

Small products gain nothing by threads, and lose much where the cores are busy: each waits for the thread that gets its
core last.  So the library's number of threads is lowered around each product and restored afterwards.  OpenBLAS has one
number for the whole process, and of two threads that change it at once each could take the other's for the user's.  So
only one changes it at a time, and any other uses the number as it is.  Python and machine code, which runs without the
interpreter's lock, claim it by a word each in `STATE` (docs/decisions/0034-threads-of-blas.md).
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar

import numpy as np

__all__ = [
    "FRESH",
    "LARGE_PRODUCT",
    "SINGLE",
    "SINGLE_OF_MATRICES",
    "STAT",
    "STATE",
    "Library",
    "State",
    "files",
    "free_cores",
    "gemm_library",
    "gemm_of",
    "libraries",
    "products",
    "threads",
]

#: The least number of operations for a product by several threads (measured: docs/decisions/0034-threads-of-blas.md).
LARGE_PRODUCT = 50_000_000
#: Operations up to which OpenBLAS uses one thread by itself: in any function, and in a product of matrices that both
#: have several rows and columns.
SINGLE, SINGLE_OF_MATRICES = 16_384, 1 << 19
#: Nanoseconds for which a measured number of busy cores is reused.
FRESH = 100_000_000
#: What tells how long the cores of the machine have worked: a zero behind it, for machine code.
STAT = ctypes.create_string_buffer(b"/proc/stat")


class State(ctypes.Structure):
    """The memory that Python and machine code share: who changes the number of threads, and how busy the machine is."""

    #: whether Python has the claim
    python: int
    #: whether machine code has it
    native: int
    #: what the library's number was, if machine code changed it; else 0
    before: int
    #: what machine code changed it to
    during: int
    #: the setting `num_threads`
    most: int
    #: of the machine
    cores: int
    #: nanoseconds of what `STAT` counts
    tick: int
    #: when the machine was looked at last, in nanoseconds; 0: never
    when: int
    #: how long all cores had worked by then, in nanoseconds
    worked: int
    #: how long this process had
    own: int
    #: how many cores this process may take to be its own
    free: int
    _fields_: ClassVar = [(name, ctypes.c_int64) for name in __annotations__]


def _available() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


STATE = State(most=_available(), cores=os.cpu_count() or 1, free=os.cpu_count() or 1)
STATE.tick = 1_000_000_000 // (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100)


# ------------------------------------------------------------------------------------------------ libraries
#: Names of OpenBLAS's functions: what stands before and behind them depends on who built it.  64: sizes are 64-bit.
_PREFIXES, _SUFFIXES_64, _SUFFIXES = ("scipy_", ""), ("64_", "_64"), ("", "64_", "_64")
#: What `openblas_get_parallel` says where threads are the library's own; those of OpenMP have other rules.
_OWN_THREADS = 1


class Library:
    """An OpenBLAS that this process has loaded, with threads of its own."""

    def __init__(self, handle: Any, get: Callable[[], int], set: Callable[[int], None]) -> None:
        self.handle, self.get, self.set = handle, get, set

    @classmethod
    def at(cls, path: Path) -> Library | None:
        """The library of that file, if it is loaded, is OpenBLAS, and has threads of its own; else None."""
        try:
            handle = ctypes.PyDLL(str(path), mode=getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_NOW", 0))
        except OSError:
            return None
        parallel, get, set = (
            _function(handle, [f"{p}openblas_{name}{s}" for p in _PREFIXES for s in _SUFFIXES])
            for name in ("get_parallel", "get_num_threads", "set_num_threads")
        )
        if parallel is None or get is None or set is None or parallel() != _OWN_THREADS:
            return None
        set.argtypes, set.restype = [ctypes.c_int], None
        return cls(handle, get, set)

    @property
    def address(self) -> int:
        """Where its functions are: files that are linked against a library find those of it, too."""
        return ctypes.cast(self.get, ctypes.c_void_p).value or 0  # type: ignore[arg-type]

    def gemm(self, letter: str) -> int | None:
        """The address of `cblas_?gemm` (`letter` s or d) with 64-bit sizes; None where it has none."""
        return gemm_of(self.handle, letter)


def gemm_of(handle: Any, letter: str) -> int | None:
    """The address of `cblas_?gemm` with 64-bit sizes in a library; None where it has none."""
    function = _function(handle, [f"{p}cblas_{letter}gemm{s}" for p in _PREFIXES for s in _SUFFIXES_64])
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def _function(handle: Any, names: Iterable[str]) -> Any:
    return next(filter(None, (getattr(handle, name, None) for name in names)), None)


def files(scipy: bool = False) -> Iterator[Path]:
    """Where the wheels of NumPy, and of SciPy if it is asked for, keep theirs, then what this process has loaded."""
    package = Path(np.__file__).parent
    folders = [package.parent / "numpy.libs", package / ".dylibs"]
    folders += [package.parent / "scipy.libs", package.parent / "scipy" / ".dylibs"] * scipy
    for folder in folders:
        yield from sorted(folder.glob("*openblas*"))
    if sys.platform == "linux":
        with open("/proc/self/maps") as maps:
            found = {line.split()[-1] for line in maps if "blas" in line and line.rstrip().endswith((".so", ".so.0"))}
        yield from map(Path, sorted(found))


def libraries() -> tuple[Library, ...]:
    """Those whose threads are counted here; SciPy's comes when somebody has imported what needs it."""
    return _libraries("scipy.linalg" in sys.modules)


@cache
def _libraries(scipy: bool) -> tuple[Library, ...]:
    found: dict[int, Library] = {}
    for path in files(scipy):
        library = Library.at(path)
        if library is not None:
            found.setdefault(library.address, library)
    return tuple(found.values())


@cache
def gemm_library() -> Library | None:
    """The one whose products machine code calls, if its threads are counted here."""
    return next((library for library in libraries() if library.gemm("s") is not None), None)


def threads() -> int:
    """How many threads large products use at most; 1 where that is not known."""
    return min(STATE.most, max((library.get() for library in libraries()), default=1))


# ------------------------------------------------------------------------------------------------ the machine
def free_cores() -> int:
    """The number of cores that other processes left free lately.

    All of them where the system does not tell, and at the first call, before anything was measured.
    """
    now = time.monotonic_ns()
    if now - STATE.when < FRESH and STATE.when:
        return STATE.free
    try:
        with open(STAT.value, "rb", buffering=0) as file:
            numbers = file.read(255).split(b"\n")[0].split()[1:9]
        ticks = [int(x) for x in numbers]
    except (OSError, ValueError):
        return STATE.cores
    worked, own = STATE.tick * (sum(ticks) - sum(ticks[3:5])), time.process_time_ns()  # but for idle, waiting for disks
    if STATE.when:
        others, elapsed = worked - STATE.worked - (own - STATE.own), now - STATE.when
        STATE.free = max(1, STATE.cores - max(0, (2 * others + elapsed) // (2 * elapsed)))
    STATE.when, STATE.worked, STATE.own = now, worked, own
    return STATE.free


# ------------------------------------------------------------------------------------------------ around a product
#: Who has the claim of Python's, under 0: what is one step of a dict no other thread comes between.
_claims: dict[int, products] = {}


class products:
    """A context in which the libraries use the number of threads that pays for so many operations.

    An interrupt may come between any two steps: what is to be undone is noted before it is done, and undone twice
    without harm.  One that comes when `__exit__` has just been entered is made good by the next product of the thread.
    """

    def __init__(self, operations: int) -> None:
        self._operations, self._thread = operations, get_ident()
        self._changed: list[tuple[Library, int, int]] = []

    def __enter__(self) -> None:
        if self._operations <= SINGLE:
            return
        try:
            claim = _claims.setdefault(0, self)
            if claim is not self and claim._thread == self._thread:  # left behind, or of what a signal interrupts
                claim._leave()
                claim = _claims.setdefault(0, self)
            if claim is self:
                STATE.python = 1
                if not STATE.native:
                    self._lower()
        except BaseException:
            self._leave()
            raise

    def _lower(self) -> None:
        number = 1 if self._operations < LARGE_PRODUCT else min(STATE.most, free_cores())
        for library in libraries():
            before = library.get()
            if before > number:
                self._changed.append((library, before, number))
                library.set(number)

    def __exit__(self, *_: object) -> None:
        try:
            self._leave()
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        if _claims.get(0) is self:
            self.undo()
            STATE.python = 0
            _claims.pop(0, None)

    def undo(self) -> None:
        """The libraries use what they did before, but where somebody has changed it meanwhile."""
        for library, before, number in self._changed:
            if library.get() == number:
                library.set(before)


def _after_fork() -> None:
    """The threads that changed something do not exist here: it is undone for them."""
    for claim in list(_claims.values()):
        claim.undo()
    _claims.clear()
    library = gemm_library() if STATE.native else None
    if library is not None and STATE.before and library.get() == STATE.during:
        library.set(STATE.before)
    STATE.python = STATE.native = STATE.before = 0


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    with suppress(AttributeError):
        os.register_at_fork(after_in_child=_after_fork)
