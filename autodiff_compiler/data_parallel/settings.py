"""The settings of parallel training, and what they mean for the processes that there are."""

from __future__ import annotations

import difflib
import itertools
from typing import Any, NamedTuple

from ..collectives import world
from ..collectives.group import WORLD_NAMES, Group
from ..collectives.start import launched
from ..config import asks_settings, called_outside
from ..errors import kind_of
from ..runtime.random import generator

__all__ = [
    "Fusion",
    "ParallelMode",
    "fusion",
    "get_auto_parallel_context",
    "is_data_parallel",
    "processes",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
    "shards_optimizers",
    "together",
]


class ParallelMode:
    """The ways of training with several processes.

    Here there are `STAND_ALONE`, where every process trains by itself, and `DATA_PARALLEL`, where each computes with a
    part of the batch and gradients are those of all parts.  `HYBRID_PARALLEL` is the latter without the Parameters that
    are `layerwise_parallel`.
    """

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


#: The name of the group of all processes.
WORLD = WORLD_NAMES[0]
#: MindSpore's settings and their values at the start.  `device_num` and `global_rank` are those of the processes that
#: there are, unless they were set.
_PARALLEL: dict[str, Any] = {
    "all_reduce_fusion_config": [],
    "auto_parallel_search_mode": "recursive_programming",
    "comm_fusion": {},
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
_FLAGS = ("enable_parallel_optimizer", "gradient_fp32_sync", "gradients_mean", "parameter_broadcast")
#: Bounds of MindSpore's.
_COUNTS = {"device_num": (1, 4096), "global_rank": (0, 4095), "pipeline_stages": (1, 4096)}
#: Modes in which every process trains the whole network with a part of the batch.
_OF_DATA = (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL)
#: Bytes of gradients that travel together, as in MindSpore.
_TOGETHER = 64 * 2**20
_chosen = dict(_PARALLEL)
#: The names that were set since the last reset.
_named: set[str] = set()


@called_outside
def set_auto_parallel_context(**kwargs: Any) -> None:
    """Sets how several processes train together; call it before networks, optimizers and train steps are made.

    `parallel_mode` "data_parallel": every process computes with its own part of the batch, and train steps use the sum
    of the gradients, with `gradients_mean` their mean.  `parameter_broadcast`: the first step begins with the
    Parameters of process 0.  `enable_parallel_optimizer`: the state of an optimizer is cut into as many parts as there
    are processes, each of which has one.  In eager code gradients travel in groups of at most 64 MB; compiled
    code begins to send them while the backward pass goes on.  Or both have groups as `comm_fusion` says
    (``{"allreduce": {"mode": "size", "config": megabytes}}``), or groups that end with the gradients whose numbers
    `all_reduce_fusion_config` lists.  `gradient_fp32_sync` changes nothing: sums of 16-bit floats are added in float32
    and rounded once.  `device_num` and `global_rank` need not be set; they must be those of the processes.  The other
    settings change nothing.

    NotImplementedError: a network would be cut (semi_auto_parallel, auto_parallel, `pipeline_stages`).  ValueError: a
    setting or mode that MindSpore does not know, or not the number of processes.  TypeError: a value of another type.
    Nothing is changed then.

    >>> set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)
    >>> get_auto_parallel_context("gradients_mean"), get_auto_parallel_context("device_num")
    (True, 1)
    >>> reset_auto_parallel_context()
    """
    for name, value in kwargs.items():
        _check(name, value)
    if world.is_initialized() or launched() == 1:
        _check_processes({**_chosen, **kwargs}, _named | set(kwargs))
    _chosen.update(kwargs)
    _named.update(kwargs)


@asks_settings
def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of one setting of parallel training; ValueError if there is none of that name.

    Unless they were set, `device_num` and `global_rank` are the number of processes and of this one.
    """
    _known(attr_key)
    if attr_key in ("device_num", "global_rank") and attr_key not in _named and world.is_initialized():
        everybody = world.group(WORLD)
        return everybody.size if attr_key == "device_num" else everybody.rank
    return _chosen[attr_key]


@called_outside
def reset_auto_parallel_context() -> None:
    """All settings of parallel training begin again."""
    _chosen.update(_PARALLEL)
    _named.clear()


# ------------------------------------------------------------------------------------------------ what they mean
def is_data_parallel() -> bool:
    """Whether train steps combine the gradients of all processes."""
    return _chosen["parallel_mode"] in _OF_DATA


def processes() -> Group:
    """All processes, which communicate from now on; ValueError if the settings name another number of them."""
    world.init()
    _check_processes(_chosen, _named)
    return world.group(WORLD)


def together() -> Group | None:
    """The processes that train one network, if there are several."""
    if not is_data_parallel():
        return None
    everybody = processes()
    return everybody if everybody.size > 1 else None


def shards_optimizers() -> bool:
    """Whether optimizers that are made now share their state over several processes."""
    return _chosen["enable_parallel_optimizer"] and together() is not None


class Fusion(NamedTuple):
    """Which gradients travel together: up to so many bytes, or where there are `splits` up to each of these numbers.

    `chosen`: the settings say so.
    """

    bytes: int
    splits: tuple[int, ...]
    chosen: bool


def fusion() -> Fusion:
    """How gradients are grouped, by `all_reduce_fusion_config` or by `comm_fusion`."""
    chosen = _chosen["comm_fusion"].get("allreduce", {})
    mode, config = chosen.get("mode", "auto"), chosen.get("config")
    splits = _chosen["all_reduce_fusion_config"] or (config if mode == "index" else [])
    return Fusion(config * 2**20 if mode == "size" else _TOGETHER, tuple(splits), bool(splits) or mode == "size")


def _rank() -> int | None:
    """The number of this process among those that train one network."""
    if not is_data_parallel() or not world.is_initialized():
        return None
    everybody = world.group(WORLD)
    return everybody.rank if everybody.size > 1 else None


generator.rank = _rank


def _check_processes(settings: dict[str, Any], named: set[str]) -> None:
    """Whether the settings that were given are those of the processes that there are."""
    everybody = world.group(WORLD)
    if "device_num" in named and settings["device_num"] != everybody.size:
        raise ValueError(
            f"device_num={settings['device_num']}, but {_counted(everybody.size)} started: leave it out, or start "
            f"`mpiexec -n {settings['device_num']} python ...`"
        )
    if "global_rank" in named and settings["global_rank"] != everybody.rank:
        raise ValueError(f"global_rank={settings['global_rank']}, but this is process {everybody.rank}: leave it out")


def _counted(size: int) -> str:
    return "one process was" if size == 1 else f"{size} processes were"


# ------------------------------------------------------------------------------------------------ checks
def _known(name: str) -> None:
    if name not in _PARALLEL:
        close = difflib.get_close_matches(name, _PARALLEL, 1)
        raise ValueError(
            f"there is no setting {name!r} of parallel training" + (f"; did you mean {close[0]!r}?" if close else "")
        )


def _check(name: str, value: Any) -> None:
    """Whether a setting can have a value here."""
    _known(name)
    if name == "parallel_mode":
        if value not in ParallelMode.MODE_LIST:
            raise ValueError(f"parallel_mode is one of {', '.join(ParallelMode.MODE_LIST)}, not {value!r}")
        if value not in (ParallelMode.STAND_ALONE, *_OF_DATA):
            raise NotImplementedError(
                f"parallel_mode={value!r} would cut the network into parts, which is not supported: with "
                "'data_parallel' every process has all of it, and a part of the batch"
            )
    elif name in _FLAGS:
        if not isinstance(value, bool):
            raise TypeError(f"{name} is a bool, not {kind_of(value)}")
    elif name in _COUNTS:
        _check_count(name, value)
    elif name == "all_reduce_fusion_config":
        _check_splits(name, value)
    elif name == "comm_fusion":
        _check_fusion(value)


def _check_count(name: str, value: Any) -> None:
    least, most = _COUNTS[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, not {kind_of(value)}")
    if not least <= value <= most:
        raise ValueError(f"{name} is from {least} to {most}, not {value}")
    if name == "pipeline_stages" and value != 1:
        raise NotImplementedError(
            f"pipeline_stages={value} would cut the network into stages, which is not supported: leave it out"
        )


def _check_splits(name: str, value: Any) -> None:
    if not isinstance(value, list) or any(isinstance(i, bool) or not isinstance(i, int) for i in value):
        raise TypeError(f"{name} is a list of ints, not {value!r}")
    if any(i < 0 for i in value) or any(a >= b for a, b in itertools.pairwise(value)):
        raise ValueError(f"{name} counts gradients upwards, each number once: not {value}")


def _check_fusion(value: Any) -> None:
    if not isinstance(value, dict) or not all(isinstance(chosen, dict) for chosen in value.values()):
        raise TypeError(
            f"comm_fusion is a dict as in {{'allreduce': {{'mode': 'auto', 'config': None}}}}, not {value!r}"
        )
    chosen = value.get("allreduce", {})
    mode, config = chosen.get("mode", "auto"), chosen.get("config")
    if mode == "index":
        _check_splits("config of comm_fusion", config)
    elif mode == "size":
        if isinstance(config, bool) or not isinstance(config, int) or config < 1:
            raise ValueError(f"config of comm_fusion is a number of MB, not {config!r}")
    elif mode != "auto":
        raise ValueError(f"mode of comm_fusion is 'auto', 'size' or 'index', not {mode!r}")
