"""The matrix product of the BLAS library that NumPy has loaded, as a C function."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["gemm"]

_PREFIXES = ("scipy_cblas_", "cblas_")
#: Suffixes of functions whose sizes are 64-bit integers.
_SUFFIXES = ("64_", "_64")


@cache
def gemm(letter: str) -> int | None:
    """The address of `cblas_?gemm` (`letter` s or d) with 64-bit sizes; None where NumPy has no such library."""
    for path in _libraries():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                function = getattr(library, f"{prefix}{letter}gemm{suffix}", None)
                if function is not None:
                    return ctypes.cast(function, ctypes.c_void_p).value
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
