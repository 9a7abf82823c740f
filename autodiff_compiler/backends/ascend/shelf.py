"""A cache, with eviction, of CANN's objects for segments: repeatable executors and captured graphs.

They hold addresses, so they end when memory goes back to CANN; and CANN has room for so many only.
"""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections import OrderedDict
from typing import TypeVar

from ...errors import AscendError
from .device import Device

__all__ = ["Kept", "Shelf", "shelf_of"]

#: What is kept makes room for others once each of these was used so many times without it, on the average.  Where all
#: are used in turn, nothing makes room: else each would go right before its next use.
_IDLE = 8
#: CANN has too few streams, events, notifiers, models or the like.
_NO_ROOM = (207005, 207007, 207008, 207009, 207010, 207011, 207012)
_log = logging.getLogger(__name__)


class Kept:
    """What is kept for a segment at some addresses: on its shelf from before there is any of it until `destroy`.

    `weight`: for how many it counts.  `users`: how many runs are at it; until they are done it stays.
    """

    #: the name of what is kept, how many a device may keep, and what happens to the others
    what = ""
    most = 0
    instead = ""

    def __init__(self, shelf: Shelf, weight: int) -> None:
        self.shelf, self.weight = shelf, weight
        self.users = self.used = 0
        self.alive = True
        shelf.items[self] = None

    def destroy(self) -> None:
        """Gives it back to CANN; the stream must be done with it.  Then it knows nothing of the device any more."""
        self.alive = False
        if hasattr(self, "shelf"):
            self.release()
            self.shelf.items.pop(self, None)
            del self.shelf

    def release(self) -> None:
        """Destroys the objects of CANN, if there are any."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Leaves it to the next thread that uses the device; this may be any thread, at any time."""
        self.alive = False
        if hasattr(self, "shelf"):
            with contextlib.suppress(ReferenceError):  # a forked process ends, whose devices are its parent's
                self.shelf.device.abandoned.append(self)


class Shelf:
    """All that a device keeps of one kind, the least recently used first."""

    def __init__(self, device: Device, kind: type[Kept]) -> None:
        self.device: Device = weakref.proxy(device)  # programs know what is kept longer than there is the device
        self.kind, self.most = kind, kind.most
        self.items: OrderedDict[Kept, None] = OrderedDict()
        self._uses, self._full = 0, False
        self._said: set[str] = set()

    def use(self, item: Kept) -> None:
        """Notes that it is needed now."""
        self._uses += 1
        item.used = self._uses
        self.items.move_to_end(item)

    def room(self, weight: int) -> bool:
        """Whether there is room for more; what has been idle makes room.  What is more than that goes alone."""
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

    def drop(self, item: Kept) -> None:
        """Ends something that may be at work on the stream."""
        try:
            self.device.synchronize()
        finally:
            item.destroy()

    def refused(self, error: AscendError) -> bool:
        """Whether CANN has no room for one more; then there will be no more than there are."""
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
        """Ends what no run is at: memory goes back to CANN, with the addresses that it mentions."""
        for item in [item for item in self.items if not item.users]:
            item.destroy()


_Kind = TypeVar("_Kind", bound=Kept)


def shelf_of(device: Device, kind: type[_Kind]) -> Shelf:
    """The shelf of a device for a kind."""
    found: Shelf | None = device.keepers.get(kind)
    return device.keepers.setdefault(kind, Shelf(device, kind)) if found is None else found
