"""What the simulator notices: breaches of the contract that CANN's texts describe, driven through its C functions."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.backends.ascend.acl import acl
from tests.ascend.conftest import SOURCES, WHERE, Simulator

pytestmark = pytest.mark.skipif(WHERE != "sim", reason="it is about the simulator")

F16, F32, F64, I64 = 1, 0, 11, 9
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
SYNC, TIMELINE = 1, 8


def test_it_is_built_from_the_command_line(tmp_path: Path, objects: Path) -> None:
    command = [sys.executable, str(SOURCES / "build.py")]
    said = subprocess.run([*command, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "usage" in said
    assert list(tmp_path.iterdir()) == []
    done = subprocess.run(
        [*command, "made", "--objects", str(objects)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{tmp_path / 'made' / 'lib64'}\n"
    assert (tmp_path / "made" / "lib64" / "libascendcl.so").exists()


class Raw:
    """CANN's functions as C programs call them: a call's value is its status."""

    def __init__(self, simulator: Simulator) -> None:
        assert simulator.core is not None
        self.simulator, self.core = simulator, simulator.core
        self.made: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        return acl.libraries.function(name)

    def get(self, name: str, *args: Any) -> int:
        """Calls a function whose first argument is where a handle or an address goes."""
        found = ctypes.c_void_p()
        assert getattr(self, name)(ctypes.byref(found), *args) == 0
        assert found.value is not None
        return found.value

    def stream(self) -> int:
        return self.get("aclrtCreateStream")

    def memory(self, nbytes: int = 4096) -> int:
        return self.get("aclrtMalloc", nbytes, 0)

    def vector(self, address: int, count: int, dtype: int = F32) -> int:
        dims, strides = (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * 1)(1)
        made: int = self.aclCreateTensor(dims, 1, dtype, strides, 0, 2, dims, 1, address)
        return made

    def plan(self, operator: str, *args: Any) -> tuple[int, int, int]:
        """The first phase: status, bytes of the workspace, executor."""
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        first, _ = acl.libraries.phases(operator)
        status = first(*args, ctypes.byref(size), ctypes.byref(executor))
        return status, size.value, executor.value or 0

    def queue(self, operator: str, room: int, size: int, executor: int, stream: int) -> int:
        status: int = acl.libraries.phases(operator)[1](room if size else None, size, executor, stream)
        return status

    def exp(self, source: int, target: int, stream: int, count: int = 8) -> None:
        """Queues an operator between two places of memory."""
        x, y, room = self.vector(source, count), self.vector(target, count), self.memory()
        self.made.append(("aclrtFree", room))
        status, size, executor = self.plan("Exp", x, y)
        assert (status, self.queue("Exp", room, size, executor, stream)) == (0, 0)
        assert (self.aclDestroyTensor(x), self.aclDestroyTensor(y)) == (0, 0)

    def breach(self) -> str:
        """What was noticed since the last time."""
        found = self.simulator.violations()
        self.core.aclsim_clear_violations()
        return found


@pytest.fixture
def raw(device: Simulator) -> Iterator[Raw]:
    made = Raw(device)
    made.core.aclsim_mode(b"lazy")
    assert made.aclInit(None) == 0
    assert made.aclrtSetDevice(0) == 0
    yield made
    made.core.aclsim_mode(os.environ.get("ACLSIM_MODE", "lazy").encode())
    made.core.aclsim_reset()
    for name, handle in made.made:
        assert getattr(made, name)(handle) == 0
    assert made.aclrtResetDevice(0) == 0
    assert made.aclFinalize() == 0


# ------------------------------------------------------------------------------------------------ handles
def test_destroying_twice_using_later_and_other_kinds_are_noticed(raw: Raw) -> None:
    place = raw.memory()
    x, y = raw.vector(place, 4), raw.vector(place + 64, 4)
    assert raw.aclDestroyTensor(x) == 0
    assert raw.aclDestroyTensor(x) != 0
    assert "the tensor was destroyed before" in raw.breach()
    assert raw.plan("Exp", x, y)[0] == 161001
    assert "the tensor was destroyed before" in raw.breach()
    assert raw.aclDestroyScalar(y) != 0
    assert "a tensor is given as a scalar" in raw.breach()
    assert raw.aclrtSynchronizeStream(y) != 0
    assert "a tensor is given as a stream" in raw.breach()
    assert raw.aclDestroyTensor(12345) != 0
    assert "is no handle" in raw.breach()
    raw.aclDestroyTensor(y)
    raw.aclrtFree(place)


def test_members_belong_to_their_list(raw: Raw) -> None:
    place = raw.memory()
    x = raw.vector(place, 4)
    members = raw.aclCreateTensorList((ctypes.c_void_p * 1)(x), 1)
    raw.aclDestroyTensor(x)
    assert "a list owns it" in raw.breach()
    raw.aclDestroyTensorList(members)
    raw.aclrtFree(place)


def test_what_is_left_behind_is_listed_by_kind(raw: Raw, device: Simulator) -> None:
    place, stream = raw.memory(), raw.stream()
    x = raw.vector(place, 4)
    found = device.leaks().split("\n")
    assert {"tensor: 1", "stream: 1", "device memory: 1", "device 0: 1"} <= set(found)
    raw.aclDestroyTensor(x)
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)
    assert device.leaks() == "device 0: 1\n"


# ------------------------------------------------------------------------------------------------ executors
def test_an_executor_is_used_up_by_one_run(raw: Raw) -> None:
    stream, place = raw.stream(), raw.memory()
    x, y = raw.vector(place, 4), raw.vector(place + 64, 4)
    _, size, executor = raw.plan("Exp", x, y)
    assert raw.queue("Exp", place + 256, size, executor, stream) == 0
    assert raw.queue("Exp", place + 256, size, executor, stream) != 0
    assert "the executor was destroyed before" in raw.breach()
    _, size, executor = raw.plan("Exp", x, y)
    assert raw.aclSetAclOpExecutorRepeatable(executor) == 0
    for _ in range(2):
        assert raw.queue("Exp", place + 256, size, executor, stream) == 0
    assert raw.queue("Exp", place + 256, size + 64, executor, stream) == 161002
    assert "a workspace of" in raw.breach()
    assert raw.aclrtSynchronizeStream(stream) == 0
    raw.aclDestroyTensor(x)
    raw.queue("Exp", place + 256, size, executor, stream)
    assert "tensor 0 was destroyed before the second phase returned" in raw.breach()
    raw.aclDestroyAclOpExecutor(executor)
    raw.aclDestroyTensor(y)
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


def test_only_the_thread_that_planned_makes_an_executor_repeatable(raw: Raw) -> None:
    place = raw.memory()
    x, y = raw.vector(place, 4), raw.vector(place + 64, 4)
    _, _, executor = raw.plan("Exp", x, y)
    found: list[int] = []
    other = threading.Thread(target=lambda: found.append(raw.aclSetAclOpExecutorRepeatable(executor)))
    other.start()
    other.join()
    assert found == [561000]
    raw.aclDestroyAclOpExecutor(executor)
    for handle in (x, y):
        raw.aclDestroyTensor(handle)
    raw.aclrtFree(place)


def test_the_first_phase_refuses_dtypes_shapes_and_null(raw: Raw) -> None:
    place = raw.memory()
    x, y, short = raw.vector(place, 4), raw.vector(place + 64, 4, I64), raw.vector(place + 128, 3)
    assert raw.plan("Exp", x, y)[0] == 161002
    assert b"dtype" in raw.aclGetRecentErrMsg()
    assert raw.aclGetRecentErrMsg() is None, "a message is given once"
    assert raw.plan("Exp", x, short)[0] == 161002
    assert raw.plan("Exp", x, None)[0] == 161001
    for handle in (x, y, short):
        raw.aclDestroyTensor(handle)
    raw.aclrtFree(place)


@pytest.mark.parametrize(("dtype", "axes", "status"), [(F64, 5, 0), (F64, 6, 161002), (F32, 8, 0)])
def test_the_first_phase_counts_groups_of_broadcasting(raw: Raw, dtype: int, axes: int, status: int) -> None:
    place = raw.memory()

    def view(address: int, sizes: list[int]) -> int:
        dims, strides = (ctypes.c_int64 * axes)(*sizes), (ctypes.c_int64 * axes)(*np.cumprod([1, *sizes[:-1]]).tolist())
        storage = (ctypes.c_int64 * 1)(math.prod(sizes))
        made: int = raw.aclCreateTensor(dims, axes, dtype, strides, 0, 2, storage, 1, address)
        return made

    x = view(place, [1 + i % 2 for i in range(axes)])
    y = view(place + 256, [2 - i % 2 for i in range(axes)])
    z = view(place + 512, [2] * axes)
    found, _, executor = raw.plan("Mul", x, y, z)
    assert found == status
    if executor:
        raw.aclDestroyAclOpExecutor(executor)
    for handle in (x, y, z):
        raw.aclDestroyTensor(handle)
    raw.aclrtFree(place)


# ------------------------------------------------------------------------------------------------ memory
def test_addresses_of_the_host_are_none_of_the_device(raw: Raw) -> None:
    host = (ctypes.c_char * 64)()
    raw.aclDestroyTensor(raw.vector(ctypes.addressof(host) // 64 * 64, 4))
    assert "is not on the device" in raw.breach()
    place = raw.memory()
    assert raw.aclrtMemcpy(place, 64, host, 64, TO_HOST) != 0
    assert "are not of kind 2" in raw.breach()
    assert raw.aclrtMemcpy(place, 32, host, 64, TO_DEVICE) == 100000, "more bytes than there is room for"
    assert raw.aclrtMemcpy(place + 4090, 64, host, 64, TO_DEVICE) != 0
    assert "not inside one live block" in raw.breach()
    raw.aclrtFree(place)
    assert raw.aclrtMemcpy(place, 64, host, 64, TO_DEVICE) != 0
    assert "not inside one live block" in raw.breach()
    assert raw.aclrtFree(place) != 0
    assert "no live block" in raw.breach()


def test_views_must_be_aligned_and_inside_with_room_behind(raw: Raw) -> None:
    place, stream = raw.memory(256), raw.stream()
    raw.aclDestroyTensor(raw.vector(place + 4, 4))
    assert "not aligned to 32 bytes" in raw.breach()
    raw.exp(place, place + 224, stream)  # the second ends with the block: kernels may read on
    raw.aclrtSynchronizeStream(stream)
    assert "fewer than 32 bytes follow" in raw.breach()
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


def test_a_result_where_an_operand_lies_is_noticed(raw: Raw) -> None:
    place, stream = raw.memory(), raw.stream()
    raw.exp(place, place, stream)
    assert "a result lies where an operand lies" in raw.breach()
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


def test_memory_of_queued_work_and_of_captured_graphs_must_not_be_freed(raw: Raw) -> None:
    place, stream = raw.memory(), raw.stream()
    raw.exp(place, place + 512, stream)
    raw.aclrtFree(place)
    assert "a queued task or a captured graph uses" in raw.breach()
    raw.aclrtSynchronizeStream(stream)
    raw.breach()  # the kernel found no memory
    place = raw.memory()
    assert raw.aclmdlRICaptureBegin(stream, 1) == 0
    raw.exp(place, place + 512, stream)
    graph = ctypes.c_void_p()
    assert raw.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == 0
    raw.aclrtFree(place)
    assert "a queued task or a captured graph uses" in raw.breach()
    raw.aclmdlRIDestroy(graph)
    raw.aclrtDestroyStream(stream)


# ------------------------------------------------------------------------------------------------ order
def test_reading_without_waiting_is_noticed_and_reads_old_bytes(raw: Raw) -> None:
    place, stream = raw.memory(), raw.stream()
    zeros, read = np.zeros(8, np.float32), np.zeros(8, np.float32)
    raw.aclrtMemcpy(place, 32, zeros.ctypes.data, 32, TO_DEVICE)
    raw.exp(place, place + 512, stream)
    raw.aclrtMemcpy(read.ctypes.data, 32, place + 512, 32, TO_HOST)
    assert "aclrtMemcpy reads memory that Exp of a stream writes" in raw.breach()
    assert np.isnan(read).all(), "fresh memory is poisoned"
    raw.aclrtSynchronizeStream(stream)
    raw.aclrtMemcpy(read.ctypes.data, 32, place + 512, 32, TO_HOST)
    assert (read == 1).all()
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


def test_a_copy_to_pageable_memory_waits_and_one_to_page_locked_memory_does_not(raw: Raw) -> None:
    place, stream, pinned = raw.memory(), raw.stream(), raw.get("aclrtMallocHost", 64)
    ctypes.memset(pinned, 7, 64)
    raw.aclrtMemsetAsync(place, 64, 1, 64, stream)
    raw.aclrtMemcpyAsync(pinned, 64, place, 64, TO_HOST, stream)
    assert ctypes.string_at(pinned, 1) == b"\7"
    assert raw.aclrtFreeHost(pinned) == 0
    assert "a queued copy uses" in raw.breach()
    raw.core.aclsim_reset()
    pinned = raw.get("aclrtMallocHost", 64)
    pageable = (ctypes.c_char * 64)()
    raw.aclrtMemsetAsync(place, 64, 2, 64, stream)
    raw.aclrtMemcpyAsync(pageable, 64, place, 64, TO_HOST, stream)
    assert pageable.raw == b"\2" * 64
    assert raw.aclrtMemcpyAsync(pinned, 64, pageable, 64, 0, stream) == 207000, "between host addresses"
    raw.aclrtFreeHost(pinned)
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


@pytest.mark.parametrize("mode", [b"lazy", b"threads", b"eager"])
def test_streams_without_an_event_between_them_race(raw: Raw, mode: bytes) -> None:
    raw.core.aclsim_mode(mode)
    place, event = raw.memory(), raw.get("aclrtCreateEventExWithFlag", SYNC)
    first, second = raw.stream(), raw.stream()
    raw.exp(place, place + 512, first)
    raw.exp(place, place + 1024, second)
    assert raw.breach() == "", "both only read"
    raw.exp(place + 512, place + 2048, second)
    assert "Exp reads memory that Exp of another stream writes, without waiting for it" in raw.breach()
    raw.aclrtSynchronizeDevice()
    raw.exp(place, place + 512, first)
    raw.aclrtRecordEvent(event, first)
    raw.aclrtStreamWaitEvent(second, event)
    raw.exp(place + 512, place + 2048, second)
    raw.aclrtSynchronizeStream(second)  # which means that the first is done as far as the event
    read = np.zeros(8, np.float32)
    raw.aclrtMemcpy(read.ctypes.data, 32, place + 512, 32, TO_HOST)
    assert raw.breach() == ""
    for stream in (first, second):
        raw.aclrtDestroyStream(stream)
    raw.aclrtDestroyEvent(event)
    raw.aclrtFree(place)


def test_two_streams_must_not_share_a_workspace(raw: Raw) -> None:
    place, room, streams = raw.memory(), raw.memory(), [raw.stream(), raw.stream()]
    tensors = []
    for i, stream in enumerate(streams):
        mine = [raw.vector(place + 1024 * i + 128 * k, 4) for k in range(3)]
        _, size, executor = raw.plan("Mul", *mine)
        assert size, "this one needs room"
        raw.queue("Mul", room, size, executor, stream)
        tensors += mine
    assert "Mul writes memory that Mul of another stream writes" in raw.breach()
    for stream in streams:
        raw.aclrtDestroyStream(stream)
    for handle in tensors:
        raw.aclDestroyTensor(handle)
    for address in (place, room):
        raw.aclrtFree(address)


def test_events_tell_when_they_are_complete(raw: Raw) -> None:
    stream, events = raw.stream(), [raw.get("aclrtCreateEventExWithFlag", TIMELINE) for _ in range(2)]
    status, elapsed = ctypes.c_int32(), ctypes.c_float()
    for event in events:
        raw.aclrtRecordEvent(event, stream)
    raw.aclrtQueryEventStatus(events[1], ctypes.byref(status))
    assert status.value == 0
    assert raw.aclrtEventElapsedTime(ctypes.byref(elapsed), *events) == 107006
    raw.aclrtSynchronizeEvent(events[1])
    raw.aclrtQueryEventStatus(events[1], ctypes.byref(status))
    assert status.value == 1
    assert raw.aclrtEventElapsedTime(ctypes.byref(elapsed), *events) == 0
    assert elapsed.value >= 0
    for event in events:
        raw.aclrtDestroyEvent(event)
    raw.aclrtDestroyStream(stream)


def test_worker_threads_run_long_chains_in_order(raw: Raw) -> None:
    """Every value is one more than the one before; two streams hand them to each other by events."""
    raw.core.aclsim_mode(b"threads")
    place, streams = raw.memory(64 * 256), [raw.stream(), raw.stream()]
    event = raw.get("aclrtCreateEventExWithFlag", SYNC)
    raw.aclrtMemset(place, 64, 0, 64)
    for i in range(200):
        stream = streams[i % 2]
        raw.aclrtMemcpyAsync(place + 64 * (i + 1), 64, place + 64 * i, 64, ON_DEVICE, stream)
        raw.aclrtMemsetAsync(place + 64 * (i + 1), i % 63 + 1, i + 1, i % 63 + 1, stream)
        raw.aclrtRecordEvent(event, stream)
        raw.aclrtStreamWaitEvent(streams[1 - i % 2], event)
    raw.aclrtSynchronizeDevice()
    read, expected = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    raw.aclrtMemcpy(read.ctypes.data, 64, place + 64 * 200, 64, TO_HOST)
    for i in range(200):
        expected[: i % 63 + 1] = (i + 1) % 256
    np.testing.assert_array_equal(read, expected)
    for stream in streams:
        raw.aclrtDestroyStream(stream)
    raw.aclrtDestroyEvent(event)
    raw.aclrtFree(place)


# ------------------------------------------------------------------------------------------------ threads, devices
def test_a_thread_needs_a_device_and_streams_of_it(raw: Raw) -> None:
    stream = raw.stream()
    found: list[int] = []

    def other() -> None:
        place = ctypes.c_void_p()
        found.append(raw.aclrtMalloc(ctypes.byref(place), 64, 0))
        found.append(raw.aclrtSetDevice(7))
        found.append(raw.aclrtSetDevice(1))
        found.append(raw.aclrtSynchronizeStream(stream))
        raw.aclrtResetDevice(1)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [107002, 107001, 0, 107003]
    assert "the stream is one of device 0, the thread's is 1" in raw.breach()
    raw.aclrtDestroyStream(stream)


def test_threads_share_the_context_of_a_device_until_its_last_reset(raw: Raw) -> None:
    context = raw.get("aclrtGetCurrentContext")
    found: list[int] = []

    def other() -> None:
        found.append(raw.aclrtGetCurrentContext(ctypes.byref(ctypes.c_void_p())))
        found.append(raw.aclrtSetCurrentContext(context))
        place = ctypes.c_void_p()
        found.append(raw.aclrtMalloc(ctypes.byref(place), 64, 0))
        found.append(raw.aclrtFree(place))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [107002, 0, 0, 0]
    raw.aclrtSetDevice(1)
    assert raw.get("aclrtGetCurrentContext") != context
    raw.aclrtResetDevice(1)
    assert raw.aclrtSetCurrentContext(context) == 0
    raw.aclrtResetDevice(0)
    assert raw.aclrtSetCurrentContext(context) == 107000
    assert "the context was destroyed before" in raw.breach()
    raw.aclrtSetDevice(0)


def test_streams_are_destroyed_before_their_device(raw: Raw) -> None:
    raw.stream()
    raw.aclrtResetDevice(0)
    assert "a stream of the device was not destroyed before" in raw.breach()
    raw.aclrtSetDevice(0)


# ------------------------------------------------------------------------------------------------ captured graphs
def test_a_capture_records_and_replays_at_the_same_addresses(raw: Raw) -> None:
    place, stream, graph = raw.memory(), raw.stream(), ctypes.c_void_p()
    ones, read = np.ones(8, np.float32), np.zeros(8, np.float32)
    raw.aclrtMemcpy(place, 32, ones.ctypes.data, 32, TO_DEVICE)
    assert raw.aclmdlRICaptureBegin(stream, 0) == 0
    raw.exp(place, place + 512, stream)
    assert raw.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == 0
    for value in (1, 2):
        raw.aclrtMemcpy(place, 32, (ones * value).ctypes.data, 32, TO_DEVICE)
        assert raw.aclmdlRIExecuteAsync(graph, stream) == 0
        if value == 2:
            assert raw.aclmdlRIDestroy(graph) == 107037
            assert "the graph is running" in raw.breach()
        raw.aclrtSynchronizeStream(stream)
        raw.aclrtMemcpy(read.ctypes.data, 32, place + 512, 32, TO_HOST)
        np.testing.assert_allclose(read, np.exp(value), rtol=1e-6)
    assert raw.aclmdlRIDestroy(graph) == 0
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda raw, stream, place: raw.aclrtSynchronizeStream(stream), 107027),
        (lambda raw, stream, place: raw.aclrtSynchronizeDevice(), 107030),
        (lambda raw, stream, place: raw.aclrtStreamQuery(stream, ctypes.byref(ctypes.c_int32())), 107030),
        (lambda raw, stream, place: raw.aclrtMemcpy(place, 32, place + 512, 32, ON_DEVICE), 107030),
        (lambda raw, stream, place: raw.aclrtMemset(place, 32, 0, 32), 107030),
    ],
    ids=["synchronise", "synchronise-device", "query", "copy", "fill"],
)
def test_waiting_and_copying_at_once_break_a_capture_off(raw: Raw, call: Any, code: int) -> None:
    place, stream, graph = raw.memory(), raw.stream(), ctypes.c_void_p()
    assert raw.aclmdlRICaptureBegin(stream, 0) == 0
    assert call(raw, stream, place) == code
    assert raw.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == 507903
    assert not graph.value
    assert raw.aclrtSynchronizeStream(stream) == 0
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


def test_the_rules_of_beginning_and_ending_a_capture(raw: Raw) -> None:
    stream, graph, pageable = raw.stream(), ctypes.c_void_p(), (ctypes.c_char * 64)()
    place = raw.memory()
    assert raw.aclmdlRICaptureBegin(None, 0) == 107031
    assert raw.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == 107029
    assert raw.aclmdlRICaptureBegin(stream, 1) == 0
    assert raw.aclmdlRICaptureBegin(stream, 1) == 107027
    assert raw.aclrtMemcpyAsync(place, 64, pageable, 64, TO_DEVICE, stream) == 107030, "pageable memory"
    found: list[int] = []

    def other() -> None:
        raw.aclrtSetDevice(0)
        found.append(raw.aclmdlRICaptureEnd(stream, ctypes.byref(graph)))
        found.append(raw.aclrtMemset(place, 32, 0, 32))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [107038, 0], "the capture is that of one thread"
    assert raw.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == 0
    raw.aclmdlRIDestroy(graph)
    raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)
    raw.aclrtResetDevice(0)  # the other thread's


def test_side_streams_of_a_capture_must_come_back(raw: Raw) -> None:
    place, main, side, graph = raw.memory(), raw.stream(), raw.stream(), ctypes.c_void_p()
    fork, back = (raw.get("aclrtCreateEventExWithFlag", SYNC) for _ in range(2))
    for joins in (False, True):
        assert raw.aclmdlRICaptureBegin(main, 1) == 0
        raw.aclrtRecordEvent(fork, main)
        raw.aclrtStreamWaitEvent(side, fork)
        raw.exp(place, place + 512, side)
        if joins:
            raw.aclrtRecordEvent(back, side)
            raw.aclrtStreamWaitEvent(main, back)
        assert raw.aclmdlRICaptureEnd(main, ctypes.byref(graph)) == (0 if joins else 107025)
    raw.aclmdlRIDestroy(graph)
    for event in (fork, back):
        raw.aclrtDestroyEvent(event)
    for stream in (main, side):
        raw.aclrtDestroyStream(stream)
    raw.aclrtFree(place)


# ------------------------------------------------------------------------------------------------ numbers
def test_overflow_gives_infinities_or_the_largest_numbers(raw: Raw) -> None:
    source, target, stream = raw.memory(), raw.memory(), raw.stream()
    values, read = np.array([20, -20, np.nan, 1], np.float16), np.zeros(4, np.float16)
    status = (ctypes.c_uint32 * 16)()
    place = raw.memory()
    raw.aclrtMemcpy(source, 8, values.ctypes.data, 8, TO_DEVICE)
    for mode, expected, flag in ((1, [np.inf, 0, np.nan, np.e], 0), (0, [65504, 0, 0, np.e], 1)):
        assert raw.aclrtSetDeviceSatMode(mode) == 0
        raw.aclrtResetOverflowStatus(stream)
        x, y = raw.vector(source, 4, F16), raw.vector(target, 4, F16)
        _, size, executor = raw.plan("Exp", x, y)
        raw.queue("Exp", place, size, executor, stream)
        raw.aclrtGetOverflowStatus(place + 1024, 64, stream)
        raw.aclrtSynchronizeStream(stream)
        raw.aclrtMemcpy(read.ctypes.data, 8, target, 8, TO_HOST)
        raw.aclrtMemcpy(status, 64, place + 1024, 64, TO_HOST)
        np.testing.assert_allclose(read.astype(float), expected, rtol=1e-3, atol=1e-6)
        assert status[0] == flag
        raw.aclDestroyTensor(x)
        raw.aclDestroyTensor(y)
    raw.aclrtDestroyStream(stream)
    for address in (source, target, place):
        raw.aclrtFree(address)
