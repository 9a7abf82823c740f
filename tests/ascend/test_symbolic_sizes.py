"""One compilation for all sizes on the device: every op and its derivative at 0, 1, 2, 7 and 64, loops, training."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.backends.ascend.backend import AscendBackend
from autodiff_compiler.backends.ascend.symbolic import SymbolicProgram
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.dtypes import float32, from_numpy
from autodiff_compiler.errors import CompileError, UnsupportedCallError
from autodiff_compiler.inspection.samples import samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import REGISTRY
from tests.ascend.sampled import TOLERANCES, WITH_SAMPLES
from tests.backends.test_numpy_symbolic_sizes import resized
from tests.primitives.test_symbolic_sizes import (
    VALUES,
    WITHOUT,
    WITHOUT_DERIVATIVE,
    attributes,
    derivative,
    exchanged,
    forward,
    has_sizes,
    symbolic,
)  # fmt: skip


def compiled(module: Module) -> Any:
    return AscendBackend(NumpyBackend().compile).compile(optimise(module).opt)


def results(program: Any, args: list[Any]) -> list[Any] | str:
    """What a call gives; of one that the device cannot run, why."""
    try:
        return [np.asarray(x) for x in program(*args)]
    except UnsupportedCallError as error:
        return str(error)


def checked(name: str, make: Any) -> int:
    """How many calls of programs for all sizes gave, to the bit, what the program for one size gives, and what NumPy
    does up to rounding."""
    defn, count = REGISTRY[name], 0
    rtol, atol = TOLERANCES[float32]
    for xs, attrs in samples_of(defn, float32):
        for size in sorted({d for x in xs for d in x.shape if d > 1}):
            for module, which in symbolic(make, defn, xs, attrs, size):
                program = compiled(module)
                assert isinstance(program, SymbolicProgram)
                for n in VALUES:
                    args = [resized(x, size, n) for x in xs]
                    known = attributes(defn, attrs, exchanged(size, n), which)
                    try:
                        of_one = optimise(make(known, [tensor(from_numpy(x.dtype), x.shape) for x in args])).opt
                        on_cpu = NumpyBackend().compile(of_one)(*args)
                    except (CompileError, ValueError, IndexError, np.linalg.LinAlgError):
                        continue  # not of this size, or not of these numbers
                    expected, found = results(compiled(of_one), args), results(program, args)
                    count += 1
                    if isinstance(expected, str) or isinstance(found, str):
                        assert found == expected
                        continue
                    for got, wanted, also in zip(found, expected, on_cpu, strict=True):
                        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
                        np.testing.assert_array_equal(got, wanted)
                        np.testing.assert_allclose(got, also, rtol=rtol, atol=atol)
    return count


@pytest.mark.some(4)
@pytest.mark.parametrize("name", [name for name in WITH_SAMPLES if name not in WITHOUT and has_sizes(REGISTRY[name])])
def test_ops(name: str, device: Any) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(forward, name))


@pytest.mark.some(4)
@pytest.mark.parametrize("name", [n for n in WITH_SAMPLES if REGISTRY[n].vjp is not None and n not in WITHOUT_DERIVATIVE])
def test_derivatives(name: str, device: Any) -> None:
    with np.errstate(all="ignore"):
        assert checked(name, functools.partial(derivative, name, tangents=False))
