"""Whether the processes make the same call: fingerprints that go over the control communicator beside the data."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any

import numpy as np

from ..environment import flag
from ..errors import CollectiveError
from .board import RUNNING, WAITING
from .group import Group
from .waiting import state, wait

__all__ = ["MOST_TAG", "Header", "ReceivedHeader", "SentHeader", "begin", "exchanged", "meet"]

#: The greatest tag of messages of the user's: MPI has 32767 at least, and that is where calls are told in full.
MOST_TAG = 32766
_TOLD = 32767
_BYTES, _TEXT = 16, 512
#: How long processes that have seen a difference wait for each other's calls, in seconds.
_PATIENCE = 5.0


def begin(group: Group, text: str, call: str, counts: tuple[Any, Any] | None = None) -> Header | None:
    """Starts to compare a call with those of the others; None where that is switched off."""
    return Header(group, text, call, counts) if flag("AC_CHECK_COLLECTIVES", True) else None


class Header:
    """The fingerprint of one call, on its way to all of the group.  `call` is the call with its line.

    `counts` are the numbers of rows that go to and come from each process: they fit pair by pair.
    """

    def __init__(self, group: Group, text: str, call: str, counts: tuple[Any, Any] | None) -> None:
        self._group, self._call = group, call
        self._mine = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=_BYTES).digest(), np.uint8)
        self._all = np.empty((group.size, _BYTES), np.uint8)
        self.requests = [group.control.Iallgather(self._mine, self._all)]
        self._counts = None if counts is None else np.empty((group.size, 2, group.size), np.int64)
        if counts is not None:
            self._given = np.array(counts, np.int64)
            self.requests.append(group.control.Iallgather(self._given, self._counts))
        self._seen = False

    def wait(self, timeout: float | None = None) -> None:
        """Returns when all have called the same.  CollectiveError if they have not."""
        wait(self.requests, self._group, self._call, timeout)
        self.look()

    def look(self) -> None:
        """Compares, if the fingerprints have come."""
        if self._seen or not state.mpi.Request.Testall(self.requests):
            return
        self._seen = True
        if (self._all != self._mine).any():
            raise self._different()
        if self._counts is not None and (self._counts[:, 0] != self._counts[:, 1].T).any():
            source, to = np.argwhere(self._counts[:, 0] != self._counts[:, 1].T)[0]
            ranks, (sent, expected) = self._group.ranks, (self._counts[source, 0, to], self._counts[to, 1, source])
            raise CollectiveError(
                f"{self._call}: process {ranks[source]} sends {sent} rows to {ranks[to]}, which expects {expected}",
                code="AC3002",
                hint="`receive_counts[i]` of process j is `send_counts[j]` of process i",
            )

    def _different(self) -> CollectiveError:
        said = exchanged(self._group, self._call)
        ranks = self._group.ranks
        return CollectiveError(
            f"the processes of {self._group.name!r} do not make the same call",
            code="AC3002",
            notes=[f"process {rank} calls {text}" for rank, text in zip(ranks, said, strict=True)],
            hint="let all processes make the same calls in one order, with the same shapes and dtypes",
        )


class SentHeader:
    """What a message of one process to another is, sent before it."""

    def __init__(self, group: Group, to: int, tag: int, text: str, call: str) -> None:
        self._data = _padded(f"{text}\n{call}")
        self.requests = [group.control.Isend(self._data, to, tag)]

    def wait(self, timeout: float | None = None) -> None:
        """Nothing to wait for: who receives looks."""

    def look(self) -> None:
        """Nothing to look at."""


class ReceivedHeader:
    """What a message is that another process sends, and what is expected."""

    def __init__(self, group: Group, source: int, tag: int, text: str, call: str) -> None:
        self._group, self._source, self._text, self._call = group, source, text, call
        self._data = np.zeros(_TEXT, np.uint8)
        self.requests = [group.control.Irecv(self._data, source, tag)]
        self._seen = False

    def wait(self, timeout: float | None = None) -> None:
        """Returns when the message is announced.  CollectiveError if it is another one than is expected."""
        wait(self.requests, self._group, self._call, timeout, (self._group.ranks[self._source],))
        self.look()

    def look(self) -> None:
        """Compares, if the announcement has come."""
        if self._seen or not state.mpi.Request.Testall(self.requests):
            return
        self._seen = True
        text, _, call = _text(self._data).partition("\n")
        if text != self._text:
            sender = self._group.ranks[self._source]
            raise CollectiveError(
                f"{self._call} does not fit what process {sender} sends",
                code="AC3002",
                notes=[f"process {sender} calls {call}"],
                hint="give `receive` the shape and dtype of what is sent",
            )


def exchanged(group: Group, text: str) -> list[str]:
    """The texts of all processes of a group, of those that tell theirs in time, each to each.

    Not a collective: processes whose calls differ may have begun others in the meantime.
    """
    mine, found = _padded(text), np.zeros((group.size, _TEXT), np.uint8)
    found[group.rank] = mine
    others = [rank for rank in range(group.size) if rank != group.rank]
    requests = [group.control.Irecv(found[rank], rank, _TOLD) for rank in others]
    requests += [group.control.Isend(mine, rank, _TOLD) for rank in others]
    with contextlib.suppress(CollectiveError):
        wait(requests, group, text, _PATIENCE)
    group.broken = ""
    return [_text(row) or "something else" for row in found]


def _padded(text: str) -> np.ndarray[Any, Any]:
    data = np.zeros(_TEXT, np.uint8)
    written = np.frombuffer(text.encode()[:_TEXT], np.uint8)
    data[: len(written)] = written
    return data


def _text(data: np.ndarray[Any, Any]) -> str:
    return data.tobytes().rstrip(b"\0").decode(errors="replace")


def meet(world: Group, ranks: tuple[int, ...], tag: int, call: str) -> None:
    """Returns when all of these processes have made the same call.  CollectiveError if they have not.

    Each tells each, as those that are named by one only make no collective of it.
    """
    mine, others = _padded(call), [rank for rank in ranks if rank != world.rank]
    found = np.zeros((len(others), _TEXT), np.uint8)
    requests = [world.data.Irecv(row, rank, tag) for row, rank in zip(found, others, strict=True)]
    requests += [world.data.Isend(mine, rank, tag) for rank in others]
    board: Any = state.board
    board.now(WAITING, call)

    def look() -> None:
        for rank, row in zip(others, found, strict=True):
            if row[0] and (row != mine).any():
                raise CollectiveError(
                    f"the processes of a group do not make the same call: {call} here",
                    code="AC3002",
                    notes=[f"process {rank} calls {_text(row)}"],
                    hint="let all processes of a group name the same ranks in one order",
                )

    try:
        wait(requests, world, call, None, tuple(others), look)
        look()
    finally:
        board.now(RUNNING)
