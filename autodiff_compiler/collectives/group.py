"""Groups of processes."""

from __future__ import annotations

from typing import Any

from ..errors import CollectiveError
from ..locks import Lock

__all__ = ["WORLD_NAMES", "Group"]

#: The names of the group of all processes, as MindSpore has them.
WORLD_NAMES = ("hccl_world_group", "nccl_world_group", "mccl_world_group")


class Group:
    """Some of the processes: `ranks` are their numbers among all, `rank` is that of this process among them.

    `rank` is -1 where this process is not one of them.  Data goes over one communicator of MPI, what processes tell
    each other about their calls over another; a group of one process has none.
    """

    def __init__(self, name: str, ranks: tuple[int, ...], rank: int, data: Any = None, control: Any = None) -> None:
        self.name, self.ranks, self.rank, self.size = name, ranks, rank, len(ranks)
        self.data, self.control = data, control
        #: held while the messages of one collective are posted: in one order on both communicators
        self.lock = Lock()
        #: what went wrong in it; calls do not belong together any more
        self.broken = ""

    def __repr__(self) -> str:
        return f"Group({self.name!r}, {self.ranks}, rank={self.rank})"

    def check(self) -> None:
        """Raises CollectiveError where this process cannot call collectives of the group."""
        self.check_member()
        if self.broken:
            raise CollectiveError(
                f"the group {self.name!r} cannot be used after this: {self.broken}",
                code="AC3005",
                hint="start the program again",
            )

    def check_member(self) -> None:
        """Raises CollectiveError where this process is not in the group."""
        if self.rank < 0:
            raise CollectiveError(
                f"this process is not in the group {self.name!r}, which has {_listed(self.ranks)}",
                code="AC3005",
                hint="call it where `collectives.group(name).rank` is not negative",
            )

    def close(self) -> None:
        """Gives the communicators back."""
        for communicator in (self.data, self.control):
            if communicator is not None:
                communicator.Free()
        self.data = self.control = None


def _listed(ranks: tuple[int, ...]) -> str:
    return f"process {ranks[0]}" if len(ranks) == 1 else f"processes {', '.join(map(str, ranks))}"
