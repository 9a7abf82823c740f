"""Both backends, one after the other; of NumPy alone where no machine code can be made."""

from __future__ import annotations

import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.config import context


@pytest.fixture(params=("numpy",) if why_not() else ("native", "numpy"))
def backend(request):
    before = context.backend
    context.set(backend=request.param)
    yield request.param
    context.set(backend=before)
