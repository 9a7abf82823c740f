"""What programs were measured to take, by kernel, by op and by line of the user's, beside what the machine allows.

A kernel that computes several ops is measured as a whole: they get the shares of it that the model of cost estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..backends.base import Piece
from ..backends.timed import Span, Table, Times
from ..ir.core import Op
from ..primitives.control import known_trips
from ..primitives.flops import flops_of
from ..source import Loc, line_of
from .estimate import Model, model_of
from .figures import duration
from .machine_limits import machine_limits
from .tabular import shortened
from .user_lines import ELSEWHERE, NOWHERE, UserLine, named, user_line

__all__ = ["LEFT", "Row", "Tally", "notes_of", "seconds_of", "slowest_first", "table_of"]

_HANDED_OUT = "results handed out"


@dataclass
class Row:
    """What a kernel, an op or a line took, in all calls together.

    `seconds` are its own, `cumulative` include what it calls: of a loop its body, of a line the functions that it
    calls.  `share`: of all seconds.  `flops` and `bytes`: operations on numbers, and bytes moved, of its own;
    `limit`: the seconds that these take at least, by the limits of the machine; `bound`: what that limit is,
    "compute", "memory", or "calls" where neither counts.  `file`, `line` and `part` say which line of the user's it
    is, or belongs to ("" and 0: none), `text` what stands there.
    """

    name: str
    file: str = ""
    line: int = 0
    part: str = ""
    program: str = ""
    ops: tuple[str, ...] = ()
    calls: int = 0
    seconds: float = 0.0
    cumulative: float = 0.0
    share: float = 0.0
    flops: int = 0
    bytes: int = 0
    limit: float = 0.0
    bound: str = ""

    @property
    def place(self) -> str:
        """The line as compilers name it, e.g. "model.py:14 adjoint"."""
        return named(self.file, self.line, self.part)

    @property
    def text(self) -> str:
        return line_of(self.file, self.line).strip() if self.file else ""

    @property
    def flops_per_second(self) -> float:
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def of_limit(self) -> float | None:
        """The share of the machine's limit that was reached; None where nothing is computed or moved."""
        return self.limit / self.seconds if self.seconds and self.limit else None


@dataclass
class _Part:
    """What an op is of a kernel: estimated seconds, as its share, and what it computes and moves."""

    op: Op
    weight: float = 0.0
    flops: int = 0
    bytes: int = 0
    compute: float = 0.0
    memory: float = 0.0
    calls: float = 0.0

    def times(self, n: int) -> _Part:
        parts = (self.weight * n, self.flops * n, self.bytes * n, self.compute * n, self.memory * n, self.calls * n)
        return _Part(self.op, *parts)


@dataclass
class Tally:
    """Adds up measured times: rows by what they are about, and seconds that the clock itself took."""

    kernels: dict[object, Row] = field(default_factory=dict)
    ops: dict[object, Row] = field(default_factory=dict)
    lines: dict[UserLine, Row] = field(default_factory=dict)
    reading: float = 0.0
    _bounds: dict[int, list[float]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """All that kernels took."""
        return sum(row.seconds for row in self.kernels.values())

    def add(self, program: str, times: Times, table: Table) -> None:
        """What a program took: the `table` of its spans."""
        model, _, _ = model_of(machine_limits(times.backend), times.arena)
        self.reading += (float(table[:, 1].sum()) + float(table[:, 0].sum()) * times.beside) * 1e-9
        self.reading -= sum(seconds_of(span, times, table) for span in times.all_spans())
        for span in times.spans:
            self._span(span, (), program, times, table, model)

    def add_eager(self, op: str, loc: Loc | None, calls: int, seconds: float) -> None:
        """A kernel that eager mode has called so often at one place."""
        place = user_line(loc)
        kernel = self.kernels.setdefault(("eager", op), Row(f"{op} (eager)", program="eager", ops=(op,)))
        of_op = self.ops.setdefault(("eager", op, place), Row(op, *place, program="eager", ops=(op,)))
        for row in (kernel, of_op):
            _count(row, calls, seconds)
            row.cumulative += seconds
        line = self._line(place)
        _count(line, calls, seconds)
        line.ops = _joined(line.ops, (op,))
        for around in dict.fromkeys((place, *_chain(loc))):
            self._line(around).cumulative += seconds

    def finish(self, total: float) -> None:
        """Nothing more is added; shares are of `total` seconds."""
        for row in (*self.kernels.values(), *self.ops.values(), *self.lines.values()):
            row.share = row.seconds / total if total else 0.0
            parts = self._bounds.get(id(row))
            if parts is not None and any(parts):
                compute, memory, calls = parts
                row.limit = max(compute, memory)
                row.bound = "calls" if calls > row.limit else "compute" if compute >= memory else "memory"

    # ------------------------------------------------------------------------------------------- spans
    def _span(
        self, span: Span, around: tuple[Op, ...], program: str, times: Times, table: Table, model: Model
    ) -> float:
        """Adds a span that lies in blocks of the ops `around`; the seconds of it with all that is in it."""
        runs, seconds = int(table[span.number, 0]), seconds_of(span, times, table)
        owners = (*around, *[op for piece in span.pieces for op in piece.ops if op.blocks]) if span.blocks else around
        inner = sum(self._span(s, owners, program, times, table, model) for block in span.blocks for s in block)
        if not runs:
            return inner
        parts = [part for piece in span.pieces for part in _parts(piece, model)]
        self._kernel(span, parts, program, runs, seconds, inner)
        if not parts:
            row = self.ops.setdefault((program, None), Row(_HANDED_OUT, program=program))
            _count(row, runs, seconds)
            row.cumulative += seconds
            self._spend(NOWHERE, (NOWHERE,), runs, seconds, None)
            return seconds + inner
        whole = sum(part.weight for part in parts)
        for i, part in enumerate(parts):
            share = part.weight / whole if whole else float(i == _main(parts))
            self._op(part, share * seconds, inner if part.op.blocks and span.blocks else 0.0, program, runs, around)
        return seconds + inner

    def _kernel(self, span: Span, parts: list[_Part], program: str, runs: int, seconds: float, inner: float) -> None:
        key = program, span.kernel, span.number
        if key not in self.kernels:
            best = parts[_main(parts)] if parts else None
            place = user_line(best.op.loc) if best is not None else NOWHERE
            ops = tuple(dict.fromkeys(p.op.defn.name for p in parts if p.weight or p is best))
            name = ", ".join(ops) or _HANDED_OUT
            self.kernels[key] = Row(f"{span.kernel}: {name}" if span.kernel else name, *place, program, ops)
        row = self.kernels[key]
        _count(row, runs, seconds)
        row.cumulative += seconds + inner
        for part in parts:
            self._amounts(row, part.times(runs))

    def _op(self, part: _Part, seconds: float, inner: float, program: str, runs: int, around: tuple[Op, ...]) -> None:
        op, place = part.op, user_line(part.op.loc)
        if not (seconds or part.weight or op.blocks):
            return  # no code: constants, views
        value = op.results[0].name if op.results else None
        name = op.defn.name
        found = (f"%{value} = {name}" if value else name), *place, program, (name,)
        row = self.ops.setdefault((program, op), Row(*found))
        _count(row, runs, seconds)
        row.cumulative += seconds + inner
        self._amounts(row, part.times(runs))
        callers = (*_chain(op.loc), *[p for owner in around for p in (user_line(owner.loc), *_chain(owner.loc))])
        self._spend(place, (place, *callers), runs, seconds, part)

    def _spend(
        self, place: UserLine, around: Iterable[UserLine], runs: int, seconds: float, part: _Part | None
    ) -> None:
        """Adds to a line, and to those which it is called from."""
        line = self._line(place)
        line.calls = max(line.calls, runs)
        line.seconds += seconds
        if part is not None:
            line.ops = _joined(line.ops, (part.op.defn.name,))
            self._amounts(line, part.times(runs))
        for one in dict.fromkeys(around):
            self._line(one).cumulative += seconds

    def _line(self, place: UserLine) -> Row:
        return self.lines.setdefault(place, Row("" if place[0] else ELSEWHERE, *place))

    def _amounts(self, row: Row, part: _Part) -> None:
        row.flops += part.flops
        row.bytes += part.bytes
        bounds = self._bounds.setdefault(id(row), [0.0, 0.0, 0.0])
        for i, x in enumerate((part.compute, part.memory, part.calls)):
            bounds[i] += x


def seconds_of(span: Span, times: Times, table: Table) -> float:
    """What a span took, without the spans in it, and without reading the clock."""
    rows = [span.number, *[entry for entry in span.entries if entry is not None]]
    readings = int(sum(table[i, 0] for i in rows))
    return max(0.0, float(sum(table[i, 1] for i in rows)) - readings * times.reading) * 1e-9


def slowest_first(rows: Iterable[Row]) -> list[Row]:
    """The rows by what they took themselves, then by what they took with what they call."""
    return sorted(rows, key=lambda row: (-row.seconds, -row.cumulative))


def _count(row: Row, calls: int, seconds: float) -> None:
    row.calls += calls
    row.seconds += seconds


def _joined(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*a, *b)))


def _main(parts: list[_Part]) -> int:
    """The part that most of a kernel is; of those that are equal control flow, then the last."""
    return max(range(len(parts)), key=lambda i: (parts[i].weight, bool(parts[i].op.blocks), i))


def _parts(piece: Piece, model: Model) -> Iterator[_Part]:
    """The ops of a piece; of control flow that was measured as a whole with those in its blocks."""
    estimates = model(Piece(piece.ops, piece.moves, piece.calls, piece.scalar))
    compute, memory = (sum(getattr(t, name) for t in estimates.values()) for name in ("compute", "memory"))
    slower = max(compute, memory) / ((compute + memory) or 1)
    moved: dict[Op | None, int] = {}
    for move in piece.moves:
        moved[move.op] = moved.get(move.op, 0) + move.read + move.written
    first = piece.ops[0] if piece.ops else None
    for op in piece.ops:
        found = [estimates[op]] + ([estimates[None]] if op is first and None in estimates else [])
        c, m, k = (sum(getattr(t, name) for t in found) for name in ("compute", "memory", "calls"))
        nbytes = moved.get(op, 0) + (moved.get(None, 0) if op is first else 0)
        yield _Part(op, k + slower * (c + m), flops_of(op), nbytes, c, m, k)
    for block in piece.blocks:
        trips = known_trips(piece.ops[0])  # where they are not known, as if there were one
        for inner in block:
            for part in _parts(inner, model):
                yield part.times(1 if trips is None else trips)


# ------------------------------------------------------------------------------------------------ places
def _chain(loc: Loc | None) -> tuple[UserLine, ...]:
    """The user's lines that call what lies at a place."""
    if loc is None:
        return ()
    caller = loc.of_user().caller
    if caller is None:
        return ()
    file, line, tag = user_line(caller)
    return ((file, line, tag or loc.tag), *_chain(caller if caller.tag or not loc.tag else caller.tagged(loc.tag)))


# ------------------------------------------------------------------------------------------------ tables
#: What is said below a table in which something is faster than the limit.
_ABOVE = ">100 %: limits are measured on large operands; what stays in caches can be faster"
#: Columns that begin at the left edge.
LEFT = frozenset({"line", "source", "kernel", "op", "bound", "ops"})


def notes_of(rows: Iterable[Row]) -> list[str]:
    """What is to be said below a table of these rows."""
    return [_ABOVE] if any(map(_is_above, rows)) else []


def _is_above(row: Row) -> bool:
    """Whether more than 100 % of the limit is shown."""
    return row.of_limit is not None and round(100 * row.of_limit) > 100


def table_of(rows: Iterable[Row], kind: str) -> tuple[list[str], list[list[str]]]:
    """The head and the cells of a table of rows by "kernel", "op" or "line"."""
    names = ["line", "source"] if kind == "line" else [kind, "line"]
    head = [*names, "calls", "time", "share", "cumulative", "GFLOP/s", "GB/s", "of limit", "bound"]
    head += ["ops"] if kind == "line" else []
    cells = []
    for x in rows:
        first = [x.place, shortened(x.text or x.name, 44)] if kind == "line" else [shortened(x.name, 44), x.place]
        rates = [f"{rate / 1e9:.3g}" if rate else "" for rate in (x.flops_per_second, x.bytes_per_second)]
        limit = "" if x.of_limit is None else ">100 %" if _is_above(x) else f"{100 * x.of_limit:.0f} %"
        own = [duration(x.seconds), f"{100 * x.share:.1f} %"] if x.seconds else ["", ""]
        times = [*own, duration(x.cumulative)]
        row = [*first, str(x.calls) if x.calls else "", *times, *rates, limit, x.bound if limit else ""]
        cells.append([*row, shortened(", ".join(x.ops), 40)] if kind == "line" else row)
    return head, cells
