"""The matrix product of the BLAS library that NumPy has loaded, as a C function."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["SMALL_PRODUCT", "gemm", "threads"]

#: Multiplications up to which machine code of our own is as fast as the library in one thread, which first packs its
#: operands (measured: 0.93 to 2.7 times as fast, but for a few rows times a long transposed matrix).  Several threads
#: gain little on so few, and a library that wakes them waits for a core where others compute, a thousand times as long.
SMALL_PRODUCT = 100**3

_PREFIXES = ("scipy_cblas_", "cblas_")
#: Suffixes of functions whose sizes are 64-bit integers.
_SUFFIXES = ("64_", "_64")


@cache
def gemm(letter: str) -> int | None:
    """The address of `cblas_?gemm` (`letter` s or d) with 64-bit sizes; None where NumPy has no such library."""
    function = _found(f"{prefix}{letter}gemm{suffix}" for prefix in _PREFIXES for suffix in _SUFFIXES)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def threads() -> int:
    """How many threads the library takes at most; 1 where that is not known."""
    prefixes = ("scipy_openblas", "openblas")
    function = _found(f"{p}_get_num_threads{suffix}" for p in prefixes for suffix in (*_SUFFIXES, ""))
    return 1 if function is None else int(function())


def _found(names: Iterable[str]) -> Any:
    """The first function of one of these names in one of the libraries; None if there is none."""
    wanted = list(names)
    for path in _libraries():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in wanted:
            function = getattr(library, name, None)
            if function is not None:
                return function
    return None


def _libraries() -> Iterator[Path]:
    """Where NumPy's wheels keep the library, then what this process has loaded."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        yield from sorted(folder.glob("*openblas*"))
    if sys.platform == "linux":
        with open("/proc/self/maps") as maps:
            found = {line.split()[-1] for line in maps if "blas" in line and line.rstrip().endswith((".so", ".so.0"))}
        yield from map(Path, sorted(found))
