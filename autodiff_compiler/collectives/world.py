"""The processes: which MPI, which of them this one is, and groups of them by name."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CollectiveError
from ..version import __version__
from . import check, exits
from .agreement import agree
from .board import Board
from .group import WORLD_NAMES, Group
from .start import launched, start_mpi
from .waiting import state

__all__ = [
    "WORLD_NAMES",
    "as_group",
    "check_process",
    "create_group",
    "destroy_group",
    "group",
    "init",
    "is_initialized",
    "local_ranks",
    "release",
]

#: The group of all processes, and those that were made, by name.
_groups: dict[str, Group] = {}
_world: Group | None = None


def init() -> None:
    """Finds the other processes; all call it together.  Calling it again does nothing.

    Starts MPI if a launcher (`mpiexec`, `mpirun`, `srun`) started this process; otherwise there is one process.
    CollectiveError: many were started, but mpi4py or its MPI is missing or another one; or the processes have different
    versions of Python, NumPy or this package.
    """
    global _world
    if _world is not None:
        return
    if launched() == 1:
        _world = Group(WORLD_NAMES[0], (0,), 0)
        return
    check_process()
    mpi = start_mpi()
    comm = mpi.COMM_WORLD
    state.mpi = mpi
    state.board = Board(mpi)
    _world = Group(WORLD_NAMES[0], tuple(range(comm.size)), comm.rank, comm.Dup(), comm.Dup())
    exits.prepare(_world)
    agree("versions", _versions(), _world)


def _versions() -> str:
    return f"autodiff_compiler {__version__}\nPython {platform.python_version()}\nNumPy {np.__version__}\n"


def release() -> None:
    """Forgets all groups but that of all processes; all call it together."""
    for name in list(_groups):
        _groups.pop(name).close()


def is_initialized() -> bool:
    """Whether `init` was called."""
    return _world is not None


def group(name: str) -> Group:
    """A group by its name.  ValueError: there is none.  CollectiveError: many processes, and `init` was not called."""
    if name in WORLD_NAMES:
        if _world is None:
            if launched() > 1:
                raise CollectiveError(
                    "many processes were started, but this one has not looked for the others yet",
                    code="AC3005",
                    hint="call `communication.init()` first",
                )
            init()
        assert _world is not None
        return _world
    if name not in _groups:
        raise ValueError(f"there is no group {name!r}; there are {', '.join(sorted((*WORLD_NAMES, *_groups)))}")
    return _groups[name]


def as_group(found: Group | str) -> Group:
    """The group of that name, or the group itself."""
    return found if isinstance(found, Group) else group(found)


def create_group(name: str, ranks: Sequence[int]) -> Group:
    """Makes a group; all of its processes call it together, and others may, for whom `rank` is -1.

    ValueError: there is a group of that name, or no such process, or one twice.  CollectiveError: its processes name
    different ranks.
    """
    world, chosen = group(WORLD_NAMES[0]), tuple([int(r) for r in ranks])
    if name in _groups or name in WORLD_NAMES:
        raise ValueError(f"there is a group {name!r} already")
    if not chosen or len(set(chosen)) != len(chosen):
        raise ValueError(f"a group has one process at least, and each once, not {list(chosen)}")
    missing = [r for r in chosen if not 0 <= r < world.size]
    if missing:
        known = "one process, number 0" if world.size == 1 else f"{world.size} processes, 0 to {world.size - 1}"
        raise ValueError(f"there is {known}: a group cannot have the processes {list(chosen)}")
    rank = chosen.index(world.rank) if world.rank in chosen else -1
    if rank < 0 or len(chosen) == 1:
        made = Group(name, chosen, rank)
    else:
        made = Group(name, chosen, rank, *_communicators(name, chosen, world))
    _groups[name] = made
    return made


def _communicators(name: str, ranks: tuple[int, ...], world: Group) -> tuple[Any, Any]:
    """Two communicators of these processes, which all have come and mean the same."""
    check_process()
    tag = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=2).digest(), "little") % check.MOST_TAG
    check.meet(world, ranks, tag, f"create_group({name!r}, {list(ranks)})")
    chosen = world.control.Get_group().Incl(ranks)
    data = world.data.Create_group(chosen, tag)
    chosen.Free()
    return data, data.Dup()


def destroy_group(name: str) -> None:
    """Forgets a group; all of its processes call it together.  ValueError: there is none, or it is that of all."""
    found = group(name)
    if name in WORLD_NAMES:
        raise ValueError(f"{name!r} is the group of all processes, which stays")
    del _groups[name]
    found.close()


def local_ranks(found: Group) -> tuple[int, ...]:
    """The processes of a group that are on this machine, by their numbers in the group."""
    here = (0,) if state.board is None else state.board.local
    return tuple([i for i, rank in enumerate(found.ranks) if rank in here])


def check_process() -> None:
    """Raises CollectiveError in a child by fork, which has no part in the communication of its parent."""
    if state.forked:
        raise CollectiveError(
            "this process is a fork of one that talks to others, and cannot do so itself",
            code="AC3005",
            hint="call collectives in the process that was started; start workers by spawn",
        )
