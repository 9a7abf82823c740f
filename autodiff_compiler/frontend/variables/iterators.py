"""Iterators: what `iter`, `zip`, `enumerate`, `reversed`, `map` and `filter` give, of which every element comes once.

An `Iterated` goes over an iteration and knows how many elements were taken.  That number is a compile-time object like
a list: branches must agree about it, and a loop that is kept may not change it.  A loop over an untouched one uses the
iteration itself, so that it can be kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import LoopError, StaticValueError, UnsupportedSyntaxError, shown_as
from ...ir.core import Value
from ...source import Loc
from .arithmetic import to_number
from .changing import Cursor
from .elements import used_up
from .frames import turn_of_call
from .interpreter import ValueContext
from .iteration import END, ENDLESS, Enumerate, Iteration, Reversed, Through, Zip, iteration_of
from .requirements import as_index, require_static, special
from .rules import intrinsic
from .truth_values import truth
from .values import describe, is_iterator, is_tensor


@shown_as("iterator")
class Iterated(Through):
    """An iterator over an iteration; `name` is what Python calls its class."""

    is_iterator = True

    def __init__(self, source: Iteration, name: str) -> None:
        self.source, self.name = source, name
        self.cursor = Cursor()

    def __repr__(self) -> str:
        return f"<{self.name} object at {id(self):#x}>"

    @property
    def length(self) -> Any:
        n = self.source.length
        return max(n - self.cursor.taken, 0) if isinstance(n, int) else n

    @property
    def size(self) -> Any:  # type: ignore[override]  # an attribute of the others
        return self.source.size

    def _check(self, ctx: ValueContext) -> None:
        """How many elements were taken must be known."""
        if self.cursor.broken is not None:
            raise self.cursor.broken.again(ctx.here, "used here")

    def advance(self, ctx: ValueContext) -> Any:
        """The next element, or END."""
        self._check(ctx)
        if self.cursor.taken == ENDLESS:
            return END
        ctx.effects.touch(self.cursor)
        found, taken = self.source.following(ctx, self.cursor.taken)
        self.cursor.taken = ENDLESS if found is END else taken
        return found

    def following(self, ctx: ValueContext, i: int) -> tuple[Any, int]:
        return self.advance(ctx), i + 1

    def static_items(self, ctx: ValueContext) -> Iterator[Any]:
        trips, most = 0, self.most(ctx)
        while True:
            try:
                item = self.advance(ctx)
            except StopIteration:  # a function given to `map` may end it
                return
            if item is END:
                return
            trips += 1
            if most is not None and trips > most:
                raise LoopError(f"a {self.name} object gives more than {most} elements")
            yield item

    def begin(self, ctx: ValueContext) -> Iteration:
        self._check(ctx)
        return _Loop(self)

    # A part of another iteration, in a kept loop.
    def sources(self) -> list[Any]:
        return [self.cursor, *self.source.sources()]

    def enter(self, ctx: ValueContext) -> None:
        if self.cursor.taken or self.cursor.broken is not None:
            raise StaticValueError(f"it goes over a {self.name} object from which elements were taken")
        self.source.enter(ctx)

    def end(self, ctx: ValueContext, certain: bool) -> None:
        self.source.end(ctx, certain)
        ctx.effects.touch(self.cursor)
        if certain:
            self.cursor.taken = ENDLESS
        else:
            self.cursor.broken = StaticValueError(
                f"how many elements of this {self.name} object are left depends on data", hint="make a list of it first"
            )
        for part in self.source.parts_inside():
            part.end(ctx, False)


class _Loop(Through):
    """A `for` over an iterator: kept like the iteration inside, unrolled by taking element after element."""

    def __init__(self, iterator: Iterated) -> None:
        self.iterator, self.source = iterator, iterator.source
        self.length, self.size = iterator.length, iterator.size
        self.force_unroll = bool(iterator.cursor.taken) or self.source.force_unroll

    def static_items(self, ctx: ValueContext) -> Iterable[Any]:
        return self.iterator.static_items(ctx)

    def sources(self) -> list[Any]:
        return self.iterator.sources()

    def enter(self, ctx: ValueContext) -> None:
        if self.force_unroll:
            raise StaticValueError(f"it goes over a {self.iterator.name} object that must be asked for every element")
        self.source.enter(ctx)

    def end(self, ctx: ValueContext, certain: bool) -> None:
        self.iterator.end(ctx, certain)


# ---------------------------------------------------------------------------------------------------- map, filter
class _Map(Through):
    """``map(fn, *xs)``, written at `place`; `rows` are the arguments of each call."""

    def __init__(self, fn: Any, rows: Zip, place: Loc | None) -> None:
        self.fn, self.source, self.place = fn, rows, place
        self.length, self.size = rows.length, rows.size
        self.force_unroll = rows.force_unroll

    def _of(self, ctx: ValueContext, row: Any) -> Any:
        return END if row is END else ctx.call(self.fn, list(row), {})

    def following(self, ctx: ValueContext, i: int) -> tuple[Any, int]:
        row = self.source.item(ctx, i)
        with turn_of_call(ctx, self.place, i):
            return self._of(ctx, row), i + 1

    def runs_code(self) -> bool:
        return True

    def parts_inside(self) -> Iterable[Iteration]:
        return self.source.parts_inside()

    def element(self, ctx: ValueContext, index: Value, parts: list[Value]) -> Any:
        return self._of(ctx, super().element(ctx, index, parts))

    def item_at(self, ctx: ValueContext, index: Value) -> Any:
        return self._of(ctx, super().item_at(ctx, index))


def kept(ctx: ValueContext, found: Any, what: str) -> bool:
    """Whether `filter`, or what is like it, keeps an element of which a function has found this."""
    known = truth(ctx, found)
    if not isinstance(known, bool):
        raise StaticValueError(
            f"which elements `{what}` keeps must be known at compile time",
            code="AC1303",
            hint="append them to a list in a `for` statement, or keep all and mask them with `ops.where`",
        )
    return known


class _Filter(Iteration):
    """``filter(fn, x)``: whether an element stays must be known at compile time."""

    force_unroll = True

    def __init__(self, fn: Any, inner: Iteration) -> None:
        self.fn, self.inner = fn, inner
        self.length = inner.length

    def following(self, ctx: ValueContext, i: int) -> tuple[Any, int]:
        while True:
            item, i = self.inner.following(ctx, i)
            if item is END:
                return END, i
            if kept(ctx, item if self.fn is None else ctx.call(self.fn, [item], {}), "filter"):
                return item, i

    def parts_inside(self) -> Iterable[Iteration]:
        return [self.inner]

    def most(self, ctx: ValueContext) -> int | None:
        return self.inner.most(ctx)

    def runs_code(self) -> bool:
        return True


_AT_ONCE = 10_000


class _Native(Iteration):
    """An iterator of the standard library over static elements, which may be without end."""

    force_unroll = True

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self._seen = list(itertools.islice(iterator, _AT_ONCE))
        self.length = len(self._seen) if len(self._seen) < _AT_ONCE else ENDLESS

    def item(self, ctx: ValueContext, i: int) -> Any:
        while len(self._seen) <= i:
            found = next(self._iterator, END)
            if found is END:
                return END
            self._seen.append(found)
        return self._seen[i]


class _Live(Iteration):
    """An iterator of the standard library over elements that the user's code makes when they are asked for."""

    force_unroll = True
    length = ENDLESS

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator, self._given = iterator, 0

    def runs_code(self) -> bool:
        return True

    def item(self, ctx: ValueContext, i: int) -> Any:
        if i != self._given:
            raise StaticValueError(
                "an iterator of the standard library over one of compiled code gives each element on one path only",
                hint="make a list of its elements first",
            )
        self._given += 1
        return next(self._iterator, END)


def live(iterator: Iterator[Any]) -> Any:
    """An iterator of the standard library that asks compiled code for elements one after the other."""
    return Iterated(_Live(iterator), type(iterator).__name__)


def wrapped(result: Any) -> Any:
    """What a function of the standard library gave, as compiled code sees it: iterators as its own."""
    return Iterated(_Native(result), type(result).__name__) if isinstance(result, Iterator) else result


# ---------------------------------------------------------------------------------------------------- builtins
def with_sentinel() -> UnsupportedSyntaxError:
    """The error for `iter` of a function that says when it ends."""
    return UnsupportedSyntaxError("iter() with a sentinel", code="AC1103", hint="write it as a `while` loop")


@intrinsic(iter)
def _iter(ctx: ValueContext, x: Any, *sentinel: Any) -> Any:
    if sentinel:
        raise with_sentinel()
    if is_iterator(x):
        return x
    result = special(ctx, x, "__iter__")
    if result is not NotImplemented:
        return _iter(ctx, result)
    return Iterated(iteration_of(ctx, x), f"{type(x).__name__}_iterator")


@intrinsic(next)
def _next(ctx: ValueContext, x: Any, *default: Any) -> Any:
    if isinstance(x, Iterator):
        raise used_up(x)
    if not is_iterator(x):
        raise TypeError(f"'{describe(x)}' object is not an iterator")
    found = x.advance(ctx)
    if found is not END:
        return found
    if default:
        return default[0]
    raise StopIteration


@intrinsic(enumerate)
def _enumerate(ctx: ValueContext, iterable: Any, start: Any = 0) -> Any:
    first = as_index(ctx, start)
    first = to_number(ctx, first, int) if is_tensor(first) else first
    return Iterated(Enumerate(iteration_of(ctx, iterable), first), "enumerate")


@intrinsic(zip)
def _zip(ctx: ValueContext, *xs: Any, strict: bool = False) -> Any:
    must = truth(ctx, require_static(strict, "`strict` of zip()"))
    return Iterated(Zip([iteration_of(ctx, x) for x in xs], must), "zip")


@intrinsic(reversed)
def _reversed(ctx: ValueContext, x: Any) -> Any:
    if is_iterator(x):
        raise TypeError(f"'{x.name}' object is not reversible")
    result = special(ctx, x, "__reversed__")
    if result is not NotImplemented:
        return _iter(ctx, result)
    return Iterated(Reversed(iteration_of(ctx, x)), "reversed")


@intrinsic(map)
def _map(ctx: ValueContext, fn: Any, *xs: Any) -> Any:
    if not xs:
        raise TypeError("map() must have at least two arguments.")
    return Iterated(_Map(fn, Zip([iteration_of(ctx, x) for x in xs]), ctx.here), "map")


@intrinsic(filter)
def _filter(ctx: ValueContext, fn: Any, x: Any) -> Any:
    return Iterated(_Filter(fn, iteration_of(ctx, x)), "filter")
