"""HCCL's C functions: communicators of devices, one process for each, and collectives that are queued on a stream.

Numbers of dtypes, reductions and results are those of CANN's header `hccl_types.h` (CANN 8.1.RC1, and the copy in
Ascend/pytorch, third_party/hccl/inc).  Which dtypes a collective takes on an Atlas A2 is in hiascend.com's pages of the
functions for CANN 8.0 to 8.5 (HcclAllReduce and the others).
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

from ...collectives import Group
from ...errors import AscendError
from .acl import said
from .device import Device
from .library import MissingSymbolError
from .tables import code_name

#: HcclDataType by the package's dtypes; a bool is a byte.
DTYPE_CODES = {
    "i8": 0, "i16": 1, "i32": 2, "f16": 3, "f32": 4, "i64": 5, "u64": 6, "u8": 7, "u16": 8, "u32": 9, "f64": 10,
    "bf16": 11, "bool": 7,
}  # fmt: skip
#: HcclReduceOp.
REDUCTION_CODES = {"sum": 0, "prod": 1, "max": 2, "min": 3}
#: The dtypes that are reduced, and those of them that are not multiplied.
REDUCED, NOT_MULTIPLIED = frozenset({"i8", "i16", "i32", "i64", "f16", "f32", "bf16"}), frozenset({"i16", "bf16"})
#: sizeof(HcclRootInfo).
ROOT_INFO_BYTES = 4108

#: HcclSendRecvType.
SENT, RECEIVED = 0, 1


class Message(ctypes.Structure):
    """HcclSendRecvItem: what HcclBatchSendRecv sends to another rank, or receives from it."""

    _fields_ = (
        ("way", ctypes.c_int32), ("buffer", ctypes.c_void_p), ("count", ctypes.c_uint64), ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_uint32),
    )  # fmt: skip


#: Advice by HcclResult.
_ADVICE = {
    1: "an argument is refused: do all ranks give the same counts, dtypes and group, and has each its own device?",
    4: "an error inside HCCL",
    5: "HCCL does not do that on this chip",
    6: "what another rank offers is not there: did it end?",
    9: "a rank did not come in time (HCCL_CONNECT_TIMEOUT sets how long is waited): did it fail, or is it elsewhere?",
    10: "a file cannot be opened",
    11: "a host does not answer: see HCCL_SOCKET_IFNAME and HCCL_IF_IP",
    12: "a device's network does not answer: see `hccn_tool`",
    15: "a function of the runtime failed",
    19: "a network failed",
}


def failure(device: Device, function: str, status: int, loc: str = "") -> AscendError:
    """The exception for a result that a function of HCCL returned, with what the library says."""
    detail = said(device.acl)
    if not detail:
        with contextlib.suppress(MissingSymbolError):
            detail = (device.acl.libraries.function("HcclGetErrorString")(status) or b"").decode("utf-8", "replace")
    return AscendError(function, status, code_name(status, "hccl_codes"), _ADVICE.get(status, ""), detail, loc)


def _function(device: Device, name: str, loc: str) -> Any:
    """A function of HCCL; MissingSymbolError says where it is needed."""
    try:
        return device.acl.libraries.function(name)
    except MissingSymbolError as error:
        raise MissingSymbolError(f"{error}; {name} is needed" + (f" at {loc}" if loc else "")) from None


def root_info(device: Device, loc: str = "") -> bytes:
    """What a communicator's first rank makes and gives to all others, who then enter with it."""
    made = ctypes.create_string_buffer(ROOT_INFO_BYTES)
    with device.order:
        device.enter()
        status = _function(device, "HcclGetRootInfo", loc)(made)
    if status:
        raise failure(device, "HcclGetRootInfo", status, loc)
    return made.raw


class Communicator:
    """A group's devices, of which this one is number `rank` of `size`.

    A constructor waits until all ranks have come.  Collectives run in the order in which they are queued, which must be
    the same on all ranks.
    """

    def __init__(self, device: Device, rank: int, size: int, function: str, *args: Any, loc: str = "") -> None:
        self.device, self.rank, self.size = device, rank, size
        #: the group of processes that it is of, if they have one
        self.group: Group | None = None
        self._handle = ctypes.c_void_p()
        with device.order:
            device.enter()
            enter = _function(device, function, loc)
            device.held.append(self)  # it closes before the device does
            status = enter(*args, ctypes.byref(self._handle))
        if status:
            self._handle.value = None
            device.held.remove(self)
            raise failure(device, function, status, loc)

    @classmethod
    def by_root_info(cls, device: Device, rank: int, size: int, info: bytes, loc: str = "") -> Communicator:
        """The communicator of a root info, which all ranks have."""
        if len(info) != ROOT_INFO_BYTES:
            raise AscendError(text=f"HCCL's root info has {ROOT_INFO_BYTES} bytes, not {len(info)}")
        return cls(device, rank, size, "HcclCommInitRootInfo", size, info, rank, loc=loc)

    @classmethod
    def by_table(cls, device: Device, rank: int, size: int, path: str, loc: str = "") -> Communicator:
        """The communicator of all ranks of a table of ranks, a file."""
        return cls(device, rank, size, "HcclCommInitClusterInfo", path.encode(), rank, loc=loc)

    def queue(self, function: str, *args: Any, loc: str = "") -> None:
        """Queues a collective, whose last two arguments, communicator and stream, are added here."""
        device = self.device
        with device.order:  # it may set up links at first, and so wait for other ranks
            device.enter()
            at = f" at {loc}" if loc else ""
            if not self._handle:
                raise AscendError(text=f"the communicator was closed before {function}{at}")
            status = _function(device, function, loc)(*args, self._handle, device.stream)
        if status:
            raise failure(device, function, status, loc)
        device.queued(f"{function}{at}")

    def close(self) -> None:
        """Destroys the communicator; nothing that is queued may use it."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self.device.acl.libraries.function("HcclCommDestroy")(handle)
