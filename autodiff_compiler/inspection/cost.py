"""What a program costs: operations, bytes moved and an estimate of time, in total and for each line of the user's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..backends.base import Piece, Work
from ..ir.core import Op
from ..ir.loops import trips_of
from ..ir.sizes import Dim, Size, usual
from ..primitives.flops import flops_of
from ..source import Loc, line_of
from .estimate import Model, Seconds, model_of
from .figures import amount, duration, size
from .kernel_speeds import times_unknown
from .machine_limits import MachineLimits
from .tabular import Cells, Tables, shortened
from .user_lines import ELSEWHERE, LEAVING, UserLine, named, user_line

#: The name of the last row of a table with times: entering and leaving the program.
CALL_ITSELF = "the call itself"
#: Columns that begin at the left edge.
_LEFT = frozenset({"line", "source", "ops"})


@dataclass(frozen=True)
class Line:
    """What a line of the user's costs.

    `part` says which transformation made the ops ("adjoint"), and is empty for those of the line itself; `ops` are
    their names; `seconds` is the estimate, None where the limits of the machine are not known; `bound` what limits
    it: "compute", "memory" or "calls".
    """

    file: str
    line: int
    part: str
    text: str
    ops: tuple[str, ...]
    flops: Size
    read: Size
    written: Size
    seconds: float | None
    share: float
    bound: str

    @property
    def bytes(self) -> Size:
        return self.read + self.written

    @property
    def place(self) -> str:
        """The line as compilers name it, e.g. "model.py:14 adjoint"."""
        return named(self.file, self.line, self.part) or "-"


@dataclass(frozen=True, repr=False)
class Cost(Tables):
    """What one call of a program costs: operations on numbers, bytes moved, seconds by estimate.

    `bytes` are those that its loops and calls read from memory and write there, each element once; what stays in
    registers between fused ops is not moved.  `lines` are the lines of the user's, costly ones first, and
    at last, where there are times, the call itself: their shares are the whole.  `seconds` is
    the estimate of one thread on this machine, without the Python in front of the program; None where the limits of
    the machine are not known (Ascend).  `bound` says what most of the time goes to: "compute", "memory" or "calls".
    `trips` is how many trips of loops of unknown length were counted, whose places are `per_trip`: 1, unless asked for.
    Of the arms of an `if` the slower one counts.  `at_least` names ops that Python runs and of whose speed nothing is
    known: there the estimate is a lower bound.

    Where sizes are symbolic, counts are formulas, and there are no times: of the arms of an `if` that with more
    operations at usual sizes counts.  `symbols` says what is known of each symbol; given values for all of them, `cost`
    has numbers and times.
    """

    name: str
    backend: str
    flops: Size
    read: Size
    written: Size
    seconds: float | None
    bound: str
    lines: tuple[Line, ...]
    trips: int
    per_trip: tuple[str, ...]
    limits: MachineLimits | None = None
    at_least: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)

    _left = _LEFT

    @property
    def bytes(self) -> Size:
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """Operations per byte moved; TypeError where sizes are symbolic."""
        if isinstance(self.flops, Dim) or isinstance(self.bytes, Dim):
            raise TypeError(f"operations per byte depend on {', '.join(self.symbols)}: {told_for(self.symbols)}")
        return self.flops / self.bytes if self.bytes else float("inf") if self.flops else 0.0

    def _headline(self) -> str:
        text = f"{self.name} on {self.backend}: {amount(self.flops)} operations, {size(self.bytes)} moved"
        return text if self.seconds is None else f"{text}, about {duration(self.seconds)}, bound by {self.bound}"

    def _tables(self, *, everything: bool = False) -> list[Cells]:
        head = ["line", "source", "operations", "read", "written", "time", "share", "bound", "ops"]
        rows = []
        for x in self.lines:
            time = "" if x.seconds is None else duration(x.seconds)
            share = "" if x.seconds is None else f"{100 * x.share:.0f} %"
            row = [x.place, shortened(x.text, 44), amount(x.flops), size(x.read), size(x.written), time, share, x.bound]
            rows.append([*row, shortened(_counted(x.ops), 48)])
        if self.seconds is None:
            drop = {head.index(name) for name in ("time", "share", "bound")}
            head, *rows = [[c for i, c in enumerate(row) if i not in drop] for row in (head, *rows)]
        return [Cells(head, rows)]

    def _notes(self) -> list[str]:
        notes = []
        if self.per_trip:
            times, loops = "1 trip" if self.trips == 1 else f"{self.trips} trips", ", ".join(self.per_trip)
            notes.append(f"{times} of loops counted whose length is not known before: {loops}")
        if self.at_least:
            ops = ", ".join(self.at_least)
            notes.append(f"a lower bound for what Python runs at a speed that is not known: {ops}")
        if self.symbols:
            notes.append("\n".join(self.symbols.values()))
            notes.append(f"no time: it depends on {', '.join(self.symbols)}; {told_for(self.symbols)}")
        elif self.limits is None:
            notes.append(f"no time: the limits of {self.backend} are not known here")
        return notes


def told_for(symbols: Iterable[str]) -> str:
    """How figures are asked for where sizes are symbolic."""
    return f"cost({', '.join(f'{name}=...' for name in symbols)}) has it for given sizes"


# ------------------------------------------------------------------------------------------------ counting
@dataclass
class _Row:
    flops: Size = 0
    read: Size = 0
    written: Size = 0
    time: Seconds = field(default_factory=Seconds)
    seconds: float = 0.0
    ops: list[str] = field(default_factory=list)

    def add(self, other: _Row, times: Size) -> None:
        self.flops = self.flops + other.flops * times
        self.read = self.read + other.read * times
        self.written = self.written + other.written * times
        if isinstance(times, int):  # else there are no times
            self.seconds += other.seconds * times
            self.time.add(other.time, times)
        self.ops += other.ops

    @property
    def is_none(self) -> bool:
        """Whether it counts nothing."""
        counts = (self.flops, self.read, self.written)
        return not self.seconds and not any(isinstance(n, Dim) or n for n in counts)


_Tally = dict[UserLine, _Row]


class _Counter:
    """Counts pieces; `model` estimates their time."""

    def __init__(self, model: Model | None, trip: float, trips: int) -> None:
        self.model, self.trip, self.trips = model, trip, trips
        self.per_trip: dict[str, None] = {}
        self.at_least: dict[str, None] = {}

    def block(self, pieces: Iterable[Piece]) -> _Tally:
        found: _Tally = {}
        for piece in pieces:
            _merge(found, self._control(piece) if piece.blocks else self._plain(piece))
        return found

    def _control(self, piece: Piece) -> _Tally:
        (op,) = piece.ops
        blocks = [self.block(pieces) for pieces in piece.blocks]
        found: _Tally = self._plain(Piece(piece.ops, piece.moves, piece.calls))
        name, trips = op.defn.name, trips_of(op)
        if name == "if":
            _merge(found, max(blocks, key=lambda b: (_seconds(b), usual(_flops(b)))))
        elif name == "while":
            unknown = self._unknown(op)
            _merge(found, blocks[0], unknown + 1)
            _merge(found, blocks[1], unknown)
        elif name == "scan":
            _merge(found, blocks[0], self._unknown(op) if trips is None else trips)
        else:
            for block in blocks:
                _merge(found, block)
        if name in ("while", "scan") and self.model is not None:
            time = self.trip * (trips if isinstance(trips, int) else self.trips)
            _merge(found, {user_line(op.loc): _Row(time=Seconds(calls=time), seconds=time)})
        return found

    def _unknown(self, op: Op) -> int:
        self.per_trip[str(op.loc.of_user() if op.loc else op.defn.name)] = None
        return self.trips

    def _plain(self, piece: Piece) -> _Tally:
        found: dict[Op | None, _Row] = {op: _Row(flops=flops_of(op), ops=[op.defn.name]) for op in piece.ops}
        for move in piece.moves:
            row = found.setdefault(move.op, _Row())
            row.read, row.written = row.read + move.read, row.written + move.written
        if self.model is not None:
            times = self.model(piece)
            self.at_least.update(dict.fromkeys(times_unknown(piece)))
            whole = Seconds.of(times.values())
            for x, time in times.items():
                if time.bound:
                    row = found.setdefault(x, _Row())
                    row.time, row.seconds = time, time.within(whole)
        tally: _Tally = {}
        for x, row in found.items():
            if row.is_none and not (x is not None and x.blocks):
                row.ops = []  # no code: constants, views
            place = user_line(x.loc if x is not None else _first(piece.ops)) if piece.ops else LEAVING
            _merge(tally, {place: row})
        return tally


def _first(ops: Iterable[Op]) -> Loc | None:
    return next((op.loc for op in ops if op.loc is not None), None)


def _merge(into: _Tally, other: _Tally, times: Size = 1) -> None:
    for place, row in other.items():
        into.setdefault(place, _Row()).add(row, times)


def _seconds(tally: _Tally) -> float:
    return sum(row.seconds for row in tally.values())


def _flops(tally: _Tally) -> Size:
    return sum([row.flops for row in tally.values()], 0)


def cost_of(
    name: str, work: Work, limits: MachineLimits | None, trips: int = 1, symbols: Mapping[str, str] | None = None
) -> Cost:
    """The cost of a program; a loop of unknown length counts `trips` trips.

    `symbols`: what is known of the symbols that sizes have, by name; where there are any, no time is estimated.
    """
    symbols, model, call, trip = symbols or {}, None, 0.0, 0.0
    if limits is not None and not symbols:
        model, call, trip = model_of(limits, usual(work.storage.arena))
    counter = _Counter(model, trip, trips)
    tally = counter.block(work.pieces)
    whole = _Row()
    for row in tally.values():
        whole.add(row, 1)
    whole.seconds, whole.time.calls = whole.seconds + call, whole.time.calls + call
    lines: list[Line] = []
    for (file, line, part), row in tally.items():
        if row.is_none:
            continue
        seconds = row.seconds if model is not None else None
        text, part = (line_of(file, line).strip(), part) if file else (part or ELSEWHERE, "")
        figures = (row.flops, row.read, row.written, seconds, row.seconds / (whole.seconds or 1), row.time.bound)
        lines.append(Line(file, line, part, text, tuple(row.ops), *figures))
    lines.sort(key=lambda x: (-(x.seconds or 0.0), -usual(x.flops), -usual(x.bytes), x.file, x.line, x.part))
    seconds = whole.seconds if model is not None else None
    if seconds is not None:  # so that shares are of something that is listed
        lines.append(Line("", 0, "", CALL_ITSELF, (), 0, 0, 0, call, call / (seconds or 1), "calls"))
    return Cost(
        name, work.backend, whole.flops, whole.read, whole.written, seconds, whole.time.bound, tuple(lines), trips,
        tuple(counter.per_trip), limits, tuple(counter.at_least) if work.backend == "native" else (), symbols,
    )  # fmt: skip


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{name} x{n}" if n > 1 else name for name, n in Counter(names).items())
