"""The samples of primitives as modules, and how what machine code makes of them is compared with the NumPy kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from autodiff_compiler.backends.native.backend import NativeBackend, NativeProgram
from autodiff_compiler.backends.native.jit import machine as host
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_numpy,
    int8,
    int32,
    int64,
    uint8,
    uint64,
)
from autodiff_compiler.inspection.samples import forward, module_of, samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY
from tests.backends.reference import interpret
from tests.backends.sampled_modules import Arrays, adjoint

#: Primitives that run as kernels of their own; what backends and passes treat themselves has none.
WITH_SAMPLES = sorted(name for name, d in REGISTRY.items() if d.samples and (d.numpy or d.scalar))
DTYPES = (float32, float64, float16, bfloat16, int64, int32, int8, uint64, uint8, bool_)
#: Of the largest element: what another order of summation and other polynomials make.
TOLERANCES = {float32: 2e-5, float64: 1e-12, float16: 4e-3, bfloat16: 3e-2}


@contextmanager
def vectors_of(nbytes: int) -> Iterator[None]:
    """Code for this host; for 32 bytes, on any x86-64, as for processors that have no more than AVX2 (and no masks)."""
    mine = host.machine()
    if nbytes == mine.vector_bytes or nbytes != 32 or not mine.triple.startswith("x86_64"):
        yield
    else:
        with host.override("x86-64-v3", triple=mine.triple):
            yield


def native(module: Module) -> NativeProgram:
    return NativeBackend(NumpyBackend).native(module)


def bare(module: Module) -> NativeProgram:
    """The program entered by ctypes: of a small module the entry is most of the code, and it has tests of its own."""
    with mock.patch.dict("os.environ", AC_CALLPATH="plain"):
        return native(module)


def modules_of(name: str, dtypes: tuple[DType, ...] = DTYPES) -> Iterator[tuple[str, DType, Module, Arrays]]:
    """All modules of a primitive: what it is, the dtype of its operands, the module and its arguments."""
    defn = REGISTRY[name]
    with np.errstate(all="ignore"):
        for dtype in dtypes:
            for xs, attrs in samples_of(defn, dtype):
                if dtype is not float32 and not any(x.dtype == dtype.numpy for x in xs):
                    continue  # the same as before
                if dtype is not float32 and defn.scalar is not None and not any(x.size for x in xs):
                    continue  # nothing is nothing in every dtype
                for what, make in (("forward", forward), ("adjoint", adjoint)):
                    made = make(defn, xs, attrs)
                    if made is not None:
                        yield what, dtype, *made


def module_for(build: Any, *arrays: Any) -> Module:
    """A module that `build` makes for arguments like these arrays."""

    def built(*vs: Any) -> Any:
        out = build(*vs)
        return out if isinstance(out, tuple | list) else (out,)

    return module_of([tensor(from_numpy(x.dtype), x.shape) for x in arrays], built)


def assert_like_numpy(module: Module, arrays: Arrays, where: str, *, exact: bool = False) -> NativeProgram:
    """Machine code gives what the NumPy kernels give, up to rounding, twice; its arguments stay as they are.

    `exact`: bit for bit (nan is nan).
    """
    kept = [x.copy() for x in arrays]
    expected = [np.asarray(e) for e in interpret(module, *arrays)]
    program = bare(module)
    for _ in range(2):
        for got, wanted in zip(program(*arrays), expected, strict=True):
            assert_close(got, wanted, where, exact=exact)
    for x, old in zip(arrays, kept, strict=True):
        assert x.tobytes() == old.tobytes(), f"{where} wrote to an argument"
    return program


def assert_close(got: Any, wanted: Any, where: str, *, exact: bool = False) -> None:
    assert isinstance(got, np.ndarray), where
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), where
    tolerance = TOLERANCES.get(from_numpy(wanted.dtype), 0.0)
    if exact or not tolerance:
        # bfloat16's nan is not equal to itself for NumPy's comparison of arrays.
        same = (got == wanted) | ((got != got) & (wanted != wanted))
        assert same.all(), f"{where}: {got[~same][:5]} instead of {wanted[~same][:5]}"
        return
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(b)
    scale = max(1.0, float(np.max(abs(b), initial=0.0, where=finite)))
    np.testing.assert_array_equal(np.where(finite, 0, a), np.where(finite, 0, b), err_msg=where)
    np.testing.assert_allclose(a[finite], b[finite], rtol=tolerance, atol=tolerance * scale, err_msg=where)
