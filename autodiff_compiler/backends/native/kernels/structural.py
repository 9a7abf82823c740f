"""Ops that compute nothing: constants, tuples, views, concatenations, reductions over no axes or of no elements."""

from __future__ import annotations

from typing import Any

from ....ir.core import Op
from ....ir.sizes import Size
from ....ir.types import Shape, TensorType
from ..codegen.lanes import NotNativeError
from ..codegen.values import Array, Pack, Spread, Undefined, part
from ..fusion.clusters import REDUCTIONS, reduced_axes
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan
from ..memory.overwriting import copy_to_change, target_to_change
from .products import packs


def _const(low: BufferPlan, op: Op) -> None:
    result = op.results[0]
    value = op.attr("value")
    assert isinstance(result.type, TensorType)
    if not isinstance(value, str):
        low.env[result] = Spread(result.type, value)
        return
    low.env[result] = constant_array(low, result.type, low.module.constants[value.removeprefix("@")])
    if result.type.shape == ():
        low.env[result] = Spread(result.type, low.scalar(result))


def constant_array(low: BufferPlan, type: TensorType, array: Any) -> Array:
    """A NumPy array in C order as an operand."""
    return low.at_pointer(type, low.constant(array), ())


def _undef(low: BufferPlan, op: Op) -> None:
    low.env[op.results[0]] = Undefined()


def _tuple_make(low: BufferPlan, op: Op) -> None:
    low.env[op.results[0]] = Pack([low.env[x] for x in op.operands])


def _tuple_get(low: BufferPlan, op: Op) -> None:
    pack = low.env[op.operands[0]]
    low.env[op.results[0]] = pack.elems[op.attr("index")] if isinstance(pack, Pack) else Undefined()


def _same(low: BufferPlan, op: Op) -> None:
    low.env[op.results[0]] = low.env[op.operands[0]]


def _reshape(low: BufferPlan, op: Op) -> None:
    """A view where strides allow it, else a copy in C order."""
    x, result = op.operands[0], op.results[0]
    assert isinstance(result.type, TensorType)
    operand = low.env[x]
    if result.type.shape == ():
        low.env[result] = Spread(result.type, low.scalar(x))
        return
    if isinstance(operand, Array) and op.defn.name != "reshape" and 0 not in operand.shape:
        low.env[result] = _with_ones(operand, result.type)
        return
    if isinstance(operand, Array) and not operand.is_iota and (divided := _divided(operand, result.type.shape)):
        low.env[result] = operand.viewed(result.type, divided)
        return
    low.env[result] = low.in_memory(x).in_order(result.type)


def _divided(array: Array, shape: Shape) -> Shape | None:
    """The strides of a reshaped view; None if there is none.

    Each axis of the new shape must be part of an axis of the array, or of adjacent axes that are contiguous.
    """
    if 0 in shape:
        return None
    axes: list[list[Size]] = []  # sizes and strides, the last axis first
    for d, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if d != 1 and axes and stride == axes[-1][0] * axes[-1][1]:
            axes[-1][0] *= d
        elif d != 1:
            axes.append([d, stride])
    strides: list[Size] = []
    for d in reversed(shape):
        if d == 1:
            strides.append(0)
            continue
        if not axes or axes[0][0] % d != 0:
            return None
        strides.append(axes[0][1])
        axes[0] = [axes[0][0] // d, axes[0][1] * d]
        if axes[0][0] == 1:
            del axes[0]
    return tuple(reversed(strides))


def _with_ones(array: Array, type: TensorType) -> Array:
    """A view with other axes of size 1."""
    left = iter([s for d, s in zip(array.shape, array.strides, strict=True) if d != 1])
    strides = tuple(0 if d == 1 else next(left) for d in type.shape)
    return array.viewed(type, strides)


def _transpose(low: BufferPlan, op: Op) -> None:
    result, operand = op.results[0], low.env[op.operands[0]]
    assert isinstance(result.type, TensorType)
    assert isinstance(operand, Array)
    strides = tuple(operand.strides[a] for a in op.attr("axes"))
    low.env[result] = operand.viewed(result.type, strides)
    if packs(low, op):
        ordered = low.array(result.type)
        low.copy(result, ordered)
        low.env[result] = ordered


def _broadcast_to(low: BufferPlan, op: Op) -> None:
    result, operand = op.results[0], low.env[op.operands[0]]
    assert isinstance(result.type, TensorType)
    assert isinstance(operand, Array)
    added = len(result.type.shape) - len(operand.shape)
    own = [
        0 if d == 1 and to != 1 else s
        for d, s, to in zip(operand.shape, operand.strides, result.type.shape[added:], strict=True)
    ]
    low.env[result] = operand.viewed(result.type, (*[0] * added, *own))


def _slice(low: BufferPlan, op: Op) -> None:
    result, operand = op.results[0], low.env[op.operands[0]]
    assert isinstance(result.type, TensorType)
    assert isinstance(operand, Array)
    strides, offset = list(operand.strides), operand.offset
    for axis, start, step in zip(op.attr("axes"), op.attr("starts"), op.attr("steps"), strict=True):
        offset = low.text.add(offset, start * operand.strides[axis])
        strides[axis] = operand.strides[axis] * step
    low.env[result] = operand.viewed(result.type, tuple(strides), offset)


def _concat(low: BufferPlan, op: Op) -> None:
    axis, start = op.attr("axis"), 0
    target = low.target(op.results[0])
    for x in op.operands:
        size: Any = x.shape[axis]
        low.copy(x, part(target, axis, start, size))
        start += size


def _stack(low: BufferPlan, op: Op) -> None:
    axis = op.attr("axis") % (len(op.operands[0].shape) + 1)
    target = low.target(op.results[0])
    for i, x in enumerate(op.operands):
        assert isinstance(x.type, TensorType)
        one = part(target, axis, i, 1)
        strides = tuple(s for a, s in enumerate(target.strides) if a != axis)
        low.copy(x, one.viewed(x.type, strides))


def _slice_update(low: BufferPlan, op: Op) -> None:
    _, update = op.operands
    target = target_to_change(low, op)
    copy_to_change(low, op, target)
    strides, offset = list(target.strides), 0
    for axis, start, step in zip(op.attr("axes"), op.attr("starts"), op.attr("steps"), strict=True):
        offset += start * target.strides[axis]
        strides[axis] = target.strides[axis] * step
    assert isinstance(update.type, TensorType)
    low.copy(update, Array(update.type, target.base, tuple(strides), offset, target.roots))


#: The results of reductions of no elements.
_EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True}


def _reduction(low: BufferPlan, op: Op) -> None:
    (x,), (result,) = op.operands, op.results
    assert isinstance(result.type, TensorType)
    if not reduced_axes(op):
        low.env[result] = low.env[x]
    elif 0 in x.shape and op.defn.name in _EMPTY:
        low.env[result] = Spread(result.type, _EMPTY[op.defn.name])
    else:
        raise NotNativeError(op.defn.name)


OPS.update(
    {
        "const": _const,
        "undef": _undef,
        "tuple_make": _tuple_make,
        "tuple_get": _tuple_get,
        "stop_gradient": _same,
        "without_overflow": _same,  # this processor has infinities
        "reshape": _reshape,
        "expand_dims": _reshape,
        "squeeze": _reshape,
        "transpose": _transpose,
        "broadcast_to": _broadcast_to,
        "slice": _slice,
        "concat": _concat,
        "stack": _stack,
        "slice_update": _slice_update,
    }
)
OPS.update(dict.fromkeys(REDUCTIONS, _reduction))
