"""Code for processors that are not here: it can be generated, and calls no function that it must not call."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.backend import NativeBackend, written
from autodiff_compiler.backends.native.jit import machine as host
from autodiff_compiler.backends.native.jit import shared
from autodiff_compiler.backends.native.jit.engine import emit
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.native.kernels import blas
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import float16, float32, float64, int32
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.primitives import F
from tests.backends.native.sampled import WITH_SAMPLES, module_for, modules_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

ARM = {"cpu": "generic", "triple": "aarch64-unknown-linux-gnu", "features": "+neon"}


@pytest.mark.some(6)
@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_primitive_for_arm(name: str) -> None:
    """`emit` refuses code that asks for anything but the few functions of the table, such as those of libm."""
    made = set()
    for what, dtype, module, _ in modules_of(name, (float32, float64, float16, int32)):
        if (what, dtype) in made:
            continue  # the other samples differ in shapes, not in what their elements are made of
        with host.override(**ARM):
            low = NativeBackend(NumpyBackend)._lowered(module)
            assert emit(low.module_text([], []), context_size=len(low.context), level=0)
        made.add((what, dtype))
    assert made


@pytest.mark.parametrize("name", shared.names())
def test_a_shared_function_for_arm(name: str) -> None:
    with host.override(**ARM):
        assert emit(shared.text(name), level=0)


def test_what_python_enters_for_arm() -> None:
    module = module_for(lambda v: F.sum(F.exp(v), axes=(-1,)), np.ones((3, 4), np.float32))
    with host.override(**ARM):
        low = NativeBackend(NumpyBackend)._lowered(module)
        assert emit(written(low)[0], context_size=len(low.context))


def test_a_call_of_the_library_would_be_seen() -> None:
    text = (
        "declare float @llvm.sin.f32(float)\ndefine float @f(float %x) {\n  %y = call float @llvm.sin.f32(float %x)\n"
    )
    with host.override(**ARM), pytest.raises(InternalCompilerError, match="asks for sinf"):
        emit(text + "  ret float %y\n}\n")


def test_what_stays_loaded_is_for_this_processor() -> None:
    """Products of this process call functions that may have been made while code for another processor was."""
    real = np.random.default_rng(0).standard_normal((256, 256))
    blas.functions.cache_clear()
    blas.gemm.cache_clear()
    with host.override(**ARM):
        assert blas.gemm("d")
    program = NativeBackend(NumpyBackend).native(module_for(F.matmul, real, real))
    np.testing.assert_allclose(program(real, real)[0], real @ real, rtol=1e-10, atol=1e-10)
