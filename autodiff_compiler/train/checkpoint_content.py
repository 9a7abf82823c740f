"""The content of checkpoint files, and the conversion of their bytes to arrays."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ..runtime.tensor import Array

__all__ = ["CheckpointError", "Content", "array_of_bytes"]

#: Arrays and texts by name, in the order of the file.
Content: TypeAlias = dict[str, Array | str]

#: The most dimensions of an array in NumPy.
_RANKS = 64


class CheckpointError(ValueError):
    """A checkpoint file that cannot be read or written; nothing was changed."""


def array_of_bytes(name: str, content: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """An array over the bytes; CheckpointError unless they are exactly one array of that dtype and shape."""
    if len(shape) > _RANKS or any(n < 0 for n in shape):
        raise CheckpointError(f"{name!r} has too many dimensions or a negative size")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != len(content):
        raise CheckpointError(f"{name!r} has {len(content)} bytes, shape {list(shape)} of {dtype} needs {wanted}")
    try:
        array = np.frombuffer(content, dtype).reshape(shape) if wanted else np.empty(shape, dtype)
    except (ValueError, OverflowError) as error:
        raise CheckpointError(f"{name!r} has the impossible shape {list(shape)}: {error}") from None
    if dtype == np.bool_ and (array.view(np.uint8) > 1).any():
        raise CheckpointError(f"{name!r} has bools that are neither true nor false")
    return array
