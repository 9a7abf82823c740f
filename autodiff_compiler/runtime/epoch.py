"""One process-wide count of changes from outside that compiled code has to notice.

An unchanged epoch means that no Parameter was replaced or frozen and no flag or hook was changed since a guard last
looked, so it may skip every check of that kind.
"""

from __future__ import annotations

import itertools

__all__ = ["bump", "current"]

_next = itertools.count(1).__next__
_epoch = 0


def bump() -> None:
    """Notes a change; every guard looks again at its next call."""
    global _epoch
    _epoch = _next()


def current() -> int:
    """The number of the epoch.

    >>> before = current(); bump(); current() > before
    True
    """
    return _epoch
