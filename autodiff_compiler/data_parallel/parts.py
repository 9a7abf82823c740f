"""Parts of arrays: their elements cut between processes, and joined again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collectives import transfer
from ..runtime.parameter import Parameter
from .settings import processes

__all__ = ["own_part", "part_of_array", "whole_array"]


def part_of_array(array: Any, rank: int, size: int) -> Any:
    """Part number `rank` of the elements, cut into `size` equal parts; what the last ones lack is filled with zeros."""
    flat = array.reshape(-1)
    length = -(-flat.size // size)
    part = np.zeros(length, array.dtype)
    there = flat[rank * length : (rank + 1) * length]
    part[: there.size] = there
    return part


def own_part(array: Any, p: Parameter) -> Any:
    """Of the elements of a whole Parameter those of `p`, the part that this process has; a part as it is."""
    if array.shape != p.whole_shape:
        return array
    everybody = processes()
    return part_of_array(array, everybody.rank, everybody.size)


def whole_array(p: Parameter) -> Any:
    """The elements of a Parameter of which each process has a part: every process must ask for them."""
    joined = transfer.all_gather(np.ascontiguousarray(p.asnumpy()), processes())
    return joined[: int(np.prod(p.whole_shape))].reshape(p.whole_shape)
