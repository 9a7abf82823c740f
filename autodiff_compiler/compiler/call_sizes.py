"""Sizes of arguments that only a call knows: one compilation for many shapes, and its guards.

A compilation for symbolic sizes is made for one call.  Where the function, or a rule of an op, asks what the symbols
leave open (``n <= 4``), that call answers, and the answer is a guard of the compiled form.  Two sizes that it finds to
be equal are one from then on, and a size that must be known is a number: the compilation begins again.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd, prod
from typing import Any

from ..ir.open_shapes import OpenShapes, Relation, said
from ..ir.primitive import trace
from ..ir.sizes import (
    Atom,
    Dim,
    Size,
    Symbol,
    bounded_by_numbers,
    evaluate,
    linear_in,
    quotients_of,
    size_of,
    substitute,
    symbol,
    symbols_of,
)
from ..ir.types import Shape
from ..source import Loc
from .call_key import Key

#: Names of symbols, in the order in which they are given.
NAMES = "nmkpqrst"
#: From how many calls of the same sizes on at most these get a program of their own, and how many sizes may; the calls
#: of how many sizes are counted.
_HOT_CALLS, _MOST_HOT, _REMEMBERED = 16, 8, 256
#: What a compilation takes at least, in nanoseconds (one that comes from disk is faster), and how much of it pays for
#: each call that has come.
_LEAST_TIME, _TIME_PER_CALL = 50_000_000, 15_000_000
#: From how many remainders on a number is compiled for itself.
_MOST_REMAINDERS = 64
#: How many relations become narrower bounds of their symbols; what follows is a guard of its own.
_MOST_NARROWED = 8


class Unified(BaseException):
    """Begins a compilation again: a size is another one, or a number; `why` says what had to be known."""

    def __init__(self, replaced: Mapping[Symbol, Size], *, narrows: bool = False, why: str = "") -> None:
        super().__init__()
        self.replaced, self.narrows, self.why = replaced, narrows, why
        self.loc = None if trace.builder is None else trace.builder.loc


def known_because(error: Exception) -> str:
    """That sizes must be known, as an error of their symbols says, in words."""
    return "sizes that must be known: " + str(error).partition("\n")[0]


class Sizes:
    """The sizes of the Tensors that calls give: numbers, and formulas of symbols where calls differ.

    `relations` are the guards, each with the place in the source that needs it.  As a `Decider` it answers what the
    symbols leave open by the sizes of the call that is compiled for.
    """

    def __init__(self, shapes: Sequence[Shape], values: Mapping[str, int]) -> None:
        self.shapes, self.values = tuple(shapes), dict(values)
        self.relations: dict[Relation, Loc | None] = {}
        #: the sizes that had to be known, in words, each with the place in the source that needs it
        self.settled: dict[str, Loc | None] = {}
        #: how often a relation has become a narrower bound, for each of which the compilation began again
        self.narrowed = 0
        self._open = OpenShapes(self.shapes)
        self._found = self._open.definitions
        self.is_open = bool(self._found)
        #: how often calls have had these shapes, how long these calls took, and how many shapes have become hot
        self._calls: Counter[tuple[Shape, ...]] = Counter()
        self._times: Counter[tuple[Shape, ...]] = Counter()
        self._hot = 0

    def of(self, shapes: Sequence[Shape]) -> dict[str, int] | None:
        """The values of the symbols in a call with these shapes; None if it is not one of those compiled for."""
        values = self._open.values(shapes)
        return values if values is not None and all(r.is_so(values) for r in self.relations) else None

    def becomes_hot(self, shapes: Sequence[Shape], compile_time: int) -> bool:
        """Notes a call; whether a program for its sizes alone pays: they have come often, or their calls took long.

        `compile_time`: how long the compilation of such a program takes, in nanoseconds.
        """
        if self._hot >= _MOST_HOT:
            return False
        if len(self._calls) > _REMEMBERED:
            self._calls.clear()
            self._times.clear()
        called = tuple(shapes)
        self._calls[called] += 1
        compile_time = max(compile_time, _LEAST_TIME)
        enough = min(compile_time // _TIME_PER_CALL, _HOT_CALLS)
        if self._calls[called] < enough and 4 * self._times[called] < compile_time:
            return False
        self._hot += 1
        return True

    def took(self, shapes: Sequence[Shape], time: int) -> None:
        """Notes how long a call took, in nanoseconds."""
        self._times[tuple(shapes)] += time

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols, in the order in which `described` begins with them."""
        return tuple(self._found)

    def refused(self, values: Mapping[str, int]) -> str:
        """Which condition the values of some symbols do not meet, in words; empty if there is none."""
        for s in self._found:
            value = values.get(s.name)
            if value is not None and (value < s.low or _exceeds(value, s.high, values)):
                return f"{s}: {_range(s)}"
        for relation in self.relations:
            if _have_values(relation.left - relation.right, values) and not relation.is_so(values):
                return str(relation)
        return ""

    def described(self, names: Sequence[str]) -> Iterator[tuple[str, Loc | None]]:
        """What calls must have in common, in words; `names` are those of the Tensors for the user."""
        for s, (i, axis, _, _) in self._found.items():
            size = self.shapes[i][axis]
            whole = "" if size is size_of(s) else f", of which {size} is the size"
            yield f"{s}: {_range(s)}, from {names[i]}, axis {axis}{whole}", None
        for relation, loc in self.relations.items():
            yield str(relation), loc
        yield from self.settled.items()

    # ------------------------------------------------------------------------------------------- as a Decider
    def are_equal(self, a: Size, b: Size) -> bool:
        if evaluate(a, self.values) == evaluate(b, self.values):
            for atom in bounded_by_numbers(a - b):
                self.is_at_most(atom.left, atom.right)  # which may make a bound of a symbol of it, and one less atom
            replaced = self._solved(a - b)
            known = any(isinstance(size, int) for size in replaced.values())
            raise Unified(replaced, why=f"{said(a)} = {said(b)}" if known else "")
        return self._answer(a, "==", b)

    def is_at_most(self, a: Size, b: Size) -> bool:
        return self._answer(a, "<=", b)

    def number(self, size: Dim, instead: str) -> int:
        value = evaluate(size, self.values)
        why = f"{said(size)} = {value}, which must be known"
        raise Unified(self._solved(size - value), why=f"{why}; {instead}" if instead else why)

    def shape_of(self, what: str, shape: Shape) -> Shape:
        return shape

    def settle(self, error: Exception) -> None:
        if self._found:
            raise Unified({s: self.values[s.name] for s in self._found}, why=known_because(error))

    def _answer(self, a: Size, op: str, b: Size) -> bool:
        relation = Relation(a, op, b, holds=True)
        relation = relation._replace(holds=relation.is_so(self.values))
        narrower = _narrower(relation)
        if narrower is not None and self.narrowed < _MOST_NARROWED:
            raise Unified(narrower, narrows=True)
        self.relations.setdefault(relation, None if trace.builder is None else trace.builder.loc)
        return relation.holds

    def _solved(self, zero: Size) -> dict[Symbol, Size]:
        """What a symbol is if this size is 0; where no polynomial tells it, what all of its symbols are in the call."""
        symbols = list(dict.fromkeys(symbols_of(zero)))
        for s in symbols:
            for alone in (size_of(s) - zero, size_of(s) + zero):
                if s not in symbols_of(alone):
                    return {s: alone}
        remainder = self._remainder(zero)
        if remainder is not None:
            return remainder
        known: dict[Symbol, Size] = {s: self.values[s.name] for s in symbols}
        enough = [s for s in symbols if not isinstance(substitute(zero, {s: known[s]}), Dim)]
        return {enough[0]: known[enough[0]]} if enough else known

    def _remainder(self, zero: Size) -> dict[Symbol, Size] | None:
        """What a symbol is if ``zero`` says that something linear in it leaves a certain remainder."""
        for atom, factor in ((atoms[0], f) for atoms, f in getattr(zero, "terms", ()) if len(atoms) == 1):
            if not (isinstance(atom, Atom) and atom.op == "//" and isinstance(atom.right, int)):
                continue
            left, k = atom.left, atom.right
            one, times = linear_in(left), -(factor // k)
            if one is not None and isinstance(zero - times * (left % k), int) and gcd(one[1], k) == 1:
                return {one[0]: self._with_remainder(one[0], k)}
        divisors = [atom.right for atom in quotients_of(zero)]  # of quotients of quotients: a divisor of their product
        whole = prod([d for d in divisors if isinstance(d, int)])
        for k in range(2, min(whole, _MOST_REMAINDERS) + 1) if len(divisors) > 1 else ():
            for s in symbols_of(zero) if whole % k == 0 else ():
                found = {s: self._with_remainder(s, k)}
                if not isinstance(substitute(zero, found), Dim):
                    return found
        return None

    def _with_remainder(self, s: Symbol, k: int) -> Size:
        """A symbol of which it is known what it leaves divided by a number: what its value in the call leaves."""
        rest = self.values[s.name] % k
        high = (s.high - rest) // k if isinstance(s.high, int) else None
        return k * symbol(f"{s.name}_{k}", -((rest - s.low) // k), high) + rest

    def replaced(self, found: Unified, shapes: Sequence[Shape]) -> Sizes:
        """The same with other sizes in the place of some symbols; `shapes` are those of the call."""
        new = [tuple([substitute(d, found.replaced) for d in shape]) for shape in self.shapes]
        made = Sizes(new, {})
        made.values = made.of(shapes) or {}
        made.narrowed = self.narrowed + found.narrows
        made.settled = self.settled | ({found.why: found.loc} if found.why else {})
        return made


def _have_values(size: Size, values: Mapping[str, int]) -> bool:
    return all(s.name in values for s in symbols_of(size))


def _exceeds(value: int, high: Size | None, values: Mapping[str, int]) -> bool:
    return high is not None and _have_values(high, values) and value > evaluate(high, values)


def _range(s: Symbol) -> str:
    return f"any size >= {s.low}" + ("" if s.high is None else f" and <= {s.high}")


def _narrower(relation: Relation) -> dict[Symbol, Size] | None:
    """The symbol with narrower bounds, where a relation says no more than that."""
    if relation.op == "==":
        zero = relation.left - relation.right
        one = linear_in(zero) or linear_in(-zero)
        if one is not None and one[0].low * one[1] + one[2] == 0:  # it is not the least number
            return {one[0]: symbol(one[0].name, one[0].low + 1, one[0].high)}
        return None
    least = relation.right - relation.left if relation.holds else relation.left - relation.right - 1
    if (one := linear_in(least)) is not None:
        s, factor, more = one
        return {s: _between(s, -(more // factor), s.high)}
    if (one := linear_in(-least)) is not None:
        s, factor, more = one
        return {s: _between(s, s.low, -more // factor)}
    return None


def _between(s: Symbol, low: int, high: Size | None) -> Size:
    return low if low == high else symbol(s.name, low, high)


# ------------------------------------------------------------------------------------------------ which sizes are open
def general(key: Key) -> Key:
    """The key of a call without its sizes: of each shape the number of dimensions."""
    return tuple([len(part) if type(part) is tuple and part and type(part[0]) is int else part for part in key])


def opened(
    seen: Sequence[Sequence[Shape]], everything: bool = False, described: Sequence[Sequence[Any] | None] | None = None
) -> Sizes:
    """The sizes for calls of these shapes, the last of which is compiled for: what differs is symbolic.

    Sizes that have been equal in all calls have one symbol.  `everything`: at the first call all are symbolic.  So is
    what is `described` as open, an int, None or a `Symbol` for each axis.
    """
    names: dict[Any, Size] = {}
    shapes: list[Shape] = []
    values: dict[str, int] = {}
    for i, shape in enumerate(seen[-1]):
        sizes: list[Size] = []
        said = None if described is None else described[i]
        for axis, size in enumerate(shape):
            found = tuple([call[i][axis] for call in seen])
            open_as = 0 if said is None else said[axis]
            known = isinstance(open_as, int) and (len(seen) > 1 or not everything)
            if known and all(n == size for n in found):
                sizes.append(size)
                continue
            one = (found, None if isinstance(open_as, int) else open_as)
            if one not in names:
                name = _name(len(names))
                names[one] = _symbol(name, one[1])
                values[name] = operator.index(size) // (1 if one[1] is None else one[1].divisor)
            sizes.append(names[one])
        shapes.append(tuple(sizes))
    return Sizes(shapes, values)


def _symbol(name: str, described: Any) -> Size:
    """The size of this name, as it is described."""
    if described is None:
        return symbol(name)
    k = described.divisor
    rest = described.remainder % k
    most = (described.max - rest) // k if described.max else None
    return k * symbol(name, max(0, -((rest - described.min) // k)), most) + rest


def _name(number: int) -> str:
    round_, letter = divmod(number, len(NAMES))
    return NAMES[letter] + (str(round_ + 1) if round_ else "")


def shapes_of(leaves: Iterable[Any]) -> list[Shape]:
    return [x._data.shape for x in leaves]
