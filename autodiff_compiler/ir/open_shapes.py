"""Shapes of arrays with sizes that only a call knows: where a call says what each symbol is, and what must hold."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .sizes import Atom, Dim, Size, Symbol, evaluate, linear_in


class Definition(NamedTuple):
    """Where a call says what a symbol is: axis `axis` of shape `number` has ``factor * symbol + more`` elements."""

    number: int
    axis: int
    factor: int
    more: int


def definitions(shapes: Iterable[Sequence[Size]]) -> dict[Symbol, Definition]:
    """Where each symbol of some shapes is defined: at the first size that is linear in it and in nothing else."""
    found: dict[Symbol, Definition] = {}
    for number, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            one = linear_in(size) if isinstance(size, Dim) else None
            if one is not None:
                found.setdefault(one[0], Definition(number, axis, *one[1:]))
    return found


class OpenShapes:
    """The shapes of several arrays, with sizes that only a call knows, and where these are defined."""

    def __init__(self, shapes: Iterable[Sequence[Size]]) -> None:
        self.shapes = [tuple(shape) for shape in shapes]
        self.definitions = definitions(self.shapes)
        places = [(i, axis, size) for i, shape in enumerate(self.shapes) for axis, size in enumerate(shape)]
        self._numbers = [(i, axis, size) for i, axis, size in places if not isinstance(size, Dim)]
        self.formulas = [(i, axis, size) for i, axis, size in places if isinstance(size, Dim)]

    def values(self, shapes: Sequence[Sequence[Any]]) -> dict[str, int] | None:
        """The values of the symbols where arrays have these shapes, of as many axes; None if they cannot be those."""
        for i, axis, size in self._numbers:
            if shapes[i][axis] != size:
                return None
        values: dict[str, int] = {}
        for s, (i, axis, factor, more) in self.definitions.items():
            values[s.name], rest = divmod(operator.index(shapes[i][axis]) - more, factor)
            if rest or values[s.name] < s.low or (s.high is not None and values[s.name] > evaluate(s.high, values)):
                return None
        for i, axis, formula in self.formulas:
            if evaluate(formula, values) != shapes[i][axis]:
                return None
        return values


class Relation(NamedTuple):
    """What a compilation took for granted of two sizes: whether they are equal, or whether one is at most the other."""

    left: Size
    op: str
    right: Size
    holds: bool

    def is_so(self, values: Mapping[str, int]) -> bool:
        left, right = evaluate(self.left, values), evaluate(self.right, values)
        return ((left == right) if self.op == "==" else (left <= right)) is self.holds

    def __str__(self) -> str:
        op = self.op if self.holds else {"==": "!=", "<=": ">"}[self.op]
        return f"{said(self.left)} {op} {said(self.right)}"


def said(size: Size) -> str:
    """A size as users write it: what is left of a division is a remainder."""
    terms = size.terms if isinstance(size, Dim) else ()
    for atoms, factor in terms:
        atom = atoms[0] if len(atoms) == 1 else None
        if isinstance(atom, Atom) and atom.op == "//" and atom.right == -factor and size is atom.left % atom.right:
            sums = isinstance(atom.left, Dim) and len(atom.left.terms) > 1
            return f"({atom.left}) % {atom.right}" if sums else f"{atom.left} % {atom.right}"
    return str(size)
