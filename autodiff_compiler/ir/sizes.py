"""Sizes that only a call knows: integer polynomials over symbols, in a normal form, and what is known of their values.

A size is an `int` or a `Dim`.  Sums, differences and products of sizes are polynomials; quotients, maxima and minima
are atoms of these where they cannot be worked out.  Dims are interned: two that are equal as polynomials are the same
object, so ``a is b`` decides.  Whether ``a <= b`` for all values of the symbols is decided by intervals, or not at all.

A comparison that the symbols leave open is answered by the call that a function is compiled for, and becomes a guard
(see `deciding`); without such a call two sizes are not known to be equal, and an order or a number is a TypeError.
No call answers for a symbol of data, which an op of the program binds: what a rule needs of it is checked when the
program runs (`assumed`), and what would have to be known while compiling is refused.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import gcd, inf, prod
from typing import Any, ClassVar, NoReturn, Protocol, TypeAlias

from ..errors import DynamicShapeError


class Symbol:
    """A name for a size, with what is known of it: at least `low`, at most `high`.  Made by `symbol`.

    `of_data`: an op binds it when the program runs (`bind_size`), no argument tells it.
    """

    __slots__ = ("high", "low", "name", "of_data")
    name: str
    low: int
    high: Size | None
    of_data: bool

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _symbol, (self.name, self.low, self.high, self.of_data)


class Atom:
    """A function of two sizes that is no polynomial: ``left // right``, or ``max`` or ``min`` of them.

    Costs have one of a single size besides: ``bit_length`` of `left`, where `right` is 0.
    """

    __slots__ = ("left", "op", "right")
    op: str
    left: Size
    right: Size

    def __repr__(self) -> str:
        if self.op == "//":
            return f"{_factor(self.left)}//{_factor(self.right)}"
        if self.op == "bit_length":
            return f"bit_length({self.left})"
        return f"{self.op}({self.left},{self.right})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _atom, (self.op, self.left, self.right)


#: Atoms with their powers, as many times as the power says, in the order of their texts.
Monomial: TypeAlias = tuple[Symbol | Atom, ...]
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]


class Dim:
    """A size that only a call knows: the sum of `terms`, products of atoms with integer coefficients."""

    __slots__ = ("terms",)
    _interned: ClassVar[dict[Terms, Dim]] = {}
    terms: Terms

    def __repr__(self) -> str:
        text = ""
        for monomial, factor in self.terms:
            alone = len(monomial) == 1 and abs(factor) == 1
            product = repr(monomial[0]) if alone else "*".join(_in_product(a) for a in monomial)
            number = str(abs(factor)) if not monomial else f"{abs(factor)}*" if abs(factor) != 1 else ""
            text += ("-" if factor < 0 else "+" if text else "") + number + product
        return text

    def __add__(self, other: Size) -> Size:
        return _summed([*self.terms, *_terms(other)])

    def __sub__(self, other: Size) -> Size:
        return _summed([*self.terms, *((m, -k) for m, k in _terms(other))])

    def __mul__(self, other: Size) -> Size:
        return _product(self, other)

    def __neg__(self) -> Size:
        return _summed([(m, -k) for m, k in self.terms])

    def __rsub__(self, other: int) -> Size:
        return -self + other

    def __floordiv__(self, other: Size) -> Size:
        return _quotient(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return _quotient(other, self)

    def __mod__(self, other: Size) -> Size:
        return self - _quotient(self, other) * other

    def __rmod__(self, other: int) -> Size:
        return other - _quotient(other, self) * self

    def __pow__(self, exponent: int) -> Size:
        if not isinstance(exponent, int) or exponent < 0:
            return NotImplemented
        return prod([self] * exponent)

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, int | Dim):
            return NotImplemented
        difference = self - other
        if not isinstance(difference, Dim):
            return False
        low, high = bounds(difference)
        if low > 0 or high < 0 or depends_on_data(difference):
            return False
        deciding.open += 1
        return deciding.by is not None and deciding.by.are_equal(self, other)

    __hash__ = object.__hash__

    def __le__(self, other: Size) -> bool:
        known = is_at_most(self, other)
        return _decider("<=", self, other).is_at_most(self, other) if known is None else known

    def __ge__(self, other: Size) -> bool:
        known = is_at_most(other, self)
        return _decider(">=", self, other).is_at_most(other, self) if known is None else known

    def __lt__(self, other: Size) -> bool:
        return not self >= other

    def __gt__(self, other: Size) -> bool:
        return not self <= other

    def __index__(self) -> int:
        return number_of(self)

    def __bool__(self) -> bool:
        return self != 0

    def __reduce__(self) -> tuple[object, tuple[object]]:
        return _summed, (self.terms,)


Size: TypeAlias = int | Dim


class Decider(Protocol):
    """Answers questions about sizes that the symbols leave open."""

    def are_equal(self, a: Size, b: Size) -> bool: ...
    def is_at_most(self, a: Size, b: Size) -> bool: ...
    def number(self, size: Dim, instead: str) -> int:
        """What a size is, which must be known; `instead`: what would take any size, in words."""

    def shape_of(self, what: str, shape: tuple[Size, ...]) -> tuple[Size, ...]:
        """The shape of a Tensor that is no argument, `what` users call it: as it is, or in symbols."""

    def settle(self, error: Exception) -> None:
        """Makes all sizes known: the message of an error has them, or there is none where they are known."""


class _Deciding(threading.local):
    """Who answers such questions in this thread: the compilation of a function for a call."""

    by: Decider | None = None
    #: how many questions the symbols have left open: what depends on none of them may be remembered
    open: int = 0
    #: whether a condition in the user's code is left to run time, as the test of a `while` is, rather than answered
    later: bool = False


deciding = _Deciding()


@contextmanager
def left_to_run_time() -> Iterator[None]:
    """Meanwhile conditions in the user's code are not answered by the call that is compiled for."""
    before, deciding.later = deciding.later, True
    try:
        yield
    finally:
        deciding.later = before


def _decider(op: str, *sizes: Any) -> Decider:
    if any(map(depends_on_data, sizes)):
        refuse_unknown(op, *sizes)
    deciding.open += 1
    if deciding.by is None:
        what = f"int({sizes[0]})" if op == "int" else f"{sizes[0]} {op} {sizes[1]}"
        raise OpenSizeError(f"what {what} is depends on the call")
    return deciding.by


def number_of(size: Size, instead: str = "") -> int:
    """What a size is, which must be known; `instead`: what would take any size, in words."""
    return size if isinstance(size, int) else _decider("int", size).number(size, instead)


@contextmanager
def answering(by: Decider | None) -> Iterator[None]:
    """Meanwhile questions about sizes are answered by a call, or by nobody: code is written for all sizes."""
    before, deciding.by = deciding.by, by
    try:
        yield
    finally:
        deciding.by = before


class OpenSizeError(TypeError):
    """What was asked of sizes depends on the call, and nobody answers for one."""


#: What a size is taken to be where code for all sizes is chosen by what is fast.
_USUAL = 64


_RELATIONS = {"<=": "at most", ">=": "at least", "==": "equal to"}


def refuse_unknown(op: str, *sizes: Size) -> NoReturn:
    """Raises for what data decide, where it has to be known while compiling: "int", or a relation of two sizes."""
    first, *others = (_described(size) for size in sizes)
    what = f"{first} depends" if op == "int" else f"whether {first} is {_RELATIONS[op]} {others[0]} depends"
    raise DynamicShapeError(
        f"{what} on data, but has to be known while compiling",
        hint="keep a size that is known (`ops.where`, `masked_fill`), or let the condition be one at run time",
    )


def _described(size: Size) -> str:
    """A size in the user's words: by the texts that its symbols of data are from."""
    texts = [text for s in symbols_of(size) if s.of_data and (text := _text_of(s))] if isinstance(size, Dim) else []
    if not texts:
        return str(size)
    return f"the size of {texts[0]}" if symbol_of(size) is not None else f"a size made of that of {' and '.join(texts)}"


def _no_text(symbol: Symbol) -> str | None:
    return None


_text_of: Callable[[Symbol], str | None] = _no_text


class _Assuming(threading.local):
    """Who notes what is taken for granted of sizes of data in this thread, and how often that was."""

    times = 0


assuming = _Assuming()
_check: Callable[[Size, str, Size], None] | None = None


def set_program(check: Callable[[Size, str, Size], None], text_of: Callable[[Symbol], str | None]) -> None:
    """Installs what the program that is being built does for sizes of data: makes checks of relations, knows texts."""
    global _check, _text_of
    _check, _text_of = check, text_of


def assumed(a: Size, op: str, b: Size) -> bool:
    """True: that a size of data is equal to another, or at most that, is checked when the program runs."""
    assuming.times += 1
    if _check is not None:
        _check(a, op, b)
    return True


#: Sums of so many products are no sizes of arrays.
_MOST_TERMS = 1000
#: The least and the largest value; infinite where nothing is known.
Interval: TypeAlias = tuple[float, float]


def symbol(name: str, low: int = 0, high: Size | None = None, of_data: bool = False) -> Dim:
    """The size of this name: any number from `low` on, up to `high` if that is given."""
    return size_of(_symbol(name, low, high, of_data))


_fresh_numbers = itertools.count(1)


def fresh(low: int = 0, high: Size | None = None) -> Dim:
    """A size of data, of a name of its own; `high` stands for itself where it is no more than a number."""
    return symbol(f"d{next(_fresh_numbers)}", low, high, of_data=True)


def depends_on_data(size: Size) -> bool:
    """Whether a symbol of data is in a size."""
    return isinstance(size, Dim) and any(s.of_data for s in symbols_of(size))


def largest(a: Size, b: Size) -> Size:
    """The larger of two sizes."""
    return b if is_at_most(a, b) else a if is_at_most(b, a) else _chosen("max", a, b)


def smallest(a: Size, b: Size) -> Size:
    """The smaller of two sizes."""
    return a if is_at_most(a, b) else b if is_at_most(b, a) else _chosen("min", a, b)


def largest_of(sizes: Iterable[Size]) -> Size:
    """The largest of several sizes, 0 if there are none; those that another one is never below are left out."""
    kept: list[Size] = []
    for size in sizes:
        if not any(is_at_most(size, other) for other in kept):
            kept = [*(other for other in kept if not is_at_most(other, size)), size]
    return functools.reduce(largest, kept) if kept else 0


def bit_length(size: Size) -> Size:
    """How many binary digits a size has; one less than 0 has those of its distance from it."""
    if isinstance(size, int):
        return size.bit_length()
    return _dim((((_atom("bit_length", size, 0),), 1),))


def is_at_most(a: Size, b: Size) -> bool | None:
    """Whether a <= b for all values of the symbols; None where that differs or is not seen."""
    low, high = bounds(b - a)
    return True if low >= 0 else False if high < 0 else None


def may_be_at_most(a: Size, b: Size) -> bool:
    """Whether a <= b for some values of the symbols, as far as is seen, or for those of the call that is compiled for:
    what a type rule asks."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    known = is_at_most(a, b)
    if known is None:
        if depends_on_data(b - a):
            return assumed(a, "<=", b)
        deciding.open += 1
        return deciding.by is None or deciding.by.is_at_most(a, b)
    return known


def may_be_equal(a: Size, b: Size) -> bool:
    """Whether a == b for some values of the symbols of data, which is checked when the program runs."""
    difference = a - b
    if not depends_on_data(difference):
        return False
    low, high = bounds(difference)
    return low <= 0 <= high and assumed(a, "==", b)


def count_of(start: Size, stop: Size, step: Size) -> Size:
    """How many numbers ``range(start, stop, step)`` has."""
    span = stop - start if step > 0 else start - stop
    return largest(0, (span + abs(int(step)) - 1) // abs(int(step)))


def symbols_of(size: Size) -> Iterator[Symbol]:
    """The symbols in a size, each as often as it stands there."""
    for monomial, _ in _terms(size):
        for atom in monomial:
            if isinstance(atom, Symbol):
                yield atom
            else:
                yield from symbols_of(atom.left)
                yield from symbols_of(atom.right)


def bounded_by_numbers(size: Size) -> Iterator[Atom]:
    """The maxima and minima of a number and something else among the terms of a size."""
    for atom in (a for monomial, _ in _terms(size) for a in monomial):
        if (
            isinstance(atom, Atom)
            and atom.op in ("max", "min")
            and isinstance(atom.left, int) is not isinstance(atom.right, int)
        ):
            yield atom


def quotients_of(size: Size) -> Iterator[Atom]:
    """The quotients by a number among the factors of a size."""
    for atom in (a for monomial, _ in _terms(size) for a in monomial):
        if isinstance(atom, Atom) and atom.op == "//" and isinstance(atom.right, int):
            yield atom


def symbol_of(size: Size) -> Symbol | None:
    """The symbol that a size is, if it is nothing else."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        ((atoms, factor),) = size.terms
        if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], Symbol):
            return atoms[0]
    return None


def size_of(s: Symbol) -> Dim:
    """The size that a symbol is."""
    return _dim((((s,), 1),))


def linear_in(size: Size) -> tuple[Symbol, int, int] | None:
    """The symbol, the factor and the number of a size ``factor * symbol + number``; None for all others."""
    terms = _terms(size)
    more = terms[-1][1] if terms and not terms[-1][0] else 0
    if len(terms) == (2 if more else 1):
        atoms, factor = terms[0]
        if len(atoms) == 1 and isinstance(atoms[0], Symbol) and factor > 0:
            return atoms[0], factor, more
    return None


def substitute(size: Size, by: Mapping[Symbol, Size]) -> Size:
    """A size with others in the place of symbols."""
    found: Size = 0
    for monomial, factor in _terms(size):
        product: Size = factor
        for atom in monomial:
            product = product * (by.get(atom, size_of(atom)) if isinstance(atom, Symbol) else _within(atom, by))
        found = found + product
    return found


def _within(atom: Atom, by: Mapping[Symbol, Size]) -> Size:
    left, right = substitute(atom.left, by), substitute(atom.right, by)
    if atom.op == "bit_length":
        return bit_length(left)
    return left // right if atom.op == "//" else largest(left, right) if atom.op == "max" else smallest(left, right)


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """The number that a size is when its symbols have these values."""
    numbers = [
        factor * prod(values[a.name] if isinstance(a, Symbol) else _evaluate(a, values) for a in monomial)
        for monomial, factor in _terms(size)
    ]
    return sum(numbers)


def _evaluate(atom: Atom, values: Mapping[str, int]) -> int:
    left, right = evaluate(atom.left, values), evaluate(atom.right, values)
    if atom.op == "bit_length":
        return left.bit_length()
    return left // right if atom.op == "//" else max(left, right) if atom.op == "max" else min(left, right)


def usual(size: Size) -> int:
    """What a size usually is, for choices that change how fast a program is, and not what it computes."""
    if isinstance(size, int):
        return size
    symbols = dict.fromkeys(symbols_of(size))
    return max(0, evaluate(size, {s.name: _usual_symbol(s) for s in symbols}))


def _usual_symbol(s: Symbol) -> int:
    return max(s.low, _USUAL if s.high is None else min(_USUAL, usual(s.high)))


# ------------------------------------------------------------------------------------------------ the normal form
def _terms(size: Size) -> Terms:
    return size.terms if isinstance(size, Dim) else (((), size),) if size else ()


def _summed(terms: Iterable[tuple[Monomial, int]]) -> Size:
    """The size with these terms, of which several may be of one monomial."""
    factors: Counter[Monomial] = Counter()
    for monomial, factor in terms:
        factors[monomial] += factor
    kept = tuple(sorted(((m, k) for m, k in factors.items() if k), key=_order))
    if not kept:
        return 0
    return kept[0][1] if not kept[0][0] else _dim(kept)


def _order(term: tuple[Monomial, int]) -> tuple[int, str]:
    """High powers stand in front, the number at the end."""
    return -len(term[0]), repr(term[0])


def _dim(terms: Terms) -> Dim:
    found = Dim._interned.get(terms)
    if found is None:
        found = object.__new__(Dim)
        found.terms = terms
        found = Dim._interned.setdefault(terms, found)
    return found


def _product(a: Size, b: Size) -> Size:
    left, right = _terms(a), _terms(b)
    if len(left) * len(right) > _MOST_TERMS:
        raise ValueError(f"a size is a sum of more than {_MOST_TERMS} products")
    return _summed([(tuple(sorted(m + n, key=repr)), j * k) for m, j in left for n, k in right])


def _quotient(a: Size, b: Size) -> Size:
    """a // b, rounded down; a divisor that is a Dim is taken to be at least 1, which whoever divides has to check."""
    if isinstance(b, int):
        return _by_number(a, b) if b > 0 else _by_number(-a, -b)
    exact = _exact(a, b)
    if exact is not None:
        return exact
    low, high = bounds(a)
    if low >= 0 and high < bounds(b)[0]:
        return 0
    return _chosen("//", a, b)


def _by_number(a: Size, n: int) -> Size:
    """a // n: what n divides stands outside, and the rest is as small as it can be."""
    if n == 0:
        raise ZeroDivisionError("a size is divided by 0")
    whole = _summed([(m, k // n) for m, k in _terms(a)])
    rest = _summed([(m, k % n) for m, k in _terms(a)])
    common = gcd(n, *(k for m, k in _terms(rest) if m))
    if common > 1:
        rest, n = _summed([(m, k // common) for m, k in _terms(rest)]), n // common
    low, high = bounds(rest)
    if low >= 0 and high < n:
        return whole
    inner = rest.terms[0][0] if isinstance(rest, Dim) and len(rest.terms) == 1 and rest.terms[0][1] == 1 else ()
    if len(inner) == 1 and isinstance(inner[0], Atom) and inner[0].op == "//" and isinstance(inner[0].right, int):
        return whole + _by_number(inner[0].left, inner[0].right * n)
    return whole + _chosen("//", rest, n)


def _exact(a: Size, b: Dim) -> Size | None:
    """The polynomial q with q * b = a, if there is one that long division finds."""
    quotient: Size = 0
    leading, factor = b.terms[0]
    for _ in range(len(_terms(a)) + 1):
        if not isinstance(a, Dim):
            return quotient if a == 0 else None
        monomial, number = a.terms[0]
        left = Counter(monomial)
        left.subtract(leading)
        if number % factor or min(left.values()) < 0:
            return None
        part = _summed([(tuple(sorted(left.elements(), key=repr)), number // factor)])
        quotient, a = quotient + part, a - part * b
    return None


_SYMBOLS: dict[tuple[str, int, Size | None, bool], Symbol] = {}
_ATOMS: dict[tuple[str, Size, Size], Atom] = {}


def _symbol(name: str, low: int, high: Size | None, of_data: bool = False) -> Symbol:
    key = (name, low, high, of_data)
    found = _SYMBOLS.get(key)
    if found is None:
        found = Symbol()
        found.name, found.low, found.high, found.of_data = key
        found = _SYMBOLS.setdefault(key, found)
    return found


def _atom(op: str, left: Size, right: Size) -> Atom:
    found = _ATOMS.get((op, left, right))
    if found is None:
        found = Atom()
        found.op, found.left, found.right = op, left, right
        found = _ATOMS.setdefault((op, left, right), found)
    return found


def _chosen(op: str, left: Size, right: Size) -> Size:
    if op != "//" and repr(right) < repr(left):
        left, right = right, left  # which of them comes first makes no difference
    return _dim((((_atom(op, left, right),), 1),))


# ------------------------------------------------------------------------------------------------ what values may be
#: A size of which a type says nothing, not even which other sizes are equal to it; `with_sizes` says more.
ERASED = symbol("?", of_data=True)
ERASED_SYMBOL = _symbol("?", 0, None, of_data=True)


@functools.lru_cache(maxsize=4096)
def bounds(size: Size, depth: int = 4) -> Interval:
    """The least and the largest value that a size may have, as far as intervals tell.

    An atom is related to others: ``n // k`` is at least (n - k + 1) / k and at most n / k, a symbol is at most its
    `high`, a maximum at least either operand.  Each is put in its place in turn, `depth` of them one after the other.
    """
    low = high = 0.0
    for monomial, factor in _terms(size):
        product: Interval = factor, factor
        for atom in monomial:
            product = _times(product, _interval(atom, depth))
        low, high = low + product[0], high + product[1]
    if depth and isinstance(size, Dim):
        for monomial, factor in size.terms:
            if len(monomial) == 1 and (len(size.terms) > 1 or factor != 1):
                rest = size - _summed([(monomial, factor)])
                for least, most in _related(monomial[0], factor, rest, depth - 1):
                    low, high = max(low, least), min(high, most)
    return low, high


def _related(atom: Symbol | Atom, factor: int, rest: Size, depth: int) -> Iterator[Interval]:
    """Bounds of ``rest + factor * atom`` by what the atom is related to."""
    if isinstance(atom, Symbol):
        if isinstance(atom.high, Dim):
            yield _half(rest + factor * atom.high, factor > 0, depth)
    elif atom.op in ("max", "min"):
        for operand in (atom.left, atom.right):
            yield _half(rest + factor * operand, (factor > 0) == (atom.op == "min"), depth)
    elif atom.op == "//" and isinstance(atom.right, int):
        n = atom.right  # n * (left // n) = left - t, with t from 0 to n - 1
        low, high = bounds(n * rest + factor * atom.left, depth)
        slack = -factor * (n - 1)
        yield -(-(low + min(slack, 0)) // n), (high + max(slack, 0)) // n


def _half(size: Size, upper: bool, depth: int) -> Interval:
    """Of the bounds of a size that is at least or at most the one in question, that which holds of it."""
    low, high = bounds(size, depth)
    return (-inf, high) if upper else (low, inf)


def _interval(atom: Symbol | Atom, depth: int) -> Interval:
    if isinstance(atom, Symbol):
        high = atom.high
        return atom.low, inf if high is None else bounds(high, max(depth - 1, 0))[1]
    (a, b), (c, d) = bounds(atom.left, max(depth - 1, 0)), bounds(atom.right, max(depth - 1, 0))
    if atom.op == "//":
        ends = [x // y if abs(x) != inf else x for x in (a, b) for y in (max(c, 1), d)]
        return min(ends), max(ends)
    if atom.op == "bit_length":
        most = max(abs(a), abs(b))
        return 0, inf if most == inf else int(most).bit_length()
    choose = max if atom.op == "max" else min
    return choose(a, c), choose(b, d)


def _times(x: Interval, y: Interval) -> Interval:
    ends = [a * b if a and b else 0 for a in x for b in y]
    return min(ends), max(ends)


# ------------------------------------------------------------------------------------------------ text
def _factor(size: Size) -> str:
    """A size as an operand of ``//``."""
    if isinstance(size, Dim) and (len(size.terms) > 1 or len(size.terms[0][0]) > 1 or size.terms[0][1] != 1):
        return f"({size})"
    return str(size) if isinstance(size, int) else _in_product(size.terms[0][0][0])


def _in_product(atom: Symbol | Atom) -> str:
    text = repr(atom)
    return f"({text})" if isinstance(atom, Atom) and atom.op == "//" else text
