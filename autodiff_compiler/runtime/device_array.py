"""Arrays that lie in the memory of a device, in the place of a Tensor's ndarray."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DeviceArray"]


class DeviceArray:
    """A contiguous array on a device: what an ndarray says of itself, and its values for NumPy when it asks.

    A backend's class says how the values are fetched.  NumPy functions work on a copy; nothing writes into it from
    outside.
    """

    __slots__ = ("dtype", "shape")
    base = None

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        steps, step = [], self.dtype.itemsize
        for n in reversed(self.shape):
            steps.append(step)
            step *= max(n, 1)
        return tuple(reversed(steps))

    def fetch(self) -> np.ndarray[Any, Any]:
        """The values as a new ndarray; waits until they are there."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array of a device cannot be seen by the host without a copy")
        found = self.fetch()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]
