"""Guards of a compiled entry: memory comparisons where possible, Python predicates otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...backends.native.callpath.choose import call_path
from ...backends.native.callpath.memory_guards import BY_VALUE
from ...backends.native.callpath.protocol import Word
from ...frontend.guards.contents import Content, matches
from ...frontend.guards.guards import Guard, Holds, LookupGuard, MethodOf, in_short
from ...frontend.guards.objects import same_static
from ...ir.types import TensorType
from ...source import Loc
from ..entry import CompiledEntry

#: Compared with 0 where its count of references lies: a comparison that always fails.
_NEVER: object = object()
#: Values compared by value; of None, True and False there is one object each.
_EQUAL = (int, float, str, bytes)


class GuardTable:
    """The guards that a call checks: comparisons of memory (`words`), and for the `rest` Python predicates."""

    def __init__(self, entry: CompiledEntry) -> None:
        lowered = entry.lowered
        fetches = {c.fetch for c in lowered.captures}
        # the program's entry checks the types of captured Tensors
        guards = [g for g in lowered.guards if not g.watched]
        checked = [g for g in guards if not (isinstance(g, Guard) and g.fetch in fetches and _is_type(g.expected))]
        #: the Python predicates, and texts that say what each of them guards
        self.rest: list[Callable[[], bool]] = []
        self.rest_names: list[str] = []
        self._captures = lowered.captures
        self.captured = [c.fetch() for c in lowered.captures]
        self._locks = entry.all_locks
        self._quick: list[Any] = []
        for guard in checked:
            quick, rest = in_short([guard], contents=True)
            if isinstance(guard, LookupGuard):
                for one in quick:
                    if self._words(one) is None:
                        self._in_python(_gives(*one), guard.what)
                    else:
                        self._quick.append(one)
            elif rest or any(self._words(one) is None for one in quick):
                self._in_python(guard.holds, guard.what, guard.loc)
            else:
                self._quick += quick
        for c, x in zip(lowered.captures, self.captured, strict=True):
            if c.quick is None or self._words((*c.quick, x)) is None:
                self._in_python(_is(c.fetch, x), c.what)
            else:
                self._quick.append((*c.quick, x))

    def _in_python(self, predicate: Callable[[], bool], what: str, loc: Loc | None = None) -> None:
        self.rest.append(predicate)
        self.rest_names.append(what if loc is None else f"{what} ({loc.of_user().short})")

    @property
    def kept_alive(self) -> tuple[Any, ...]:
        """The objects whose memory is compared."""
        return (*self._quick, *self._locks)

    def words(self) -> list[Word]:
        """The comparisons, at the addresses of now; one that always fails where an address cannot be found any more."""
        found: dict[Word, None] = {}
        for one in self._quick:
            some = self._words(one)
            if some is None:
                return [(id(_NEVER), 0)]
            found.update(dict.fromkeys(some))
        locks = call_path().unlocked_words(self._locks)
        return [(id(_NEVER), 0)] if locks is None else [*found, *locks]

    def still(self) -> bool:
        """Whether the captured Tensors are the same objects."""
        return all(c.fetch() is x for c, x in zip(self._captures, self.captured, strict=True))

    def _words(self, one: tuple[Callable[[Any], Any], Any, Any]) -> list[Word] | None:
        """The comparisons for a function, its argument and the result it must give; None where there are none now."""
        get, key, expected = one
        try:
            now = get(key)
            if not matches(now, expected):
                return None
            found = self._words_of_now(get, key, now, expected)
            # Another thread may have changed it meanwhile: the addresses would be those of another object.
            return found if matches(get(key), expected) else None
        except (AttributeError, KeyError, ValueError, RuntimeError):
            return None

    def _words_of_now(self, get: Callable[[Any], Any], key: Any, now: Any, expected: Any) -> list[Word] | None:
        path = call_path()
        if type(get) is MethodOf:
            return path.method(key, get.name)
        if type(get) is Holds:
            return None if now else path.absence(key, get.name)
        place = path.place_read(get, key)
        if place is None:
            return path.names_absent(get) if now is True else None
        found = list(self._at(place[1], now, expected))
        return None if None in found else [*place[0], *found]  # type: ignore[list-item]

    def _at(self, place: int, now: Any, expected: Any) -> Iterator[Word | None]:
        """The comparisons that say that the value at a place, which is `now`, is as expected; None for an unknown one.

        A container in between may be freed; it is there as long as the comparisons before it hold.
        """
        if isinstance(expected, TensorType):
            yield (place, id(now)) if any(now is x for x in self.captured) else None
        elif isinstance(expected, Content) and isinstance(now, np.ndarray):
            found_there = None if expected.stored is None else call_path().array(now, expected.stored)
            yield from [None] if found_there is None else [(place, id(now)), *found_there]
        elif isinstance(expected, Content) or (type(expected) is tuple and now is not expected):
            found = call_path().element_places(now)
            items = expected.items if isinstance(expected, Content) else expected
            if found is None:
                yield None
                return
            yield place, id(now)
            yield from found[0]
            values = list(now.values()) if type(now) is dict else now
            for at, one, other in zip(found[1], values, items[len(items) - len(values) :], strict=True):
                yield from self._at(at, one, other)
        elif type(expected) in _EQUAL and same_static(now, expected):
            yield place | BY_VALUE, id(expected)
        else:
            yield (place, id(expected)) if now is expected else None


def _is_type(expected: Any) -> bool:
    return isinstance(expected, TensorType)


def _is(fetch: Callable[[], Any], x: Any) -> Callable[[], bool]:
    def holds() -> bool:
        try:
            return fetch() is x
        except (AttributeError, KeyError, IndexError, ValueError):
            return False

    return holds


def _gives(get: Callable[[Any], Any], key: Any, value: Any) -> Callable[[], bool]:
    return _is(lambda: get(key), value)
