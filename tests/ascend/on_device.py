"""Running on the device and, for comparison, on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.backends.ascend.device import Device

MODES = ("per_call", "cached", "captured")


@contextmanager
def ascend(number: int = 0, **settings: Any) -> Iterator[None]:
    """All operations on the device meanwhile."""
    before = {name: ms.get_context(name) for name in settings}
    ms.set_context(device_target="Ascend", device_id=number, **settings)
    try:
        yield
    finally:
        ms.set_context(device_target="CPU", device_id=0, **before)


class Copies:
    """How many arrays go to the device and come from it, of more than `least` bytes."""

    def __init__(self, monkeypatch: Any, least: int = 0) -> None:
        self.up = self.down = 0
        upload, download = Device.upload, Device.download

        def counted_up(device: Device, array: Any, address: int) -> None:
            self.up += array.nbytes > least
            upload(device, array, address)

        def counted_down(device: Device, address: int, array: Any) -> None:
            self.down += array.nbytes > least
            download(device, address, array)

        monkeypatch.setattr(Device, "upload", counted_up)
        monkeypatch.setattr(Device, "download", counted_down)

    def of(self, run: Callable[[], object]) -> tuple[int, int]:
        """Those of a call."""
        up, down = self.up, self.down
        run()
        return self.up - up, self.down - down


class Waits:
    """How often the host waits for the device."""

    def __init__(self, monkeypatch: Any) -> None:
        self.count = 0
        synchronize = Device.synchronize

        def counted(device: Device) -> None:
            self.count += 1
            synchronize(device)

        monkeypatch.setattr(Device, "synchronize", counted)

    def of(self, run: Callable[[], object]) -> int:
        """Those of a call."""
        before = self.count
        run()
        return self.count - before


def array(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
