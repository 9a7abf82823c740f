"""A device: its stream, its memory, and copies between it and the host.

All work of a device goes through one stream, in order.  So a freed block can be used again at once: later work runs
later.  The host waits only where it needs a value, gives memory back to CANN, or has too many copies in flight.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from ...config import context
from ...errors import AscendError, AscendMemoryError
from ...locks import Lock
from . import memory
from .acl import DEVICE_TO_HOST, FORKED, HOST_TO_DEVICE, Acl, acl
from .memory import Pool, padded, roomy

#: How many of the last queued operators an asynchronous failure names.
_REMEMBERED = 8
#: How many of the largest users of memory an error for lack of memory names.
_TENANTS = 5
_HUGE_FIRST = 0
_HBM = 1
_SATURATION, _INFNAN = 0, 1
#: MindSpore's variable that chooses what results that overflow become, and its values.
_OVERFLOW_VARIABLE = "MS_ASCEND_CHECK_OVERFLOW_MODE"
_OVERFLOW_MODES = {"SATURATION_MODE": _SATURATION, "INFNAN_MODE": _INFNAN}
_STATUS_BYTES = 64
_DETERMINISTIC = 0
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
#: Bytes of one copy and of all page-locked memory, and how many copies may be in flight.
_PIECE, _STAGING, _UNDER_WAY = 16 << 20, 64 << 20, 256
_SMALLEST = 4096


def _bytes(text: str) -> int:
    """The bytes that "1.5GB" means."""
    return int(float(text[:-2]) * _UNITS[text[-2:]])


def _pieces(nbytes: int) -> Iterator[tuple[int, int]]:
    """The offsets and sizes of the copies of an array."""
    for at in range(0, nbytes, _PIECE):
        yield at, min(_PIECE, nbytes - at)


Block: TypeAlias = "memory.Block[Device]"


class Device:
    """One accelerator; `device(number)` gives it.

    AscendError: it does not exist or cannot be used.
    """

    def __init__(self, acl: Acl, number: int) -> None:
        self.acl, self.number = acl, number
        #: held by whoever queues work or waits for it: nobody may do so while another thread captures the stream
        self.order = Lock()
        self._memory = Pool(self, "aclrtMalloc", (_HUGE_FIRST,), "aclrtFree")
        self._staging = Pool(self, "aclrtMallocHost", (), "aclrtFreeHost")
        #: page-locked memory of the copies queued since the last wait
        self._under_way: list[Block] = []
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)
        self._workspace: Block | None = None
        #: by owner, what lies in its memory until it is closed
        self.kept: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        #: caches of executors and captured graphs, by kind; and entries of freed programs, to be destroyed
        self.keepers: dict[Any, Any] = {}
        self.abandoned: deque[Any] = deque()
        #: communicators, which are closed before the stream is destroyed
        self.held: list[Any] = []
        #: ends a capture of the stream, for a signal handler or finalizer that runs in the middle of it
        self.recording: Callable[[], None] | None = None
        self.closed = False
        self._pid = os.getpid()
        self._context = self.stream = 0
        #: the device's overflow mode before this package changed it
        self._overflow_before: int | None = None
        acl.initialise()
        acl.call("aclrtSetDevice", number)  # once: threads take its context
        try:
            self._context = acl.get("aclrtGetCurrentContext", ctypes.c_void_p)
            self.stream = acl.get("aclrtCreateStream", ctypes.c_void_p)
            self.deterministic, self._limit = False, 0
            self.saturates = self._overflow_mode()
            self.configure()
        except BaseException:
            self.close()
            raise

    @property
    def mine(self) -> bool:
        """Whether this process started it, and not the one that this was forked from."""
        return self._pid == os.getpid()

    def enter(self) -> None:
        """Makes this the device of the calling thread, whatever another user of CANN chose meanwhile.

        To be called before queuing or waiting, with `order` held, so that the device is not closed meanwhile.
        """
        if self.closed or not self.mine:
            forked = f"belongs to the process that this one was forked from: {FORKED}"
            raise AscendError(text=f"device {self.number} {'was shut down' if self.closed else forked}")
        if self.recording is not None and self.order._is_owned():
            self.recording()
        self.acl.call("aclrtSetCurrentContext", self._context)

    def configure(self) -> None:
        """Follows the settings `deterministic` and `max_device_memory`."""
        wanted = context.get("deterministic") == "ON"
        self._limit = _bytes(context.get("max_device_memory"))
        with self.order:
            if wanted != self.deterministic and not self.closed:
                self.enter()
                self.acl.call("aclrtCtxSetSysParamOpt", _DETERMINISTIC, int(wanted))
                self.deterministic = wanted

    def _overflow_mode(self) -> bool:
        """Sets the overflow mode that the environment asks for; whether it is saturation (inf: the largest, nan: 0)."""
        before = self._overflow_now()
        asked = os.environ.get(_OVERFLOW_VARIABLE, "")
        wanted = _OVERFLOW_MODES.get(asked, before)
        if asked not in ("", *_OVERFLOW_MODES):
            raise AscendError(text=f"{_OVERFLOW_VARIABLE} is {asked!r}; it may be {' or '.join(_OVERFLOW_MODES)}")
        if wanted != before:
            self.acl.call("aclrtSetDeviceSatMode", wanted)
            self._overflow_before = before
        return self._overflow_now() == _SATURATION

    def _overflow_now(self) -> int:
        try:
            return int(self.acl.get("aclrtGetDeviceSatMode", ctypes.c_int32))
        except AscendError:  # a release that cannot tell: then the chip has infinities
            return _INFNAN

    def overflowed(self) -> bool:
        """Whether a result saturated since this was last called, on any stream of the process; it waits."""
        block = self.allocate(_STATUS_BYTES, "overflow status")
        status = np.zeros(_STATUS_BYTES // 4, np.uint32)
        with self.order:  # nothing comes between the two
            self.enter()
            self.acl.call("aclrtGetOverflowStatus", block.address, _STATUS_BYTES, self.stream)
            self.acl.call("aclrtResetOverflowStatus", self.stream)
        self.download(block.address, status)
        return bool(status[0])

    # ------------------------------------------------------------------------------------------- memory
    def allocate(self, nbytes: int, label: str = "") -> Block:
        """A block of at least `nbytes`; AscendMemoryError names the largest ones in use."""
        size = roomy(max(nbytes, 1))
        with self.order:
            self.enter()
            self._collect()
            return self._memory.take(size, label, lambda: self._more(size, label))

    def _collect(self) -> None:
        """Collects freed blocks, and destroys the executors and graphs of programs that are no more."""
        if self.abandoned:
            self.synchronize()
            self._end_abandoned()
        self._memory.collect()

    def _end_abandoned(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self.abandoned.popleft().destroy()

    def _more(self, size: int, label: str) -> None:
        """Memory from CANN; if it has none, again after unused memory is freed, and after a garbage collection."""
        recoveries: list[Callable[[], Any]] = [self._trim_garbage, self.trim]
        while True:
            try:
                if self._memory.held + size > self._limit:
                    why = "max_device_memory of set_context allows no more"
                    raise AscendMemoryError(text=f"too little device memory: {why}")
                self._memory.more(size)
                return
            except AscendMemoryError as error:
                if not recoveries:
                    raise self._no_memory(error, size, label) from None
            recoveries.pop()()

    def _trim_garbage(self) -> None:
        gc.collect()
        self.trim()

    def _no_memory(self, error: AscendMemoryError, size: int, label: str) -> AscendMemoryError:
        tenants = Counter([(place.size, place.label or "a Tensor") for place in list(self._memory.used.values())])
        largest = sorted([(n * count, n, what) for (n, what), count in tenants.items()], reverse=True)[:_TENANTS]
        lines = [
            f"{size:,} bytes are needed" + (f" for {label}" if label else "") + f"; {self._memory.held:,} are held",
            *[f"{total // n:,} x {n:,} bytes: {what}" for total, n, what in largest],
        ]
        with contextlib.suppress(AscendError):
            free, total = self.memory()
            lines.append(f"{free:,} of {total:,} bytes of the device are free")
        lines.append("instead: smaller batches, a narrower dtype, no references to what is needed no more")
        error.add_note("\n".join(lines))
        return error

    def trim(self) -> None:
        """Gives unused memory, of the device and page-locked, back to CANN, once the stream is done with it."""
        with self.order:
            self.synchronize()
            self._workspace = None
            self._collect()
            self._staging.collect()
            self._staging.give_back()
            if any(self._memory.unused.values()):
                for keeper in list(self.keepers.values()):  # they hold addresses of blocks that are in no use
                    keeper.close()
                self._memory.collect()
                self._memory.give_back()

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the device."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self.order:
            self.enter()
            self.acl.call("aclrtGetMemInfo", _HBM, ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def workspace(self, nbytes: int) -> Block:
        """The block for operators' workspaces; they share it, as they run one after the other.

        The caller holds it until the operator is queued: another thread may replace it by a larger one.
        """
        with self.order:
            if self._workspace is None or self._workspace.size < padded(nbytes):
                self._workspace = None  # its memory may be needed for the larger one
                self._workspace = self.allocate(nbytes, "workspace")
            return self._workspace

    # ------------------------------------------------------------------------------------------- copies
    def upload(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Queues a copy of a contiguous array to an address; the array may change at once."""
        for at, nbytes in _pieces(array.nbytes):
            with self.order:  # until the end: closing the device frees page-locked memory
                room = self._stage(nbytes)
                ctypes.memmove(room.address, array.ctypes.data + at, nbytes)
                self._copy(address + at, room.address, nbytes, HOST_TO_DEVICE, room)

    def download(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Fills a contiguous array from an address, once all that was queued before is done."""
        for at, nbytes in _pieces(array.nbytes):
            with self.order:
                room = self._stage(nbytes)
                self._copy(room.address, address + at, nbytes, DEVICE_TO_HOST, room)
                self.synchronize()
                ctypes.memmove(array.ctypes.data + at, room.address, nbytes)

    def clear(self, block: Block, nbytes: int) -> None:
        """Queues that a block becomes zeros."""
        if nbytes:
            with self.order:
                self.enter()
                self.acl.call("aclrtMemsetAsync", block.address, nbytes, 0, nbytes, self.stream)

    def _copy(self, to: int, source: int, nbytes: int, kind: int, room: Block | None = None) -> None:
        """Queues a copy; its page-locked memory (`room`) is in use until the next wait."""
        with self.order:
            self.enter()
            if room is not None:
                self._under_way.append(room)
            self.acl.call("aclrtMemcpyAsync", to, nbytes, source, nbytes, kind, self.stream)

    def _stage(self, nbytes: int) -> Block:
        """Page-locked memory for one copy; waits if too many copies are in flight."""
        size = max(_SMALLEST, 1 << (nbytes - 1).bit_length())
        with self.order:
            self.enter()
            if len(self._under_way) >= _UNDER_WAY:
                self.synchronize()
            self._staging.collect()
            return self._staging.take(size, "", lambda: self._more_staging(size))

    def _more_staging(self, size: int) -> None:
        """Makes page-locked memory available: of finished copies, in place of other sizes, or from CANN."""
        staging = self._staging
        if staging.held + size > _STAGING:
            self.synchronize()
            staging.collect()
            if staging.unused.get(size):
                return
            staging.give_back(_STAGING - size)
        staging.more(size)

    # ------------------------------------------------------------------------------------------- order
    def queued(self, what: str) -> None:
        """Remembers a queued operator, for the message of an asynchronous failure."""
        self._recent.append(what)
        if context.get("pynative_synchronize"):
            self.synchronize()

    def synchronize(self) -> None:
        """Waits until all queued work is done; AscendError if some of it failed, with what was queued last."""
        with self.order:  # until the end: what is under way then was queued before the wait
            self.enter()
            try:
                self.acl.call("aclrtSynchronizeStream", self.stream)
            except AscendError as error:
                if self._recent:
                    error.add_note("queued last, the failing one among them: " + "; ".join(self._recent))
                raise
            else:
                self._under_way.clear()
            finally:
                self._recent.clear()

    def close(self) -> None:
        """Gives everything back to CANN, as far as that is possible after errors."""
        with self.order:
            if self.closed:
                return
            self._tried("aclrtSetCurrentContext", self._context)
            waited = self._tried("aclrtSynchronizeStream", self.stream)
            self.closed = True
            if not waited:  # it ends what may still be queued, so that nothing of the following is in use
                self._tried("aclrtDestroyStream", self.stream)
            for keeper in [*self.keepers.values(), *self.held]:
                keeper.close()
            self.held.clear()
            self._end_abandoned()
            self._workspace = None
            self.kept.clear()
            self._under_way.clear()
            self._memory.drop()  # blocks that Tensors hold are lost
            if waited:
                self._tried("aclrtDestroyStream", self.stream)
            self._staging.drop()
            if self._overflow_before is not None:
                with contextlib.suppress(AscendError):
                    self.acl.call("aclrtSetDeviceSatMode", self._overflow_before)
            with contextlib.suppress(AscendError):
                self.acl.call("aclrtResetDevice", self.number)

    def _tried(self, name: str, handle: int) -> bool:
        """Calls a function of a handle, if there is one; False if that failed."""
        try:
            if handle:
                self.acl.call(name, handle)
        except AscendError:
            return False
        return True


_devices: dict[int, Device] = {}
_lock = Lock()


def device(number: int) -> Device:
    """The device of that number, started when it is first asked for."""
    with _lock:
        found = _devices.get(number)
        if found is None or found.closed:
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
    except AscendError:
        return 0


def chip() -> str:
    """The name of the chip, as in Ascend910B3."""
    acl.initialise()
    name: bytes = acl.libraries.function("aclrtGetSocName")() or b"Ascend"
    return name.decode()


def started() -> list[Device]:
    """The devices that are in use."""
    with _lock:
        return [found for found in _devices.values() if found.mine and not found.closed]


def shutdown() -> None:
    """Waits for all devices, gives their memory and streams back, and ends CANN if this package started it.

    In a forked process, whose devices are its parent's, it does nothing.
    """
    with _lock:
        devices = list(_devices.values())
    if not all(found.mine for found in devices):
        return
    for found in devices:  # without the lock: who works on a device may ask for another one
        found.close()
    with _lock:
        for found in devices:
            if _devices.get(found.number) is found:
                del _devices[found.number]
        if not _devices:
            with contextlib.suppress(AscendError):
                acl.finalise()


# Before the libraries are unloaded, and whoever started CANN.
atexit.register(shutdown)
