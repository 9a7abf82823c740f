"""Locks that a forked process finds free, whatever the threads of its parent were doing, and what a fork waits for."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

__all__ = ["Lock", "importing", "locks_of", "remembered", "waited_for"]

_T = TypeVar("_T")


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


class remembered(functools.cached_property[_T]):  # named as what it stands in for
    """A `functools.cached_property` without a lock.

    That of Python 3.11 has one for all objects: a fork while a thread computes the value of one would leave it held
    in the child.  Two threads may compute a value twice here, so it must not matter which one is kept.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> remembered[_T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> _T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> remembered[_T] | _T:
        if instance is None:
            return self
        assert self.attrname is not None
        found: _T = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return found


#: Held while modules are imported that not every program needs.  The child of a fork would find such a module half
#: there, and its lock taken by a thread that it does not have.
importing = threading.RLock()
_waited_for: list[Callable[[], Any]] = []
_entered: list[Any] = []


def waited_for(find: Callable[[], Any]) -> None:
    """From now on a fork waits for a lock of somebody else's: what `find` gives, None while it is not there yet.

    Who holds it must not import under `importing`, which is taken first.
    """
    _waited_for.append(find)


def _before_fork() -> None:
    importing.acquire()  # of processes that fork at the same time, too, the second waits here
    for find in _waited_for:
        lock = find()
        if lock is not None:
            lock.__enter__()
            _entered.append(lock)


def _after_fork() -> None:
    while _entered:
        _entered.pop().__exit__(None, None, None)
    importing.release()


def _renew_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
    os.register_at_fork(after_in_child=_renew_all)
