"""Aliases in a kept loop: which objects its names and attributes share at the end of a trip.

At the head of the next trip, and after the loop, every carried Tensor gets a box of its own.  It may be a Tensor that
was there before the loop (``t = u`` in the body), or one that another name holds, too (``self.c = t``).  Such boxes are
tied; after a loop that is known to run they are made one again.

By what condition two of them are one is known only if the loop carries it along: a bool for each Tensor that a place
may hold, and for each two places that may hold one Tensor (`Foreknown.following`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...ir.build import Builder
from ...ir.core import Value
from ..effects.may_alias import Ties, as_condition
from ..variables.changing import is_aliased
from ..variables.structure import elements, rebuild
from ..variables.values import is_box

#: A carried value by number, and the way to one of its parts.
Place = tuple[int, ...]
#: A place and the object that it may hold, or another place that may hold the same.
Relation = tuple[Place, Any]


class Ends:
    """What one loop's body left: for places that hold an older object that object, for others the first such place.

    What places *may* hold is gathered over all tracings of the body, so that it settles.
    """

    def __init__(self, start: int, ties: Ties, *, following: bool) -> None:
        self._start, self._ties, self._following = start, ties, following
        #: what the conditions that the present trace carries say, and what is known of no condition
        self._carried: list[Relation] = []
        self._unclear: set[Relation] = set()
        self._tensors: set[Place] = set()
        self._perhaps_at_entry: dict[Place, Any] = {}
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
            for other in self._ties.nearest(x, self._start):
                if other.serial < self._start:
                    self._perhaps.setdefault(place, {})[id(other)] = other
                elif first.get(id(other), place) > place:
                    self._pairs.add((place, first[id(other)]))
        changed = before != (len(self._pairs), sum(map(len, self._perhaps.values())))
        return self._look(found) or changed

    def _look(self, values: Sequence[Any]) -> bool:
        """Looks at the boxes in the values at the entry or at the end of a trip; True if less is clear than before."""
        if not self._following:
            return False
        before = len(self._unclear), len(self._tensors)
        at = [(place, x) for place, x in self._places(values) if is_box(x)]
        self._tensors |= {place for place, _ in at}
        holders: dict[int, list[Place]] = {}
        for place, x in at:
            holders.setdefault(id(x), []).append(place)
        for place, x in at:
            for other in self._ties.unclear(x, self._start):
                self._unclear.add((place, id(other)))
                self._unclear |= {r for q in holders.get(id(other), ()) for r in ((place, q), (q, place))}
        return before != (len(self._unclear), len(self._tensors))

    def begin_trace(self, entry: Sequence[Any], held: dict[Place, Any]) -> int:
        """How many conditions the next trace carries.  `held`: what places have at the entry and others hold, too."""
        self._look(entry)
        self._perhaps_at_entry = held
        relations: list[Relation] = [(place, x) for place, xs in self._perhaps.items() for x in xs.values()]
        relations += [r for r in held.items() if id(r[1]) not in self._perhaps.get(r[0], ())]
        relations += sorted(self._pairs)
        self._carried = [r for r in relations if self._following and self._is_clear(*r)]
        return len(self._carried)

    def _is_clear(self, place: Place, target: Any) -> bool:
        if isinstance(target, tuple):
            tensors = place in self._tensors and target in self._tensors
            return tensors and (place, target) not in self._unclear
        return is_box(target) and (place, id(target)) not in self._unclear

    def follows(self, place: Place, entry: Any) -> bool:
        """Whether the condition is carried by which a place still holds what it held at the entry."""
        return any(at == place and target is entry for at, target in self._carried)

    def conditions(self, values: Sequence[Any], builder: Builder) -> list[Value]:
        """Where the carried relations hold for the values at the entry, or at the end of a trip."""
        here = dict(self._places(values)) if self._carried else {}
        seen: dict[int, Any] = {}

        def holds(x: Any, y: Any) -> Any:
            return x is not None and y is not None and self._ties.one(x, y, builder, seen)

        found = [holds(here.get(p), here.get(q) if isinstance(q, tuple) else q) for p, q in self._carried]
        return [as_condition(x, builder) for x in found]

    def kept(self, locate: Callable[[Any], Any]) -> Any:
        """What was noted, with the objects by where they are found, for the next tracing of the same loop."""
        perhaps = {place: list(map(locate, xs.values())) for place, xs in self._perhaps.items()}
        return perhaps, set(self._pairs), set(self._tensors)

    def begin(self, kept: Any, fetch: Callable[[Any], Any]) -> None:
        """Starts from what `kept` gave; what is missing is noted anew."""
        perhaps, self._pairs, self._tensors = kept[0], set(kept[1]), set(kept[2])
        for place, located in perhaps.items():
            self._perhaps[place] = {id(x): x for x in map(fetch, located) if x is not None}

    def _places(self, values: Sequence[Any]) -> Iterator[tuple[Place, Any]]:
        def go(x: Any, place: Place) -> Iterator[tuple[Place, Any]]:
            shared = is_aliased(x)
            if shared:
                yield place, x
            if self._following or not (shared and x.serial < self._start):
                for i, part in enumerate(elements(x) or ()):
                    yield from go(part, (*place, i))

        for i, x in enumerate(values):
            yield from go(x, (i,))

    def tie(self, values: Sequence[Any], scope: Any, conditions: Sequence[Value], *, ran: bool = False) -> None:
        """Ties the boxes of carried values to what they may be; `ran`: a trip surely lies behind."""
        if not (self._pairs or self._perhaps or self._carried):
            return
        here = dict(self._places(values))
        known = {_key(p, q): c for (p, q), c in zip(self._carried, conditions, strict=True)}
        pairs = [(here.get(p), here.get(q), known.get((p, q))) for p, q in sorted(self._pairs)]
        perhaps = [(p, x) for p, xs in self._perhaps.items() for x in xs.values()]
        if not ran:
            perhaps += [r for r in self._perhaps_at_entry.items() if _key(*r) in known]
        pairs += [(x, here.get(place), known.get(_key(place, x))) for place, x in perhaps]
        for one, other, condition in pairs:
            if one is not other and type(one) is type(other):
                self._ties.add(one, other, condition, scope=scope)

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


def _key(place: Place, target: Any) -> Relation:
    return place, target if isinstance(target, tuple) else id(target)
