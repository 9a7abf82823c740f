"""MindSpore's modules `hal` and `runtime` for the device that there is: the CPU."""

from __future__ import annotations

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
    _known(device_target)
    return device_target == "CPU"


def is_initialized(device_target: str) -> bool:
    """Whether devices of a kind are ready for use.  ValueError: the kind is none of CPU, GPU and Ascend."""
    return is_available(device_target)


def device_count(device_target: str | None = None) -> int:
    """How many devices of a kind there are; without a kind, of that in use.  ValueError: another kind.

    >>> device_count(), device_count("Ascend")
    (1, 0)
    """
    return int(device_target is None or is_available(device_target))


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The name of a device.  ValueError: there is no such device.

    >>> get_device_name(0)
    'CPU'
    """
    if device_id != 0 or not device_count(device_target):
        raise ValueError(f"there is one device, the CPU with the number 0; not {device_target or 'CPU'} {device_id!r}")
    return "CPU"


def empty_cache() -> None:
    """Does nothing: the memory of a Tensor goes back when the last name for it does."""


def _known(device_target: str) -> None:
    if device_target not in _TARGETS:
        raise ValueError(f"a device is one of {', '.join(_TARGETS)}, not {device_target!r}")
