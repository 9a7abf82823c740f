"""Many processes: which there are, collectives of NumPy arrays on MPI, and what goes wrong between processes.

`world` knows the processes and groups, `transfer` moves arrays, `agreement` compares texts.  Nothing of MPI is imported
before `init`; where no launcher started this process, it is alone, and every collective is the identity.
"""

from __future__ import annotations

from .agreement import agree
from .group import Group
from .waiting import Handle
from .world import create_group, destroy_group, group, init, is_initialized, local_ranks, release

__all__ = [
    "Group",
    "Handle",
    "agree",
    "create_group",
    "destroy_group",
    "group",
    "init",
    "is_initialized",
    "local_ranks",
    "release",
]
