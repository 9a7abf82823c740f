"""Memory of the device and page-locked memory of the host: bounded, used again, given back."""

from __future__ import annotations

import gc
import random
import re
import signal
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, hal, ops
from autodiff_compiler.backends.ascend.acl import acl
from autodiff_compiler.backends.ascend.device import Device, current
from autodiff_compiler.errors import AscendMemoryError
from tests.ascend.conftest import Simulator
from tests.ascend.on_device import MODES, array, ascend


class PageLocked:
    """The page-locked memory that CANN was asked for: bytes and pieces at this time, and the most there were."""

    def __init__(self, monkeypatch: Any) -> None:
        self.sizes: dict[int, int] = {}
        self.most_bytes = self.most_pieces = 0
        function = acl.libraries.function
        allocate, free = function("aclrtMallocHost"), function("aclrtFreeHost")

        def allocates(place: Any, size: int) -> int:
            status: int = allocate(place, size)
            self.sizes[place._obj.value] = size
            self.most_bytes = max(self.most_bytes, sum(self.sizes.values()))
            self.most_pieces = max(self.most_pieces, len(self.sizes))
            return status

        def frees(address: int) -> int:
            del self.sizes[address]
            status: int = free(address)
            return status

        noted = {"aclrtMallocHost": allocates, "aclrtFreeHost": frees}
        monkeypatch.setattr(acl.libraries, "function", lambda name: noted.get(name) or function(name))


@pytest.fixture
def locked(device: Simulator, monkeypatch: Any) -> PageLocked:
    return PageLocked(monkeypatch)


# ------------------------------------------------------------------------------------------------ page-locked
def test_page_locked_memory_is_bounded_while_nobody_waits(locked: PageLocked) -> None:
    with ascend():
        sums = Tensor(np.zeros(3, np.float32))
        for k in range(1500):
            sums = sums + Tensor(np.full(3, k, np.float32))
        assert locked.most_pieces <= 300
        assert sums.tolist() == [1500 * 1499 / 2] * 3


def test_page_locked_memory_does_not_grow_with_an_array(locked: PageLocked) -> None:
    """Of different sizes, all at once on their way; what arrives is what was sent, as it was then."""
    sizes = [1, 70 << 20, 33 << 20, (16 << 20) + 1, 5000]
    rng = np.random.default_rng(0)
    with ascend():
        here = current()
        sent = [rng.integers(0, 256, size, np.uint8) for size in sizes]
        blocks = [here.allocate(size) for size in sizes]
        for x, block in zip(sent, blocks, strict=True):
            own = x.copy()
            here.upload(own, block.address)
            own[:] = 0
        for x, block in zip(sent, blocks, strict=True):
            found = np.zeros_like(x)
            here.download(block.address, found)
            assert np.array_equal(found, x)
        assert locked.most_bytes <= 64 << 20


def test_empty_cache_gives_page_locked_memory_back(locked: PageLocked) -> None:
    with ascend():
        x = ops.exp(Tensor(array(100)))
        assert x.asnumpy().shape == (100,)
        assert locked.sizes
        hal.empty_cache()
        assert not locked.sizes
        np.testing.assert_allclose(x.asnumpy(), np.exp(array(100)), rtol=1e-6)


# ------------------------------------------------------------------------------------------------ of the device
def _taken(here: Device) -> int:
    free, total = here.memory()
    return total - free


@pytest.mark.some(3)
@pytest.mark.parametrize("mode", MODES)
def test_many_calls_take_no_more_memory_than_a_few(locked: PageLocked, mode: str) -> None:
    f = ms.jit(lambda x: (ops.tanh(x) * x).sum())
    with ascend(ascend_mode=mode):
        here = current()

        def calls(count: int) -> None:
            for k in range(count):
                y = f(Tensor(array(16))) + k % 7
                if k % 10 == 0:
                    y.item()

        calls(300)
        gc.collect()
        hal.synchronize()
        before = _taken(here), len(locked.sizes)
        calls(1200)
        assert (_taken(here), len(locked.sizes)) == before


def test_sizes_that_never_come_again_make_room_for_others(device: Simulator) -> None:
    with ascend(max_device_memory="1MB"):
        for n in range(1, 200):
            x = ops.exp(Tensor(np.zeros(75 * n, np.float32)))
            assert x.asnumpy()[-1] == 1


def test_empty_cache_leaves_what_is_in_use(device: Simulator) -> None:
    w = ms.Parameter(Tensor(array(64, 64)), name="w")
    with ascend():
        here = current()
        y = ops.matmul(w, w)
        _ = ops.exp(ops.matmul(y, y))
        del _
        hal.empty_cache()
        left = _taken(here)
        assert 64 * 64 * 4 <= left <= 2 * (64 * 64 * 4 + 32)
        np.testing.assert_allclose(y.asnumpy(), array(64, 64) @ array(64, 64), rtol=1e-4, atol=1e-4)


def test_garbage_in_cycles_is_collected_before_memory_runs_out(device: Simulator) -> None:
    with ascend(max_device_memory="5MB"):

        def cycle() -> None:
            loop: list[Any] = [ops.exp(Tensor(np.zeros(1 << 19, np.float32)))]
            loop.append(loop)

        gc.collect()
        gc.disable()
        try:
            cycle()
            assert ops.exp(Tensor(np.zeros(1 << 19, np.float32))).asnumpy()[-1] == 1
        finally:
            gc.enable()


@pytest.mark.some(3)
@pytest.mark.parametrize("mode", MODES)
def test_running_out_of_memory_again_and_again(device: Simulator, mode: str) -> None:
    """Each time what is asked for fits or is refused, and what is there stays right."""
    f = ms.jit(lambda x, y: ops.tanh(ops.matmul(x, y)) + 1)
    with ascend(ascend_mode=mode, max_device_memory="1MB"):
        kept = ops.exp(Tensor(np.zeros(1 << 16, np.float32)))
        refused = 0
        for k in range(30):
            n = 64 + 32 * (k % 12)
            try:
                found = f(Tensor(np.ones((n, 2), np.float32)), Tensor(np.zeros((2, n), np.float32)))
                assert found.asnumpy().tolist() == np.ones((n, n)).tolist()
            except AscendMemoryError as error:
                refused += 1
                text = "".join(error.__notes__)
                assert "262,176 bytes" in text, "the largest one"
                assert int(re.search(r"([\d,]+) are held", text)[1].replace(",", "")) <= 1 << 20
        assert 0 < refused < 30
        assert kept.asnumpy().min() == kept.asnumpy().max() == 1


# ------------------------------------------------------------------------------------------------ interrupts
class Interrupt(BaseException):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_interrupts_lose_no_memory_and_give_none_out_twice(device: Simulator) -> None:
    def interrupted(*_: object) -> None:
        raise Interrupt

    rng = random.Random(0)
    before = signal.signal(signal.SIGALRM, interrupted)
    interrupts = 0
    try:
        with ascend():
            here = current()
            kept = [here.allocate(4096) for _ in range(4)]
            for k, block in enumerate(kept):
                here.upload(np.full(1024, k, np.int32), block.address)
            for _ in range(400):
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-3))
                    try:
                        for n in range(40):
                            block = here.allocate(4096 + 1000 * (n % 3))
                            here.upload(np.full(1024, 9, np.int32), block.address)
                            here.download(block.address, np.zeros(1024, np.int32))
                            if n == 30:
                                here.trim()
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except Interrupt:
                    interrupts += 1
            block = None
            assert interrupts > 20
            gc.collect()
            here.trim()
            for k, block in enumerate(kept):
                found = np.zeros(1024, np.int32)
                here.download(block.address, found)
                assert set(found.tolist()) == {k}
            assert here._memory.used.keys() == {block.address for block in kept}
            assert _taken(here) == here._memory.held == 4 * kept[0].size
    finally:
        signal.signal(signal.SIGALRM, before)
