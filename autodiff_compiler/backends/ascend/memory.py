"""A caching allocator over CANN's: for memory of a device, and for page-locked memory of the host."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ...errors import AscendError
from .acl import Acl


def padded(nbytes: int) -> int:
    """Bytes that an allocation of `nbytes` takes: kernels may read up to 32 bytes behind its end."""
    return (nbytes + 31) // 32 * 32 + 32


def roomy(nbytes: int) -> int:
    """Bytes that a block for `nbytes` takes: of eight sizes from one power of two to the next, so that calls of other
    sizes find the blocks again."""
    step = max(32, 1 << nbytes.bit_length() - 1 >> 3)
    return padded(-(-nbytes // step) * step)


class HasAcl(Protocol):
    """What a pool needs of its device."""

    @property
    def acl(self) -> Acl:
        """The functions of CANN."""
        ...


_Device = TypeVar("_Device", bound=HasAcl)


class Block(Generic[_Device]):
    """Memory of a pool; it goes back there with its last holder, in whichever thread."""

    __slots__ = ("__weakref__", "address", "known", "label", "pool", "size")

    def __init__(self, pool: Pool[_Device], size: int, label: str) -> None:
        self.pool, self.size, self.label = pool, size, label
        self.address = 0
        #: a copy of its content, if that came from the host, which then need not wait for the device to read it
        self.known: np.ndarray[Any, Any] | None = None

    @property
    def device(self) -> _Device:
        return self.pool.device


class _Place(weakref.ref[Block[Any]]):
    """A weak reference to a block, with its address.  Its callback is a C function: no interrupt comes in it."""

    address = size = 0
    label = ""


class Pool(Generic[_Device]):
    """Free lists for memory of one kind, by size; all but `returned` are guarded by the device's `order`.

    An interrupt may come after every call, and a garbage collection, which runs foreign code, at every allocation.  So
    an address is always in some list before it could be lost, and never in two from which it would be given out.
    """

    def __init__(self, device: _Device, allocate: str, policy: tuple[int, ...], free: str) -> None:
        self.device = device
        self._allocate, self._policy, self._free = allocate, policy, free
        self.unused: dict[int, list[int]] = {}
        #: blocks in use, by address
        self.used: dict[int, _Place] = {}
        self.returned: deque[_Place] = deque()
        #: bytes that were taken from CANN
        self.held = 0

    def more(self, size: int) -> None:
        """Takes memory for a block from CANN; AscendMemoryError if it has none."""
        found = ctypes.c_void_p()
        addresses = self.unused.setdefault(size, [])
        try:
            self.device.acl.call(self._allocate, ctypes.byref(found), size, *self._policy)
        finally:
            if found.value:
                self.held += size
                addresses.append(found.value)

    def take(self, size: int, label: str, lacking: Callable[[], None]) -> Block[_Device]:
        """A block; `lacking` is called to get memory of this size from CANN if there is none."""
        block = Block(self, size, label)
        place = _Place(block, self.returned.append)
        place.size, place.label = size, label
        while not self.unused.get(size):
            lacking()
        addresses = self.unused[size]  # from here on nothing is allocated: no garbage collection
        place.address = block.address = addresses[-1]
        self.used[block.address] = place
        addresses.pop()
        return block

    def collect(self) -> None:
        """Moves blocks that were freed to the unused ones."""
        while self.returned:
            place = self.returned[0]
            addresses = self.unused.setdefault(place.size, [])
            if self.used.get(place.address) is place:  # else it was taken back, and not yet taken off here
                del self.used[place.address]
                addresses.append(place.address)
            if self.returned and self.returned[0] is place:
                self.returned.popleft()

    def give_back(self, most: int = 0) -> None:
        """Frees unused memory until at most so many bytes are held; no work on a stream may use it."""
        acl = self.device.acl
        free = acl.libraries.function(self._free)
        while self.unused and self.held > most:
            size, addresses = next(iter(self.unused.items()))
            if addresses:
                status = next(map(free, map(list.pop, (addresses,))))  # one C call: no interrupt between the two
                self.held -= size
                if status:
                    raise acl.error(self._free, status)
            else:
                del self.unused[size]
        used, unused = [place.size for place in self.used.values()], self.unused.items()
        self.held = sum(used) + sum([size * len(addresses) for size, addresses in unused])

    def drop(self) -> None:
        """Frees everything as far as CANN goes along, blocks in use too: they are lost with the device."""
        addresses = [*self.used, *[a for unused in self.unused.values() for a in unused]]
        self.used.clear()
        self.unused.clear()
        self.held = 0
        for address in addresses:
            with contextlib.suppress(AscendError):
                self.device.acl.call(self._free, address)
