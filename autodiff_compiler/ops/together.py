"""Collectives of Tensors by the numbers that users give: groups by name, parts of axis 0, processes by their rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..collectives import Group, world
from ..ir.core import Value
from ..ir.primitive import F, call
from ..ir.types import dim_product
from ..primitives.collective import REDUCTIONS
from ..primitives.family import is_tensor
from ..primitives.requirements import require, require_dtype, with_article
from ..runtime.tensor import Tensor

__all__ = [
    "AVERAGE",
    "Group",
    "all_gathered",
    "all_reduced",
    "broadcasted",
    "counts_of",
    "exchanged",
    "gathered",
    "group_of",
    "named",
    "operand",
    "reduce_scattered",
    "reduced",
    "rows_of",
    "scattered",
    "swapped",
    "swapped_rows",
]

#: The reduction that is a sum, divided by the number of processes.
AVERAGE = "avg"


def group_of(group: str | None) -> Group:
    """The group of a name; None is that of all processes."""
    if group is None:
        return world.group(world.WORLD_NAMES[0])
    if not isinstance(group, str):
        raise TypeError(f"`group` is the name of a group, not {with_article(type(group))}")
    return world.group(group)


def named(group: Group) -> dict[str, Any]:
    """The attributes of an op in a group."""
    return {"group": group.name, "size": group.size}


def operand(function: str, x: Any) -> Any:
    """The Tensor that a function was given."""
    if not is_tensor(x):
        raise TypeError(f"{function}() takes a Tensor, not {with_article(type(x))}")
    return x


def checked_op(op: str) -> str:
    """A reduction by its name."""
    if not isinstance(op, str):
        raise TypeError(f"`op` is the name of a reduction, not {with_article(type(op))}")
    if op not in (*REDUCTIONS, AVERAGE):
        raise ValueError(f"`op` is one of {', '.join((*REDUCTIONS, AVERAGE))}, not {op!r}")
    return op


def averaged(x: Any, op: str, group: Group) -> Any:
    """What a sum over a group is as a mean, where that is asked for."""
    return x / group.size if op == AVERAGE else x


def parts(x: Any, group: Group, function: str) -> Any:
    """The tensor as equal parts of axis 0, one for each process."""
    require(x.ndim > 0, f"{function} divides axis 0 into parts, which a number has not")
    rows = x.shape[0]
    fits = not isinstance(rows, int) or rows % group.size == 0
    require(fits, f"{function} divides axis 0 into {group.size} equal parts, but it has {rows} elements")
    return call.reshape(x, (group.size, rows // group.size, *x.shape[1:]))


def joined(x: Any) -> Any:
    """The parts of all processes, one behind the other along axis 0; those of numbers are a vector."""
    return x if x.ndim == 1 else call.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def all_reduced(x: Any, op: str, group: Group) -> Any:
    sum_of = F.all_reduce(x, op="sum" if checked_op(op) == AVERAGE else op, **named(group))
    return averaged(sum_of, op, group)


def all_gathered(x: Any, group: Group) -> Any:
    return joined(F.all_gather(x, axis=-x.ndim - 1, **named(group)))


def reduce_scattered(x: Any, op: str, group: Group) -> Any:
    each = parts(x, group, "reduce_scatter")
    if checked_op(op) in ("sum", AVERAGE):
        return averaged(F.reduce_scatter(each, axis=-each.ndim, **named(group)), op, group)
    mine = F.all_to_all(each, axis=-each.ndim, **named(group))
    return {"prod": call.prod, "max": call.amax, "min": call.amin}[op](mine, 0)


def broadcasted(x: Any, root: int, group: Group) -> Any:
    return F.broadcast_from(x, root=root, **named(group))


def reduced(x: Any, root: int, op: str, group: Group) -> Any:
    """The reduction in one process; a vector of one 0 in the others."""
    if checked_op(op) in ("sum", AVERAGE):
        found = averaged(F.reduce_to(x, root=root, **named(group)), op, group)
    else:
        found = F.at_root(F.all_reduce(x, op=op, **named(group)), root=root, **named(group))
    return at_root(found, root, group)


def gathered(x: Any, root: int, group: Group) -> Any:
    """The tensors of all in one process; a vector of one 0 in the others."""
    return at_root(joined(F.gather_to(x, axis=-x.ndim - 1, root=root, **named(group))), root, group)


def at_root(x: Any, root: int, group: Group) -> Any:
    if group.rank == root or dim_product(x.shape) == 0:
        return x
    return rows_of(call.reshape(x, (-1,)), 0, 1)


def rows_of(x: Any, start: int, stop: int) -> Any:
    """Some of the rows of axis 0."""
    return F.slice(x, axes=(-x.ndim,), starts=(start,), stops=(stop,), steps=(1,))


def scattered(x: Any, root: int, group: Group) -> Any:
    each = parts(x, group, "scatter")
    return F.scatter_from(each, axis=-each.ndim, root=root, **named(group))


def swapped(x: Any, group: Group, split_dim: int, concat_dim: int) -> Any:
    """Part number r along a dimension goes to process r; those that come are put together along another."""
    n = group.size
    split, concat = split_dim % x.ndim, concat_dim % x.ndim
    rows = x.shape[split]
    fits = not isinstance(rows, int) or rows % n == 0
    require(fits, f"all_to_all divides dimension {split_dim} into {n} equal parts, but it has {rows} elements")
    each = call.reshape(x, (*x.shape[:split], n, rows // n, *x.shape[split + 1 :]))
    each = call.moveaxis(each, split, 0)
    found = call.moveaxis(F.all_to_all(each, axis=-each.ndim, **named(group)), 0, concat)
    shape = found.shape
    return call.reshape(found, (*shape[:concat], n * shape[concat + 1], *shape[concat + 2 :]))


def swapped_rows(x: Any, sent: Sequence[int], received: Sequence[int], group: Group) -> Any:
    """Rows of axis 0 by counts: so many of them to each process, so many from each."""
    return F.all_to_all_v(x, axis=-x.ndim, sent=tuple(sent), received=tuple(received), **named(group))


def counts_of(parameter: str, counts: Any) -> tuple[int, ...]:
    """Numbers that are given as a list, or in eager code as a Tensor."""
    if isinstance(counts, Value):
        raise TypeError(f"`{parameter}` is a list of numbers, which compiled code must know")
    found = counts.tolist() if isinstance(counts, Tensor) else list(counts)
    require_dtype(all(type(n) is int for n in found), f"`{parameter}` are integers, not {found}")
    return tuple(found)


def exchanged(
    xs: Sequence[Any], to: Sequence[int], sources: Sequence[int], shapes: Sequence[Any], dtype: Any, group: Group
) -> tuple[Any, ...]:
    """Sends tensors to processes, one each, and receives tensors of these shapes."""
    ranks, sizes = tuple([len(shape) for shape in shapes]), tuple([d for shape in shapes for d in shape])
    of = {"dtype": dtype, "ranks": ranks, "sizes": sizes, **named(group)}
    return tuple(F.exchange(*xs, to=tuple(to), sources=tuple(sources), **of) or ())
