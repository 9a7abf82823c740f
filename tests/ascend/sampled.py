"""Modules made of the samples of primitives, forward and adjoint, and how the device's results are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_compiler.backends.ascend.backend import AscendBackend
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import DType, bfloat16, float16, float32, float64
from autodiff_compiler.inspection.samples import forward, samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.primitives import REGISTRY
from tests.backends.reference import interpret
from tests.backends.sampled_modules import Arrays, adjoint
from tools.ascend_page import DTYPES

#: Primitives that run as kernels of their own; what backends and passes treat themselves has none.
WITH_SAMPLES = sorted(name for name, d in REGISTRY.items() if d.samples and (d.numpy or d.scalar))
#: Relative and absolute differences that another order of summation or another formula may make.
TOLERANCES = {float32: (1e-4, 1e-5), float64: (1e-6, 1e-8), float16: (1e-2, 4e-3), bfloat16: (6e-2, 3e-2)}


def modules_of(name: str, dtypes: tuple[DType, ...] = DTYPES) -> Iterator[tuple[str, DType, Module, Arrays]]:
    """All modules of a primitive: what it is, the dtype of its operands, the module and its arguments."""
    defn = REGISTRY[name]
    with np.errstate(all="ignore"):
        for dtype in dtypes:
            for xs, attrs in samples_of(defn, dtype):
                if dtype is not float32 and not any(x.dtype == dtype.numpy for x in xs):
                    continue  # the same as before
                for what, make in (("forward", forward), ("adjoint", adjoint)):
                    made = make(defn, xs, attrs)
                    if made is not None:
                        yield what, dtype, *made


def compiled(module: Module) -> Any:
    return AscendBackend(NumpyBackend().compile).compile(module)


def refused(module: Module) -> dict[str, str]:
    """The ops of a module that the device cannot run, and why."""
    return AscendBackend(NumpyBackend().compile).coverage(module).missing


def assert_like_numpy(program: Any, module: Module, arrays: Arrays, dtype: DType, where: str) -> None:
    """The program gives what the NumPy kernels give, up to rounding; its arguments stay as they are."""
    kept = [x.copy() for x in arrays]
    got = [np.asarray(x) for x in program(*arrays)]
    expected = interpret(module, *arrays)
    rtol, atol = TOLERANCES.get(dtype, TOLERANCES[float32])
    for g, e in zip(got, expected, strict=True):
        e = np.asarray(e)
        assert (g.dtype, g.shape) == (e.dtype, e.shape), where
        if e.dtype.kind in "iub":
            np.testing.assert_array_equal(g, e, err_msg=where)
        else:
            np.testing.assert_allclose(g.astype(float), e.astype(float), rtol=rtol, atol=atol, err_msg=where)
    for x, old in zip(arrays, kept, strict=True):
        assert x.tobytes() == old.tobytes(), f"{where} wrote to an argument"
