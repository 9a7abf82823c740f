"""MindSpore's modules `hal` and `runtime`: which devices there are."""

from __future__ import annotations

from .backends.ascend.device import chip, found, started
from .config import context
from .context import launch_blocking, synchronize

__all__ = [
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "is_initialized",
    "launch_blocking",
    "synchronize",
]

_TARGETS = ("CPU", "GPU", "Ascend")


def is_available(device_target: str) -> bool:
    """Whether there are devices of a kind.  ValueError: the kind is none of CPU, GPU and Ascend.

    >>> is_available("CPU"), is_available("GPU")
    (True, False)
    """
    return device_count(device_target) > 0


def is_initialized(device_target: str) -> bool:
    """Whether devices of a kind are in use.  ValueError: the kind is none of CPU, GPU and Ascend."""
    _known(device_target)
    if device_target != "Ascend":
        return device_target == "CPU"
    return bool(started())


def device_count(device_target: str | None = None) -> int:
    """How many devices of a kind there are; without a kind, of that in use.  ValueError: another kind.

    >>> device_count("CPU"), device_count("GPU")
    (1, 0)
    """
    target = context.device_target if device_target is None else device_target
    _known(target)
    if target != "Ascend":
        return int(target == "CPU")
    return found()


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The name of a device.  ValueError: there is no such device.

    >>> get_device_name(0)
    'CPU'
    """
    target = context.device_target if device_target is None else device_target
    count = device_count(target)
    if device_id not in range(count):
        there = "there is one device" if count == 1 else f"there are {count} devices"
        raise ValueError(f"{there} of the kind {target}, none with the number {device_id!r}")
    if target != "Ascend":
        return target
    return chip()


def empty_cache() -> None:
    """Gives memory of all devices that is not in use back to the system.

    Large results and the memory of large calls in machine code are kept for the next ones (see docs/native.md).
    """
    from .backends.native.memory import frame_pool  # an optional part, with llvmlite

    frame_pool.release()
    if context.device_target != "CPU":
        for device in started():
            device.trim()


def _known(device_target: str) -> None:
    if device_target not in _TARGETS:
        raise ValueError(f"a device is one of {', '.join(_TARGETS)}, not {device_target!r}")
