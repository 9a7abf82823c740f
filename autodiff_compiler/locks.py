"""Locks that a forked process finds free, whatever the threads of its parent were doing."""

from __future__ import annotations

import os
import threading
import weakref

__all__ = ["Lock"]


class Lock:
    """A re-entrant lock.  The thread that held it does not exist in a forked process, so nobody holds it there."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Forgets who holds it."""
        self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew_all)
