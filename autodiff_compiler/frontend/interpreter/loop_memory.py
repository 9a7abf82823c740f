"""What one compilation remembers of each loop, so that loops inside loops do not multiply the attempts.

A loop inside another is met again at every trace of the outer one.  What was decided (kept, unrolled, peeled,
restarted) stands for all loops of the same statement, number of trips and types at the entry; the types at which the
tracing of a kept loop settled are where the next tracing from the same entry begins.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import gast

from ..guards.objects import UNBOUND
from ..variables.changing import is_aliased
from ..variables.structure import identity, parts, sort

__all__ = ["LoopMemory", "Place", "find", "place_of"]

#: Where a compile-time object is found from a frame: a name with a number among the parts of its value, or the object.
Place = tuple[Any, ...]


class LoopMemory:
    """The decisions and settled types of one compilation."""

    def __init__(self) -> None:
        #: by `key`: what became of a loop
        self.decisions: dict[Hashable, Any] = {}
        #: by `entry`: at which types a kept loop settled
        self.settled: dict[Hashable, Any] = {}
        self._names: dict[int, list[str]] = {}

    def key(self, node: Any, n: Any, env: dict[str, Any]) -> Hashable:
        """The loop with the types of what it mentions."""
        types = tuple([sort(env.get(name, UNBOUND)) for name in self._mentioned(node)])
        return id(node), n if isinstance(n, int) else None, types

    def entry(self, node: Any, env: dict[str, Any]) -> Hashable:
        """The loop with the types of what it mentions, and the values where they are known."""
        return id(node), tuple([identity(env.get(name, UNBOUND)) for name in self._mentioned(node)])

    def _mentioned(self, node: Any) -> list[str]:
        names = self._names.get(id(node))
        if names is None:
            names = sorted({n.id for n in gast.walk(node) if isinstance(n, gast.Name)})
            self._names[id(node)] = names
        return names


def place_of(env: dict[str, Any], obj: Any) -> Place | None:
    """Where a frame holds an object; None if none of its names leads there."""
    if not is_aliased(obj):
        return (obj,)
    for name, value in env.items():
        for i, part in enumerate(parts(value)):
            if part is obj:
                return name, i
    return None


def find(env: dict[str, Any], place: Place, kind: type) -> Any:
    """The object of a kind at a place; None if there is none now."""
    if len(place) == 1:
        return place[0]
    name, number = place
    for i, part in enumerate(parts(env.get(name, UNBOUND))):
        if i == number:
            return part if type(part) is kind else None
    return None
