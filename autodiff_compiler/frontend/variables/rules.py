"""Functions that compiled code runs by a rule of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...registration import Registrar
from ..guards.objects import peek

Intrinsic = Callable[..., Any]


#: How compiled code runs certain functions, by the function itself or by its `__graph_name__`.
INTRINSICS: dict[Any, Intrinsic] = {}
#: Methods of Tensors that a room above defines: ``rule(ctx, tensor, *args, **kwargs)``.
TENSOR_METHODS: dict[str, Intrinsic] = {}
#: Registers how compiled code runs these functions: ``rule(ctx, *args, **kwargs)`` on abstract values.
intrinsic = Registrar(INTRINSICS)


def intrinsic_of(fn: Any) -> Intrinsic | None:
    """How compiled code runs a function that has a rule of its own; None for others."""
    name = peek(fn, "__graph_name__")
    if isinstance(name, str):
        return INTRINSICS[name]
    try:
        return INTRINSICS.get(fn)
    except TypeError:  # unhashable
        return None
