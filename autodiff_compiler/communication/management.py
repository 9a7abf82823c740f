"""The processes and their groups, by MindSpore's names; alone, this process is number 0 of 1."""

from __future__ import annotations

from ..collectives import world
from ..config import called_outside

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

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = world.WORLD_NAMES


class GlobalComm:
    """The names of the communication library and of the group of all processes, as in MindSpore on a CPU."""

    BACKEND = "mccl"
    WORLD_COMM_GROUP = MCCL_WORLD_COMM_GROUP


@called_outside
def init(backend_name: str | None = None) -> None:
    """Finds the other processes, which all call it; without a launcher there are none.

    `backend_name` is one of MindSpore's: the processes talk through MPI whatever it is.  TypeError: it is no string.
    ValueError: it is none of hccl, nccl and mccl.  CollectiveError: many processes were started, but mpi4py is missing
    (`pip install "autodiff-compiler[mpi]"`) or uses another MPI, or versions differ.

    >>> init(); get_rank(), get_group_size()
    (0, 1)
    """
    if backend_name is not None and not isinstance(backend_name, str):
        raise TypeError(f"`backend_name` is a string, not a {type(backend_name).__name__}")
    if backend_name not in (None, "hccl", "nccl", "mccl"):
        raise ValueError(f"`backend_name` is one of hccl, nccl and mccl, not {backend_name!r}")
    world.init()


@called_outside
def release() -> None:
    """Ends: all groups that were created are gone.  All processes call it."""
    world.release()


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process in a group.

    In compiled code it is a constant.  ValueError: there is no such group.  CollectiveError: this process is not in it,
    or many were started and `init` was not called.
    """
    found = world.group(group)
    found.check_member()
    return found.rank


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process among those of a group on this machine; errors as of `get_rank`."""
    return world.local_ranks(world.group(group)).index(get_rank(group))


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """How many processes are in a group.  ValueError: there is no such group."""
    return world.group(group).size


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """How many processes of a group are on this machine.  ValueError: there is no such group."""
    return len(world.local_ranks(world.group(group)))


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """The processes of a group, by their numbers among all.  ValueError: there is no such group."""
    return list(world.group(group).ranks)


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The number among all processes of one of a group.  ValueError: there is no such group or process."""
    ranks = world.group(group).ranks
    if group_rank_id not in range(len(ranks)):
        raise ValueError(f"the group {group!r} has processes 0 to {len(ranks) - 1}: there is no {group_rank_id}")
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The number in a group of one of all processes.  ValueError: there is no such group, or it is not in it."""
    ranks = world.group(group).ranks
    if world_rank_id not in ranks:
        raise ValueError(f"the group {group!r} has the processes {list(ranks)}: {world_rank_id} is not in it")
    return ranks.index(world_rank_id)


@called_outside
def create_group(group: str, rank_ids: list[int]) -> None:
    """Makes a group of processes, which all call this; others may call it, too, and are not in it.

    TypeError: no string, or no list.  ValueError: no such processes, or a group that there is already.
    CollectiveError: its processes name different ranks.

    >>> create_group("mine", [0]); get_group_size("mine"); destroy_group("mine")
    1
    """
    if not isinstance(group, str) or not isinstance(rank_ids, list):
        raise TypeError("create_group() takes the name of a group and a list of the numbers of its processes")
    world.create_group(group, rank_ids)


@called_outside
def destroy_group(group: str) -> None:
    """Forgets a group.  ValueError: there is none of that name, or it is that of all processes."""
    world.destroy_group(group)
