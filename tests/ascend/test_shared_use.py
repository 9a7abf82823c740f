"""A device that several use: threads, forked processes, and other users of CANN in this process."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, hal, ops
from autodiff_compiler.backends.ascend.acl import acl
from autodiff_compiler.backends.ascend.device import current, shutdown
from autodiff_compiler.errors import AscendError
from tests.ascend.conftest import Simulator
from tests.ascend.on_device import MODES, array, ascend
from tests.ascend.test_device import script


class Elsewhere:
    """Another thread, which does what it is given; what that raised or returned."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run
        self.found: Any = None
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self) -> None:
        try:
            self.found = self._run()
        except BaseException as error:
            self.found = error

    def ends(self, seconds: float = 60) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()


# ------------------------------------------------------------------------------------------------ threads
class Order:
    """The lock of a device; `after` is called once, when the thread that made this has let go of it."""

    def __init__(self, lock: Any, after: Callable[[], None]) -> None:
        self.lock, self.waiting, self.thread = lock, [after], threading.current_thread()

    def __enter__(self) -> None:
        self.lock.__enter__()

    def __exit__(self, *error: object) -> None:
        self.lock.__exit__(*error)
        if self.waiting and threading.current_thread() is self.thread:
            self.waiting.pop()()


def test_a_copy_keeps_its_page_locked_memory_while_others_wait(device: Simulator, monkeypatch: Any) -> None:
    """One thread has waited and not yet gone on; another waits, too, and queues a copy then."""
    with ascend():
        here = current()
        first, second = here.allocate(4096), here.allocate(4096)
        ones, twos, found = np.ones(1024, np.int32), np.full(1024, 2, np.int32), np.zeros(1024, np.int32)

        def work() -> None:
            here.synchronize()
            here.upload(ones, first.address)

        def meanwhile() -> None:
            other = Elsewhere(work)
            assert other.ends()
            assert other.found is None

        here.upload(twos, second.address)
        monkeypatch.setattr(here, "order", Order(here.order, meanwhile))
        here.synchronize()
        here.upload(twos, second.address)
        here.download(first.address, found)
        assert found.tolist() == ones.tolist()


def test_the_overflow_status_is_not_read_into_a_capture(device: Simulator, monkeypatch: Any) -> None:
    with ascend():
        here = current()
        graph = ctypes.c_void_p()
        block = here.allocate(64)
        allocated, captures = threading.Event(), threading.Event()
        allocate = here.allocate

        def slow(*args: Any) -> Any:
            room = allocate(*args)
            allocated.set()
            captures.wait(60)
            return room

        monkeypatch.setattr(here, "allocate", slow)
        other = Elsewhere(here.overflowed)
        assert allocated.wait(60)
        with here.order:  # as a segment that is captured has it
            here.enter()
            acl.call("aclmdlRICaptureBegin", here.stream, 1)
            captures.set()
            assert not other.ends(0.3)
            acl.call("aclrtMemsetAsync", block.address, 64, 1, 64, here.stream)
            acl.call("aclmdlRICaptureEnd", here.stream, ctypes.byref(graph))
        assert other.ends()
        assert other.found is False
        acl.call("aclmdlRIDestroy", graph)


@pytest.mark.parametrize("mode", MODES)
def test_threads_that_come_and_go_leave_nothing_behind(device: Simulator, mode: str) -> None:
    f = ms.jit(lambda x: ops.tanh(x) * 2)
    with ascend(ascend_mode=mode):
        for k in range(12):
            other = Elsewhere(lambda k=k: (f(Tensor([k / 4])).item(), ops.exp(Tensor([k / 4])).item()))
            assert other.ends()
            np.testing.assert_allclose(other.found, (2 * np.tanh(k / 4), np.exp(k / 4)), rtol=1e-5)


def test_threads_on_two_devices(device: Simulator) -> None:
    """The setting is everybody's; each call is finished on the device on which it began."""
    if hal.device_count("Ascend") < 2:
        pytest.skip("two devices are needed")
    f = ms.jit(lambda x: ops.tanh(x) * x)
    stop = threading.Event()
    inputs = [array(8, seed=k) for k in range(3)]
    wanted = [np.tanh(x) * x for x in inputs]

    def work(k: int) -> int:
        count = 0
        while not stop.is_set():
            np.testing.assert_allclose(f(Tensor(inputs[k])).asnumpy(), wanted[k], rtol=1e-5)
            np.testing.assert_allclose((Tensor(inputs[k]) + 1).asnumpy(), inputs[k] + 1, rtol=1e-6)
            count += 1
        return count

    with ascend():
        others = [Elsewhere(lambda k=k: work(k)) for k in range(3)]
        for k in range(40):
            ms.set_device("Ascend", k % 2)
            stop.wait(0.01)
        stop.set()
        assert all(other.ends() for other in others)
        assert all(isinstance(other.found, int) and other.found > 0 for other in others), [o.found for o in others]


@pytest.mark.parametrize("mode", MODES)
def test_finalizers_that_use_the_device_at_odd_moments(device: Simulator, mode: str) -> None:
    """The garbage collector runs them wherever an object is made: while memory is taken, while a graph is captured."""
    found: list[Any] = []
    f = ms.jit(lambda x: (ops.tanh(x) * x + 1).sum())

    class Cycle:
        def __init__(self, k: int) -> None:
            self.me, self.k = self, k

        def __del__(self) -> None:
            found.append((self.k, ops.exp(Tensor([self.k / 8])).item()))

    before = gc.get_threshold()
    with ascend(ascend_mode=mode):
        f(Tensor([0.5]))
        for k in range(12):
            Cycle(k)
            try:
                gc.set_threshold(5 + 11 * k, 1000, 1000)
                y = f(Tensor([0.5])).item()
            finally:
                gc.set_threshold(*before)  # Python 3.11 itself fails where a finalizer interferes with NumPy's settings
            np.testing.assert_allclose(y, np.tanh(0.5) * 0.5 + 1, rtol=1e-5)
        gc.collect()
        np.testing.assert_allclose([v for _, v in found], [np.exp(k / 8) for k, _ in found], rtol=1e-5)
        assert {k for k, _ in found} == set(range(12))


# ------------------------------------------------------------------------------------------------ other users of CANN
@pytest.fixture
def second(device: Simulator) -> int:
    if hal.device_count("Ascend") < 2:
        pytest.skip("two devices are needed")
    return 1


@pytest.mark.parametrize("stays", [True, False], ids=["stays", "leaves"])
@pytest.mark.parametrize("mode", MODES)
def test_another_package_chooses_a_device_between_two_calls(second: int, mode: str, stays: bool) -> None:
    choose, leave = acl.libraries.function("aclrtSetDevice"), acl.libraries.function("aclrtResetDevice")

    def others() -> None:
        assert choose(second) == 0
        if not stays:
            assert leave(second) == 0

    f = ms.jit(lambda x: ops.tanh(x) * 2)
    times = 0
    with ascend(ascend_mode=mode):
        x = Tensor(array(5))
        for _ in range(4):
            others()
            y = f(x)
            others()
            z = y + 1
            others()
            np.testing.assert_allclose(z.asnumpy(), np.tanh(array(5)) * 2 + 1, rtol=1e-5)
            others()
            ms.synchronize()
            others()
            hal.empty_cache()
            times += 5
    others()
    shutdown()
    for _ in range((times + 1) * stays):
        assert leave(second) == 0


def test_another_package_works_on_another_device_inside_a_call(second: int) -> None:
    choose, leave = acl.libraries.function("aclrtSetDevice"), acl.libraries.function("aclrtResetDevice")
    seen: list[Any] = []

    def others(x: Any) -> Any:
        assert choose(second) == 0
        seen.append(x.tolist())
        return x

    @ms.jit
    def f(x: Any) -> Any:
        y = ops.tanh(x)
        y = ops.pyfunc(y, others, y) if hasattr(ops, "pyfunc") else y
        return ops.exp(y) * 2

    with ascend(ascend_fallback="host"):
        for _ in range(3):
            np.testing.assert_allclose(f(Tensor([0.5])).item(), np.exp(np.tanh(0.5)) * 2, rtol=1e-5)
    for _ in seen:
        assert leave(second) == 0


# ------------------------------------------------------------------------------------------------ the end of a device
def test_a_thread_whose_device_was_shut_down(device: Simulator) -> None:
    """What it has there is lost, and said to be; the device is started anew when it is used again."""
    ready, go = threading.Event(), threading.Event()

    def work() -> Any:
        x = ops.exp(Tensor([0.0]))
        ready.set()
        go.wait(60)
        with pytest.raises(AscendError, match="device 0 was shut down"):
            x.asnumpy()
        with pytest.raises(AscendError, match="device 0 was shut down"):
            x + 1
        return ops.exp(Tensor([0.0])).tolist()

    with ascend():
        here = current()
        other = Elsewhere(work)
        assert ready.wait(60)
        shutdown()
        go.set()
        assert other.ends()
        assert other.found == [1]
        assert current() is not here
        shutdown()
        ms.set_device("Ascend", 0)
        assert ops.exp(Tensor([0.0])).tolist() == [1]


@pytest.mark.some(3)
@pytest.mark.parametrize("mode", MODES)
def test_a_shutdown_while_threads_work(device: Simulator, mode: str) -> None:
    """Each of their calls is right, or told that the device was shut down."""
    f = ms.jit(lambda x: ops.tanh(x) * x)
    stop = threading.Event()

    def work() -> tuple[int, int]:
        right = told = 0
        while not stop.is_set():
            try:
                np.testing.assert_allclose(f(Tensor([0.5, 1.0])).asnumpy(), np.tanh([0.5, 1]) * [0.5, 1], rtol=1e-5)
                right += 1
            except AscendError as error:
                if "was shut down" not in str(error):
                    raise
                told += 1
        return right, told

    with ascend(ascend_mode=mode):
        f(Tensor([0.5, 1.0]))
        others = [Elsewhere(work) for _ in range(3)]
        for _ in range(20):
            stop.wait(0.02)
            shutdown()
        stop.set()
        assert all(other.ends() for other in others)
        for other in others:
            assert isinstance(other.found, tuple), other.found
            assert other.found[0] > 0


# ------------------------------------------------------------------------------------------------ processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_does_not_end_what_its_parent_began(device: Simulator, tmp_path: Path) -> None:
    if device.core is None:
        pytest.skip("the calls are known to the simulator")
    log = tmp_path / "log"
    done = script(
        """
        import os, sys
        from autodiff_compiler import hal
        assert hal.device_count("Ascend") == 2
        sys.stdout.flush()
        child = os.fork()
        if not child:
            print("found", hal.device_count("Ascend"))
            sys.exit(0)
        print(os.waitpid(child, 0)[1])
        """,
        tmp_path,
        ACLSIM_LOG=str(log),
    )
    assert done.stderr == ""
    assert sorted(done.stdout.split("\n")) == ["", "0", "found 0"]
    assert log.read_text("utf-8").count("aclFinalize") == 1
