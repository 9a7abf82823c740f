"""Sizes that only a call knows as LLVM code: integers of 64 bits, computed from the values of their symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableSet
from math import prod

from ....ir.sizes import Atom, Dim, Size, Symbol, bounds

_SMAX, _SMIN = (f"declare i64 @llvm.s{op}.i64(i64, i64)" for op in ("max", "min"))

#: The largest number of 64 bits with a sign, and the bounds of symbols that are tried.
LARGEST = (1 << 63) - 1
_POWERS = (LARGEST, *(1 << bits for bits in range(62, -1, -1)))


class SizeCode:
    """Writes sizes: `let` writes an instruction and returns its register, `symbol` gives that of a symbol."""

    def __init__(self, let: Callable[[str], str], symbol: Callable[[Symbol], str], declares: MutableSet[str]) -> None:
        self._let, self._symbol, self._declares = let, symbol, declares
        self._known: dict[Dim, str] = {}

    def of(self, size: Size) -> str:
        """The register or constant with a size; each is computed once."""
        if isinstance(size, int):
            return str(size)
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._sum(size)
        return found

    def _sum(self, size: Dim) -> str:
        total = "0"
        for atoms, factor in size.terms:
            product = str(factor)
            for atom in atoms:
                value = self._symbol(atom) if isinstance(atom, Symbol) else self._atom(atom)
                product = value if product == "1" else self._let(f"mul i64 {product}, {value}")
            total = product if total == "0" else self._let(f"add i64 {total}, {product}")
        return total

    def _atom(self, atom: Atom) -> str:
        left, right = self.of(atom.left), self.of(atom.right)
        if atom.op != "//":
            self._declares.add(_SMAX if atom.op == "max" else _SMIN)
            return self._let(f"call i64 @llvm.s{atom.op}.i64(i64 {left}, i64 {right})")
        if isinstance(atom.right, int) and atom.right.bit_count() == 1:
            return self._let(f"ashr i64 {left}, {atom.right.bit_length() - 1}")
        if not isinstance(atom.right, int):  # whoever divides has checked that it is not 0, but perhaps not yet
            self._declares.add(_SMAX)
            right = self._let(f"call i64 @llvm.smax.i64(i64 {right}, i64 1)")
        quotient = self._let(f"sdiv i64 {left}, {right}")
        if bounds(atom.left)[0] >= 0:
            return quotient
        rest = self._let(f"srem i64 {left}, {right}")
        below = self._let(f"icmp slt i64 {rest}, 0")
        return self._let(f"add i64 {quotient}, {self._let(f'sext i1 {below} to i64')}")


def most_without_overflow(sizes: Iterable[Size]) -> int:
    """What symbols may be at most, so that none of these sizes overflows 64 bits on the way to its value.

    -1: it overflows whatever they are.
    """
    checked = list(dict.fromkeys(sizes))
    return next((m for m in _POWERS if all(_magnitude(size, m) <= LARGEST for size in checked)), -1)


def _magnitude(size: Size, symbol: int) -> int:
    """What a size and its parts are at most, up to their sign, where no symbol is larger than `symbol`."""
    if isinstance(size, int):
        return abs(size)
    return sum(
        abs(factor) * prod([symbol if isinstance(a, Symbol) else _atom_magnitude(a, symbol) for a in atoms])
        for atoms, factor in size.terms
    )


def _atom_magnitude(atom: Atom, symbol: int) -> int:
    return max(1, _magnitude(atom.left, symbol), _magnitude(atom.right, symbol))


def estimate(size: Size, let: Callable[[str], str], values: Mapping[Symbol, str]) -> str:
    """A size as a double, which does not overflow: about the size, where that has more than 53 bits.

    `values`: doubles.
    """
    if isinstance(size, int):
        return f"{float(size):.1f}"
    total = "0.0"
    for atoms, factor in size.terms:
        product = f"{float(factor):.1f}"
        for atom in atoms:
            product = let(f"fmul double {product}, {_estimated(atom, let, values)}")
        total = let(f"fadd double {total}, {product}")
    return total


def _estimated(atom: Symbol | Atom, let: Callable[[str], str], values: Mapping[Symbol, str]) -> str:
    if isinstance(atom, Symbol):
        return values[atom]
    left, right = (estimate(x, let, values) for x in (atom.left, atom.right))
    if atom.op == "//":
        some = let(f"fcmp olt double {right}, 1.0")
        return let(f"fdiv double {left}, {let(f'select i1 {some}, double 1.0, double {right}')}")
    first = let(f"fcmp o{'gt' if atom.op == 'max' else 'lt'} double {left}, {right}")
    return let(f"select i1 {first}, double {left}, double {right}")
