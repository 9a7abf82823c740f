"""Where two sizes come from that had to be equal and are not: a note of a `ShapeError`.

A function that cannot be compiled is lowered once more, with a symbol for each size of each argument, Parameter and
captured Tensor.  The rule that refuses its operands then refuses the symbols.  Nothing of that is run or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..errors import ShapeError
from ..ir.sizes import Dim, Size, answering, evaluate, symbol, symbol_of, symbols_of
from ..ir.types import Shape
from .call_sizes import NAMES

#: How many sizes of what is no argument are symbols.
_OPEN = 2


class Origins:
    """A symbol for each size, with where it is from; as a `Decider` it answers by what the sizes are."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self._places: dict[str, tuple[str, int]] = {}

    def shape_of(self, what: str, shape: Shape) -> Shape:
        """The shape of a Tensor that users call `what`, in symbols; the windows of filters must be known."""
        return tuple([self._named(what, axis, size) for axis, size in enumerate(shape[:_OPEN])]) + shape[_OPEN:]

    def argument(self, what: str, shape: Shape) -> Shape:
        """The same of an argument, all of whose sizes may be symbols."""
        return tuple([self._named(what, axis, size) for axis, size in enumerate(shape)])

    def _named(self, what: str, axis: int, size: Size) -> Size:
        name = f"size{len(self.values)}_"  # of which none is the beginning of another one
        self.values[name], self._places[name] = int(size), (what, axis)
        return symbol(name)

    def are_equal(self, a: Size, b: Size) -> bool:
        return evaluate(a, self.values) == evaluate(b, self.values)

    def is_at_most(self, a: Size, b: Size) -> bool:
        return evaluate(a, self.values) <= evaluate(b, self.values)

    def number(self, size: Dim, instead: str) -> int:
        return evaluate(size, self.values)

    def settle(self, error: Exception) -> None:
        """Sizes stay symbols."""

    def note(self, sizes: Iterable[Size], told: Sequence[str]) -> str:
        """What is said of sizes in conflict; empty if it stands in the notes `told` already, or nothing is known."""
        open_sizes = [size for size in dict.fromkeys(sizes) if isinstance(size, Dim)]
        places = [self._places.get(s.name, ("", 0)) for size in open_sizes for s in symbols_of(size)]
        if ("", 0) in places or all(any(f"{what} is a" in note for note in told) for what, _ in places):
            return ""
        symbols = [symbol_of(size) for size in open_sizes]
        if all(symbols) and len(symbols) == 2:
            (m, a), (n, b) = map(self._placed, symbols)
            return f"{m} is the size of {a}, {n} that of {b}"
        return "; ".join(map(self._described, open_sizes))

    def _described(self, size: Dim) -> str:
        one, number, text = symbol_of(size), evaluate(size, self.values), str(size)
        if one is not None:
            return f"{number} is the size of {self._placed(one)[1]}"
        symbols = list(dict.fromkeys(symbols_of(size)))
        if len(symbols) > len(NAMES):
            return f"{number} depends on {len(symbols)} sizes"
        for s, letter in zip(symbols, NAMES, strict=False):
            text = text.replace(s.name, letter)
        places = [
            (letter, self.values[s.name], *self._places[s.name]) for s, letter in zip(symbols, NAMES, strict=False)
        ]
        where = ", ".join([f"{letter} = {value} ({what}, axis {axis})" for letter, value, what, axis in places])
        return f"{number} is {text}, where {where}"

    def _placed(self, s: Any) -> tuple[int, str]:
        """The value of a symbol, and where it is from."""
        what, axis = self._places[s.name]
        return self.values[s.name], f"{what} along axis {axis}"


def note_origins(error: ShapeError, origins: Origins, lower: Callable[[], Any]) -> None:
    """Adds to an error where the sizes in conflict come from, if lowering with symbols meets the same conflict."""
    if error.between is None:
        return
    try:
        with answering(origins):
            lower()
    except ShapeError as again:
        if again.between is not None and again.loc == error.loc:
            note = origins.note(_conflict(again.between, origins.values), error.notes)
            error.notes += (note,) if note else ()
    except Exception:  # whatever code that knows no symbolic sizes raises: there is no more to tell
        return


def _conflict(between: tuple[Any, Any], values: dict[str, int]) -> Iterator[Size]:
    """The two sizes that differ: those given, or the last ones of two shapes; 1 of two shapes may stretch."""
    a, b = between
    if not isinstance(a, tuple):
        yield from between
        return
    pairs = [(m, n) for m, n in zip(a, b, strict=False) if evaluate(m, values) != evaluate(n, values)]
    if len(a) == len(b) and pairs:
        yield from pairs[0]
