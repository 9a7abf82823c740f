"""The end of a device: after errors as well, and nothing keeps what was ended."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.backends.ascend.device import current, shutdown
from autodiff_compiler.errors import AscendError
from tests.ascend.conftest import WHERE, Simulator
from tests.ascend.on_device import MODES, array, ascend
from tests.ascend.test_device import script

_simulated = pytest.mark.skipif(WHERE != "sim", reason="only a simulator fails on demand")


def _goes_on() -> None:
    with ascend():
        assert ops.exp(Tensor([0.0])).tolist() == [1]


@_simulated
@pytest.mark.parametrize("mode", MODES)
def test_a_device_that_is_lost_gives_back_what_it_can(device: Simulator, mode: str) -> None:
    """It answers no wait any more; programs of before are gone, results are held, work is queued."""
    with ascend(ascend_mode=mode):
        held = []
        for k in range(3):
            f = ms.jit(lambda x, k=k: ops.tanh(x) * k)
            held += [f(Tensor([1.0, 2.0])) for _ in range(3)]
        del f
        gc.collect()
        for _ in range(8):
            device.core.aclsim_fail_call(b"aclrtSynchronizeStream", 1, 507899)
        with pytest.raises(AscendError, match="507899"):
            held[0].asnumpy()
        shutdown()
        assert device.leaks() == ""
        assert device.violations() == ""
        device.reset()
        with pytest.raises(AscendError, match="was shut down"):
            held[0].asnumpy()
    _goes_on()


@pytest.mark.some(3)
@_simulated
@pytest.mark.parametrize(
    ("function", "left"),
    [
        ("aclrtSynchronizeStream", ""),
        ("aclrtSetCurrentContext", ""),
        ("aclrtFree", "device memory: 1\n"),
        ("aclrtFreeHost", "page-locked memory: 1\n"),
        ("aclrtResetDevice", "device 0: 1\n"),
        ("aclFinalize", ""),
    ],
)
def test_a_process_ends_quietly_whatever_cann_refuses_then(
    device: Simulator, tmp_path: Path, function: str, left: str
) -> None:
    done = script(
        f"""
        import atexit, ctypes, os
        core = ctypes.CDLL(os.path.join(os.environ["AUTODIFF_COMPILER_ASCEND_LIB"], "libaclsim.so"))
        core.aclsim_leaks.restype = core.aclsim_violations.restype = ctypes.c_char_p
        atexit.register(lambda: print([core.aclsim_leaks().decode(), core.aclsim_violations().decode()]))
        import autodiff_compiler as ms
        from autodiff_compiler import Tensor, ops
        ms.set_context(device_target="Ascend", ascend_mode="captured")
        f = ms.jit(lambda x: ops.tanh(x) * 2)
        for _ in range(3):
            held = f(Tensor([0.0, 1.0]))
        core.aclsim_fail_call({function.encode()!r}, 1, 507899)
        """,
        tmp_path,
    )
    assert (done.stdout, done.stderr) == (f"{[left, '']}\n", "")


@_simulated
@pytest.mark.parametrize(
    ("function", "kth"), [("aclrtGetCurrentContext", 1), ("aclrtCreateStream", 1), ("aclrtCtxSetSysParamOpt", 1)]
)
def test_a_start_that_fails_leaves_nothing_behind(device: Simulator, function: str, kth: int) -> None:
    ms.set_deterministic(True)
    try:
        device.core.aclsim_fail_call(function.encode(), kth, 507899)
        with pytest.raises(RuntimeError, match=f"{function} failed with 507899"):
            ms.set_device("Ascend")
        assert device.leaks() == ""
        _goes_on()
    finally:
        ms.set_deterministic(False)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_keeps_a_device_that_was_shut_down(device: Simulator, mode: str) -> None:
    """Not programs with constants, executors and graphs, nor numbers of eager mode, nor threads that used it."""
    table = array(4)

    @ms.jit
    def f(x: Any) -> Any:
        return ops.tanh(x) * Tensor(table) + 0.5

    network = nn.Dense(4, 4)
    p = Parameter(array(4), name="p")
    with ascend(ascend_mode=mode):
        here = weakref.ref(current())
        for _ in range(3):
            f(Tensor(array(4)) * 2.5 + p).asnumpy()
            network(Tensor(array(2, 4))).asnumpy()
    f(p)  # back to the host
    network(Tensor(array(2, 4)))
    shutdown()
    gc.collect()
    assert here() is None
    with ascend(ascend_mode=mode):
        for _ in range(3):
            np.testing.assert_allclose(f(Tensor(array(4))).asnumpy(), np.tanh(array(4)) * table + 0.5, rtol=1e-5)
