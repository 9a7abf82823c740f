"""Arrays in the memory of an Ascend device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import DType, from_numpy
from ...runtime.device_array import DeviceArray, nobody_else_sees
from .device import Block, Device

#: Bytes of integer arrays up to which the host keeps a copy.
KNOWN = 1 << 20


class AscendArray(DeviceArray):
    """A contiguous array from the beginning of a block on."""

    __slots__ = ("block",)

    def __init__(self, block: Block, dtype: DType, shape: tuple[int, ...]) -> None:
        super().__init__(dtype.numpy, shape)
        self.block = block

    @staticmethod
    def of(array: Any, device: Device, label: str = "") -> AscendArray:
        """An array of the host or of any device as one of this device."""
        if isinstance(array, AscendArray) and array.block.device is device:
            return array
        values = np.asarray(array)
        return AscendArray(uploaded(values, device, label), from_numpy(values.dtype), values.shape)

    @property
    def place(self) -> str:
        return f"Ascend:{self.block.device.number}"

    def fetch(self) -> np.ndarray[Any, Any]:
        """The values as a new ndarray; waits until they are there."""
        found = np.empty(self.shape, self.dtype)
        block = self.block  # holds the block, if another thread gives this array a new one meanwhile
        block.device.download(block.address, found)
        return found

    def store(self, array: np.ndarray[Any, Any]) -> None:
        self.block = uploaded(array, self.block.device, self.block.label)

    def copy(self) -> AscendArray:
        return AscendArray(self.block, from_numpy(self.dtype), self.shape)

    def take(self, other: Any) -> bool:
        if not isinstance(other, AscendArray) or (other.dtype, other.shape) != (self.dtype, self.shape):
            return False
        self.block = other.block
        return True

    @property
    def memory(self) -> Block:
        return self.block


def uploaded(values: np.ndarray[Any, Any], device: Device, label: str) -> Block:
    """A new block with the values.  The host keeps small integers (labels, indices), which it may have to check."""
    block = device.allocate(values.nbytes, label)
    device.upload(np.ascontiguousarray(values), block.address)
    if values.dtype.kind in "iub" and values.nbytes <= KNOWN:
        block.known = values.flatten()
    return block


def brought(x: Any, device: Device) -> AscendArray:
    """The elements of a Tensor on a device; the Tensor is moved there, unless others see its host array."""
    moves = nobody_else_sees(x)
    data = x._data
    found = AscendArray.of(data, device, getattr(x, "name", None) or "")
    if found is not data and (moves or isinstance(data, AscendArray)):
        x._data = found
    return found
