"""Ops that move elements (pad, roll, repeat, diagonals, windows): copies between views, without loops of their own.

Overlapping windows and diagonals are strided views, too.
"""

from __future__ import annotations

from typing import Any

from ....ir.core import Op
from ....ir.sizes import Size, largest, smallest
from ....ir.types import TensorType, tensor
from ..codegen.emit import Reg
from ..codegen.lanes import Lane, NotNativeError, rounded
from ..codegen.values import Array, Operand, Spread, part
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan


def fill(low: BufferPlan, array: Array, number: bool | int | float) -> None:
    """Writes one number to all elements."""
    if 0 not in array.shape:
        low.copy_operand(Spread(array.type, rounded(number, array.dtype)), array)


def _copy(low: BufferPlan, source: Operand, to: Array) -> None:
    if 0 not in to.shape:
        low.copy_operand(source, to)


def _result(op: Op) -> TensorType:
    type = op.results[0].type
    assert isinstance(type, TensorType)
    return type


# ------------------------------------------------------------------------------------------------ borders
def _pad(low: BufferPlan, op: Op) -> None:
    before, after = op.attr("before"), op.attr("after")
    x = low.env[op.operands[0]]
    shape: Any = op.operands[0].shape
    target = low.target(op.results[0])
    inner = target
    for axis, (b, d, a) in enumerate(zip(before, shape, after, strict=True)):
        # The borders of this axis, within the interior of the axes before.
        fill(low, part(inner, axis, 0, b), op.attr("value"))
        fill(low, part(inner, axis, b + d, a), op.attr("value"))
        inner = part(inner, axis, b, d)
    _copy(low, x, inner)


def _extend(low: BufferPlan, op: Op) -> None:
    before, after, mode = op.attr("before"), op.attr("after"), op.attr("mode")
    shape: Any = op.operands[0].shape
    x = low.env[op.operands[0]]
    target = low.target(op.results[0])
    inner = target
    for axis, (b, d) in enumerate(zip(before, shape, strict=True)):
        inner = part(inner, axis, b, d)
    _copy(low, x, inner)
    for axis in range(len(shape) - 1, -1, -1):
        known = target  # axes behind this one are extended already; of those before, only the interior
        for other in range(axis):
            known = part(known, other, before[other], shape[other])
        b, a, end = before[axis], after[axis], before[axis] + shape[axis]
        skip = mode == "reflect"
        if mode == "replicate":
            for i in range(b):
                _copy(low, part(known, axis, b, 1), part(known, axis, i, 1))
            for i in range(a):
                _copy(low, part(known, axis, end - 1, 1), part(known, axis, end + i, 1))
        elif mode == "circular":
            _copy(low, part(known, axis, end - b, b), part(known, axis, 0, b))
            _copy(low, part(known, axis, b, a), part(known, axis, end, a))
        else:
            _copy(low, part(known, axis, 2 * b - 1 + skip, b, -1), part(known, axis, 0, b))
            _copy(low, part(known, axis, end - 1 - skip, a, -1), part(known, axis, end, a))


# ------------------------------------------------------------------------------------------------ elsewhere
def _within(count: Size, size: Size) -> Size:
    """A count that is none, and not negative, along an axis that has no elements in this call."""
    return count if isinstance(count, int) else smallest(largest(0, count), size)


def _roll(low: BufferPlan, op: Op) -> None:
    shape: Any = op.operands[0].shape
    moved: dict[int, int] = {}
    for shift, axis in zip(op.attr("shifts"), op.attr("axes"), strict=True):
        axis %= len(shape)
        moved[axis] = (moved.get(axis, 0) + shift) % shape[axis]
    x = low.sliceable(op.operands[0])
    pieces = [(x, low.target(op.results[0]))]
    for axis, shift in moved.items():
        if shift:
            size = shape[axis]
            pieces = [
                (part(a, axis, start, count), part(b, axis, to, count))
                for a, b in pieces
                for start, to, count in (
                    (0, shift, _within(size - shift, size)),
                    (size - shift, 0, _within(shift, size)),
                )
            ]
    for source, to in pieces:
        _copy(low, source, to)


def _repeat(low: BufferPlan, op: Op) -> None:
    axis, count = op.attr("axis"), op.attr("count")
    x, target = low.sliceable(op.operands[0]), low.target(op.results[0])
    at = axis % len(x.shape)
    shape = (*x.shape[: at + 1], count, *x.shape[at + 1 :])
    type = tensor(x.dtype, shape)
    source = x.viewed(type, (*x.strides[: at + 1], 0, *x.strides[at + 1 :]))
    _copy(low, source, target.in_order(type))


def _diagonal_of(array: Array, offset: int, length: Size) -> Array:
    """A view of a diagonal: elements [..., i, i + offset]."""
    assert not isinstance(array.offset, Reg)
    rows, columns = array.strides[-2:]
    start = array.offset + max(-offset, 0) * rows + max(offset, 0) * columns
    shape = (*array.shape[:-2], length)
    return array.viewed(tensor(array.dtype, shape), (*array.strides[:-2], rows + columns), start)


def _diagonal(low: BufferPlan, op: Op) -> None:
    length = op.results[0].shape[-1]
    low.env[op.results[0]] = _diagonal_of(low.sliceable(op.operands[0]), op.attr("offset"), length)


def _diag_embed(low: BufferPlan, op: Op) -> None:
    x = low.env[op.operands[0]]
    target = low.target(op.results[0])
    fill(low, target, 0)
    _copy(low, x, _diagonal_of(target, op.attr("offset"), op.operands[0].shape[-1]))


def _windows(low: BufferPlan, op: Op) -> None:
    """All windows: a view whose elements overlap, copied."""
    n = len(op.attr("kernel"))
    x, target = low.sliceable(op.operands[0]), low.target(op.results[0])
    lead, steps = x.strides[: len(x.strides) - n], x.strides[len(x.strides) - n :]
    within = [step * d for step, d in zip(steps, op.attr("dilation"), strict=True)]
    between = [step * s for step, s in zip(steps, op.attr("stride"), strict=True)]
    _copy(low, x.viewed(_result(op), (*lead, *within, *between)), target)


# ------------------------------------------------------------------------------------------------ the same bytes
def _bitcast(low: BufferPlan, op: Op) -> None:
    type = _result(op)
    if type.shape == () or op.operands[0].shape == ():
        raise NotNativeError("the bits of a number in a register")
    low.env[op.results[0]] = low.in_memory(op.operands[0]).in_order(type)


def _shape_of(low: BufferPlan, op: Op) -> None:
    low.env[op.results[0]] = _size(low, _result(op), op.operands[0].shape[op.attr("axis")])


def _size_value(low: BufferPlan, op: Op) -> None:
    low.env[op.results[0]] = _size(low, _result(op), op.attr("size"))


def _size(low: BufferPlan, type: TensorType, size: Size) -> Spread:
    """A size as a number."""
    return Spread(type, size if isinstance(size, int) else Lane(low.one, low.text.whole(size), type.dtype))


OPS.update(
    {
        "pad": _pad,
        "extend": _extend,
        "roll": _roll,
        "repeat_elements": _repeat,
        "diagonal": _diagonal,
        "diag_embed": _diag_embed,
        "windows": _windows,
        "bitcast": _bitcast,
        "shape_of": _shape_of,
        "size_value": _size_value,
    }
)
