"""Tensors that may be a Parameter, as a choice made at run time gives them: when they may be read."""

from __future__ import annotations

from typing import Any

from ...errors import SideEffectError
from ...source import Loc
from ..variables.changing import serial_now
from ..variables.values import Snapshot, is_box


class Snapshots:
    """Refuses the reading of a Tensor that may be a Parameter, after the Parameter was assigned."""

    def __init__(self) -> None:
        self.read: list[tuple[Snapshot, Loc | None]] = []
        #: Parameters whose arrays compiled code has asked for
        self.exported: set[str] = set()
        self._written: dict[str, int] = {}

    def state(self) -> tuple[int, dict[str, int]]:
        """What `restore` puts back when what was compiled since is given up."""
        return len(self.read), dict(self._written)

    def restore(self, state: tuple[int, dict[str, int]]) -> None:
        seen, self._written = state
        del self.read[seen:]

    def note_write(self, state: str) -> None:
        """Notes the assignment of a Parameter."""
        if state in self.exported:
            raise SideEffectError(
                f"the Parameter {state} is assigned after asnumpy(), whose array shares its memory",
                code="AC1606",
                hint="take the array of a copy: `w.copy().asnumpy()`",
            )
        self._written[state] = serial_now()

    def written_since(self, state: str, since: int) -> bool:
        """Whether a Parameter was assigned since that time (a serial)."""
        return self._written.get(state, -1) > since

    def note_read(self, x: Any, loc: Loc | None) -> None:
        """Notes the use of a value, and refuses it if it may be a Parameter assigned since."""
        if is_box(x) and x.snapshot is not None:
            self.read.append((x.snapshot, loc))
            self._check(x.snapshot, x.snapshot.since, loc)

    def check_loop(self, start: int, seen: int) -> None:
        """At the end of a loop's body that began at `start`: what it read, the next trip reads after what it wrote."""
        for snapshot, loc in self.read[seen:]:
            if snapshot.since < start:
                self._check(snapshot, start, loc)

    def _check(self, snapshot: Snapshot, since: int, loc: Loc | None) -> None:
        stale = sorted(s for s in snapshot.states if self._written.get(s, -1) > since)
        if stale:
            raise SideEffectError(
                f"a Tensor that is one of several, chosen at run time, may be the Parameter {stale[0]}, which is "
                "assigned before this use",
                code="AC1606",
                loc=loc,
                hint="assign the Parameter after the last use, or choose a copy: `w.copy() if c else v.copy()`",
            )
