"""Gathers: reads at positions given by integer tensors, and the bounds checks of these."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ....dtypes import int64, uint64
from ....ir.core import Op, Value
from ....ir.primitive import F, kernel_of
from ....ir.sizes import Size, usual
from ....ir.types import TensorType, tensor
from ..codegen.arithmetic import Kernels
from ..codegen.emit import Int, Reg, Text
from ..codegen.lanes import Lane
from ..codegen.values import Array, Spread
from ..loops.loop_nest import LoopNest, row_of
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from .host_calls import call_python, sized
from .windows import compute

#: Slices that are read in one trip, and the most bytes of such slices.
TOGETHER = 8
_SHORT = 64


# ------------------------------------------------------------------------------------------------ places
def _check_index(low: BufferPlan, op: Op) -> None:
    """The bounds check; it makes positions non-negative, and calls the NumPy kernel to raise where one is outside."""
    (x,), (result,) = op.operands, op.results
    assert isinstance(x.type, TensorType)
    assert isinstance(result.type, TensorType)
    size, negative = op.attr("size"), op.attr("negative") and x.dtype is not uint64  # there 2**64 - 1 is not -1
    if result.type.shape == ():
        lane = low.one.cast(low.scalar(x), int64)
        outside, place = _checked(low.one, lane, size, negative)
        low.env[result] = Spread(result.type, place)
        _refuse(low, op, None, outside)
    elif 0 in result.type.shape:
        low.target(result)
    else:
        source = low.in_memory(x, ordered=False)
        bad, below = _found(low, source, size, negative)
        _refuse(low, op, source, bad)
        if source.dtype is not int64 or not source.contiguous:
            _counted_from_zero(low, source, low.target(result), size)
        else:
            low.env[result] = _moved_up(low, source, result.type, size, below) if negative else source
    low.may_fail()


def _checked(k: Kernels, lane: Lane, size: Size, negative: bool) -> tuple[Reg, Lane]:
    """Whether a position is out of bounds, and the position counted from 0."""
    place = k.where(k.less(lane, 0), k.add(lane, _lane(k, size)), lane) if negative else lane
    return _outside(k, place, size), place


def _outside(k: Kernels, place: Lane, size: Size) -> Reg:
    """Whether a position is not in 0 ... size - 1: one unsigned comparison checks both bounds."""
    test = k.less(place, 0).reg.type
    return k.text.let(test, f"icmp uge {place.reg}, {_lane(k, size).reg.text}")


def _lane(k: Kernels, size: Size) -> Lane:
    """A size in all lanes."""
    if isinstance(size, int):
        return k.number(size, int64)
    return k.broadcast(Lane(Kernels(k.text, 1), k.text.whole(size), int64))


def _refuse(low: BufferPlan, op: Op, source: Array | None, bad: Reg) -> None:
    """Raises the NumPy kernel's error, if a position is out of bounds."""
    x, size, negative = op.operands[0], op.attr("size"), op.attr("negative")

    def fail() -> tuple[()]:
        kernel = kernel_of(op.defn)
        operand = low.in_memory(x) if source is None else source

        def refuse(index: Any, sizes: Mapping[str, int] | None = None) -> tuple[()]:
            kernel(index, size=size if sizes is None else sized(size, sizes), negative=negative)
            return ()

        call_python(low, refuse, [operand], [], returns=False, takes_sizes=True)
        return ()

    low.text.branch(bad, fail, rare=True)


def _found(low: BufferPlan, source: Array, size: Size, negative: bool) -> tuple[Reg, Reg]:
    """Whether one of the positions is out of bounds, and whether one is negative (or out of bounds)."""
    flags = low.array(tensor(int64, (2,)))
    nest = LoopNest(low, [flags, source])
    text, one = nest.text, nest.one
    for i in range(2):
        one.store(one.number(0, int64), text.at(nest.places[0], 8 * i))
    count, step = source.shape[-1], source.strides[-1]
    in_order = step == source.dtype.itemsize

    def row(places: list[Reg]) -> None:
        def some(k: Kernels, i: Int) -> None:
            start = text.at(places[0], text.mul(i, step))
            found = k.load(start, source.dtype) if in_order else k.load_strided(start, source.dtype, step)
            found = k.cast(found, int64)

            def note() -> tuple[()]:
                one.store(one.number(1, int64), text.at(nest.places[0], 8))
                text.branch(any_lane(k, _checked(k, found, size, negative)[0]), refuse)
                return ()

            text.branch(any_lane(k, _outside(k, found, size)), note, rare=True)

        nest.along(count, nest.lanes(int64), some)

    def any_lane(k: Kernels, test: Reg) -> Reg:
        return k.vectors(int64).any_lane(test)

    def refuse() -> tuple[()]:
        one.store(one.number(1, int64), nest.places[0])
        return ()

    nest.over(source.shape[:-1], [source.strides[:-1]], nest.places[1:], row)
    nest.call()
    loaded = [low.text.load("i64", low.text.at(flags.base, 8 * i), 8) for i in range(2)]
    bad, below = (low.text.make("i1", f"icmp ne {x}, 0") for x in loaded)
    return bad, below


def _moved_up(low: BufferPlan, source: Array, type: TensorType, size: Size, below: Reg) -> Array:
    """The positions themselves, or, if some are negative, a copy of them counted from 0."""
    made, text = low.array(type), low.text

    def write() -> list[Reg]:
        _counted_from_zero(low, source, made, size)
        return [made.base]

    (place,) = text.branch(below, write, lambda: [text.at(source.base, source.offset)])
    return low.at_pointer(type, place, (*source.roots, *made.roots))


def _counted_from_zero(low: BufferPlan, source: Array, target: Array, size: Size) -> None:
    def build(x: Value) -> list[Value]:
        place = F.cast(x, dtype=int64)
        return [F.select(F.less(place, 0), F.add(place, above), place)]

    above: int | Value = 0
    if isinstance(size, int):
        above = size
    else:
        type = tensor(int64, target.shape)
        above = low.stand_in(type, Spread(type, Lane(low.one, low.text.whole(size), int64)))

    compute(low, [source], [target], build)


# ------------------------------------------------------------------------------------------------ slices
def _gather(low: BufferPlan, op: Op) -> None:
    x, index = op.operands
    if _is_nothing(low, op):
        return
    source, places = low.in_memory(x, ordered=False), low.in_memory(index)
    axis = op.attr("axis") % len(x.shape)
    if row_of(source, axis) is None:
        source = low.in_memory(x)
    target = low.target(op.results[0])
    count, step = prod(places.shape), source.strides[axis]
    size = source.shape[axis]
    nbytes = prod(source.shape[axis + 1 :]) * source.dtype.itemsize
    nest = LoopNest(low, [source, places, target])
    text = nest.text
    outer = rows_before([*source.shape[:axis], count * nbytes])

    def slices(at: list[Reg]) -> None:
        def some(j: Int, number: int) -> None:
            """All loads go before the stores, so that cache misses overlap."""
            here = [position(text, text.at(nest.places[1], text.mul(text.add(j, n), 8)), size) for n in range(number)]
            froms = [text.at(at[0], text.mul(place, step)) for place in here]
            if isinstance(nbytes, int) and nbytes <= 8 and nbytes.bit_count() == 1:
                found = [text.load(f"i{8 * nbytes}", x, nbytes) for x in froms]
                for n, x in enumerate(found):
                    text.store(x, text.at(at[1], text.mul(text.add(j, n), nbytes)), nbytes)
                return
            for n, x in enumerate(froms):
                nest.move(x, text.at(at[1], text.mul(text.add(j, n), nbytes)), nbytes)

        whole = count // TOGETHER * TOGETHER if usual(nbytes) <= _SHORT else 0
        text.repeated(0, whole, TOGETHER, lambda j: some(j, TOGETHER))
        text.repeated(whole, count, 1, lambda j: some(j, 1))

    nest.over(source.shape[:axis], [source.strides[:axis], outer], [nest.places[0], nest.places[2]], slices)
    nest.call(size)


def position(text: Text, place: Reg, size: Size) -> Reg:
    """A position loaded once and clamped to an axis of `size` > 0 elements.

    `check_index` has checked it; but IR from a file may leave the check out, and another thread may have written to a
    user's array since.  The load is atomic so that LLVM does not load twice; a branch that is not taken costs less than
    a minimum.
    """
    return positions(text, [place], size)[0]


def positions(text: Text, places: Sequence[Reg], size: Size) -> list[Reg]:
    """Several positions along one axis, with one branch for all (see `position`)."""
    found = [text.make("i64", f"load atomic i64, {place} monotonic, align 8") for place in places]
    most = text.whole(size).text
    outside = [text.make("i1", f"icmp uge {x}, {most}") for x in found]
    some = functools.reduce(lambda a, b: text.make("i1", f"or {a}, {b.text}"), outside)

    def kept_within() -> list[Reg]:
        last = text.whole(size - 1)
        return [text.make("i64", f"select {o}, {last}, {x}") for o, x in zip(outside, found, strict=True)]

    return text.branch(some, kept_within, lambda: found, rare=True)


def rows_before(sizes: list[Size]) -> list[Size]:
    """The C-order strides of all sizes but the last, which is that of a row in bytes."""
    strides: list[Size] = []
    step = sizes[-1]
    for d in reversed(sizes[:-1]):
        strides.append(step)
        step *= d
    return strides[::-1]


def _is_nothing(low: BufferPlan, op: Op) -> bool:
    """Whether a gather is one along an axis without elements, and is done: no position has passed its check."""
    (result,), (source, _) = op.results, op.operands
    assert isinstance(result.type, TensorType)
    nothing = bool(source.shape[op.attr("axis")] == 0)
    if nothing:
        low.env[result] = Spread(result.type, 0)
    return nothing


# ------------------------------------------------------------------------------------------------ elements
def _take_along_axis(low: BufferPlan, op: Op) -> None:
    x, index = op.operands
    if _is_nothing(low, op):
        return
    source, places = low.in_memory(x, ordered=False), low.in_memory(index, ordered=False)
    axis = op.attr("axis") % len(x.shape)
    target = low.target(op.results[0])
    nest = LoopNest(low, [source, places, target])
    text, kind = nest.text, f"i{8 * source.dtype.itemsize}"
    own = [0 if a == axis else s for a, s in enumerate(source.strides)]

    def elements(at: list[list[Reg]]) -> None:
        here = positions(text, [places for _, places, _ in at], source.shape[axis])
        froms = [text.at(row, text.mul(n, source.strides[axis])) for n, (row, _, _) in zip(here, at, strict=True)]
        found = [text.load(kind, place, source.dtype.itemsize) for place in froms]
        for x, (_, _, to) in zip(found, at, strict=True):
            text.store(x, to, source.dtype.itemsize)

    strides = [own, places.strides, target.strides]
    nest.over_unrolled(target.shape, strides, nest.places, TOGETHER, elements)
    nest.call(source.shape[axis])


OPS.update({"check_index": _check_index, "gather": _gather, "take_along_axis": _take_along_axis})
