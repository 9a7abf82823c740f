"""Arrays in the memory of an Ascend device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import DType, from_numpy
from ...runtime.device_array import DeviceArray
from .device import Block, Device

__all__ = ["AscendArray"]


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
        values = np.ascontiguousarray(array)
        block = device.allocate(values.nbytes, label)
        device.upload(values, block.address)
        return AscendArray(block, from_numpy(values.dtype), np.shape(array))

    def fetch(self) -> np.ndarray[Any, Any]:
        """The values as a new ndarray; waits until they are there."""
        found = np.empty(self.shape, self.dtype)
        self.block.device.download(self.block.address, found)
        return found
