"""Values with places in them that results of a control-flow op fill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .structure import elements, rebuild
from .values import ArrayVar, Snapshot, TensorVar, Weak

__all__ = ["Slot", "fill"]


@dataclass(frozen=True)
class Slot:
    """A place in a template for result `index`: a Tensor (kind None) or a Python number of that kind."""

    index: int
    kind: type | None = None
    locked: str = ""
    snapshot: Snapshot | None = None


def fill(template: Any, results: Any, on_made: Callable[[Any, Any], None] | None = None) -> Any:
    """The template with the results of the op in their slots; equal objects stay shared.

    ``on_made(part, made)`` is told what was made of each part of the template.
    """
    made: dict[int, Any] = {}

    def go(t: Any) -> Any:
        if id(t) in made:
            return made[id(t)]
        if type(t) is Slot:
            value = results[t.index]
            if t.kind in (np.ndarray, np.generic):
                out: Any = ArrayVar(value, t.kind)
            else:
                out = TensorVar(value, t.locked, t.snapshot) if t.kind is None else Weak(value, t.kind)
        else:
            items = elements(t)
            new = None if items is None else [go(i) for i in items]
            # What has no slots is an object itself, which must stay one with its aliases.
            out = t if new is None or all(n is i for n, i in zip(new, items, strict=True)) else rebuild(t, new)
        made[id(t)] = out
        if on_made is not None:
            on_made(t, out)
        return out

    return go(template)
