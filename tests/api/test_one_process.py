"""What MindSpore says about processes, devices and messages, where there is one process on one CPU."""

from __future__ import annotations

from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, communication, hal, log
from autodiff_compiler.errors import SideEffectError
from tests import forked


def test_this_is_process_0_of_1() -> None:
    communication.init()
    communication.init("nccl")
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1)
    assert (communication.get_local_rank(), communication.get_local_rank_size()) == (0, 1)
    assert communication.get_process_group_ranks() == [0]
    assert communication.get_rank(communication.HCCL_WORLD_COMM_GROUP) == 0
    assert communication.get_world_rank_from_group_rank(communication.NCCL_WORLD_COMM_GROUP, 0) == 0
    assert communication.get_group_rank_from_world_rank(0, communication.NCCL_WORLD_COMM_GROUP) == 0


def test_groups_have_this_process_only() -> None:
    communication.create_group("mine", [0])
    assert communication.get_group_size("mine") == 1
    with pytest.raises(ValueError, match="already"):
        communication.create_group("mine", [0])
    communication.release()
    with pytest.raises(ValueError, match="no group 'mine'"):
        communication.get_rank("mine")
    communication.create_group("mine", [0])
    communication.destroy_group("mine")
    for call in (
        lambda: communication.create_group("two", [0, 1]),
        lambda: communication.destroy_group("mine"),
        lambda: communication.destroy_group(communication.HCCL_WORLD_COMM_GROUP),
        lambda: communication.get_world_rank_from_group_rank(communication.HCCL_WORLD_COMM_GROUP, 1),
        lambda: communication.init("mpi"),
    ):
        with pytest.raises(ValueError, match=r"group|process|backend_name"):
            call()
    with pytest.raises(TypeError):
        communication.init(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        communication.create_group("all", 0)  # type: ignore[arg-type]


def test_compiled_code_branches_on_the_rank_and_makes_no_groups() -> None:
    f = ms.jit(lambda x: x * 2 if communication.get_rank() == 0 else x)
    assert f(Tensor(3.0)).item() == 6.0
    with pytest.raises(SideEffectError):
        ms.jit(lambda x: (communication.release(), x)[1])(Tensor(1.0))


def test_the_devices() -> None:
    assert [hal.device_count(t) for t in (None, "CPU", "GPU")] == [1, 1, 0]
    assert (hal.is_available("CPU"), hal.is_initialized("GPU"), hal.get_device_name(0)) == (True, False, "CPU")
    with pytest.raises(ValueError, match="one of CPU, GPU, Ascend"):
        hal.is_available("TPU")
    with pytest.raises(ValueError, match="there is one device"):
        hal.get_device_name(1)
    assert (hal.synchronize(), hal.empty_cache()) == (None, None)  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("level", "written"), [(None, "wec"), ("0", "diwec"), ("3", "ec"), ("4", "c"), ("x", "wec")])
def test_messages_from_a_level_on(level: str | None, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOG_v", raising=False)
    if level is not None:
        monkeypatch.setenv("GLOG_v", level)
    program = "from autodiff_compiler import log\nfor f in 'debug info warning error critical'.split():\n"
    program += "    getattr(log, f)('%s %d', f, 3)\nprint(log.get_level())"
    done = forked.run("-c", program, check=True)
    lines = done.stderr.splitlines()
    assert [line.split("] ")[-1] for line in lines] == [
        f"{f} 3" for f in ("debug", "info", "warning", "error", "critical") if f[0] in written
    ]
    assert all("[<string>:3]" in line for line in lines)
    assert done.stdout.strip() == (level if level in ("0", "3", "4") else "2")


def test_a_message_of_compiled_code_would_be_written_once() -> None:
    def f(x: Any) -> Any:
        log.warning("seen")
        return x

    with pytest.raises(SideEffectError, match=r"warning\(\) would be called once"):
        ms.jit(f)(Tensor(1.0))


def test_memory_as_a_tensor() -> None:
    shared = bytearray(b"\x00\x00\x80\x3f\x00\x00\x00\x40")
    x = ms.frombuffer(shared, ms.float32)
    assert x.tolist() == [1.0, 2.0]
    shared[4:] = b"\x00\x00\x40\x40"
    assert x.tolist() == [1.0, 3.0]
    assert ms.frombuffer(b"abcd", ms.uint8, 2, 1).tolist() == [98, 99]
    with pytest.raises(ValueError, match="buffer"):
        ms.frombuffer(b"abc", ms.float32)


def test_open_sizes_of_parameters_are_named_and_change_nothing() -> None:
    with pytest.raises(ValueError, match="needs the parameters"):
        ms.enable_dynamic()
    with pytest.raises(TypeError, match="'x' is of type int"):
        ms.enable_dynamic(x=3)
    with pytest.raises(TypeError, match="names z"):
        ms.enable_dynamic(z=Tensor([1.0]))(ms.jit(lambda x: x))
    f = ms.enable_dynamic(x=Tensor([1.0]))(ms.jit(lambda x: x + 1))
    assert [f(Tensor(d)).tolist() for d in ([1.0], [1.0, 2.0])] == [[2.0], [2.0, 3.0]]
