"""MindSpore's module `context`: execution mode, device, settings of the process, and of parallel training."""

from __future__ import annotations

import difflib
from typing import Any, NamedTuple

from .config import GRAPH_MODE, PYNATIVE_MODE, asks_settings, called_outside, context, get_context, set_context

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


# ------------------------------------------------------------------------------------------------ parallel training
class ParallelMode:
    """The ways of training on several devices; `STAND_ALONE` is the only one here."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


#: MindSpore's settings with the values that mean one device.
_PARALLEL: dict[str, Any] = {
    "all_reduce_fusion_config": [],
    "auto_parallel_search_mode": "recursive_programming",
    "dataset_strategy": "data_parallel",
    "device_num": 1,
    "enable_alltoall": False,
    "enable_parallel_optimizer": False,
    "full_batch": False,
    "global_rank": 0,
    "gradient_fp32_sync": True,
    "gradients_mean": False,
    "parallel_mode": ParallelMode.STAND_ALONE,
    "parallel_optimizer_config": {},
    "parameter_broadcast": False,
    "pipeline_stages": 1,
    "search_mode": "recursive_programming",
    "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "",
}
#: Settings whose presence alone means several devices.
_ONE_DEVICE = ("device_num", "global_rank", "parallel_mode", "pipeline_stages")
_chosen = dict(_PARALLEL)


@called_outside
def set_auto_parallel_context(**kwargs: Any) -> None:
    """Keeps MindSpore's settings of parallel training as long as they mean one device; they change nothing then.

    NotImplementedError: several devices.  ValueError: a setting or parallel mode that MindSpore does not know.

    >>> set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE, gradients_mean=True)
    >>> get_auto_parallel_context("gradients_mean")
    True
    >>> reset_auto_parallel_context()
    """
    for name, value in kwargs.items():
        _known(name)
        if name == "parallel_mode" and value not in ParallelMode.MODE_LIST:
            raise ValueError(f"parallel_mode is one of {', '.join(ParallelMode.MODE_LIST)}, not {value!r}")
        if name in _ONE_DEVICE and value != _PARALLEL[name]:
            raise NotImplementedError(
                f"{name}={value!r}: training on several devices is not supported; leave it at {_PARALLEL[name]!r}"
            )
    _chosen.update(kwargs)


@asks_settings
def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of one setting of parallel training; ValueError if there is none of that name."""
    _known(attr_key)
    return _chosen[attr_key]


@called_outside
def reset_auto_parallel_context() -> None:
    """All settings of parallel training begin again."""
    _chosen.update(_PARALLEL)


def _known(name: str) -> None:
    if name not in _PARALLEL:
        close = difflib.get_close_matches(name, _PARALLEL, 1)
        raise ValueError(
            f"there is no setting {name!r} of parallel training" + (f"; did you mean {close[0]!r}?" if close else "")
        )


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
