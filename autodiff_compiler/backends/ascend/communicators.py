"""The communicator of a group of processes, which they make together when the group's first collective runs.

Its root info goes to the others over MPI.  For the group of all processes a table of ranks (RANK_TABLE_FILE) takes its
place, if there is one.
"""

from __future__ import annotations

import os

import numpy as np

from ...collectives import Group, agree, transfer, world
from ...collectives.group import WORLD_NAMES
from ...errors import AscendError
from . import rank_table
from .device import Device
from .hccl import ROOT_INFO_BYTES, Communicator, root_info

#: HCCL's variable for reductions in a fixed order, read when a communicator begins.
_DETERMINISTIC = "HCCL_DETERMINISTIC"


def communicator(device: Device, group: Group, loc: str) -> Communicator:
    """The group's communicator on this device; AscendError or CollectiveError where it cannot be made."""
    group.check()
    with device.order:
        found: Communicator | None = next((held for held in device.held if held.group is group), None)
        return _begun(device, group, loc) if found is None else found


def _begun(device: Device, group: Group, loc: str) -> Communicator:
    _close_unused(device)
    if device.deterministic:
        os.environ.setdefault(_DETERMINISTIC, "true")
    table = _table(device, group)
    if table is not None:
        made = Communicator.by_table(device, group.rank, group.size, table.path, loc)
    else:
        made = Communicator.by_root_info(device, group.rank, group.size, _spread(device, group, loc), loc)
    made.group = group
    return made


def _close_unused(device: Device) -> None:
    """Closes the communicators of groups that are no more: each holds hundreds of megabytes of the device."""
    unused = [held for held in device.held if held.group is not None and not _exists(held.group)]
    if unused:
        device.synchronize()
    for held in unused:
        held.close()
        device.held.remove(held)


def _exists(group: Group) -> bool:
    try:
        return world.group(group.name) is group
    except ValueError:
        return False


def _spread(device: Device, group: Group, loc: str) -> bytes:
    """The root info that the group's first process makes, on all of them."""
    told, failed = np.zeros(1 + ROOT_INFO_BYTES, np.uint8), None
    if group.rank == 0:
        try:
            told[1:] = np.frombuffer(root_info(device, loc), np.uint8)
            told[0] = 1
        except AscendError as error:
            failed = error  # the others wait for something
    told = transfer.broadcast(told, 0, group, at=loc)
    if failed is not None:
        raise failed
    if not told[0]:
        raise AscendError(
            text=f"process {group.ranks[0]} could not begin the communicator of {group.name!r}: see there"
        )
    return told[1:].tobytes()


def _table(device: Device, group: Group) -> rank_table.RankTable | None:
    """The table of ranks that the environment names, which is the same for all processes; None where there is none."""
    path = os.environ.get(rank_table.TABLE_VARIABLE, "")
    found = failed = None
    said = "no rank table\n"
    if group.name not in WORLD_NAMES:
        return None
    if path:
        try:
            found = rank_table.read(path)
            said = "".join(f"rank {rank}: {place}\n" for rank, place in enumerate(found.places))
            found.check(group.rank, group.size, device.number)
        except AscendError as error:
            failed = error
    try:
        agree("rank tables", said, group)
    finally:
        if failed is not None:
            raise failed
    return found
