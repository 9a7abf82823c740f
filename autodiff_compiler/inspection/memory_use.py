"""What memory a program takes: by what it is for, and by how it grows with the trips of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import escape
from ..ir.sizes import Size
from .figures import size


@dataclass(frozen=True)
class MemoryUse:
    """The bytes that one call of a program needs.

    `arguments` are given by the caller (states that the program reads are among them), `results` belong to the caller
    afterwards, but for those that are `overwritten`: written over the state whose next version they are.  `constants`
    and `code` (None: there is no machine code) are there once for all calls.  `arena` holds values between arguments
    and results; calls that run at the same time have one each.  `stacks` hold what loops with a known number of trips
    leave behind for later, and grow by `per_trip` in each trip of others.

    `alive` is what any arena must hold at the worst step (None where that is not known): what the step reads, makes and
    works in, and what later steps read.  What a fused loop makes element by element takes no room of its own where the
    loop is the last reader, in the same order, of an operand of as many bytes; one that is broadcast, turned or shifted
    is none.  Of the arms of an `if` one runs, and what comes out is one array.  To a loop all that it reads from before
    is alive; of what goes from trip to trip each version is, from where it is made to where it is read last.  Sizes are
    rounded up to 64 bytes, and the arena's header counts.

    Where sizes are symbolic, bytes are formulas; `symbols` says what is known of each symbol.
    """

    name: str
    backend: str
    arguments: Size
    results: Size
    overwritten: Size
    constants: int
    arena: Size
    stacks: Size
    per_trip: Size
    code: int | None
    alive: Size | None = None
    symbols: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> Size:
        """The bytes of a call, with those of the caller; stacks that grow are counted as empty."""
        mine = self.constants + self.arena + self.stacks + (self.code or 0)
        return self.arguments + self.results - self.overwritten + mine

    def __str__(self) -> str:
        rows = self._rows()
        wide, long = max(len(name) for name, _, _ in rows), max(len(size(n)) for _, n, _ in rows)
        lines = [f"{name:<{wide}}  {size(n):>{long}}  {what}".rstrip() for name, n, what in rows]
        known = ["", *self.symbols.values()] if self.symbols else []
        return "\n".join([self._headline(), "", *lines, *known]) + "\n"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [(name, size(n), what) for name, n, what in self._rows()]
        cells = ["".join(f"<td>{escape.markup(cell)}</td>" for cell in row) for row in rows]
        table = f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
        known = "".join(f"<p>{escape.markup(text)}</p>" for text in self.symbols.values())
        return f"<p>{escape.markup(self._headline())}</p>{table}{known}"

    def _headline(self) -> str:
        grows = f", and {size(self.per_trip)} for each trip of a loop" if self.per_trip else ""
        return f"{self.name} on {self.backend}: {size(self.total)}{grows}"

    def _rows(self) -> list[tuple[str, Size, str]]:
        rows = [("arguments", self.arguments, "of the caller"), ("results", self.results, "new at each call")]
        if self.overwritten:
            rows[1] = ("results", self.results, f"of which {size(self.overwritten)} are written over states")
        alive = "" if self.alive is None else f", of which {size(self.alive)} are alive at the same time"
        rows.append(("arena", self.arena, f"for values in between, used again by the next call{alive}"))
        if self.stacks:
            rows.append(("stacks", self.stacks, "for what loops keep for later"))
        if self.per_trip:
            rows.append(("stacks", self.per_trip, "for each trip of loops whose length is not known before"))
        rows.append(("constants", self.constants, "once for all calls"))
        if self.code is not None:
            rows.append(("code", self.code, "once for all calls"))
        return rows
