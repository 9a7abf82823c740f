"""Cells that outlive a call: read and written by name until `passes.state` turns them into values."""

from __future__ import annotations

from ..ir.primitive import Effect, Primitive
from ..ir.types import Type
from .family import require_dtype


class StateRead(Primitive):
    """The current value of a state cell."""

    internal = True
    effect = Effect.READ

    def infer(*, state: str, type: Type):
        return type


class StateWrite(Primitive):
    """Replaces the value of a state cell."""

    internal = True
    effect = Effect.WRITE

    def infer(x: Type, *, state: str, type: Type):
        require_dtype(x is type, f"state {state} holds {type}, not {x}")
        return ()
