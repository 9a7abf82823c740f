"""``t[mask] op= value`` with a mask known only at run time.

Where one value is for all elements under the mask, all are computed and the mask chooses between old and new: that is
one loop.  Where it does not hold, both operands are 1: nothing that is not selected divides by zero, or spoils a
gradient.  A value with a row for each of them meets the elements that the mask selects, whose number is a size of data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir.core import Value
from ...ir.primitive import F
from ...ir.types import TensorType, tensor
from ...primitives.family import broadcast_to, constant, in_dtype
from ...primitives.subscript import getitem, mask_of, run_time_masks, setitem, without_ones
from . import operators
from .arithmetic import kind_of_number
from .base import variable_of
from .interpreter import ValueContext
from .values import TensorVar, is_dynamic, is_tensor

_DIVISIONS = ("Div", "FloorDiv", "Mod")


@dataclass
class Masked:
    """The elements of a Tensor under a mask of its shape.

    `old`: all elements as they were; a value for all selected ones has at most `most` dimensions.
    """

    owner: Any
    index: Any
    mask: Value
    most: int
    old: Value


def elements(ctx: ValueContext, owner: Any, index: Any) -> Masked | None:
    """The elements that an index with such a mask means; None for indices that stand for a mask of no shape."""
    if not is_tensor(owner):
        return None
    index = ctx.unwrap(index)
    if not run_time_masks(index):
        return None
    old = ctx.unwrap(owner)
    found = mask_of(old, index)
    if found is None:
        return None
    mask, most = found
    shape = owner.type.shape
    spread = (*mask.shape, *(1,) * (len(shape) - mask.ndim))
    mask = mask if spread == mask.shape else F.reshape(mask, shape=spread)
    return Masked(owner, index, broadcast_to(mask, shape), most, old)


def changed(ctx: ValueContext, op: str, masked: Masked, value: Any) -> TensorVar:
    """All elements of the Tensor after the operation."""
    value = variable_of(value).beside_tensor(ctx)
    if op == "MatMult" or (is_tensor(value) and without_ones(ctx.unwrap(value), masked.most).ndim > masked.most):
        part = TensorVar(getitem(masked.old, masked.index))
        result = ctx.unwrap(operators.binary(ctx, op, part, value))
        return TensorVar(setitem(ctx.unwrap(masked.owner), masked.index, result))
    ones = constant(1, masked.old.type)  # type: ignore[arg-type]
    old = TensorVar(F.select(masked.mask, masked.old, ones))
    result = ctx.unwrap(operators.binary(ctx, op, old, _operand(ctx, op, masked, old, value)))
    now = ctx.unwrap(masked.owner)
    return TensorVar(F.select(masked.mask, in_dtype(result, now.dtype), now))


def _operand(ctx: ValueContext, op: str, masked: Masked, old: TensorVar, value: Any) -> Any:
    """The second operand with ones where the mask does not hold."""
    shape = old.type.shape
    if is_tensor(value):
        given = broadcast_to(without_ones(ctx.unwrap(value), masked.most), shape)
    elif is_dynamic(value) or (value == 0 and kind_of_number(value) and op in _DIVISIONS):
        dtype = ctx.unwrap(operators.binary(ctx, op, old, value)).dtype  # what the number becomes beside a Tensor
        scalar = F.cast(value.value, dtype=dtype) if is_dynamic(value) else constant(value, tensor(dtype, ()))
        given = broadcast_to(scalar, shape)
    else:
        return value
    type_: TensorType = tensor(given.dtype, shape)
    return TensorVar(F.select(masked.mask, given, constant(1, type_)))
