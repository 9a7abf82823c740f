"""One process-wide count of changes from outside that compiled code has to notice.

An unchanged epoch means that no Parameter was replaced or frozen and no flag or hook was changed since a guard last
looked, so it may skip every check of that kind.
"""

from __future__ import annotations

import itertools

__all__ = ["bump", "current", "epoch"]

_next = itertools.count(1).__next__


class _Epoch:
    """Where the number is: in a slot, so that machine code can compare what lies there."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


epoch = _Epoch()


def bump() -> None:
    """Notes a change; every guard looks again at its next call."""
    epoch.now = _next()


def current() -> int:
    """The number of the epoch.

    >>> before = current(); bump(); current() > before
    True
    """
    return epoch.now
