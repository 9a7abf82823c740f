"""Piecewise polynomials, whose coefficients are looked up: the shortest dependency chain.

For scalar code, which waits for the result.  Vectors would have to gather the coefficients of every lane.
"""

from __future__ import annotations

from typing import NamedTuple

from ..emit import Reg, pointer
from ..vectors import Vectors


class Pieces(NamedTuple):
    """A function from `low` on: every octave is cut into 2**bits pieces of the same length."""

    low: float
    bits: int
    #: numbers of a piece
    length: int
    #: piece by piece: the value in the middle, then the polynomial of the rest in the distance from the middle, the
    #: lowest power first
    numbers: tuple[float, ...]


def in_pieces(v: Vectors, name: str, x: Reg, pieces: Pieces) -> Reg:
    """The function at abs(x), a scalar; outside the pieces and of NaN the result is arbitrary."""
    text, size = v.text, v.bits // 8
    # The exponent and the first bits of the fraction index the piece, modulo a power of two: no bounds to check.
    shift, rows = v.fraction - pieces.bits, _rows(pieces)
    text.needs[name] = _table(name, v, pieces, (v.pattern(pieces.low) >> shift) % rows)
    pattern = v.bits_of(x)
    number = v.iop("and", v.iop("lshr", pattern, shift), rows - 1)
    index = text.let("i64", f"zext {number} to i64") if v.single else number
    row = text.at(pointer(f"@{name}"), text.mul(index, pieces.length * size))
    places = [text.at(row, k * size) for k in range(pieces.length)]
    value, *terms = (text.let(v.type, f"load {v.type}, ptr {place.text}, align {size}") for place in places)
    # the middle of a piece has the next bit set, and zeros behind it
    a = v.abs(x)
    middle = v.of_bits(v.iop("or", v.iop("and", v.bits_of(a), -(1 << shift)), 1 << (shift - 1)))
    return v.add(value, v.estrin(v.sub(a, middle), terms[::-1]))


def _rows(pieces: Pieces) -> int:
    return 1 << (len(pieces.numbers) // pieces.length - 1).bit_length()


def _table(name: str, v: Vectors, pieces: Pieces, first: int) -> str:
    """The table, rotated so that the first piece lies in row `first`."""
    size = _rows(pieces) * pieces.length
    numbers = [*pieces.numbers, *[0.0] * (size - len(pieces.numbers))]
    turned = size - first * pieces.length
    text = ", ".join(str(v.number(x)) for x in [*numbers[turned:], *numbers[:turned]])
    return f"@{name} = internal unnamed_addr constant [{size} x {v.type}] [{text}]"
