"""A line of the user's: what became of it at every stage, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from .. import escape
from ..source import cell_of, shown_file, shown_line
from .compiled_call import CompiledCall
from .cost import Cost
from .figures import duration
from .links import STAGES_OF_OPS, Links, OpLine, Place, Span, links_of

__all__ = ["CodeSpan", "Estimate", "Where", "place_of", "shown", "where"]

#: How many ops of a stage are printed, and how many lines about the code.
_SHOWN = 40


@dataclass(frozen=True)
class Estimate:
    """The estimated seconds of what was made of a line: its ops (`part` is empty), their adjoints, and so on."""

    part: str
    seconds: float
    share: float


@dataclass(frozen=True)
class CodeSpan:
    """Lines of the generated code, the function they lie in, and the other lines of the user's they compute, too."""

    function: str
    span: Span
    others: tuple[Place, ...]

    def __str__(self) -> str:
        first, last = self.span
        shared = f", with {_listed([str(place) for place in self.others])}" if self.others else ""
        return f"{self.function}: {f'lines {first} to {last}' if first < last else f'line {first}'}{shared}"


@dataclass(frozen=True)
class Where:
    """What became of a line.

    `ops`: by stage, the ops of the line itself; `called`: those of functions that it calls; `code`: the lines of the
    generated code that compute a part of either; `time`: the estimate for the line itself, where there is one; its
    shares are of `seconds`, those of a call of the program.
    """

    place: Place
    ops: dict[str, tuple[OpLine, ...]]
    called: dict[str, tuple[OpLine, ...]]
    code: tuple[CodeSpan, ...]
    time: tuple[Estimate, ...]
    seconds: float | None
    links: Links

    @property
    def adjoints(self) -> tuple[OpLine, ...]:
        """The ops of its derivative after all passes."""
        return tuple(op for op in self.ops["opt"] if op.part == "adjoint")

    def __str__(self) -> str:
        rows = [f"{self.place}  {self.place.text}"]
        for stage in STAGES_OF_OPS:
            ops = sorted([*self.ops[stage], *self.called[stage]], key=lambda op: op.line)
            lines = _cut([self._row(stage, op) for op in ops[:_SHOWN]], len(ops))
            rows += ["", f"{stage}:", *lines] if ops else ["", f"{stage}: no op is left"]
        if self.code:
            rows += ["", "code:", *_cut([f"  {lines}" for lines in self.code[:_SHOWN]], len(self.code))]
        if self.time:
            rows += ["", f"estimated time, of {duration(self.seconds or 0.0)} in all:"]
            rows += [f"  {x.part or 'forward':<12}{duration(x.seconds):>9}{100 * x.share:>6.0f} %" for x in self.time]
        return "\n".join(rows) + "\n"

    __repr__ = __str__

    def _row(self, stage: str, op: OpLine) -> str:
        others = dict.fromkeys(str(at.places[0]) for at in op.also if at.places[0] != op.places[0])
        shared = f"also at {_listed(list(others))}" if others else ""
        notes = [op.part, f"in {op.places[0]}" if op.places[0] != self.place else "", shared]
        text = f"  {op.line:>4}  {shown(self.links.lines[stage][op.line - 1]):<60}  {' '.join(filter(None, notes))}"
        return text.rstrip()


def _cut(rows: list[str], count: int) -> list[str]:
    """The rows, and how many there are besides."""
    return [*rows, f"  and {count - len(rows)} more"] if count > len(rows) else rows


def shown(line: str) -> str:
    """A line of a stage's text without what follows the op: its place, and comments."""
    return line.partition("  // ")[0].rpartition(" @ ")[0].strip() or line.partition("  // ")[0].strip()


def _listed(names: Sequence[str]) -> str:
    most = 4
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more lines"
    return ", ".join(names)


def where(call: CompiledCall, line: str | int) -> Where:
    """What became of a line, named as "file:line" or by its number; ValueError if it is not, or has no ops."""
    links = links_of(call)
    place = place_of(links, line)
    own = {s: tuple(_as_of(ops, lambda places: place in places[:1])) for s, ops in links.ops.items()}
    called = {s: tuple(_as_of(ops, lambda places: place in places[1:])) for s, ops in links.ops.items()}
    inside = {op.places[0] for ops in (*own.values(), *called.values()) for op in ops}
    cost = call.cost_here()
    return Where(place, own, called, tuple(_code(links, inside)), estimates(cost, place), cost.seconds, links)


def _as_of(ops: Iterable[OpLine], wanted: Callable[[tuple[Place, ...]], bool]) -> Iterator[OpLine]:
    """The ops attributed to a wanted place, each with that attribution first."""
    for op in ops:
        found = next((at for at in op.all if wanted(at.places)), None)
        if found is not None:
            yield found if found is op else replace(found, also=tuple(at for at in op.all if at is not found))


def _code(links: Links, places: Collection[Place]) -> Iterator[CodeSpan]:
    """The lines of the code that compute something of these lines; of a kernel, all."""
    for kernel in links.kernels:
        found = [x for x in links.code if kernel.span.first <= x.line <= kernel.span.last]
        mine = [x for x in found if any(part.place in places for part in x.parts)]
        if mine and kernel.is_loop:
            others = dict.fromkeys(part.place for part in kernel.parts if part.place not in places)
            yield CodeSpan(kernel.name, kernel.span, tuple(others))
            continue
        for _, group in groupby(enumerate(mine), lambda pair: pair[1].line - pair[0]):
            lines = [x for _, x in group]
            others = dict.fromkeys(part.place for x in lines for part in x.parts if part.place not in places)
            yield CodeSpan(kernel.name, Span(lines[0].line, lines[-1].line), tuple(others))


def estimates(cost: Cost, place: Place) -> tuple[Estimate, ...]:
    """The estimates for a line, the forward part first."""
    lines = sorted((x for x in cost.lines if (x.file, x.line) == place and x.seconds), key=lambda x: x.part)
    return tuple(Estimate(x.part, x.seconds or 0.0, x.share) for x in lines)


def place_of(links: Links, line: str | int) -> Place:
    """The line that "model.py:14" or "net/model.py:14" names; a number alone is that of a line in any file."""
    file, _, number = str(line).replace(", line ", ":").rpartition(":")
    if not number.strip().isdigit():
        raise ValueError(f'a line is named as "model.py:14", or as 14, not {line!r}')
    wanted = file.strip().replace("\\", "/")
    files = [f for f in links.files if _is_called(f, wanted)] if wanted else links.files
    if not files:
        known = ", ".join(map(shown_file, links.files)) or "no file"
        raise ValueError(f"nothing was compiled from {file}: there are ops of {known}")
    found = [place for place in (Place(f, int(number)) for f in files) if place in links.places]
    if len({place.file for place in found}) > 1:
        both = " or ".join(f"{escape.line(place.file)}:{place.line}" for place in found)
        raise ValueError(f"{line} may be {both}: give more of the path")
    if not found:
        named = " or ".join([shown_line(f, int(number)) for f in files])
        raise ValueError(f"no op comes from {named}{_nearest(links, files, int(number))}")
    return found[0]


def _is_called(file: str, name: str) -> bool:
    """Whether a name is that of a cell, or the end of the path of a file."""
    return cell_of(file) == name or f"/{file}".replace("\\", "/").endswith(f"/{name}")


def _nearest(links: Links, files: Iterable[str], line: int) -> str:
    """The lines next to it that have ops."""
    near = sorted((p for p in links.places if p.file in files), key=lambda p: (abs(p.line - line), p.line))[:3]
    texts = [f"\n  {place}  {place.text}" for place in sorted(near)]
    return f"; the nearest lines with ops:{''.join(texts)}" if near else ""
