"""What code that runs as plain Python, hooks and host functions, reads and changes of the objects outside."""

from __future__ import annotations

import collections
from typing import Any

from ...errors import SideEffectError
from .inputs import Foreknown

#: Classes of containers that a hook may change as plain Python does.
CONTAINERS = (list, dict, set, collections.deque, bytearray)

#: What is changed or read: the id of a container, or that of an object with the name of its attribute.
Place = Any


class HookChanges:
    """The places that hooks of one compilation read and change (see `callbacks`)."""

    def __init__(self, known: Foreknown) -> None:
        self._known = known
        #: whether the code of a hook is being compiled
        self.in_hook = False
        self.reads: set[Place] = set()
        self.changes: set[Place] = set()
        #: what was changed before the present place
        self.changed_before: set[Place] = set()

    def note_change(self, place: Place, in_backward: bool) -> None:
        """A hook changes a place here, or (`in_backward`) when the backward pass runs."""
        self.changes.add(place)
        if not in_backward:
            self.changed_before.add(place)

    def backward_has_run(self) -> None:
        """Notes the end of a backward pass: what its code changes, all that follows may read."""
        self.changed_before |= self.changes

    def note_read(self, value: Any, key: tuple[Any, ...]) -> None:
        """Notes a read from outside that is guarded; refuses it if a hook has changed what it reads.

        A hook that reads what a hook changes runs as plain Python.
        """
        if not (self.in_hook or self.changed_before):
            return
        places: set[Place] = {id(value)} if isinstance(value, CONTAINERS) else set()
        if key[0] == "attribute":
            places.add(key[1:])
        if self.in_hook:
            self.reads |= places
        if places & (self._known.hooks_change if self.in_hook else self.changed_before):
            raise SideEffectError(
                "compiled code reads what a hook has changed before, which only a run can tell",
                code="AC1602",
                hint="read it after the call, or change it in plain Python",
            )


class HostRan:
    """Whether a host function runs before the present place, and the keys of what is read outside after one."""

    def __init__(self) -> None:
        self.keys: set[tuple[Any, ...]] = set()
        self._forward = self._backward = False

    def note(self, in_backward: bool) -> None:
        """A host function is called here, or (`in_backward`) when the backward pass runs."""
        if in_backward:
            self._backward = True
        else:
            self._forward = True

    def backward_has_run(self) -> None:
        """Notes the end of a backward pass: what its code changes, all that follows may read."""
        self._forward |= self._backward

    def read(self, key: tuple[Any, ...]) -> None:
        """Something outside is read here."""
        if self._forward:
            self.keys.add(key)
