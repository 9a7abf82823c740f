"""The epoch: one number per process that moves with every change that guards on Cells watch.

While it is the same, no Parameter was replaced or frozen and no flag or hook was changed, so these guards hold.
"""

from __future__ import annotations

import itertools

__all__ = ["bump", "current", "epoch"]

_next = itertools.count(1).__next__


class _Epoch:
    """The number in a slot, where machine code can compare it."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


epoch = _Epoch()


def bump() -> None:
    """Moves the epoch: guards on Cells are checked at the next call."""
    epoch.now = _next()


def current() -> int:
    """The number of the epoch.

    >>> before = current(); bump(); current() > before
    True
    """
    return epoch.now
