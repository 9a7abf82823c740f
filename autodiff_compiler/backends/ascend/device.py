"""A device: its stream, its memory, and copies between it and the host.

All work of a device goes through one stream, in order.  So a block that nobody holds any more can be used again at
once: what comes later on the stream runs later.  The host waits in two places only: where it needs a value, and where
it gives memory back to CANN.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import weakref
from collections import defaultdict, deque
from typing import Any

import numpy as np

from ...config import context
from ...errors import AscendError, AscendMemoryError
from ...locks import Lock
from .acl import DEVICE_TO_HOST, HOST_TO_DEVICE, Acl, acl
from .library import MissingSymbolError

__all__ = ["Block", "Device", "chip", "current", "device", "found", "shutdown", "started"]

#: How many of the last queued operators an asynchronous failure names.
_REMEMBERED = 8
_HUGE_FIRST = 0
_HBM = 1
_SATURATION, _INFNAN = 0, 1
#: MindSpore's variable that chooses what results that overflow become, and its values.
_OVERFLOW_VARIABLE = "MS_ASCEND_CHECK_OVERFLOW_MODE"
_OVERFLOW_MODES = {"SATURATION_MODE": _SATURATION, "INFNAN_MODE": _INFNAN}
_STATUS_BYTES = 64
_DETERMINISTIC = 0
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def padded(nbytes: int) -> int:
    """Bytes that an allocation of `nbytes` takes: kernels may read up to 32 bytes behind its end."""
    return (nbytes + 31) // 32 * 32 + 32


def _bytes(text: str) -> int:
    """The bytes that "1.5GB" means."""
    return int(float(text[:-2]) * _UNITS[text[-2:]])


class Block:
    """Memory of a device; it goes back to the device's pool with its last holder, in whichever thread."""

    __slots__ = ("__weakref__", "address", "device", "label", "size")

    def __init__(self, device: Device, address: int, size: int, label: str) -> None:
        self.device, self.address, self.size, self.label = device, address, size, label

    def __del__(self) -> None:
        self.device._returned.append((self.address, self.size))  # nothing else: this may be any thread, at any time


class _Pool:
    """Blocks of a device that are not in use, by size."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = defaultdict(list)
        self.lock = Lock()
        #: bytes held from CANN
        self.held = 0


class Device:
    """One accelerator; `device(number)` gives it.

    AscendError: it does not exist or cannot be used.
    """

    def __init__(self, acl: Acl, number: int) -> None:
        self.acl, self.number = acl, number
        self._pool = _Pool()
        #: held by whoever queues work or waits for it: nobody may do so while another thread captures the stream
        self.order = self._pool.lock
        self._returned: deque[tuple[int, int]] = deque()
        self._live: dict[int, tuple[int, str]] = {}
        self._staging: list[tuple[int, int]] = []
        self._busy_staging: list[tuple[int, int]] = []
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)
        self._workspace: Block | None = None
        #: what keeps addresses: executors and captured graphs, by program; and those of programs that are no more
        self.keepers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.abandoned: deque[Any] = deque()
        self._closed = False
        #: in how many threads; CANN counts
        self._entered = 0
        self._pid = os.getpid()
        self.lock = Lock()
        acl.initialise()
        self.enter()
        try:
            self.stream: int = acl.get("aclrtCreateStream", ctypes.c_void_p)
            self._deterministic, self._limit = False, 0
            self.saturates = self._overflow_mode()
            self.configure()
        except BaseException:
            _chosen.device = None
            with contextlib.suppress(AscendError):
                acl.call("aclrtResetDevice", number)
            raise

    @property
    def mine(self) -> bool:
        """Whether it is this process's, and not that of the one that this was forked from."""
        return self._pid == os.getpid()

    def enter(self) -> None:
        """Makes this the device of the calling thread."""
        if getattr(_chosen, "device", None) is self:
            return
        if self._closed or not self.mine:
            why = "was shut down" if self._closed else "belongs to the process that this one was forked from"
            raise AscendError("set_device", 0, "", f"device {self.number} {why}", "", "")
        self.acl.call("aclrtSetDevice", self.number)
        with self.lock:
            self._entered += 1
        _chosen.device = self

    def configure(self) -> None:
        """Follows the settings `deterministic` and `max_device_memory`."""
        wanted = context.get("deterministic") == "ON"
        self._limit = _bytes(context.get("max_device_memory"))
        if wanted != self._deterministic and not self._closed:
            self.enter()
            self.acl.call("aclrtCtxSetSysParamOpt", _DETERMINISTIC, int(wanted))
            self._deterministic = wanted

    def _overflow_mode(self) -> bool:
        """Whether results that overflow become the largest number and nan 0, after what the environment asks for."""
        wanted = _OVERFLOW_MODES.get(os.environ.get(_OVERFLOW_VARIABLE, ""))
        if wanted is not None:
            self.acl.call("aclrtSetDeviceSatMode", wanted)
        try:
            return bool(self.acl.get("aclrtGetDeviceSatMode", ctypes.c_int32) == _SATURATION)
        except (AscendError, MissingSymbolError):  # a release that cannot tell: then the chip has infinities
            return False

    def overflowed(self) -> bool:
        """Whether a result saturated since this was last called, on any stream of the process; it waits."""
        block = self.allocate(_STATUS_BYTES, "overflow status")
        status = np.zeros(_STATUS_BYTES // 4, np.uint32)
        self.acl.call("aclrtGetOverflowStatus", block.address, _STATUS_BYTES, self.stream)
        self.acl.call("aclrtResetOverflowStatus", self.stream)
        self.download(block.address, status)
        return bool(status[0])

    # ------------------------------------------------------------------------------------------- memory
    def allocate(self, nbytes: int, label: str = "") -> Block:
        """A block of at least `nbytes`; AscendMemoryError names the largest ones in use."""
        size = padded(max(nbytes, 1))
        self.enter()
        with self._pool.lock:
            self._collect()
            free = self._pool.free[size]
            address = free.pop() if free else self._malloc(size, label)
            self._live[address] = (size, label)
        return Block(self, address, size, label)

    def _collect(self) -> None:
        """Takes back the blocks that nobody holds, and ends what belonged to programs that are no more."""
        if self.abandoned:
            self.synchronize()
            with contextlib.suppress(IndexError):
                while True:
                    self.abandoned.popleft().destroy()
        with contextlib.suppress(IndexError):
            while True:
                address, size = self._returned.popleft()
                self._pool.free[size].append(address)
                self._live.pop(address, None)

    def _taken_from_cann(self, size: int) -> int:
        if self._pool.held + size > self._limit:
            raise AscendMemoryError("allocate", 0, "", "max_device_memory of set_context allows no more", "", "")
        return int(self.acl.get("aclrtMalloc", ctypes.c_void_p, size, _HUGE_FIRST))

    def _malloc(self, size: int, label: str) -> int:
        try:
            try:
                address = self._taken_from_cann(size)
            except AscendMemoryError:
                if not self.trim():
                    raise
                address = self._taken_from_cann(size)
        except AscendMemoryError as error:
            raise self._no_memory(error, size, label) from None
        self._pool.held += size
        return address

    def _no_memory(self, error: AscendMemoryError, size: int, label: str) -> AscendMemoryError:
        largest = sorted(self._live.values(), reverse=True)[:5]
        lines = [f"{size:,} bytes are needed" + (f" for {label}" if label else "") + f"; {self._pool.held:,} are held"]
        lines += [f"{n:,} bytes: {what or 'a Tensor'}" for n, what in largest]
        with contextlib.suppress(AscendError):
            free, total = self.memory()
            lines.append(f"{free:,} of {total:,} bytes of the device are free")
        error.add_note("\n".join(lines))
        return error

    def trim(self) -> bool:
        """Gives the memory that is not in use back to CANN, once the stream is done with it; whether there was any."""
        with self._pool.lock:
            self._collect()
            blocks = [(size, a) for size, addresses in self._pool.free.items() for a in addresses]
            if not blocks:
                return False
            self.synchronize()
            for keeper in list(self.keepers):  # they hold addresses of blocks that are in no use
                keeper.close()
            self._pool.free.clear()
            for size, address in blocks:
                self.acl.call("aclrtFree", address)
                self._pool.held -= size
            return True

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the device."""
        self.enter()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.acl.call("aclrtGetMemInfo", _HBM, ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def workspace(self, nbytes: int) -> Block:
        """Room for an operator's workspace; all operators share it, as they run one after the other.

        The caller holds it until the operator is queued: another thread may replace it by a larger one.
        """
        room = self._workspace
        if room is None or room.size < padded(nbytes):
            room = self._workspace = self.allocate(nbytes, "workspace")
        return room

    # ------------------------------------------------------------------------------------------- copies
    def upload(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Queues a copy of a contiguous array to an address; the array may change at once."""
        if array.nbytes == 0:
            return
        self.enter()
        staging = self._stage(array.nbytes)
        ctypes.memmove(staging[0], array.ctypes.data, array.nbytes)
        try:
            self._copy(address, staging[0], array.nbytes, HOST_TO_DEVICE)
        finally:
            with self.lock:
                self._busy_staging.append(staging)

    def download(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Fills a contiguous array from an address, once all that was queued before is done."""
        if array.nbytes == 0:
            return
        self.enter()
        staging = self._stage(array.nbytes)
        try:
            self._copy(staging[0], address, array.nbytes, DEVICE_TO_HOST)
            self.synchronize()
            ctypes.memmove(array.ctypes.data, staging[0], array.nbytes)
        except BaseException:
            with self.lock:
                self._busy_staging.append(staging)  # the copy may still come
            raise
        with self.lock:
            self._staging.append(staging)

    def _copy(self, to: int, source: int, nbytes: int, kind: int) -> None:
        with self.order:
            self.acl.call("aclrtMemcpyAsync", to, nbytes, source, nbytes, kind, self.stream)

    def _stage(self, nbytes: int) -> tuple[int, int]:
        """Page-locked memory for one copy, with its size: one that no queued copy uses."""
        with self.lock:
            for i, (_, size) in enumerate(self._staging):
                if nbytes <= size <= 4 * nbytes + 4096:
                    return self._staging.pop(i)
        size = max(4096, 1 << (nbytes - 1).bit_length())
        return int(self.acl.get("aclrtMallocHost", ctypes.c_void_p, size)), size

    # ------------------------------------------------------------------------------------------- order
    def queued(self, what: str) -> None:
        """Notes an operator that was queued, for the message of a failure that shows later."""
        self._recent.append(what)
        if context.get("pynative_synchronize"):
            self.synchronize()

    def synchronize(self) -> None:
        """Waits until all queued work is done; AscendError if some of it failed, with what was queued last."""
        self.enter()
        waiting = len(self._busy_staging)
        try:
            with self.order:
                self.acl.call("aclrtSynchronizeStream", self.stream)
        except AscendError as error:
            if self._recent:
                error.add_note("queued last, the failing one among them: " + "; ".join(self._recent))
            raise
        else:
            with self.lock:  # what was taken before the wait: another thread may have queued a copy since
                self._staging += self._busy_staging[:waiting]
                del self._busy_staging[:waiting]
        finally:
            self._recent.clear()

    def close(self) -> None:
        """Gives all back; also after errors, as far as CANN goes along."""
        if self._closed:
            return
        with contextlib.suppress(AscendError):
            self.synchronize()
        self._workspace = None
        for keeper in list(self.keepers):
            keeper.close()
        self._collect()
        addresses = [a for free in self._pool.free.values() for a in free]
        for address in [*addresses, *self._live]:  # what Tensors still hold is lost with the device
            with contextlib.suppress(AscendError):
                self.acl.call("aclrtFree", address)
        self._pool.free.clear()
        self._live.clear()
        with contextlib.suppress(AscendError):  # it waits for what may still be queued
            self.acl.call("aclrtDestroyStream", self.stream)
        for address, _ in [*self._staging, *self._busy_staging]:
            with contextlib.suppress(AscendError):
                self.acl.call("aclrtFreeHost", address)
        self._staging.clear()
        self._busy_staging.clear()
        for _ in range(self._entered):
            with contextlib.suppress(AscendError):
                self.acl.call("aclrtResetDevice", self.number)
        self._closed = True
        _chosen.device = None


#: The device that was chosen last in this thread; a forked process has none.
_chosen = threading.local()
os.register_at_fork(after_in_child=lambda: _chosen.__dict__.clear())
_devices: dict[int, Device] = {}
_lock = Lock()


def device(number: int) -> Device:
    """The device of that number, started when it is first asked for."""
    with _lock:
        found = _devices.get(number)
        if found is None:
            found = _devices[number] = Device(acl, number)
        return found


def current() -> Device:
    """The device that the context names."""
    return device(context.get("device_id"))


def found() -> int:
    """How many devices CANN finds; 0 where it cannot be used."""
    try:
        acl.initialise()
        return int(acl.get("aclrtGetDeviceCount", ctypes.c_uint32))
    except (MissingSymbolError, AscendError):
        return 0


def chip() -> str:
    """The name of the chip, as in Ascend910B3."""
    acl.initialise()
    name: bytes = acl.libraries.function("aclrtGetSocName")() or b"Ascend"
    return name.decode()


def started() -> list[Device]:
    """The devices that are in use."""
    with _lock:
        return [found for found in _devices.values() if found.mine]


def shutdown() -> None:
    """Waits for all devices, gives their memory and streams back, and ends CANN if this package started it.

    In a forked process, whose devices are its parent's, it does nothing.
    """
    with _lock:
        if not all(found.mine for found in _devices.values()):
            return
        for found in _devices.values():
            found.close()
        _devices.clear()
        acl.finalise()


# Before the libraries are unloaded, and whoever started CANN.
atexit.register(shutdown)
