"""Taking a device into use: settings, reasons why it cannot be used, threads, processes and their end."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, hal, ops
from autodiff_compiler.backends.ascend.device import current
from autodiff_compiler.errors import AscendError, AscendMemoryError
from tests import forked
from tests.ascend.on_device import MODES, array, ascend


def script(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Another process that runs this text."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text), "utf-8")
    variables = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND_")} | environment
    variables["PYTHONPATH"] = str(Path(ms.__file__).parent.parent)
    return forked.run("-W", "error", file, env=variables)


# ------------------------------------------------------------------------------------------------ into use
def test_without_libraries_the_reason_is_given_and_nothing_changes(tmp_path: Any) -> None:
    done = script(
        """
        import autodiff_compiler as ms
        for settings in ({"device_id": 1}, {"ascend_mode": "cached"}):
            try:
                ms.set_context(device_target="Ascend", **settings)
            except ms.AscendError as error:
                print(error)
        print(ms.get_current_device(), ms.get_context("ascend_mode"), (ms.Tensor([1.0]) + 1).tolist())
        """,
        tmp_path,
        AUTODIFF_COMPILER_ASCEND_LIB=str(tmp_path),
        LD_LIBRARY_PATH="",
    )
    first, second, state = done.stdout.splitlines()
    for text in (first, second):
        assert "the device Ascend" in text
        assert "source set_env.sh" in text
        assert "AUTODIFF_COMPILER_ASCEND_LIB" in text
        assert f"looked for in {tmp_path} and" in text
    assert state == "Device(device_target='CPU', device_id=0) per_call [2.0]"


def test_a_device_that_does_not_exist(device: Any) -> None:
    with pytest.raises(AscendError, match="the device Ascend 999 cannot be used") as raised:
        ms.set_device("Ascend", 999)
    assert raised.value.status == 107001
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert ms.get_current_device() == ("CPU", 0)
    with ascend():
        with pytest.raises(RuntimeError, match="999"):
            ms.set_context(device_id=999, ascend_mode="cached")
        assert ms.get_current_device() == ("Ascend", 0)
        assert ms.get_context("ascend_mode") == "per_call"
        assert ops.exp(Tensor([0.0])).device == "Ascend:0"


def test_a_start_that_fails_can_be_tried_again(device: Any) -> None:
    if device.core is None:
        pytest.skip("faults are the simulator's")
    device.core.aclsim_fail_call(b"aclrtCreateStream", 1, 207000)
    with pytest.raises(RuntimeError, match="aclrtCreateStream failed with 207000"):
        ms.set_device("Ascend")
    assert ms.get_context("device_target") == "CPU"
    with ascend():
        assert (Tensor([1.0]) + 1).tolist() == [2]


def test_there_and_back(device: Any) -> None:
    x = Tensor([1.0, 2.0])
    with ascend():
        assert ms.get_current_device() == ("Ascend", 0)
        y = x * 2 + 1
        assert y.device == "Ascend:0"
    assert ms.get_current_device() == ("CPU", 0)
    assert (y + x).tolist() == [4, 7]
    assert (y @ x).item() == 13
    assert y[1].item() == 5
    assert type((x + x)._data) is np.ndarray


def test_what_is_said_of_devices(device: Any) -> None:
    count = hal.device_count("Ascend")
    assert count >= 1
    assert hal.is_available("Ascend")
    assert hal.get_device_name(0, "Ascend").startswith("Ascend")
    assert not hal.is_initialized("Ascend")
    with pytest.raises(ValueError, match=f"none with the number {count}"):
        hal.get_device_name(count, "Ascend")
    with ascend():
        assert hal.device_count() == count
        assert hal.is_initialized("Ascend")
        ops.exp(Tensor(array(1000)))
        hal.empty_cache()
        assert ops.exp(Tensor([0.0])).tolist() == [1]


# ------------------------------------------------------------------------------------------------ settings
def test_deterministic_reaches_the_device(device: Any) -> None:
    if device.core is None:
        pytest.skip("the option cannot be read back")
    with ascend():
        (runtime,) = current().acl.libraries.load("runtime")
        assert runtime.aclsim_option(0) == 0
        ms.set_deterministic(True)
        assert runtime.aclsim_option(0) == 1
        ms.set_deterministic(False)
        assert runtime.aclsim_option(0) == 0


def test_max_device_memory_is_a_limit(device: Any) -> None:
    with ascend(max_device_memory="1MB"):
        with pytest.raises(AscendMemoryError, match="max_device_memory") as raised:
            ops.exp(Tensor(np.zeros(1 << 19, np.float32)))
        assert "bytes are needed" in "".join(raised.value.__notes__)
        assert ops.exp(Tensor([0.0])).tolist() == [1]


def test_pynative_synchronize_waits_for_each_operator(device: Any, monkeypatch: Any) -> None:
    waits: list[int] = []
    with ascend():
        x = ops.exp(Tensor([0.0]))
        here = current()
        synchronize = here.synchronize
        monkeypatch.setattr(here, "synchronize", lambda: (waits.append(1), synchronize())[1])
        ops.exp(x)
        assert not waits
        ms.set_context(pynative_synchronize=True)
        ops.exp(x)
        ms.set_context(pynative_synchronize=False)
        assert waits == [1]
        ms.synchronize()
        assert waits == [1, 1]


def test_a_failure_on_the_device_names_the_line_and_leaves_the_process_usable(device: Any) -> None:
    if device.core is None:
        pytest.skip("faults are the simulator's")

    @ms.jit
    def f(x: Any) -> Any:
        return ops.tanh(x) * 2

    with ascend():
        f(Tensor([1.0]))
        device.core.aclsim_fail_task(b"Tanh", 1, 507015)
        with pytest.raises(AscendError, match="507015") as raised:
            f(Tensor([1.0])).asnumpy()
        assert "Tanh at test_device.py:" in "".join(raised.value.__notes__)
    assert f(Tensor([0.0])).tolist() == [0]


# ------------------------------------------------------------------------------------------------ threads, processes
@pytest.mark.parametrize("mode", ["per_call", "cached", "captured"])
def test_threads_share_the_device(mode: str, device: Any) -> None:
    f = ms.jit(lambda x: (ops.tanh(x) * x).sum())
    inputs = [array(16, seed=k) for k in range(4)]
    wanted = [f(Tensor(x)).item() for x in inputs]
    found: dict[int, list[float]] = {}

    def work(k: int) -> None:
        found[k] = [f(Tensor(inputs[k])).item() for _ in range(20)]

    with ascend(ascend_mode=mode):
        f(Tensor(inputs[0]))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for k, value in enumerate(wanted):
        np.testing.assert_allclose(found[k], value, rtol=1e-5)


def test_two_devices(device: Any) -> None:
    with ascend(0):
        x = Tensor([1.0, 2.0]) * 2
        with ascend(1):
            y = x + 1
            assert (x.device, y.device) == ("Ascend:1", "Ascend:1")
        ms.set_device("Ascend", 0)
        z = x + y
        assert (z.device, z.tolist()) == ("Ascend:0", [5, 9])


def _in_child(answers: Any) -> None:
    try:
        answers.put(str((Tensor([1.0]) + 1).tolist()))
    except AscendError as error:
        answers.put(str(error))
    ms.set_device("CPU")
    answers.put(str((Tensor([1.0]) + 1).tolist()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_told_that_the_device_is_not_its_own(device: Any) -> None:
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    with ascend():
        assert (Tensor([1.0]) + 1).tolist() == [2]
        child = fork.Process(target=_in_child, args=(answers,))
        child.start()
        first, second = answers.get(timeout=60), answers.get(timeout=60)
        child.join(60)
        assert "device 0 belongs to the process that this one was forked from: start workers before" in first
        assert second == "[2.0]"
        assert (Tensor([1.0]) + 1).tolist() == [2]


@pytest.mark.some(3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("mode", MODES)
def test_a_forked_process_ends_quietly(device: Any, tmp_path: Path, mode: str) -> None:
    done = script(
        f"""
        import os, sys
        import autodiff_compiler as ms
        from autodiff_compiler import Tensor, ops
        ms.set_context(device_target="Ascend", ascend_mode="{mode}")
        f = ms.jit(lambda x: ops.tanh(x) * 2)
        for _ in range(4):
            f(Tensor([0.0, 1.0])).asnumpy()
        child = os.fork()
        if child == 0:
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_the_folder_of_the_libraries_or_the_one_above(libraries: Any, tmp_path: Path) -> None:
    if libraries is None:
        pytest.skip("the toolkit's own place is the installation's")
    text = "import autodiff_compiler as ms; ms.set_device('Ascend'); print((ms.Tensor([1.0]) + 1).tolist())"
    for folder in (libraries, libraries.parent):
        done = script(text, tmp_path, AUTODIFF_COMPILER_ASCEND_LIB=str(folder))
        assert (done.stdout, done.stderr) == ("[2.0]\n", "")


def test_the_end_of_a_process_leaves_nothing_behind(device: Any, tmp_path: Path) -> None:
    if device.core is None:
        pytest.skip("what is left is known to the simulator")
    done = script(
        """
        import atexit, ctypes, os
        def last():
            core = ctypes.CDLL(os.path.join(os.environ["AUTODIFF_COMPILER_ASCEND_LIB"], "libaclsim.so"))
            core.aclsim_leaks.restype = core.aclsim_violations.restype = ctypes.c_char_p
            print([core.aclsim_leaks(), core.aclsim_violations()])
        atexit.register(last)  # what is registered first runs last
        import autodiff_compiler as ms
        from autodiff_compiler import Parameter, Tensor, ops
        for mode in ("per_call", "cached", "captured"):
            ms.set_context(device_target="Ascend", ascend_mode=mode)
            f = ms.jit(lambda x: ops.tanh(x) * p)
            p = Parameter(Tensor([1.0, 2.0]), name="p")
            for _ in range(3):
                held = f(ops.exp(Tensor([0.0, 1.0])))
        """,
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("[b'', b'']\n", "")
