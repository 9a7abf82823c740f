"""Collectives of Tensors for training, in eager and in compiled code."""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call

__all__ = ["all_gather", "all_reduce", "reduce_scatter"]


def all_reduce(x: Any, group: str, size: int, op: str = "sum") -> Any:
    """The sum of x over the `size` processes of a group, or what `op` names."""
    return call.all_reduce(x, op=op, group=group, size=size)


def all_gather(x: Any, group: str, size: int) -> Any:
    """The x of all processes as rows."""
    return call.all_gather(x, axis=-x.ndim - 1, group=group, size=size)


def reduce_scatter(x: Any, group: str, size: int) -> Any:
    """Of rows, one for each process, this process's one, summed over the processes."""
    return call.reduce_scatter(x, axis=-x.ndim, group=group, size=size)
