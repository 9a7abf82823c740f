"""Names (`%d_y`) and source lines of cotangents: a listener of the reverse sweep.

A cotangent is a sum over the uses of a value, so it gets the lines of these uses.  Nothing that the sweep computes
depends on this module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager

from ..ir.core import Block, Op, Value
from ..ir.walk import ops_of
from ..source import Loc

_ORDER = re.compile(r"d(\d*)_")
_Line = tuple[str, int]


def hint(x: Value, order: int = 1) -> str | None:
    """The name under which the cotangent of `x` is printed in a derivative of this order."""
    name = x.name or x.number
    return None if name is None else f"d_{name}" if order == 1 else f"d{order}_{name}"


def order_of(block: Block) -> int:
    """The order of a derivative of a block: one more than the derivatives that it holds, by the names in them."""
    found = 0
    for op in ops_of(block):
        if op.loc is not None and op.loc.tag == "adjoint":
            for x in op.results:
                named = _ORDER.match(x.name) if x.name else None
                if named is not None:
                    found = max(found, int(named[1] or 1))
    return found + 1


class Provenance:
    """Listens to one reverse sweep, nested blocks included.  `order` is 1 for a derivative, 2 for one of that, ..."""

    def __init__(self, active: Container[Value], order: int = 1) -> None:
        self.active, self.order = active, order
        #: parts of cotangents, and the names of the wholes
        self.parts: list[tuple[Value, str]] = []
        #: where the blocks of the op at hand use what they give a cotangent to
        self.inside: dict[Value, Loc] = {}
        #: of values used on several lines: the lines that use them without a cotangent, and with one
        self._deciding: dict[Value, set[_Line]] = {}
        self._giving: dict[Value, set[_Line]] = {}

    def hint(self, x: Value) -> str | None:
        """The name of the cotangent of `x`."""
        return hint(x, self.order)

    def part(self, x: Value, g: Value) -> None:
        """`g` is a part of the cotangent of `x`."""
        name = self.hint(x)
        if name is not None:
            self.parts.append((g, name))

    def finish(self) -> None:
        """Names the partial sums that are no complete cotangent, once all of these are known."""
        numbers: Counter[str] = Counter()
        for g, name in self.parts:
            if g.name is None and _of_derivative(g):
                numbers[name] += 1
                g.name = f"{name}_part{numbers[name]}"

    # ------------------------------------------------------------------------------------------------------- places
    def passed(self, op: Op) -> None:
        """The sweep has come to an op whose results have no cotangent."""
        if op.loc is not None:
            self._note_lines(op, _of_program(op.loc), set(), gives=False)

    def place_of(self, op: Op) -> Loc | None:
        """Where the adjoint of an op stands: on the op's lines, without those that use its results undifferentiated."""
        if op.loc is None:
            return None
        loc, out = _of_program(op.loc), set[_Line]()
        if loc.also:
            none: set[_Line] = set()
            out = {line for r in op.results for line in self._deciding.get(r, none) - self._giving.get(r, none)}
            left = [place for place in loc.places if place[:2] not in out]
            if left and len(left) < len(loc.places):
                loc = left[0]._replace(also=tuple(left[1:]))
            else:
                out = set()
        self._note_lines(op, loc, out, gives=True)
        return loc.tagged("adjoint")

    def _note_lines(self, op: Op, loc: Loc, out: set[_Line], gives: bool) -> None:
        """Notes for the operands, which come later in the sweep, which lines use them, and whether for a cotangent."""
        for x in op.operands:
            if x in self.active and x.op is not None and x.op.loc is not None and x.op.loc.also:
                lines = {place[:2] for place in loc.places}
                if not gives:
                    self._deciding.setdefault(x, set()).update(lines)
                elif not op.blocks:  # what is used inside is noted there
                    self._giving.setdefault(x, set()).update(lines)
                    self._deciding.setdefault(x, set()).update(out)

    @contextmanager
    def blocks_of_op(self) -> Iterator[dict[Value, Loc]]:
        """Around the rule of an op that owns blocks; gives where in them the values are used that get a cotangent."""
        around, self.inside = self.inside, {}
        try:
            yield self.inside
        finally:
            self.inside = around


class Uses:
    """Listens to the cotangents of one block: the parts of each, and the places of the uses that they come from."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance
        self._parts: dict[Value, list[tuple[Value, Loc | None]]] = {}

    def add(self, x: Value, g: Value, place: Loc | None) -> None:
        """The use of `x` at a place gives it the part `g` of its cotangent."""
        self._parts.setdefault(x, []).append((g, place))

    def whole(self, x: Value, g: Value) -> None:
        """The cotangent of `x` is complete."""
        name = self._provenance.hint(x)
        if name is None:
            return
        if g.name is None and _of_derivative(g):
            g.name = name
        if len(self._parts[x]) > 1:
            self._provenance.parts.extend((part, name) for part, _ in self._parts[x])
            self._note_places(x, g)

    def of_block(self, x: Value, g: Value) -> None:
        """`g` is all that this block gives to the cotangent of a value from around it."""
        if len(self._parts[x]) > 1:
            self._note_places(x, g)
        self._provenance.part(x, g)

    def leave(self, given: dict[Value, Value]) -> None:
        """The sweep of the block ends, with these cotangents of values around it."""
        inside = self._provenance.inside
        for x in given:
            for _, place in self._parts[x]:
                if place is not None:
                    inside[x] = inside[x].with_also(place) if x in inside else place

    def _note_places(self, x: Value, g: Value) -> None:
        op = g.op
        if op is not None and op.loc is not None and op.loc.tag:
            op.loc = op.loc._replace(uses=tuple([loc for _, loc in self._parts[x] if loc is not None]))


def _of_program(loc: Loc) -> Loc:
    """A place without the adjoints of other lines that read the results of its op: these do not use its operands."""
    if loc.also and not loc.tag:
        return loc._replace(also=tuple([place for place in loc.also if not place.tag]))
    return loc


def _of_derivative(g: Value) -> bool:
    """Whether a value was made for a derivative; it may also be one of the program that happens to be the same."""
    op = g.op
    return op is None or op.loc is None or bool(op.loc.tag)
