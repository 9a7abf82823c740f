"""MindSpore's module `communication`, for a single process: rank 0 of 1."""

from __future__ import annotations

from .config import called_outside

__all__ = [
    "HCCL_WORLD_COMM_GROUP",
    "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP",
    "GlobalComm",
    "create_group",
    "destroy_group",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_process_group_ranks",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "release",
]

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP = "hccl_world_group", "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"
_WORLD = (HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP)
_groups = set(_WORLD)


class GlobalComm:
    """The names of the communication library and of the group of all processes, as in MindSpore on a CPU."""

    BACKEND = "mccl"
    WORLD_COMM_GROUP = MCCL_WORLD_COMM_GROUP


@called_outside
def init(backend_name: str | None = None) -> None:
    """Begins: there is nobody to wait for.

    TypeError: `backend_name` is no string.  ValueError: it is none of hccl, nccl and mccl.

    >>> init(); get_rank(), get_group_size()
    (0, 1)
    """
    if backend_name is None:
        return
    if not isinstance(backend_name, str):
        raise TypeError(f"`backend_name` is a string, not a {type(backend_name).__name__}")
    if backend_name not in ("hccl", "nccl", "mccl"):
        raise ValueError(f"`backend_name` is one of hccl, nccl and mccl, not {backend_name!r}")


@called_outside
def release() -> None:
    """Ends: all groups that were created are gone."""
    _groups.intersection_update(_WORLD)


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process in a group: 0.  ValueError: there is no such group."""
    _known(group)
    return 0


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process among those of a group on this machine: 0.  ValueError: there is no such group."""
    _known(group)
    return 0


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """How many processes are in a group: 1.  ValueError: there is no such group."""
    _known(group)
    return 1


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """How many processes of a group are on this machine: 1.  ValueError: there is no such group."""
    _known(group)
    return 1


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """The processes of a group: [0].  ValueError: there is no such group."""
    _known(group)
    return [0]


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The number among all processes of one of a group: 0.  ValueError: there is no such group or process."""
    _known(group)
    return _zero("group_rank_id", group_rank_id)


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The number in a group of one of all processes: 0.  ValueError: there is no such group or process."""
    _known(group)
    return _zero("world_rank_id", world_rank_id)


@called_outside
def create_group(group: str, rank_ids: list[int]) -> None:
    """Makes a group of processes, which can have process 0 only.

    TypeError: no string, or no list.  ValueError: other processes, or a group that there is already.

    >>> create_group("mine", [0]); get_group_size("mine"); destroy_group("mine")
    1
    """
    if not isinstance(group, str) or not isinstance(rank_ids, list):
        raise TypeError("create_group() takes the name of a group and a list of the numbers of its processes")
    if group in _groups:
        raise ValueError(f"there is a group {group!r} already")
    if rank_ids != [0]:
        raise ValueError(f"there is one process, number 0: a group cannot have the processes {rank_ids}")
    _groups.add(group)


@called_outside
def destroy_group(group: str) -> None:
    """Forgets a group.  ValueError: there is none of that name, or it is that of all processes."""
    _known(group)
    if group in _WORLD:
        raise ValueError(f"{group!r} is the group of all processes, which stays")
    _groups.remove(group)


def _known(group: str) -> None:
    if group not in _groups:
        raise ValueError(f"there is no group {group!r}; there are {', '.join(sorted(_groups))}")


def _zero(parameter: str, rank: int) -> int:
    if rank != 0:
        raise ValueError(f"there is one process, number 0: `{parameter}` cannot be {rank}")
    return 0
