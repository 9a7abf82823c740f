"""Sums over processes that a program has begun: buckets of tensors, by the numbers that the program gives them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import transfer
from .group import Group
from .waiting import Handle

__all__ = ["begin", "end"]

_Array = np.ndarray[Any, Any]
#: By thread and number: what has begun last stands last, as a program may run while another one waits.
_begun: dict[tuple[int, int], list[Handle]] = {}


def begin(xs: Sequence[_Array], number: int, group: Group, at: str = "") -> None:
    """Copies arrays of one dtype into a bucket, and starts to add it up over the processes."""
    bucket = np.concatenate([np.ravel(x) for x in xs])
    handle = transfer.start_all_reduce(bucket, "sum", group, out=bucket, at=at)
    _begun.setdefault((threading.get_ident(), number), []).append(handle)


def end(number: int) -> _Array:
    """The sums of a bucket, when they are there."""
    key = threading.get_ident(), number
    handle = _begun[key].pop()
    if not _begun[key]:
        del _begun[key]
    found: _Array = handle.wait()
    return found
