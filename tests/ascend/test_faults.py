"""Whatever CANN refuses: the right exception with operator, line and CANN's own words, and a process that goes on.

The `device` fixture checks after each test that nothing leaks and that no rule of the interface was broken.
"""

from __future__ import annotations

import gc
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.backends.ascend.acl import acl
from autodiff_compiler.backends.ascend.device import current, shutdown
from autodiff_compiler.errors import AscendError, AscendMemoryError
from tests import forked
from tests.ascend.conftest import WHERE, Simulator, builder
from tests.ascend.on_device import MODES, array, ascend

pytestmark = pytest.mark.skipif(WHERE != "sim", reason="only a simulator fails on demand")


class Faults:
    """The simulator's faults, by names as Python has them."""

    def __init__(self, simulator: Simulator) -> None:
        assert simulator.core is not None
        self._core = simulator.core

    def call(self, function: str, kth: int = 1, code: int = 507899) -> None:
        self._core.aclsim_fail_call(function.encode(), kth, code)

    def task(self, operator: str, kth: int = 1, code: int = 507015) -> None:
        self._core.aclsim_fail_task(operator.encode(), kth, code)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, f"aclsim_{name}")


@pytest.fixture
def faults(device: Simulator) -> Iterator[Faults]:
    yield Faults(device)
    device.reset()


@ms.jit
def network(w: Any, x: Any) -> Any:
    y = ops.tanh(ops.matmul(x, w))
    return (y * y).sum()


def operands() -> tuple[Any, Any]:
    return Tensor(array(4, 3)), Tensor(array(5, 4, seed=1))


def expected() -> float:
    w, x = (t.asnumpy().astype(float) for t in operands())
    return float((np.tanh(x @ w) ** 2).sum())


def goes_on() -> None:
    """The next program runs."""
    np.testing.assert_allclose(network(*operands()).item(), expected(), rtol=1e-5)
    np.testing.assert_allclose(ops.exp(Tensor([1.0])).item(), np.e, rtol=1e-6)


def told(error: BaseException) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


# ------------------------------------------------------------------------------------------------ beginning
@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        ("aclInit", 500000, "is the driver installed"),
        ("aclrtSetDevice", 107001, "npu-smi info"),
        ("aclrtSetDevice", 507033, "ACL_ERROR_RT_DEV_SETUP_ERROR"),
        ("aclrtCreateStream", 207008, "ACL_ERROR_RT_NO_STREAM_RESOURCE"),
    ],
)
def test_a_device_that_does_not_start(faults: Faults, function: str, code: int, said: str) -> None:
    faults.call(function, 1, code)
    with pytest.raises(RuntimeError) as raised:
        ms.set_device("Ascend")
    assert f"{function} failed with {code}" in told(raised.value)
    assert said in told(raised.value)
    assert f"CANN says: {function}: injected" in told(raised.value)
    assert ms.get_context("device_target") == "CPU"
    goes_on()
    with ascend():
        goes_on()


def test_a_machine_without_devices(faults: Faults, monkeypatch: Any) -> None:
    monkeypatch.setenv("ACLSIM_DEVICES", "0")
    with pytest.raises(RuntimeError, match=r"aclInit failed with 500000.*driver"):
        ms.set_device("Ascend")
    monkeypatch.setenv("ACLSIM_DEVICES", "2")
    with ascend():
        goes_on()


def test_cann_that_another_package_began_is_used_and_not_ended(faults: Faults) -> None:
    begin, end = acl.libraries.function("aclInit"), acl.libraries.function("aclFinalize")
    assert begin(None) == 0
    with ascend():
        goes_on()
    shutdown()
    assert begin(None) == 100002, "it is still there"
    assert end() == 0


# ------------------------------------------------------------------------------------------------ operators
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("phase", ["GetWorkspaceSize", ""])
def test_a_refused_operator_is_named_with_its_line(faults: Faults, mode: str, phase: str) -> None:
    with ascend(ascend_mode=mode):
        faults.call(f"aclnnTanh{phase}" if phase == "" else "aclnnTanh", 1 if phase else 2, 561003)
        with pytest.raises(AscendError) as raised:
            network(*operands())
        error = raised.value
        assert error.function == f"aclnnTanh{phase}"
        assert (error.status, error.name) == (561003, "ACLNN_ERR_INNER_FIND_KERNEL_ERROR")
        assert "operator package" in str(error)
        assert "test_faults.py:" in error.loc
        assert error.detail == "aclnnTanh: injected"
        for _ in range(3):
            goes_on()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("run", [1, 2, 3])
def test_a_failure_on_the_device_shows_at_the_next_wait(faults: Faults, mode: str, run: int) -> None:
    """In the first run operators are queued one by one, in the third a captured graph is replayed."""
    with ascend(ascend_mode=mode):
        kept = [network(*operands()).item() for _ in range(run - 1)]
        faults.task("Tanh", 1, 507015)
        queued = network(*operands())
        with pytest.raises(AscendError) as raised:
            queued.asnumpy()
        text = told(raised.value)
        assert "aclrtSynchronizeStream failed with 507015" in text
        assert "queued last, the failing one among them" in text
        assert "a captured graph of" in text or "Tanh at " in text
        np.testing.assert_allclose(kept, expected(), rtol=1e-5)
        for _ in range(3):
            goes_on()


def test_with_pynative_synchronize_the_failing_operator_itself_is_named(faults: Faults) -> None:
    with ascend(pynative_synchronize=True):
        faults.task("Tanh")
        with pytest.raises(AscendError) as raised:
            network(*operands())
        assert "failing one among them: Tanh at test_faults.py:" in told(raised.value)
        goes_on()


def test_an_eager_failure_names_the_operator(faults: Faults) -> None:
    with ascend():
        x = Tensor([1.0])
        ops.exp(x).asnumpy()
        faults.task("Exp")
        with pytest.raises(AscendError, match="507015") as raised:
            ops.exp(x).asnumpy()
        assert "Exp" in told(raised.value)
        goes_on()


@pytest.mark.parametrize(
    "function", ["aclCreateTensor", "aclrtMemcpyAsync", "aclrtMallocHost", "aclrtSynchronizeStream"]
)
@pytest.mark.parametrize("kth", [1, 2, 3])
def test_a_function_that_fails_at_any_time(faults: Faults, function: str, kth: int) -> None:
    def much() -> None:
        for i in range(5):
            network(Tensor(array(300, 40 * (i + 1))), Tensor(array(700, 300))).item()
            current().trim()

    with ascend():
        faults.call(function, kth, 507899)
        with pytest.raises(AscendError, match=f"{function} failed"):
            much()
        goes_on()


# ------------------------------------------------------------------------------------------------ modes
@pytest.mark.parametrize("refused", ["*", "Tanh", "Mul"])
def test_operators_that_cannot_be_repeated_are_planned_each_time(faults: Faults, refused: str) -> None:
    faults.refuse_repeat(refused.encode())
    with ascend(ascend_mode="cached"):
        for _ in range(4):
            goes_on()


def test_a_release_that_cannot_capture_runs_operators_one_by_one(faults: Faults) -> None:
    faults.refuse_capture(True)
    with ascend(ascend_mode="captured"):
        for _ in range(4):
            goes_on()


@pytest.mark.parametrize("code", [207005, 207008, 207010, 507903])
@pytest.mark.parametrize("function", ["aclmdlRICaptureBegin", "aclmdlRICaptureEnd"])
def test_a_capture_that_fails_is_given_up(faults: Faults, function: str, code: int) -> None:
    with ascend(ascend_mode="captured"):
        faults.call(function, 1, code)
        for _ in range(5):
            goes_on()


# ------------------------------------------------------------------------------------------------ memory
@pytest.mark.parametrize("kth", range(1, 8))
def test_an_allocation_that_fails(faults: Faults, kth: int) -> None:
    """The pool gives back what it can spare and asks once more; then the error names what takes most."""
    with ascend():
        big = Tensor(np.zeros(1 << 16, np.float32))
        held = ops.exp(big)
        for _ in range(2):
            faults.call("aclrtMalloc", kth, 207001)
        try:
            for i in range(8):
                network(Tensor(array(4 + i, 3)), Tensor(array(5, 4 + i)))
        except AscendMemoryError as error:
            text = told(error)
            assert "bytes are needed" in text
            assert "262,176 bytes" in text, "the largest block is named"
            assert "bytes of the device are free" in text
        assert held.asnumpy()[0] == 1
        goes_on()


def test_out_of_memory_names_the_largest_tenants(faults: Faults) -> None:
    with ascend():
        faults.memory_limit(3 << 20)
        weights = ms.Parameter(Tensor(np.zeros((512, 512), np.float32)), name="weights")
        kept = ops.exp(weights)
        with pytest.raises(AscendMemoryError) as raised:
            ms.jit(lambda x: ops.concat((x, x, x)) * 2)(kept)
        assert isinstance(raised.value, MemoryError)
        text = told(raised.value)
        assert "ACL_ERROR_RT_MEMORY_ALLOCATION" in text
        assert "CANN says: out of device memory" in text
        assert "1 x 1,048,608 bytes: weights" in text
        assert "1 x 1,048,608 bytes: a Tensor" in text
        assert "needed at test_faults.py:" in text
        assert "instead: smaller batches" in text
        assert "3,145,728 bytes of the device are free" in text
        del kept
        gc.collect()
        assert ops.exp(weights).asnumpy()[0, 0] == 1


def test_memory_of_tensors_that_are_gone_is_used_again(faults: Faults) -> None:
    faults.memory_limit(4 << 20)
    with ascend():
        for i in range(50):
            assert ops.exp(Tensor(np.full(1 << 18, i % 2, np.float32))).asnumpy()[7] == np.float32(np.exp(i % 2))


# ------------------------------------------------------------------------------------------------ older releases
def _process(text: str, folder: Path, lib: Path) -> str:
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text), "utf-8")
    variables = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND_")}
    variables |= {"AUTODIFF_COMPILER_ASCEND_LIB": str(lib), "PYTHONPATH": str(Path(ms.__file__).parent.parent)}
    done = forked.run("-W", "error", file, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_functions_that_an_older_release_lacks(device: Simulator, tmp_path: Path, objects: Path) -> None:
    """An operator is refused by name and line; what is no necessity is done without."""
    lib = builder().build(
        tmp_path / "older",
        ("aclnnTanh", "aclnnTanhGetWorkspaceSize", "aclrtGetDeviceSatMode", "aclmdlRICaptureBegin"),
        objects,
    )
    found = _process(
        """
        import autodiff_compiler as ms
        from autodiff_compiler import Tensor, ops

        ms.set_context(device_target="Ascend", ascend_mode="captured")
        f = ms.jit(lambda x: ops.exp(x) * 2)
        for _ in range(4):
            print(f(Tensor([0.0])).item())
        try:
            ms.jit(lambda x: ops.tanh(x) * 2)(Tensor([0.0])).asnumpy()
        except RuntimeError as error:
            print(error.code, error.loc.line, *error.notes)
        print(ops.exp(Tensor([0.0])).item())
        """,
        tmp_path,
        lib,
    )
    *runs, missing, after = found.splitlines()
    assert runs == ["2.0"] * 4
    assert missing == "AC1902 10 tanh: the installed CANN has no function aclnnTanh"
    assert after == "1.0"
