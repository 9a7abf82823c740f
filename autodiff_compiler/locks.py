"""Locks that a forked process finds free, whatever the threads of its parent were doing."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable

__all__ = ["Lock", "locks_of"]


class Lock(type(threading.RLock())):  # type: ignore[misc]  # typeshed has a function in place of the class
    """A re-entrant lock.  The thread that held it does not exist in a forked process, so nobody holds it there.

    It inherits how `with` enters and leaves: between bytecodes of a method of ours, an interrupt could leave it held.
    """

    def __init__(self) -> None:
        _locks.add(self)


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_by_object: weakref.WeakValueDictionary[int, Lock] = weakref.WeakValueDictionary()
_table = Lock()


def locks_of(objects: Iterable[object]) -> list[Lock]:
    """The locks of objects that are written together, in the order in which they are to be entered.

    Objects that were never written with others share one.  The caller keeps the objects alive as long as the locks.
    """
    with _table:
        held = list(objects)
        known = [lock for lock in (_by_object.get(id(x)) for x in held) if lock is not None]
        first = known[0] if known else Lock()
        return sorted({_by_object.setdefault(id(x), first) for x in held}, key=id)


def _renew_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew_all)
