"""Lists, dicts and sets from outside that compiled code changes: state of the call, written back at its end.

A container that is going to be changed is *opened*: wherever it is met, a list, dict or set of compiled code stands for
it, so that all its aliases are one object, branches join it and loops carry it.  The first change is found out when it
may have been read already, so the function is compiled once more with that knowledge.  A list that only grows is not
looked at (`GrowingList`), so it may be longer at each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ...errors import SideEffectError
from ...runtime.records import record_fields
from ..guards.contents import check_nesting, content_of
from ..guards.guards import Fetch
from ..guards.objects import same_static
from ..guards.outside import Outside
from ..variables.growing import GrowingList
from ..variables.structure import parts, rebuild
from ..variables.values import LocalDict, LocalList, LocalSet, usable
from .inputs import Again, Foreknown


@dataclass(frozen=True, eq=False)
class Standing:
    """An object from outside that leaves the call as itself; `fetch` finds it when a call begins.

    A result that holds it holds that very object.  `seen` is what it was while compiling.
    """

    fetch: Fetch
    seen: Any


@dataclass(eq=False)
class Opened:
    """A container from outside, here a list, what stands for it, and what that held at the entry."""

    place: Standing
    local: Any
    what: str
    #: whether another content than that of the entry has been noted (see `commits`)
    noted: bool = False
    #: the indices of a list that were assigned to
    assigned: set[int] = field(default_factory=set)
    #: whether what stands for it are the elements that are appended
    grows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.local.serial = -1  # older than all that compiled code makes, so that every region notes its changes
        self.entry = held_in(self.local)

    @property
    def is_changed(self) -> bool:
        """Whether it holds here what it did not hold at the entry."""
        return self.local.broken is not None or not self._same(held_in(self.local))

    def _same(self, held: Any) -> bool:
        return len(held) == len(self.entry) and all(a is b for a, b in zip(self.entry, held, strict=True))

    def elements(self, held: Any) -> list[Any]:
        """The elements of what it holds."""
        return [*held]

    def note_assigned(self, index: Any) -> None:
        """Notes the assignment of an element."""
        if isinstance(index, int):
            self.assigned.add(range(len(self.local))[index])

    def numbers_changed(self) -> Iterator[Any]:
        """The keys, or indices assigned to, under which there was a number at the entry, and is another one now."""
        if len(self.entry) == len(self.local):
            for index in self._kept():
                was = self.entry[index]
                if type(was) in (int, float) and not same_static(was, self.local[index]):
                    yield index

    def _kept(self) -> Collection[Any]:
        return self.assigned

    def to_write(self, part: Callable[[Any], Any]) -> Any:
        """What it holds, as a value that results are made of; `part` gives the same of an element."""
        return LocalList(map(part, held_in(self.local)))


class _OpenedDict(Opened):
    def _same(self, held: Any) -> bool:
        pairs = zip(self.entry.items(), held.items(), strict=False)
        return len(held) == len(self.entry) and all(same_static(j, k) and a is b for (j, a), (k, b) in pairs)

    def elements(self, held: Any) -> list[Any]:
        return [*held.values()]

    def note_assigned(self, index: Any) -> None:
        pass

    def _kept(self) -> Collection[Any]:
        return [key for key in self.entry if key in self.local]

    def to_write(self, part: Callable[[Any], Any]) -> Any:
        return LocalDict({k: part(v) for k, v in self.local.items()})


class _OpenedSet(Opened):
    def _same(self, held: Any) -> bool:
        return {(type(x), x) for x in self.entry} == {(type(x), x) for x in held}

    def numbers_changed(self) -> Iterator[Any]:
        return iter(())

    def to_write(self, part: Callable[[Any], Any]) -> Any:
        return LocalSet(self.local)


class _OpenedGrowing(Opened):
    grows = True

    def numbers_changed(self) -> Iterator[Any]:
        return iter(())


class OutsideContainers:
    """The containers from outside that one compilation has met opened."""

    def __init__(self, known: Foreknown, outside: Outside) -> None:
        self._known, self._outside = known, outside
        self._opened: dict[int, Opened] = {}
        self._of_local: dict[int, Opened] = {}
        self._tuples: dict[int, tuple[Any, Any]] = {}
        self._places: dict[int, Standing] = {}

    # ------------------------------------------------------------------------------------------- opening
    def holds(self, value: Any) -> bool:
        """Whether a value from outside is or holds a container that compiled code changes."""
        changed = self._known.containers
        if not changed or not isinstance(value, list | dict | set | tuple):
            return False
        return any(id(part) in changed for part in parts(value))

    def opened(self, value: Any, key: tuple[Any, ...], what: str, fetch: Fetch) -> Any:
        """What stands in compiled code for a value from outside that `holds` says yes to; `fetch` finds it again."""
        if isinstance(value, tuple):
            if id(value) not in self._tuples:
                self._outside.guard(key, what, lambda: (type(now := fetch()), len(now)), (type(value), len(value)))
                items = [self._element(value, i, v, what, fetch) for i, v in enumerate(value)]
                self._tuples[id(value)] = value, rebuild(value, items)
            return self._tuples[id(value)][1]
        first = self._opened.get(id(value))
        if first is None:
            self._outside.guard(key, f"class of {what}", lambda: type(fetch()), type(value))
            first = self._open(value, what, fetch)
            self._opened[id(value)] = self._of_local[id(first.local)] = first
        else:
            other = first.place.fetch
            self._outside.guard(key, f"whether {what} and {first.what} are one", lambda: fetch() is other(), True)
        return first.local

    def _open(self, owner: Any, what: str, fetch: Fetch) -> Opened:
        if type(owner) not in _KINDS:
            raise self.refusal(owner, what)
        check_nesting(owner)
        if isinstance(owner, list) and id(owner) in self._known.containers and id(owner) not in self._known.read:
            growing = GrowingList()
            growing.begin(functools.partial(self._read, owner))
            return _OpenedGrowing(self._standing(owner, fetch), growing, what)
        return _KINDS[type(owner)](self, owner, what, fetch)

    def _open_list(self, owner: list[Any], what: str, fetch: Fetch) -> Opened:
        self._outside.guard(("form", id(owner)), f"length of {what}", lambda: len(fetch()), len(owner))
        items = [self._element(owner, i, v, what, fetch) for i, v in enumerate(owner)]
        return Opened(self._standing(owner, fetch), LocalList(items), what)

    def _open_dict(self, owner: dict[Any, Any], what: str, fetch: Fetch) -> Opened:
        keys = content_of([*owner])
        self._outside.guard(("form", id(owner)), f"keys of {what}", lambda: [*fetch()], keys)
        items = {k: self._element(owner, k, v, what, fetch) for k, v in owner.items()}
        return _OpenedDict(self._standing(owner, fetch), LocalDict(items), what)

    def _open_set(self, owner: set[Any], what: str, fetch: Fetch) -> Opened:
        self._outside.guard(("form", id(owner)), what, fetch, content_of(owner))
        return _OpenedSet(self._standing(owner, fetch), LocalSet(owner), what)

    def _standing(self, owner: Any, fetch: Fetch) -> Standing:
        return self._places.setdefault(id(owner), Standing(fetch, owner))

    def _element(self, owner: Any, index: Any, value: Any, what: str, fetch_owner: Fetch) -> Any:
        key, name = ("item", id(owner), repr(index)), f"{what}[{index!r}]"

        def fetch() -> Any:
            return fetch_owner()[index]

        if (id(owner), index) in self._known.numbers and type(value) in (int, float):
            return self._outside.number(key, name, fetch, type(value))
        if isinstance(value, list | dict | set | tuple | frozenset) or record_fields(value) is not None:
            self._standing(value, fetch)
        return self._outside.read(value, key, name, fetch)

    def _read(self, owner: Any) -> None:
        """A list that grew so far is looked at, or changed in another way."""
        raise Again(replace(self._known, read=self._known.read | {id(owner)}))

    # ------------------------------------------------------------------------------------------- changes
    def open_for_change(self, owner: Any) -> None:
        """Before the change of a container from outside: restarts the compilation with the container opened.

        It returns if that cannot be: the container was not found outside, but made while compiling or given as an
        argument, or reached by a way that does not open it.
        """
        found = any(part is owner for *_, top in self._outside.containers for part in _all_in(top))
        if type(owner) in _KINDS and found and id(owner) not in self._known.containers:
            raise Again(replace(self._known, containers=self._known.containers | {id(owner)}))

    @staticmethod
    def refusal(owner: Any, what: str) -> SideEffectError:
        """The error for a container of a class of its own."""
        return SideEffectError(
            f"{what}, a {type(owner).__name__} that came from outside, cannot be changed in compiled code, nor what it "
            "holds",
            code="AC1602",
            hint="use a plain list, dict or set, or return the new value",
        )

    def of_outside(self, local: Any) -> Opened | None:
        """The container from outside that a container of compiled code stands for."""
        return self._of_local.get(id(local))

    def note_assigned(self, local: Any, index: Any) -> None:
        """Notes the assignment of an element of a list."""
        opened = self.of_outside(local)
        if opened is not None:
            opened.note_assigned(index)

    def pending(self) -> list[Opened]:
        """The containers changed on the way to the present place."""
        return [x for x in self._opened.values() if x.noted or x.is_changed]

    def final(self) -> list[Opened]:
        """The containers that are written back at the exit.

        A number that is another one then is known at run time only, since it would be another one at each call.
        """
        changed = self.pending()
        for x in changed:
            usable(x.local)
        numbers = {(id(x.place.seen), index) for x in changed for index in x.numbers_changed()} - self._known.numbers
        if numbers:
            raise Again(replace(self._known, numbers=self._known.numbers | numbers))
        return changed

    def guard_aliases(self) -> None:
        """At the end: what is changed must be no part of what was read as it is, and no two of them must be one."""
        places, changed = [x.place.fetch for x in self._opened.values()], [x.place.fetch for x in self.pending()]
        if not changed:
            return

        def one_of(fetch: Fetch) -> bool:
            ids = {id(place()) for place in changed}
            return any(id(part) in ids for part in _all_in(fetch()))

        for key, what, fetch, _ in self._outside.containers:
            what = f"whether {what} holds what compiled code changes"
            self._outside.guard(("changed", *key), what, functools.partial(one_of, fetch), False)
        if len(places) > 1:
            what = "whether containers that compiled code changes are one"
            same = lambda: len({id(place()) for place in places}) < len(places)  # noqa: E731
            self._outside.guard(("changed",), what, same, False)

    def standing(self) -> list[Standing]:
        """The objects from outside that may leave the call as themselves."""
        return [*self._places.values()]

    def to_write(self, opened: Opened) -> Any:
        """The content that is to be written back, as a value that results are made of."""
        return opened.to_write(self._as_it_is)

    def _as_it_is(self, x: Any) -> Any:
        """An element to be written back; a container that was there, and is not opened, stays that very object."""
        if id(x) in self._places:
            return self._places[id(x)]
        return rebuild(x, list(map(self._as_it_is, x))) if isinstance(x, tuple) else x


#: How containers of these very classes are opened.
_KINDS: dict[type, Callable[..., Opened]] = {
    list: OutsideContainers._open_list,
    dict: OutsideContainers._open_dict,
    set: OutsideContainers._open_set,
}


def _all_in(value: Any) -> Iterator[Any]:
    if isinstance(value, functools.partial):
        yield from parts((value.args, value.keywords))
    else:
        yield from parts(value)


def held_in(local: Any) -> Any:
    """A copy of what a container of compiled code holds; of one that grows, of what was appended."""
    return local.copied()
