"""Arrays that there is no memory for: how NumPy says it, and how we do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .dtypes import from_numpy
from .errors import AscendError, CompileError, TooLittleMemoryError
from .source import Loc

__all__ = ["is_refusal", "made", "naming_memory", "no_memory_for", "on_the_way", "refusal", "refused", "told_bytes"]

#: How NumPy's ValueErrors begin that say that an array has more elements, or bytes, than it can count.
_UNCOUNTABLE = (
    "array is too big",
    "iterator is too large",
    "Maximum allowed dimension",
    "Maximum allowed size",
    "maximum supported dimension",
)


def is_refusal(error: BaseException) -> bool:
    """Whether an error of NumPy or of machine code says that an array cannot be made because it is too large."""
    if isinstance(error, CompileError | AscendError):  # which say it already
        return False
    return isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(_UNCOUNTABLE))


def made(shape: Sequence[int], make: Callable[[], Any], dtype: Any) -> Any:
    """What `make` makes, an array of that shape and dtype; TooLittleMemoryError where there is no memory for it."""
    try:
        return make()
    except (MemoryError, ValueError) as error:
        if is_refusal(error):
            raise no_memory_for(dtype, shape) from None
        raise


def refused(error: BaseException) -> TooLittleMemoryError | None:
    """An error of NumPy's own that says that there is no memory, in our words; None for others, those of users too."""
    if not is_refusal(error):
        return None
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is not None and dtype is not None:
        return no_memory_for(dtype, shape)
    if isinstance(error, ValueError):
        return refusal(f"there is no memory for an array that is asked for: {error}", None)
    return None


@contextmanager
def naming_memory() -> Iterator[None]:
    """Within it the errors of NumPy for arrays that there is no memory for are TooLittleMemoryError."""
    try:
        yield
    except (MemoryError, ValueError) as error:
        told = refused(error)
        if told is None:
            raise
        raise told from None


def told_bytes(nbytes: int) -> str:
    """An amount of memory as messages have it.

    >>> told_bytes(1 << 44), told_bytes(40_000_000), told_bytes(100)
    ('17,592,186,044,416 bytes (16,384 GiB)', '40,000,000 bytes (38 MiB)', '100 bytes')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= size:
            return f"{nbytes:,} bytes ({round(nbytes / size):,} {unit})"
    return f"{nbytes:,} bytes"


def on_the_way(nbytes: int | None) -> str:
    """What is said of a program's memory for what lies between its arguments and its results; None: so many bytes as
    the sizes of a call ask for."""
    told = "" if nbytes is None else f": {told_bytes(nbytes)}"
    return f"there is no memory for what the call computes on the way{told}"


def no_memory_for(dtype: Any, shape: Sequence[Any], loc: Loc | None = None) -> TooLittleMemoryError:
    """The error for an array that there is no memory for."""
    dtype = np.dtype(dtype)
    bytes = math.prod(shape) * dtype.itemsize
    what = f"{from_numpy(dtype).short}[{','.join(map(str, shape))}]"
    return refusal(f"there is no memory for {what}: {told_bytes(bytes)}", loc)


def refusal(message: str, loc: Loc | None) -> TooLittleMemoryError:
    """The error with that message, at the user's place."""
    hint = "compute in parts or in a smaller dtype, `recompute` what derivatives keep, or free what is held"
    return TooLittleMemoryError(message, loc=loc and loc.of_user(), hint=hint)
