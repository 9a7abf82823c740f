"""`x[index]` and its functional assignment: NumPy's rules for ints, slices, None, `...` and integer tensors.

An index becomes at most three ops: a strided slice (ints are slices of size 1), one gather over the dimensions that
integer tensors and run-time ints select (merged into one), and the removal or insertion of dimensions of size 1.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import DynamicShapeError, StaticValueError
from ..ir.core import Value
from ..ir.primitive import METHODS, F, call, composite, trace
from ..ir.sizes import Dim, count_of, deciding, depends_on_data, is_at_most, largest, may_be_at_most, smallest
from ..ir.types import dim_product, known_same, same_shape, tensor
from .control import COUNT
from .data_sized import coordinates, places_of
from .family import (
    as_tensor,
    broadcast_shapes,
    broadcast_to,
    constant,
    in_dtype,
    is_tensor,
    normal_axis,
    promoted_dtype,
    run_time_int,
)
from .index import checked
from .requirements import SymScalar, require, static_int
from .shape import permuted


@dataclass
class _Plan:
    """What an index does to each dimension of the tensor (`axes`) and where the result gets its dimensions from."""

    #: Per dimension: None (kept), (start, stop, step), or an index still to be gathered.
    axes: list[Any]
    #: Per dimension of the result in order: its dimension of the tensor, "new", or "index" (the gathered block).
    layout: list[Any]
    #: Dimensions that a static int selects: slices of size 1 that disappear.
    dropped: list[int]


def _is_index(item: Any) -> bool:
    return item.__class__ is SymScalar or is_tensor(item)


def _items(index: Any) -> list[Any]:
    """The parts of an index: lists and masks (whose elements are known now) as arrays, NumPy ints as ints.

    True is a new dimension, as a mask without dimensions that holds.
    """
    items: list[Any] = []
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, list):
            item = _list_index(item)
        if isinstance(item, np.generic):
            item = item.item()
        if isinstance(item, bool):
            if not item:
                raise TypeError("False cannot index a tensor; use a mask tensor")
            item = None
        if is_tensor(item) and item.dtype.is_bool and item.__class__ is not Value:
            item = np.asarray(item)
        items.append(item)
    return items


def _list_index(items: list[Any]) -> Any:
    """A list as an index: an array, or where some of its elements are known only at run time, a vector of them."""
    if not any(x.__class__ is Value or x.__class__ is SymScalar for x in items):
        return np.asarray([np.asarray(x) for x in items]) if items else np.zeros(0, np.int64)
    return _stacked([as_tensor(x, "index") for x in items])


def _stacked(parts: list[Any]) -> Any:
    parts = promoted_dtype(*parts)
    shape = broadcast_shapes([p.shape for p in parts], "elements of a list")
    return F.stack(*[broadcast_to(p, shape) for p in parts], axis=-1 - len(shape))


def _is_mask(item: Any) -> bool:
    return item.dtype == bool if isinstance(item, np.ndarray) else _is_run_time_mask(item)


def _is_run_time_mask(item: Any) -> bool:
    return item.__class__ is Value and item.dtype.is_bool


def _plan(shape: tuple[Any, ...], index: Any) -> _Plan:
    items = _items(index)
    used = sum([item.ndim if _is_mask(item) else item is not None and item is not Ellipsis for item in items])
    _check_count(used, len(shape))
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (len(shape) - used)
    arrays = any(isinstance(item, np.ndarray) or (is_tensor(item) and item.ndim) for item in items)
    plan = _Plan([], [], [])
    runs = 0  # of neighbouring gathered dimensions; NumPy puts the block first if there are several
    gathering = False
    for item in items:
        if _is_mask(item):
            _check_mask(item, shape, len(plan.axes))
        elif item.__class__ is Dim or (item.__class__ is int and depends_on_data(shape[len(plan.axes)])):
            item = _number(item) if depends_on_data(item) or depends_on_data(shape[len(plan.axes)]) else item
        gathered = _is_index(item) or isinstance(item, np.ndarray) or (arrays and isinstance(item, int))
        if gathered and not gathering:
            runs += 1
            plan.layout.append("index")
        gathering = gathered
        axis = len(plan.axes)
        if item is None:
            plan.layout.append("new")
        elif isinstance(item, slice):
            plan.axes.append(_slice(item, shape[axis]))
            plan.layout.append(axis)
        elif gathered:
            if _is_run_time_mask(item):
                plan.axes += coordinates(item)
                continue
            for i, part in enumerate(item.nonzero() if _is_mask(item) else (item,)):
                plan.axes.append(checked(part, shape[axis + i]))
        else:
            plan.axes.append(_one(item, shape[axis]))
            plan.dropped.append(axis)
    if runs > 1:
        plan.layout = ["index", *[d for d in plan.layout if d != "index"]]
    return plan


def _is_run_time(bound: Any) -> bool:
    return bound.__class__ is Value or bound.__class__ is SymScalar


def _slice(item: slice, size: Any) -> Any:
    if _is_run_time(item.step):
        raise StaticValueError(
            "the step of a slice must be a constant, but is known only at run time",
            code="AC1306",
            hint="index with an integer tensor, e.g. x[start + step * arange(n)]",
        ).about(item.step)
    if any(_is_run_time(bound) or _is_undecided(bound) for bound in (item.start, item.stop)):
        return _run_time_slice(item, size)
    if item.start is None and item.stop is None and item.step in (None, 1):
        return None
    start, stop, step = _bounds(item, size)
    count = count_of(start, stop, step)
    if count.__class__ is int and count == 0:
        return 0, 0, 1
    return None if step == 1 and start.__class__ is int and start == 0 and count is size else (start, stop, step)


def _is_undecided(bound: Any) -> bool:
    """Whether only run time knows from which end a bound counts."""
    return bound.__class__ is Dim and depends_on_data(bound) and not is_at_most(0, bound) and not is_at_most(bound, -1)


def _run_time_slice(item: slice, size: Any) -> Any:
    """Where a slice of an axis begins and ends if run time tells it: sizes of data, of which the end is the larger."""
    step = 1 if item.step is None else operator.index(item.step)
    if step <= 0:
        raise StaticValueError(
            f"a slice of step {step} has bounds that are known only at run time",
            code="AC1306",
            hint="take the slice forwards and flip it, or index with an integer tensor",
        )
    builder = trace.builder
    n, zero = _number(size), constant(0, COUNT)

    def within(bound: Any, otherwise: Any) -> Any:
        if bound is None:
            return otherwise
        i = run_time_int(bound)
        if i is None:
            i = _number(bound if bound.__class__ is Dim else operator.index(bound))
        i = F.select(F.less(i, zero), i + n, i)
        return F.maximum(zero, F.minimum(i, n))

    start = within(item.start, zero)
    stop = builder.bind(F.maximum(start, within(item.stop, n)), 0, size)
    return builder.bind(start, 0, stop), stop, step


def _number(size: Any) -> Any:
    """A size as an i64[]."""
    return F.size_value(size=size) if size.__class__ is Dim else constant(size, COUNT)


def _bounds(item: slice, size: Any) -> tuple[Any, Any, int]:
    """Where a slice of an axis begins and ends, and its step: what ``item.indices(size)`` gives for numbers."""
    bounds = (item.start, item.stop, item.step)
    if size.__class__ is int and not any(b.__class__ is Dim for b in bounds):
        return item.indices(size)
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def within(bound: Any, otherwise: Any) -> Any:
        if bound is None:
            return otherwise
        bound = bound if bound.__class__ is Dim else operator.index(bound)
        if deciding.by is None or depends_on_data(bound) or depends_on_data(size):  # nobody answers which it is
            return largest(low, smallest(high, bound if may_be_at_most(0, bound) else bound + size))
        bound = bound + size if bound < 0 else bound
        return low if bound < low else high if bound > high else bound

    return within(item.start, low if step > 0 else high), within(item.stop, high if step > 0 else low), step


def _one(item: Any, size: Any) -> tuple[Any, Any, int]:
    if not hasattr(item, "__index__"):
        kind = type(item).__name__
        raise TypeError(f"a tensor is indexed by ints, slices, None, `...` and integer tensors, not {kind}")
    i = item if item.__class__ is Dim else item.__index__()
    known = size.__class__ is int or deciding.by is not None
    require(known, "an element of a dimension of symbolic size may not exist")
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of bounds for size {size}")
    i += size if i < 0 else 0
    return i, i + 1, 1


# ------------------------------------------------------------------------------------------------ stages
def _slice_attrs(plan: _Plan) -> dict[str, tuple[int, ...]] | None:
    n = len(plan.axes)
    parts = [(i - n, *entry) for i, entry in enumerate(plan.axes) if isinstance(entry, tuple)]
    if not parts:
        return None
    axes, starts, stops, steps = zip(*parts, strict=True)
    return {"axes": axes, "starts": starts, "stops": stops, "steps": steps}


@dataclass
class _Gathered:
    """The sliced tensor with the dimensions to gather side by side and merged into one."""

    order: tuple[int, ...]  # permutation that brought them together (negative axes)
    wide: tuple[Any, ...]  # shape before merging
    merged: tuple[Any, ...]
    axis: int  # the merged dimension, negative
    index: Any  # positions along it


def _gathering(shape: tuple[Any, ...], plan: _Plan) -> _Gathered | None:
    n = len(shape)
    chosen = [i for i, entry in enumerate(plan.axes) if entry is not None and not isinstance(entry, tuple)]
    if not chosen:
        return None
    first = chosen[0] if plan.layout[0] != "index" or chosen[0] == 0 else 0
    rest = [i for i in range(n) if i not in chosen]
    order = [*rest[:first], *chosen, *rest[first:]]
    wide = tuple([shape[i] for i in order])
    sizes = [shape[i] for i in chosen]
    indices = [plan.axes[i] for i in chosen]
    common = broadcast_shapes([i.shape for i in indices], "index tensors")
    position = broadcast_to(indices[0], common)
    for index, size in zip(indices[1:], sizes[1:], strict=True):
        position = position * size + broadcast_to(index, common)
    merged = (*wide[:first], dim_product(tuple(sizes)), *wide[first + len(chosen) :])
    return _Gathered(tuple([i - n for i in order]), wide, merged, first - len(merged), position)


def _merged(x: Any, stage: _Gathered) -> Any:
    x = permuted(x, stage.order)
    return x if known_same(x.shape, stage.merged) else F.reshape(x, shape=stage.merged)


def _unmerged(x: Any, stage: _Gathered) -> Any:
    x = x if known_same(x.shape, stage.wide) else F.reshape(x, shape=stage.wide)
    n = len(stage.order)
    return permuted(x, tuple([stage.order.index(i) - n for i in range(-n, 0)]))


def _final_shape(shape: tuple[Any, ...], plan: _Plan, stage: _Gathered | None) -> tuple[Any, ...]:
    out: list[Any] = []
    for d in plan.layout:
        if d == "index":
            assert stage is not None
            out.extend(stage.index.shape)
        else:
            out.append(1 if d == "new" else shape[d])
    return tuple(out)


@composite("__getitem__", internal=True)
def getitem(x, index):
    """`x[index]` by NumPy's rules; always a new tensor, never a view that writes through.

    A mask known only at run time gives a size of data.
    """
    x = as_tensor(x)
    if any(type(n) is int and n < 0 for n in x.shape):
        raise ValueError(f"a Tensor of open sizes {list(x.shape)} has no elements: it only describes inputs")
    masks = run_time_masks(index)
    if masks and (not isinstance(index, tuple) or len(index) == 1):
        return _under_mask(x, index[0] if isinstance(index, tuple) else index)
    plan = _plan(x.shape, index)
    attrs = _slice_attrs(plan)
    if attrs is not None:
        x = F.slice(x, **attrs)
    shape, stage = x.shape, _gathering(x.shape, plan)
    if stage is not None:
        x = F.gather(_merged(x, stage), stage.index, axis=stage.axis)
    final = _final_shape(shape, plan, stage)
    return x if known_same(x.shape, final) else F.reshape(x, shape=final)


def _under_mask(x: Any, mask: Any) -> Any:
    """The elements, or slices, of a tensor where a mask over its first dimensions holds."""
    _check_count(mask.ndim, x.ndim)
    _check_mask(mask, x.shape, 0)
    _refuse_one_bool(mask)
    rest = x.shape[mask.ndim :]
    rows = F.reshape(x, shape=(dim_product(mask.shape), *rest)) if mask.ndim > 1 else x
    return F.gather(rows, places_of(mask), axis=-1 - len(rest))


def _refuse_one_bool(mask: Any) -> None:
    if mask.ndim == 0:
        raise DynamicShapeError(
            "one bool known only at run time is no mask of dimensions",
            hint="use an `if`, or where(mask, x, 0)",
        )


def _check_count(used: int, ndim: int) -> None:
    if used > ndim:
        raise IndexError(f"too many indices: the tensor has {ndim} dimensions, but {used} were indexed")


def _check_mask(mask: Any, shape: Any, first: int) -> None:
    """A mask is for dimensions from number `first` on, which must have its sizes."""
    here = shape[first : first + mask.ndim]
    if not same_shape(mask.shape, here):
        raise IndexError(f"a mask of shape {list(mask.shape)} does not fit dimensions of sizes {list(here)}")


def run_time_masks(index: Any) -> list[int]:
    """Which parts of an index are masks known only at run time."""
    items = index if isinstance(index, tuple) else (index,)
    return [i for i, item in enumerate(items) if item.__class__ is Value and item.dtype.is_bool]


def mask_of(x: Any, index: Any) -> tuple[Any, int] | None:
    """The mask over x's first dimensions for an index with a mask known only at run time.

    Beside it how many dimensions a value may have: those behind the mask, none if ints or slices stand beside it.
    None for indices with other parts.
    """
    places = run_time_masks(index)
    if not isinstance(index, tuple) or len(index) == 1:
        mask = index[0] if isinstance(index, tuple) else index
        _check_count(mask.ndim, x.ndim)
        _check_mask(mask, x.shape, 0)
        return mask, x.ndim - mask.ndim
    at = places[0]
    others = [*index[:at], *index[at + 1 :]]
    if len(places) > 1 or not all(type(i) is int or isinstance(i, slice) or i is Ellipsis for i in others):
        return None
    mask = index[at]
    used = mask.ndim + sum(i is not Ellipsis for i in others)
    _check_count(used, x.ndim)
    left = x.ndim - used
    early = any(i is Ellipsis for i in index[:at])
    _check_mask(mask, x.shape, at - 1 + left if early else at)
    behind = sum(isinstance(i, slice) for i in index[at:]) + (0 if early else left)
    spread = F.expand_dims(mask, axes=tuple(range(-behind, 0))) if behind else mask
    nowhere = constant(False, tensor(mask.dtype, x.shape))
    return setitem(nowhere, (*index[:at], *[slice(None)] * mask.ndim, *index[at + 1 :]), spread), 0


def without_ones(value: Any, ndim: int) -> Any:
    """A value for masked elements, of at most `ndim` dimensions if leading ones of size 1 are in the way."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = F.squeeze(value, axes=(-value.ndim,))
    return value


def assigned(value: Any, dtype: DType) -> Any:
    """A value to be written, also a (nested) list of numbers and Tensors, in the dtype it is written to."""
    if not isinstance(value, list | tuple):
        return in_dtype(value, dtype)
    if not value:
        return constant(np.zeros(0, dtype.numpy), tensor(dtype, (0,)))
    return _stacked([assigned(v, dtype) for v in value])


@composite("__setitem__", internal=True)
def setitem(x, index, value):
    """`x` with `x[index]` replaced by `value`, which is cast to x's dtype and broadcast: a new tensor.

    `value` may be a list of numbers and Tensors.
    """
    return _written(x, index, value, "scatter_update")


@composite("itemset", internal=True)
def itemset(x, *args):
    """The tensor with one element set to a number: ``x.itemset(index, number)``; without an index its only one.

    An int counts the elements one after the other. ValueError, IndexError: an index that does not fit.

    >>> from autodiff_compiler import Tensor
    >>> Tensor([[1, 2], [3, 4]]).itemset((0, 1), 7).tolist()
    [[1, 7], [3, 4]]
    """
    x = as_tensor(x)
    if not 1 <= len(args) <= 2:
        raise ValueError(f"itemset() takes a number, or an index and a number, not {len(args)} arguments")
    index = args[0] if len(args) == 2 else ()
    if len(args) == 1 and x.ndim:
        raise IndexError("itemset() with a number only is for tensors without dimensions")
    if isinstance(index, int) and x.ndim != 1:
        size = dim_product(x.shape)
        if not -size <= index < size:
            raise IndexError(f"itemset() of element {index}, but there are {size}")
        index = tuple(int(i) for i in np.unravel_index(index % size, x.shape))
    index = index if isinstance(index, tuple) else (index,)
    if len(index) != x.ndim:
        raise ValueError(f"itemset() takes {x.ndim} indices of this tensor, not {len(index)}")
    return setitem(x, index, args[-1])


def _written(x: Any, index: Any, value: Any, scatter: str) -> Any:
    x = as_tensor(x)
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    masked = is_tensor(mask) and mask.dtype.is_bool
    value = assigned(value, x.dtype)
    if masked or run_time_masks(index):
        replaces = scatter == "scatter_update"
        require(replaces, "elements under a mask cannot be added to", hint="use x + where(mask, v, 0)")
        found = mask_of(x, index) if run_time_masks(index) else (mask, x.ndim - mask.ndim)
        if found is not None:
            value = without_ones(value, found[1]) if run_time_masks(index) else value
            if value.ndim <= found[1] or not run_time_masks(index):
                return _masked(x, found[0], value)
    plan = _plan(x.shape, index)
    attrs = _slice_attrs(plan)
    part = F.slice(x, **attrs) if attrs is not None else x
    stage = _gathering(part.shape, plan)
    final = _final_shape(part.shape, plan, stage)
    while value.ndim > len(final) and value.shape[0] == 1:
        value = F.squeeze(value, axes=(-value.ndim,))  # in assignments NumPy drops leading dimensions of size 1
    value = broadcast_to(value, broadcast_shapes([value.shape, final], "value and indexed part"))
    fits = same_shape(value.shape, final)
    require(fits, f"a value of shape {list(value.shape)} does not fit a part of shape {list(final)}")
    if value.__class__ is Value and not known_same(value.shape, final):
        value = F.with_sizes(value, type=tensor(value.dtype, final))
    if stage is None:
        update = value if known_same(value.shape, part.shape) else F.reshape(value, shape=part.shape)
        update = part + update if scatter == "scatter_add" else update
    else:
        base = _merged(part, stage)
        at = base.ndim + stage.axis
        wanted = (*base.shape[:at], *stage.index.shape, *base.shape[at + 1 :])
        value = value if known_same(value.shape, wanted) else F.reshape(value, shape=wanted)
        update = _unmerged(getattr(F, scatter)(base, stage.index, value, axis=stage.axis), stage)
    return update if attrs is None else F.slice_update(x, update, **attrs)


def _masked(x: Any, mask: Any, value: Any) -> Any:
    _check_count(mask.ndim, x.ndim)
    _check_mask(mask, x.shape, 0)
    trailing = x.ndim - mask.ndim
    if mask.__class__ is not Value and value.ndim > trailing:
        return setitem(x, np.asarray(mask), value)
    if trailing:
        mask = F.expand_dims(mask, axes=tuple(range(-trailing, 0)))
    return F.select(broadcast_to(mask, x.shape), broadcast_to(value, x.shape), x)


# ------------------------------------------------------------------------------------------------ other forms
@composite("index_put")
def index_put(x, indices, values, accumulate=False):
    """`x` with `x[indices]` replaced by `values`, or raised by them; with `accumulate` repeated positions add up."""
    if not isinstance(indices, tuple | list):
        raise TypeError(f"`indices` must be a tuple of Tensors, not {type(indices).__name__}")
    return _written(x, tuple(indices), values, "scatter_add" if accumulate else "scatter_update")


@composite(internal=True)
def select_index(x, axis, index):
    """The slice at one position along an axis, which disappears; the position may be known only at run time."""
    x = as_tensor(x)
    axis = normal_axis(axis, x.ndim)
    return getitem(x, (..., index, *[slice(None)] * (-1 - axis)))


def _select_method(x: Any, first: Any, second: Any) -> Any:
    """``x.select(axis, index)`` of two ints; ``x.select(condition, y)``, which is `where`."""
    if isinstance(first, int) and not isinstance(first, bool):
        return select_index(x, first, second)
    return call.where(first, x, second)


METHODS["select"] = _select_method


@composite()
def strided_slice(
    x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0
):
    """``x[begin:end:strides]`` for the first dimensions, with bit i of a mask changing the meaning of entry i.

    `begin_mask` and `end_mask` leave the bound open, `ellipsis_mask` stands for `...`, `new_axis_mask` for None, and
    `shrink_axis_mask` takes the one element at `begin`.
    """
    parts: list[Any] = []
    if not len(begin) == len(end) == len(strides):
        raise ValueError(f"begin, end and strides differ in length: {len(begin)}, {len(end)}, {len(strides)}")
    for i, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            parts.append(...)
        elif new_axis_mask & bit:
            parts.append(None)
        elif shrink_axis_mask & bit:
            parts.append(start)
        else:
            start, stop = static_int(start, "begin"), static_int(stop, "end")
            step = static_int(step, "strides")
            parts.append(slice(None if begin_mask & bit else start, None if end_mask & bit else stop, step))
    return getitem(x, tuple(parts))
