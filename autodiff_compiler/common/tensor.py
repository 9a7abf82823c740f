"""MindSpore's module of `Tensor`, and `frombuffer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import called_outside
from ..dtypes import dtype_of
from ..runtime.tensor import Tensor

__all__ = ["Tensor", "frombuffer"]


@called_outside
def frombuffer(buffer: Any, dtype: Any, count: int = -1, offset: int = 0) -> Tensor:
    """A Tensor of one dimension over the memory of an object, from byte `offset` on; `count` elements, or all.

    It shares memory that may be written to, and copies other.  ValueError: the memory is too short, or no whole number
    of elements.  TypeError: the object has no memory to give, or `dtype` is none.

    >>> from autodiff_compiler import uint8
    >>> frombuffer(b"abc", uint8, offset=1).tolist()
    [98, 99]
    """
    array = np.frombuffer(buffer, dtype_of(dtype).numpy, count, offset)
    return Tensor.from_numpy(array) if array.flags.writeable else Tensor(array.copy())
