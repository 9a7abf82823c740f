"""Calls of CANN's C functions: a status becomes an exception that says what was called, where, and why it failed."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

from ...errors import AscendError, AscendMemoryError
from ...locks import Lock
from .library import Libraries, MissingSymbolError
from .tables import code_name

#: The numbers of CANN's enumerations that are needed here.
DTYPE_CODES = {
    "f32": 0, "f16": 1, "i8": 2, "i32": 3, "u8": 4, "i16": 6, "u16": 7, "u32": 8, "i64": 9, "u64": 10, "f64": 11,
    "bool": 12, "bf16": 27,
}  # fmt: skip
ND = 2
#: The format of an image tensor by its rank: NCL, NCHW, NCDHW.
IMAGE_FORMATS = {3: 47, 4: 0, 5: 30}
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3

#: What to do about a forked process.
FORKED = 'start workers before the device is used, or with multiprocessing\'s "spawn"'
_ALREADY_INITIALISED = 100002
_OUT_OF_MEMORY = (200000, 207001, 207018)
#: Errors of the device itself.
DEVICE_FAILURES = range(507000, 508000)
_CORES = ("AICORE", "AICPU", "VECTOR_CORE")
_LOST = "its memory is lost: begin again in a new process, from a checkpoint"
#: Advice for statuses that are common on a new machine.
_ADVICE = {
    100000: "a parameter is invalid",
    100039: "the loaded library is a stub for linking: put the toolkit's lib64 before its devlib or stub folder",
    107001: "the device does not exist; see `npu-smi info` and ASCEND_RT_VISIBLE_DEVICES",
    107002: "no device was chosen in this thread, or another package reset it",
    161001: "an argument is NULL",
    161002: "a dtype, shape or format is refused",
    500000: "no device can be used: is the driver installed, and /dev/davinci* readable?",
    507015: f"a kernel failed on the device; {_LOST}",
    507048: f"a task waited too long: of a collective, for another rank (HCCL_EXEC_TIMEOUT); {_LOST}",
    561003: "the kernel was not found: is the operator package for this chip installed?",
    561107: "ASCEND_OPP_PATH is not set: run `source set_env.sh` of the toolkit before Python starts",
}


class Acl:
    """The interface of one process: it initialises CANN once, and calls its functions by name."""

    def __init__(self) -> None:
        self.libraries = Libraries()
        self._lock = Lock()
        self._ready = False
        self._pid = os.getpid()
        #: whether this process's first `aclInit` was ours, so that `aclFinalize` is
        self._owner = False

    def initialise(self) -> None:
        """Starts CANN, unless another package has; AscendError or MissingSymbolError where it cannot be used."""
        with self._lock:
            if self._ready:
                if self._pid != os.getpid():
                    raise AscendError(text=f"CANN was started by the process that this one was forked from: {FORKED}")
                return
            status = self.libraries.function("aclInit")(None)
            if status not in (0, _ALREADY_INITIALISED):
                raise self.error("aclInit", status)
            self._owner, self._ready, self._pid = status == 0, True, os.getpid()

    def finalise(self) -> None:
        """Ends what `initialise` began, if it was the first of this process to do so."""
        with self._lock:
            if self._pid != os.getpid():
                return
            ends = self._ready and self._owner
            self._ready = self._owner = False
            if ends:
                self.call("aclFinalize")

    def call(self, name: str, *args: Any) -> None:
        """Calls a function; AscendError if its status is not 0."""
        status = self.libraries.function(name)(*args)
        if status:
            raise self.error(name, status)

    def get(self, name: str, kind: Any, *args: Any) -> Any:
        """Calls a function whose first argument is where its result goes; the result."""
        result = kind()
        self.call(name, ctypes.byref(result), *args)
        return result.value

    def create(self, name: str, *args: Any) -> int:
        """Calls a function that makes an object; AscendError if it gives NULL."""
        made = self.libraries.function(name)(*args)
        if not made:
            raise self.error(name, 0)
        return int(made)

    def error(self, name: str, status: int, loc: str = "") -> AscendError:
        """The exception for a status that `name` returned, with the library's last error message."""
        lost = _LOST if any(word in code_name(status) for word in _CORES) else ""
        cls = AscendMemoryError if status in _OUT_OF_MEMORY else AscendError
        return cls(name, status, code_name(status), _ADVICE.get(status, lost), said(self), loc)


def said(acl: Acl) -> str:
    """The library's last error message in this thread; "" if it has none."""
    found = None
    with contextlib.suppress(MissingSymbolError):
        found = acl.libraries.function("aclGetRecentErrMsg")()
    return found.decode("utf-8", "replace").strip() if found else ""


#: The one of this process.
acl = Acl()
