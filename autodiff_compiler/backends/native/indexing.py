"""Reading at places given by integer tensors, and the check that the places exist."""

from __future__ import annotations

from math import prod
from typing import Any

from ...dtypes import int64
from ...ir.core import Op, Value
from ...ir.primitive import kernel_of
from ...ir.types import TensorType, tensor
from .emit import Int, Reg
from .hosts import call_python
from .lanes import Lane
from .lower import OPS, Lowering
from .nests import Nest, row_of
from .values import Array, Spread

__all__ = ["in_order", "rows_before"]


# ------------------------------------------------------------------------------------------------ places
def _check_index(low: Lowering, op: Op) -> None:
    """Positions from 0 on; where one lies outside, the NumPy kernel is called, which raises."""
    (x,), (result,) = op.operands, op.results
    assert isinstance(x.type, TensorType)
    assert isinstance(result.type, TensorType)
    size, negative = op.attr("size"), op.attr("negative")
    text = low.text
    if result.type.shape == ():
        lane = low.one.cast(low.scalar(x), int64)
        bad, place = _checked(lane, size, negative)
        low.env[result] = Spread(result.type, place)
        source: Array | None = None
    elif 0 in result.type.shape:
        low.target(result)
        return
    else:
        source = low.in_memory(x, ordered=False)
        target = low.target(result)
        bad = _check_all(low, source, target, size, negative)

    def fail() -> tuple[()]:
        kernel = kernel_of(op.defn)
        operand = source
        if operand is None:
            operand = low.array(x.type)  # type: ignore[arg-type]
            low.copy(x, operand)

        def refuse(index: Any) -> tuple[()]:
            kernel(index, size=size, negative=negative)
            return ()

        call_python(low, refuse, [operand], [])
        return ()

    text.branch(bad, fail, rare=True)
    low.last_failure = low.tick


def _checked(lane: Lane, size: int, negative: bool) -> tuple[Reg, Lane]:
    """Whether a position does not exist, and the position counted from 0."""
    k = lane.kernels
    below = k.less(lane, 0)
    place = k.where(below, k.add(lane, size), lane) if negative else lane
    v = f"{place.reg}, {k.number(size, int64).reg.text}"
    # A negative number is a great one among those without a sign.
    return k.text.let(below.reg.type, f"icmp uge {v}"), place


def _check_all(low: Lowering, source: Array, target: Array, size: int, negative: bool) -> Reg:
    """Writes all positions; whether one does not exist."""
    flag = low.array(tensor(int64, (1,)))
    nest = Nest(low, [source, target, flag])
    text, zero = nest.text, low.one.number(0, int64)
    nest.one.store(zero, nest.places[2])
    inner = len(source.shape) - 1
    count, lanes = int(source.shape[inner]), nest.lanes(int64)
    in_order = source.strides[inner] == source.dtype.itemsize

    def row(places: list[Reg]) -> None:
        def some(k: Any, i: Int) -> None:
            start = text.at(places[0], text.mul(i, source.strides[inner]))
            found = (
                k.load(start, source.dtype) if in_order else k.load_strided(start, source.dtype, source.strides[inner])
            )
            bad, place = _checked(k.cast(found, int64), size, negative)
            k.store(place, text.at(places[1], text.mul(i, 8)))
            wrong = nest.one.vectors(int64).any_lane(bad) if k.width == 1 else k.vectors(int64).any_lane(bad)

            def note() -> tuple[()]:
                nest.one.store(low.one.number(1, int64), nest.places[2])
                return ()

            text.branch(wrong, note, rare=True)

        nest.along(count, lanes, some)

    nest.over(source.shape[:-1], [source.strides[:-1], target.strides[:-1]], nest.places[:2], row)
    nest.call()
    found = low.text.load("i64", flag.base, 8)
    return low.text.make("i1", f"icmp ne {found}, 0")


# ------------------------------------------------------------------------------------------------ slices
def _gather(low: Lowering, op: Op) -> None:
    x, index = op.operands
    if _same_everywhere(low, op):
        return
    source, places = low.in_memory(x, ordered=False), in_order(low, index)
    axis = op.attr("axis") % len(x.shape)
    if row_of(source, axis) is None:
        source = low.in_memory(x)
    target = low.target(op.results[0])
    count, step = prod(places.shape), source.strides[axis]
    nbytes = prod(source.shape[axis + 1 :]) * source.dtype.itemsize
    nest = Nest(low, [source, places, target])
    text = nest.text
    outer = rows_before([*source.shape[:axis], count * nbytes])

    def slices(at: list[Reg]) -> None:
        def one(j: Int) -> None:
            place = text.load("i64", text.at(nest.places[1], text.mul(j, 8)), 8)
            nest.move(text.at(at[0], text.mul(place, step)), text.at(at[1], text.mul(j, nbytes)), nbytes)

        text.repeated(0, count, 1, one)

    nest.over(source.shape[:axis], [source.strides[:axis], outer], [nest.places[0], nest.places[2]], slices)
    nest.call()


def rows_before(sizes: list[int]) -> list[int]:
    """The strides, in bytes, of all sizes but the last one, which is that of a row."""
    strides, step = [], sizes[-1]
    for d in reversed(sizes[:-1]):
        strides.append(step)
        step *= d
    return strides[::-1]


def in_order(low: Lowering, x: Value) -> Array:
    """A tensor in memory, in C order; numbers too."""
    if x.shape != ():
        return low.in_memory(x)
    assert isinstance(x.type, TensorType)
    made = low.array(x.type)
    low.copy(x, made)
    return made


def _same_everywhere(low: Lowering, op: Op) -> bool:
    """One number in all places is found wherever one looks."""
    (result,), x = op.results, low.env[op.operands[0]]
    if not isinstance(x, Spread):
        return False
    assert isinstance(result.type, TensorType)
    low.env[result] = Spread(result.type, x.number)
    return True


# ------------------------------------------------------------------------------------------------ elements
def _take_along_axis(low: Lowering, op: Op) -> None:
    x, index = op.operands
    if _same_everywhere(low, op):
        return
    source, places = low.in_memory(x, ordered=False), low.in_memory(index, ordered=False)
    axis = op.attr("axis") % len(x.shape)
    target = low.target(op.results[0])
    nest = Nest(low, [source, places, target])
    text, kind = nest.text, f"i{8 * source.dtype.itemsize}"
    own = [0 if a == axis else s for a, s in enumerate(source.strides)]

    def element(at: list[Reg]) -> None:
        place = text.load("i64", at[1], 8)
        found = text.load(kind, text.at(at[0], text.mul(place, source.strides[axis])), source.dtype.itemsize)
        text.store(found, at[2], source.dtype.itemsize)

    nest.over(target.shape, [own, places.strides, target.strides], nest.places, element)
    nest.call()


OPS.update({"check_index": _check_index, "gather": _gather, "take_along_axis": _take_along_axis})
