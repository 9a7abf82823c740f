"""Measured time by kernel, op and line of the user's, compared with the limits of the machine.

A kernel of several ops is measured as a whole and shared among them as the cost model estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..backends.base import Piece
from ..backends.timed import Span, Table, Times, alone, may_leave, runs_python
from ..blas import LARGE_PRODUCT, threads
from ..ir.core import Op
from ..ir.sizes import Dim, Size
from ..primitives.flops import flops_of
from ..source import Loc, line_of
from .distinctions import distinctions
from .estimate import Model, Seconds, model_of
from .figures import duration
from .machine_limits import machine_limits
from .tabular import Cells, listed, shortened
from .user_lines import ELSEWHERE, HANDED_OUT, LEAVING, NOWHERE, UserLine, named, user_line


@dataclass
class Row:
    """What a kernel, an op or a line took, in all calls together.

    `seconds` are its own, `cumulative` include what it calls: of a loop its body, of a line the functions that it
    calls.  `share`: of all seconds.  `flops` and `bytes`: operations on numbers, and bytes moved, of its own;
    `limit`: the seconds that these take at least, by the limits of the machine; `bound`: what that limit is,
    "compute", "memory", or "calls" where neither counts.  `file`, `line` and `part` say which line of the user's it
    is, or belongs to ("" and 0: none), `text` what stands there.  Of a kernel it is the line with most of its work, by
    estimate, and `others` are the other lines that it computes something of.  `detail` tells it apart from rows of
    the same name and line, where there are such: a type, a Parameter.

    `calls` of an op, and of a kernel, says how often it began, also where an exception ended it.  That of a line is the
    count of its op that ran most, added up over programs and over the places that call the function that the line is
    in.  The copies that a loop was unrolled into count as one: that of the one that ran most.

    Of programs for many sizes `flops`, `bytes` and `limit` are not known.
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
    detail: str = ""
    others: tuple[str, ...] = ()

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
    """An op's part of a kernel: its runs, and for all of them the estimated seconds, which are its share, operations,
    bytes, and what the seconds are for.  An `op` of None copies results out."""

    op: Op | None
    runs: int
    weight: float = 0.0
    flops: int = 0
    bytes: int = 0
    time: Seconds = field(default_factory=Seconds)

    @property
    def place(self) -> UserLine:
        return LEAVING if self.op is None else user_line(self.op.loc)

    @property
    def control(self) -> bool:
        return self.op is not None and bool(self.op.blocks)

    @property
    def name(self) -> str:
        return HANDED_OUT if self.op is None else self.op.defn.name


@dataclass
class Tally:
    """Adds up span tables to rows: by kernel (`id` of its span), op and line; and the overhead of reading the clock."""

    kernels: dict[object, Row] = field(default_factory=dict)
    ops: dict[object, Row] = field(default_factory=dict)
    lines: dict[UserLine, Row] = field(default_factory=dict)
    reading: float = 0.0
    _bounds: dict[int, Seconds] = field(default_factory=dict)
    _made_by: dict[int, Op | None] = field(default_factory=dict)
    #: by program, line and the place that calls the function of the line: the most that an op of it ran
    _ran: dict[tuple[int, UserLine, Loc | None], int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """All that kernels took."""
        return sum(row.seconds for row in self.kernels.values())

    def add(self, program: str, times: Times, table: Table) -> None:
        """Adds a program's span `table`."""
        model, _, _ = model_of(machine_limits(times.backend), times.arena)
        self.reading += (float(table[:, 1].sum()) + float(table[:, 0].sum()) * times.beside) * 1e-9
        self.reading -= sum(seconds_of(span, times, table) for span in times.all_spans())
        for span in times.spans:
            self._span(span, (), program, times, table, model)

    def add_eager(self, op: str, loc: Loc | None, calls: int, seconds: float) -> None:
        """Adds the calls of an eager kernel at one place."""
        place = user_line(loc)
        kernel = self.kernels.setdefault(("eager", op), Row(f"{op} (eager)", program="eager", ops=(op,)))
        of_op = self.ops.setdefault(("eager", op, place), Row(op, *place, program="eager", ops=(op,)))
        for row in (kernel, of_op):
            _count(row, calls, seconds)
            row.cumulative += seconds
        line = self._line(place)
        line.seconds += seconds
        self._ran_on(0, place, loc, calls)
        line.ops = _joined(line.ops, (op,))
        for around in dict.fromkeys((place, *_chain(loc))):
            self._line(around).cumulative += seconds

    def finish(self, total: float) -> None:
        """Computes shares (of `total` seconds), limits and distinctions; nothing is added afterwards."""
        for (_, place, _), runs in self._ran.items():
            self._line(place).calls += runs
        self._ran.clear()
        for row in (*self.kernels.values(), *self.ops.values(), *self.lines.values()):
            row.share = row.seconds / total if total else 0.0
            time = self._bounds.get(id(row))
            if time is not None and time.bound:
                row.limit, row.bound = max(time.compute, time.memory), time.bound
        for rows in (self.kernels, self.ops):
            alike: dict[tuple[str, ...], list[Row]] = {}
            for row in rows.values():
                alike.setdefault((row.name.rpartition(": ")[2], row.place, row.program), []).append(row)
            for same in alike.values():
                if len(same) > 1:
                    for row, text in zip(same, distinctions([self._made_by.get(id(row)) for row in same]), strict=True):
                        row.detail = text

    # ------------------------------------------------------------------------------------------- spans
    def _span(
        self, span: Span, around: tuple[Op, ...], program: str, times: Times, table: Table, model: Model
    ) -> float:
        """Adds a span inside the blocks of the ops `around`; returns its cumulative seconds."""
        runs, seconds = span.runs(table), seconds_of(span, times, table)
        owners = around if span.control is None else (*around, span.control)
        inner = sum(self._span(s, owners, program, times, table, model) for block in span.blocks for s in block)
        if not runs:
            return inner
        found = [part for piece, row in span.pieces for part in _parts(piece, model, int(table[row, 0]))]
        parts = found or [_Part(None, runs)]
        self._kernel(span, parts, program, runs, seconds, inner)
        for part, share in zip(parts, _shares(parts, seconds), strict=True):
            mine = inner if part.op is not None and part.op is span.control else 0.0
            self._op(part, share * seconds, mine, program, around, id(times))
        return seconds + inner

    def _kernel(self, span: Span, parts: list[_Part], program: str, runs: int, seconds: float, inner: float) -> None:
        key = id(span)  # programs of one name may be of other kernels
        if key not in self.kernels:
            best = next((p for p in parts if p.op is span.control), None) or _of_main_line(parts)
            place = NOWHERE if best.op is None else best.place
            main = [p for p in parts if p.weight or p.control or p is best]
            ops = tuple(dict.fromkeys(p.name for p in main))
            others = dict.fromkeys(named(*p.place) for p in main if p.place != place and p.place[0])
            name = ", ".join(ops)
            made = Row(f"{span.kernel}: {name}" if span.kernel else name, *place, program, ops, others=tuple(others))
            self.kernels[key] = made
            self._made_by[id(made)] = best.op
        row = self.kernels[key]
        _count(row, runs, seconds)
        row.cumulative += seconds + inner
        for part in parts:
            self._amounts(row, part)

    def _op(
        self, part: _Part, seconds: float, inner: float, program: str, around: tuple[Op, ...], of_program: int
    ) -> None:
        op, name, place = part.op, part.name, part.place
        if op is not None and not (seconds or part.weight or may_leave(op) or op.blocks):
            return  # no code: constants, views
        value = op.results[0].name if op is not None and op.results else None
        found = (f"%{value} = {name}" if value else name), *(place if op is not None else NOWHERE), program, (name,)
        row = self.ops.setdefault((program, op), Row(*found))
        self._made_by[id(row)] = op
        _count(row, part.runs, seconds)
        row.cumulative += seconds + inner
        self._amounts(row, part)
        line = self._line(place)
        self._ran_on(of_program, place, None if op is None else op.loc, part.runs)
        line.seconds += seconds
        self._amounts(line, part)
        callers: tuple[UserLine, ...] = ()
        if op is not None:
            line.ops = _joined(line.ops, (name,))
            callers = (*_chain(op.loc), *[p for owner in around for p in (user_line(owner.loc), *_chain(owner.loc))])
        for one in dict.fromkeys((place, *callers)):
            self._line(one).cumulative += seconds

    def _ran_on(self, program: int, place: UserLine, loc: Loc | None, runs: int) -> None:
        """An op at `loc`, which belongs to this line, has run so often."""
        key = program, place, None if loc is None else loc.of_user().caller
        self._ran[key] = max(self._ran.get(key, 0), runs)

    def _line(self, place: UserLine) -> Row:
        return self.lines.setdefault(place, Row("", *place) if place[0] else Row(place[2] or ELSEWHERE))

    def _amounts(self, row: Row, part: _Part) -> None:
        row.flops += part.flops
        row.bytes += part.bytes
        self._bounds.setdefault(id(row), Seconds()).add(part.time)


def seconds_of(span: Span, times: Times, table: Table) -> float:
    """A span's own seconds: without inner spans and clock readings."""
    rows = [span.number, *[entry for entry in span.entries if entry is not None]]
    readings = int(sum(table[i, 0] for i in rows))
    return max(0.0, float(sum(table[i, 1] for i in rows)) - readings * times.reading) * 1e-9


def slowest_first(rows: Iterable[Row]) -> list[Row]:
    """Rows by own seconds, then by cumulative ones."""
    return sorted(rows, key=lambda row: (-row.seconds, -row.cumulative))


def _count(row: Row, calls: int, seconds: float) -> None:
    row.calls += calls
    row.seconds += seconds


def _joined(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*a, *b)))


def _of_main_line(parts: list[_Part]) -> _Part:
    """The largest part of the line with most of a kernel's work; the adjoint's where it outweighs the line's own."""
    if not any(part.weight for part in parts):
        return parts[_main(parts)]
    lines: dict[tuple[str, int], dict[str, float]] = {}
    for part in parts:
        file, number, tag = part.place
        tags = lines.setdefault((file, number), {"": 0.0})
        tags[tag] = tags.get(tag, 0.0) + part.weight
    line, tags = max(lines.items(), key=lambda item: sum(item[1].values()))
    tag = max(tags, key=lambda tag: tags[tag])  # the first of equal ones is the line itself
    mine = [part for part in parts if part.place == (*line, tag)]
    return mine[_main(mine)]


def _shares(parts: list[_Part], seconds: float) -> list[float]:
    """The share of a span that each part gets: by estimate; host calls get what the estimates leave."""
    weights = [part.weight for part in parts]
    python = [part.op is not None and runs_python(part.op) for part in parts]
    if any(python):
        others = sum(weight for weight, hosted in zip(weights, python, strict=True) if not hosted)
        runs = sum(part.runs for part, hosted in zip(parts, python, strict=True) if hosted)
        rest = max(0.0, seconds - others)
        weights = [
            rest * part.runs / runs if hosted else part.weight for part, hosted in zip(parts, python, strict=True)
        ]
    whole = sum(weights)
    return [weight / whole if whole else float(i == _main(parts)) for i, weight in enumerate(weights)]


def _main(parts: list[_Part]) -> int:
    """The heaviest part of a kernel; among equals control flow, then the last."""
    return max(range(len(parts)), key=lambda i: (parts[i].weight, parts[i].control, i))


def _parts(piece: Piece, model: Model, runs: int) -> Iterator[_Part]:
    """The parts of a piece that ran so often; those of callees included."""
    if not runs:
        return
    estimates = model(alone(piece))
    whole = Seconds.of(estimates.values())
    moved: dict[Op | None, Size] = {}
    for move in piece.moves:
        moved[move.op] = moved.get(move.op, 0) + move.read + move.written
    first = piece.ops[0] if piece.ops else None
    for op in piece.ops or (None,):
        mine = dict.fromkeys((op, None) if op is first else (op,))
        one, time = Seconds.of(estimates[x] for x in mine if x in estimates), Seconds()
        flops, nbytes = flops_of(op) if op is not None else 0, sum([moved.get(x, 0) for x in mine], 0)
        if isinstance(flops, Dim) or isinstance(nbytes, Dim):  # which sizes the calls had is not known
            flops = nbytes = 0
        else:
            time.add(one, runs)
        yield _Part(op, runs, one.within(whole) * runs, flops * runs, nbytes * runs, time)
    for block in piece.blocks:
        for inner in block:
            yield from _parts(inner, model, runs)


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
#: The note below a table in which something is faster than the limit.
_ABOVE = ">100 %: limits are measured on large operands; what stays in caches can be faster"
#: Columns that begin at the left edge.
LEFT = frozenset({"line", "source", "kernel", "op", "bound", "ops"})


#: Share of the limit below which threads that wait for each other are the likely reason, and of the time that counts.
_SLOW, _COUNTS = 0.2, 0.05


def notes_of(rows: Iterable[Row]) -> list[str]:
    """The notes below a table of these rows."""
    shown = list(rows)
    return [*([_ABOVE] if any(map(_is_above, shown)) else []), *_of_products(shown)]


def _of_products(rows: Iterable[Row]) -> Iterator[str]:
    """Advice where large products, for which BLAS wakes threads, run far below the limit."""
    large = (r for r in rows if "matmul" in r.ops and r.calls and r.flops >= LARGE_PRODUCT * r.calls)
    slow = [r for r in large if r.of_limit is not None and r.of_limit < _SLOW and r.share >= _COUNTS]
    if slow and (n := threads()) > 1:
        worst = min(100 * (r.of_limit or 0.0) for r in slow)
        yield (
            f"large products ran at {worst:.0f} % of the limit on {n} threads of BLAS, which wait for each other where "
            "the cores have other work: try set_context(num_threads=1)"
        )


def _is_above(row: Row) -> bool:
    """Whether more than 100 % of the limit is shown."""
    return row.of_limit is not None and round(100 * row.of_limit) > 100


def table_of(rows: Sequence[Row], kind: str, outside: Sequence[Row] = (), left: int = 0, all_rows: str = "") -> Cells:
    """A table of rows by "kernel", "op" or "line", and below them of those about what lies `outside`.

    `left`: how many rows are left out; `all_rows`: how the user gets them.
    """
    names = ["line", "source"] if kind == "line" else [kind, "line"]
    head = [*names, "calls", "time", "share", "cumulative", "GFLOP/s", "GB/s", "of limit", "bound"]
    head += ["ops"] if kind == "line" else []
    cells = []
    for x in (*rows, *outside):
        name = " ".join(filter(None, (listed(x.name.split(", "), 44), x.detail)))
        place = f"{x.place or ELSEWHERE} and {len(x.others)} more" if x.others else x.place
        first = [x.place, shortened(x.text or x.name, 44)] if kind == "line" else [name, place]
        rates = [f"{rate / 1e9:.3g}" if rate else "" for rate in (x.flops_per_second, x.bytes_per_second)]
        limit = "" if x.of_limit is None else ">100 %" if _is_above(x) else f"{100 * x.of_limit:.0f} %"
        own = [duration(x.seconds), f"{100 * x.share:.1f} %"] if x.seconds else ["", ""]
        times = [*own, duration(x.cumulative)]
        row = [*first, str(x.calls) if x.calls else "", *times, *rates, limit, x.bound if limit else ""]
        cells.append([*row, shortened(", ".join(x.ops), 40)] if kind == "line" else row)
    if left > 0:
        cells.insert(len(rows), [f"({left} more: {all_rows})", *[""] * (len(head) - 1)])
    return Cells(head, cells)
