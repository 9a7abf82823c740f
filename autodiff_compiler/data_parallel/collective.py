"""Collectives of Tensors for training, in eager and in compiled code."""

from __future__ import annotations

from typing import Any

from ..collectives import transfer, world
from ..runtime.host import TensorSpec
from ..transforms.host import py_call

__all__ = ["all_gather", "all_reduce", "reduce_scatter"]


def all_reduce(x: Any, group: str, op: str = "sum") -> Any:
    """The sum of x over the processes of a group, or what `op` names."""
    return py_call(lambda a: transfer.all_reduce(a, op, world.group(group)), x, out=TensorSpec(x.shape, x.dtype), bprop=lambda x, out, dout: (all_reduce(dout, group, op),))


def all_gather(x: Any, group: str, size: int) -> Any:
    """The x of all processes one behind the other."""
    spec = TensorSpec((size * x.shape[0], *x.shape[1:]), x.dtype)
    return py_call(lambda a: transfer.all_gather(a, world.group(group)), x, out=spec)


def reduce_scatter(x: Any, group: str, size: int) -> Any:
    """The part of this process of the sum of x over the processes, in the order of their numbers."""
    spec = TensorSpec((x.shape[0] // size, *x.shape[1:]), x.dtype)
    return py_call(lambda a: transfer.reduce_scatter(a, "sum", world.group(group)), x, out=spec)
