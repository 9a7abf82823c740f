"""Where each process is, for all to read: a record per process in memory that the processes of a machine share.

A process writes to its own record only, and needs nobody to do so; others read it whether or not it comes to MPI.  The
records of other machines are read through a window of MPI; what does not come within a second is unknown.
"""

from __future__ import annotations

import os
import struct
import time
from typing import Any, NamedTuple

__all__ = ["GIVEN_UP", "LEFT", "RUNNING", "WAITING", "Board", "Place"]

RUNNING, WAITING, LEFT, GIVEN_UP = range(4)
_TEXT = 220
#: process, state, seconds, what it does in words; then seconds, and the line that it runs
_CALL, _LINE = struct.Struct(f"=qqd{_TEXT}s"), struct.Struct(f"=d{_TEXT}s")
_SIZE = 512
#: How long a record of another machine is waited for, in seconds.
_PATIENCE = 1.0


class Place(NamedTuple):
    """Where a process is: its state and since when, its last collective, and the line that runs, as of `seen`."""

    state: int
    since: float
    call: str
    seen: float
    line: str


class Board:
    """The records of all processes."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        world = mpi.COMM_WORLD
        self._local = world.Split_type(mpi.COMM_TYPE_SHARED)
        #: the numbers among all processes of those on this machine
        self.local: tuple[int, ...] = tuple(self._local.allgather(world.rank))
        self._shared = mpi.Win.Allocate_shared(_SIZE, 1, comm=self._local)
        self._records: dict[int, Any] = {rank: self._shared.Shared_query(i)[0] for i, rank in enumerate(self.local)}
        self._mine = self._records[world.rank]
        self._remote: Any = mpi.Win.Create(self._mine, 1, comm=world) if len(self.local) < world.size else None
        if self._remote is not None:
            self._remote.Lock_all(mpi.MODE_NOCHECK)  # all the time: to unlock one waits for who is read
        self._call = "none so far"
        self.line("")
        self.now(RUNNING, self._call)
        world.Barrier()
        #: processes here whose numbers mean to this one what they mean to the system; in a container they may not
        self._seen_alive = {rank for rank in self.local if _alive(self._process(rank))}

    def now(self, state: int, call: str | None = None) -> None:
        """Says what this process does from now on."""
        if call is not None:
            self._call = call
        _CALL.pack_into(self._mine, 0, os.getpid(), state, time.time(), _cut(self._call))

    def line(self, text: str) -> None:
        """Says which line this process runs now."""
        _LINE.pack_into(self._mine, _CALL.size, time.time(), _cut(text))

    def here(self) -> Place:
        """Where this process is."""
        return _place(self._mine)

    def of(self, rank: int) -> Place | None:
        """Where a process is; None where it cannot be read."""
        record = self._records.get(rank)
        if record is None:
            record = self._fetched(rank)
        return None if record is None else _place(record)

    def died(self, rank: int) -> bool:
        """Whether a process of this machine has ended without a word."""
        return rank in self._seen_alive and not _alive(self._process(rank))

    def gone(self, ranks: tuple[int, ...]) -> list[int]:
        """Those processes of this machine among `ranks` that have left or died."""
        known = [rank for rank in ranks if rank in self._records]
        return [rank for rank in known if _place(self._records[rank]).state == LEFT or self.died(rank)]

    def close(self) -> None:
        """Gives the memory back; all processes do so together."""
        self._records.clear()
        self._mine = bytearray(_SIZE)
        if self._remote is not None:
            self._remote.Unlock_all()
            self._remote.Free()
        self._shared.Free()
        self._local.Free()

    def _process(self, rank: int) -> int:
        return int(_CALL.unpack_from(self._records[rank])[0])

    def _fetched(self, rank: int) -> bytearray | None:
        """The record of a process on another machine."""
        found, end = bytearray(_SIZE), time.monotonic() + _PATIENCE
        request = self._remote.Rget(found, rank)
        while not request.Test():
            if time.monotonic() > end:
                return None
            time.sleep(1e-3)
        return found


def _place(record: Any) -> Place:
    _, state, since, call = _CALL.unpack_from(record)
    seen, line = _LINE.unpack_from(record, _CALL.size)
    return Place(state, since, _text(call), seen, _text(line))


def _cut(text: str) -> bytes:
    data = text.encode()
    return data if len(data) <= _TEXT else b"..." + data[3 - _TEXT :]  # the end of a path says more than its beginning


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode(errors="replace")


def _alive(process: int) -> bool:
    """Whether there is a process of this number that has not ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] not in b"ZX"
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return False
    except OSError:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
