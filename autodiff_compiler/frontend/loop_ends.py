"""Which objects the names and attributes of a kept loop share at the end of a trip.

At the head of the next trip, and after the loop, every carried Tensor gets a box of its own.  It may be a Tensor that
was there before the loop (``t = u`` in the body), or one that another name holds, too (``self.c = t``).  Such boxes are
tied; after a loop that is known to run they are made one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .ties import Ties
from .values import LocalDict, LocalList, LocalObject, LocalSet, TensorVar, elements, rebuild

__all__ = ["Ends"]

#: A carried value by number, and the way to one of its parts.
Place = tuple[int, ...]
_SHARED = (TensorVar, LocalList, LocalDict, LocalSet, LocalObject)


class Ends:
    """What one loop's body left: for places that hold an older object that object, for others the first such place.

    What places *may* hold is gathered over all tracings of the body, so that it settles.
    """

    def __init__(self, start: int, ties: Ties) -> None:
        self._start, self._ties = start, ties
        self._older: dict[Place, Any] = {}
        self._like: dict[Place, Place] = {}
        #: older objects that a place may hold, by their ids
        self._perhaps: dict[Place, dict[int, Any]] = {}
        #: places that may hold the same object
        self._pairs: set[tuple[Place, Place]] = set()

    def note(self, found: Sequence[Any]) -> bool:
        """Looks at the end of a trip; True if places may hold what they were not known to."""
        self._older, self._like = {}, {}
        first: dict[int, Place] = {}
        new: list[tuple[Place, Any]] = []
        for place, x in self._places(found):
            if x.serial < self._start:
                self._older[place] = x
            elif first.setdefault(id(x), place) != place:
                self._like[place] = first[id(x)]
            else:
                new.append((place, x))
        before = len(self._pairs), sum(map(len, self._perhaps.values()))
        for place, x in self._older.items():
            self._perhaps.setdefault(place, {})[id(x)] = x
        self._pairs |= {(one, other) for other, one in self._like.items()}
        for place, x in new:
            for other in self._ties.around(x, self._start):
                if other.serial < self._start:
                    self._perhaps.setdefault(place, {})[id(other)] = other
                elif first.get(id(other), place) > place:
                    self._pairs.add((place, first[id(other)]))
        return before != (len(self._pairs), sum(map(len, self._perhaps.values())))

    def kept(self, locate: Callable[[Any], Any]) -> Any:
        """What was noted, with the objects by where they are found, for the next tracing of the same loop."""
        return {place: list(map(locate, xs.values())) for place, xs in self._perhaps.items()}, set(self._pairs)

    def begin(self, kept: Any, fetch: Callable[[Any], Any]) -> None:
        """Starts from what `kept` gave; what is missing is noted anew."""
        perhaps, self._pairs = kept[0], set(kept[1])
        for place, located in perhaps.items():
            self._perhaps[place] = {id(x): x for x in map(fetch, located) if x is not None}

    def _places(self, values: Sequence[Any]) -> Iterator[tuple[Place, Any]]:
        def go(x: Any, place: Place) -> Iterator[tuple[Place, Any]]:
            shared = type(x) in _SHARED
            if shared:
                yield place, x
            if not (shared and x.serial < self._start):
                for i, part in enumerate(elements(x) or ()):
                    yield from go(part, (*place, i))

        for i, x in enumerate(values):
            yield from go(x, (i,))

    def tie(self, values: Sequence[Any], scope: Any) -> None:
        """Ties the boxes of carried values to what they may be."""
        if not (self._pairs or self._perhaps):
            return
        here = dict(self._places(values))
        pairs = [(here.get(one), here.get(other)) for one, other in self._pairs]
        pairs += [(x, here.get(place)) for place, xs in self._perhaps.items() for x in xs.values()]
        for one, other in pairs:
            if one is not other and type(one) is type(other):
                self._ties.add(one, other, None, scope=scope)

    def settled(self, values: Sequence[Any]) -> list[Any]:
        """The values after a trip that surely ran: the objects themselves that they are."""
        if not self._older and not self._like:
            return list(values)
        made: dict[Place, Any] = {}

        def go(x: Any, place: Place) -> Any:
            if place in self._older:
                return self._older[place]
            if place in self._like and self._like[place] in made:
                return made[self._like[place]]
            items = elements(x)
            if items is not None and len(items):
                new = [go(part, (*place, i)) for i, part in enumerate(items)]
                x = x if all(n is i for n, i in zip(new, items, strict=True)) else rebuild(x, new)
            made[place] = x
            return x

        return [go(x, (i,)) for i, x in enumerate(values)]
