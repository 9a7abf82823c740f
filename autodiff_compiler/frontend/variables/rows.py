"""The elements of lists of which only run time knows how long they are, as the slices of one Tensor (`Rows`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import UnsupportedCallError
from ...ir.build import Builder
from ...ir.core import Value
from ...ir.primitive import F
from ...ir.sizes import Size, deciding, depends_on_data, largest, number_of
from ...ir.types import tensor
from .base import variable_of
from .leaves import Leaf, RowsLeaf, same_elements
from .structure import elements, outline, rebuild
from .templates import Slot, leaf_of, value_in
from .values import LocalList, Rows, TensorVar, is_rows, is_size

#: Why the elements of a Tensor cannot be assigned that is in such a list.
IN_A_LIST = "is in a list whose length is known only at run time"


def elem_leaf(*lists: Sequence[Any]) -> Leaf | None:
    """The leaf of all elements of some lists, if that can be the one of `Rows`."""
    found: Leaf | None = None
    for x in (x for items in lists for x in items):
        known = leaf_of(x)
        leaf = None if known is None else known.as_element()
        if leaf is None:
            return None
        if (found is not None and not same_elements(leaf, found)) or any(map(depends_on_data, leaf.type.shape)):
            return None
        found = leaf
    return found


def grows(a: Any, b: Any, xs: Sequence[Any], ys: Sequence[Any]) -> Leaf | None:
    """The leaf of the elements if two values are lists that differ in length, or may; else None."""
    if outline(a).kind is not list or outline(b).kind is not list:
        return None
    of_rows = [any(isinstance(leaf_of(x), RowsLeaf) for x in items) for items in (xs, ys)]
    if len(xs) == len(ys) and of_rows[0] is of_rows[1]:
        return None
    return elem_leaf(xs, ys)


def packed(items: Sequence[Any], elem: Leaf, builder: Builder) -> Rows:
    """The elements of a list as one Tensor, at the end of a builder's block."""
    parts = []
    for x in items:
        if is_rows(x):
            parts.append(x.value)
            continue
        value = held(x, elem, builder)
        with builder:
            parts.append(F.expand_dims(value, axes=(-1 - elem.type.ndim,)))
    number = elem.kind
    with builder:
        if not parts:
            return Rows(builder.const(0, tensor(elem.type.dtype, (0, *elem.type.shape))), number)
        return Rows(parts[0] if len(parts) == 1 else F.concat(*parts, axis=-1 - elem.type.ndim), number)


def held(x: Any, elem: Leaf, builder: Builder) -> Value:
    """An element as a Value; from now on nobody can write to it."""
    if type(x) is TensorVar:
        x.locked = x.locked or IN_A_LIST
    return value_in(elem, x, builder)


def list_of_rows(value: Value, number: type | None) -> LocalList:
    """The list of the slices of a Value, which are Tensors or of class `number`."""
    made = LocalList()
    made.fill([Rows(value, number)])
    return made


def rows_of(x: Any) -> Rows | None:
    """The elements of such a list; None for all else."""
    first: Any = next(iter(elements(x) or ()), None)
    return first if is_rows(first) else None


def is_empty(x: Sequence[Any]) -> bool:
    """Whether such a list has no elements, of one as long as an argument; of data nobody knows."""
    (rows,) = x
    size = rows.value.shape[0]
    return not depends_on_data(size) and bool(size == 0)


def repeated(items: Sequence[Any], times: Size, builder: Builder) -> LocalList:
    """``items * times``; a number of times that is no size of data becomes known if there can be no such list."""
    elem = elem_leaf(items)
    if elem is None:
        known_length(times)
        raise refused("a multiple")
    rows = packed(items, elem, builder).value
    times = largest(0, times)
    with builder:
        spread = F.broadcast_to(F.expand_dims(rows, axes=(-1 - rows.ndim,)), shape=(times, *rows.shape))
        return list_of_rows(F.reshape(spread, shape=(times * rows.shape[0], *rows.shape[1:])), elem.kind)


def known_length(size: Size, instead: str = "") -> None:
    """Begins the compilation again where a length is a size of arguments: it becomes known.

    `instead`: what would take any length, in words.
    """
    if is_size(size) and not depends_on_data(size) and deciding.by is not None:
        number_of(size, instead)


def fitted(template: Any, x: Any, builder: Builder) -> Any:
    """A value with `Rows` where the template has a slot for them."""
    wanted, given = elements(template), elements(x)
    if type(template) is Slot or wanted is None or given is None:
        return x
    first = wanted[0] if len(wanted) == 1 else None
    if type(first) is Slot and isinstance(first.leaf, RowsLeaf):
        return [packed(list(given), first.leaf.elem, builder)]
    if len(wanted) != len(given):
        return x
    parts = [fitted(t, g, builder) for t, g in zip(wanted, given, strict=True)]
    return x if all(p is g for p, g in zip(parts, given, strict=True)) else rebuild(x, parts)


def refused(what: str, *lists: Any) -> UnsupportedCallError:
    """The error for what such a list cannot do; of one as long as an argument, the length becomes known instead."""
    for x in lists:
        variable_of(x).settle_length()
    counts = [
        n for n in (rows.value.shape[0] for rows in map(rows_of, lists) if rows is not None) if isinstance(n, int)
    ]
    which = (
        f"of {counts[0]:,} elements that a loop has collected" if counts else "whose length is known only at run time"
    )
    return UnsupportedCallError(
        f"{what} of a list {which} is not supported",
        code="AC1801",
        hint="make one Tensor of it: `ops.stack` or `ops.cat`",
    )
