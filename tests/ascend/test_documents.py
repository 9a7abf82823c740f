"""The programs of the five source documents again, on the device."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from autodiff_compiler import AscendError, Tensor
from tests.ascend import on_device
from tests.programs.test_documents import *  # noqa: F403  (its tests)
from tests.programs.test_documents import mode, says  # noqa: F401  (their fixtures)

#: The module's own Tensors, with those of the modules that were read before.
OWN = [x for x in gc.get_objects() if issubclass(type(x), Tensor)]


@pytest.fixture(autouse=True, params=on_device.MODES)
def everything_runs_there(request: Any, device: Any) -> Iterator[None]:
    with on_device.ascend(ascend_mode=request.param, ascend_fallback="host"):  # float64 is among them
        yield
    for x in OWN:  # they outlive the device, which is shut down after each test
        with contextlib.suppress(AscendError):  # one of an earlier test: its device is gone already
            x._of_host()
