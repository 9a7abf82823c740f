"""A cache, with eviction, of CANN's objects for segments: repeatable executors and captured graphs.

They hold addresses, so they are destroyed when memory goes back to CANN; and CANN limits their number.
"""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections import OrderedDict
from typing import TypeVar

from ...errors import AscendError
from .device import Device

#: An entry is idle after so many uses per cached entry without it.  Entries that are used in turn are never idle: LRU
#: would evict each right before its next use.
_IDLE = 8
#: CANN has too few streams, events, notifiers, models or the like.
_NO_ROOM = (207005, 207007, 207008, 207009, 207010, 207011, 207012)
_log = logging.getLogger(__name__)


class Entry:
    """What is cached for a segment at some addresses: in its cache from before it is filled until `destroy`.

    `weight`: how much of the limit it takes.  `users`: how many runs use it now, which must end before it is destroyed.
    """

    #: for messages, the name of the kind and what is done instead; the limit of a device
    what = ""
    most = 0
    instead = ""

    def __init__(self, cache: Cache, weight: int) -> None:
        self.cache, self.weight = cache, weight
        self.users = self.used = 0
        self.alive = True
        cache.items[self] = None

    def destroy(self) -> None:
        """Gives its objects back to CANN, once the stream is done with them, and leaves the cache."""
        self.alive = False
        if hasattr(self, "cache"):
            self.release()
            self.cache.items.pop(self, None)
            del self.cache

    def release(self) -> None:
        """Destroys the objects of CANN, if there are any."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Queues it to be destroyed by the next thread that uses the device: finalizers run in any thread."""
        self.alive = False
        if hasattr(self, "cache"):
            with contextlib.suppress(ReferenceError):  # a forked process ends, whose devices are its parent's
                self.cache.device.abandoned.append(self)


class Cache:
    """The entries of one kind on one device, the least recently used first."""

    def __init__(self, device: Device, kind: type[Entry]) -> None:
        self.device: Device = weakref.proxy(device)  # programs hold entries longer than the device lives
        self.kind, self.most = kind, kind.most
        self.items: OrderedDict[Entry, None] = OrderedDict()
        self._uses, self._full = 0, False
        self._said: set[str] = set()

    def use(self, item: Entry) -> None:
        """Marks an entry as used now."""
        self._uses += 1
        item.used = self._uses
        self.items.move_to_end(item)

    def room(self, weight: int) -> bool:
        """Whether there is room for `weight`, after eviction of idle entries; what is above the limit fits alone."""
        self._uses += 1
        while sum([item.weight for item in self.items]) + weight > self.most:
            if not self.items:
                return self.most > 0
            oldest = next((item for item in self.items if not item.users), None)
            if oldest is None or self._uses - oldest.used <= _IDLE * len(self.items):
                if not self._full:  # else it was said why
                    self.say(f"there is room for {self.most} of them")
                self._full = True
                return False
            self.drop(oldest)
        return True

    def drop(self, item: Entry) -> None:
        """Destroys an entry that the stream may still use."""
        try:
            self.device.synchronize()
        finally:
            item.destroy()

    def refused(self, error: AscendError) -> bool:
        """Whether an error says that CANN's limit is reached; then this number becomes ours."""
        if error.status not in _NO_ROOM:
            return False
        self.most = sum([item.weight for item in self.items if item.alive])
        self._full = True
        self.say(str(error))
        return True

    def say(self, why: str) -> None:
        """Tells the log why there are no more of them, once."""
        if why not in self._said:
            self._said.add(why)
            _log.warning("device %d, %s: %s; %s", self.device.number, self.kind.what, why, self.kind.instead)

    def close(self) -> None:
        """Destroys the entries that no run uses: memory, with their addresses, goes back to CANN."""
        for item in [item for item in self.items if not item.users]:
            item.destroy()


_Kind = TypeVar("_Kind", bound=Entry)


def cache_of(device: Device, kind: type[_Kind]) -> Cache:
    """The cache of a device for one kind of entries."""
    found: Cache | None = device.keepers.get(kind)
    return device.keepers.setdefault(kind, Cache(device, kind)) if found is None else found
