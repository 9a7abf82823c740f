"""Waiting for other processes: by asking again and again, so that a wait can end with who has not come.

MPI's own waits keep a core busy, which on a machine with more processes than cores belongs to somebody else, and they
cannot be interrupted.  Here the processor is given away between questions, and later slept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..environment import seconds
from ..errors import CollectiveError, CollectiveTimeoutError
from .board import GIVEN_UP, LEFT, WAITING, Place
from .group import Group

__all__ = ["Handle", "pending", "state", "timeout_now", "wait"]

#: How often a wait asks before it sleeps between questions (fewer asks made a sum of one number cost a sleep in each of
#: its rounds: 0.6 ms instead of 0.2), and how long it then sleeps, in seconds.
_ASKED_AT_ONCE = 2000
_FIRST_SLEEP, _LAST_SLEEP, _LATE_SLEEP = 2e-5, 2e-4, 1e-3
#: After so many seconds a wait is long: it looks, this often, who has gone.
_LONG = 0.1
#: Who has gone may have sent what is still under way: so long it is waited for.
_GRACE = 1.0
_TIMEOUT = 600.0


class State:
    """What there is once MPI runs: its module and the board; and whether this process is a child by fork."""

    mpi: Any = None
    board: Any = None
    forked = False


state = State()


def timeout_now() -> float:
    """How long a process waits for others, in seconds: AC_TIMEOUT, or ten minutes; 0 is for ever."""
    found = seconds("AC_TIMEOUT")
    return _TIMEOUT if found is None else found


def wait(
    requests: list[Any],
    group: Group,
    call: str,
    timeout: float | None = None,
    peers: tuple[int, ...] | None = None,
    look: Callable[[], None] | None = None,
) -> None:
    """Returns when all requests are done.  CollectiveError if they cannot be: after the timeout, or as one has gone.

    `call` says what this process does, `peers` whom it needs (the numbers among all processes; all of the group),
    `look` is called from time to time and may raise.
    """
    test = state.mpi.Request.Testall
    for _ in range(_ASKED_AT_ONCE):
        if test(requests):
            return
        os.sched_yield()
    watch = _Watch(group, call, peers, time.monotonic(), timeout_now() if timeout is None else timeout)
    try:
        _wait_long(requests, watch, look)
    except BaseException:
        abandoned.append(requests)  # which keep the arrays that MPI may still write into
        raise


def _wait_long(requests: list[Any], watch: _Watch, look: Callable[[], None] | None) -> None:
    """Sleeps between questions."""
    test, began = state.mpi.Request.Testall, watch.began
    sleep, asked = _FIRST_SLEEP, began + _LONG
    while not test(requests):
        time.sleep(sleep)
        now = time.monotonic()
        if look is not None:
            look()
        if now > asked:
            asked = now + _LONG
            watch.look(now)
        sleep = min(sleep * 1.2, _LAST_SLEEP if now - began < 1 else _LATE_SLEEP)


class _Watch:
    """One long wait: what makes it end without success."""

    def __init__(self, group: Group, call: str, peers: tuple[int, ...] | None, began: float, timeout: float) -> None:
        self.group, self.call, self.began, self.timeout = group, call, began, timeout
        self.board = state.board
        me = state.mpi.COMM_WORLD.rank
        self.peers = tuple([r for r in (group.ranks if peers is None else peers) if r != me])
        self.missed: float | None = None

    def look(self, now: float) -> None:
        """Raises where one of the peers has gone, or the time is over."""
        gone = self.board.gone(self.peers)
        if gone:
            self.missed = self.missed or now
            if now - self.missed > _GRACE:
                raise self._gone(gone)
        if self.timeout and now - self.began > self.timeout:
            raise self._late(now)

    def _gone(self, gone: list[int]) -> CollectiveError:
        said = []
        for rank in gone:
            place, died = self.board.of(rank), self.board.died(rank)
            left = place is not None and place.state == LEFT
            how = "left: its program has ended" if left or not died else "died without a word"
            said.append(f"process {rank} {how}; {_last(place)}")
        self.group.broken = f"process {gone[0]} is not there any more"
        message = f"{self.call} waits for {_named(gone)}, which will not come"
        hint = "let all processes make the same number of steps" if "left" in said[0] else "look for its own message"
        return CollectiveError(message, code="AC3003", notes=said, hint=hint)

    def _late(self, now: float) -> CollectiveTimeoutError:
        said, absent = [], []
        for rank in self.peers:
            place = self.board.of(rank)
            if place is None or place.state not in (WAITING, GIVEN_UP):
                absent.append(rank)
            said.append(f"process {rank} {_where(place)}")
        self.group.broken = f"{self.call} waited too long"
        whom = f" for {_named(absent)}" if absent else ""
        return CollectiveTimeoutError(
            f"{self.call} has waited {now - self.began:.0f} s{whom}",
            notes=said,
            hint="set AC_TIMEOUT to more seconds (0: for ever) if a process may take that long",
        )


def _named(ranks: list[int]) -> str:
    return f"process {ranks[0]}" if len(ranks) == 1 else f"processes {', '.join(map(str, ranks))}"


def _last(place: Place | None) -> str:
    return "where it was is not known" if place is None else f"its last call was {place.call}"


def _where(place: Place | None) -> str:
    """What a process does, in words."""
    if place is None:
        return "does not answer"
    ago = time.time() - place.since
    if place.state == WAITING:
        return f"waits since {ago:.0f} s in {place.call}"
    if place.state == GIVEN_UP:
        return f"has given up {ago:.0f} s ago; its last call was {place.call}"
    if place.state == LEFT:
        return f"has ended {ago:.0f} s ago; its last call was {place.call}"
    line = f"; it runs {place.line}" if place.line else ""
    silent = time.time() - place.seen
    quiet = f", of which nothing is known since {silent:.0f} s" if silent > 10 else ""
    return f"has not come: its last call, {ago:.0f} s ago, was {place.call}{line}{quiet}"


class Handle:
    """A collective that has begun: `wait` gives its array."""

    def __init__(
        self, result: Any, requests: Sequence[Any] = (), end: Callable[[float | None], None] | None = None
    ) -> None:
        self._result, self._requests, self._end = result, requests, end

    def wait(self, timeout: float | None = None) -> Any:
        """The array, when all processes that it needs have come.  CollectiveError if they do not."""
        end, self._end = self._end, None
        if end is not None:
            pending.discard(self)
            end(timeout)
            self._requests = ()
        return self._result

    def is_completed(self) -> bool:
        """Whether `wait` would return at once."""
        if self._end is not None and state.mpi.Request.Testall(self._requests):
            self.wait()
        return self._end is None


#: What has begun and is not waited for yet.
pending: set[Handle] = set()
#: Requests that nobody waits for any more.
abandoned: list[Any] = []
