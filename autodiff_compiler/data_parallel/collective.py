"""Collectives of Tensors for training, in eager and in compiled code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import ops
from ..ir.primitive import call, trace

__all__ = ["all_gather", "all_reduce", "reduce_scatter", "sums_of"]


def all_reduce(x: Any, group: str, size: int, op: str = "sum") -> Any:
    """The sum of x over the `size` processes of a group, or what `op` names."""
    return call.all_reduce(x, op=op, group=group, size=size)


def all_gather(x: Any, group: str, size: int) -> Any:
    """The x of all processes as rows."""
    return call.all_gather(x, axis=-x.ndim - 1, group=group, size=size)


def reduce_scatter(x: Any, group: str, size: int) -> Any:
    """Of rows, one for each process, this process's one, summed over the processes."""
    return call.reduce_scatter(x, axis=-x.ndim, group=group, size=size)


def sums_of(xs: Sequence[Any], group: str, size: int, groups: Sequence[Sequence[int]], chosen: bool) -> list[Any]:
    """The sums of tensors over the processes; those whose numbers stand in one of `groups` travel together.

    What stands in none stays as it is.  Compiled code has a sum for each, which the pass `buckets` puts together: as
    the groups say if the user has `chosen` them, else by bytes.
    """
    found = list(xs)
    if trace.builder is not None:
        fusion = {i: number + 1 for number, together in enumerate(groups) for i in together}
        for i in sorted(fusion):
            found[i] = call.all_reduce(xs[i], op="sum", group=group, size=size, fusion=fusion[i] if chosen else 0)
        return found
    for together in groups:
        if len(together) == 1:
            (i,) = together
            found[i] = all_reduce(xs[i], group, size)
            continue
        flat = all_reduce(ops.concat([ops.reshape(xs[i], (-1,)) for i in together], 0), group, size)
        parts = ops.split(flat, [math.prod(xs[i].shape) for i in together], 0)
        for i, part in zip(together, parts, strict=True):
            found[i] = ops.cast(ops.reshape(part, xs[i].shape), xs[i].dtype)
    return found
