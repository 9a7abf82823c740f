"""Scatters: writes and sums at positions given by integer tensors, one update after the other, in order."""

from __future__ import annotations

from math import prod

from ....dtypes import DType
from ....ir.core import Op, Value
from ..codegen.arithmetic import Kernels
from ..codegen.emit import Int, Reg
from ..codegen.lanes import Lane, computed_in
from ..codegen.values import Spread
from ..loops.loop_nest import LoopNest
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from ..memory.overwriting import copy_to_change
from .indexing import TOGETHER, position, positions, rows_before


class _Start:
    """The array that updates go into: a copy of the operand, 16-bit floats as f32 where sums are widened."""

    def __init__(self, low: BufferPlan, op: Op, *, widen: bool) -> None:
        self.low = low
        x = op.operands[0]
        self.dtype = computed_in(x.dtype) if widen else x.dtype
        self.target = low.target(op.results[0])
        self.array = low.new_in_dtype(self.target, self.dtype)
        if self.array is self.target:
            copy_to_change(low, op, self.array)
        else:
            low.copy_array(low.in_memory(x, ordered=False), self.array)

    def finish(self) -> None:
        self.low.give(self.array, self.target)


def _combined(k: Kernels, name: str, old: Lane, new: Lane) -> Lane:
    if name == "scatter_update":
        return new
    functions = {"scatter_max": k.maximum, "scatter_min": k.minimum, "scatter_mul": k.multiply}
    return functions.get(name, k.add)(old, new)


def _in_dtype(x: Lane, dtype: DType) -> Lane:
    """A lane as the dtype of the sums; 16-bit floats are held as f32 anyway."""
    return x if x.dtype is dtype else Lane(x.kernels, x.reg, dtype)


def _scatter(low: BufferPlan, op: Op) -> None:
    """Scatters slices to positions along an axis."""
    x, index, updates = op.operands
    name = op.defn.name
    number = _known(low, updates)
    places, new = low.in_memory(index), low.in_memory(updates) if number is None else None
    axis = op.attr("axis") % len(x.shape)
    start = _Start(low, op, widen=op.defn.widen)
    into, dtype = start.array, start.dtype
    count, row = prod(places.shape), prod(into.shape[axis + 1 :])
    if 0 in places.shape or 0 in into.shape:
        start.finish()
        return
    nest = LoopNest(low, [into, places, *([] if new is None else [new])])
    text, size, read = nest.text, dtype.itemsize, updates.dtype.itemsize
    lanes = nest.lanes(dtype)

    def slices(at: list[Reg]) -> None:
        def one(j: Int) -> None:
            place = position(text, text.at(nest.places[1], text.mul(j, 8)), into.shape[axis])
            to, update = text.at(at[0], text.mul(place, row * size)), text.at(at[-1], text.mul(j, row * read))

            def some(k: Kernels, i: Int) -> None:
                here = text.at(to, text.mul(i, size))
                if number is None:
                    found = k.load(text.at(update, text.mul(i, read)), updates.dtype)
                else:
                    found = k.number(number, updates.dtype)
                found = _in_dtype(found, dtype)
                k.store(_combined(k, name, found if name == "scatter_update" else k.load(here, dtype), found), here)

            if name == "scatter_update" and number is None:
                nest.move(update, to, row * read)
            else:
                nest.along(row, lanes, some)

        text.repeated(0, count, 1, one)

    before = into.shape[:axis]
    if new is None:
        nest.over(before, [into.strides[:axis]], nest.places[:1], slices)
    else:
        strides = [into.strides[:axis], rows_before([*before, count * row * read])]
        nest.over(before, strides, [nest.places[0], nest.places[2]], slices)
    nest.call(into.shape[axis])
    start.finish()


def _known(low: BufferPlan, x: Value) -> bool | int | float | None:
    """The constant of a splat; None for anything else."""
    found = low.env[x]
    return found.number if isinstance(found, Spread) and not isinstance(found.number, Lane) else None


def _add_along_axis(low: BufferPlan, op: Op) -> None:
    """Adds single elements at positions along an axis."""
    x, index, updates = op.operands
    places, new = low.in_memory(index, ordered=False), low.in_memory(updates, ordered=False)
    axis = op.attr("axis") % len(x.shape)
    start = _Start(low, op, widen=True)
    into, dtype = start.array, start.dtype
    if 0 in places.shape or 0 in into.shape:
        start.finish()
        return
    nest = LoopNest(low, [into, places, new])
    text, k = nest.text, nest.one
    own = [0 if a == axis else s for a, s in enumerate(into.strides)]

    def elements(at: list[list[Reg]]) -> None:
        """Positions are loaded together; sums go in order, as positions may be equal."""
        found = positions(text, [place for _, place, _ in at], into.shape[axis])
        for n, (row, _, update) in zip(found, at, strict=True):
            here = text.at(row, text.mul(n, into.strides[axis]))
            k.store(k.add(k.load(here, dtype), _in_dtype(k.load(update, new.dtype), dtype)), here)

    nest.over_unrolled(places.shape, [own, places.strides, new.strides], nest.places, TOGETHER, elements)
    nest.call(into.shape[axis])
    start.finish()


OPS.update(dict.fromkeys(("scatter_add", "scatter_update", "scatter_max", "scatter_min", "scatter_mul"), _scatter))
OPS["add_along_axis"] = _add_along_axis
