"""Ops on the positions of elements: iota, triangles, one-hot rows, argmax of short rows.

An iota has no memory: fused loops compute its elements from addresses (see `Array.is_iota`).  The other ops are
decomposed into comparisons with iotas, which are fused with their operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....dtypes import DType, bool_, float64, int32, int64, uint8, uint32
from ....ir.core import Op, Value
from ....ir.primitive import F
from ....ir.types import Shape, TensorType
from ..codegen.emit import pointer
from ..codegen.values import Array
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan

#: Elements of a row that stays in registers, so that a second pass reads no memory.
_SHORT = 64


def _lower_iota(low: BufferPlan, op: Op) -> None:
    result = op.results[0]
    assert isinstance(result.type, TensorType)
    step, start = int(op.attr("step")), int(op.attr("start"))
    low.env[result] = Array(result.type, pointer("null"), (step,), start, (), is_iota=True)


OPS["iota"] = _lower_iota


# ------------------------------------------------------------------------------------------------ decompositions
def is_native_iota(dtype: DType, start: Any, step: Any) -> bool:
    """Whether an iota needs no memory: it has small integers."""
    small = all(type(v) is int and abs(v) < 2**31 for v in (start, step))
    return dtype.is_int and small


def _iota(c: Any) -> Value | None:
    if is_native_iota(c.dtype, c.start, c.step):
        return None
    if is_native_iota(int64, c.start, c.step):
        return F.cast(F.iota(start=c.start, step=c.step, size=c.size, dtype=int64), dtype=c.dtype)  # type: ignore[no-any-return]
    number = F.cast(F.iota(start=0, step=1, size=c.size, dtype=int64), dtype=float64)
    return F.cast(number * float(c.step) + float(c.start), dtype=c.dtype)  # type: ignore[no-any-return]


def _along(shape: Shape, axis: int, start: int = 0) -> Value:
    """Positions along an axis (negative), from `start` on, broadcast to the shape."""
    found = F.iota(start=start, step=1, size=shape[axis], dtype=int32)
    others = tuple(a for a in range(-len(shape), 0) if a != axis)
    found = F.expand_dims(found, axes=others) if others else found
    return found if found.shape == shape else F.broadcast_to(found, shape=shape)  # type: ignore[no-any-return]


def _eye(c: Any) -> Value:
    shape = (c.rows, c.columns)
    return F.cast(F.equal(_along(shape, -2), _along(shape, -1)), dtype=c.dtype)  # type: ignore[no-any-return]


def _below(x: Value, k: int) -> Value:
    """The mask of elements on or below the k-th diagonal."""
    rows, columns = x.shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        k = max(-rows - 1, min(columns + 1, k))
    return F.less_equal(_along(x.shape, -1), _along(x.shape, -2, k))  # type: ignore[no-any-return]


def _tril(c: Any, x: Value) -> Value:
    return F.select(_below(x, c.k), x, 0)  # type: ignore[no-any-return]


def _triu(c: Any, x: Value) -> Value:
    return F.select(_below(x, c.k - 1), 0, x)  # type: ignore[no-any-return]


def _one_hot(c: Any, index: Value) -> Value | None:
    if not (isinstance(c.depth, int) and 0 < c.depth < 2**31):
        return None
    if index.dtype.itemsize > 4 or index.dtype is uint32:  # int32: vectors hold more of them
        there = F.less(index, c.depth)
        if index.dtype.kind == "i":
            there = F.logical_and(there, F.greater_equal(index, 0))
        index = F.select(there, index, c.depth)
    index = F.cast(index, dtype=int32)
    at = len(index.shape) + 1 + c.axis
    shape = (*index.shape[:at], c.depth, *index.shape[at:])
    here = F.equal(F.broadcast_to(F.expand_dims(index, axes=(c.axis,)), shape=shape), _along(shape, c.axis))
    on, off = (F.cast(number, dtype=c.dtype) for number in _numbers(c))
    return F.select(here, F.broadcast_to(on, shape=shape), F.broadcast_to(off, shape=shape))  # type: ignore[no-any-return]


def _numbers(c: Any) -> list[Value]:
    from ....ir.build import current
    from ....ir.types import tensor

    builder = current()
    return [builder.const(v, tensor(float64 if isinstance(v, float) else int64, ())) for v in (c.on, c.off)]


def _place(extreme: Callable[..., Any]) -> Callable[..., Value | None]:
    """A rule for argmax or argmin: the least position of an element that equals the extreme, or is nan."""

    def rule(c: Any, x: Value) -> Value | None:
        length = x.shape[-1]
        if c.axis % len(x.shape) != len(x.shape) - 1 or not isinstance(length, int) or length > _SHORT:
            return None  # a kernel of `extremes`
        if x.dtype is bool_:
            x = F.cast(x, dtype=uint8)
        best = F.broadcast_to(extreme(x, axes=(c.axis,), keepdims=True), shape=x.shape)
        reached = F.equal(x, best)
        if x.dtype.is_float:
            reached = F.logical_or(reached, F.not_equal(x, x))
        places = F.select(reached, _along(x.shape, c.axis), length)
        return F.min(places, axes=(c.axis,), keepdims=c.keepdims)  # type: ignore[no-any-return]

    return rule


#: The decompositions; a rule that returns None leaves the op as it is.
RULES: dict[str, Callable[..., Value | None]] = {
    "iota": _iota,
    "eye": _eye,
    "tril": _tril,
    "triu": _triu,
    "one_hot": _one_hot,
    "argmax": _place(lambda *xs, **kw: F.max(*xs, **kw)),
    "argmin": _place(lambda *xs, **kw: F.min(*xs, **kw)),
}
