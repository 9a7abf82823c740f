"""Hooks that return None on one path only: there, the gradients they were given go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gast

from ..syntax.jumps import RETURN_VALUE
from ..variables.frames import Frame

__all__ = ["Kept", "instead_of_none", "place_in_return"]


class Kept(NamedTuple):
    """The gradients that a hook was given, and the depth of the calls where its own code stands."""

    depth: int
    gradients: Sequence[Any]


def instead_of_none(a: Any, b: Any, gradients: Sequence[Any]) -> tuple[Any, Any]:
    """What a hook returns on two paths, with the gradients in the place of None."""
    return _filled(a, b, gradients), _filled(b, a, gradients)


def _filled(x: Any, other: Any, gradients: Sequence[Any]) -> Any:
    several = isinstance(other, tuple) and len(other) == len(gradients)
    if x is None and other is not None:
        one = gradients[0] if len(gradients) == 1 and not isinstance(other, tuple) else None
        return tuple(gradients) if several else one
    if several and type(x) is tuple and len(x) == len(gradients):
        return tuple([_filled(p, q, (g,)) for p, q, g in zip(x, other, gradients, strict=True)])
    return x


def place_in_return(frame: Frame, node: Any) -> int | None:
    """Where an expression stands in what the function of a frame returns: -1 if it is all of it; None if nowhere."""
    function = frame.prepared.node
    found = [function.body] if isinstance(function, gast.Lambda) else _returned(function)
    for value in found:
        if value is node:
            return -1
        if isinstance(value, gast.Tuple) and node in value.elts:
            return value.elts.index(node)
    return None


def _returned(function: Any) -> list[Any]:
    found = []
    for statement in gast.walk(function):
        to_return = isinstance(statement, gast.Assign) and getattr(statement.targets[0], "id", None) == RETURN_VALUE
        if isinstance(statement, gast.Return) or to_return:
            found.append(statement.value)
    return found
