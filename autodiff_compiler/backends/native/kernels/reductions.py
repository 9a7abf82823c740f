"""Reductions that are in no fused loop: over no axes, or of no elements."""

from __future__ import annotations

from ....ir.core import Op
from ....ir.types import TensorType
from ..codegen.lanes import NotNativeError
from ..codegen.values import Spread
from ..fusion.clusters import REDUCTIONS, reduced_axes
from ..lower import OPS
from ..memory.buffer_plan import BufferPlan

__all__: list[str] = []

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


OPS.update(dict.fromkeys(REDUCTIONS, _reduction))
