"""`artifact.compare()`: two compiled calls side by side: costs, times by line, and what was decided otherwise."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from ..ir.sizes import Size
from ..source import lines_of
from ..whole_files import write_text
from .compiled_call import CompiledCall
from .decisions import explained
from .figures import amount, duration, size, times
from .irtext import IRText
from .links import STAGES_OF_OPS, Links, Place, links_of
from .report.compared import compared_page
from .tabular import Cells, Tables, shortened
from .textdiff import with_places

if TYPE_CHECKING:
    from .timing import Timing

#: How many lines a text shows.
_SHOWN = 20
#: The section of an explanation whose lines are times, different each time.
_PASSES = "Passes"
#: How many times as much is no change that could be seen.
_SAME = times(1.0)


class Figure(NamedTuple):
    """One number of both calls, as `shown` writes it; None: it is not known."""

    what: str
    before: Size | float | None
    after: Size | float | None
    shown: Callable[..., str] = str

    @property
    def texts(self) -> list[str]:
        """Both as text; of what is not known, nothing."""
        return ["" if x is None else self.shown(x) for x in (self.before, self.after)]

    @property
    def change(self) -> str:
        """How many times as much it is after the change; nothing where that says nothing."""
        known = [x for x in (self.before, self.after) if isinstance(x, int | float)]
        if len(known) < 2 or not known[0] or known[0] == known[1]:
            return ""
        return "" if (change := times(known[1] / known[0])) == _SAME else change


@dataclass(frozen=True)
class LineChange:
    """A line of the user's, where it stands in each of the calls (None: there is no such line), and its seconds."""

    before: Place | None
    after: Place | None
    seconds: tuple[float, float]

    @property
    def text(self) -> str:
        place = self.after or self.before
        return place.text if place is not None else ""

    @property
    def place(self) -> str:
        """The line as compilers name it; where it has another name or number after the change, both."""
        names = dict.fromkeys(str(x) for x in (self.before, self.after) if x is not None)
        return ", ".join(names)


class DecisionChange(NamedTuple):
    """What was decided in one of the calls only, by the title of its section."""

    title: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class Comparison(Tables):
    """Two compiled calls side by side; `print` and a notebook show it as tables, `to_html` writes a page.

    `names` are what the calls are called; `figures` their amounts; `lines` the user's lines, those first whose time
    changed most; `decisions` what `explain` says of one of them only.  Times are those measured, if both were timed,
    else estimates: `measured` says which.
    """

    _left = frozenset({"", "line", "source"})

    def __init__(
        self,
        before: CompiledCall,
        after: CompiledCall,
        names: tuple[str, str] | None = None,
        timings: tuple[Timing, Timing] | None = None,
    ) -> None:
        self._calls, self._timings = (before, after), timings
        self.names = names or _names(before, after)
        #: the lines of the call after the change that lines before it became
        self._places = _counterparts(links_of(before), links_of(after))
        self.measured = timings is not None
        self.figures = tuple(self._figures())
        self.lines = tuple(self._lines())
        self.decisions = tuple(_decisions(before, after, self._places))

    def diff(self, stage: str = "opt", context: int = 3) -> IRText:
        """The changes of a stage as a unified diff; see `IRText.diff`."""
        before, after = self._calls
        return before.ir(stage).diff(after.ir(stage), context=context)

    def pairs(self, stage: str) -> list[tuple[str, str | None, str | None]]:
        """The lines of a stage in pairs: " " for equal ones; "-" and "+" for those that only one of the calls has."""
        before, after = self._calls
        return before.ir(stage).beside(after.ir(stage))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a page for a browser: tables, stages and generated code of both calls beside each other; one file."""
        figures = [[x.what, *x.texts, x.change] for x in self.figures if any(x.texts)]
        data = {
            "names": self.names,
            "measured": self.measured,
            "figures": figures,
            "lines": [[x.place, x.text, *x.seconds] for x in self.lines],
            "decisions": self.decisions,
            "stages": {stage: self.pairs(stage) for stage in (*STAGES_OF_OPS, "code")},
        }
        write_text(path, compared_page(self.names, data))

    # ------------------------------------------------------------------------------------------- what is compared
    def _figures(self) -> Iterator[Figure]:
        costs = [call.cost_here() for call in self._calls]
        memory = [call.memory(call.sizes) for call in self._calls]
        links = [links_of(call) for call in self._calls]
        if self._timings is not None:
            yield Figure("measured time", self._timings[0].median, self._timings[1].median, duration)
        yield Figure("estimated time", costs[0].seconds, costs[1].seconds, duration)
        for stage in ("front", "opt"):
            yield Figure(f"ops of stage {stage}", len(links[0].ops[stage]), len(links[1].ops[stage]))
        kernels = [sum(kernel.is_loop for kernel in x.kernels) for x in links]
        yield Figure("kernels", kernels[0] or None, kernels[1] or None)
        yield Figure("operations on numbers", costs[0].flops, costs[1].flops, amount)
        yield Figure("bytes moved", costs[0].bytes, costs[1].bytes, size)
        yield Figure("arena", memory[0].arena, memory[1].arena, size)
        yield Figure("bytes of a call in all", memory[0].total, memory[1].total, size)
        yield Figure("machine code", memory[0].code, memory[1].code, size)

    def _lines(self) -> list[LineChange]:
        spent = [self._seconds(i) for i in (0, 1)]
        same = {p: self._places.get(p) for p in spent[0]}
        found = [LineChange(p, at, (spent[0][p], spent[1].get(at, 0.0) if at else 0.0)) for p, at in same.items()]
        found += [LineChange(None, p, (0.0, x)) for p, x in spent[1].items() if p not in same.values()]
        return sorted(found, key=lambda x: (-abs(x.seconds[1] - x.seconds[0]), x.place))

    def _seconds(self, i: int) -> dict[Place, float]:
        """Seconds of each line, with its adjoint."""
        found = dict[Place, float]()
        lines = self._timings[i].lines if self._timings is not None else self._calls[i].cost_here().lines
        for x in lines:
            if x.file and x.seconds:
                place = Place(x.file, x.line)
                found[place] = found.get(place, 0.0) + x.seconds
        return found

    # ------------------------------------------------------------------------------------------- tables
    def _headline(self) -> str:
        return f"{self.names[0]} against {self.names[1]}"

    def _tables(self, *, everything: bool = False) -> list[Cells]:
        figures = [[x.what, *x.texts, x.change] for x in self.figures if any(x.texts)]
        shown = self.lines if everything else self.lines[:_SHOWN]
        lines = [[x.place, shortened(x.text, 44), *self._times(x)] for x in shown]
        kind = "measured" if self.measured else "estimated"
        tables = [Cells(["", *self.names, "change"], figures)]
        if lines:
            tables.append(Cells(["line", "source", *(f"{kind}, {n}" for n in self.names), "change"], lines))
        return tables

    def _times(self, line: LineChange) -> list[str]:
        before, after = line.seconds
        said = [duration(x) if x else "" for x in line.seconds]
        return [*said, times(after / before) if before and after else "new" if after else "gone"]

    def _notes(self) -> list[str]:
        notes = []
        for title, before, after in self.decisions:
            lines = [*(f"- {line}" for line in before), *(f"+ {line}" for line in after)]
            more = [f"and {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
            notes.append("\n".join([f"decided otherwise: {title}", *lines[:_SHOWN], *more]))
        return notes


def _names(before: CompiledCall, after: CompiledCall) -> tuple[str, str]:
    """What tells two calls apart: what they are of, or their backends."""
    pairs = [(before.of, after.of), (before.work.backend, after.work.backend), ("before", "after")]
    return next((a, b) for a, b in pairs if a != b)


def _decisions(before: CompiledCall, after: CompiledCall, same: Mapping[Place, Place]) -> Iterator[DecisionChange]:
    """What only one of the explanations says; what only stands on another line is the same."""
    told = [{title: lines for title, lines in explained(call).sections if title != _PASSES} for call in (before, after)]
    moved = {str(old): str(new) for old, new in same.items()}
    for title in dict.fromkeys([*told[0], *told[1]]):
        lines, others = (of.get(title, ()) for of in told)
        old, new = [(with_places(x, moved), x) for x in lines], [(with_places(x, {}), x) for x in others]
        gone, come = (_without(*pair) for pair in ((old, new), (new, old)))
        if gone or come:
            yield DecisionChange(title, gone, come)


def _without(lines: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The lines, by their keys, that the others do not have, or not as often."""
    left, found = Counter(key for key, _ in others), []
    for key, line in lines:
        if left[key]:
            left[key] -= 1
        else:
            found.append(line)
    return tuple(found)


# ------------------------------------------------------------------------------------------------ lines
def _counterparts(before: Links, after: Links) -> dict[Place, Place]:
    """The lines of the other call that lines of the first one became; files of one name are the same file."""
    others = [[f for f in x.files if f not in y.files] for x, y in ((before, after), (after, before))]
    found = {place: place for place in before.places if place.file in after.files}
    for old, new in zip(*others, strict=False):
        found |= {Place(old, i): Place(new, j) for i, j in _moved(old, new).items()}
    return found


def _moved(old: str, new: str) -> dict[int, int]:
    """Numbers of the lines of a file, and of those in another one that are equal or stand in their place."""
    matcher = SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    found: dict[int, int] = {}
    for _, i, k, j, n in matcher.get_opcodes():
        if k - i == n - j:  # equal, or as many that were changed
            found.update(zip(range(i + 1, k + 1), range(j + 1, n + 1), strict=True))
    return found
