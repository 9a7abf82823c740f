"""The target processor, and the checks whether machine code can be made and run here.

llvmlite is imported at the first use, by `binding` or by a check.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from ....environment import flag
from ....locks import importing

#: llvmlite from the first version (splat constants, the new pass manager) to below the second, as pyproject.toml says.
LLVMLITE_RANGE = ((0, 45), (0, 51))
_PYTHON_BELOW = (3, 14)  # the entry reads CPython's objects, whose layout the next version may change
_SYSTEMS = ("linux", "darwin")

#: The features of the x86-64 levels, for `override`.
_LEVELS = {
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.1", "sse4.2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
_LEVELS["x86-64-v4"] += _LEVELS["x86-64-v3"]


@dataclass(frozen=True)
class Machine:
    """A target processor.

    `features`: LLVM's text ("+avx2,-sse4a,...").  `vector_bytes`: the vector width that code is written for.  `masked`:
    whether masked loads and stores are as fast as whole ones, so that there need be no remainder loops.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    masked: bool

    def lanes(self, itemsize: int) -> int:
        """How many values of that many bytes one vector holds.

        >>> Machine("x86_64-linux-gnu", "x86-64-v3", "+avx2,+fma", 32, False).lanes(4)
        8
        """
        return self.vector_bytes // itemsize

    @property
    def few_registers(self) -> bool:
        """Whether it has 16 vector registers, where others have 32.

        >>> Machine("x86_64-linux-gnu", "x86-64-v3", "+avx2,+fma", 32, False).few_registers
        True
        """
        return self.triple.startswith("x86_64") and not self.masked

    def has(self, feature: str) -> bool:
        """Whether the processor has a feature that LLVM calls so.

        >>> Machine("x86_64-linux-gnu", "x86-64-v3", "+avx2,+fma,-f16c", 32, False).has("f16c")
        False
        """
        return f",+{feature}," in f",{self.features},"


@cache
def binding() -> Any:
    """llvmlite.binding, ready to make code for this host.  ImportError where it is missing."""
    with importing:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    return llvm


@cache
def versions() -> str:
    """The versions of llvmlite and LLVM, e.g. "llvmlite 0.50.0, LLVM 22.1.0"."""
    llvm = binding()
    import llvmlite

    return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


# ------------------------------------------------------------------------------------------------ whether it works
def why_not() -> str | None:
    """Why no machine code can be made and run in this process; None where it can.

    AC_DISABLE_NATIVE is read each time, the rest is checked once.
    """
    if flag("AC_DISABLE_NATIVE"):
        return "the environment variable AC_DISABLE_NATIVE is set"
    return _why_not()


@cache
def _why_not() -> str | None:
    return _interpreter() or _library() or _processor() or _executable_memory()


def _interpreter() -> str | None:
    """Machine code reads objects of CPython and NumPy, whose layouts depend on the build."""
    if platform.python_implementation() != "CPython":
        return f"it needs CPython; this is {platform.python_implementation()}"
    if sys.version_info[:2] >= _PYTHON_BELOW:
        return f"it is tested below Python {'.'.join(map(str, _PYTHON_BELOW))}; this is {platform.python_version()}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it is not made for free-threaded builds of Python"
    if hasattr(sys, "getobjects"):
        return "this build of Python traces references, which changes the layout of objects"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return f"it needs a 64-bit little-endian process; this is {platform.machine()}"
    if sys.platform not in _SYSTEMS:
        return f"it is made for Linux and macOS; this is {platform.system()}"
    return None


def _library() -> str | None:
    try:
        with importing:
            import llvmlite
    except ImportError as error:
        return f"llvmlite is not installed ({error})"
    lowest, below = LLVMLITE_RANGE
    try:
        version = tuple(int(part) for part in llvmlite.__version__.split(".")[:2])
    except ValueError:  # a build without a version tag
        version = (0, 0)
    if not lowest <= version < below:
        wanted = " to below ".join(".".join(map(str, end)) for end in LLVMLITE_RANGE)
        return f"it needs llvmlite from {wanted}; {llvmlite.__version__} is installed"
    try:
        binding()
    except Exception as error:  # its library does not load here
        return f"llvmlite does not work here ({type(error).__name__}: {error})"
    return None


def _processor() -> str | None:
    host = this_host()
    if not host.vector_bytes:
        return f"it is made for x86-64 and AArch64; this is {host.triple}"
    if host.triple.startswith("x86_64") and not (host.has("fma") and host.has("avx2")):
        return f"it needs a processor with AVX2 and FMA; this is {host.cpu}"
    return None


def _executable_memory() -> str | None:
    """Some systems refuse to make written memory executable."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    anchor = ctypes.c_char.from_buffer(page)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        start, size = ctypes.c_void_p(ctypes.addressof(anchor)), ctypes.c_size_t(mmap.PAGESIZE)
        if libc.mprotect(start, size, mmap.PROT_READ | mmap.PROT_EXEC):
            return f"this system refuses executable memory ({os.strerror(ctypes.get_errno())})"
    finally:
        del anchor
        page.close()
    return None


# ------------------------------------------------------------------------------------------------ which processor
def machine() -> Machine:
    """The target processor: this host, unless `override` sets another.  RuntimeError: see `why_not`."""
    if _override:
        return _override[-1]
    reason = why_not()
    if reason is not None:
        raise RuntimeError(f"no native code: {reason}")
    return this_host()


@cache
def this_host() -> Machine:
    """The processor of this process, whatever `override` sets: what stays loaded in it is for this one."""
    llvm = binding()
    features = llvm.get_host_cpu_features()
    return _described(llvm.get_process_triple(), llvm.get_host_cpu_name(), features.flatten())


def _described(triple: str, cpu: str, features: str) -> Machine:
    bare = Machine(triple, cpu, features, 0, False)
    if triple.startswith(("aarch64", "arm64")):
        return Machine(triple, cpu, features, 16, False)
    if not triple.startswith("x86_64"):
        return bare
    wide = all(map(bare.has, ("avx512f", "avx512bw", "avx512dq", "avx512vl")))
    return Machine(triple, cpu, features, 64 if wide else 32, wide)


_override: list[Machine] = []


@contextmanager
def override(
    cpu: str, *, features: str | None = None, vector_bytes: int | None = None, triple: str | None = None
) -> Iterator[Machine]:
    """Within it code is made for another processor, in all threads; for tests, and to look at the code.

    It runs only if this host has the features.  `features`: by default those of the x86-64 level that `cpu` names
    ("x86-64-v3"), else none.
    """
    if features is None:
        features = ",".join(f"+{name}" for name in _LEVELS.get(cpu, ()))
    other = _described(triple or binding().get_process_triple(), cpu, features)
    if vector_bytes is not None:
        other = Machine(other.triple, cpu, features, vector_bytes, other.masked)
    _override.append(other)
    try:
        yield other
    finally:
        _override.pop()
