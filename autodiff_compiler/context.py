"""MindSpore's module `context`: execution mode, device, settings of the process, and of parallel training."""

from __future__ import annotations

from typing import Any, NamedTuple

from .config import GRAPH_MODE, PYNATIVE_MODE, asks_settings, called_outside, context, get_context, set_context
from .data_parallel.settings import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

__all__ = [
    "COMPATIBLE",
    "GRAPH_MODE",
    "LAX",
    "PYNATIVE_MODE",
    "STRICT",
    "Device",
    "ParallelMode",
    "get_auto_parallel_context",
    "get_context",
    "get_current_device",
    "launch_blocking",
    "reset_auto_parallel_context",
    "run_check",
    "set_auto_parallel_context",
    "set_context",
    "set_deterministic",
    "set_device",
    "set_recursion_limit",
    "synchronize",
]

#: How much of Python compiled code may use, for the setting `jit_syntax_level`; here it may always use all.
STRICT, COMPATIBLE, LAX = 0, 1, 2


# ------------------------------------------------------------------------------------------------ devices
class Device(NamedTuple):
    """Where operations run."""

    device_target: str
    device_id: int


@called_outside
def set_device(device_target: str, device_id: int | None = None) -> None:
    """Chooses the device for all operations of all threads: the "CPU", or "Ascend" with a number of an accelerator (0).

    TypeError: the name is no string, the number no int.  ValueError: no device of that name or number.
    RuntimeError (of an Ascend device AscendError): it cannot be used, with the reason; then the one in use stays.

    >>> set_device("CPU"); get_current_device()
    Device(device_target='CPU', device_id=0)
    """
    if not isinstance(device_target, str):
        raise TypeError(f"device_target is a string, not {type(device_target).__name__}")
    number = 0 if device_id is None else device_id
    context.check("device_id", number)
    context.check("device_target", device_target)
    if number != 0 and device_target == "CPU":
        raise ValueError(f"there is one CPU device, its number is 0, not {number}")
    context.set(device_target=device_target, device_id=number)


@asks_settings
def get_current_device() -> Device:
    """The device that operations run on."""
    return Device(context.device_target, context.get("device_id"))


def synchronize() -> None:
    """Waits until all operations are done: on the CPU they are.  AscendError: one of a device failed."""
    if context.device_target != "CPU":
        from .backends.ascend.device import started  # not needed on the CPU, and slow to import

        for device in started():
            device.synchronize()


def launch_blocking() -> None:
    """Lets every operation wait for its result, as the setting `pynative_synchronize` does; on the CPU all do."""
    if context.device_target != "CPU":
        context.set(pynative_synchronize=True)


@called_outside
def set_deterministic(deterministic: bool) -> None:
    """Sets whether runs repeat exactly: on the CPU all do, a device may be slower then.  TypeError: it is no bool."""
    if not isinstance(deterministic, bool):
        raise TypeError(f"deterministic is a bool, not {type(deterministic).__name__}")
    context.set(deterministic="ON" if deterministic else "OFF")


@called_outside
def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """MindSpore's setting `max_call_depth`; here there is room for as many calls as Python itself can make."""
    context.set(max_call_depth=recursion_limit)


# ------------------------------------------------------------------------------------------------ a first try
@called_outside
def run_check() -> None:
    """Compiles a function with a loop, compares its derivative with that of eager mode, and says where it ran.

    RuntimeError: they differ.

    >>> run_check()
    autodiff_compiler works on CPU: a compiled derivative has the right value.
    """
    from .runtime.tensor import Tensor  # a program that only sets the mode need not load these
    from .transforms.grad import grad
    from .transforms.jit import jit

    def cube(x: Any) -> Any:
        product = x
        for _ in range(2):
            product = product * x
        return product

    found = jit(grad(cube))(Tensor(2.0)).item()
    if found != 12.0:
        raise RuntimeError(f"the derivative of x * x * x at 2 is 12, and was computed as {found}")
    print(f"{__package__} works on {context.device_target}: a compiled derivative has the right value.")
