"""What compiled code reads outside after a function of the user's has run, which may have changed it."""

from __future__ import annotations

from typing import Any

__all__ = ["HostRan"]


class HostRan:
    """Whether such a function runs before the present place, and the keys of what is read outside after one."""

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
        """To be called where a backward pass ends."""
        self._forward |= self._backward

    def read(self, key: tuple[Any, ...]) -> None:
        """Something outside is read here."""
        if self._forward:
            self.keys.add(key)
