"""Collectives that have begun: eager code that computes while arrays are on their way."""

from __future__ import annotations

from typing import Any

from ..collectives import Handle
from ..config import context
from ..ir.core import Attrs
from ..ir.primitive import Primitive, bind
from ..runtime.tensor import Tensor, wrap
from ..source import calling_place
from .execute import check_types, plan_of
from .tape import place, thread

__all__ = ["started"]


def started(defn: type[Primitive], operands: tuple[Tensor, ...], attrs: Attrs) -> tuple[Tensor, Handle]:
    """The Tensor whose elements a collective gives, and what to wait for before they are read.

    A device's stream runs it behind the operators before it, and whoever reads the Tensor waits for the stream.
    """
    if context.get("device_target") == "Ascend":
        return bind(defn, operands, attrs), Handle(None)
    plan, state = plan_of(defn), thread.state
    arrays = [x._data for x in operands]
    check_types(plan, arrays, attrs, (attrs, *[(a.dtype, a.shape) for a in arrays]))
    at = calling_place()
    state.begun += 1
    start: Any = defn.start
    result, handle = start(*arrays, **dict(zip(defn.schema, attrs, strict=True)), at="" if at is None else at.short)
    tensor = wrap(result)
    if state.active:
        place(plan, attrs, operands, tuple(arrays), [tensor], state.active)
    return tensor, handle
