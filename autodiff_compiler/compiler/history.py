"""The history of a function's compilations: which argument or guard made each one necessary."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .. import escape, logs
from ..config import context
from ..errors import RecompileWarning, warn_at
from ..frontend.guards.contents import shown
from ..frontend.guards.guards import AnyGuard, FunctionGuard, Guard, stated
from ..frontend.guards.objects import type_of
from ..frontend.lower import name_of_argument
from ..ir.types import TensorType
from ..runtime.mutable import Mutable, kind_of
from ..runtime.parameter import Parameter
from ..runtime.records import held_besides, is_named_tuple
from ..runtime.tensor import Tensor
from ..runtime.tree_classes import is_data_class
from ..source import Loc
from .call_key import Identity, Key, fixed_key, signature
from .specialised import Specialised

#: From how many keys on that differ in one number or dimension a warning is given.
_MANY = 8
_REMEMBERED = 64
#: How many compilations before it a new one is compared with.
_COMPARED = 32
_SHOWN = 6


class Facet(NamedTuple):
    """What the key has of one leaf of the arguments, or of a container among them."""

    key: Key
    text: str
    type: TensorType | None = None
    number: Any = None
    #: the name of a dataclass whose objects count by their identity
    data_class: str = ""


@dataclass(frozen=True)
class Change:
    """One thing that made a compilation necessary.

    `kind` is one of value, shape, dimension, dtype, structure, object, guard, aliasing, device, dropped and hot; of the
    last two `what` says all.
    """

    kind: str
    what: str
    before: str
    after: str
    advice: str = ""
    #: where it is read, if it was found outside
    loc: Loc | None = None
    #: whether a number changed
    number: bool = False

    def __str__(self) -> str:
        if self.kind in ("dropped", "hot"):
            return self.what
        place = f" (read at {_at(self.loc)})" if self.loc is not None else ""
        return f"{self.what}{place} changed from {self.before} to {self.after}"


@dataclass(frozen=True)
class Compile:
    """One compilation: of which call, where, and (but for the first) why."""

    number: int
    call: str
    loc: Loc | None
    changes: tuple[Change, ...]
    facets: dict[str, Facet] = field(repr=False, default_factory=dict)
    #: what is symbolic, in words
    sizes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.number}. {self.call}" + (f" at {_at(self.loc)}" if self.loc is not None else "")]
        for change in self.changes:
            lines.append(f"   because {change}")
            if change.advice:
                lines.append(f"   instead: {change.advice}")
        lines += [f"   for {text}" for text in self.sizes]
        return "\n".join(map(escape.line, lines))


class Recompiles(tuple[Compile, ...]):
    """The compilations of a function in order; its text says why each but the first was necessary."""

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "not compiled yet"
        return "\n".join(map(str, self))

    __repr__ = __str__


@dataclass(frozen=True)
class Watched:
    """Something that compiled code depends on besides its arguments; another value compiles it again."""

    what: str
    #: where it was read first
    loc: Loc | None
    #: the value while compiling, and the one it has now
    seen: str
    now: str
    holds: bool
    #: the call that was compiled, and the number of that compilation
    call: str
    number: int = 0
    #: whether other compiled forms are kept, too, so that the text says whose this is
    among_others: bool = False
    #: whether `what` says all: it is about sizes of arguments
    of_sizes: bool = False

    def __str__(self) -> str:
        place = f" (read at {_at(self.loc)})" if self.loc is not None else ""
        form = f"compilation {self.number}, {self.call}: " if self.among_others else ""
        told = self.what + place if self.of_sizes else ""
        return escape.line(form + (told or stated(self.what, self.seen, place, None if self.holds else self.now)))

    __repr__ = __str__


def _in_short(compile_: Compile) -> str:
    """A compilation in one line."""
    if not compile_.changes:
        return f"{compile_.call} is compiled ({compile_.number})"
    why = "; ".join(map(str, compile_.changes))
    advice = "; ".join(dict.fromkeys(c.advice for c in compile_.changes if c.advice))
    again = f"{compile_.call} is compiled again ({compile_.number}) because {why}"
    return escape.line(f"{again}; instead: {advice}" if advice else again)


def watched(entries: Sequence[Specialised]) -> list[Watched]:
    """The guards of compiled entries: those on sizes, what all entries ask alike, and the rest as they are read."""
    among_others = len(entries) > 1
    of_sizes = [
        Watched(what, loc and loc.of_user(), "", "", True, e.call, e.number, among_others, of_sizes=True)
        for e in entries
        for what, loc in e.said_of_sizes()
    ]
    others = [
        Watched(g.what, g.loc and g.loc.of_user(), g.seen(), g.now(), g.holds(), e.call, e.number, among_others)
        for e in entries
        for g in e.lowered.guards
    ]
    alike: dict[Watched, set[int]] = {}
    for guard in others:
        alike.setdefault(_of_any_form(guard), set()).add(guard.number)
    common = {guard for guard, numbers in alike.items() if len(numbers) == len(entries)}
    once = [guard for guard in alike if guard in common] if among_others else []
    return [*of_sizes, *once, *[guard for guard in others if not once or _of_any_form(guard) not in common]]


def _of_any_form(guard: Watched) -> Watched:
    return replace(guard, call="", number=0, among_others=False)


def _at(loc: Loc) -> str:
    inside = f" in {loc.function}" if loc.function and loc.function != "<module>" else ""
    return f"{loc.short}{inside}"


# ---------------------------------------------------------------------------------------------------- arguments
def facets_of(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Facet]:
    """The parts of a call's key, by the names that the user has for them."""
    found: dict[str, Facet] = {}
    for i, x in enumerate(args):
        found.update(_facets(name_of_argument(fn, i), x, False))
    for name, x in kwargs.items():
        found.update(_facets(name, x, False))
    return found


def _facets(path: str, x: Any, mutable: bool) -> Iterator[tuple[str, Facet]]:
    mutable = mutable or isinstance(x, Mutable)
    kind = kind_of(x)
    if isinstance(x, tuple | list | dict):
        yield path, Facet((mutable, kind, len(x)), f"{kind.__name__} of {len(x)}")
        names = [f"[{name!r}]" for name in x] if isinstance(x, dict) else [f"[{i}]" for i in range(len(x))]
        names = [f".{name}" for name in x._fields] if is_named_tuple(x) else names  # type: ignore[union-attr]
        for name, item in zip(names, x.values() if isinstance(x, dict) else x, strict=True):
            yield from _facets(path + name, item, mutable)
        for name, held in [] if kind in (tuple, list, dict) else held_besides(x):
            yield f"{path}.{name}", _static(held, fixed_key(held))._replace(number=None)  # `mutable` would not help
    elif mutable and kind in (bool, int, float):
        yield path, Facet((Mutable, kind), f"mutable {kind.__name__}")
    elif isinstance(x, Tensor | np.ndarray) and not isinstance(x, Parameter):
        type_ = type_of(x if isinstance(x, Tensor) else Tensor.from_numpy(x))
        word = "ndarray" if type(x) is np.ndarray else "Tensor"
        yield path, Facet((word, type_), f"{word} {type_}", type_)
    else:
        yield path, _static(x, signature((x,), {})[0])


def _static(x: Any, key: Key) -> Facet:
    """A leaf by its part of the key: objects by their ids, for a history keeps nothing alive."""
    number = x if type(x) in (int, float) or isinstance(x, np.number) else None
    data_class = type(x).__name__ if is_data_class(type(x)) else ""
    ids = tuple([part.ids if type(part) is Identity else part for part in key])
    return Facet(ids, shown(x), None, number, data_class)


def _differences(a: dict[str, Facet], b: dict[str, Facet]) -> list[str]:
    """The names of what differs; what lies in containers of different structure is not named."""
    if a.keys() == b.keys():
        differ = [path for path, facet in b.items() if facet.key != a[path].key]
    else:
        differ = [path for path in {**a, **b} if path not in a or path not in b or a[path].key != b[path].key]
    if len(differ) < 2:
        return differ
    return [p for p in differ if not any(p != q and p.startswith((q + "[", q + ".")) for q in differ)]


def _sort(a: Facet | None, b: Facet | None) -> str:
    """In which way two leaves differ."""
    if a is None or b is None:
        return "structure"
    if a.type is not None and b.type is not None:
        if a.type.dtype is not b.type.dtype:
            return "dtype"
        if len(a.type.shape) != len(b.type.shape):
            return "shape"
        unequal = [p != q for p, q in zip(a.type.shape, b.type.shape, strict=True)]
        return "dimension" if sum(unequal) == 1 else "shape"
    if a.number is not None and b.number is not None and type(a.number) is type(b.number):
        return "value"
    plain = all(f.type is None and f.key and f.key[0] in (bool, int, float, str, bytes, type(None)) for f in (a, b))
    return "value" if plain else "structure"


#: How unlike two leaves are.
_WEIGHT = {"value": 1, "dimension": 1, "shape": 2, "dtype": 3, "structure": 4}


def _advice(kind: str, name: str, facets: Sequence[Facet | None]) -> str:
    numbers = [f.number for f in facets if f is not None and f.number is not None]
    if kind == "value" and {type(n) for n in numbers} == {int, float}:
        return f"pass one kind of number, `mutable(float({name}))`: an int and a float have programs of their own"
    if kind == "value" and all(f is not None and f.number is not None for f in facets):
        marked = f"{name}.item()" if any(f is not None and isinstance(f.number, np.number) for f in facets) else name
        return f"pass `mutable({marked})`, or a Tensor, if `{name}` need not be known while compiling"
    if kind == "structure" and all(f is not None and (f.type or f.number is not None) for f in facets):
        return f"pass a Tensor for `{name}` at every call: a number is known while compiling, a Tensor is not"
    names = {f.data_class for f in facets if f is not None and f.data_class}
    if kind == "structure" and names:
        return f"make {' and '.join(sorted(names))} a frozen dataclass, whose objects count by what they hold"
    return {
        "value": f"every value of `{name}` has a program of its own: call it with few different ones",
        "dimension": f"pad `{name}` to one size, or batch it into pieces of one size",
        "shape": f"give `{name}` one shape at every call",
        "dtype": f"convert `{name}` to one dtype with astype before the call",
        "structure": f"give `{name}` one structure at every call; an object is compared by its identity",
    }[kind]


# ---------------------------------------------------------------------------------------------------- history
class History:
    """The compilations of one function, the last 64 of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._compiles: deque[Compile] = deque(maxlen=_REMEMBERED)
        self._warned: set[str] = set()

    def __iter__(self) -> Iterator[Compile]:
        return iter(tuple(self._compiles))

    def add(
        self, entry: Specialised, facets: dict[str, Facet], stale: Sequence[Change], loc: Loc | None, keys: int
    ) -> None:
        """Notes a compilation; `stale` says why the forms of the same key could not be used; `keys`: now in use."""
        needed = [(what, loc and loc.of_user()) for what, loc in entry.said_of_sizes()]
        sizes = tuple([f"{what} (read at {_at(place)})" if place else what for what, place in needed])
        # From the latest on: with equal differences the call before is the one to compare with.
        before = [(c, _differences(c.facets, facets)) for c in islice(reversed(self._compiles), _COMPARED)]
        changes = tuple(stale) or _changes(facets, before)
        if entry.sizes is not None or needed:  # it is for all of them, or what needs to know them is said
            advice = "" if entry.sizes is not None else "write what needs to know the size so that any will do"
            of_sizes = ("dimension", "shape")
            changes = tuple([replace(c, advice=advice) if c.kind in of_sizes else c for c in changes])
        self._compiles.append(Compile(entry.number, entry.call, loc, changes, facets, sizes))
        told = logs.listener("recompiles")
        if told is not None:
            told.info("%s%s", logs.place(loc), _in_short(self._compiles[-1]))
        if len(changes) == 1:
            self._warn_of(changes[0], facets, before, loc)
        self._warn_of_guards(stale, loc)
        if keys > _REMEMBERED // 2:
            self._warn(
                "",
                f"{self._name} has been compiled for {keys} different signatures; {_REMEMBERED} are kept, then those "
                "not used for longest are compiled again: its explain_recompiles() says why",
                loc,
                "AC2006",
            )

    def _warn_of(self, change: Change, facets: dict[str, Facet], before: Earlier, loc: Loc | None) -> None:
        """Warns if one number or dimension changes again and again."""
        if change.kind == "guard" and change.number:
            texts = [c.after for compile_ in self._compiles for c in compile_.changes if c.what == change.what]
        elif change.kind in ("value", "dimension"):
            path = change.what.removeprefix("argument `").removesuffix("`")
            others = [c.facets[path] for c, differ in before if differ == [path] and path in c.facets]
            same = [f for f in others if _sort(f, facets[path]) == change.kind]
            texts = [f.text for f in (*reversed(same), facets[path])]
        else:
            return
        shown_ = list(dict.fromkeys(texts))
        if len(shown_) > _MANY:
            what = "sizes" if change.kind == "dimension" else "values"
            listed = ", ".join([*shown_[: _SHOWN - 1], "...", shown_[-1]])
            text = f"{self._name} is compiled again and again for other {what} of {change.what}: {listed}"
            self._warn(change.what, f"{text}; {change.advice}" if change.advice else text, loc, "AC2001")

    def _warn_of_guards(self, stale: Sequence[Change], loc: Loc | None) -> None:
        """Warns if one and the same thing made compiled forms useless again and again, whatever it is."""
        for change in stale:
            place = (change.what, change.loc)
            count = sum(any((c.what, c.loc) == place for c in compile_.changes) for compile_ in self._compiles)
            if count > _MANY:
                text = f"{self._name} is compiled again and again: {change}"
                self._warn(change.what, f"{text}; {change.advice}" if change.advice else text, loc, "AC2001")
                return

    def _warn(self, about: str, text: str, loc: Loc | None, code: str) -> None:
        """Warns once per function and cause."""
        if about not in self._warned:
            self._warned.add(about)
            warn_at(RecompileWarning(text, code=code), loc)


Earlier = Sequence[tuple[Compile, list[str]]]


def _changes(facets: dict[str, Facet], before: Earlier) -> tuple[Change, ...]:
    """The differences from the call before that is most like this one."""

    def unlike(earlier: tuple[Compile, list[str]]) -> int:
        compile_, differ = earlier
        return sum(_WEIGHT[_sort(compile_.facets.get(p), facets.get(p))] for p in differ)

    if not before:
        return ()
    like, differ = min(before, key=unlike)
    if not differ:
        return (Change("dropped", "its compiled form had been dropped from the cache", "", ""),)
    found = []
    for path in differ:
        a, b = like.facets.get(path), facets.get(path)
        kind = _sort(a, b)
        texts = [f.text if f is not None else "nothing" for f in (a, b)]
        found.append(Change(kind, f"argument `{path}`", texts[0], texts[1], _advice(kind, path, (a, b))))
    return tuple(found)


#: Why sizes get a compiled form of their own beside the one for all.
HOT = Change(
    "hot", "calls with these very sizes come often or take long, and Python runs ops of the general program", "", ""
)


def stale_because(entries: Sequence[Specialised]) -> list[Change]:
    """Why no compiled entry of a key can be used."""
    if not entries:
        return []
    before, now = entries[0].machine, context.machine
    if before != now:
        *device, looking = zip(before, now, strict=False)
        if all(a == b for a, b in device):
            a, b = (text.strip() or "nothing" for text in looking)
            return [Change("device", "what is looked for while it runs", a, b)]
        return [Change("device", "the device", " ".join(filter(None, before)), " ".join(filter(None, now)))]
    failing = [g for g in entries[0].lowered.guards if not g.holds()]
    if not failing:
        what = "which of the Tensors it gets or reads are one object, and it writes to one of them,"
        return [Change("aliasing", what, "one pattern", "another")]
    return [
        Change("guard", g.what, g.seen(), g.now(), _guard_advice(g), g.loc and g.loc.of_user(), _is_number(g))
        for g in failing
    ]


def _is_number(guard: AnyGuard) -> bool:
    return isinstance(guard, Guard) and type(guard.expected) in (int, float)


def _guard_advice(guard: AnyGuard) -> str:
    if isinstance(guard, FunctionGuard):
        if guard.redefined():
            return "define it once: every definition has a program of its own"
        return "leave its defaults alone, and pass other values as arguments"
    if not isinstance(guard, Guard):
        return "leave the class alone between calls"
    if _is_number(guard):
        return "make it `mutable(...)`, pass it as an argument, or keep it in a Tensor"
    if isinstance(guard.expected, TensorType):
        return "give it one shape and one dtype: its elements may change"
    if isinstance(guard.expected, bool | str | bytes):
        return "change it seldom: every value has a program of its own"
    return "leave it alone between calls, or keep what changes in Tensors"
