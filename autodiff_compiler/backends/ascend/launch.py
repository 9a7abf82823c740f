"""Launches of one operator: its arguments as CANN's objects, then the two phases, planning and queuing.

Objects live until the second phase has returned; those of a repeatable executor, as long as it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dtypes import DType, bool_, float32, float64, int64
from ...errors import AscendError
from .acl import DTYPE_CODES, IMAGE_FORMATS, ND, Acl
from .device import Device
from .library import MissingSymbolError
from .tables import Argument, operators

_NOT_REPEATABLE = 561000


@dataclass(frozen=True)
class Placed:
    """A tensor in memory: a view, counted in elements, of the storage at `address`."""

    address: int
    elements: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Number:
    """A number as CANN's scalar object."""

    value: bool | int | float
    dtype: DType

    @staticmethod
    def of(value: bool | int | float) -> Number:
        """As Python's type says: bool, int64 or double."""
        return Number(value, bool_ if isinstance(value, bool) else int64 if isinstance(value, int) else float64)

    def bytes(self) -> bytes:
        formats = {bool_: "?", int64: "q", float64: "d", float32: "f"}
        return struct.pack(formats[self.dtype], self.value)


class _Objects:
    """The objects of one call, destroyed together."""

    def __init__(self, acl: Acl) -> None:
        self.acl = acl
        self._made: list[tuple[str, int]] = []

    def _keep(self, destroy: str, handle: int) -> int:
        self._made.append((destroy, handle))
        return handle

    def tensor(self, x: Placed, argument: Argument, listed: bool = False) -> int:
        rank = len(x.shape)
        shape, strides = x.shape, x.strides
        if rank < argument.ranks[0]:  # a value without dimensions is passed as one with a dimension of 1
            extra = argument.ranks[0] - rank
            shape, strides = (1,) * extra + shape, (1,) * extra + strides
            rank = len(shape)
        dims, steps = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
        storage = (ctypes.c_int64 * 1)(x.elements)
        image = argument.image and rank in IMAGE_FORMATS
        handle = self.acl.create(
            "aclCreateTensor", dims, rank, DTYPE_CODES[x.dtype.short], steps, x.offset,
            IMAGE_FORMATS[rank] if image else ND, storage, 1, x.address if x.elements else None,
        )  # fmt: skip
        return handle if listed else self._keep("aclDestroyTensor", handle)

    def tensors(self, xs: Sequence[Placed], argument: Argument) -> int:
        handles: list[int] = []
        try:
            for x in xs:
                handles.append(self.tensor(x, argument, listed=True))
            array = (ctypes.c_void_p * len(handles))(*handles)
            made = self.acl.create("aclCreateTensorList", array, len(handles))
        except BaseException:
            for handle in handles:
                self.acl.libraries.function("aclDestroyTensor")(handle)
            raise
        return self._keep("aclDestroyTensorList", made)  # with its elements

    def scalar(self, x: Number) -> int:
        data = ctypes.create_string_buffer(x.bytes())
        return self._keep("aclDestroyScalar", self.acl.create("aclCreateScalar", data, DTYPE_CODES[x.dtype.short]))

    def ints(self, xs: Sequence[int]) -> int:
        return self._keep(
            "aclDestroyIntArray", self.acl.create("aclCreateIntArray", (ctypes.c_int64 * len(xs))(*xs), len(xs))
        )

    def bools(self, xs: Sequence[bool]) -> int:
        return self._keep(
            "aclDestroyBoolArray", self.acl.create("aclCreateBoolArray", (ctypes.c_bool * len(xs))(*xs), len(xs))
        )

    def argument(self, argument: Argument, value: Any) -> Any:
        """The C value of an argument."""
        if value is None:
            return None
        if argument.kind == "tensor":
            return self.tensor(value, argument)
        if argument.kind == "tensors":
            return self.tensors(value, argument)
        make: dict[str, Callable[[Any], int]] = {"scalar": self.scalar, "ints": self.ints, "bools": self.bools}
        if argument.kind in make:
            return make[argument.kind](value)
        return DTYPE_CODES[value.short] if argument.kind == "dtype" else value

    def destroy(self) -> None:
        for name, handle in reversed(self._made):
            self.acl.libraries.function(name)(handle)
        self._made.clear()


class Planned:
    """One launch of an operator: `plan` is the first phase, `queue` the second, once; `destroy` must follow.

    CANN's calls write handles directly into this object, so that no interrupt loses one.
    """

    def __init__(self, device: Device, name: str, loc: str = "") -> None:
        self.device, self.loc = device, loc
        self.operator = operators()[name]
        self.objects = _Objects(device.acl)
        self._size, self._executor = ctypes.c_uint64(), ctypes.c_void_p()

    @property
    def size(self) -> int:
        """Bytes of workspace that the second phase needs."""
        return self._size.value

    def plan(self, values: Sequence[Any]) -> None:
        """The first phase."""
        acl, operator = self.device.acl, self.operator
        self.device.enter()
        try:
            plan, _ = acl.libraries.phases(operator.name)
        except MissingSymbolError as error:
            raise MissingSymbolError(f"{error}, which is needed" + (f" at {self.loc}" if self.loc else "")) from None
        arguments = [self.objects.argument(a, v) for a, v in zip(operator.args, values, strict=True)]
        places = ctypes.byref(self._size), ctypes.byref(self._executor)
        status = plan(*arguments, *places)
        if status:
            self._executor.value = None  # there is none
            raise acl.error(f"aclnn{operator.name}GetWorkspaceSize", status, self.loc)

    def queue(self, workspace: int = 0) -> None:
        """The second phase, which consumes the executor, also where it fails."""
        self._queue(workspace, ctypes.c_void_p())

    def _queue(self, workspace: int, left: ctypes.c_void_p) -> None:
        """The second phase: the operator is on the stream when it returns, and `left` is the executor then."""
        device = self.device
        block = device.workspace(self.size) if self.size and not workspace else None
        _, queue = device.acl.libraries.phases(self.operator.name)
        room = workspace if block is None else block.address
        with device.order:
            size, stream = self._size, device.stream
            executor, self._executor = self._executor, left
            status = queue(room or None, size, executor, stream)
        if status:
            raise device.acl.error(f"aclnn{self.operator.name}", status, self.loc)

    def destroy(self) -> None:
        end = self.device.acl.libraries.function("aclDestroyAclOpExecutor") if self._executor else None
        executor, self._executor = self._executor, ctypes.c_void_p()
        if end is not None:
            end(executor)
        self.objects.destroy()


def launch(device: Device, name: str, values: Sequence[Any], loc: str = "") -> None:
    """Queues an operator on the device's stream; AscendError names it and the user's line."""
    planned = Planned(device, name, loc)
    try:
        planned.plan(values)
        planned.queue()
    finally:
        planned.destroy()
    device.queued(f"{name} at {loc}" if loc else name)


class Executor(Planned):
    """An operator that is planned once and queued many times, at fixed addresses."""

    def repeat(self) -> bool:
        """Makes the executor repeatable, right after planning; False where CANN cannot repeat this operator."""
        try:
            self.device.acl.call("aclSetAclOpExecutorRepeatable", self._executor)
        except AscendError as error:
            if error.status == _NOT_REPEATABLE:
                return False
            raise
        return True

    def run(self) -> None:
        """Queues the operator once more."""
        self._queue(0, self._executor)
        self.device.queued(f"{self.operator.name} at {self.loc}" if self.loc else self.operator.name)
