"""One operator on the device: its arguments as CANN's objects, then the phase that plans and the phase that queues.

Objects live until the second phase has returned; a repeatable executor keeps its objects as long as it lives.
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
from .tables import Argument, Operator, operators

__all__ = ["Executor", "Number", "Placed", "Planned", "launch", "repeatable"]

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


def _plan(acl: Acl, operator: Operator, objects: _Objects, values: Sequence[Any], loc: str) -> tuple[int, int]:
    """The first phase: the size of the workspace, and the executor."""
    try:
        plan, _ = acl.libraries.phases(operator.name)
    except MissingSymbolError as error:
        raise MissingSymbolError(f"{error}, which is needed" + (f" at {loc}" if loc else "")) from None
    arguments = [objects.argument(a, v) for a, v in zip(operator.args, values, strict=True)]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    status = plan(*arguments, ctypes.byref(size), ctypes.byref(executor))
    if status:
        raise acl.error(f"aclnn{operator.name}GetWorkspaceSize", status, loc)
    return size.value, executor.value or 0


def _queue(device: Device, operator: Operator, size: int, executor: int, loc: str, room: int) -> None:
    """The second phase: the operator is on the stream when it returns."""
    _, queue = device.acl.libraries.phases(operator.name)
    with device.order:
        status = queue(room or None, size, executor, device.stream)
    if status:
        raise device.acl.error(f"aclnn{operator.name}", status, loc)


class Planned:
    """An operator after its first phase: `queue` puts it on the stream, once; `destroy` must follow."""

    def __init__(self, device: Device, name: str, values: Sequence[Any], loc: str = "") -> None:
        self.device, self.loc = device, loc
        self.operator = operators()[name]
        self.objects = _Objects(device.acl)
        self.executor = 0
        device.enter()
        try:
            self.size, self.executor = _plan(device.acl, self.operator, self.objects, values, loc)
        except BaseException:
            self.objects.destroy()
            raise

    def queue(self, workspace: int = 0) -> None:
        """The second phase, which uses the executor up, also where it fails."""
        block = self.device.workspace(self.size) if self.size and not workspace else None  # first: it may fail
        executor, self.executor = self.executor, 0
        _queue(self.device, self.operator, self.size, executor, self.loc, workspace if block is None else block.address)

    def destroy(self) -> None:
        if self.executor:
            self.device.acl.libraries.function("aclDestroyAclOpExecutor")(self.executor)
            self.executor = 0
        self.objects.destroy()


def launch(device: Device, name: str, values: Sequence[Any], loc: str = "") -> None:
    """Queues an operator on the device's stream; AscendError names it and the user's line."""
    planned = Planned(device, name, values, loc)
    try:
        planned.queue()
    finally:
        planned.destroy()
    device.queued(f"{name} at {loc}" if loc else name)


class Executor(Planned):
    """An operator that is planned once and queued many times, at fixed addresses.

    AscendError where CANN cannot repeat this operator.
    """

    def __init__(self, device: Device, name: str, values: Sequence[Any], loc: str = "") -> None:
        super().__init__(device, name, values, loc)
        try:
            device.acl.call("aclSetAclOpExecutorRepeatable", self.executor)
        except BaseException:
            self.destroy()
            raise

    def run(self) -> None:
        """Queues the operator once more."""
        block = self.device.workspace(self.size) if self.size else None
        _queue(self.device, self.operator, self.size, self.executor, self.loc, 0 if block is None else block.address)
        self.device.queued(f"{self.operator.name} at {self.loc}")


def repeatable(device: Device, name: str, values: Sequence[Any], loc: str = "") -> Executor | None:
    """The operator as an executor, or None where CANN refuses to repeat it."""
    try:
        return Executor(device, name, values, loc)
    except AscendError as error:
        if error.status == _NOT_REPEATABLE and error.function == "aclSetAclOpExecutorRepeatable":
            return None
        raise
