"""What tests of derivatives share."""

from __future__ import annotations

import itertools

import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit.machine import why_not

BACKENDS = ["numpy"] if why_not() else ["native", "numpy"]


@pytest.fixture(params=["eager", *itertools.product(BACKENDS, (0, 1, 2))], ids=str)
def jit(request):
    """Compiles a function on each backend at each level, or leaves it as it is."""
    if request.param == "eager":
        return lambda f: f
    backend, level = request.param
    return lambda f: ms.jit(f, backend=backend, optimize=level)
